"""The gate ``by``: the same gates for every value of a metadata field; all must pass.

``by: {doc_name: {weighted_score: 0.6}}`` is one gate for any number of documents: it shows the
worst slice and names those that fail.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import Field

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.gates.base import (
    Asked,
    ComparingGate,
    Foreseeing,
    Gate,
    GateKind,
    GateOptionError,
    Place,
    Recomputed,
    ScoreWatch,
    each_gate,
    margin_of,
    page_options,
)
from pytest_rageval.model import (
    CAUSE,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    value_text,
)
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.weights import field_value

_NO_VALUE: Final = "(none)"
"""The name of the slice of samples without a value."""

_LISTED = 5


@dataclass(frozen=True, slots=True)
class SliceGate:
    """Applies ``inner`` to the samples of each value of ``field``."""

    name: str
    field: str
    inner: Gate

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail when the gate fails for any value.

        A value is left out if all its samples are skipped or expected invalid rows; also, with a
        remark, if the baseline has none of its samples.
        """
        slices = self._judged_slices(result)
        compared = _compared(self.inner)
        theirs = _ids_of(compared)
        new = self._new(slices, theirs)
        found = self._verdict(self._verdicts(result, slices, theirs))
        if compared is not None and found.outcome == "passed":
            # A slice cannot miss samples that it does not have, so missing ones are counted here.
            lost = compared.lacks_samples(result)
            found = replace(found, outcome="failed", message=lost) if lost else found
        if compared is None or not new:
            return found
        return replace(found, message=found.message + _left_out(new, compared.baseline.name))

    def failed_samples(self, result: ScenarioResult) -> list[SampleResult]:
        """Return the samples of the values for which the gate fails, in dataset order."""
        slices, theirs = self._judged_slices(result), _ids_of(_compared(self.inner))
        verdicts = self._verdicts(result, slices, theirs)
        found = [
            sample
            for value, verdict in verdicts.items()
            if verdict.outcome == "failed"
            for sample in slices[value]
        ]
        return sorted(found, key=lambda sample: sample.index)

    def watch(self, info: ScenarioInfo, asked: Sequence[Asked], error: float) -> SliceWatch | None:
        """Return what follows the scores of all values; None where an error is allowed.

        None also by cause, and for gates that need every score.
        """
        if self.field == CAUSE and info.diagnose is not None:
            return None  # it shows only when the samples are scored
        if error or not isinstance(self.inner, Foreseeing):
            return None
        slices: dict[str, list[Asked]] = {}
        for sample in asked:
            slices.setdefault(slice_value(sample, self.field), []).append(sample)
        made = {value: self.inner.watch(info, part, error) for value, part in slices.items()}
        watches = {value: watch for value, watch in made.items() if isinstance(watch, ScoreWatch)}
        if len(watches) < len(slices):
            return None
        of = {sample.index: value for value, part in slices.items() for sample in part}
        return SliceWatch(watches, of)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        inner = page_options(self.inner)
        is_computed = isinstance(self.inner, Recomputed)
        return {"kind": "by", "field": self.field, "inner": inner} if is_computed else inner

    def _judged_slices(self, result: ScenarioResult) -> dict[str, list[SampleResult]]:
        return {
            value: samples
            for value, samples in self._slices(result).items()
            if any(sample.is_expected for sample in samples)
        }

    def _verdicts(
        self,
        result: ScenarioResult,
        slices: Mapping[str, Sequence[SampleResult]],
        theirs: frozenset[str],
    ) -> dict[str, GateResult]:
        new = self._new(slices, theirs)
        return {
            value: _within(self.inner, samples, theirs).check(
                summarize_scenario(result.info, samples, result.complete)
            )
            for value, samples in slices.items()
            if value not in new
        }

    def _verdict(self, verdicts: Mapping[str, GateResult]) -> GateResult:
        if not verdicts:
            return GateResult(self.name, "failed", None, None, "there are no slices to look at")
        if all(found.outcome == "skipped" for found in verdicts.values()):
            return GateResult(
                self.name, "skipped", None, None, next(iter(verdicts.values())).message
            )
        failed = {value: found for value, found in verdicts.items() if found.outcome == "failed"}
        worst = min((failed or verdicts).values(), key=margin_of)
        if not failed:
            message = f"all {len(verdicts)} values of {self.field}, worst {worst.message}"
            return GateResult(self.name, "passed", worst.observed, worst.bound, message)
        listed = [f"{value}: {found.message}" for value, found in list(failed.items())[:_LISTED]]
        more = f"; and {len(failed) - _LISTED} more" if len(failed) > _LISTED else ""
        message = f"{len(failed)} of {len(verdicts)} values of {self.field}: {'; '.join(listed)}"
        return GateResult(self.name, "failed", worst.observed, worst.bound, message + more)

    def _new(
        self, slices: Mapping[str, Sequence[SampleResult]], theirs: frozenset[str]
    ) -> dict[str, None]:
        """Return the values without any sample in the baseline, in order."""
        if _compared(self.inner) is None:
            return {}
        return {
            value: None
            for value, samples in slices.items()
            if theirs.isdisjoint(sample.sample_id for sample in samples)
        }

    def _slices(self, result: ScenarioResult) -> dict[str, list[SampleResult]]:
        slices: dict[str, list[SampleResult]] = {}
        for sample in result.samples:
            slices.setdefault(slice_value(sample, self.field), []).append(sample)
        return dict(sorted(slices.items()))


