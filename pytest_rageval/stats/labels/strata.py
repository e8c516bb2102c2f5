"""The parts of a run within which labels were drawn uniformly, and what they lack for a mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.model import (
    CHOSEN,
    NOTHING,
    RANDOM,
    TOLERANCE,
    WEIGHTED_SCORE,
    Bound,
    Draw,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    answer_digest,
    finite_ends,
)
from pytest_rageval.stats.labels.corrected import LEAST_LABELS, Judged
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import group_numbers, is_scored
from pytest_rageval.stats.wording import counted

CHANGED: Final = "changed"
"""The code of an answer that is not the one of the draw."""

_LISTED: Final = 3

Key = tuple[str, ...]
"""The codes of an answer's strata, one for each draw."""


@dataclass(frozen=True, slots=True)
class Member:
    """A sample of the population that a corrected mean is of, or that a draw is from.

    ``judged`` has the judge's figure, of which a draw looks at the verdict alone, and what people
    say of the answer with this ``digest``. ``labels`` are all of the sample, also those of other
    answers.
    """

    sample_id: str
    judged: Judged
    digest: str
    labels: Sequence[Label]

    @property
    def is_labelled(self) -> bool:
        return self.judged.human is not None


def members_of(result: ScenarioResult, human: HumanLabels, scale: Scale) -> Iterator[Member]:
    """Yield the samples with a score and a weight.

    Labels of samples that a person chose do not count, unless every sample is labelled.
    """
    expected = [sample for sample in result.samples if sample.is_expected]
    groups, cut = group_numbers(result.info, expected), cut_of(result.info, human)
    everyone = all(
        present_labels(sample, human.labels.get(sample.sample_id, ()))
        for sample in expected
        if sample.sample_weight > 0.0
    )
    for at, sample in enumerate(expected):
        score = score_of(sample, human.metric)
        if not is_scored(score) or sample.sample_weight == 0.0:
            continue
        labels = human.labels.get(sample.sample_id, ())
        counting = [
            label for label in present_labels(sample, labels) if everyone or label.drawn != CHOSEN
        ]
        people = average([scale.label(label.value) for label in counting])
        group = None if groups is None else groups[at]
        verdict = scale.verdict(score, human.levels, cut)
        judged = Judged(scale.score(score), people, sample.sample_weight, group, verdict)
        yield Member(sample.sample_id, judged, digest_of(sample), labels)


def saved_draws(info: ScenarioInfo) -> list[Draw]:
    """Return each baseline as a draw: its answers are on record, and were drawn from as a whole."""
    return [Draw(baseline.digests) for baseline in info.baselines.values() if baseline.digests]


def is_on_record(sample_id: str, label: Label, draws: Iterable[Draw]) -> bool:
    """Return whether one of the draws holds the answer that the label is about."""
    return any(draw.digests.get(sample_id) == label.digest for draw in draws)


def bearing_draws(
    members: Sequence[Member], human: HumanLabels, saved: Sequence[Draw]
) -> list[Draw]:
    """Return the draws that labels of present answers come from.

    A saved one counts if labels drawn at random are about its answers, and no draw of ``human``
    holds these. Where none counts, the draws of labels of earlier answers do: they tell how many
    answers have changed.
    """
    bearing = [draw for draw in human.draws if _bears(draw, members, is_current=True)]
    unknown = [
        (member.sample_id, label)
        for member in members
        for label in member.labels
        if label.drawn == RANDOM and not is_on_record(member.sample_id, label, human.draws)
    ]
    saved = [draw for draw in saved if any(is_on_record(*pair, [draw]) for pair in unknown)]
    if bearing or saved:
        return [*bearing, *saved]
    return [draw for draw in human.draws if _bears(draw, members, is_current=False)]


def code_in(draw: Draw, member: Member) -> str:
    """Return the code of an answer's stratum in a draw, CHANGED if it was another answer then."""
    if draw.digests.get(member.sample_id) != member.digest:
        return CHANGED
    return draw.strata.get(member.sample_id, "")


def strata_of(
    members: Sequence[Member], human: HumanLabels, saved: Sequence[Draw]
) -> list[list[Member]] | str:
    """Return the parts within which labels were drawn uniformly, or why there is no mean."""
    labelled = [member for member in members if member.is_labelled]
    if members and len(labelled) == len(members):
        return [list(members)]
    if not human.labels:
        hint = f"{human.metric} has no labels yet: pytest --rag-label 30 draws samples to label"
        return human.blank or hint
    reason = _undrawn(members, labelled) or without_record(members, [*human.draws, *saved])
    if reason:
        return reason
    parts = parts_of(members, human, saved)
    return _missing_in(parts, len(members)) or list(parts.values())


