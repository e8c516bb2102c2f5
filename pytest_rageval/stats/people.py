"""Holds the scores of a run against labels of people: agreement, corrected means, differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pytest_rageval.model import (
    CHOSEN,
    NOTHING,
    RANDOM,
    TOLERANCE,
    WEIGHTED_SCORE,
    Agreement,
    Baseline,
    Bound,
    Corrected,
    Draw,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.stats.agreement import Rated, agreement
from pytest_rageval.stats.comparison import paired_scores
from pytest_rageval.stats.corrected import LEAST_LABELS, Judged, corrected_mean
from pytest_rageval.stats.groups import field_value, group_numbers
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted

CHANGED: Final = "changed"
"""The code of an answer that is not the one of the draw."""
_MOST_SLICES: Final = 20
_LISTED: Final = 3

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """How scores and labels of one metric become numbers from 0 to 1.

    More than two levels are on the metric's scale; two stand for its lower and its upper end.
    """

    low: float
    high: float
    label_low: float
    label_high: float

    @classmethod
    def of(cls, info: ScenarioInfo, human: HumanLabels) -> Scale:
        """Return the scale of a metric; that of an unbounded one has the ends of its levels."""
        low, high = column_of(info, human.metric).range
        ends = (human.levels[0], human.levels[-1])
        if math.isinf(high - low):
            return cls(*ends, *ends)
        return cls(low, high, *((low, high) if len(human.levels) > 2 else ends))

    @property
    def span(self) -> float:
        """The width of the metric's range."""
        return self.high - self.low

    def score(self, score: float) -> float:
        """Return a score as 0..1."""
        return (score - self.low) / self.span

    def label(self, level: float) -> float:
        """Return a label as 0..1."""
        return (level - self.label_low) / (self.label_high - self.label_low)

    def level(self, score: float, levels: Sequence[float], cut: Bound | None) -> float | None:
        """Return the level that a score stands for, None if two levels have no bound between."""
        if (self.low, self.high) == (self.label_low, self.label_high):
            same = next((one for one in levels if abs(one - score) <= TOLERANCE), None)
            if same is not None:
                return same
        if len(levels) > 2:
            return min(levels, key=lambda level: (abs(level - score), level))
        if cut is None:
            return None
        is_high = Bound(min=cut.min).holds(score) if cut.min is not None else not cut.holds(score)
        return levels[is_high]


def column_of(info: ScenarioInfo, metric: str) -> MetricColumn:
    """Return the column of a metric, or of the weighted score."""
    if metric == WEIGHTED_SCORE:
        return MetricColumn(WEIGHTED_SCORE, range=info.weighted_range)
    return next(column for column in info.metrics if column.name == metric)


def digest_of(sample: SampleResult) -> str:
    """Return the digest of a sample's present answer."""
    return answer_digest(sample.answer, sample.contexts)


def is_on_record(sample_id: str, label: Label, draws: Iterable[Draw]) -> bool:
    """Return whether a draw holds the answers of the time when the label was given."""
    return any(draw.digests.get(sample_id) == label.digest for draw in draws)


def agreement_of(result: ScenarioResult, human: HumanLabels) -> Agreement:
    """Return how well a metric agrees with people, over the samples that both rated.

    Of answers that have labels of earlier ones only, the number is given. Where labels were drawn
    by strata, each stands for as many samples as its stratum has for each label.
    """
    info, weights = result.info, _drawn_weights(result, human)
    scale = Scale.of(info, human)
    bound = Bound(min=human.cut) if human.cut is not None else info.thresholds.get(human.metric)
    rated, unscored, stale = [], 0, 0
    for position, sample in enumerate(result.samples):
        labels = human.labels.get(sample.sample_id, ())
        current = _current(sample, labels)
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
            )
        )
    whole = _in_unit(_agreement(rated, human, scale), scale)
    return replace(
        whole, unscored=unscored, stale=stale, slices=_slices(result, rated, human, scale)
    )


def _drawn_weights(result: ScenarioResult, human: HumanLabels) -> Mapping[str, float]:
    """Return how many samples each labelled one stands for; {} unless all were drawn by strata."""
    members = list(_members(result, human, Scale.of(result.info, human)))
    strata = _strata(members, human, saved_draws(result.info)) if human.draws else ""
    labelled = [any(label.digest == one.digest for label in one.labels) for one in members]
    if isinstance(strata, str) or labelled != [one.is_labelled for one in members]:
        return NOTHING
    found: dict[str, float] = {}
    for part in strata:
        names = [one.sample_id for one in part if one.is_labelled]
        found |= {name: len(part) / len(names) for name in names}
    return found


def _current(sample: SampleResult, labels: Sequence[Label]) -> list[Label]:
    """Return the labels that are about the sample's present answer."""
    if not labels:
        return []
    digest = digest_of(sample)
    return [label for label in labels if label.digest == digest]


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


