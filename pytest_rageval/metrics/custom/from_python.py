"""Makes a metric of a user's Python: a function of a sample, an object with ``score``, or DB-GPT's.

Metrics written for DB-GPT's evaluation run unchanged, and DB-GPT need not be installed: they are
recognised by the names of their base classes, its own or those of ``pytest_rageval.metrics.dbgpt``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_rageval.errors import shorten
from pytest_rageval.import_path import path_of
from pytest_rageval.metrics.base import MetricDefinition, NoOptions
from pytest_rageval.metrics.custom.call import (
    Call,
    CustomCoroutine,
    CustomFunction,
    as_score,
    describe_hidden,
)
from pytest_rageval.metrics.custom.declaration import (
    NO_DECLARATION,
    SCORING,
    Declaration,
    declaration_of,
    decorated,
    info_of,
)
from pytest_rageval.metrics.custom.signature import (
    CallOptions,
    CustomMetricError,
    Signature,
    read_constructor,
    read_signature,
)
from pytest_rageval.metrics.rubric import fill_prompt
from pytest_rageval.model import PASSING, Sample, Score, json_plain
from pytest_rageval.redaction import (
    Redactor,
    is_clearly_secret,
    looks_secret,
    named_secrets,
    names_secret,
)
from pytest_rageval.text.prompts import prompt_language

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ChatClient


DEFAULT_TIMEOUT_S: Final = 120.0
"""How long an async function may take for a sample. One that asks models has no limit but that of
each call."""

_LOWER: Final = "lower_is_better"
_NOT_LOWER: Final = "lower_is_better: write higher_is_better: false instead"


def define_metric(
    found: object, name: str, source: str = "", declared: Declaration = NO_DECLARATION
) -> MetricDefinition:
    """Return the metric ``found``, called ``name`` unless it declares another name.

    ``found`` is a function of a sample, sync or async, a class or an object with ``score`` or
    ``ascore``, a metric written for DB-GPT, or a MetricDefinition (returned unchanged).
    ``source`` is its import path. Raises CustomMetricError.
    """
    if isinstance(found, MetricDefinition):
        return found
    shown = source or name
    binding = _bind(found, shown)
    clashing = sorted(set(binding.options.known()) & declared.stated().keys())
    if clashing:
        raise CustomMetricError(
            f"{shown} has a parameter {clashing[0]!r}, but that key describes the metric itself; "
            "rename the parameter"
        )
    is_said = declared.over(decorated(found)).higher_is_better is not None
    kind = _dbgpt_kind(found)
    methods = () if kind is None else _SCORE_THERE
    is_async = binding.signature.is_async
    declared = declared.over(declaration_of(found, methods, is_async=is_async))
    if inspect.isclass(found):  # the default of its constructor, which scenarios cannot change
        by_default = binding.options.defaults.get("higher_is_better")
        declared = declared.over(Declaration(higher_is_better=by_default))
    if kind is not None:
        declared = declared.over(Declaration(needs=_NEEDS[kind]))
    info = info_of(declared, binding.signature, declared.name or name, shown)
    if info.higher_is_better and getattr(found, _LOWER, None) is True:
        raise CustomMetricError(f"{shown}: {_NOT_LOWER}")
    info = info if kind is None else replace(info, reads=_READS.get(kind, frozenset()))
    is_better = None if is_said else info.higher_is_better
    timeout_s = declared.timeout_s or (None if info.asks | info.may_ask else DEFAULT_TIMEOUT_S)
    return MetricDefinition(
        info,
        lambda label, options: _make(label, options, binding, timeout_s, shown, is_better),
        binding.options,
        source=source,
    )


def define_metrics(found: object, shown: str) -> list[MetricDefinition]:
    """Return the metrics of a hook or an entry point: one, several, or a mapping by name.

    The names of a mapping count more than those that its metrics declare. Messages call the hook
    or entry point ``shown``. Raises CustomMetricError.
    """
    if isinstance(found, Mapping):
        named = [
            (str(name), define_metric(one, str(name), path_of(one))) for name, one in found.items()
        ]
        return [replace(one, info=replace(one.info, name=name)) for name, one in named]
    is_one = isinstance(found, MetricDefinition) or callable(found) or _method(found) is not None
    if isinstance(found, Iterable) and not is_one and not isinstance(found, str | bytes):
        return [metric for one in found for metric in define_metrics(one, shown)]
    if not is_one:
        raise CustomMetricError(f"{shown} {_expected(found)}")
    name = getattr(found, "__name__", type(found).__name__)
    if not name.isidentifier():
        raise CustomMetricError(
            f"{shown}: {name} cannot be the name of a metric; return {{'name': ...}}"
        )
    return [define_metric(found, name, path_of(found))]


_Bound = tuple[object, Callable[..., Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Binding:
    """How a metric is called: its signature, its options, and how they are bound.

    ``bind(options)`` returns the object that scores, its function, and the keyword arguments.
    """

    signature: Signature
    options: type[CallOptions]
    bind: Callable[[CallOptions], _Bound]


def _bind(found: object, shown: str) -> _Binding:
    if _dbgpt_kind(found) is not None:
        return _bind_dbgpt(found, shown)
    if inspect.isclass(found):
        return _bind_class(found, shown)
    method = _method(found)
    if method is None and not callable(found):
        raise CustomMetricError(f"{shown} {_expected(found)}")
    function = cast("Callable[..., Any]", getattr(found, method) if method else found)
    signature = read_signature(function, f"{shown}.{method}" if method else shown)
    scorer = _scorer(found)
    return _Binding(
        signature, signature.options, lambda options: (scorer, function, options.keywords())
    )


def _scorer(found: object) -> object:
    """Return the object whose method ``found`` is, also within a partial; else ``found``."""
    while isinstance(found, partial):
        found = found.func
    return getattr(found, "__self__", found)


def _bind_class(found: type, shown: str) -> _Binding:
    method = _method(found) or ("__call__" if "__call__" in dir(found) else None)
    if method is None or not inspect.isroutine(getattr(found, method)):
        raise CustomMetricError(f"{shown} is a class without 'score' or 'ascore'")
    is_bound = isinstance(inspect.getattr_static(found, method), staticmethod | classmethod)
    function = getattr(found, method)
    signature = read_signature(function, f"{shown}.{method}", skips=0 if is_bound else 1)
    required = [field for field in signature.options.model_fields.values() if field.is_required()]
    if required:
        raise CustomMetricError(
            f"{shown}.{method} has a required parameter {required[0].alias!r}; options of a class "
            "must be parameters of its constructor"
        )

    def bind(options: CallOptions) -> _Bound:
        made = found(**options.keywords())
        return made, getattr(made, method), {}

    return _Binding(signature, read_constructor(found, shown), bind)


def _bind_dbgpt(found: object, shown: str) -> _Binding:
    scoring = _scoring(found, shown)
    if inspect.isclass(found):
        options = read_constructor(found, shown, _IGNORED)

        def bind(given: CallOptions) -> _Bound:
            made = _constructed(found, given.keywords())
            return made, scoring(made), {}

        # Not made yet: the signature of its scoring function is the same for any instance.
        return _Binding(read_signature(scoring(None), shown), options, bind)
    function = scoring(found)
    signature = read_signature(function, shown)
    return _Binding(signature, signature.options, lambda _: (found, function, {}))


def _method(found: object) -> str | None:
    return next((name for name in SCORING if callable(getattr(found, name, None))), None)


def _expected(found: object) -> str:
    kind = "a module" if inspect.ismodule(found) else shorten(repr(found))
    return (
        f"is {kind}, not a metric: expected a function of a sample, a MetricDefinition, or a class "
        "or an object with 'score' or 'ascore'"
    )


def _make(
    label: str,
    options: NoOptions,
    binding: _Binding,
    timeout_s: float | None,
    shown: str,
    is_better: bool | None,
) -> CustomFunction | CustomCoroutine:
    given = cast("CallOptions", options)
    hide = Redactor(_secrets(given.stated()))
    if _LOWER in (given.model_extra or {}):  # taken by ** of the code, as anything is
        raise CustomMetricError(f"{shown}: {_NOT_LOWER}")
    try:
        scorer, function, keywords = binding.bind(given)
        said = _direction_of(scorer)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also of sys.exit, pytest.skip
        raise CustomMetricError(f"{shown}(...) raised {describe_hidden(error, hide)}") from error
    if is_better is not None and said is not None and said is not is_better:
        raise CustomMetricError(
            f"{shown}: its object sets higher_is_better = {shorten(repr(said))}, which is not "
            "seen: set it in the class, or write higher_is_better: true or false into the scenario"
        )
    call = Call(function, keywords, binding.signature, hide)
    if binding.signature.is_async:
        return CustomCoroutine(label, call, timeout_s)
    return CustomFunction(label, call)


def _direction_of(scorer: object) -> object:
    """Return what an object says of its direction, None where it says nothing."""
    if getattr(scorer, _LOWER, None) is True:
        return False
    said = getattr(scorer, "higher_is_better", None)
    return None if callable(said) else json_plain(said)  # a Boolean of numpy is one


_WORDS: Final = re.compile(r"(?=.*[^\W\d_])(?:(?:[^\W\d_]{1,20}|\d+)(?:[ _.-]+|$))+")
"""Words and numbers: what ``key`` or ``session`` says where it is no secret."""


def _secrets(stated: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that are secrets: by a clear name, or by another one if they are no words.

    >>> [*_secrets({"api_key": "open sesame", "key": "expected_category", "token": "0f3c9a"})]
    ['open sesame', '0f3c9a']
    """
    clear = {*named_secrets(stated, _is_clear)}
    for value in named_secrets(stated, names_secret):
        if value in clear or looks_secret(value) or not _WORDS.fullmatch(value):
            yield value


