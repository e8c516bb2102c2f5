"""``--rag-keep``: removes the older runs of a scenario once a new one is written."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_rageval.reports.history import HistoryError, forget, trend_of
from pytest_rageval.results.run_point import read_point
from pytest_rageval.run_paths import base_of
from pytest_rageval.stats.wording import counted

_RUN_ID = re.compile(r"(\d{8}T\d{6}-\d{6})(?:-\d+)?")
_SHARD = "shard.jsonl"


def remove_old_runs(
    written: Path, title: str, keep: int, spared: Iterable[Path] = ()
) -> Iterator[str]:
    """Remove all runs of a scenario but the newest ``keep``; yield what was done, nothing if none.

    ``written`` is the folder of the newest run, which stays, as does what a link in the folders
    above it leads to, what holds one of the files ``spared``, and a shard that may have to be
    merged. Only folders with the name of a run that hold its ``results.json`` are runs, complete or
    not. A folder that cannot be removed is said, and does not end the run.
    """
    base, home = base_of(written, title), written.parent
    if home.is_symlink():
        yield f"keep {keep}: nothing removed: {home} is a link"
        return
    gone: list[str] = []
    try:
        needed = [os.path.realpath(path) for path in (*_linked(base, home), *spared)]
        for folder in _old_runs(base, written, title, keep):
            if not any(Path(path).is_relative_to(os.path.realpath(folder)) for path in needed):
                shutil.rmtree(folder)
                gone.append(folder.name)
    except OSError as error:
        yield f"keep {keep}: not all older runs removed: {error}"
    if gone:
        span = gone[0] if len(gone) == 1 else f"{gone[0]} to {gone[-1]}"
        yield f"keep {keep}: {counted(len(gone), 'older run')} removed: {span}"
        yield from _forgotten(base, home, gone)


def _old_runs(base: Path, written: Path, title: str, keep: int) -> list[Path]:
    """Return the runs that are too many, oldest first; those of this session are none of them."""
    own = _RUN_ID.fullmatch(written.name)
    runs = {}
    for point in trend_of(base, title):
        folder = base / point.folder
        found = _RUN_ID.fullmatch(folder.name)
        if found is not None and _is_run(folder):
            runs[folder] = found[1]
    session = own[1] if own is not None else ""
    of_session = sum(run_id == session for run_id in runs.values())
    # By their ids: a clock that was set back must not turn this run into an old one.
    others = sorted((run_id, folder) for folder, run_id in runs.items() if run_id != session)
    most = max(keep - of_session, 0)
    # Read again: the history may know a run whose file is another's by now.
    return [
        folder
        for _, folder in others[: max(len(others) - most, 0)]
        if read_point(base, folder.relative_to(base).as_posix()) is not None
    ]


def _is_run(folder: Path) -> bool:
    results = folder / "results.json"
    is_shard = (folder / _SHARD).exists()
    return results.is_file() and not results.is_symlink() and not is_shard


def _linked(base: Path, home: Path) -> Iterator[Path]:
    """Yield what is linked to from the folder of a scenario's runs, and from those above it."""
    places = [home, *(above for above in home.parents if above.is_relative_to(base))]
    for entry in [entry for place in places for entry in place.iterdir()]:
        if entry.is_symlink():
            yield entry
        elif entry.name == "latest" and entry.is_file():  # where there are no links
            yield home / entry.read_text("utf-8", "replace").strip()


def _forgotten(base: Path, home: Path, names: Iterable[str]) -> Iterator[str]:
    try:
        forget(base, [(home / name).relative_to(base).as_posix() for name in names])
    except HistoryError as error:
        yield f"{error}"
