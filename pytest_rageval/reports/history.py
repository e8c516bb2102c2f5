"""The runs of a scenario over time: lists read the run folders, ``history.csv`` is for charts.

The file lies in the base folder of the runs. A run adds its lines and changes no others, so the
file also has the runs whose folders are gone.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache, partial
from io import FileIO
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, listed
from pytest_rageval.model import SEPARATOR, WEIGHTED_SCORE, RunInfo, ScenarioResult
from pytest_rageval.reports.run_data import csv_lines
from pytest_rageval.results.run_point import RunPoint, point_of, read_point
from pytest_rageval.run_paths import RUN_ID, base_of, run_folder

if sys.platform != "win32":
    import fcntl

HISTORY: Final = "history.csv"
"""The name of the file in the base folder of the runs."""

_DATABASE: Final = "history.sqlite"  # what earlier versions kept
_BUSY_S: Final = 5.0
_KEPT_POINTS: Final = 10_000
_LISTED: Final = 10
_CURE: Final = "delete such a folder, or move it away"

_COUNTS: Final = (
    "samples", "ran", "scored", "passed", "failed", "error", "skipped", "xfailed", "invalid",
    "in_figures", "not_run",
)  # fmt: skip
_OVERALL: Final = ("ci_low", "ci_high", "n", "unscored")
_FIGURES: Final = (*_OVERALL, "weighted_mean", "mean", "std", "weight")
_GATES: Final = ("gates_passed", "gates_failed", "gates_skipped")
_COLUMNS: Final = (
    "folder", "run_id", "scenario", "variant", "started_at", "complete", "commit",
    "metric", "weighted_mean", "ci_low", "ci_high", "mean", "std", "n", "unscored",
    "metric_failed", "weight", *_COUNTS, *_GATES, "overridden", "definition",
)  # fmt: skip
_HEADER: Final = ",".join(_COLUMNS).encode()
_BOM: Final = b"\xef\xbb\xbf"
_END: Final = b"\r\n"
_NOT_OURS: Final = (
    "its first line does not name the columns of this version. Move the file away: the next run "
    "begins a new one with all runs that have folders"
)

Row = dict[str, Any]
"""A line of the file by column; a column that is missing is a blank cell."""


# The run folders


def trend_of(
    base: Path,
    scenario: str,
    *,
    file: tuple[Path, str] | None = None,
    before: str | None = None,
    limit: int | None = None,
    only_complete: bool = False,
) -> Sequence[RunPoint]:
    """Return the runs of ``scenario`` below ``base``, the folder of all runs, oldest first.

    ``file`` is the root and, below it, the path of the scenario file: runs of another file that is
    there and still has the name are left out. One that is gone was moved, and its runs count.
    ``before`` is a run id: that run and later ones are left out. ``limit`` keeps the newest ones,
    by the names of their folders. ``only_complete`` leaves out partial runs, which count for no
    limit then.
    """
    newest_first = _points(base, reversed(_run_folders(base, run_folder(scenario))))
    is_of_another = cache(partial(_is_of_another, scenario))
    # Two names may share a folder.
    of_scenario = (
        point
        for point in newest_first
        if point.scenario == scenario
        and (file is None or not is_of_another(point.path, *file))
        and (before is None or point.run_id < before)
        and (point.complete or not only_complete)
    )
    return _ordered(islice(of_scenario, limit))


def _is_of_another(title: str, path: str, root: Path, own: str) -> bool:
    file = root / path
    try:
        if path == own or not file.is_file() or file.samefile(root / own):
            return False
    except OSError:  # the path is too long to be one
        return False
    # Not at the top: most runs are of the file itself.
    from pytest_rageval.scenario.loader import read_scenario

    with suppress(ScenarioError):
        data = read_scenario(file).data
        name = data.get("name", data.get("scenario_name"))
        return str(name) == title.partition(SEPARATOR)[0]
    return True


def all_runs(base: Path) -> Sequence[RunPoint]:
    """Return every run below ``base``, oldest first."""
    return _ordered(_points(base, _all_folders(base)))


def unread_runs(base: Path) -> list[str]:
    """Return the folders below ``base`` whose ``results.json`` this version cannot read."""
    return _unread(base, _all_folders(base))


def unread_since(base: Path, scenario: str, run: str = "") -> list[str]:
    """Return those of ``scenario`` that began after ``run``, by the ids in the folders' names."""
    names = _run_folders(base, run_folder(scenario))
    ids = {folder: Path(folder).name for folder in names}
    return _unread(base, [one for one in names if RUN_ID.match(ids[one]) and ids[one] > run])


