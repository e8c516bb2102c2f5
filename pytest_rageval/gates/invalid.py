"""The gate ``invalid``: the largest share of rows that may be invalid.

It also counts the rows that ``on_invalid: skip`` or ``xfail`` leaves out of all figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_rageval.gates.base import (
    AnySample,
    Gate,
    GateKind,
    Location,
    ShareSpec,
    Watch,
    bound_result,
    largest_share,
)
from pytest_rageval.model import Bound, GateResult, SampleResult, ScenarioInfo, ScenarioResult


@dataclass(frozen=True, slots=True)
class InvalidGate(Gate):
    """Counts invalid rows among all rows that ran, skipped ones included."""

    bound: Bound
    name: str = "invalid"

    counts_invalid: ClassVar[bool] = True

    estimates: ClassVar[bool] = True
    """Its share is that of all rows even so: invalid ones show without asking."""

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are no rows."""
        rows = len(result.samples)
        invalid = sum(sample.invalid is not None for sample in result.samples)
        share = invalid / rows if rows else None
        return bound_result(
            self.name, self.bound, share, "there are no rows", f"{invalid} of {rows} rows"
        )

    def watch(self, info: ScenarioInfo, samples: Sequence[AnySample], error: float) -> Watch:
        """Return what is certain from the start: whether a row is invalid shows without asking."""
        return _Certain()


class _Certain(Watch):
    is_certain = True

    def add(self, sample: SampleResult) -> None:
        """Nothing to note."""


def _make(options: ShareSpec, location: Location) -> list[Gate]:
    return [InvalidGate(largest_share(options, location))]


GATES = (
    GateKind(
        "invalid",
        "scenario",
        ShareSpec,
        _make,
        description="maximum of the share of invalid rows, whatever on_invalid says",
    ),
)