@dataclass(frozen=True, slots=True)
class SliceWatch:
    """Follows the scores of each value; ``of`` is the value of each sample, by its index."""

    watches: Mapping[str, ScoreWatch]
    of: Mapping[int, str]

    @property
    def is_certain(self) -> bool:
        """Whether the verdict is the same however the rest scores."""
        return self.verdict is not None

    @property
    def verdict(self) -> bool | None:
        """True once every value passes for certain, False once one of them fails."""
        verdicts = [watch.verdict for watch in self.watches.values()]
        return False if False in verdicts else None if None in verdicts else True

    def add(self, sample: SampleResult) -> None:
        """Note the score of a sample."""
        if sample.index in self.of:  # an invalid row is in no mean
            self.watches[self.of[sample.index]].add(sample)


def _left_out(new: Collection[str], run: str) -> str:
    more = f", and {len(new) - _LISTED} more" if len(new) > _LISTED else ""
    return f"; not in {run}, left out: {', '.join(list(new)[:_LISTED])}{more}"


def _compared(gate: Gate) -> ComparingGate | None:
    """Return the comparing gate itself or inside nested slices, None for other gates."""
    if isinstance(gate, SliceGate):
        return _compared(gate.inner)
    return gate if isinstance(gate, ComparingGate) else None


def _ids_of(gate: ComparingGate | None) -> frozenset[str]:
    """Return the ids of the baseline's samples; none without a comparison."""
    return frozenset(gate.baseline.ids if gate is not None else ())


def _within(gate: Gate, samples: Sequence[SampleResult], theirs: frozenset[str]) -> Gate:
    """Return the gate for ``samples`` only; ``theirs`` are the ids of the baseline."""
    if isinstance(gate, SliceGate):
        return replace(gate, inner=_within(gate.inner, samples, theirs))
    if isinstance(gate, ComparingGate):
        ids = [sample.sample_id for sample in samples]
        return gate.within([sample_id for sample_id in ids if sample_id in theirs])
    return gate


def slice_value(sample: Asked, field: str) -> str:
    """Return the name of a sample's slice: its value of ``field`` as text."""
    value = field_value(sample, field)
    return _NO_VALUE if value is None else value_text(value)


def _make(options: Mapping[str, Any], place: Place) -> list[Gate]:
    gates: list[Gate] = []
    known = place.info.fields
    for field, inner in options.items():
        if field not in known and field.startswith("x-"):
            continue
        if field not in known:
            hint = f"{did_you_mean(field, known)} Known: {', '.join(known)}"
            hint += "; causes are found with 'diagnose: true'" if field == CAUSE else ""
            raise place.error(f"no row has a field {shorten(field)!r}.{hint}", field)
        if not isinstance(inner, Mapping) or not inner:
            raise place.error("expected gates, for instance weighted_score: 0.6", field)
        for made in each_gate(inner, place.info, (*place.path, field)):
            if isinstance(made, GateOptionError):
                raise made
            gates += [SliceGate(f"by.{field}.{gate.name}", field, gate) for gate in made]
    return gates


GATES = (
    GateKind(
        "by",
        "scenario",
        Annotated[dict[str, Any], Field(min_length=1)],
        _make,
        description="field: the gates that hold for every value of it",
        example="{doc_name: {f1: 0.5}}",
        keys="fields",
    ),
)
