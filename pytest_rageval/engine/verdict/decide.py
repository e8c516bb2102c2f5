"""Decides gates, of a scenario and of its variants: only a complete run can turn one green."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.errors import listed
from pytest_rageval.gates.base import Gate, make_gates, metrics_behind
from pytest_rageval.gates.unscored import UnscoredGate, gates_of
from pytest_rageval.model import (
    BEST,
    CONTROLS,
    FILLED,
    WEIGHTED_SCORE,
    Comparing,
    Comparison,
    Contest,
    GateOutcome,
    GateResult,
    Ranking,
    Sampling,
    ScenarioInfo,
    ScenarioResult,
    Value,
)
from pytest_rageval.stats.caveats import doubtful_figures
from pytest_rageval.stats.verdict import is_beyond_budget


class Extent(Value, frozen=True):
    """How much of a scenario ran: ``ran`` of the ``selected`` cases of ``total``.

    ``stopped``: the run was ended early on purpose. ``lost`` names selected samples without a
    result, for instance after a worker crashed; ``missing`` says which shards are not there.
    """

    total: int
    selected: int
    ran: int
    stopped: bool = False
    lost: Sequence[str] = ()
    missing: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether every case of the data set has a result."""
        return self.ran >= self.total and not self.missing

    @property
    def partial_by_choice(self) -> bool:
        """Whether cases were left out on purpose."""
        return self.selected < self.total or self.stopped


def decide_gates(result: ScenarioResult, extent: Extent, *, strict: bool = False) -> ScenarioResult:
    """Return ``result`` with the verdict of every gate of its scenario.

    Complete: passed or failed, or skipped if the run to compare with is not saved yet. Partial by
    choice: skipped, or failed if ``strict``. Samples lost, or not asked for as the budget is spent:
    failed. A scenario without gates gets the gate ``unscored`` if that fails; judges that are not
    to be trusted add failed gates of their own.
    """
    result = _with_people(replace(result, comparisons=tuple(_comparisons(result))))
    result = _with_estimates(result) if extent.complete else result
    gates = gates_of(result.info)
    held = gates or [UnscoredGate(required=frozenset(result.info.thresholds))]
    verdicts = [
        replace(_decide(gate, result, extent, strict), baseline=gate.against, metric=_only(gate))
        for gate in held
    ]
    if result.counts.not_asked:
        # Not at the top: most runs ask about every sample.
        from pytest_rageval.engine.verdict.certainty import certain_verdicts

        # A verdict that a lost sample or a spent budget made stays.
        is_whole = extent.complete and not _spent(result)
        certain = certain_verdicts(result, gates) if is_whole else {}
        verdicts = [_of_those_asked(verdict, result, certain) for verdict in verdicts]
    if (sample := result.info.sample) is not None:
        verdicts = [
            verdict if gate.estimates else _of_sample(verdict, sample)
            for gate, verdict in zip(held, verdicts, strict=True)
        ]
    if not gates:
        verdicts = [verdict for verdict in verdicts if verdict.outcome == "failed"]
    if result.controls:
        verdicts += _failed_controls(result, strict=strict)
    if doubt := _doubt(result, result.info.thresholds):
        found = GateResult(f"check:{FILLED}", "failed", None, None, doubt)
        verdicts.append(within_extent(found, _spent(result), extent, strict=strict))
    return replace(result, gates=tuple(verdicts))


def _failed_controls(result: ScenarioResult, *, strict: bool) -> list[GateResult]:
    """Return a failed gate for each metric whose judge does not pass its control rows.

    Where they only warn, they fail a strict run, unless they were left out for a budget or a cache.
    """
    is_required = result.info.requires_controls
    return [
        GateResult(f"{CONTROLS}{name}", "failed", None, None, verdict.remark(name))
        for name, verdict in result.controls.items()
        if verdict.remark(name) and (is_required or (strict and verdict.is_doubtful))
    ]


