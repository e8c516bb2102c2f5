"""The gate ``by``: the same gates for every value of a field; all must pass.

``by: {doc_name: {weighted_score: 0.6}}`` is one gate for any number of documents: it shows the
worst slice and names those that fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from pytest_rageval.errors import did_you_mean, listed, shorten
from pytest_rageval.gates.base import (
    AS_RUN,
    AnySample,
    Gate,
    GateKind,
    GateOptionError,
    Location,
    Watch,
    each_gate,
    margin_of,
)
from pytest_rageval.gates.worst_samples import WorstSamples
from pytest_rageval.model import (
    CAUSE,
    Baseline,
    GateOutcome,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    value_text,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.weights import field_value, resolve_weight
from pytest_rageval.stats.wording import counted

_NO_VALUE: Final = "(none)"
"""The name of the slice of samples without a value."""

_Slices = Mapping[str, Sequence[SampleResult]]
_LISTED = 5
_LONGEST_VALUE: Final = 100


@dataclass(frozen=True, slots=True)
class SliceGate(Gate):
    """Applies ``inner`` to the samples of each value of ``field``."""

    name: str
    field: str
    inner: Gate

    @property
    def targets(self) -> Iterable[str]:
        """The metrics that the gate of each part is about."""
        return self.inner.targets

    def asks_nothing_of(self, sample: SampleResult) -> bool:
        """Return whether the gate of each part asks nothing of the sample."""
        return self.inner.asks_nothing_of(sample)

    @property
    def leaf(self) -> Gate:
        """The gate of each part, however deep."""
        return self.inner.leaf

    @property
    def compared_with(self) -> Baseline | None:
        """The run that the gate of each part compares with."""
        return self.inner.compared_with

    @property
    def not_of_samples(self) -> str:
        """Why the gate of each part cannot be decided over a sample of the rows."""
        return self.inner.not_of_samples

    @property
    def against(self) -> str:
        """The name of the run that the gate of each part compares with."""
        return self.inner.against

    def within(self, ids: Sequence[str]) -> SliceGate:
        """Return the gate for these samples of the baseline only."""
        return replace(self, inner=self.inner.within(ids))

    def requiring(self, names: frozenset[str]) -> SliceGate:
        """Return the gate whose parts miss also these scores, if they count missing ones."""
        return replace(self, inner=self.inner.requiring(names))

    def lacks_samples(self, result: ScenarioResult) -> str:
        """Return the message about samples of the baseline that the result lacks, "" if none."""
        return self.inner.lacks_samples(result)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail if the gate fails for a value, no sample has a value, or baseline samples are lost.

        A value is left out if all its samples are skipped, or invalid rows that may be so; these
        count for a gate that is about them. It is left out with a remark if all its rows rule out
        what the gate is about or weigh 0, or the baseline has none of them. If they rule out only
        one of several metrics, that is left out for this value. Where only some rows are drawn to
        be asked, a value without one of these fails.
        """
        slices = self._judged_slices(result)
        found = self._verdict(self._verdicts(result, slices))
        is_cause = self.field == CAUSE and result.info.diagnose is not None
        if found.outcome == "passed" and not is_cause and self._lacks_values(result):
            # One mean over all samples would stand for that of each group.
            message = f"no sample has a value of {self.field}"
            found = replace(found, outcome="failed", message=message, margin=None)
        if found.outcome == "passed" and (lost := self.lacks_samples(result)):
            # A slice cannot miss samples that it does not have, so missing ones are counted here.
            found = replace(found, outcome="failed", message=lost, margin=None)
        if found.outcome == "passed" and (unseen := self._not_drawn(result)):
            found = replace(found, outcome="failed", message=unseen, margin=None)
        return replace(found, message="; ".join([found.message, *self._left_out(result, slices)]))

    def _left_out(self, result: ScenarioResult, slices: _Slices) -> Iterator[str]:
        """Yield what the verdict leaves out, with the reason."""
        if unfit := sorted(self._unfit(result)):
            what = "left out, as all their rows rule the metric out or weigh 0"
            yield f"{what}: {listed(unfit, _LISTED)}"
        new = self._new(slices)
        yield from self._without_metrics(slices, new)
        unnamed = [] if _NO_VALUE in slices else self._slices(result).get(_NO_VALUE, [])
        if (n := sum(one.invalid is not None for one in unnamed)) and self.leaf.counts_invalid:
            yield f"{counted(n, 'invalid row')} without {self.field} left out"
        if self.compared_with is not None and new:
            yield f"not in {self.compared_with.name}, left out: {listed(new, _LISTED)}"

    def _without_metrics(self, slices: _Slices, new: Collection[str]) -> Iterator[str]:
        """Yield the metrics that some values are judged without, each with these values."""
        left = {
            value: frozenset(self.inner.for_rows(samples).targets)
            for value, samples in slices.items()
            if value not in new
        }
        for target in self.targets:
            if values := [value for value, targets in left.items() if target not in targets]:
                yield f"{target} left out, as all their rows rule it out: {listed(values, _LISTED)}"

    def _lacks_values(self, result: ScenarioResult) -> bool:
        """Return whether samples are to be scored, and none of them has a value."""
        found = self._slices(result).items()
        return [value for value, part in found if any(one.is_expected for one in part)] == [
            _NO_VALUE
        ]

    def _unfit(self, result: ScenarioResult) -> frozenset[str]:
        """Return the values whose rows all rule out what the gate is about, or weigh 0."""
        found = set[str]()
        for value, samples in self._slices(result).items():
            expected = [sample for sample in samples if sample.is_expected]
            if expected and all(map(self.inner.asks_nothing_of, expected)):
                found.add(value)
        return frozenset(found)

    def _not_drawn(self, result: ScenarioResult) -> str:
        """Return the message about values of which a sample of the rows has none, "" if none.

        Causes show only when a row is asked.
        """
        is_cause = self.field == CAUSE and result.info.diagnose is not None
        if result.info.sample is None or is_cause:
            return ""
        seen = self._judged_slices(result)
        unseen = [
            shorten(value, _LONGEST_VALUE)
            for value, samples in self._slices(result).items()
            if value not in seen and any(sample.is_not_drawn for sample in samples)
        ]
        if not unseen:
            return ""
        values = f"{len(unseen)} of {len(seen) + len(unseen)} values of {self.field}"
        some = listed(unseen, _LISTED)
        return f"cannot be decided: no row was asked of {values}: {some}; ask more rows"

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the worst samples of the values for which the gate fails."""
        part = replace(result, samples=self._failed_samples(result))
        return self.inner.worst_samples(part, verdict)

    def _failed_samples(self, result: ScenarioResult) -> list[SampleResult]:
        """Return the samples of the values for which the gate fails, in dataset order."""
        slices = self._judged_slices(result)
        verdicts = self._verdicts(result, slices)
        found = [
            sample
            for value, verdict in verdicts.items()
            if verdict.outcome == "failed"
            for sample in slices[value]
        ]
        return sorted(found, key=lambda sample: sample.index)

    def watch(
        self, info: ScenarioInfo, samples: Sequence[AnySample], error: float
    ) -> SliceWatch | None:
        """Return what follows the scores of all values, or None.

        None where an error is allowed, for causes, against another run, and if for some value
        nothing follows the scores. Values whose samples weigh 0 are left out, as by ``check``.
        """
        if self.field == CAUSE and info.diagnose is not None:
            return None  # it shows only when the samples are scored
        if error or self.compared_with is not None:
            return None
        slices: dict[str, list[AnySample]] = {}
        for sample in samples:
            slices.setdefault(slice_value(sample, self.field), []).append(sample)
        if self.targets:
            slices = {value: part for value, part in slices.items() if _weighs(info, part)}
        made = {value: self.inner.watch(info, part, error) for value, part in slices.items()}
        watches = {
            value: watch
            for value, watch in made.items()
            if watch is not None and watch.follows_scores
        }
        if len(watches) < max(len(slices), 1):
            return None
        of = {sample.index: value for value, part in slices.items() for sample in part}
        return SliceWatch(watches, of)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        inner = self.inner.for_page()
        if inner["kind"] == AS_RUN:
            return inner
        return {"kind": "by", "field": self.field, "inner": inner}

    def _judged_slices(self, result: ScenarioResult) -> dict[str, list[SampleResult]]:
        unfit = self._unfit(result)
        return {
            value: samples
            for value, samples in self._slices(result).items()
            if value not in unfit and any(self._counts(value, sample) for sample in samples)
        }

    def _counts(self, value: str, sample: SampleResult) -> bool:
        """Return whether the sample makes its value one to judge.

        An invalid row that may be one does so for gates about invalid rows alone, and only if its
        value is known: that of a row that could not be read is not.
        """
        is_counted = self.leaf.counts_invalid and value != _NO_VALUE and sample.invalid is not None
        return sample.is_expected or is_counted

    def _verdicts(self, result: ScenarioResult, slices: _Slices) -> dict[str, GateResult]:
        new, theirs, verdicts = self._new(slices), self._theirs(), dict[str, GateResult]()
        for value, samples in slices.items():
            if value not in new:
                ids = [sample.sample_id for sample in samples if sample.sample_id in theirs]
                part = summarize_scenario(result.info, samples, result.complete)
                verdicts[value] = self.inner.for_rows(samples).within(ids).check(part)
        return verdicts

    def _verdict(self, verdicts: Mapping[str, GateResult]) -> GateResult:
        if not verdicts:
            return GateResult(self.name, "failed", None, None, "there are no slices to look at")
        if all(verdict.outcome == "skipped" for verdict in verdicts.values()):
            return GateResult(
                self.name, "skipped", None, None, next(iter(verdicts.values())).message
            )
        failed = [pair for pair in verdicts.items() if pair[1].outcome == "failed"]
        failed.sort(key=lambda pair: margin_of(pair[1]))  # the worst are those that are listed
        worst = failed[0][1] if failed else min(verdicts.values(), key=margin_of)
        if not failed:
            message = f"all {len(verdicts)} values of {self.field}, worst {worst.message}"
            if len(verdicts) == 1:
                message = f"the only value of {self.field}: {worst.message}"
            return self._as_worst("passed", worst, message)
        said = listed(
            (f"{shorten(value, _LONGEST_VALUE)}: {verdict.message}" for value, verdict in failed),
            _LISTED,
            "; ",
        )
        message = f"{len(failed)} of {len(verdicts)} values of {self.field}: {said}"
        return self._as_worst("failed", worst, message)

    def _as_worst(self, outcome: GateOutcome, worst: GateResult, message: str) -> GateResult:
        end, margin = worst.bound, worst.margin
        return GateResult(self.name, outcome, worst.observed, end, message, margin)

    def _theirs(self) -> frozenset[str]:
        """Return the ids of the baseline's samples; none without a comparison."""
        return frozenset(() if self.compared_with is None else self.compared_with.ids)

    def _new(self, slices: _Slices) -> dict[str, None]:
        """Return the values without any sample in the baseline, in order."""
        if self.compared_with is None:
            return {}
        theirs = self._theirs()
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
class SliceWatch(Watch):
    """Follows the scores of each value; ``of`` is the value of each sample, by its index."""

    follows_scores: ClassVar[bool] = True

    watches: Mapping[str, Watch]
    of: Mapping[int, str]

    @property
    def verdict(self) -> bool | None:
        """True once every value passes for certain, False once one of them fails."""
        verdicts = [watch.verdict for watch in self.watches.values()]
        return False if False in verdicts else None if None in verdicts else True

    def add(self, sample: SampleResult) -> None:
        """Note the score of a sample."""
        if sample.index in self.of:  # an invalid row is in no mean
            self.watches[self.of[sample.index]].add(sample)


def _weighs(info: ScenarioInfo, samples: Sequence[AnySample]) -> bool:
    return any(resolve_weight(info.doc_weights, sample.doc_name) > 0.0 for sample in samples)


def slice_value(sample: AnySample, field: str) -> str:
    """Return the name of a sample's slice: its value of ``field`` as text."""
    value = field_value(sample, field)
    return _NO_VALUE if value is None else value_text(value)


def _make(options: Mapping[str, Any], location: Location) -> list[Gate]:
    gates: list[Gate] = []
    known = location.info.fields
    for field, inner in options.items():
        if field not in known and field.startswith("x-"):
            continue
        if field not in known:
            hint = f"{did_you_mean(field, known)} Known: {', '.join(known)}"
            hint += "; causes are found with 'diagnose: true'" if field == CAUSE else ""
            raise location.error(f"no row has a field {shorten(field)!r}.{hint}", field)
        if not isinstance(inner, Mapping) or not inner:
            raise location.error("expected gates, for instance weighted_score: 0.6", field)
        for made in each_gate(inner, location.info, (*location.path, field)):
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
        description="field: the gates that hold for every value of it; one gate for each check,"
        " which names the values that fail",
        example="{doc_name: {f1: 0.5}}",
        keys="fields",
    ),
)
