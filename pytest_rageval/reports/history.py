"""The runs of a scenario over time: ``history.sqlite`` in the base folder of the runs.

The file is only an index of the run folders and can be deleted: the next run, or
``pytest --rag-history``, makes it again; the latter also where it is damaged. A file that is not a
history of this or an earlier version is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_rageval.errors import RagevalError
from pytest_rageval.model import Counts, MetricSummary, WeightedSummary
from pytest_rageval.results.run_point import RunPoint, read_point
from pytest_rageval.run_paths import run_folder

if TYPE_CHECKING:
    # Not at run time: the import takes milliseconds, and some Pythons lack the module.
    import sqlite3

DATABASE = "history.sqlite"
"""The name of the file in the base folder of the runs."""

BUSY_S = 5.0
"""How long a process waits for another one that is writing, in seconds."""

# "rage" in ASCII marks the database as ours.
_APPLICATION = 0x72616765
_VERSION = 3
_TABLES = {
    "runs": """CREATE TABLE runs (
        folder TEXT PRIMARY KEY, run_id TEXT NOT NULL, scenario TEXT NOT NULL,
        started_at TEXT NOT NULL, complete INTEGER NOT NULL,
        samples INTEGER, ran INTEGER, scored INTEGER, passed INTEGER, failed INTEGER,
        error INTEGER, skipped INTEGER, xfailed INTEGER, invalid INTEGER, in_figures INTEGER,
        weighted_score REAL, weighted_score_n INTEGER, weighted_score_unscored INTEGER,
        weighted_score_ci_low REAL, weighted_score_ci_high REAL, weighted_score_failed INTEGER,
        gates_passed INTEGER, gates_failed INTEGER, gates_skipped INTEGER,
        overridden TEXT, commit_sha TEXT, definitions TEXT)""",
    "metrics": """CREATE TABLE metrics (
        folder TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL,
        mean REAL, weighted_mean REAL, weight REAL, n INTEGER, unscored INTEGER, std REAL,
        ci_low REAL, ci_high REAL, failed INTEGER, PRIMARY KEY (folder, name))""",
}
# Where the parts of a row of ``runs`` end.
_COUNTS_END = 5 + 10
_SCORE_END = _COUNTS_END + 6


class HistoryError(RagevalError):
    """The history cannot be used; the message names the file and says what to do."""


class DamagedHistoryError(HistoryError):
    """The file is damaged, but its header is that of a history of this version."""


def trend_of(
    base: Path, scenario: str, *, before: str | None = None, limit: int | None = None
) -> Sequence[RunPoint]:
    """Return the runs of ``scenario`` below ``base``, the folder of all runs, oldest first.

    ``before`` is a run id: that run and later ones are left out. ``limit`` keeps the newest ones.
    Partial runs are included, see ``RunPoint.complete``. Nothing is written. If the history cannot
    be used, the runs are read from their folders.
    """
    folders = _folders(base, run_folder(scenario))
    try:
        known = _known(base, scenario)
    except HistoryError:
        known = {}
    points = _ordered(_points(base, folders, known))
    found = [
        point
        for point in points
        if _clean(point.scenario) == _clean(scenario) and (before is None or point.run_id < before)
    ]
    return found if limit is None else found[max(0, len(found) - limit) :]


def all_runs(base: Path, *, timeout_s: float = BUSY_S) -> tuple[Sequence[RunPoint], Sequence[str]]:
    """Return every run below ``base``, oldest first, and remarks on what went wrong.

    The file is updated: new folders are added, deleted ones removed. A damaged history is made
    again.
    """
    points, problem = _up_to_date(base, timeout_s)
    if isinstance(problem, DamagedHistoryError) and _is_removed(base / DATABASE):
        points, problem = _up_to_date(base, timeout_s)
        if problem is None:
            remark = "was damaged, and was made anew from the run folders"
            return points, [f"{base / DATABASE}: {remark}"]
    return points, [] if problem is None else [str(problem)]


def _up_to_date(base: Path, timeout_s: float) -> tuple[Sequence[RunPoint], HistoryError | None]:
    """Return every run, and the error if the file could not be updated."""
    folders = [folder for kept in _places(base) for folder in _folders(base, kept)]
    try:
        known = _known(base, timeout_s=timeout_s)
    except HistoryError as error:
        return _ordered(_points(base, folders, {})), error
    points = _ordered(_points(base, folders, known))
    fresh = [point for point in points if _clean(point.folder) not in known]
    gone = sorted(known.keys() - {_clean(point.folder) for point in points})
    try:
        if fresh or gone:
            with _writing(base, timeout_s) as database:
                _forget(database, gone)
                _insert(database, fresh)
    except HistoryError as error:
        return points, error
    return points, None


def record(base: Path, point: RunPoint, *, timeout_s: float = BUSY_S) -> None:
    """Add a run to the history below ``base``; a new history gets all runs. Raises HistoryError."""
    is_new = not (base / DATABASE).exists()
    with _writing(base, timeout_s) as database:
        _insert(database, [point])
    if is_new:
        _, remarks = all_runs(base, timeout_s=timeout_s)
        if remarks:
            raise HistoryError(remarks[0])


def forget(base: Path, folders: Iterable[str], *, timeout_s: float = BUSY_S) -> None:
    """Take removed runs out of the history; ``folders`` are relative to ``base``.

    Raises HistoryError; the next ``--rag-history`` does it then.
    """
    if (base / DATABASE).exists():
        with _writing(base, timeout_s) as database:
            _forget(database, map(_clean, folders))


# Folders


def _subfolders(base: Path) -> list[Path]:
    """Return the folders in ``base`` that may hold runs: no links (``latest``), no hidden ones."""
    try:
        entries = sorted(base.iterdir())
    except OSError:
        return []
    return [
        entry
        for entry in entries
        if not entry.name.startswith(".") and not entry.is_symlink() and entry.is_dir()
    ]


def _places(base: Path) -> Iterator[Path]:
    """Yield, relative to ``base``, the folders of scenarios and of their variants."""
    for scenario in _subfolders(base):
        yield Path(scenario.name)
        for variant in _subfolders(scenario):
            if not _is_run(variant):
                yield Path(scenario.name, variant.name)


def _folders(base: Path, kept: Path) -> list[str]:
    """Return the run folders of a scenario or a variant, as the history names them."""
    return [(kept / run.name).as_posix() for run in _subfolders(base / kept) if _is_run(run)]


def _is_run(folder: Path) -> bool:
    return (folder / "results.json").is_file()


def _points(
    base: Path, folders: Iterable[str], known: Mapping[str, RunPoint]
) -> Iterator[RunPoint]:
    for folder in folders:
        # The name of a folder may hold what UTF-8 cannot; the file has escapes.
        point = known.get(_clean(folder)) or read_point(base, folder)
        if point is not None:
            yield point


def _ordered(points: Iterable[RunPoint]) -> list[RunPoint]:
    return sorted(points, key=lambda point: (point.started_at, point.folder))


# The database


@contextmanager
def _writing(base: Path, timeout_s: float) -> Iterator[sqlite3.Connection]:
    """Open the history for a transaction; create it if there is none."""
    path = base / DATABASE
    with _in_words(path), closing(_connect(path, timeout_s)) as database:
        # Immediate: of two processes that create the file, one waits for the other.
        database.execute("BEGIN IMMEDIATE")
        try:
            if not _is_ours(database, path):
                _create(database)
            yield database
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")


def _known(
    base: Path, scenario: str | None = None, *, timeout_s: float = BUSY_S
) -> dict[str, RunPoint]:
    """Return the points in the history by folder, of one scenario or all; {} without a history."""
    path = base / DATABASE
    if not path.exists():
        return {}
    with _in_words(path), closing(_connect(path, timeout_s)) as database:
        database.execute("BEGIN")
        if not _is_ours(database, path):
            return {}
        where = "" if scenario is None else "WHERE scenario = ?"
        values = () if scenario is None else (_clean(scenario),)
        rows = database.execute(f"SELECT * FROM runs {where}", values).fetchall()  # noqa: S608
        figures = database.execute(
            f"SELECT * FROM metrics WHERE folder IN (SELECT folder FROM runs {where}) "  # noqa: S608
            "ORDER BY position",
            values,
        ).fetchall()
    try:
        return _from_rows(rows, figures)
    except (ValueError, TypeError) as error:
        raise _damage(path, error) from error


def _connect(path: Path, timeout_s: float) -> sqlite3.Connection:
    import sqlite3

    return sqlite3.connect(path, timeout=timeout_s, isolation_level=None)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a HistoryError that says what to do."""
    try:
        import sqlite3
    except ImportError as error:
        raise HistoryError(f"{path}: not kept: this Python has no sqlite3") from error
    try:
        yield
    except sqlite3.Error as error:
        raise _history_error(path, error) from error
    except UnicodeDecodeError as error:  # of a text, or of a message about one
        raise _damage(path, error) from error


