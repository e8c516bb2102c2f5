"""Compares a run with a baseline, and variants with each other; says why scores do not compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    NOTHING,
    WEIGHTED_SCORE,
    Baseline,
    Comparison,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
    value_text,
)
from pytest_rageval.model.measured import SETTINGS
from pytest_rageval.stats.paired import compare_paired, correction_used
from pytest_rageval.stats.summary import Groups, weighted_interval
from pytest_rageval.stats.verdict import row_rules_out, score_of
from pytest_rageval.stats.weights import field_value, group_numbers, is_scored, weighted_mean
from pytest_rageval.stats.wording import counted, left_out


def compare_runs(
    result: ScenarioResult,
    baseline: Baseline,
    metrics: Sequence[str],
    test: SignificanceTest,
    *,
    tested_together: Collection[str] | None = None,
    shifts: Mapping[str, float] = NOTHING,
) -> Comparison:
    """Return A (``result``) against B (``baseline``) for each of ``metrics`` that B has, too.

    A sample counts for a metric when both sides scored it, with its weight in A. Samples in a group
    (``group_by``) are tested together. p-values are adjusted over the metrics in
    ``tested_together``, or over all. ``shifts`` are added to A - B, by lowering B: with 0.02 the
    test asks whether A is more than 0.02 below B.
    """
    theirs = frozenset(baseline.ids)
    shared = [sample for sample in result.samples if sample.sample_id in theirs]
    ours = {sample.sample_id for sample in result.samples}
    both = {
        name: [paired_scores(result.info, sample, baseline, name) for sample in shared]
        for name in metrics
        if name in baseline.scores
    }
    pairs = {
        name: ([a for a, _ in scores], _shifted([b for _, b in scores], shifts, name))
        for name, scores in both.items()
    }
    compared = compare_paired(
        pairs,
        [sample.sample_weight for sample in shared],
        test=test.test,
        alpha=test.alpha,
        n_resamples=test.n_resamples,
        seed=test.seed,
        correction=test.correction,
        groups=group_numbers(result.info, shared),
        tested_together=tested_together,
    )
    if WEIGHTED_SCORE in compared and (uneven := uneven_samples(result, baseline)):
        known = compared[WEIGHTED_SCORE]
        note = "; ".join(filter(None, (left_out(len(uneven), "one run", "both"), known.note)))
        compared[WEIGHTED_SCORE] = replace(known, note=note)
    return Comparison(
        baseline=baseline.name,
        test=test.test,
        alpha=test.alpha,
        metrics=compared,
        only_a=tuple(
            sample.sample_id for sample in result.samples if sample.sample_id not in theirs
        ),
        only_b=tuple(name for name in baseline.ids if name not in ours),
        correction=correction_used(test.test, test.correction),
        looks=test.looks,
    )


def paired_scores(
    info: ScenarioInfo, sample: SampleResult, baseline: Baseline, name: str
) -> tuple[float | None, float | None]:
    """Return a sample's score in both runs, None where it is missing.

    Both weighted scores are over the same metrics: one that applies to the sample in only one run
    is left out of both. Where a metric failed there is no weighted score.
    """
    ours = score_of(sample, name)
    theirs = baseline.scores.get(name, NOTHING).get(sample.sample_id)
    if name != WEIGHTED_SCORE or ours is None or theirs is None:
        return ours, theirs
    columns, before = _weighed_before(info, sample, baseline)
    first, second = weighted_over_common_metrics(columns, (sample.scores, before), (ours, theirs))
    return first, second


def _weighed_before(
    info: ScenarioInfo, sample: SampleResult, baseline: Baseline
) -> tuple[list[MetricColumn], _Row]:
    """Return the metrics with a weight that the baseline has, too, and their scores in it."""
    known = baseline.scores
    columns = [metric for metric in info.metrics if metric.weight > 0.0 and metric.name in known]
    return columns, {one.name: known[one.name].get(sample.sample_id) for one in columns}


def _weighted_in_both(result: ScenarioResult, baseline: Baseline) -> list[SampleResult]:
    """Return the samples with a weight, and with a weighted score in both runs."""
    weighing = [sample for sample in result.samples if sample.sample_weight > 0.0]
    return [one for one, _, _ in scored_pairs(result.info, weighing, baseline, WEIGHTED_SCORE)]


def uneven_samples(result: ScenarioResult, baseline: Baseline) -> frozenset[str]:
    """Return the ids of samples whose weighted scores leave out what only one run scored."""
    both = _weighted_in_both(result, baseline)
    seen = ((one, *_weighed_before(result.info, one, baseline)) for one in both)
    return frozenset(
        sample.sample_id
        for sample, columns, before in seen
        if applies_in_some_only(columns, (sample.scores, before))
    )


def scored_pairs(
    info: ScenarioInfo, samples: Iterable[SampleResult], baseline: Baseline, name: str
) -> list[tuple[SampleResult, float, float]]:
    """Return the samples that both runs scored, each with its score here and in the baseline."""
    both = ((sample, *paired_scores(info, sample, baseline, name)) for sample in samples)
    return [(one, a, b) for one, a, b in both if is_scored(a) and is_scored(b)]


def lost_metrics(result: ScenarioResult, baseline: Baseline) -> dict[str, list[str]]:
    """Return by sample the metrics that its weighted score lost, without samples that lost none."""
    both = _weighted_in_both(result, baseline)
    lost = {one.sample_id: lost_by(result.info, one, baseline) for one in both}
    return {sample_id: missing for sample_id, missing in lost.items() if missing}


def lost_by(info: ScenarioInfo, sample: SampleResult, baseline: Baseline) -> list[str]:
    """Return the metrics with a weight whose score the baseline has and the sample lacks.

    The weighted score of the baseline leaves them out, too: what they would have said is lost.
    """
    return [
        name
        for name in weights_of(info)
        if is_scored(baseline.scores.get(name, NOTHING).get(sample.sample_id))
        and not is_scored(sample.scores.get(name))
    ]


def interval_of_fall(
    result: ScenarioResult, baseline: Baseline, metric: str, alpha: float, span: float
) -> tuple[float, float] | None:
    """Return the interval of A - B as that of a mean in the range -``span``..``span``.

    Its confidence is 1 - ``alpha``. For each end it counts one pair more that fell, or rose, by the
    whole range, so that equal runs give it a width, too. None below two pairs (two groups).
    """
    groups = group_numbers(result.info, result.samples)
    both = [paired_scores(result.info, sample, baseline, metric) for sample in result.samples]
    rows = [
        (ours - theirs, sample.sample_weight, at if groups is None else groups[at])
        for at, (sample, (ours, theirs)) in enumerate(zip(result.samples, both, strict=True))
        if is_scored(ours) and is_scored(theirs)
    ]
    return weighted_interval(
        [difference for difference, _, _ in rows],
        [weight for _, weight, _ in rows],
        (-span, span),
        1.0 - alpha,
        [group for _, _, group in rows],
    )


def _shifted(
    scores: list[float | None], shifts: Mapping[str, float], name: str
) -> list[float | None]:
    by = shifts.get(name, 0.0)
    return scores if by == 0.0 else [None if score is None else score - by for score in scores]


_Scores = Sequence[float | None]
_Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Common:
    """The samples that count: those with a score in every run that has any.

    ``total`` counts the samples that some run was to score, ``missing`` how many of them each run
    did not score. ``scores`` are by variant, of each run that has any. ``partly`` counts those kept
    whose weighted scores leave out a metric that applies in only some runs, ``ruled_out`` the
    samples whose rows rule the metric out in all runs, which are not in ``total``.
    """

    total: int
    missing: Mapping[str, int]
    scores: Mapping[str, Sequence[float]]
    weights: Sequence[float]
    groups: Groups
    partly: int
    ruled_out: int

    @property
    def count(self) -> int:
        """How many samples all runs scored; 0 if some run has no score at all.

        Then there is nothing to rank, though ``scores`` has the others.
        """
        every_run_is_scored = len(self.scores) == len(self.missing)
        return len(self.weights) if every_run_is_scored else 0


def join(results: Sequence[ScenarioResult], leading: ScenarioResult, metric: str) -> Common:
    """Return what the runs have in common, weighed and grouped as ``leading`` has it."""
    wanted = {result.info.variant: wanted_samples(result) for result in results}
    scored = {
        variant: {name: one for name, one in found.items() if is_scored(score_of(one, metric))}
        for variant, found in wanted.items()
    }
    ruled_out = set.intersection(*({*_ruled_out(found, metric)} for found in wanted.values()))
    total = len(set().union(*wanted.values())) - len(ruled_out)
    scored_runs = {variant: found for variant, found in scored.items() if found}
    leads = scored[leading.info.variant] or next(iter(scored_runs.values()), {})
    columns = _weighted_in_all(results, leading.info) if metric == WEIGHTED_SCORE else ()
    metric_weights = {tuple(weights_of(result.info).items()) for result in results}
    reweigh = bool(columns) and len(metric_weights) > 1
    kept: list[SampleResult] = []
    table: list[Sequence[float]] = []
    partly = 0
    for sample_id in leads:
        samples = [found[sample_id] for found in scored_runs.values() if sample_id in found]
        row = _row_of(samples, metric, columns, reweigh=reweigh)
        if len(row) == len(scored_runs):
            kept.append(leads[sample_id])
            table.append(row)
            partly += applies_in_some_only(columns, [sample.scores for sample in samples])
    return Common(
        total=total,
        missing={variant: total - len(found) for variant, found in scored.items()},
        scores={variant: [row[at] for row in table] for at, variant in enumerate(scored_runs)},
        weights=[sample.sample_weight for sample in kept],
        groups=group_numbers(leading.info, kept),
        partly=partly,
        ruled_out=len(ruled_out),
    )


def _row_of(
    samples: Sequence[SampleResult], metric: str, columns: Sequence[MetricColumn], *, reweigh: bool
) -> list[float]:
    """Return the scores of one sample in several runs, without the missing ones."""
    rows = [sample.scores for sample in samples]
    own = [score_of(sample, metric) for sample in samples]
    return list(filter(is_scored, weighted_over_common_metrics(columns, rows, own, reweigh)))


def wanted_samples(result: ScenarioResult) -> dict[str, SampleResult]:
    """Return by id the samples with a weight that were to have a score.

    Including those not asked because the run stopped early.
    """
    return {
        sample.sample_id: sample
        for sample in result.samples
        if sample.sample_weight > 0.0 and (sample.is_expected or sample.is_left_out)
    }


def _ruled_out(samples: Mapping[str, SampleResult], metric: str) -> Iterator[str]:
    for sample_id, sample in samples.items():
        if row_rules_out(sample, metric, or_lacks=True) and not is_scored(score_of(sample, metric)):
            yield sample_id


def weights_of(info: ScenarioInfo) -> dict[str, float]:
    """Return the weight of each metric that the weighted score follows from, by name, sorted."""
    found = {column.name: column.weight for column in info.metrics if column.weight > 0.0}
    return dict(sorted(found.items()))


def weighted_over_common_metrics(
    columns: Sequence[MetricColumn], rows: Sequence[_Row], own: _Scores, reweigh: bool = False
) -> _Scores:
    """Return the weighted scores of a sample in several runs, over the same metrics in each.

    ``rows`` are its scores in each run, ``own`` its weighted scores there, none missing. A metric
    that applies in only some runs is left out of all. ``reweigh``: the runs' weights differ, and
    those of ``columns`` count for all.
    """
    if not (reweigh or applies_in_some_only(columns, rows)):
        return own
    common = [column for column in columns if all(row.get(column.name) is not None for row in rows)]
    return [weighted_mean(_weighed(common, row)) for row in rows]


def _weighed(columns: Sequence[MetricColumn], row: _Row) -> Iterator[tuple[float, float]]:
    for column in columns:
        score = row.get(column.name)
        if score is not None:
            yield column.to_unit(score), column.weight


def applies_in_some_only(columns: Sequence[MetricColumn], rows: Sequence[_Row]) -> bool:
    """Return whether one of the metrics has a score in some of the runs only."""
    return any(len({row.get(column.name) is None for row in rows}) > 1 for column in columns)


def _weighted_in_all(results: Sequence[ScenarioResult], info: ScenarioInfo) -> list[MetricColumn]:
    """Return the metrics with a weight that all runs have."""
    known = [{column.name for column in result.info.metrics} for result in results]
    return [
        column
        for column in info.metrics
        if column.weight > 0.0 and all(column.name in names for names in known)
    ]


_ValueOf = Callable[[SampleResult], Any]

_ANYWAY: Final = "to rank them anyway: 'best: {anyway: true}'"


def differences(
    results: Sequence[ScenarioResult], metric: str, *, weighed: bool = True
) -> Iterator[str]:
    """Yield why the scores of ``metric`` do not compare, and what to do about it.

    What a run does not say counts as no difference, but for settings that ``_may_matter``.
    ``weighed``: a sample weight that differs is a difference, too.
    """
    infos = [result.info for result in results]
    same = _same_metrics(results)
    instead = f"rank by one metric: 'best: {{of: {same[0]}}}'" if same else _ANYWAY
    measured = [metric]
    if metric == WEIGHTED_SCORE:
        yield from _of_runs(infos, "weights", map(_weights, infos), instead)
        measured = list(weights_of(infos[0]))
    for name in measured:
        defined = [_definitions(result).get(name) for result in results]
        yield from _of_runs(infos, name, defined, instead)
    yield from _of_runs(infos, "qrels", map(_judgements, results), _ANYWAY)
    for setting in SETTINGS:
        if setting.refuses and not setting.of_variants:
            counts = setting.may_be_absent and _may_matter(setting.name, results, measured)
            texts = (setting.text_in(info.measured, absent_counts=counts) for info in infos)
            yield from _of_runs(infos, setting.name, texts, _ANYWAY)
    yield from _of_runs(infos, "group_by", (info.group_by or "nothing" for info in infos), _ANYWAY)
    if weighed:
        yield from _changed(results, "another weight", lambda one: one.sample_weight)
    for what, value_of in _readers(results):
        yield from _changed(results, what, value_of)


def metrics_in_all(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the metrics that all runs have, in the order of the first."""
    return [
        column.name
        for column in results[0].info.metrics
        if all(column.name in _definitions(result) for result in results)
    ]