@dataclass(frozen=True, slots=True)
class _Member:
    """A sample of the population that a corrected mean is of."""

    sample_id: str
    judged: Judged
    digest: str
    labels: Sequence[Label]

    @property
    def is_labelled(self) -> bool:
        return self.judged.human is not None


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
    members = list(_members(result, human, scale))
    strata = _strata(members, human, saved_draws(result.info))
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
    return [one.judged for one in _members(result, human, Scale.of(result.info, human))]


def _no_mean(why: str, labels: int = 0) -> Corrected:
    return Corrected(None, None, None, None, labels, None, why)


def _scaled(found: Corrected, low: float, span: float) -> Corrected:
    mean, ci_low, ci_high = (
        None if one is None else low + span * one
        for one in (found.mean, found.ci_low, found.ci_high)
    )
    return replace(found, mean=mean, ci_low=ci_low, ci_high=ci_high)


def _members(result: ScenarioResult, human: HumanLabels, scale: Scale) -> Iterator[_Member]:
    """Yield the samples with a score and a weight; labels that a person chose correct nothing."""
    expected = [sample for sample in result.samples if sample.is_expected]
    groups = group_numbers(result.info, expected)
    everyone = all(
        _current(sample, human.labels.get(sample.sample_id, ()))
        for sample in expected
        if sample.sample_weight > 0.0
    )
    for at, sample in enumerate(expected):
        score = score_of(sample, human.metric)
        if not is_scored(score) or sample.sample_weight == 0.0:
            continue
        labels = human.labels.get(sample.sample_id, ())
        counting = [one for one in _current(sample, labels) if everyone or one.drawn != CHOSEN]
        said = _mean([scale.label(label.value) for label in counting])
        group = None if groups is None else groups[at]
        judged = Judged(scale.score(score), said, sample.sample_weight, group)
        yield _Member(sample.sample_id, judged, digest_of(sample), labels)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def saved_draws(info: ScenarioInfo) -> list[Draw]:
    """Return each baseline as a draw: its answers are on record, and were drawn from as a whole."""
    return [Draw(found.digests) for found in info.baselines.values() if found.digests]


def _strata(
    members: Sequence[_Member], human: HumanLabels, saved: Sequence[Draw]
) -> list[list[_Member]] | str:
    """Return the parts within which labels were drawn uniformly, or why there is no mean."""
    labelled = [one for one in members if one.is_labelled]
    if members and len(labelled) == len(members):
        return [list(members)]
    if not human.labels:
        usual = f"{human.metric} has no labels yet: pytest --rag-label 30 draws samples to label"
        return human.blank or usual
    reason = _undrawn(members, labelled) or _lost(members, [*human.draws, *saved])
    if reason:
        return reason
    parts: dict[Key, list[_Member]] = {}
    draws = bearing_draws(members, human, saved)
    for one in members:
        parts.setdefault(tuple(code_in(draw, one) for draw in draws), []).append(one)
    return _lacking(parts, len(members)) or list(parts.values())


