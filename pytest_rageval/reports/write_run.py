"""Writes runs to ``<output>/<scenario>/<run id>/``, links the latest, and removes old ones."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pytest_rageval import __version__
from pytest_rageval.errors import listed
from pytest_rageval.model import (
    NOTHING,
    Contest,
    GateResult,
    Ranking,
    RunInfo,
    ScenarioResult,
)
from pytest_rageval.reports.base import (
    REPORT_REGISTRY,
    RunFolder,
    remove_leftovers,
    write_atomically,
)
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.html import PAGE
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.run_paths import RUN_ID, base_of, run_folder
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.codec import as_json, to_json

# GitHub, GitLab and Woodpecker; Jenkins, Azure, CircleCI, Buildkite, Bitbucket, Drone.
COMMIT_VARIABLES = (
    *("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION"),
    *("CIRCLE_SHA1", "BUILDKITE_COMMIT", "BITBUCKET_COMMIT", "DRONE_COMMIT_SHA"),
)
_RUN_VARIABLES = ("GITHUB_RUN_ID", "CI_PIPELINE_ID")
_ATTEMPT_VARIABLE = "GITHUB_RUN_ATTEMPT"
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")


def run_info(
    result: ScenarioResult,
    started: datetime,
    finished: datetime,
    *,
    workers: int = 0,
    usage: Mapping[str, float | None] | None = None,
) -> RunInfo:
    """Return the facts of a run that began and ended at these times (UTC)."""
    return RunInfo(
        id=run_id(started),
        started_at=started.isoformat(),
        finished_at=finished.isoformat(),
        version=__version__,
        workers=workers,
        usage=usage,
        latency_s={sample.sample_id: round(sample.latency_s, 6) for sample in result.samples},
        commit=ci_commit(),
        answer_latency_s=_answer_latencies(result),
    )


def run_id(started: datetime) -> str:
    """Return the id of a run that started at ``started`` (UTC): ``20261121T093011-123456``."""
    return started.strftime("%Y%m%dT%H%M%S-%f")


def ci_commit(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the commit that a CI service names in the environment, else None."""
    for variable in COMMIT_VARIABLES:
        commit = environ.get(variable, "")
        if _COMMIT.fullmatch(commit):
            return commit.lower()
    return None


def ci_run(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the run of all jobs that GitHub or GitLab names in the environment, else None."""
    found = (environ.get(variable, "") for variable in _RUN_VARIABLES)
    return next((run for run in found if run), None)


def ci_attempt(environ: Mapping[str, str] = os.environ) -> int:
    """Return which attempt of the run of all jobs this is, where GitHub counts them, else 0."""
    attempt = environ.get(_ATTEMPT_VARIABLE, "")
    return int(attempt) if attempt.isascii() and attempt.isdigit() else 0


def _answer_latencies(result: ScenarioResult) -> dict[str, float] | None:
    """Return how long the target took for each sample, None without a target."""
    if not result.info.target:
        return None
    return {
        sample.sample_id: round(sample.answer_latency_s, 6)
        for sample in result.samples
        if sample.answer_latency_s is not None
    }


RANKING: Final = "variants.json"
SIDE_BY_SIDE: Final = "variants.html"


def ranking_dict(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as ``variants.json`` has it: variants by name, best first."""
    found = as_json(ranking)
    return {"schema": 1, **found, "variants": {one.pop("name"): one for one in found["variants"]}}


def write_variants(  # noqa: PLR0913  (what the two files have)
    folder: Path,
    results: Collection[ScenarioResult],
    ranking: Ranking,
    gate: GateResult | None = None,
    requested: Collection[str] = (),
    contest: Contest | None = None,
    *,
    runs: Mapping[str, str] = NOTHING,
) -> Path | None:
    """Write the files to ``folder``; return the page if ``requested`` asks for pages.

    A whole run without a page takes an older one away, which shows other answers; a run in part
    leaves it. ``contest`` is how they were ranked, if that is not what the scenario says; ``runs``
    are the names of the run folders, by variant. Raises OSError.
    """
    text = to_json({**ranking_dict(ranking), "runs": runs, "gate": gate}, indent=1)
    write_atomically(folder / RANKING, [text, "\n"])
    if PAGE not in requested:
        if ranking.complete:
            (folder / SIDE_BY_SIDE).unlink(missing_ok=True)
        return None
    # Imported here: few runs ask for the page.
    from pytest_rageval.reports.page.pages import variants_page

    page = variants_page(list(results), ranking, gate, contest)
    return write_atomically(folder / SIDE_BY_SIDE, page)


_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds the runs of pytest-rageval. It can be deleted at any time.\n"
)
_CLEANED = 100
# Names in a folder of runs may begin so: the user's own .gitignore, cached replies, the history.
_FIRST = (".gitignore", ".cache", "history.csv", "history.sqlite")


def write_run(
    result: ScenarioResult, run: RunInfo, root: Path, output: Path, requested: Collection[str] = ()
) -> Path:
    """Write the reports of ``result`` under ``output`` and return the run's folder.

    ``requested`` are the names of the reports that are written on request only. The link ``latest``
    is set when all files are written, and a link to the page if the run has one; later runs without
    a page leave that link. Raises OSError.
    """
    base = _made_base(result.info.title, output)
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
    """Return ``output``, made, and marked unless it holds other files. Raises OSError."""
    _mark(output)
    return output


