"""Means of a run, and differences of two runs, as people would see them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_rageval.model import (
    CHOSEN,
    Baseline,
    Corrected,
    HumanLabels,
    Label,
    ScenarioResult,
)
from pytest_rageval.stats.comparison import paired_scores
from pytest_rageval.stats.corrected import LEAST_LABELS, Judged, corrected_mean
from pytest_rageval.stats.groups import group_numbers
from pytest_rageval.stats.judge_agreement import agreement_of
from pytest_rageval.stats.label_scale import Scale, average, column_of, digest_of
from pytest_rageval.stats.label_strata import (
    Key,
    Member,
    listed,
    members_of,
    saved_draws,
    strata_of,
    without_record,
)
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted


def corrected_of(result: ScenarioResult, human: HumanLabels, confidence: float = 0.95) -> Corrected:
    """Return the mean that people would give, from the judge's scores and labels of some samples.

    Samples whose answers have changed since others were labelled are a stratum of their own; until
    enough of them are labelled, there is no mean.
    """
    scale = Scale.of(result.info, human)
    low, high = column_of(result.info, human.metric).range
    if not math.isfinite(high - low):
        end = "upper" if math.isinf(high) else "lower"
        return _no_mean(f"{human.metric} has no {end} end: its mean cannot be corrected")
    members = list(members_of(result, human, scale))
    strata = strata_of(members, human, saved_draws(result.info))
    labelled = sum(one.is_labelled for one in members)
    unscored = agreement_of(result, human).unscored if labelled < LEAST_LABELS else 0
    if unscored and isinstance(strata, list):
        strata = f"{counted(labelled, 'label')}, fewer than {LEAST_LABELS}; {unscored} more are of "
        strata += "samples without a score"
    if isinstance(strata, str):
        return _no_mean(strata, labelled)
    found = corrected_mean([[m.judged for m in part] for part in strata], confidence=confidence)
    return _scaled(found, scale.low, scale.span)


def pilot_of(result: ScenarioResult, human: HumanLabels) -> list[Judged]:
    """Return the population with its labels, to tell how many more of them are needed."""
    return [one.judged for one in members_of(result, human, Scale.of(result.info, human))]


def _no_mean(why: str, labels: int = 0) -> Corrected:
    return Corrected(None, None, None, None, labels, None, why)


def _scaled(found: Corrected, low: float, span: float) -> Corrected:
    mean, ci_low, ci_high = (
        None if one is None else low + span * one
        for one in (found.mean, found.ci_low, found.ci_high)
    )
    return replace(found, mean=mean, ci_low=ci_low, ci_high=ci_high)


def corrected_difference(
    result: ScenarioResult, human: HumanLabels, baseline: Baseline, confidence: float = 0.95
) -> Corrected:
    """Return the difference that people would see between this run (A) and a baseline (B).

    An equal answer is no difference. The others are a stratum of their own, in which some must be
    labelled on both sides; until then there is no figure.
    """
    scale = Scale.of(result.info, human)
    equal: list[Judged] = []
    parts: dict[Key, list[Member]] = {}
    draws = [draw for draw in human.draws if draw.strata]
    for one in _pairs(result, human, baseline, scale):
        if one.digest == baseline.digests[one.sample_id]:
            equal.append(one.judged)
        else:
            key = tuple(draw.strata.get(one.sample_id, "") for draw in draws)
            parts.setdefault(key, []).append(one)
    changed = [one for part in parts.values() for one in part]
    labelled = sum(one.is_labelled for one in changed)
    if not equal and not changed:
        return _no_mean(f"no sample has a {human.metric} and an answer in both runs")
    lost = without_record(changed, [*human.draws, *saved_draws(result.info)])
    if lost:
        return _no_mean(lost, labelled)
    if labelled < min(LEAST_LABELS, len(changed)):
        missing = [one.sample_id for one in changed if not one.is_labelled]
        needed = min(LEAST_LABELS, len(changed)) - labelled
        why = (
            f"{len(changed)} of {len(equal) + len(changed)} answers differ from those of "
            f"{baseline.name}: draw both answers of {needed} of them with "
            f"'pytest --rag-label {needed}' (for instance {listed(missing)})"
        )
        return _no_mean(why, labelled)
    strata = [[one.judged for one in part] for part in parts.values()]
    strata += [equal] if equal else []
    exact = (len(parts),)  # equal answers are no sample of others
    found = corrected_mean(strata, differences=True, confidence=confidence, exact=exact)
    return replace(_scaled(found, 0.0, scale.span), labels=labelled)


def _pairs(
    result: ScenarioResult, human: HumanLabels, baseline: Baseline, scale: Scale
) -> Iterator[Member]:
    """Yield the samples that both runs scored, with their differences as figures."""
    samples = [sample for sample in result.samples if sample.is_expected]
    groups = group_numbers(result.info, samples)
    for at, sample in enumerate(samples):
        ours, theirs = paired_scores(result.info, sample, baseline, human.metric)
        before = baseline.digests.get(sample.sample_id)
        if before is None or not is_scored(ours) or not is_scored(theirs):
            continue
        if sample.sample_weight == 0.0:
            continue
        group = None if groups is None else groups[at]
        digest, labels = digest_of(sample), human.labels.get(sample.sample_id, ())
        if digest == before:
            judged = Judged(0.0, 0.0, sample.sample_weight, group)
        else:
            here, there = (_drawn_mean(labels, one, scale) for one in (digest, before))
            said = None if here is None or there is None else here - there
            difference = scale.score(ours) - scale.score(theirs)
            judged = Judged(difference, said, sample.sample_weight, group)
        yield Member(sample.sample_id, judged, digest, labels)


def _drawn_mean(labels: Sequence[Label], digest: str, scale: Scale) -> float | None:
    """Return what people say of one answer on average, if it was drawn to be labelled."""
    found = [label for label in labels if label.digest == digest and label.drawn != CHOSEN]
    return average([scale.label(label.value) for label in found])