class HasLabels(Protocol):
    """An answer with all labels of its sample, also those of other answers."""

    @property
    def sample_id(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def labels(self) -> Sequence[Label]: ...


def bearing_draws(
    members: Sequence[HasLabels], human: HumanLabels, saved: Sequence[Draw]
) -> list[Draw]:
    """Return the draws that labels of present answers come from.

    A baseline counts if it explains labels that no draw on record does: of its own answers, or of
    earlier ones. Without any label of a present answer, the draws of the earlier ones tell how many
    have changed.
    """
    bearing = [draw for draw in human.draws if _bears(draw, members, is_current=True)]
    unknown = [
        (one.sample_id, label)
        for one in members
        for label in one.labels
        if label.drawn == RANDOM and not is_on_record(one.sample_id, label, human.draws)
    ]
    saved = [draw for draw in saved if any(is_on_record(*one, [draw]) for one in unknown)]
    if bearing or saved:
        return [*bearing, *saved]
    return [draw for draw in human.draws if _bears(draw, members, is_current=False)]


def _undrawn(members: Sequence[_Member], labelled: Sequence[_Member]) -> str:
    """Return why no label counts though there are some, else ''."""
    chosen = [one for one in members if any(label.digest == one.digest for label in one.labels)]
    if labelled or not chosen:
        return ""
    return (
        f"{counted(len(chosen), 'labelled answer')}, none known to be drawn at random: say "
        "'drawn: random' if they were, or draw some (pytest --rag-label 30)"
    )


def _lost(members: Sequence[_Member], draws: Sequence[Draw]) -> str:
    """Return why labels cannot be weighed without a record of their draw, else ''."""
    drawn = [(one, label) for one in members for label in one.labels if label.drawn != CHOSEN]
    stale = [
        one.sample_id
        for one, label in drawn
        if label.digest != one.digest and not is_on_record(one.sample_id, label, draws)
    ]
    if stale:
        return (
            f"{len(stale)} of the labelled answers changed ({_listed(stale)}), and no draws.json "
            "beside the labels says which others have: remove their labels, write 'chosen' as "
            "'drawn' of the others of that time, and draw anew (pytest --rag-label 30)"
        )
    codes = {
        label.drawn
        for one, label in drawn
        if label.drawn != RANDOM and not _is_of_a_draw(one.sample_id, label, draws)
    }
    if codes:
        return (
            "the labels were drawn by strata, and no draws.json beside them has their sizes "
            f"(no {_listed(sorted(codes))}): copy the newest one of --rag-label"
        )
    return ""


def _is_of_a_draw(sample_id: str, label: Label, draws: Iterable[Draw]) -> bool:
    """Return whether a draw has this answer in the stratum that the label names."""
    return any(
        draw.strata.get(sample_id) == label.drawn and draw.digests.get(sample_id) == label.digest
        for draw in draws
    )


def _bears(draw: Draw, members: Sequence[HasLabels], *, is_current: bool) -> bool:
    """Return whether labels of this draw are used: of present answers, or of earlier ones."""
    return any(
        label.drawn == draw.strata.get(one.sample_id, RANDOM)
        and label.digest == draw.digests.get(one.sample_id)
        and (label.digest == one.digest) == is_current
        for one in members
        for label in one.labels
    )


def code_in(draw: Draw, member: HasLabels) -> str:
    """Return the code of an answer's stratum in a draw, CHANGED if it was another answer then."""
    if draw.digests.get(member.sample_id) != member.digest:
        return CHANGED
    return draw.strata.get(member.sample_id, "")


def _lacking(parts: Mapping[Key, Sequence[_Member]], total: int) -> str:
    """Return which labels are missing for a mean, else ''."""
    changed = [one for key, part in parts.items() if CHANGED in key for one in part]
    short = [part for key, part in parts.items() if CHANGED in key and _is_short(part, 10)]
    if short:
        missing = [one.sample_id for part in short for one in part if not one.is_labelled]
        needed = sum(
            min(LEAST_LABELS, len(part)) - sum(one.is_labelled for one in part) for part in short
        )
        return (
            f"{len(changed)} of {total} answers changed since they were labelled: draw {needed} "
            f"of them with 'pytest --rag-label {needed}' (for instance {_listed(missing)})"
        )
    for part in parts.values():
        if len(parts) > 1 and _is_short(part, 2):
            count = sum(one.is_labelled for one in part)
            there = counted(count, "labelled answer")
            return (
                f"a stratum of {len(part)} samples has {there}: draw more (pytest --rag-label 10)"
            )
    return ""


def _is_short(part: Sequence[_Member], least: int) -> bool:
    return sum(one.is_labelled for one in part) < min(least, len(part))


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_LISTED], *["..."] * (len(names) > _LISTED)])


def corrected_difference(
    result: ScenarioResult, human: HumanLabels, baseline: Baseline, confidence: float = 0.95
) -> Corrected:
    """Return the difference that people would see between this run (A) and a baseline (B).

    An equal answer is no difference. The others are a stratum of their own, in which some must be
    labelled on both sides; until then there is no figure.
    """
    scale = Scale.of(result.info, human)
    equal: list[Judged] = []
    parts: dict[Key, list[_Member]] = {}
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
    lost = _lost(changed, [*human.draws, *saved_draws(result.info)])
    if lost:
        return _no_mean(lost, labelled)
    if labelled < min(LEAST_LABELS, len(changed)):
        missing = [one.sample_id for one in changed if not one.is_labelled]
        needed = min(LEAST_LABELS, len(changed)) - labelled
        why = (
            f"{len(changed)} of {len(equal) + len(changed)} answers differ from those of "
            f"{baseline.name}: draw both answers of {needed} of them with "
            f"'pytest --rag-label {needed}' (for instance {_listed(missing)})"
        )
        return _no_mean(why, labelled)
    strata = [[one.judged for one in part] for part in parts.values()]
    strata += [equal] if equal else []
    exact = (len(parts),)  # equal answers are no sample of others
    found = corrected_mean(strata, differences=True, confidence=confidence, exact=exact)
    return replace(_scaled(found, 0.0, scale.span), labels=labelled)


def _pairs(
    result: ScenarioResult, human: HumanLabels, baseline: Baseline, scale: Scale
) -> Iterator[_Member]:
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
        yield _Member(sample.sample_id, judged, digest, labels)


def _drawn_mean(labels: Sequence[Label], digest: str, scale: Scale) -> float | None:
    """Return what people say of one answer on average, if it was drawn to be labelled."""
    found = [label for label in labels if label.digest == digest and label.drawn != CHOSEN]
    return _mean([scale.label(label.value) for label in found])
