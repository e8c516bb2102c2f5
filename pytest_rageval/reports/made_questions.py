"""How many questions of a run are made by a model, and the means of these and of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    is_by_model,
)
from pytest_rageval.stats.summary import summarize
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import group_numbers
from pytest_rageval.stats.wording import counted, figure, interval, made_text

_DECIDES: Final = (
    "a mean over made questions tells versions apart; it is no estimate of quality for users"
)


def made_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield how many questions are made, then the means of made and other questions apart.

    The means are those of the gated metrics and of the weighted score. Nothing without made
    questions; no means where all questions are made, or where only a sample of the rows is asked.
    """
    made = result.info.made
    if made is None:
        return
    if made.count == made.rows:
        yield f"{made_text(made)}; {_DECIDES}"
        return
    yield made_text(made)
    if result.info.sample is not None:  # some rows were more likely to be drawn than others
        yield "means of made and other questions apart: not estimated where a sample is asked"
        return
    expected = [sample for sample in result.samples if sample.is_expected]
    ours = [sample for sample in expected if _is_made(sample)]
    others = [sample for sample in expected if not _is_made(sample)]
    gated = {gate.metric for gate in result.gates}
    names = [name for name in result.metrics if name in gated]
    for name in (*names, WEIGHTED_SCORE):
        if not result.summary_of(name).n:
            continue
        mean = _mean(result.info, name, ours, "made question")
        yield f"{name} is {mean}, {_mean(result.info, name, others, 'other')}"


def _is_made(sample: SampleResult) -> bool:
    return is_by_model(sample.metadata)


def _mean(info: ScenarioInfo, name: str, samples: Sequence[SampleResult], kind: str) -> str:
    """Return a mean over questions of a kind, its interval, and how many questions it is over."""
    ends = {column.name: column.range for column in info.metrics}
    found = summarize(
        [score_of(sample, name) for sample in samples],
        [sample.sample_weight for sample in samples],
        ends.get(name, info.weighted_range),
        groups=group_numbers(info, samples),
    )
    within = "" if found.ci_low is None else f" ({interval(found.ci_low, found.ci_high)})"
    scored = f"{found.n} of " if found.unscored else ""
    return f"{figure(found.weighted_mean)}{within} over {scored}{counted(len(samples), kind)}"
