"""Writes a run to ``<output>/<scenario>/<run id>/``, and the links to the latest run."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import (
    REPORT_REGISTRY,
    RunFolder,
    remove_leftovers,
    write_atomically,
)
from pytest_rageval.reports.html import PAGE
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.run_paths import run_folder

_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds the runs of pytest-rageval. It can be deleted at any time.\n"
)
_RUN_ID = re.compile(r"\d{8}T\d{6}-")
_CLEANED = 100
# A folder of runs may begin with these: the user's own .gitignore, cached replies, the history.
_FIRST = (".gitignore", ".cache", "history.csv", "history.sqlite")


def write_run(
    result: ScenarioResult, run: RunInfo, root: Path, output: Path, requested: Collection[str] = ()
) -> Path:
    """Write the reports of ``result`` under ``output`` and return the run's folder.

    ``requested`` are the names of the reports that are written on request only. The link ``latest``
    is set when all files are written, and a link to the page if the run has one; later runs without
    a page leave that link. Raises OSError.
    """
    base = _base(result.info.title, output)
    folder = RunFolder(_new_folder(base, run.id), root)
    for report in REPORT_REGISTRY:
        if not report.on_request or report.name in requested:
            report.write(result, run, folder)
    if not _is_folder(base / "latest"):
        _point_latest(base, folder.path.name)
    if (folder.path / PAGE).exists():
        _point_page(base, folder.path.name)
    _clean(output, base)
    return folder.path


def marked_base(output: Path) -> Path:
    """Return the base folder of runs, made and marked as theirs. Raises OSError."""
    _mark(output)
    return output


def new_run_folder(title: str, run_id: str, output: Path) -> Path:
    """Make and return a run folder of the scenario called ``title``. Raises OSError."""
    return _new_folder(_base(title, output), run_id)


def latest_remark(folder: Path) -> list[str]:
    """Return the remark that ``latest`` could not be set to this run, [] if it could."""
    latest = folder.parent / "latest"
    if not _is_folder(latest):
        return []
    return [f"latest NOT set to this run: {latest} is a folder; move it away"]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _clean(output: Path, base: Path) -> None:
    """Remove temporary files of killed runs, also from the newest run folders and baselines."""
    ours = [output, base, base / "baselines"] if _is_ours(output) else []
    runs = sorted((one for one in base.iterdir() if _RUN_ID.match(one.name)), reverse=True)
    for folder in (*ours, *runs[:_CLEANED]):
        remove_leftovers(folder)


def save_baseline(result: ScenarioResult, run: RunInfo, path: Path, output: Path) -> None:
    """Write the run to ``path`` for later comparisons. Raises OSError.

    ``output`` is the base of the run folders, which are kept out of version control.
    """
    if path.is_relative_to(output / run_folder(result.info.title)):
        _base(result.info.title, output)
    elif path.is_relative_to(output):
        _mark(output)
    write_atomically(path, results_chunks(result, run))
    remove_leftovers(path.parent, path.name)


def _base(title: str, output: Path) -> Path:
    """Return the folder of a scenario's runs, marked so that version control ignores it.

    All of ``output`` is marked, or only the scenario's folder if the user has other files in
    ``output``.
    """
    base = output / run_folder(title)
    if not _mark(output):
        _mark(base)
    return base


def _mark(folder: Path) -> bool:
    """Make and mark ``folder``, and return True; do not mark one with other files."""
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_ours(folder):
        return False
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_TAG)):
        if not (folder / name).exists():
            write_atomically(folder / name, [text])
    return True


def _is_ours(folder: Path) -> bool:
    """Return whether a folder was marked before, or holds nothing but files of ``_FIRST``."""
    if all(entry.name.startswith(_FIRST) for entry in folder.iterdir()):
        return True
    try:
        return (folder / "CACHEDIR.TAG").read_text("utf-8") == _CACHE_TAG
    except (OSError, ValueError):
        return False


def _new_folder(base: Path, name: str) -> Path:
    """Make the run's folder; scenarios of the same name in one session get a number."""
    for attempt in range(1, 1000):
        path = base / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base / name} and 999 more exist already")


def _point_latest(base: Path, name: str) -> None:
    """Make ``latest`` a link to the run, or a text file with its id where there are no links."""
    if not _link(base / "latest", base / f".latest-{name}", name, is_folder=True):
        write_atomically(base / "latest", [name + "\n"])


def _point_page(base: Path, name: str) -> None:
    """Make ``report.html`` a link to the run's page, or a copy of it where there are no links."""
    if not _link(base / PAGE, base / f".latest-{PAGE}-{name}", f"{name}/{PAGE}"):
        with (base / name / PAGE).open(encoding="utf-8", newline="") as page:
            write_atomically(base / PAGE, page)


def _link(link: Path, fresh: Path, target: str, *, is_folder: bool = False) -> bool:
    """Make ``link`` lead to ``target``, by way of ``fresh``; return whether that succeeded."""
    try:
        fresh.symlink_to(target, target_is_directory=is_folder)
        fresh.replace(link)
    except OSError:
        fresh.unlink(missing_ok=True)
        return False
    return True
