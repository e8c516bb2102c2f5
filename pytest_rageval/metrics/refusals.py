"""Whether an answer refuses where it should: refusal, over_refusal, missed_refusal, crag_score.

Rows say by ``answerable`` whether the documents hold an answer; the scenario's ``refusals`` says
how an answer that refuses is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic import Field

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import (
    AnswerKind,
    MetricDefinition,
    NoOptions,
    ScoringContext,
    defined,
)
from pytest_rageval.metrics.lexical import contains, prepare
from pytest_rageval.model import REPEATS, TOLERANCE, Sample, Score

FAILED: Final = "the judge did not say whether the answer refuses"
_UNKNOWN: Final[Mapping[AnswerKind, str]] = {
    "unclear": "in none of the languages of refusals.language: whether it refuses is not known; "
    "write refusals.also, or refusals: judge",
    "failed": FAILED,
}


def level_of(said: Score) -> float:
    """Return the level that a judge chose; of repeats the median, the lower of two middle ones.

    The mean is no level: where two of three replies see a refusal, the answer is not partial.
    ``said`` must have a value.
    """
    assert said.value is not None
    repeats = (said.details or {}).get(REPEATS)
    if not isinstance(repeats, Mapping):
        return said.value
    values = sorted(value for value in repeats["values"] if value is not None)
    return float(values[(len(values) - 1) // 2])


class RefusalMetric:
    """Scores the decision to answer: ``decide(answerable, kind)`` gives score and reason.

    It gives None as the score of a row to which the metric does not apply.
    """

    def __init__(
        self, name: str, decide: Callable[[bool, AnswerKind], tuple[float | None, str]]
    ) -> None:
        self._name = name
        self._decide = decide

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return 1.0 or 0.0; None for a row that the metric does not apply to.

        None with an error where it is not known whether the answer refuses.
        """
        assert context.reading is not None
        assert sample.answerable is not None
        kind = context.reading.kind
        if kind in _UNKNOWN:
            return Score(self._name, None, error=_UNKNOWN[kind])
        value, reason = self._decide(sample.answerable, kind)
        if value is None:
            return Score(self._name, None, reason, left_out="row")
        if not reason:
            return Score(self._name, value)
        return Score(self._name, value, f"{reason}: {_quoted(sample)}")


def _quoted(sample: Sample) -> str:
    """Return the answer in quotes, after the first context that has a reference in it, if any."""
    # Not at the top: only reasons need it.
    from pytest_rageval.text.evidence import holds

    quoted = f'"{shorten(" ".join((sample.answer or "").split()), 120)}"'
    contexts = () if sample.answerable is False else sample.contexts or ()
    for at, context in enumerate(contexts, start=1):
        if holds([context], sample.references or ()):
            return f"contexts[{at}] holds the reference, the answer is {quoted}"
    return quoted


_MISSED: Final = "the question has no answer in the documents, and the answer gives one"
_OVER: Final = "refused, though the documents hold an answer"
_EMPTY: Final = "the answer is empty"


def _refusal(answerable: bool, kind: AnswerKind) -> tuple[float, str]:
    if kind == "empty":
        return 0.0, _EMPTY
    if answerable == (kind != "refused"):
        return 1.0, ""
    return 0.0, _OVER if answerable else _MISSED


def _over_refusal(answerable: bool, kind: AnswerKind) -> tuple[float | None, str]:
    if not answerable:
        return None, "the question has no answer in the documents"
    if kind == "empty":
        return 1.0, _EMPTY
    return (1.0, _OVER) if kind == "refused" else (0.0, "")


def _missed_refusal(answerable: bool, kind: AnswerKind) -> tuple[float | None, str]:
    if answerable:
        return None, "the documents hold an answer"
    if kind == "empty":
        return 1.0, _EMPTY
    return (0.0, "") if kind == "refused" else (1.0, _MISSED)


class CragOptions(NoOptions):
    """Which answers are right."""

    correct: str = Field(
        "acc", description="a metric of the scenario that says whether an answer is right, or acc"
    )
    at_least: float = Field(
        1.0, strict=True, description="the score of that metric from which it is right"
    )
    acceptable: float | None = Field(
        None,
        strict=True,
        description="the score from which it is acceptable, and counts 0.5 (four levels)",
    )


class CragScore:
    """1 for a right answer, 0 for a refusal, -1 for a wrong or empty one (Yang et al. 2024).

    0.5 for an acceptable answer, if the options say from which score one is acceptable. To a
    question without an answer in the documents, a refusal is right.
    """

    def __init__(self, name: str, options: CragOptions) -> None:
        self._name = name
        self.options = options

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score, -1 to 1; None with an error where the answer cannot be judged.

        None with a reason for ``acc`` of a row without references.
        """
        assert context.reading is not None
        kind = context.reading.kind
        if kind in _UNKNOWN:
            return Score(self._name, None, error=_UNKNOWN[kind])
        if kind == "empty":
            return Score(self._name, -1.0, _EMPTY)
        if kind == "refused":
            return Score(self._name, 1.0 if sample.answerable is False else 0.0, "refused")
        if sample.answerable is False:
            return Score(self._name, -1.0, f"{_MISSED}: {_quoted(sample)}")
        return self._by_correctness(sample, context)

    def _by_correctness(self, sample: Sample, context: ScoringContext) -> Score:
        options = self.options
        other = context.scores.get(options.correct)
        if other is None and options.correct == "acc":
            if not sample.references:
                return Score(self._name, None, "the row has no references")
            answer, references = prepare(sample, context, "ultrarag", "auto")
            other = Score("acc", contains(answer, references, "ultrarag"))
        if other is None or other.value is None:
            return Score(self._name, None, error=f"no score of {options.correct}")
        value = other.value + TOLERANCE
        if value >= options.at_least:
            return Score(self._name, 1.0)
        if options.acceptable is not None and value >= options.acceptable:
            return Score(self._name, 0.5, f"acceptable by {options.correct}")
        return Score(self._name, -1.0, f"wrong by {options.correct}")


def _definition(
    name: str,
    decide: Callable[[bool, AnswerKind], tuple[float | None, str]],
    higher_is_better: bool = False,
    *,
    summary: str,
) -> MetricDefinition:
    return defined(
        name,
        "answer answerable",
        summary,
        lambda shown, _: RefusalMetric(shown, decide),
        of_row=frozenset({"answerable"}),
        higher_is_better=higher_is_better,
        section="refusals",
    )


METRICS = (
    _definition(
        "refusal",
        _refusal,
        higher_is_better=True,
        summary="1 if it answers an answerable question, or refuses another one",
    ),
    _definition("over_refusal", _over_refusal, summary="1 if an answerable question is refused"),
    _definition(
        "missed_refusal",
        _missed_refusal,
        summary="1 if a question without an answer in the documents is answered",
    ),
    defined(
        "crag_score",
        "answer",
        "1 if right, 0 if refused, -1 if wrong or empty",
        CragScore,
        CragOptions,
        range=(-1.0, 1.0),
        section="refusals",
        comes_last=True,
    ),
)