def _of_those_asked(
    found: GateResult, result: ScenarioResult, certain: Mapping[str, bool]
) -> GateResult:
    """Return a verdict of a run that stopped asking; the one that was certain then stands."""
    if found.outcome == "skipped":
        return found
    asked = f"{found.message}; of the {result.counts.ran} of {result.counts.samples} samples asked"
    passes = certain.get(found.name, found.outcome == "passed")
    if passes == (found.outcome == "passed"):
        return replace(found, message=asked)
    outcome: GateOutcome = "passed" if passes else "failed"
    message = f"{asked}, of which the first, in random order, had decided: {outcome}"
    return replace(found, outcome=outcome, message=message)


def add_gates(
    result: ScenarioResult, extent: Extent, found: Sequence[GateResult], *, strict: bool = False
) -> ScenarioResult:
    """Return ``result`` with gates that were decided elsewhere, under the same rules.

    Only a complete run lets them pass; ``strict`` fails those that are not decided all the same.
    """
    spent = _spent(result)
    verdicts = [decided(within_extent(one, spent, extent), strict=strict) for one in found]
    return replace(result, gates=(*result.gates, *verdicts))


STRICT_FAILS: Final = "(strict: undecided fails)"
"""How the message of a gate ends that has failed because the run is strict."""


def decided(found: GateResult, *, strict: bool) -> GateResult:
    """Return a verdict; one that is not decided has failed in a strict run."""
    if found.outcome != "skipped" or not strict:
        return found
    return replace(found, outcome="failed", message=f"{found.message} {STRICT_FAILS}")


def _with_people(result: ScenarioResult) -> ScenarioResult:
    """Return ``result`` with how metrics agree with people, and their corrected means."""
    if not result.info.human:
        return result
    # Not at the top: scenarios without labels need no statistics of them.
    from pytest_rageval.stats.labels.agreement import agreement_of
    from pytest_rageval.stats.labels.cells import is_of_cells
    from pytest_rageval.stats.labels.corrected_means import corrected_of

    people = result.info.human
    return replace(
        result,
        agreement={human.metric: agreement_of(result, human) for human in people},
        corrected={
            human.metric: corrected_of(result, human)
            for human in people
            if not is_of_cells(result.info, human.metric)  # no metric is their mean
        },
    )


def _with_estimates(result: ScenarioResult) -> ScenarioResult:
    """Return ``result`` with means over all rows, where only a sample of them was asked."""
    sample = result.info.sample
    if sample is None:
        return result
    # Not at the top: most runs ask all rows.
    from pytest_rageval.stats.estimates import estimates_of

    return replace(result, estimates=estimates_of(result, result.info.baselines[sample.against]))


def _of_sample(found: GateResult, sample: Sampling) -> GateResult:
    """Return a verdict that is about the rows which were asked, and says so."""
    if found.outcome == "skipped":
        return found
    asked = f"of the {len(sample.drawn):,} of {sample.rows:,} rows asked"
    return replace(found, message=f"{found.message}; {asked}")


def _only(gate: Gate) -> str:
    """Return the metric that a gate is about, "" for none or several."""
    targets = tuple(gate.targets)
    return targets[0] if len(targets) == 1 else ""


def _comparisons(result: ScenarioResult) -> Iterator[Comparison]:
    """Yield this run against each one that ``compare`` names, but for those not saved yet."""
    info = result.info
    for comparing in info.compare:
        if comparing.baseline in info.baselines:
            # It imports numpy, which runs without a comparison need not load.
            from pytest_rageval.stats.comparison import compare_runs

            names = comparing.metrics or _all_metrics(info)
            baseline = info.baselines[comparing.baseline]
            is_judged = _names_weighted_score(info, comparing)
            judged = [name for name in names if name != WEIGHTED_SCORE or is_judged]
            yield compare_runs(result, baseline, names, comparing.test, tested_together=judged)


def _names_weighted_score(info: ScenarioInfo, comparing: Comparing) -> bool:
    """Return whether a gate or ``compare`` names the weighted score.

    Otherwise it is only shown: as one more test it would raise the metrics' adjusted p-values.
    """
    gated = (name for gate in make_gates(info.gates, info) for name in gate.targets)
    return WEIGHTED_SCORE in (*comparing.metrics, *gated)


