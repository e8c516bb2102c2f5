"""Where runs are kept: ``<output>/<scenario>/<run id>/`` and ``latest`` beside the runs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.places import folder_name
from pytest_rageval.reports.base import REPORT_REGISTRY, RunFolder, write_atomically
from pytest_rageval.reports.results_json import results_chunks

_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds the runs of pytest-rageval. It can be deleted at any time.\n"
)


def run_id(started: datetime) -> str:
    """Return the id of a run that started at ``started`` (UTC): ``20261121T093011-123456``."""
    return started.strftime("%Y%m%dT%H%M%S-%f")


def write_run(
    result: ScenarioResult, run: RunInfo, root: Path, output: Path, requested: Collection[str] = ()
) -> Path:
    """Write the reports of ``result`` under ``output`` and return the run's folder.

    ``requested`` are the names of the reports that are written on request only. ``latest`` is
    turned to the folder when all files are there. Raises OSError.
    """
    _prepare(output)
    base = output / folder_name(result.info.name)
    folder = RunFolder(_new_folder(base, run.id), root)
    for report in REPORT_REGISTRY:
        if not report.on_request or report.name in requested:
            report.write(result, run, folder)
    _point_latest(base, folder.path.name)
    return folder.path


def save_baseline(result: ScenarioResult, run: RunInfo, path: Path, output: Path) -> None:
    """Write the run to ``path``, to be compared with later. Raises OSError.

    ``output`` is the base of the run folders, which is kept out of version control.
    """
    if path.is_relative_to(output):
        _prepare(output)
    write_atomically(path, results_chunks(result, run))


def _prepare(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_TAG)):
        if not (output / name).exists():
            write_atomically(output / name, [text])


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
