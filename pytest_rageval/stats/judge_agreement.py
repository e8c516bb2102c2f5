"""Holds the scores of a run against labels of people: the agreement, over all and by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.model import (
    NOTHING,
    Agreement,
    HumanLabels,
    ScenarioResult,
)
from pytest_rageval.stats.agreement import Rated, agreement
from pytest_rageval.stats.groups import field_value, group_numbers
from pytest_rageval.stats.label_scale import Scale, cut_of, present_labels
from pytest_rageval.stats.label_strata import members_of, saved_draws, strata_of
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored

_MOST_SLICES: Final = 20


def agreement_of(result: ScenarioResult, human: HumanLabels) -> Agreement:
    """Return how well a metric agrees with people, over the samples that both rated.

    Of answers that have labels of earlier ones only, the number is given. Where labels were drawn
    by strata, each stands for as many samples as its stratum has for each label. With ``group_by``
    the intervals know that samples of a group depend on each other.
    """
    info, weights = result.info, _drawn_weights(result, human)
    scale = Scale.of(info, human)
    bound = cut_of(info, human)
    groups = group_numbers(info, result.samples)
    rated, unscored, stale = [], 0, 0
    for position, sample in enumerate(result.samples):
        labels = human.labels.get(sample.sample_id, ())
        current = present_labels(sample, labels)
        stale += bool(labels) and not current
        score = score_of(sample, human.metric)
        if not current:
            continue
        if not is_scored(score) or not sample.is_expected:
            unscored += 1
            continue
        rated.append(
            Rated(
                sample.sample_id,
                position,
                {label.annotator: label.value for label in current},
                score,
                scale.level(score, human.levels, bound),
                scale.score(score),
                sample.reasons.get(human.metric, ""),
                weights.get(sample.sample_id, 1.0),
                None if groups is None else groups[position],
            )
        )
    whole = _in_unit(_agreement(rated, human, scale), scale)
    return replace(
        whole, unscored=unscored, stale=stale, slices=_slices(result, rated, human, scale)
    )


def _drawn_weights(result: ScenarioResult, human: HumanLabels) -> Mapping[str, float]:
    """Return how many samples each labelled one stands for; {} unless all were drawn by strata."""
    members = list(members_of(result, human, Scale.of(result.info, human)))
    strata = strata_of(members, human, saved_draws(result.info)) if human.draws else ""
    labelled = [any(label.digest == one.digest for label in one.labels) for one in members]
    if isinstance(strata, str) or labelled != [one.is_labelled for one in members]:
        return NOTHING
    found: dict[str, float] = {}
    for part in strata:
        names = [one.sample_id for one in part if one.is_labelled]
        found |= {name: len(part) / len(names) for name in names}
    return found


def _agreement(rated: Sequence[Rated], human: HumanLabels, scale: Scale) -> Agreement:
    lacking = [one.score for one in rated if one.judge is None]
    unclassed = ""
    if lacking:
        unclassed = (
            f"{lacking[0]:.4g} is no level, and nothing says where to cut: write human.cut, or a "
            f"threshold of {human.metric}"
        )
    return agreement(rated, human.levels, unit=scale.label, unclassed=unclassed)


def _in_unit(found: Agreement, scale: Scale) -> Agreement:
    """Return an agreement with its bias in the metric's unit."""
    bias, low, high = (
        None if one is None else one * scale.span
        for one in (found.bias, found.bias_low, found.bias_high)
    )
    return replace(found, bias=bias, bias_low=low, bias_high=high)


def _slices(
    result: ScenarioResult, rated: Sequence[Rated], human: HumanLabels, scale: Scale
) -> dict[str, dict[str, Agreement]]:
    """Return the agreement for each value of the fields that have a few of them."""
    found = {}
    for field in ("doc_name", *result.info.metadata_columns):
        parts: dict[str, list[Rated]] = {}
        for one in rated:
            value = field_value(result.samples[one.position], field)
            if isinstance(value, str | bool | int):
                parts.setdefault(str(value), []).append(one)
        if 2 <= len(parts) <= _MOST_SLICES:
            found[field] = {
                value: replace(
                    _in_unit(_agreement(part, human, scale), scale), disagreements=(), cells={}
                )
                for value, part in sorted(parts.items())
            }
    return found