def _unread(base: Path, folders: Iterable[str]) -> list[str]:
    return [folder for folder in folders if not [*_points(base, [folder])]]


def left_out(folders: Sequence[str]) -> str:
    """Return the remark about runs that cannot be read."""
    shown = listed(folders, _LISTED)
    return f"left out: {shown}: results.json is cut off, or of another version; {_CURE}"


def _all_folders(base: Path) -> list[str]:
    return [run for home in _scenario_folders(base) for run in _run_folders(base, home)]


def _scenario_folders(base: Path) -> Iterator[Path]:
    """Yield, relative to ``base``, the folders of scenarios and of their variants."""
    for scenario in _subfolders(base):
        yield Path(scenario.name)
        for variant in _subfolders(scenario):
            if not _is_run(variant):
                yield Path(scenario.name, variant.name)


def _run_folders(base: Path, home: Path) -> list[str]:
    """Return the run folders of a scenario or a variant, relative to ``base``, by name."""
    return [(home / run.name).as_posix() for run in _subfolders(base / home) if _is_run(run)]


def _subfolders(folder: Path) -> list[Path]:
    """Return the folders that may hold runs: no links (``latest``), no hidden ones."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        entry
        for entry in entries
        if not entry.name.startswith(".") and not entry.is_symlink() and entry.is_dir()
    ]


def _is_run(folder: Path) -> bool:
    return (folder / "results.json").is_file()


def _points(base: Path, folders: Iterable[str]) -> Iterator[RunPoint]:
    for folder in folders:
        try:
            files = (base / folder, base / folder / "results.json")
            changed = tuple(file.stat().st_mtime_ns for file in files)
        except OSError:  # removed meanwhile
            continue
        point = _point_as_of(base, folder, changed)
        if point is not None:
            yield point


@lru_cache(_KEPT_POINTS)
def _point_as_of(base: Path, folder: str, changed: tuple[int, ...]) -> RunPoint | None:
    """Return a run, read again only if ``changed`` (times of change, for the cache) differs."""
    return read_point(base, folder)


def _ordered(points: Iterable[RunPoint]) -> list[RunPoint]:
    return sorted(points, key=attrgetter("started_at", "folder"))


# The file


def record(result: ScenarioResult, run: RunInfo, folder: Path) -> list[str]:
    """Add the run that was written to ``folder``; return remarks, such as why it cannot be added.

    A new file begins with the earlier runs: those with folders, and those of the ``history.sqlite``
    of an earlier version.
    """
    base = base_of(folder, result.info.title)
    point = point_of(result, run, folder.relative_to(base).as_posix())
    path = base / HISTORY
    try:
        # Unbuffered: what the disk has no room for must not be tried again when the file is closed.
        with path.open("a+b", buffering=0) as file, _turn(file):
            file.seek(0)
            content = file.read()
            first_line = content.removeprefix(_BOM).partition(b"\n")[0].rstrip(b"\r")
            if content and first_line != _HEADER:
                return [f"this run is not in {path}: {_NOT_OURS}"]
            earlier, remarks = ([], []) if content else _earlier_rows(base, point)
            _append(file, content, _table([*earlier, *_rows(point)]))
            return remarks
    except OSError as error:
        return [f"this run is not in {path}: {error}"]


@contextmanager
def _turn(file: FileIO) -> Iterator[None]:
    """Wait until no other process writes, where files can be locked. Raises TimeoutError."""
    if sys.platform != "win32":
        deadline = time.monotonic() + _BUSY_S
        while not _is_locked_for_us(file):
            if time.monotonic() > deadline:
                raise TimeoutError(f"another process has kept it locked for {_BUSY_S:g} s")
            time.sleep(0.01)
    yield


def _is_locked_for_us(file: FileIO) -> bool:
    """Take the lock until the file is closed; return False if another process has it."""
    with suppress(OSError):  # a file system without locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _table(rows: Iterable[Row]) -> bytes:
    table = csv_lines(_COLUMNS, ([row.get(name) for name in _COLUMNS] for row in rows))
    return "".join(table).encode("utf-8", "backslashreplace")


def _append(file: FileIO, content: bytes, table: bytes) -> None:
    """Write a table at the end of the file, whose ``content`` is given, all or nothing."""
    lines = table.removeprefix(_HEADER + _END) if content else table
    if lines in content:  # another process began the file when this run had its folder already
        return
    if content and not content.endswith(b"\n"):  # an editor left it out, or a process was killed
        lines = _END + lines
    if file.write(lines) != len(lines):
        file.truncate(len(content))
        raise OSError("no room for it")


def _rows(point: RunPoint) -> Iterator[Row]:
    """Yield a row for each metric of a run, then that of its weighted score, without ``mean``."""
    run = {
        "folder": point.folder,
        "run_id": point.run_id,
        **_names(point.scenario),
        "started_at": point.started_at,
        "complete": int(point.complete),
        "commit": point.commit,
        **{name: getattr(point.counts, name) for name in _COUNTS},
        **{name: getattr(point, name) for name in _GATES},
        "overridden": json.dumps(point.overridden),
    }
    for name, metric in point.metrics.items():
        figures = {column: getattr(metric, column) for column in _FIGURES}
        of_metric = {"metric": name, "definition": point.definitions.get(name)}
        yield {**run, **of_metric, **figures, "metric_failed": metric.failed}
    overall = point.weighted_score
    figures = {column: getattr(overall, column) for column in _OVERALL}
    figures |= {"weighted_mean": overall.mean, "metric_failed": overall.failed}
    yield {**run, "metric": WEIGHTED_SCORE, **figures}


def _names(title: str) -> Row:
    scenario, _, variant = title.partition(SEPARATOR)
    return {"scenario": scenario, "variant": variant or None}


def _earlier_rows(base: Path, point: RunPoint) -> tuple[list[Row], list[str]]:
    """Return the rows of all runs but this one, oldest first, and remarks."""
    points = [earlier for earlier in all_runs(base) if earlier.folder != point.folder]
    folders = {point.folder, *(earlier.folder for earlier in points)}
    rows = [row for earlier in points for row in _rows(earlier)]
    database, remarks = base / _DATABASE, []
    if database.is_file():
        try:
            rows += [row for row in _database_rows(database) if row["folder"] not in folders]
            done = f"was carried over into {HISTORY}; it is no longer used, and can be deleted"
        except (ImportError, ValueError) as error:
            done = f"was not carried over into {HISTORY}: {error}"
        remarks = [f"{database}: {done}"]
    return sorted(rows, key=lambda row: str(row["started_at"])), remarks


def _database_rows(path: Path) -> list[Row]:
    """Return what an earlier version kept as SQLite tables. Raises ValueError or ImportError."""
    import sqlite3

    rows: list[Row] = []
    metrics = defaultdict(list)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            for metric in database.execute("SELECT * FROM metrics ORDER BY position"):
                own = {"metric": metric["name"], "metric_failed": metric["failed"]}
                metrics[metric["folder"]].append({**metric, **own})
            for run in database.execute("SELECT * FROM runs"):
                of_run = {**run, **_names(str(run["scenario"])), "commit": run["commit_sha"]}
                rows += [{**metric, **of_run} for metric in metrics[run["folder"]]]
                figures = {column: run[f"weighted_score_{column}"] for column in _OVERALL}
                figures |= {"weighted_mean": run["weighted_score"]}
                figures |= {"metric_failed": run["weighted_score_failed"]}
                rows.append({**of_run, "metric": WEIGHTED_SCORE, **figures})
    except (sqlite3.Error, LookupError) as error:
        raise ValueError(str(error)) from error
    return rows
