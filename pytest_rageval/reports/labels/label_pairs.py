"""The saved run with which a corrected regression compares: its answers need labels, too."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pytest_rageval.model import WEIGHTED_SCORE, HumanLabels, SampleResult, ScenarioInfo
from pytest_rageval.reports.labels.label_population import (
    drawn_labels,
    is_answered,
    label_row,
)
from pytest_rageval.reports.labels.label_sheet import LabelRow
from pytest_rageval.results.draws import DrawRecord, StratumRecord
from pytest_rageval.results.saved_run import load_baseline
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.stats.labels.strata import Member, digest_of

_LEAST_PAIRS: Final = 10
_CODE: Final = "s-saved"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Samples that two runs answer differently.

    ``halves`` have a label of the present answer only, by how that was drawn; ``lacking`` pairs
    with both labels are missing to be enough.
    """

    differing: Collection[str] = frozenset()
    halves: Mapping[str, str] = field(default_factory=dict)
    lacking: int = 0

    def halves_to_label(self, n: int, seed: int) -> dict[str, str]:
        """Return up to ``n`` halves, as many as are lacking."""
        count = min(n, self.lacking, len(self.halves))
        return {
            name: self.halves[name] for name in random.Random(seed).sample([*self.halves], count)
        }


@dataclass(frozen=True)
class OtherRun:
    """The answers of a saved run by sample id, and what people say of them."""

    name: str
    samples: Mapping[str, SampleResult]
    human: HumanLabels

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each answer."""
        return {name: digest_of(one) for name, one in self.samples.items()}

    def rows(self, drawn: Mapping[str, str]) -> Iterator[LabelRow]:
        """Yield the answers that have no drawn label; ``drawn`` is by sample how that came up."""
        for name, how in drawn.items():
            row = label_row(self.samples[name], how)
            if not drawn_labels(self.human, name, row.digest):
                yield row

    def pairs(self, population: Sequence[Member]) -> Pairs:
        """Return the pairs of answers that differ, and which of them have labels."""
        differing = [one for one in population if self.differs(one.sample_id, one.digest)]
        labelled = [one for one in differing if one.is_labelled]
        halves = {
            one.sample_id: drawn_labels(self.human, one.sample_id, one.digest)[0].drawn
            for one in labelled
            if not self._is_labelled(one.sample_id)
        }
        whole = len(labelled) - len(halves)
        lacking = max(0, min(_LEAST_PAIRS, len(differing)) - whole)
        return Pairs({one.sample_id for one in differing}, halves, lacking)

    def record(self, metric: str, seed: int, now: datetime) -> DrawRecord:
        """Return the answers as a draw of which there are no labels.

        It keeps them known when another run is saved under the name.
        """
        strata = {_CODE: StratumRecord(len(self.samples), 1.0, "saved run")}
        of = dict.fromkeys(self.samples, _CODE)
        return DrawRecord(self.name, metric, seed, now.isoformat(), self.digests, strata, of)

    def differs(self, sample_id: str, digest: str) -> bool:
        """Return whether this run has another answer to the same question."""
        other = self.samples.get(sample_id)
        return other is not None and digest_of(other) != digest

    def _is_labelled(self, sample_id: str) -> bool:
        return bool(drawn_labels(self.human, sample_id, digest_of(self.samples[sample_id])))


def other_run(info: ScenarioInfo, human: HumanLabels, run_paths: RunPaths) -> OtherRun | None:
    """Return the run that a corrected regression of the metric compares with, if there is one.

    Raises BaselineError if its file cannot be read.
    """
    gate = info.gates.get("no_regression")
    if not isinstance(gate, Mapping) or not gate.get("corrected"):
        return None
    default = info.compare.baseline if info.compare is not None else None
    name = gate.get("baseline") or default
    if not isinstance(name, str) or name not in info.baselines:
        return None
    if human.metric not in gate.get("metrics", [WEIGHTED_SCORE]):
        return None
    file = run_paths.known_baseline_file(name, info.title, info.output_dir)
    samples = load_baseline(name, file, info.path, (), run_paths.shown(file)).samples
    answered = {name: one for name, one in samples.items() if is_answered(one)}
    return OtherRun(name, answered, human)
