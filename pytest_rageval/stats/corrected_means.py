"""Means of a run, and differences of two runs, as people would see them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
    lacking_stratum,
    listed,
    members_of,
    missing_labels,
    parts_of,
    saved_draws,
    strata_of,
    without_record,
)
from pytest_rageval.stats.verdict_mean import verdict_mean
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted


def corrected_of(result: ScenarioResult, human: HumanLabels, confidence: float = 0.95) -> Corrected:
    """Return the mean that people would give, from the judge's scores and labels of some samples.

    Two levels have the form of ``verdict_mean`` where it holds; all else that of
    ``corrected_mean``.

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
    parts = [[one.judged for one in part] for part in strata]
    found = verdict_mean(parts, confidence) if len(human.levels) == 2 else None
    found = found or corrected_mean(parts, confidence=confidence)
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
    pairs = list(_pairs(result, human, baseline, scale))
    equal = [one.judged for one in pairs if one.digest == baseline.digests[one.sample_id]]
    changed = [one for one in pairs if one.digest != baseline.digests[one.sample_id]]
    labelled = sum(one.is_labelled for one in changed)
    if not pairs:
        return _no_mean(f"no sample has a {human.metric} and an answer in both runs")
    saved = saved_draws(result.info)
    lost = without_record(changed, [*human.draws, *saved])
    if lost:
        return _no_mean(lost, labelled)
    parts = parts_of(changed, human, saved)
    lacking = _lacking_pairs(parts, labelled, len(pairs), baseline.name) or lacking_stratum(parts)
    if lacking:
        return _no_mean(lacking, labelled)
    strata = [[one.judged for one in part] for part in parts.values()]
    strata += [equal] if equal else []
    exact = (len(parts),)  # equal answers are no sample of others
    found = corrected_mean(strata, differences=True, confidence=confidence, exact=exact)
    return replace(_scaled(found, 0.0, scale.span), labels=labelled)


def _lacking_pairs(
    parts: Mapping[Key, Sequence[Member]], labelled: int, pairs: int, baseline: str
) -> str:
    """Return how many answers to label on both sides, else ''.

    Those that changed again since they were drawn are no more like the others than changed ones
    are: they need labels of their own.
    """
    changed = [one for part in parts.values() for one in part]
    needed = min(LEAST_LABELS, len(changed)) - labelled
    missing = [one.sample_id for one in changed if not one.is_labelled]
    if needed <= 0:
        needed, missing = missing_labels(parts)
    if needed <= 0:
        return ""
    return (
        f"{len(changed)} of {pairs} answers differ from those of {baseline}: draw both answers of "
        f"{needed} of them with 'pytest --rag-label {needed}' (for instance {listed(missing)})"
    )


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
