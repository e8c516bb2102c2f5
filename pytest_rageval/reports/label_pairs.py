"""The saved run with which a corrected regression compares: its answers need labels, too."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pytest_rageval.model import WEIGHTED_SCORE, HumanLabels, ScenarioInfo
from pytest_rageval.reports.label_population import (
    SavedSample,
    digest_of,
    drawn_labels,
    is_answered,
    label_row,
)
from pytest_rageval.reports.label_sheet import LabelRow
from pytest_rageval.results.draws import DrawRecord, StratumRecord
from pytest_rageval.results.saved_run import load_baseline
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.stats.drawing import Candidate

_LEAST_PAIRS: Final = 10
_CODE: Final = "s-saved"


@dataclass(frozen=True)
class OtherRun:
    """The answers of a saved run by sample id, and what people say of them."""

    name: str
    samples: Mapping[str, SavedSample]
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

    def halves(self, population: Sequence[Candidate], n: int, seed: int) -> dict[str, str]:
        """Return up to ``n`` samples with a label on one side only, and how these were drawn.

        As many as bring the pairs that have both to ten: labels of both sides are what counts.
        """
        differing = [one for one in population if self.differs(one.sample_id, one.digest)]
        labelled = [one for one in differing if one.human is not None]
        open_ = [one for one in labelled if not self._is_labelled(one.sample_id)]
        lacking = min(_LEAST_PAIRS, len(differing)) - (len(labelled) - len(open_))
        picked = random.Random(seed).sample(open_, max(0, min(n, lacking, len(open_))))
        return {
            one.sample_id: drawn_labels(self.human, one.sample_id, one.digest)[0].drawn
            for one in picked
        }

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
    file = run_paths.known_baseline_file(name, info.name, info.output_dir)
    samples = load_baseline(name, file, info.path, (), run_paths.shown(file)).samples
    answered = {name: one for name, one in samples.items() if is_answered(one)}
    return OtherRun(name, answered, human)
