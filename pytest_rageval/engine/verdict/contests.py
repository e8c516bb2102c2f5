"""The variants of a scenario against each other: ranked, with the gate ``best`` if it has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_rageval.engine.verdict.decide import Extent, gates_of, within_extent
from pytest_rageval.model import (
    BEST,
    Contest,
    GateOutcome,
    GateResult,
    Ranking,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.verdict import is_beyond_budget


@dataclass(frozen=True, slots=True)
class Contested:
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
    """Return the names of a run's own gates, in their order: those of its hooks are not known."""
    alone = [BEST] if _needs_others(info) else []
    return [*(gate.name for gate in gates_of(info)), *alone]


def in_file_order(info: ScenarioInfo) -> tuple[str, int, str]:
    """Return what sorts scenarios by their files, and variants as their file lists them."""
    names = info.contest.names if info.contest is not None else ()
    at = names.index(info.variant) if info.variant in names else -1
    return scenario_nodeid(info), at, info.nodeid


def contested(
    results: Sequence[ScenarioResult], *, stopped: bool = False, strict: bool = False
) -> list[Contested]:
    """Return the scenarios with variants among ``results``, ranked and judged.

    A gate is decided by complete runs of all variants alone, as any gate by a complete run.
    """
    by_file: dict[str, list[ScenarioResult]] = {}
    for result in results:
        if result.info.contest is not None and result.info.is_of_file:
            by_file.setdefault(scenario_nodeid(result.info), []).append(result)
    return [_judged(group, stopped=stopped, strict=strict) for group in by_file.values()]


def with_rankings(
    results: Sequence[ScenarioResult], found: Sequence[Contested], *, strict: bool = False
) -> list[ScenarioResult]:
    """Return the results, those of variants with their ranking.

    Test functions run one variant each, so they leave the gate ``best`` undecided.
    """
    rankings = {result.info.nodeid: one.ranking for one in found for result in one.results}
    outcome: GateOutcome = "failed" if strict else "skipped"
    message = "it compares the variants of a scenario file, and a test function runs one"
    alone = GateResult(BEST, outcome, None, 0.0, message + " (strict: undecided fails)" * strict)
    return [
        replace(result, gates=(*result.gates, alone))
        if _needs_others(result.info)
        else replace(result, ranking=rankings.get(result.info.nodeid))
        for result in results
    ]


def _needs_others(info: ScenarioInfo) -> bool:
    """Return whether a test function runs over a variant that others are compared with."""
    return info.contest is not None and info.contest.at_least is not None and not info.is_of_file


def _judged(results: Sequence[ScenarioResult], *, stopped: bool, strict: bool) -> Contested:
    info = results[0].info
    assert info.contest is not None
    ordered = sorted(results, key=lambda result: in_file_order(result.info))
    found = Contested(info, info.contest, ordered)
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


def _gate(found: Contested, *, stopped: bool, strict: bool) -> GateResult:
    """Return the verdict of the gate ``best``, undecided where a variant or a sample is missing."""
    infos = [result.info for result in found.results]
    extent = Extent(
        total=sum(info.total for info in infos),
        selected=sum(info.selected for info in infos),
        ran=sum(result.counts.ran for result in found.results),
        stopped=stopped,
    )
    so_far = GateResult(BEST, "failed", None, 0.0, "no two variants have results")
    if found.ranking is not None and found.contest.at_least not in found.missing:
        from pytest_rageval.engine.verdict.best import best_verdict

        so_far = best_verdict(found.ranking, found.contest)
    if not extent.complete:
        so_far = replace(so_far, observed=None)  # a lead over some samples says nothing
    is_lost = extent.ran < extent.selected and not stopped
    if len(infos) < len(found.contest.names) and not is_lost:
        ran = f"{len(infos)} of {len(found.contest.names)} variants ran"
        message = f"{ran} (strict: undecided fails)" if strict else ran
        outcome: GateOutcome = "failed" if strict else "skipped"
        return replace(so_far, outcome=outcome, message=message)
    spent = sum(is_beyond_budget(sample) for result in found.results for sample in result.samples)
    return within_extent(so_far, spent, extent, strict=strict)