_UNCLEAR: Final = re.compile(r"(?i)(?:key|session|signature)s?_?\d*$")


def _is_clear(name: str) -> bool:
    return names_secret(name) and (is_clearly_secret(name) or not _UNCLEAR.search(name))


_IGNORED: Final = ("llm_client", "model_name")
"""Constructor parameters for DB-GPT's own model; here the judge takes its place."""

_PARSE: Final = "_parse_evaluate_response"
_SCORE_THERE: Final = ("sync_compute", "compute", _PARSE)
_RETRIEVER = "RetrieverEvaluationMetric"
_LLM = "LLMEvaluationMetric"
_ANY = "EvaluationMetric"

_READS: Final = {
    _RETRIEVER: frozenset({"contexts", "reference_contexts", "question"}),
    _ANY: frozenset({"references", "reference_contexts", "contexts", "question"}),
}
"""What is handed to code of DB-GPT; a prompt may name anything."""
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    _RETRIEVER: ("contexts", "reference_contexts"),
    _LLM: ("question", "answer"),
    _ANY: ("answer",),
}


def _constructed(made: Callable[..., object], keywords: Mapping[str, Any]) -> object:
    """Return an instance; parameters for DB-GPT's own model are None."""
    parameters = inspect.signature(made).parameters
    return made(**{name: None for name in _IGNORED if name in parameters}, **keywords)


