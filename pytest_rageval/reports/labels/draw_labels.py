"""Draws answers of a scenario's newest complete run for people to label, and writes the sheet."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    TOLERANCE,
    WEIGHTED_SCORE,
    HumanLabels,
    Label,
    SampleResult,
    ScenarioInfo,
)
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.labels.label_sheet import LabelRow, LabelSheet
from pytest_rageval.reports.write_run import run_id
from pytest_rageval.results.draws import (
    DRAWS,
    DrawRecord,
    StratumRecord,
    draws_chunks,
    known_records,
)
from pytest_rageval.results.saved_run import load_baseline
from pytest_rageval.run_paths import RunPaths, folder_name, run_folder
from pytest_rageval.stats.labels.cells import cells_of, info_of_cells, is_of_cells
from pytest_rageval.stats.labels.corrected import Judged
from pytest_rageval.stats.labels.drawing import Drawing, draw, labels_needed
from pytest_rageval.stats.labels.strata import (
    Member,
    Scale,
    average,
    bearing_draws,
    column_of,
    cut_of,
    digest_of,
    saved_draws,
)
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored


def population(
    info: ScenarioInfo, human: HumanLabels, samples: Mapping[str, SampleResult]
) -> list[Member]:
    """Return the ``samples`` that have an answer and a score of the metric, in their order."""
    scores = {
        name: score
        for name, sample in samples.items()
        if is_scored(score := score_of(sample, human.metric)) and is_answered(sample)
    }
    scale = Scale.of(info, human)
    is_high = _verdict(info, human, scores.values())
    return [
        Member(
            name,
            Judged(
                scale.score(score),
                average([scale.label(label.value) for label in drawn_labels(human, name, digest)]),
                samples[name].sample_weight,
                verdict=is_high(score),
            ),
            digest,
            human.labels.get(name, ()),
        )
        for name, score in scores.items()
        for digest in [digest_of(samples[name])]
    ]


def is_answered(sample: SampleResult) -> bool:
    """Return whether there is an answer, even an empty one."""
    return sample.answer is not None


def label_row(sample: SampleResult, drawn: str) -> LabelRow:
    """Return what a person sees of an answered sample."""
    return LabelRow(
        sample.sample_id,
        sample.question or "",
        sample.contexts or (),
        sample.answer or "",
        digest_of(sample),
        drawn,
    )


def drawn_labels(human: HumanLabels, sample_id: str, digest: str) -> list[Label]:
    """Return the labels of an answer, but for those of people who chose what to label."""
    labels = human.labels.get(sample_id, ())
    return [label for label in labels if label.digest == digest and label.drawn != CHOSEN]


def _verdict(
    info: ScenarioInfo, human: HumanLabels, scores: Collection[float]
) -> Callable[[float], bool]:
    """Return a function that says whether a score is high: it meets ``cut``, else the threshold.

    Under a threshold with a maximum alone, high is above it, as for the agreement. Under one with
    two ends, high is between them, so that this band is a stratum; the agreement's cut is the lower
    one. Without both, high begins at the middle of the range, or at the median if it lacks an end.
    """
    bound = cut_of(info, human)
    if bound is not None:
        return bound.holds if bound.min is not None else lambda score: not bound.holds(score)
    low, high = column_of(info, human.metric).range
    is_bounded = math.isfinite(high - low)
    cut = (low + high) / 2 if is_bounded else sorted(scores)[len(scores) // 2] if scores else 0.0
    return lambda score: score >= cut - TOLERANCE


_LEAST_PAIRS: Final = 10
_SAVED_CODE: Final = "s-saved"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Samples that two runs answer differently.

    ``halves`` are those whose present answer has a drawn label, and whose other answer has none:
    the sample's id -> how it was drawn.
    ``missing`` is how many more pairs need both labels.
    """

    differing: Collection[str] = frozenset()
    halves: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0

    def halves_to_label(self, n: int, seed: int) -> dict[str, str]:
        """Return up to ``n`` halves, as many as pairs are missing."""
        count = min(n, self.missing, len(self.halves))
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
        return {name: digest_of(sample) for name, sample in self.samples.items()}

    def rows(self, drawn: Mapping[str, str]) -> Iterator[LabelRow]:
        """Yield the answers to the samples in ``drawn`` that have no label which was drawn.

        ``drawn`` says of each sample how it came up.
        """
        for name, how in drawn.items():
            row = label_row(self.samples[name], how)
            if not drawn_labels(self.human, name, row.digest):
                yield row

    def pairs(self, population: Sequence[Member]) -> Pairs:
        """Return the pairs of answers that differ, and which of them have labels."""
        differing = [now for now in population if self.differs(now.sample_id, now.digest)]
        labelled = [now for now in differing if now.is_labelled]
        halves = {
            now.sample_id: drawn_labels(self.human, now.sample_id, now.digest)[0].drawn
            for now in labelled
            if not self._is_labelled(now.sample_id)
        }
        whole = len(labelled) - len(halves)
        missing = max(0, min(_LEAST_PAIRS, len(differing)) - whole)
        return Pairs({now.sample_id for now in differing}, halves, missing)

    def record(self, metric: str, seed: int, now: datetime) -> DrawRecord:
        """Return the answers as a draw of which there are no labels.

        It keeps them known when another run is saved under the name.
        """
        strata = {_SAVED_CODE: StratumRecord(len(self.samples), 1.0, "saved run")}
        of = dict.fromkeys(self.samples, _SAVED_CODE)
        return DrawRecord(self.name, metric, seed, now.isoformat(), self.digests, strata, of)

    def differs(self, sample_id: str, digest: str) -> bool:
        """Return whether this run has another answer to the same question."""
        other = self.samples.get(sample_id)
        return other is not None and digest_of(other) != digest

    def _is_labelled(self, sample_id: str) -> bool:
        return bool(drawn_labels(self.human, sample_id, digest_of(self.samples[sample_id])))