def new_run_folder(title: str, run_id: str, output: Path) -> Path:
    """Make and return a run folder of the scenario called ``title``. Raises OSError."""
    return _new_folder(_made_base(title, output), run_id)


def latest_run(folder: Path) -> Path:
    """Return the run of ``folder`` that ``latest`` names: a link, or a text where there are none.

    Where ``latest`` is missing, or of something else, the path is not that of a run.
    """
    latest = folder / "latest"
    if latest.is_file():
        latest = folder / latest.read_text("utf-8", "replace").strip()
    return latest.resolve()


def latest_remark(folder: Path) -> list[str]:
    """Return the remark that ``latest`` could not be set to this run, [] if it could."""
    latest = folder.parent / "latest"
    if not _is_folder(latest):
        return []
    return [f"latest NOT set to this run: {latest} is a folder; move it away"]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _clean(output: Path, base: Path) -> None:
    """Remove what killed runs left in the newest run folders and, if ``output`` is ours, above."""
    ours = [output, base, base / "baselines"] if _is_ours(output) else []
    runs = sorted((folder for folder in base.iterdir() if RUN_ID.match(folder.name)), reverse=True)
    for folder in (*ours, *runs[:_CLEANED]):
        remove_leftovers(folder)


def save_baseline(result: ScenarioResult, run: RunInfo, path: Path, output: Path) -> None:
    """Write the run to ``path`` for later comparisons. Raises OSError.

    ``output`` is the base of the run folders, which are kept out of version control.
    """
    # Whichever folder is ours is ignored by version control before the baseline is in it.
    if path.is_relative_to(output / run_folder(result.info.title)):
        _made_base(result.info.title, output)
    elif path.is_relative_to(output):
        _mark(output)
    write_atomically(path, results_chunks(result, run))
    remove_leftovers(path.parent, path.name)


def _made_base(title: str, output: Path) -> Path:
    """Make and return the folder of a scenario's runs, marked so that version control ignores it.

    All of ``output`` is marked, or only the scenario's folder if the user has other files in
    ``output``.
    """
    base = output / run_folder(title)
    if not _mark(output):
        _mark(base)
    return base


def _mark(folder: Path) -> bool:
    """Make ``folder``, mark it unless it has other files, and return whether it is marked."""
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
    raise FileExistsError(f"{base / name} and 998 more exist already")


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


_WHOLE_RUN_ID = re.compile(r"(\d{8}T\d{6}-\d{6})(?:-\d+)?")
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{16}")
_LISTED_RUNS: Final = 3


def remove_old_runs(
    written: Path, title: str, keep: int, spared: Iterable[Path] = (), texts: Iterable[str] = ()
) -> Iterator[str]:
    """Remove all runs of a scenario but the newest ``keep``; yield what was done, nothing if none.

    ``written`` is the folder of the newest run, which stays. So does a run that a link in the
    folders above it leads to, that holds one of the files ``spared``, or that one of the ``texts``
    of scenarios names; and one with a file that no run writes, which is reported. Only folders with
    the name of a run that hold its ``results.json``, with the path of this scenario file, are runs,
    complete or not. The first failure ends the removal and is reported; pytest goes on.
    """
    base, home = base_of(written, title), written.parent
    link = next((place for place in _places(base, home) if place.is_symlink()), None)
    if link is not None:
        yield f"keep {keep}: nothing removed: {link} is a link"
        return
    gone: list[str] = []
    foreign: list[str] = []
    try:
        old = _old_runs(base, written, title, keep)
        needed = list(spared)
        old = [folder for folder in _not_named(old, texts) if not _inside(folder, needed)]
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
        yield (
            f"keep {keep}: {counted(len(foreign), 'older run')} not removed, for files that no run "
            f"writes: {listed(foreign, _LISTED_RUNS)}"
        )


def _inside(folder: Path, paths: Iterable[Path]) -> Path | None:
    """Return the first of the paths that are in a folder, or lead into it."""
    real = os.path.realpath(folder)
    return next((path for path in paths if Path(os.path.realpath(path)).is_relative_to(real)), None)


def _old_runs(base: Path, written: Path, title: str, keep: int) -> list[Path]:
    """Return the runs that are too many, oldest first, none of this session."""
    own = _WHOLE_RUN_ID.fullmatch(written.name)
    paths = {base / point.folder: point.path for point in trend_of(base, title)}
    runs = {}
    for folder, path in paths.items():
        found = _WHOLE_RUN_ID.fullmatch(folder.name)
        # Another file may have the same name by now; its runs are its own.
        if found is not None and _is_run(folder) and path == paths.get(written):
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
            folders = [folder for folder in folders if folder.name not in text]
    return folders


def _places(base: Path, home: Path) -> list[Path]:
    """Return the folder of a scenario's runs, and those above it up to the base of all runs."""
    return [home, *(above for above in home.parents if above.is_relative_to(base))]


def _linked(base: Path, home: Path) -> Iterator[Path]:
    """Yield each link in a scenario's folder of runs and those above it.

    For a text file ``latest``, the run that it names.
    """
    for entry in [entry for place in _places(base, home) for entry in place.iterdir()]:
        if entry.is_symlink():
            yield entry
        elif entry.name == "latest" and entry.is_file():  # where there are no links
            yield home / entry.read_text("utf-8", "replace").strip()