def _scoring(found: object, shown: str) -> Callable[[Any], Callable[..., Any]]:
    """Return what makes the scoring function of an instance; ``found`` is one, or its class.

    Raises CustomMetricError where the class does not define the method that scores.
    """
    kind, made = _dbgpt_kind(found), _class_of(found)
    if kind == _LLM:
        if _is_missing(made, _PARSE):
            raise CustomMetricError(f"{shown} does not define '{_PARSE}(text)'")
        return _judged
    if not _is_missing(made, "sync_compute"):
        return partial(_computed, is_retriever=kind == _RETRIEVER)
    if not _is_missing(made, "compute"):
        return partial(_awaited, is_retriever=kind == _RETRIEVER)
    message = "'sync_compute(prediction, contexts, query)' nor an async 'compute'"
    raise CustomMetricError(f"{shown} defines neither {message}")


def _dbgpt_kind(found: object) -> str | None:
    """Return which base class of DB-GPT a class, or its object, has; None for other metrics.

    What has ``score`` or ``ascore``, and no method of DB-GPT's, is another metric: a base class of
    such a name is the user's own.
    """
    is_theirs = any(hasattr(_class_of(found), name) for name in _SCORE_THERE)
    if _method(found) is not None and not is_theirs:
        return None
    names = [base.__name__ for base in inspect.getmro(_class_of(found))]
    return next((kind for kind in (_RETRIEVER, _LLM, _ANY) if kind in names), None)


