"""Draws answers of a scenario's newest complete run for people to label, and writes the sheet."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    TOLERANCE,
    WEIGHTED_SCORE,
    Bound,
    Draw,
    HumanLabels,
    ScenarioInfo,
    answer_digest,
)
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.label_sheet import LabelRow, LabelSheet, sheet_csv
from pytest_rageval.reports.page.label_page import label_page_chunks
from pytest_rageval.reports.run_info import run_id
from pytest_rageval.results.draws import (
    DRAWS,
    DrawRecord,
    StratumRecord,
    draws_chunks,
    draws_file,
    read_records,
)
from pytest_rageval.results.saved_run import load_baseline
from pytest_rageval.run_paths import RunPaths, folder_name
from pytest_rageval.stats.corrected import Judged
from pytest_rageval.stats.drawing import Candidate, Drawing, draw
from pytest_rageval.stats.label_plan import labels_needed
from pytest_rageval.stats.people import Scale, is_on_record
from pytest_rageval.stats.weights import is_scored

HALF_WIDTH: Final = 0.05
"""Of the range of a metric: so exact a mean is worth labels."""

_Sample = Mapping[str, Any]


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
    """

    wanted: Wanted
    run: Path
    population: Sequence[Candidate]
    left_out: int
    drawing: Drawing
    record: DrawRecord
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

        The draw is added to ``draws``, which begins as a copy of that beside the label files.
        Raises OSError, or ScenarioError if that file cannot be read.
        """
        known = self.draws if self.draws.is_file() else _draws_of(self.wanted, self.folder)
        # First: nobody could use the labels of a sheet whose strata are lost.
        write_atomically(self.draws, draws_chunks([*read_records(known), self.record]))
        table = self.folder / self.sheet.file_name
        page = write_atomically(table.with_suffix(".html"), label_page_chunks(self.sheet))
        return write_atomically(table, sheet_csv(self.sheet)), page


def draw_labels(
    wanted: Wanted, run_paths: RunPaths, n: int, *, seed: int, now: datetime
) -> DrawnLabels:
    """Draw ``n`` answers of the newest complete run that have no label which was drawn.

    An answer that has only a chosen label may be drawn: without those that people chose, the draw
    would not be one from all answers. Raises UserError if there is no complete run, or nothing in
    it to label.
    """
    info, human = wanted.info, wanted.human
    run = _newest_run(info, run_paths)
    file, shown = run / "results.json", run_paths.shown(run)
    samples = load_baseline(run.name, file, info.path, (), shown).samples
    scores = _scores(wanted, samples)
    population = _population(wanted, samples, scores)
    if not population:
        message = f"no sample of {shown} has an answer and a score of {human.metric}"
        raise UserError([Problem(info.path, message)])
    folder = run.parent / "labels"
    known = [one for one in read_records(_draws_of(wanted, folder)) if one.metric == human.metric]
    last = next((one.plain() for one in reversed(known) if _bears_labels(one, human)), None)
    last = last or _labelled_baseline(info, human)
    kinds = {code: one.kind for record in known for code, one in record.strata.items()}
    drawing = draw(population, n, seed, last, kinds)
    rows = [_row(samples[name], drawing.of.get(name, RANDOM)) for name in drawing.ids]
    rows += _rows_of_baseline(wanted, run_paths, rows)
    random.Random(seed).shuffle(rows)
    name = _new_name(wanted, folder, now)
    return DrawnLabels(
        wanted,
        run,
        population,
        len(samples) - len(population),
        drawing,
        DrawRecord(
            run.name,
            human.metric,
            seed,
            now.isoformat(),
            {name: _digest(one) for name, one in samples.items() if _is_answered(one)},
            {code: StratumRecord(o.size, o.share, o.kind) for code, o in drawing.strata.items()},
            drawing.of,
        ),
        LabelSheet(info.name, human.metric, human.levels, rows, name),
        folder,
        _needed(wanted, population, scores),
    )


def _newest_run(info: ScenarioInfo, run_paths: RunPaths) -> Path:
    base = run_paths.run_base(info.output_dir)
    complete = [point for point in trend_of(base, info.name) if point.complete]
    if not complete:
        place = run_paths.shown(base / folder_name(info.name))
        message = f"no complete run in {place} to draw from. Run it first: pytest {info.nodeid}"
        raise UserError([Problem(info.path, message)])
    return base / complete[-1].folder


def _draws_of(wanted: Wanted, folder: Path) -> Path:
    return draws_file(wanted.human.files, folder)


def _scores(wanted: Wanted, samples: Mapping[str, _Sample]) -> dict[str, float]:
    """Return the scores of the samples that can be labelled, in the order of the run."""
    return {
        name: score
        for name, one in samples.items()
        if is_scored(score := _score(one, wanted.human.metric))
        and _is_answered(one)
        and name in wanted.known_ids
    }


def _needed(
    wanted: Wanted, population: Sequence[Candidate], scores: Mapping[str, float]
) -> tuple[int, int] | None:
    scale = Scale.of(wanted.info, wanted.human)
    pilot = [
        Judged(scale.score(scores[one.sample_id]), one.human, one.weight) for one in population
    ]
    return labels_needed(pilot, HALF_WIDTH)


def _population(
    wanted: Wanted, samples: Mapping[str, _Sample], scores: Mapping[str, float]
) -> list[Candidate]:
    human = wanted.human
    scale = Scale.of(wanted.info, human)
    is_high = _verdict(wanted.info, human, scores.values())
    return [
        Candidate(
            name,
            digest := _digest(samples[name]),
            is_high(score),
            samples[name].get("sample_weight", 1.0),
            _said(human, scale, name, digest),
        )
        for name, score in scores.items()
    ]


def _score(sample: _Sample, metric: str) -> float | None:
    scores = sample if metric == WEIGHTED_SCORE else sample["scores"]
    score: float | None = scores.get(metric)
    return score


def _is_answered(sample: _Sample) -> bool:
    return sample.get("answer") is not None


def _digest(sample: _Sample) -> str:
    return answer_digest(sample["answer"], sample.get("contexts"))


def _verdict(
    info: ScenarioInfo, human: HumanLabels, scores: Collection[float]
) -> Callable[[float], bool]:
    """Return whether the judge finds a score high: by threshold, middle of the range or median."""
    bound = info.thresholds.get(human.metric) if human.cut is None else Bound(min=human.cut)
    if bound is not None:
        return bound.holds
    metric = human.metric
    ranges = {column.name: column.range for column in info.metrics}
    low, high = ranges.get(metric, info.weighted_range)
    is_bounded = math.isfinite(high - low)
    cut = (low + high) / 2 if is_bounded else sorted(scores)[len(scores) // 2] if scores else 0.0
    return lambda score: score >= cut - TOLERANCE


def _said(human: HumanLabels, scale: Scale, sample_id: str, digest: str) -> float | None:
    """Return the mean of the drawn labels of an answer, from 0 to 1; None without one."""
    found = [
        scale.label(label.value)
        for label in human.labels.get(sample_id, ())
        if label.digest == digest and label.drawn != CHOSEN
    ]
    return math.fsum(found) / len(found) if found else None


def _bears_labels(record: DrawRecord, human: HumanLabels) -> bool:
    """Return whether a label comes from this draw."""
    return any(
        label.drawn in record.strata
        if record.strata
        else label.drawn == RANDOM and record.digests.get(name) == label.digest
        for name, labels in human.labels.items()
        for label in labels
    )


def _labelled_baseline(info: ScenarioInfo, human: HumanLabels) -> Draw | None:
    """Return a saved run as a draw, if labels are of its answers and of no draw on record."""
    saved = (Draw(found.digests) for found in info.baselines.values() if found.digests)
    labels = [(name, one) for name, found in human.labels.items() for one in found]
    return next(
        (d for d in saved if any(is_on_record(name, one, [d]) for name, one in labels)), None
    )


def _row(sample: _Sample, drawn: str) -> LabelRow:
    return LabelRow(
        sample["id"],
        sample.get("question") or "",
        sample.get("contexts") or (),
        sample["answer"],
        _digest(sample),
        drawn,
    )


def _rows_of_baseline(
    wanted: Wanted, run_paths: RunPaths, rows: Sequence[LabelRow]
) -> Iterator[LabelRow]:
    """Yield the other run's answers to the same questions, where they differ and have no label.

    Only if a gate compares people's view of both: it needs labels on either side.
    """
    info, human = wanted.info, wanted.human
    name = _compared_with(info, human.metric)
    if name is None:
        return
    file = run_paths.known_baseline_file(name, info.name, info.output_dir)
    theirs = load_baseline(name, file, info.path, (), run_paths.shown(file)).samples
    for row in rows:
        other = theirs.get(row.sample_id)
        if other is None or not _is_answered(other):
            continue
        known = {label.digest for label in human.labels.get(row.sample_id, ())}
        if _digest(other) not in {row.digest, *known}:
            yield _row(other, row.drawn)


def _compared_with(info: ScenarioInfo, metric: str) -> str | None:
    """Return the saved run with which a corrected regression of the metric compares, if any."""
    gate = info.gates.get("no_regression")
    if not isinstance(gate, Mapping) or not gate.get("corrected"):
        return None
    if metric not in gate.get("metrics", [WEIGHTED_SCORE]):
        return None
    name = gate.get("baseline") or (info.compare.baseline if info.compare is not None else None)
    return name if name in info.baselines else None


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
