"""The verdict on one sample: the thresholds that it misses, and why scores are missing."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    ANSWER_KIND,
    BUDGET,
    FAULTS,
    NOT_ASKED,
    PASSING,
    REPLAY,
    TARGET,
    WEIGHTED_SCORE,
    Bound,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.weights import is_scored

NOTHING_WEIGHS: Final = "all metrics that have a score weigh 0"
"""Why a sample has no weighted score though metrics scored it."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A score that misses its threshold.

    ``why`` is the reason where the answer made it the worst score (``left_out``), else "".
    """

    name: str
    observed: float
    bound: Bound
    why: str = ""

    def __str__(self) -> str:
        why = f" ({self.why})" if self.why else ""
        return f"{self.name} {self.bound.compare(self.observed)}{why}"


@dataclass(frozen=True, slots=True)
class FailedByMetric:
    """A metric that itself fails the sample, whatever the thresholds."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} does not pass: the metric itself returned passing = False"


Missed: TypeAlias = Shortfall | FailedByMetric
"""Why a sample that has all its scores fails."""


def passing_of(sample: SampleResult, name: str) -> bool | None:
    """Return whether a metric itself passes the sample; None where it does not decide.

    It decides by ``passing`` in its details, as metrics written for DB-GPT do.
    """
    details = sample.details.get(name)
    passing = details.get(PASSING) if isinstance(details, Mapping) else None
    return None if passing is None else bool(passing)


def score_of(sample: SampleResult, name: str) -> float | None:
    """Return the sample's score for a metric, or its weighted score; None when unscored."""
    return sample.weighted_score if name == WEIGHTED_SCORE else sample.scores.get(name)


_OF_MISSING: Final = ("invalid", "unscored")


def judging(gates: Mapping[str, Any]) -> set[str]:
    """Return the keys of those gates of a scenario that judge answers.

    Others bound what is missing (also for each value of a field), or the judge: its ``agreement``.
    """
    return {name for name, value in gates.items() if _judges(name, value)}


def _judges(name: str, value: Any) -> bool:
    """Return whether one key of ``gates``, with its value, judges answers."""
    if name in _OF_MISSING or not isinstance(value, Mapping):
        return name not in _OF_MISSING
    own = {key: inner for key, inner in value.items() if not str(key).startswith("x-")}
    if name == "by":
        return any(isinstance(inner, Mapping) and judging(inner) for inner in value.values())
    return own.keys() != {"agreement"}


def _is_of_file(name: str, gates: Mapping[str, Any]) -> bool:
    """Return whether gates of a file that judge no answer make the one of this name."""
    if name in _OF_MISSING or any(name.startswith(f"{key}.agreement.") for key in gates):
        return True
    fields = gates.get("by", {}).items()
    return any(
        name.startswith(start := f"by.{field}.") and _is_of_file(name.removeprefix(start), inner)
        for field, inner in fields
        if isinstance(inner, Mapping)
    )


def is_judged(result: ScenarioResult) -> bool:
    """Return whether a gate, a threshold, a test function or a metric judged answers.

    With gates that judge none alone (``judging``), wrong answers are no failure.
    """
    info = result.info
    if judging(info.gates) or info.thresholds or not info.is_of_file:
        return True
    # Beside those of the file, gates are of hooks, or of variants.
    if not all(_is_of_file(gate.name, info.gates) for gate in result.gates):
        return True
    of_metrics = (passing_of(sample, name) for sample in result.samples for name in sample.details)
    return any(passing is not None for passing in of_metrics)


def shortfalls(sample: SampleResult, thresholds: Mapping[str, Bound]) -> list[Missed]:
    """Return the thresholds that ``sample`` misses, and the metrics that fail it themselves.

    A missing score is not judged. A metric that passes the sample overrules no threshold.
    """
    missed: list[Missed] = []
    for name, bound in thresholds.items():
        value = score_of(sample, name)
        if is_scored(value) and not bound.holds(value):
            # What the answer itself rules out (``LeftOut``) counts as the worst score.
            why = sample.reasons.get(name, "") if sample.left_out.get(name) == "answer" else ""
            missed.append(Shortfall(name, value, bound, why))
    if not sample.details:
        return missed
    failing = (name for name in sample.scores if passing_of(sample, name) is False)
    return [*missed, *map(FailedByMetric, failing)]


def is_low(info: ScenarioInfo, sample: SampleResult) -> bool:
    """Return whether a sample misses a threshold, or a metric itself fails it.

    In a scenario without thresholds, also whether its weighted score is below ``bands.warn``.
    """
    missed = shortfalls(sample, info.thresholds)
    if missed or info.thresholds:
        return bool(missed)
    score = sample.weighted_score
    return is_scored(score) and info.band_of(WEIGHTED_SCORE, score) == "bad"


def unwritten(target: str, sample: SampleResult) -> str | None:
    """Return the message of a target that is not written yet, the same for every sample.

    ``target`` is its name in results. None for one that gave an answer, or failed otherwise.
    """
    message = sample.errors.get(TARGET, "").partition("\n")[0]
    is_unwritten = bool(target) and message.startswith(f"{target}: {NotImplementedError.__name__}")
    return message if is_unwritten else None


def is_beyond_budget(sample: SampleResult) -> bool:
    """Return whether a score was not asked for because the budget was spent."""
    return any(error.startswith(BUDGET) for error in sample.errors.values())


def was_not_asked(sample: SampleResult, name: str) -> bool:
    """Return whether a score is missing because the run did not ask for it.

    The budget was spent, the cache that is replayed does not hold it, or the judge is unusable.
    """
    return sample.errors.get(name, "").startswith((BUDGET, REPLAY, NOT_ASKED))