def _class_of(found: object) -> type:
    return found if inspect.isclass(found) else type(found)


def _is_missing(made: type, method: str) -> bool:
    """Return whether the method is missing, or defined by a base class of DB-GPT's alone."""
    owner = next((base for base in inspect.getmro(made) if method in vars(base)), None)
    return owner is None or owner.__name__ in _NEEDS


def _arguments(sample: Sample, *, is_retriever: bool) -> tuple[Any, ...]:
    """Return prediction, contexts and query, as DB-GPT calls them."""
    if is_retriever:  # contexts are the prediction, compared with the expected ones
        found, expected = sample.contexts or (), sample.reference_contexts or ()
        return list(found), list(expected), sample.question
    # The second is what the answer is compared with: the first field that the row has for it.
    expected = sample.references or sample.reference_contexts or sample.contexts or ()
    return sample.answer, list(expected), sample.question


def _computed(metric: Any, *, is_retriever: bool) -> Callable[[Sample], Score]:
    def score(sample: Sample) -> Score:
        arguments = _arguments(sample, is_retriever=is_retriever)
        return _dbgpt_score(_computed_by(metric.sync_compute, arguments))

    return score


def _awaited(metric: Any, *, is_retriever: bool) -> Callable[..., Any]:
    async def ascore(sample: Sample) -> Score:
        arguments = _arguments(sample, is_retriever=is_retriever)
        return _dbgpt_score(await _computed_by(metric.compute, arguments))

    return ascore


def _computed_by(method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call ``method`` with prediction, contexts and, if it takes one, the query."""
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        arguments = arguments[:2]
    return method(*arguments)


def _judged(metric: Any) -> Callable[..., Any]:
    async def ascore(sample: Sample, judge: ChatClient) -> Score:
        from pytest_rageval.clients.base import ask

        reply = await ask(judge, _prompt(metric, sample), _accept(metric))
        return _dbgpt_score(getattr(metric, _PARSE)(reply))

    return ascore


def _accept(metric: Any) -> Callable[[str], object]:
    """Return a check of replies: its ValueError refuses one, and the judge is asked again."""

    def accept(text: str) -> None:
        try:
            getattr(metric, _PARSE)(text)
        except ValueError:
            raise
        except Exception:  # noqa: BLE001  (a defect of the metric, which another reply cannot fix)
            return

    return accept


def _prompt(metric: Any, sample: Sample) -> str:
    """Return the metric's template, filled; raises CustomMetricError if it has none."""
    found = getattr(metric, "prompt_template", None) or getattr(metric, "prompt", None)
    template = getattr(found, "template", found)
    if not isinstance(template, str) or not template.strip():
        raise CustomMetricError(
            "has no 'prompt_template': a text with {query}, {context} and {answer}"
        )
    language = prompt_language("auto", sample.question or "", sample.answer or "")
    return fill_prompt(template, sample, "", language)


def _dbgpt_score(found: Any) -> Score:
    """Return the score in a result object, or in a plain value."""
    if isinstance(found, Score) or not hasattr(found, "score"):
        return as_score("", found)
    score = as_score("", found.score)
    feedback, passing = getattr(found, "feedback", None), getattr(found, "passing", None)
    if isinstance(passing, str):  # bool("False") would be True
        return Score("", None, error=f"expected True or False for passing, found {passing!r}")
    return Score(
        "",
        score.value,
        reason=str(feedback) if feedback else score.reason,
        details=None if passing is None else {PASSING: bool(passing)},
        error=score.error,
    )
