"""Where runs are kept: ``<output>/<scenario>/<run id>/`` and ``latest`` beside the runs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.places import folder_name
from pytest_rageval.reports.base import REPORT_REGISTRY, RunFolder, write_atomically
from pytest_rageval.reports.results_json import results_chunks

_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds the runs of pytest-rageval. It can be deleted at any time.\n"
)
# A .gitignore is the user's who wants runs in version control; replies are kept while tests run.
_FIRST = (".gitignore", ".cache", "history.sqlite")


def write_run(
    result: ScenarioResult, run: RunInfo, root: Path, output: Path, requested: Collection[str] = ()
) -> Path:
    """Write the reports of ``result`` under ``output`` and return the run's folder.

    ``requested`` are the names of the reports that are written on request only. ``latest`` is
    turned to the folder when all files are there. Raises OSError.
    """
    base = _base(result, output)
    folder = RunFolder(_new_folder(base, run.id), root)
    for report in REPORT_REGISTRY:
        if not report.on_request or report.name in requested:
            report.write(result, run, folder)
    _point_latest(base, folder.path.name)
    return folder.path


def save_baseline(result: ScenarioResult, run: RunInfo, path: Path, output: Path) -> None:
    """Write the run to ``path``, to be compared with later. Raises OSError.

    ``output`` is the base of the run folders, which are kept out of version control.
    """
    if path.is_relative_to(output / folder_name(result.info.name)):
        _base(result, output)
    elif path.is_relative_to(output):
        _mark(output)
    write_atomically(path, results_chunks(result, run))


def _base(result: ScenarioResult, output: Path) -> Path:
    """Return the folder of a scenario's runs, which version control and backups pass by.

    What is marked for that is all of ``output``; but where the user keeps other files in there,
    the scenario's folder alone.
    """
    base = output / folder_name(result.info.name)
    if not _mark(output):
        _mark(base)
    return base


def _mark(folder: Path) -> bool:
    """Make ``folder`` and mark it, and return True; leave one with others' files alone."""
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_ours(folder):
        return False
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_TAG)):
        if not (folder / name).exists():
            write_atomically(folder / name, [text])
    return True


def _is_ours(folder: Path) -> bool:
    """Return whether a folder was marked before, or holds nothing but what may come first."""
    if all(entry.name.startswith(_FIRST) for entry in folder.iterdir()):
        return True
    try:
        return (folder / "CACHEDIR.TAG").read_text("utf-8") == _CACHE_TAG
    except (OSError, ValueError):
        return False


def _new_folder(base: Path, name: str) -> Path:
    """Make the run's folder; scenarios of the same name in one session get a number each."""
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
    latest, fresh = base / "latest", base / f".latest-{name}"
    try:
        fresh.symlink_to(name, target_is_directory=True)
        fresh.replace(latest)
    except OSError:
        fresh.unlink(missing_ok=True)
        write_atomically(latest, [name + "\n"])
