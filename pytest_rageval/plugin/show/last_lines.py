"""Lines around the tables of a run: overridden values and undecided gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.model import ScenarioInfo, ScenarioResult
from pytest_rageval.text.printable import one_line


def overridden_lines(info: ScenarioInfo) -> list[str]:
    """Return a line with the overridden values of the file and the sources of the new ones."""
    pairs = zip(info.overridden, info.overridden_by, strict=True)
    listed = ", ".join(f"{name} ({source})" for name, source in pairs)
    return [f"overridden: {listed}"] if listed else []


def undecided_lines(
    results: Iterable[ScenarioResult],
    left_out: Iterable[ScenarioInfo],
    contests: Iterable[VariantComparison] = (),
) -> Iterator[str]:
    """Yield a line for each scenario with undecided gates, for users who read only the end.

    ``left_out`` are scenarios that were collected, but without a selected case.
    """
    for result in results:
        skipped = [gate for gate in result.gates if gate.outcome == "skipped"]
        if skipped:
            ran = f"{result.counts.ran} of {result.counts.samples} samples ran"
            hint = "--rag-strict fails such a run"
            why = skipped[0].message if result.complete else f"{ran}; {hint}"
            total = len(result.gates)
            what = f"{len(skipped)} of {total} gates of {one_line(result.info.title)}"
            yield f"NOT DECIDED: {what}, {why}"
    for found in contests:
        gate = found.gate
        if gate is not None and gate.outcome == "skipped":
            yield f"NOT DECIDED: gate {gate.name} of {one_line(found.info.name)}, {gate.message}"
    for info in left_out:
        yield f"NOT DECIDED: {one_line(info.title)}, none of its {info.total} cases was selected"