def _same_metrics(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the metrics that all runs have and measure in the same way."""
    return [
        name
        for name in metrics_in_all(results)
        if len({_definitions(result)[name] for result in results} - {""}) < 2
    ]


def _definitions(result: ScenarioResult) -> dict[str, str]:
    return {column.name: column.definition for column in result.info.metrics}


def _may_matter(name: str, results: Sequence[ScenarioResult], metrics: Collection[str]) -> bool:
    """Return whether a run that lacks this setting may score otherwise; then it counts as null."""
    rows = (row for result in results for row in result.samples)
    if name == "conversation":
        return any("history" in row.judged_by for row in rows)
    is_ruled = name == "refusals" and any(row.left_out.keys() & metrics for row in rows)
    return is_ruled or any(c.name in metrics and not c.retrieves for c in results[0].info.metrics)


def _judgements(result: ScenarioResult) -> str:
    has_ids = any("reference_ids" in row.judged_by for row in result.samples)
    return result.info.judgements_sha256[:12] or ("reference_ids" if has_ids else "")


def _weights(info: ScenarioInfo) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in weights_of(info).items())


def _of_runs(
    infos: Sequence[ScenarioInfo], what: str, values: Iterable[str | None], advice: str
) -> Iterator[str]:
    """Yield the difference between the first run with a value and the first with another one."""
    known = [(one.variant, value) for one, value in zip(infos, values, strict=True) if value]
    for variant, now in known[1:]:
        first, was = known[0]
        if now != was:
            yield f"{what}: {was} in {first}, but {now} in {variant}; {advice}"
            return


def _readers(results: Sequence[ScenarioResult]) -> Iterator[tuple[str, _ValueOf]]:
    """Yield, in words, what of a sample must be the same in all runs, and how to read it."""
    yield "another question", lambda one: one.question
    yield "other references", lambda one: None if one.references is None else list(one.references)
    if not any(result.info.judgements_sha256 for result in results):  # else compared as a whole
        fields = {name for result in results for row in result.samples for name in row.judged_by}
        for field in sorted(fields):
            yield f"other {field}", partial(lambda name, one: one.judged_by.get(name), field)
    if results[0].info.group_by is not None:
        yield f"another {results[0].info.group_by}", partial(_group, results[0].info.group_by)


def _group(field: str, sample: SampleResult) -> str:
    """Return what makes a group: the text of the value, "" without one."""
    value = field_value(sample, field)
    return "" if value is None else value_text(value)


def _changed(results: Sequence[ScenarioResult], what: str, value_of: _ValueOf) -> Iterator[str]:
    """Yield how many samples have different values, and the first of them."""
    known: dict[str, tuple[str, Any]] = {}
    changed: dict[str, str] = {}
    for result in results:
        for sample in result.samples:
            value = None if sample.invalid is not None else value_of(sample)
            if value is None:
                continue
            variant, theirs = known.setdefault(sample.sample_id, (result.info.variant, value))
            if theirs != value and sample.sample_id not in changed:
                there, here = shorten(repr(theirs), 60), shorten(repr(value), 60)
                changed[sample.sample_id] = f"{there} in {variant}, {here} in {result.info.variant}"
    if changed:
        name, values = next(iter(changed.items()))
        have = "has" if len(changed) == 1 else "have"
        total = counted(len(changed), "sample")
        yield f"{total} {have} {what} (first: {shorten(name)!r}, {values}); {_ANYWAY}"
