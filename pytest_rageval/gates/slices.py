"""The gate ``by``: the same gates for every value of a metadata field, none may fall below.

``by: {doc_name: {weighted_score: 0.6}}`` is one gate, however many documents there are: it shows
the worst slice and names all that fail.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.gates.base import Gate, GateKind, GateOptionError, each_gate
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.model import GateResult, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario

_NO_VALUE: Final = "(none)"
"""What the samples without a value are called."""

_LISTED = 5


@dataclass(frozen=True, slots=True)
class SliceGate:
    """Applies ``inner`` to the samples of each value of ``field``."""

    name: str
    field: str
    inner: Gate

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail when the gate fails for any value.

        A value is left out where no score was to be had: all skipped, or rows that may be invalid.
        So it is, and is named, where the run that is compared with has none of its samples.
        """
        slices = {
            value: samples
            for value, samples in self._slices(result).items()
            if any(sample.is_expected for sample in samples)
        }
        new = self._new(slices)
        verdicts = {
            value: self.inner.check(summarize_scenario(result.info, samples, result.complete))
            for value, samples in slices.items()
            if value not in new
        }
        found = self._verdict(verdicts)
        return replace(found, message=found.message + self._left_out(new)) if new else found

    def _verdict(self, verdicts: Mapping[str, GateResult]) -> GateResult:
        if not verdicts:
            return GateResult(self.name, "failed", None, None, "there are no slices to look at")
        if all(found.outcome == "skipped" for found in verdicts.values()):
            return GateResult(
                self.name, "skipped", None, None, next(iter(verdicts.values())).message
            )
        failed = {value: found for value, found in verdicts.items() if found.outcome == "failed"}
        worst = min((failed or verdicts).values(), key=_margin)
        if not failed:
            message = f"all {len(verdicts)} values of {self.field}, worst {worst.message}"
            return GateResult(self.name, "passed", worst.observed, worst.bound, message)
        listed = [f"{value}: {found.message}" for value, found in list(failed.items())[:_LISTED]]
        more = f"; and {len(failed) - _LISTED} more" if len(failed) > _LISTED else ""
        message = f"{len(failed)} of {len(verdicts)} values of {self.field}: {'; '.join(listed)}"
        return GateResult(self.name, "failed", worst.observed, worst.bound, message + more)

    def _new(self, slices: Mapping[str, Sequence[SampleResult]]) -> dict[str, None]:
        """Return the values, in their order, of whose samples the run compared with has none."""
        if (gate := _compared(self.inner)) is None:
            return {}
        theirs = frozenset(gate.baseline.ids)
        return {
            value: None
            for value, samples in slices.items()
            if theirs.isdisjoint(sample.sample_id for sample in samples)
        }

    def _left_out(self, new: Collection[str]) -> str:
        gate = _compared(self.inner)
        run = gate.baseline.name if gate is not None else ""
        more = f", and {len(new) - _LISTED} more" if len(new) > _LISTED else ""
        return f"; not in {run}, left out: {', '.join(list(new)[:_LISTED])}{more}"

    def _slices(self, result: ScenarioResult) -> dict[str, list[SampleResult]]:
        slices: dict[str, list[SampleResult]] = {}
        for sample in result.samples:
            slices.setdefault(slice_value(sample, self.field), []).append(sample)
        return dict(sorted(slices.items()))


def _compared(gate: Gate) -> RegressionGate | None:
    """Return the gate itself, or the one inside of slices of slices, if it compares with a run."""
    if isinstance(gate, SliceGate):
        return _compared(gate.inner)
    return gate if isinstance(gate, RegressionGate) else None


def slice_value(sample: SampleResult, field: str) -> str:
    """Return what the slice of a sample is called: its value of ``field`` as text."""
    value = sample.doc_name if field == "doc_name" else sample.metadata.get(field)
    return _NO_VALUE if value is None else str(value)


def _margin(found: GateResult) -> float:
    """Sort a missing figure first, then by how far the observed one is on the wrong side."""
    return -math.inf if found.margin is None else found.margin


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    if not isinstance(options, Mapping) or not options:
        raise GateOptionError(path, "expected a mapping, for instance doc_name: {f1: 0.5}")
    gates: list[Gate] = []
    for field, inner in options.items():
        here = (*path, field)
        known = ("doc_name", *info.metadata_columns)
        if field not in known and str(field).startswith("x-"):
            continue
        if field not in known:
            hint = f"{did_you_mean(field, known)} Known: {', '.join(known)}"
            raise GateOptionError(here, f"no row has a field {shorten(field)!r}.{hint}")
        if not isinstance(inner, Mapping) or not inner:
            raise GateOptionError(here, "expected gates, for instance weighted_score: 0.6")
        for made in each_gate(inner, info, here):
            if isinstance(made, GateOptionError):
                raise made
            gates += [SliceGate(f"by.{field}.{gate.name}", field, gate) for gate in made]
    return gates


GATES = (GateKind("by", "scenario", _make),)
