"""``--rag-keep``: removes the older runs of a scenario once a new one is written."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pytest_rageval.reports.base import REPORT_REGISTRY
from pytest_rageval.reports.history import trend_of
from pytest_rageval.results.layout import read_head
from pytest_rageval.run_paths import base_of
from pytest_rageval.stats.wording import counted

_RUN_ID = re.compile(r"(\d{8}T\d{6}-\d{6})(?:-\d+)?")
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{16}")
_LISTED: Final = 3


def remove_old_runs(
    written: Path, title: str, keep: int, spared: Iterable[Path] = (), texts: Iterable[str] = ()
) -> Iterator[str]:
    """Remove all runs of a scenario but the newest ``keep``; yield what was done, nothing if none.

    ``written`` is the folder of the newest run, which stays, as do what a link in the folders above
    it leads to, what holds one of the files ``spared``, what one of the ``texts`` of scenarios
    names, and what holds a file that no run writes; the latter is said. Only folders with the name
    of a run that hold its ``results.json``, with the path of this scenario file, are runs, complete
    or not. A folder that cannot be removed is said, and does not end the run.
    """
    base, home = base_of(written, title), written.parent
    link = next((one for one in _places(base, home) if one.is_symlink()), None)
    if link is not None:
        yield f"keep {keep}: nothing removed: {link} is a link"
        return
    gone: list[str] = []
    foreign: list[str] = []
    try:
        old = _old_runs(base, written, title, keep)
        needed = list(spared)
        old = [one for one in _not_named(old, texts) if not _inside(one, needed)]
        linked = {folder: _inside(folder, _linked(base, home)) for folder in old}
        for folder, link in linked.items():
            if link is not None:
                name = link.name if link.is_symlink() else "latest"
                yield f"keep {keep}: {folder.name} stays: {name} leads to it"
                continue
            found = _foreign(folder)
            if found:
                foreign.append(f"{folder.name}/{found}")
                continue
            shutil.rmtree(folder)
            gone.append(folder.name)
    except OSError as error:
        yield f"keep {keep}: not all older runs removed: {error}"
    if gone:
        span = gone[0] if len(gone) == 1 else f"{gone[0]} to {gone[-1]}"
        yield f"keep {keep}: {counted(len(gone), 'older run')} removed: {span}"
    if foreign:
        listed = ", ".join(foreign[:_LISTED]) + ", …" * (len(foreign) > _LISTED)
        yield (
            f"keep {keep}: {counted(len(foreign), 'older run')} not removed, for files that no run "
            f"writes: {listed}"
        )


def _inside(folder: Path, paths: Iterable[Path]) -> Path | None:
    """Return the first of the paths that are in a folder, or lead into it."""
    real = os.path.realpath(folder)
    return next((one for one in paths if Path(os.path.realpath(one)).is_relative_to(real)), None)


def _old_runs(base: Path, written: Path, title: str, keep: int) -> list[Path]:
    """Return the runs that are too many, oldest first; those of this session are none of them."""
    own, path = _RUN_ID.fullmatch(written.name), _scenario_path(written)
    runs = {}
    for point in trend_of(base, title):
        folder = base / point.folder
        found = _RUN_ID.fullmatch(folder.name)
        # Another file may have the same name by now; its runs are its own.
        if found is not None and _is_run(folder) and _scenario_path(folder) == path:
            runs[folder] = found[1]
    session = own[1] if own is not None else ""
    of_session = sum(run_id == session for run_id in runs.values())
    # By their ids: a clock that was set back must not turn this run into an old one.
    others = sorted((run_id, folder) for folder, run_id in runs.items() if run_id != session)
    most = max(keep - of_session, 0)
    return [folder for _, folder in others[: max(len(others) - most, 0)]]


def _is_run(folder: Path) -> bool:
    results = folder / "results.json"
    return results.is_file() and not results.is_symlink()


def _scenario_path(folder: Path) -> str | None:
    """Return which scenario file a run is of, None where its results do not say."""
    try:
        return read_head(folder / "results.json").scenario.path
    except (OSError, ValueError):
        return None


def _foreign(folder: Path) -> str:
    """Return the name of something in a run folder that no run writes, "" if there is nothing."""
    ours = REPORT_REGISTRY.names()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        is_ours = entry.name in ours or _TEMPORARY.fullmatch(entry.name)
        if not (is_ours and entry.is_file(follow_symlinks=False)):
            return entry.name
    return ""


def _not_named(folders: list[Path], texts: Iterable[str]) -> list[Path]:
    """Return the folders whose names, which are unique, are in none of the texts."""
    if folders:
        for text in texts:
            folders = [one for one in folders if one.name not in text]
    return folders


def _places(base: Path, home: Path) -> list[Path]:
    """Return the folder of a scenario's runs, and those above it up to the base of all runs."""
    return [home, *(above for above in home.parents if above.is_relative_to(base))]


def _linked(base: Path, home: Path) -> Iterator[Path]:
    """Yield what is linked to from the folder of a scenario's runs, and from those above it."""
    for entry in [entry for place in _places(base, home) for entry in place.iterdir()]:
        if entry.is_symlink():
            yield entry
        elif entry.name == "latest" and entry.is_file():  # where there are no links
            yield home / entry.read_text("utf-8", "replace").strip()