def is_ruled_out(sample: SampleResult, name: str) -> bool:
    """Return whether the metric does not apply, whatever the answer: no score of it is missed."""
    return sample.left_out.get(name) in ("row", "label", "run")


def row_rules_out(sample: SampleResult, name: str, *, or_lacks: bool = False) -> bool:
    """Return whether the data alone rule the metric out, whatever was found, judged or answered.

    They rule the weighted score out where they rule every metric out. ``or_lacks``: also where the
    row lacks the label that asks for the metric; nobody knows whether the label was lost.
    """
    names = sample.scores if name == WEIGHTED_SCORE else (name,)
    why = ("row", "label") if or_lacks else ("row",)
    return bool(sample.left_out) and all(sample.left_out.get(one) in why for one in names)


def refuses(sample: SampleResult) -> bool:
    """Return whether the answer refuses, where the scenario looks for that."""
    kind = sample.details.get(ANSWER_KIND)
    return isinstance(kind, Mapping) and kind.get("kind") == "refused"


def is_all_ruled_out(sample: SampleResult) -> bool:
    """Return whether every metric is ruled out, so that no weighted score is missed."""
    return bool(sample.left_out) and all(is_ruled_out(sample, name) for name in sample.scores)


def blamed_metrics(info: ScenarioInfo, sample: SampleResult) -> list[str]:
    """Return the metrics that leave a sample without a weighted score, [] where it has one.

    These are the metrics with a weight that failed or, if none failed, all of them that have no
    score. [] also if no metric with a weight lacks its score.
    """
    if is_scored(sample.weighted_score):
        return []
    missing = [
        column.name
        for column in info.metrics
        if column.weight > 0.0 and not is_scored(sample.scores.get(column.name))
    ]
    return [name for name in missing if name in sample.errors] or missing


def is_tolerated(info: ScenarioInfo, sample: SampleResult, may_be_missing: Collection[str]) -> bool:
    """Return whether only metrics in ``may_be_missing`` keep the sample from a weighted score.

    False for one that has its weighted score, for an invalid row, where the target failed, and for
    what the run did not ask for.
    """
    if not may_be_missing or sample.invalid is not None or TARGET in sample.errors:
        return False
    blamed = blamed_metrics(info, sample)
    return bool(blamed) and all(
        name in may_be_missing and not was_not_asked(sample, name) for name in blamed
    )


def has_failed(sample: SampleResult, name: str) -> bool:
    """Return whether a score is missing because something failed.

    Otherwise it has a value, or the metric does not apply to the sample. ``name`` may be
    ``weighted_score``.
    """
    if is_scored(score_of(sample, name)):
        return False
    if name == WEIGHTED_SCORE:
        return bool(sample.errors)
    return name in sample.errors or TARGET in sample.errors or sample.invalid is not None


def shown_errors(sample: SampleResult) -> dict[str, str]:
    """Return the errors of ``sample`` by metric, ``row`` or ``target``.

    If it could not be judged, or has no weighted score, the reasons of missing scores are included;
    under ``weighted_score`` that all scored metrics weigh 0.
    """
    if sample.outcome != "error" and is_scored(sample.weighted_score):
        return dict(sample.errors)
    missing = [name for name, score in sample.scores.items() if not is_scored(score)]
    reasons = {name: sample.reasons[name] for name in missing if name in sample.reasons}
    is_weightless = not is_scored(sample.weighted_score) and not sample.errors
    if is_weightless and len(missing) < len(sample.scores):
        reasons[WEIGHTED_SCORE] = NOTHING_WEIGHS
    new = {name: reason for name, reason in reasons.items() if name not in sample.errors}
    return {**sample.errors, **new}


def badness(sample: SampleResult) -> tuple[bool, float, int]:
    """Return a sort key: what could not be judged first, then the lowest weighted scores."""
    score = sample.weighted_score
    return sample.outcome != "error", score if is_scored(score) else -math.inf, sample.index


_UNASKED: Final = {
    NOT_ASKED: "not asked",
    REPLAY: "not in the cache that is replayed",
    BUDGET: "the budget was spent",
}


def judge_failure(sample: SampleResult) -> str:
    """Return why a judge scored nothing of a sample, equal for equal kinds of replies.

    "" where it did, or where anything else went wrong.
    """
    reasons = []
    for name, error in sample.errors.items():
        found = sample.replies.get(name) or {}
        kinds = [words for fault, words in FAULTS.items() if found.get(fault)]
        kinds = [words for begin, words in _UNASKED.items() if error.startswith(begin)] or kinds
        if not kinds or sample.scores.get(name) is not None:
            return ""
        reasons.append(f"{name}: {', '.join(kinds)}")
    return "; ".join(reasons)


_TOLD: Final = 10
_TOLD_WIDTH: Final = 300
"""Of so many errors, so many characters tell kinds apart."""
_FIGURE = re.compile(
    r"((?<![a-z])(?:http(?:/[\d.]+| error)?|(?:status|error)[_ ]?code|status(?==)"
    r"|[\"'](?:status|code))[\"' :=：]{1,3}[45]\d\d(?!\d))|\d+",
    re.IGNORECASE,
)


def error_kind(sample: SampleResult) -> tuple[str, str]:
    """Return what is equal where samples could not be judged for one reason, and the reason.

    In the first, figures (such as how long a judge was waited for) become 0, except a status of
    HTTP, which is the reason itself. Two empty texts where nothing is known.
    """
    known = list(shown_errors(sample).items())[:_TOLD]
    errors = (f"{shorten(name, _TOLD_WIDTH)}: {shorten(text, _TOLD_WIDTH)}" for name, text in known)
    reason = judge_failure(sample) or "; ".join(errors)
    return _FIGURE.sub(lambda found: found[1] or "0", reason), reason