def other_run(info: ScenarioInfo, human: HumanLabels, run_paths: RunPaths) -> OtherRun | None:
    """Return the run that a corrected ``no_regression`` of the metric compares with, else None.

    Raises BaselineError if its file cannot be read.
    """
    gate = info.gates.get("no_regression")
    if not isinstance(gate, Mapping) or not gate.get("corrected"):
        return None
    default = next((comparing.baseline for comparing in info.compare), None)
    name = gate.get("baseline") or default
    if not isinstance(name, str) or name not in info.baselines:
        return None
    if human.metric not in gate.get("metrics", [WEIGHTED_SCORE]):
        return None
    file = run_paths.known_baseline_file(name, info.title, info.output_dir)
    samples = load_baseline(name, file, info.path, (), run_paths.shown(file)).samples
    answered = {name: sample for name, sample in samples.items() if is_answered(sample)}
    return OtherRun(name, answered, human)


HALF_WIDTH: Final = 0.05
"""The half width of a mean's interval that labels are to reach, as a share of the range."""

_FOLDER: Final = "labels"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Labels of one metric of a scenario, and the ids of the samples that its data have now."""

    info: ScenarioInfo
    human: HumanLabels
    known_ids: Collection[str]


@dataclass(frozen=True)
class DrawnLabels:
    """What people are to label, drawn from the run in ``run``; nothing is written yet.

    ``left_out`` samples of the run have no answer, no score, or are not in the data any more.
    ``records`` are to be added to the draws.
    """

    wanted: Wanted
    run: Path
    population: Sequence[Member]
    left_out: int
    drawing: Drawing
    records: Sequence[DrawRecord]
    sheet: LabelSheet
    folder: Path
    """Where the files belong."""
    command: str
    """What runs the scenario again."""
    needed: tuple[int, int] | None = None
    """How many labels in all bring a corrected mean to ±HALF_WIDTH: the fewest and the most.

    None while it cannot be told, and for cells, whose mean is not corrected.
    """

    @property
    def draws(self) -> Path:
        """The file with all draws."""
        return self.folder / DRAWS

    def write(self) -> tuple[Path, Path]:
        """Write the sheet as CSV and as a page, and return their paths.

        The draw is added to ``draws``, and so are those beside the label files. Raises OSError, or
        ScenarioError if such a file cannot be read.
        """
        known = known_records(self.wanted.human.files, self.folder)
        # First: nobody could use the labels of a sheet whose strata are lost.
        write_atomically(self.draws, draws_chunks([*known, *self.records]))
        return self.sheet.write(self.folder)


@dataclass(frozen=True)
class _Source:
    """The newest complete run of a scenario, and what was drawn and labelled before."""

    wanted: Wanted
    run: Path
    samples: Mapping[str, SampleResult]
    population: Sequence[Member]
    draws: Sequence[DrawRecord]
    other: OtherRun | None


def draw_labels(
    wanted: Wanted, run_paths: RunPaths, n: int, *, seed: int, now: datetime
) -> DrawnLabels:
    """Draw ``n`` answers of the newest complete run that have no label which was drawn.

    An answer that has only a chosen label may be drawn: without those that people chose, the draw
    would not be one from all answers. Where a gate compares people's view of two runs, the other
    answers to the drawn questions come along. Raises UserError if there is no complete run, or
    nothing in it to label.
    """
    source = _source(wanted, run_paths)
    human, other = wanted.human, source.other
    pairs = Pairs() if other is None else other.pairs(source.population)
    halves = pairs.halves_to_label(n, seed)
    # More pairs are missing than halves complete: the draw is to look among those that differ.
    apart = pairs.differing if len(halves) < pairs.missing else ()
    drawing = _drawing(source, n - len(halves), seed, apart)
    rows = [label_row(source.samples[name], drawing.of.get(name, RANDOM)) for name in drawing.ids]
    records = [_record(source, drawing, seed, now)]
    if other is not None:
        drawn = {row.sample_id: row.drawn for row in rows if row.sample_id in pairs.differing}
        rows += other.rows(drawn | halves)
        if other.digests not in [record.digests for record in source.draws]:
            records.insert(0, other.record(human.metric, seed, now))
    random.Random(seed).shuffle(rows)
    folder = source.run.parent / _FOLDER
    name = _new_name(wanted, folder, now)
    sheet = LabelSheet(
        wanted.info.title,
        human.metric,
        human.levels,
        rows,
        name,
        meanings=human.meanings,
        question=human.question,
        description=wanted.info.description,
        higher_is_better=column_of(source.wanted.info, human.metric).higher_is_better,
        has_cells=is_of_cells(wanted.info, human.metric),
    )
    left_out = len(source.samples) - len(source.population)
    return DrawnLabels(
        source.wanted,
        source.run,
        source.population,
        left_out,
        drawing,
        records,
        sheet,
        folder,
        f"pytest {run_paths.typed(wanted.info.nodeid)}",
        None
        if sheet.has_cells  # no mean of cells is corrected
        else labels_needed([answer.judged for answer in source.population], HALF_WIDTH),
    )


def _source(wanted: Wanted, run_paths: RunPaths) -> _Source:
    info, human = wanted.info, wanted.human
    run = _newest_run(info, run_paths)
    shown = run_paths.shown(run)
    samples = load_baseline(run.name, run / "results.json", info.path, (), shown).samples
    known = {name: sample for name, sample in samples.items() if name in wanted.known_ids}
    what = f"no sample of {shown} has an answer and a score of {human.metric}"
    if is_of_cells(info, human.metric):
        cells = cells_of(info, list(known.values()))
        samples = known = {cell.sample_id: cell for cell in cells}
        wanted = replace(wanted, info=info_of_cells(info))
        what = f"no sample of {shown} has a support table with a level in it"
    found = population(wanted.info, human, known)
    if not found:
        raise UserError([Problem(info.path, what)])
    draws = known_records(human.files, run.parent / _FOLDER)
    ours = [record for record in draws if record.metric == human.metric]
    return _Source(wanted, run, samples, found, ours, other_run(info, human, run_paths))


def _drawing(source: _Source, n: int, seed: int, apart: Collection[str]) -> Drawing:
    known = [record.plain() for record in source.draws]
    human = replace(source.wanted.human, draws=known)
    bearing = bearing_draws(source.population, human, saved_draws(source.wanted.info))
    kinds = {
        code: stratum.kind for record in source.draws for code, stratum in record.strata.items()
    }
    return draw(source.population, n, seed, bearing, kinds, apart)


def _record(source: _Source, drawing: Drawing, seed: int, now: datetime) -> DrawRecord:
    return DrawRecord(
        source.run.name,
        source.wanted.human.metric,
        seed,
        now.isoformat(),
        # Only of answers that could be drawn: others count as changed once they can.
        {answer.sample_id: answer.digest for answer in source.population},
        {code: StratumRecord(o.size, o.share, o.kind) for code, o in drawing.strata.items()},
        drawing.of,
    )


def _newest_run(info: ScenarioInfo, run_paths: RunPaths) -> Path:
    base = run_paths.run_base(info.output_dir)
    points = trend_of(base, info.title, file=(run_paths.root, info.path))
    complete = [point for point in points if point.complete and point.sample is None]
    if not complete:
        place = run_paths.shown(base / run_folder(info.title))
        stopped = bool(points) and info.stop is not None
        hint = "The runs there stopped early; run all samples once" if stopped else "Run it first"
        command = f"pytest {run_paths.typed(info.nodeid)}" + " --rag-set stop=null" * stopped
        if run_paths.output is not None:
            command += f" --rag-output={run_paths.typed(run_paths.output)}"
        message = f"no complete run in {place} to draw from. {hint}: {command}"
        raise UserError([Problem(info.path, message)])
    return base / complete[-1].folder


def _new_name(wanted: Wanted, folder: Path, now: datetime) -> str:
    """Return the name of a CSV file that is not there, nor is its page."""
    several = len(wanted.info.human) > 1
    stem = run_id(now) + (f"-{folder_name(wanted.human.metric)}" if several else "")
    names = (stem if at == 1 else f"{stem}-{at}" for at in range(1, 1000))
    return next(
        f"{name}.csv"
        for name in names
        if not any((folder / f"{name}{suffix}").exists() for suffix in (".csv", ".html"))
    )
