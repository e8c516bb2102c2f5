"""Runs metrics written for DB-GPT's evaluation unchanged; DB-GPT need not be installed.

They are recognised by the names of their base classes: DB-GPT's own, or those of
``pytest_rageval.metrics.dbgpt``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.metrics.custom.declaration import Declaration
from pytest_rageval.metrics.custom.signature import CustomMetricError, as_score
from pytest_rageval.metrics.rubric import fill_prompt
from pytest_rageval.model import PASSING, Sample, Score
from pytest_rageval.text.tokenize import has_cjk

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ChatClient

IGNORED: Final = ("llm_client", "model_name")
"""Constructor parameters for DB-GPT's own model; here the judge takes its place."""

_PARSE: Final = "_parse_evaluate_response"
_RETRIEVER = "RetrieverEvaluationMetric"
_LLM = "LLMEvaluationMetric"
_ANY = "EvaluationMetric"

_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    _RETRIEVER: ("contexts", "reference_contexts"),
    _LLM: ("question", "answer"),
    _ANY: ("answer",),
}

_Scoring = Callable[[Any], Callable[..., Any]]


def is_metric(found: object) -> bool:
    """Return whether a class, or an object of it, is a metric of DB-GPT."""
    return _kind(found) is not None


def declaration(found: object) -> Declaration:
    """Return what the kind of metric declares: the fields that it needs."""
    return Declaration(needs=_NEEDS[_kind(found) or _ANY])


def constructed(made: Callable[..., object], keywords: Mapping[str, Any]) -> object:
    """Return an instance; parameters for DB-GPT's own model are None."""
    parameters = inspect.signature(made).parameters
    return made(**{name: None for name in IGNORED if name in parameters}, **keywords)


def scoring(found: object, shown: str) -> _Scoring:
    """Return what makes a scoring function of an instance; raises CustomMetricError."""
    kind, made = _kind(found), _class(found)
    if kind == _LLM:
        if _is_missing(made, _PARSE):
            raise CustomMetricError(f"{shown} does not define '{_PARSE}(text)'")
        return _asked
    if not _is_missing(made, "sync_compute"):
        return lambda metric: _computed(metric, is_retriever=kind == _RETRIEVER)
    if not _is_missing(made, "compute"):
        return lambda metric: _awaited(metric, is_retriever=kind == _RETRIEVER)
    message = "'sync_compute(prediction, contexts, query)' nor an async 'compute'"
    raise CustomMetricError(f"{shown} defines neither {message}")


def _kind(found: object) -> str | None:
    names = [base.__name__ for base in inspect.getmro(_class(found))]
    return next((kind for kind in (_RETRIEVER, _LLM, _ANY) if kind in names), None)


def _class(found: object) -> type:
    return found if inspect.isclass(found) else type(found)


def _is_missing(made: type, method: str) -> bool:
    """Return whether only the base classes define the method."""
    owner = next((base for base in inspect.getmro(made) if method in vars(base)), None)
    return owner is None or owner.__name__ in _NEEDS


def _arguments(sample: Sample, *, is_retriever: bool) -> tuple[Any, ...]:
    """Return prediction, contexts and query."""
    if is_retriever:
        found, expected = sample.contexts or (), sample.reference_contexts or ()
        return list(found), list(expected), sample.question
    # "contexts" is what the answer is compared with: the first field that the row has for it.
    expected = sample.references or sample.reference_contexts or sample.contexts or ()
    return sample.answer, list(expected), sample.question


def _computed(metric: Any, *, is_retriever: bool) -> Callable[[Sample], Score]:
    def score(sample: Sample) -> Score:
        return _result(_call(metric.sync_compute, _arguments(sample, is_retriever=is_retriever)))

    return score


def _awaited(metric: Any, *, is_retriever: bool) -> Callable[..., Any]:
    async def ascore(sample: Sample) -> Score:
        arguments = _arguments(sample, is_retriever=is_retriever)
        return _result(await _call(metric.compute, arguments))

    return ascore


def _call(method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call ``method`` with prediction, contexts and, if it takes one, the query."""
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        arguments = arguments[:2]
    return method(*arguments)


def _asked(metric: Any) -> Callable[..., Any]:
    async def ascore(sample: Sample, judge: ChatClient) -> Score:
        from pytest_rageval.clients.base import Message

        prompt = _prompt(metric, sample)
        reply = await judge.complete([Message("user", prompt)], accept=_accept(metric))
        return _result(getattr(metric, _PARSE)(reply.text))

    return ascore


def _accept(metric: Any) -> Callable[[str], object]:
    """Return a check that refuses unreadable replies, so that the judge is asked again."""

    def accept(text: str) -> None:
        try:
            getattr(metric, _PARSE)(text)
        except ValueError:
            raise
        except Exception:  # noqa: BLE001  (a defect of the metric, which another reply cannot mend)
            return

    return accept


def _prompt(metric: Any, sample: Sample) -> str:
    found = getattr(metric, "prompt_template", None) or getattr(metric, "prompt", None)
    template = getattr(found, "template", found)
    if not isinstance(template, str) or not template.strip():
        raise CustomMetricError(
            "has no 'prompt_template': a text with {query}, {context} and {answer}"
        )
    is_cjk = has_cjk((sample.question or "") + (sample.answer or ""))
    return fill_prompt(template, sample, "", "zh" if is_cjk else "en")


def _result(found: Any) -> Score:
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
