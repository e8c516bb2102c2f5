"""Draws answers of a scenario's newest complete run for people to label, and writes the sheet."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import RANDOM, HumanLabels, SampleResult, ScenarioInfo
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.labels.label_pairs import OtherRun, Pairs, other_run
from pytest_rageval.reports.labels.label_population import label_row, population
from pytest_rageval.reports.labels.label_sheet import LabelSheet, sheet_csv
from pytest_rageval.reports.page.label_page import label_page_chunks
from pytest_rageval.reports.run_info import run_id
from pytest_rageval.results.draws import (
    DRAWS,
    DrawRecord,
    StratumRecord,
    draws_chunks,
    known_records,
)
from pytest_rageval.results.saved_run import load_baseline
from pytest_rageval.run_paths import RunPaths, folder_name, run_folder
from pytest_rageval.stats.labels.drawing import Drawing, draw, labels_needed
from pytest_rageval.stats.labels.strata import Member, bearing_draws, saved_draws

HALF_WIDTH: Final = 0.05
"""Of the range of a metric: so exact a mean is worth labels."""

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
    needed: tuple[int, int] | None = None
    """How many labels in all bring a corrected mean to ±HALF_WIDTH: the fewest and the most."""

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
        table = self.folder / self.sheet.file_name
        page = write_atomically(table.with_suffix(".html"), label_page_chunks(self.sheet))
        return write_atomically(table, sheet_csv(self.sheet)), page


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
    apart = pairs.differing if len(halves) < pairs.lacking else ()
    drawing = _drawing(source, n - len(halves), seed, apart)
    rows = [label_row(source.samples[name], drawing.of.get(name, RANDOM)) for name in drawing.ids]
    records = [_record(source, drawing, seed, now)]
    if other is not None:
        drawn = {row.sample_id: row.drawn for row in rows if row.sample_id in pairs.differing}
        rows += other.rows(drawn | halves)
        if other.digests not in [one.digests for one in source.draws]:
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
    )
    left_out = len(source.samples) - len(source.population)
    return DrawnLabels(
        wanted,
        source.run,
        source.population,
        left_out,
        drawing,
        records,
        sheet,
        folder,
        labels_needed([one.judged for one in source.population], HALF_WIDTH),
    )


def _source(wanted: Wanted, run_paths: RunPaths) -> _Source:
    info, human = wanted.info, wanted.human
    run = _newest_run(info, run_paths)
    shown = run_paths.shown(run)
    samples = load_baseline(run.name, run / "results.json", info.path, (), shown).samples
    known = {name: one for name, one in samples.items() if name in wanted.known_ids}
    found = population(info, human, known)
    if not found:
        message = f"no sample of {shown} has an answer and a score of {human.metric}"
        raise UserError([Problem(info.path, message)])
    draws = known_records(human.files, run.parent / _FOLDER)
    ours = [one for one in draws if one.metric == human.metric]
    return _Source(wanted, run, samples, found, ours, other_run(info, human, run_paths))


def _drawing(source: _Source, n: int, seed: int, apart: Collection[str]) -> Drawing:
    known = [one.plain() for one in source.draws]
    human = replace(source.wanted.human, draws=known)
    bearing = bearing_draws(source.population, human, saved_draws(source.wanted.info))
    kinds = {code: one.kind for record in source.draws for code, one in record.strata.items()}
    return draw(source.population, n, seed, bearing, kinds, apart)


def _record(source: _Source, drawing: Drawing, seed: int, now: datetime) -> DrawRecord:
    return DrawRecord(
        source.run.name,
        source.wanted.human.metric,
        seed,
        now.isoformat(),
        # Only of those that could be drawn: others count as changed once they can.
        {one.sample_id: one.digest for one in source.population},
        {code: StratumRecord(o.size, o.share, o.kind) for code, o in drawing.strata.items()},
        drawing.of,
    )


def _newest_run(info: ScenarioInfo, run_paths: RunPaths) -> Path:
    base = run_paths.run_base(info.output_dir)
    points = trend_of(base, info.title)
    complete = [point for point in points if point.complete]
    if not complete:
        place = run_paths.shown(base / run_folder(info.title))
        stopped = bool(points) and info.stop is not None
        hint = "The runs there stopped early; run all samples once" if stopped else "Run it first"
        command = f"pytest {info.nodeid}" + " --rag-set stop=null" * stopped
        if run_paths.output is not None:
            command += f" --rag-output={run_paths.shown(run_paths.output)}"
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