def parts_of(
    members: Sequence[Member], human: HumanLabels, saved: Sequence[Draw]
) -> Mapping[Key, list[Member]]:
    """Return the members by the strata that they had when labels were drawn."""
    parts: dict[Key, list[Member]] = {}
    draws = bearing_draws(members, human, saved)
    for member in members:
        parts.setdefault(tuple(code_in(draw, member) for draw in draws), []).append(member)
    return parts


def missing_labels(parts: Mapping[Key, Sequence[Member]]) -> tuple[int, list[str]]:
    """Return how many labels the changed answers lack, and the ids of those without one.

    Each stratum of changed answers needs LEAST_LABELS, or all of its answers labelled.
    """
    changed = {key: part for key, part in parts.items() if CHANGED in key}
    short = [part for part in changed.values() if _is_short(part, LEAST_LABELS)]
    needed = sum(
        min(LEAST_LABELS, len(part)) - sum(member.is_labelled for member in part) for part in short
    )
    return needed, [member.sample_id for part in short for member in part if not member.is_labelled]


def _undrawn(members: Sequence[Member], labelled: Sequence[Member]) -> str:
    """Return why no label counts though there are some, else ''."""
    with_labels = sum(
        any(label.digest == member.digest for label in member.labels) for member in members
    )
    if labelled or not with_labels:
        return ""
    return (
        f"{counted(with_labels, 'labelled answer')}, none known to be drawn at random: say "
        "'drawn: random' if they were, or draw some (pytest --rag-label 30)"
    )


def without_record(members: Sequence[Member], draws: Sequence[Draw]) -> str:
    """Return why labels cannot be weighed without a record of their draw, else ''."""
    drawn = [
        (member, label) for member in members for label in member.labels if label.drawn != CHOSEN
    ]
    stale = [
        member.sample_id
        for member, label in drawn
        if label.digest != member.digest and not is_on_record(member.sample_id, label, draws)
    ]
    if stale:
        return (
            f"{len(stale)} of the labelled answers changed ({listed(stale)}), and no draws.json "
            "beside the labels says which others have: remove their labels, write 'chosen' as "
            "'drawn' of the others of that time, and draw anew (pytest --rag-label 30)"
        )
    return _lost_strata(drawn, draws)


def _lost_strata(drawn: Iterable[tuple[Member, Label]], draws: Sequence[Draw]) -> str:
    """Return which strata of labels no draw has, else ''."""
    codes = {
        label.drawn
        for member, label in drawn
        if label.drawn not in (RANDOM, CHOSEN) and not _is_of_a_draw(member.sample_id, label, draws)
    }
    if not codes:
        return ""
    return (
        "the labels were drawn by strata, and no draws.json beside them has their sizes "
        f"(no {listed(sorted(codes))}): copy the newest one of --rag-label"
    )


@dataclass(frozen=True, slots=True)
class Drawn:
    """How many samples each labelled one stands for; {} where all weigh alike.

    ``lost`` is why that cannot be known. ``unlabelled`` samples are of parts without any label: no
    figure stands for them.
    """

    weights: Mapping[str, float]
    lost: str = ""
    unlabelled: int = 0


def drawn_weights(members: Sequence[Member], human: HumanLabels, saved: Sequence[Draw]) -> Drawn:
    """Return what the labelled samples stand for.

    All weigh alike where a person chose some, no draw is on record, or all are labelled. Where
    changed answers have too few labels, each of these weighs as much as one of the others does on
    average.
    """
    present = [
        (member, label)
        for member in members
        for label in member.labels
        if label.digest == member.digest
    ]
    is_drawn = all(member.is_labelled for member, _ in present)
    if not is_drawn or all(member.is_labelled for member in members):
        return Drawn(NOTHING)
    lost = _lost_strata(present, [*human.draws, *saved])
    if lost or not human.draws:
        return Drawn(NOTHING, lost)
    found: dict[str, float] = {}
    few: list[str] = []
    size = unlabelled = 0
    for key, part in parts_of(members, human, saved).items():
        names = [one.sample_id for one in part if one.is_labelled]
        if not names:
            unlabelled += len(part)
        elif CHANGED in key and _is_short(part, LEAST_LABELS):
            few += names
        else:
            found |= {name: len(part) / len(names) for name in names}
            size += len(part)
    mean = size / len(found) if found else 1.0
    return Drawn({**found, **dict.fromkeys(few, mean)}, unlabelled=unlabelled)


