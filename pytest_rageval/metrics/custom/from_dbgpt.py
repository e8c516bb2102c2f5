"""Metrics written for DB-GPT's evaluation, scored as they are; DB-GPT need not be installed.

They are known by the names of their base classes, be it DB-GPT's own or those of
``pytest_rageval.metrics.dbgpt``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.metrics.custom.declared import Declared
from pytest_rageval.metrics.custom.signature import CustomMetricError
from pytest_rageval.metrics.custom.values import as_score
from pytest_rageval.metrics.rubric_prompts import fill_prompt
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.tokenize import has_cjk

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ChatClient

IGNORED: Final = ("llm_client", "model_name")
"""Parameters of a constructor that mean a model of DB-GPT's: here the judge is asked."""

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
    """Return whether a class, or an object of it, keeps DB-GPT's contract."""
    return _kind(found) is not None


def declared(found: object) -> Declared:
    """Return what the kind of metric says: the fields that it is given."""
    return Declared(needs=_NEEDS[_kind(found) or _ANY])


def constructed(made: Callable[..., object], keywords: Mapping[str, Any]) -> object:
    """Return an instance; a model of DB-GPT's that its constructor wants is None."""
    parameters = inspect.signature(made).parameters
    return made(**{name: None for name in IGNORED if name in parameters}, **keywords)


def scoring(found: object, shown: str) -> _Scoring:
    """Return what makes of an instance the function that scores a sample."""
    kind, made = _kind(found), found if inspect.isclass(found) else type(found)
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
    """Return whether nobody but the base classes defines the method."""
    owner = next((base for base in inspect.getmro(made) if method in vars(base)), None)
    return owner is None or owner.__name__ in _NEEDS


def _arguments(sample: Sample, *, is_retriever: bool) -> tuple[Any, ...]:
    """Return prediction, contexts and query: what was found against what should have been."""
    if is_retriever:
        found, expected = sample.contexts or (), sample.reference_contexts or ()
        return list(found), list(expected), sample.question
    # "contexts" is what an answer is held against, whichever of the fields a data set has for it.
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
    """Call with as many of prediction, contexts and query as the method takes."""
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
    """Return what refuses a reply that the metric cannot read, so that it is asked for again."""

    def accept(text: str) -> None:
        try:
            getattr(metric, _PARSE)(text)
        except ValueError:
            raise
        except Exception:  # noqa: BLE001  (a defect of the metric, which no other reply mends)
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
    """Return the score of a result object, or of what is a score itself."""
    if isinstance(found, Score) or not hasattr(found, "score"):
        return as_score("", found)
    score = as_score("", found.score)
    feedback, passing = getattr(found, "feedback", None), getattr(found, "passing", None)
    return Score(
        "",
        score.value,
        reason=str(feedback) if feedback else score.reason,
        details=None if passing is None else {"passing": bool(passing)},
        error=score.error,
    )
