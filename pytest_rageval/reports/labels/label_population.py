"""The answers of a saved run that people can label, with what the judge and people said of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from pytest_rageval.model import (
    CHOSEN,
    TOLERANCE,
    Bound,
    HumanLabels,
    Label,
    SampleResult,
    ScenarioInfo,
)
from pytest_rageval.reports.labels.label_sheet import LabelRow
from pytest_rageval.stats.labels.corrected import Judged
from pytest_rageval.stats.labels.strata import Member, Scale, average, column_of, digest_of
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored


def population(
    info: ScenarioInfo, human: HumanLabels, samples: Mapping[str, SampleResult]
) -> list[Member]:
    """Return those of ``samples`` that have an answer and a score, in their order."""
    scores = {
        name: score
        for name, one in samples.items()
        if is_scored(score := score_of(one, human.metric)) and is_answered(one)
    }
    scale = Scale.of(info, human)
    is_high = _verdict(info, human, scores.values())
    return [
        Member(
            name,
            Judged(
                scale.score(score),
                average([scale.label(one.value) for one in drawn_labels(human, name, digest)]),
                samples[name].sample_weight,
                verdict=is_high(score),
            ),
            digest,
            human.labels.get(name, ()),
        )
        for name, score in scores.items()
        for digest in [digest_of(samples[name])]
    ]


def is_answered(sample: SampleResult) -> bool:
    """Return whether there is an answer, if only an empty one."""
    return sample.answer is not None


def label_row(sample: SampleResult, drawn: str) -> LabelRow:
    """Return what a person sees of an answered sample."""
    return LabelRow(
        sample.sample_id,
        sample.question or "",
        sample.contexts or (),
        sample.answer or "",
        digest_of(sample),
        drawn,
    )


def drawn_labels(human: HumanLabels, sample_id: str, digest: str) -> list[Label]:
    """Return the labels of an answer, without those of people who chose what to label."""
    labels = human.labels.get(sample_id, ())
    return [label for label in labels if label.digest == digest and label.drawn != CHOSEN]


def _verdict(
    info: ScenarioInfo, human: HumanLabels, scores: Collection[float]
) -> Callable[[float], bool]:
    """Return whether the judge finds a score high: by threshold, middle of the range or median."""
    bound = info.thresholds.get(human.metric) if human.cut is None else Bound(min=human.cut)
    if bound is not None:
        return bound.holds
    low, high = column_of(info, human.metric).range
    is_bounded = math.isfinite(high - low)
    cut = (low + high) / 2 if is_bounded else sorted(scores)[len(scores) // 2] if scores else 0.0
    return lambda score: score >= cut - TOLERANCE