def _all_metrics(info: ScenarioInfo) -> tuple[str, ...]:
    """Return the metrics, and weighted_score unless only one metric has a weight.

    It would then be the same figure again, and double every adjusted p-value.
    """
    names = tuple(metric.name for metric in info.metrics)
    weighing = [metric for metric in info.metrics if metric.weight > 0.0]
    return names if len(weighing) == 1 else (*names, WEIGHTED_SCORE)


def _decide(gate: Gate, result: ScenarioResult, extent: Extent, strict: bool) -> GateResult:
    found = gate.check(result)
    if found.outcome == "passed" and (doubt := _doubt(result, metrics_behind(gate, result.info))):
        found = replace(found, outcome="failed", message=doubt, margin=None)
    return within_extent(found, _spent(result), extent, strict=strict)


def _doubt(result: ScenarioResult, names: Iterable[str]) -> str:
    """Return why gates of these metrics may not pass: a judge in doubt filled holes; else ""."""
    doubts = doubtful_figures(result)
    return next((doubts[name] for name in names if name in doubts), "")


def _spent(result: ScenarioResult) -> int:
    """Return how many samples were not asked for because the budget was spent."""
    return sum(is_beyond_budget(sample) for sample in result.samples)


def within_extent(
    so_far: GateResult, spent: int, extent: Extent, *, strict: bool = False
) -> GateResult:
    """Return a verdict as it stands for this extent of a run: undecided, or failed, unless whole.

    ``spent`` counts the samples that were not asked for because the budget was spent.
    """
    if extent.complete and not spent:
        return so_far
    figure = "" if so_far.observed is None else f", so far {so_far.observed:.4f}"
    ran = f"{extent.ran} of {extent.total} samples ran{figure}"
    bare = GateResult(so_far.name, "failed", so_far.observed, so_far.bound, ran)
    if extent.complete:
        message = f"the budget is spent: {spent} of {extent.total} samples not asked for{figure}"
        return replace(bare, message=message)
    if extent.lost or extent.missing or not extent.partial_by_choice:
        return replace(bare, message=f"{ran}; {_lost(extent)}")
    return decided(replace(bare, outcome="skipped"), strict=strict)


def _lost(extent: Extent) -> str:
    names = listed(extent.lost, 5)
    if extent.missing:
        return "; ".join(extent.missing) + (f"; not run: {names}" if names else "")
    if not (extent.ran or extent.stopped):
        taken = "pytest_runtest_protocol or pytest_runtestloop of a conftest.py or a plugin"
        why = f"did {taken} take them over, or every worker crash?"
        return f"{extent.selected} cases were collected, none ran ({why})"
    absent = 0 if extent.stopped else extent.selected - extent.ran
    count = max(absent, len(extent.lost))
    return f"{count} lost (a worker crashed?){': ' + names if names else ''}"


class VariantComparison(Value, frozen=True):
    """The variants of one scenario that ran, in the order of its file.

    ``ranking`` is None where fewer than two of them have results, ``gate`` where the scenario does
    not ask for it.
    """

    info: ScenarioInfo
    contest: Contest
    results: Sequence[ScenarioResult]
    ranking: Ranking | None = None
    gate: GateResult | None = None

    @property
    def nodeid(self) -> str:
        """The node id of the scenario, above those of its variants."""
        return scenario_nodeid(self.info)

    @property
    def missing(self) -> list[str]:
        """The variants without any result."""
        ran = {result.info.variant for result in self.results if result.samples}
        return [name for name in self.contest.names if name not in ran]


def scenario_nodeid(info: ScenarioInfo) -> str:
    """Return the node id of the scenario that ``info`` is a variant of."""
    return info.nodeid.removesuffix(f"::{info.variant}") if info.variant else info.nodeid


def has_best(info: ScenarioInfo) -> bool:
    """Return whether the variants of a scenario are judged by the gate ``best``."""
    return info.contest is not None and info.contest.at_least is not None and info.is_of_file


def gate_names(info: ScenarioInfo) -> list[str]:
    """Return the names of a run's own gates, in their order, without those that hooks add."""
    alone = [BEST] if _needs_others(info) else []
    return [*(gate.name for gate in gates_of(info)), *alone]


