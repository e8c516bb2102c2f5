"""The gate ``by``: the same gates for every value of a metadata field, none may fall below.

``by: {doc_name: {weighted_score: 0.6}}`` is one gate, however many documents there are: it shows
the worst slice and names all that fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rageval.errors import nearest, shorten
from pytest_rageval.gates.base import Gate, GateKind, GateOptionError, each_gate
from pytest_rageval.model import GateResult, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario

_NO_VALUE = "(none)"
_LISTED = 5


@dataclass(frozen=True, slots=True)
class SliceGate:
    """Applies ``inner`` to the samples of each value of ``field``."""

    name: str
    field: str
    inner: Gate

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail when the gate fails for any value; slices with only skipped samples are left out."""
        verdicts = {
            value: self.inner.check(summarize_scenario(result.info, samples, result.complete))
            for value, samples in self._slices(result).items()
            if any(sample.outcome != "skipped" for sample in samples)
        }
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

    def _slices(self, result: ScenarioResult) -> dict[str, list[SampleResult]]:
        slices: dict[str, list[SampleResult]] = {}
        for sample in result.samples:
            if self.field == "doc_name":
                value: Any = sample.doc_name
            else:
                value = sample.metadata.get(self.field)
            slices.setdefault(_NO_VALUE if value is None else str(value), []).append(sample)
        return dict(sorted(slices.items()))


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
        if field not in known:
            guess = nearest(field, known)
            hint = f" Did you mean {guess!r}?" if guess else ""
            message = f"no row has a field {shorten(field)!r}.{hint} Known: {', '.join(known)}"
            raise GateOptionError(here, message)
        if not isinstance(inner, Mapping) or not inner:
            raise GateOptionError(here, "expected gates, for instance weighted_score: 0.6")
        for made in each_gate(inner, info, here):
            if isinstance(made, GateOptionError):
                raise made
            gates += [SliceGate(f"by.{field}.{gate.name}", field, gate) for gate in made]
    return gates


GATES = (GateKind("by", "scenario", _make),)
