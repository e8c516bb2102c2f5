"""Reads a saved run as a baseline: the ``results.json`` of an earlier run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import convert

from pytest_rageval.errors import (
    BaselineError,
    NoBaselineError,
    Problem,
    did_you_mean,
    listed,
    shorten,
)
from pytest_rageval.model import NOTHING, TOLERANCE, MetricColumn, Outcome, SampleResult, Value
from pytest_rageval.model.measured import CODE, Code
from pytest_rageval.results.layout import RESULTS_SCHEMA, ResultsFile, SavedHead, SavedScenario
from pytest_rageval.text.codec import excess, from_json

_LISTED = 20
_ROUNDING = 1e-6


class SavedRun(Value, frozen=True):
    """A saved run with its samples by id; messages call its file ``shown``."""

    name: str
    shown: str
    head: SavedHead
    samples: Mapping[str, SampleResult]

    @property
    def measured(self) -> Mapping[str, Any]:
        """As ``ScenarioInfo`` has it; empty for a run of a version that did not record it."""
        return self.head.scenario.measured


class _Outline(Value, frozen=True):
    schema: int
    scenario: dict[str, Any]
    samples: list[Any]


class _About(Value, frozen=True):
    scenario: SavedScenario


class _Version(Value, frozen=True):
    schema: Any = 0


def is_saved_run(path: Path) -> bool:
    """Return whether the file is a ``results.json`` of this or another version."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            if not stream.read(1).startswith("{"):  # another file may be larger than memory
                return False
            from_json("{" + stream.read(), _Outline)
    except (OSError, ValueError):
        return False
    return True


def saved_scenario(path: Path) -> SavedScenario | None:
    """Return what a saved run says of its scenario, None for a file that is no such run."""
    try:
        return from_json(path.read_text("utf-8-sig"), _About).scenario
    except (OSError, ValueError):
        return None


def load_baseline(name: str, path: Path, where: str, known: Sequence[str], shown: str) -> SavedRun:
    """Return the saved run in ``path``, which messages call ``shown``.

    ``where`` is the place that messages name, ``known`` are the names of all saved runs. Raises
    NoBaselineError if the file is missing, and BaselineError if this version cannot read it.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        message = f"no saved run {name!r} ({shown}).{_known(name, known)}"
        raise NoBaselineError([Problem(where, message)]) from error
    except OSError as error:
        raise _refuse(where, f"baseline {shown}: cannot be read: {error}") from error
    try:
        return _read(raw, name, shown)
    except ValueError as error:
        why = _newer(raw) or f"cannot be read as a results.json of pytest-rageval: {error}"
        raise _refuse(where, f"baseline {shown}: {why}") from error


def _read(raw: bytes, name: str, shown: str) -> SavedRun:
    """Return a saved run; raises ValueError for a damaged file, or one of another schema."""
    file = from_json(raw, ResultsFile)
    if file.schema != RESULTS_SCHEMA:
        raise ValueError(f"schema {file.schema}")
    convert(file.scenario.measured.get(CODE, {}), Code)  # only to check it
    for at, sample in enumerate(file.samples):
        if sample.scores is NOTHING:  # else the sample would silently be in no comparison
            raise ValueError(f"Object missing required field `scores` - at `$.samples[{at}]`")
        if reason := excess([sample.metadata, sample.details]):
            raise ValueError(f"sample {shorten(repr(sample.sample_id))}: {reason}")
    _check_whole(file)
    return SavedRun(name, shown, file, {one.sample_id: one for one in file.samples})


def _check_whole(file: ResultsFile) -> None:
    """Raise ValueError for lost or repeated samples, and for others than those of the means.

    Each has a line of its own, and version control that merges two runs may mix their lines.
    """
    ended = Counter(sample.outcome for sample in file.samples)
    for outcome in get_args(Outcome):
        said, found = getattr(file.counts, outcome), ended[outcome]
        if said != found:
            raise ValueError(f"it counts {said} samples as {outcome!r} and has {found}")
    ids = Counter(sample.sample_id for sample in file.samples)
    if twice := [sample_id for sample_id, count in ids.items() if count > 1]:
        raise ValueError(f"it has sample {shorten(repr(twice[0]))} more than once")
    expected = [sample for sample in file.samples if sample.is_expected]
    for name, summary in file.metrics.items():
        values = (sample.scores.get(name) for sample in expected)
        scores = [value for value in values if value is not None]
        mean = math.fsum(scores) / len(scores) if scores else None
        said = summary.mean, summary.n
        if said[1] != len(scores) or not _is_close(said[0], mean):
            raise ValueError(
                f"it says {name} {_figure(*said)}, and its samples have "
                f"{_figure(mean, len(scores))}; git may have mixed two runs: save it again"
            )


def _is_close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _figure(mean: float | None, n: int) -> str:
    return f"{'without a mean' if mean is None else f'{mean:.4f}'} over {n}"


def _newer(raw: bytes) -> str:
    """Return what to do about a file of a newer version; "" for any other file.

    A schema that is no whole number counts as newer.
    """
    try:
        schema = from_json(raw, _Version).schema
    except ValueError:
        return ""
    if type(schema) is int and schema <= RESULTS_SCHEMA:
        return ""
    return (
        f"was written by a newer version (schema {schema!r}; this one reads {RESULTS_SCHEMA}). "
        "Update pytest-rageval, or save the baseline again"
    )


def of_a_part(head: SavedHead) -> Iterator[str]:
    """Yield why a run is none to compare with: it did not ask all of its rows."""
    advice = "compare with a run that asks all rows"
    if head.sample is not None:
        yield f"it asked a sample of {len(head.sample.drawn)} of {head.sample.rows} rows; {advice}"
    if head.counts.not_asked:
        yield f"it stopped after {head.counts.ran} of {head.counts.samples} samples; {advice}"


def cut_short(head: SavedHead) -> Iterator[str]:
    """Yield that rows did not run: deselected, lost, or after an end by -x or Ctrl-C."""
    if not head.complete and head.sample is None and not head.counts.not_asked:
        yield f"only {head.counts.ran} of its {head.counts.samples} samples ran"


def out_of_range(saved: SavedRun, columns: Iterable[MetricColumn]) -> str:
    """Return the message for the first score outside its metric's range, '' if there is none."""
    ranges = {column.name: column.range for column in columns}
    for sample_id, sample in saved.samples.items():
        for metric, value in sample.scores.items():
            if value is None or metric not in ranges:
                continue
            low, high = ranges[metric]
            if not low - TOLERANCE <= value <= high + TOLERANCE:
                return (
                    f"sample {shorten(repr(sample_id))}: {metric} {value} is not a valid score: "
                    f"it must be in {low:g}..{high:g}"
                )
    return ""


def _refuse(where: str, message: str) -> BaselineError:
    return BaselineError([Problem(where, message)])


def _known(name: str, known: Sequence[str]) -> str:
    if not known:
        return (
            f" None is saved yet: save it with --rag-save {name}, or --rag-save-failed {name} if "
            "the run is red"
        )
    return f"{did_you_mean(name, known)} Saved: {listed(sorted(known), _LISTED)}"