def in_file_order(info: ScenarioInfo) -> tuple[str, int, str]:
    """Return what sorts scenarios by their files, and variants as their file lists them."""
    names = info.contest.names if info.contest is not None else ()
    at = names.index(info.variant) if info.variant in names else -1
    return scenario_nodeid(info), at, info.nodeid


def contested(
    results: Sequence[ScenarioResult], *, stopped: bool = False, strict: bool = False
) -> list[VariantComparison]:
    """Return the scenarios with variants among ``results``, ranked and judged.

    Only complete runs of all variants decide the gate, as only a complete run decides any.
    """
    by_file: dict[str, list[ScenarioResult]] = {}
    for result in results:
        if result.info.contest is not None and result.info.is_of_file:
            by_file.setdefault(scenario_nodeid(result.info), []).append(result)
    return [_judged(group, stopped=stopped, strict=strict) for group in by_file.values()]


def with_rankings(
    results: Sequence[ScenarioResult], found: Sequence[VariantComparison], *, strict: bool = False
) -> list[ScenarioResult]:
    """Return the results, those of variants with their ranking.

    Test functions run one variant each, so they leave the gate ``best`` undecided.
    """
    rankings = {result.info.nodeid: one.ranking for one in found for result in one.results}
    why = "it compares the variants of a scenario file, and a test function runs one"
    alone = decided(GateResult(BEST, "skipped", None, 0.0, why), strict=strict)
    return [
        replace(result, gates=(*result.gates, alone))
        if _needs_others(result.info)
        else replace(result, ranking=rankings.get(result.info.nodeid))
        for result in results
    ]


def _needs_others(info: ScenarioInfo) -> bool:
    """Return whether a test function runs over a variant that others are compared with."""
    return info.contest is not None and info.contest.at_least is not None and not info.is_of_file


def _judged(results: Sequence[ScenarioResult], *, stopped: bool, strict: bool) -> VariantComparison:
    info = results[0].info
    assert info.contest is not None
    ordered = sorted(results, key=lambda result: in_file_order(result.info))
    found = VariantComparison(info, info.contest, ordered)
    with_samples = [result for result in ordered if result.samples]
    if len(with_samples) > 1:
        # It imports numpy, which scenarios without variants need not load.
        from pytest_rageval.stats.variant_ranking import rank_variants

        complete = not found.missing and all(result.complete for result in ordered)
        ranking = rank_variants(with_samples, info.contest, complete=complete)
        found = replace(found, ranking=ranking)
    if not has_best(info):
        return found
    return replace(found, gate=_gate(found, stopped=stopped, strict=strict))


def _gate(found: VariantComparison, *, stopped: bool, strict: bool) -> GateResult:
    """Return the verdict of the gate ``best``: undecided if parts did not run, failed if lost."""
    infos = [result.info for result in found.results]
    not_run = sum(result.counts.not_run for result in found.results)
    extent = Extent(
        total=sum(info.total for info in infos),
        selected=sum(info.selected for info in infos) - not_run,
        ran=sum(result.counts.ran for result in found.results),
        stopped=stopped,
    )
    so_far = GateResult(BEST, "failed", None, 0.0, "no two variants have results")
    if found.ranking is not None and found.contest.at_least not in found.missing:
        from pytest_rageval.engine.verdict.best import best_verdict

        so_far = best_verdict(found.ranking, found.contest)
        doubts = (_doubt(result, [found.contest.of]) for result in found.results)
        if so_far.outcome == "passed" and (doubt := next(filter(None, doubts), "")):
            so_far = replace(so_far, outcome="failed", message=doubt, margin=None)
    if not extent.complete:
        so_far = replace(so_far, observed=None)  # a lead over some samples says nothing
    is_lost = extent.ran < extent.selected and not stopped
    if len(infos) < len(found.contest.names) and not is_lost:
        ran = f"{len(infos)} of {len(found.contest.names)} variants ran"
        return decided(replace(so_far, outcome="skipped", message=ran), strict=strict)
    spent = sum(is_beyond_budget(sample) for result in found.results for sample in result.samples)
    return within_extent(so_far, spent, extent, strict=strict)