def _is_of_a_draw(sample_id: str, label: Label, draws: Iterable[Draw]) -> bool:
    """Return whether a draw has the sample in the stratum that the label names.

    The label may be about another answer on record: the answer of a saved run is labelled along
    with the drawn one, under the same code.
    """
    draws = list(draws)
    return is_on_record(sample_id, label, draws) and any(
        draw.strata.get(sample_id) == label.drawn for draw in draws
    )


def _bears(draw: Draw, members: Sequence[Member], *, is_current: bool) -> bool:
    """Return whether a label of this draw is about a present (``is_current``) or earlier answer.

    A code belongs to one draw, also where the label is about the answer of a saved run that was
    labelled along with the drawn one.
    """
    return any(
        label.drawn == draw.strata.get(member.sample_id, RANDOM)
        and (label.drawn != RANDOM or label.digest == draw.digests.get(member.sample_id))
        and (label.digest == member.digest) == is_current
        for member in members
        for label in member.labels
    )


def _missing_in(parts: Mapping[Key, Sequence[Member]], total: int) -> str:
    """Return which labels are missing for a mean, else ''."""
    changed = sum(len(part) for key, part in parts.items() if CHANGED in key)
    needed, missing = missing_labels(parts)
    if needed:
        return (
            f"{changed} of {total} answers changed since labels were drawn: draw {needed} "
            f"of them with 'pytest --rag-label {needed}' (for instance {listed(missing)})"
        )
    return short_stratum(parts)


def short_stratum(parts: Mapping[Key, Sequence[Member]]) -> str:
    """Return which of several strata has fewer than two labels, else ''."""
    for part in parts.values():
        if len(parts) > 1 and _is_short(part, 2):
            count = sum(member.is_labelled for member in part)
            labels = counted(count, "labelled answer")
            return (
                f"a stratum of {len(part)} samples has {labels}: draw more (pytest --rag-label 10)"
            )
    return ""


def _is_short(part: Sequence[Member], least: int) -> bool:
    return sum(member.is_labelled for member in part) < min(least, len(part))


def listed(names: Sequence[str]) -> str:
    """Return the first names, as examples."""
    return ", ".join([*names[:_LISTED], *["..."] * (len(names) > _LISTED)])


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

    def verdict(self, score: float, levels: Sequence[float], cut: Bound | None) -> bool | None:
        """Return whether a score means the higher of two levels; None if unsaid, or of more."""
        level = self.level(score, levels, cut) if len(levels) == 2 else None
        return None if level is None else level == levels[-1]

    def level(self, score: float, levels: Sequence[float], cut: Bound | None) -> float | None:
        """Return the level that a score stands for, None if two levels have no bound between."""
        if (self.low, self.high) == (self.label_low, self.label_high):
            same = next((level for level in levels if abs(level - score) <= TOLERANCE), None)
            if same is not None:
                return same
        if len(levels) > 2:
            return min(levels, key=lambda level: (abs(level - score), level))
        if cut is None:
            return None
        # Of a bound with two ends the lower one is the cut.
        is_high = Bound(min=cut.min).holds(score) if cut.min is not None else not cut.holds(score)
        return levels[is_high]


def column_of(info: ScenarioInfo, metric: str) -> MetricColumn:
    """Return the column of a metric, or of the weighted score."""
    if metric == WEIGHTED_SCORE:
        return MetricColumn(WEIGHTED_SCORE, ends=finite_ends(info.weighted_range))
    return next(column for column in info.metrics if column.name == metric)


def cut_of(info: ScenarioInfo, human: HumanLabels) -> Bound | None:
    """Return from where on a score that is no level means the higher of two; None if unsaid."""
    return Bound(min=human.cut) if human.cut is not None else info.thresholds.get(human.metric)


def digest_of(sample: SampleResult) -> str:
    """Return the digest of a sample's present answer."""
    return answer_digest(sample.answer, sample.contexts)


def present_labels(sample: SampleResult, labels: Sequence[Label]) -> list[Label]:
    """Return the labels that are about the sample's present answer."""
    if not labels:
        return []
    digest = digest_of(sample)
    return [label for label in labels if label.digest == digest]


def average(values: Sequence[float]) -> float | None:
    """Return the plain mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None