def _history_error(path: Path, error: sqlite3.Error) -> HistoryError:
    import sqlite3

    # The last byte of an extended code is the primary one.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        reason = "another process keeps it locked. 'pytest --rag-history' adds what is missing"
        return HistoryError(f"{path}: {reason}")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damage(path, error)
    return HistoryError(f"{path}: cannot be used: {error}")


def _damage(path: Path, error: Exception) -> HistoryError:
    anew = "'pytest --rag-history' makes it anew from the run folders"
    if _says_it_is_ours(path):
        return DamagedHistoryError(f"{path}: is damaged ({error}). {anew}")
    return HistoryError(
        f"{path}: is damaged, or no history ({error}). Move it away, or delete it: {anew}"
    )


def _says_it_is_ours(path: Path) -> bool:
    """Return whether the header is that of a history of this version.

    Its fields are big-endian: https://www.sqlite.org/fileformat.html#the_database_header
    """
    try:
        with path.open("rb") as stream:
            header = stream.read(100)
    except OSError:
        return False
    version, application = header[60:64], header[68:72]
    return (
        header.startswith(b"SQLite format 3\0")
        and int.from_bytes(version, "big") == _VERSION
        and int.from_bytes(application, "big") == _APPLICATION
    )


def _is_removed(path: Path) -> bool:
    """Remove the file; return whether that succeeded."""
    try:
        path.unlink(missing_ok=True)
        # SQLite would apply an old journal to the new file.
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _is_ours(database: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file is a history of this version; raises HistoryError if it is not ours.

    False when it is empty or of an earlier version: both are made again.
    """
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application == _APPLICATION and version == _VERSION:
        return True
    if application == _APPLICATION and version < _VERSION:
        return False
    if application == _APPLICATION:
        raise HistoryError(
            f"{path}: was written by another version (schema {version}; this one has {_VERSION}). "
            "Update pytest-rageval, or delete the file: 'pytest --rag-history' makes it anew"
        )
    if application or version or database.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise HistoryError(
            f"{path}: is a database, but not a history of pytest-rageval. Move it away, or choose "
            "another folder with --rag-output"
        )
    return False


def _create(database: sqlite3.Connection) -> None:
    for name, table in _TABLES.items():
        database.execute(f"DROP TABLE IF EXISTS {name}")
        database.execute(table)
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _forget(database: sqlite3.Connection, folders: Iterable[str]) -> None:
    for folder in folders:
        database.execute("DELETE FROM metrics WHERE folder = ?", (folder,))
        database.execute("DELETE FROM runs WHERE folder = ?", (folder,))


def _insert(database: sqlite3.Connection, points: Sequence[RunPoint]) -> None:
    _forget(database, [_clean(point.folder) for point in points])
    for point in points:
        row = _row(point)
        database.execute(f"INSERT INTO runs VALUES ({_marks(row)})", row)  # noqa: S608
        for position, (name, metric) in enumerate(point.metrics.items()):
            values = (row[0], _clean(name), position, *astuple(metric))
            database.execute(f"INSERT INTO metrics VALUES ({_marks(values)})", values)  # noqa: S608


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _row(point: RunPoint) -> tuple[Any, ...]:
    return (
        _clean(point.folder),
        point.run_id,
        _clean(point.scenario),
        point.started_at,
        int(point.complete),
        *astuple(point.counts),
        *astuple(point.weighted_score),
        point.gates_passed,
        point.gates_failed,
        point.gates_skipped,
        json.dumps(point.overridden),
        point.commit,
        json.dumps(dict(point.definitions)),
    )


def _from_rows(
    rows: Sequence[Sequence[Any]], figures: Iterable[Sequence[Any]]
) -> dict[str, RunPoint]:
    metrics: dict[str, dict[str, MetricSummary]] = {row[0]: {} for row in rows}
    for folder, name, _, *numbers in figures:
        metrics[folder][name] = MetricSummary(*numbers)
    return {row[0]: _from_row(row, metrics[row[0]]) for row in rows}


def _from_row(row: Sequence[Any], metrics: Mapping[str, MetricSummary]) -> RunPoint:
    folder, run_id, scenario, started_at, complete = row[:5]
    passed, failed, skipped, overridden, commit, definitions = row[_SCORE_END:]
    return RunPoint(
        folder=folder,
        run_id=run_id,
        scenario=scenario,
        started_at=started_at,
        complete=bool(complete),
        counts=Counts(*row[5:_COUNTS_END]),
        weighted_score=WeightedSummary(*row[_COUNTS_END:_SCORE_END]),
        metrics=metrics,
        gates_passed=passed,
        gates_failed=failed,
        gates_skipped=skipped,
        overridden=tuple(json.loads(overridden)),
        commit=commit,
        definitions=dict(json.loads(definitions)),
    )


def _clean(text: str) -> str:
    """Return ``text`` as SQLite can hold it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
