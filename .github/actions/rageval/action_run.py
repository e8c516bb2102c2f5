"""Runs pytest on the scenarios, and tells the action's later steps what came of it."""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from action_report import Run, contests, read_run, report_text, run_folders

BASE = Path(".rageval")
# Beside the cached replies: the plugin does not take folders of these names for a user's files.
BASELINES = BASE / ".cache-baselines"
COPIES = BASE / ".cache-copies"
_GATES = "write gates or thresholds into the scenario, such as gates: {weighted_score: 0.5}"


def main() -> int:
    """Return 0 only if pytest passed, all was judged, and what was to be compared was compared."""
    environ = os.environ
    before, saved = run_folders(BASE), saved_runs(environ)
    command = pytest_command(environ)
    provide_baselines(environ)
    sys.stdout.write(f"{shlex.join(command)}\n")
    sys.stdout.flush()
    status = subprocess.run(command, check=False).returncode  # noqa: S603 (the workflow's words)
    keep_baselines(environ)
    new = sorted(run_folders(BASE) - before)
    runs = [read_run(folder, environ["ACTION_BASELINE"]) for folder in new]
    # A scenario may have had another name, and saved runs may be lost: where one is left over, or
    # a pull request has none, gates stay undecided.
    is_default, remarks = is_default_branch(environ), list[str]()
    may_wait = not _gone(runs, saved) and (is_default or saved)
    waiting = _waiting(runs, saved) if status == 0 and may_wait else []
    lacks = _not_judged(runs, waiting) if status == 0 else []
    lost = without_a_run(environ, runs) if runs and status in (0, 1) else []
    lacks += [f"{one}: NOT JUDGED, it left no results; the log says why" for one in lost]
    idle = [f"{run.title}: {run.verdict}; {_GATES}" for run in runs if run.is_idle]
    if not is_default:
        lacks += _undecided(environ, runs, saved)
        remarks = _not_compared(environ, runs, saved)
    elif any(run.is_first for run in runs):
        remarks = _left_over(environ["ACTION_BASELINE"], runs, saved)
    later = f"there is no saved run '{environ['ACTION_BASELINE']}' for its gates yet"
    remarks += [f"{run.title}: {run.verdict}; {later}" for run in waiting]
    verdict = _verdict(status, runs, lacks, [*idle, *waiting])
    # What the default branch only saves, 'compare-fail' judges in pull requests.
    (remarks if is_default and _lines(environ["ACTION_COMPARE_FAIL"]) else lacks).extend(idle)
    for level, notes in (("error", lacks), ("warning", remarks)):
        sys.stdout.writelines(f"::{level}::{_escaped(note)}\n" for note in notes)
    final = status or int(bool(lacks))
    notes = [*lacks, *contests(runs), *remarks]
    if lacks or not runs:  # the plugin's own summary does not say it
        _append(environ["GITHUB_STEP_SUMMARY"], report_text([], verdict, status, notes))
    report = report_text(runs, verdict, status, notes)
    _put_outputs(environ, runs, report, {"exit-status": str(status), "verdict": verdict})
    # A status below 0 is a signal's: as an exit status it would wrap around.
    return final if 0 <= final <= 255 else 1


def pytest_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command: strict, so that a run in part is red."""
    scenarios = _lines(environ["ACTION_SCENARIOS"])
    if not scenarios:
        sys.exit("the action's input 'scenarios' is empty: name a scenario file or a pattern")
    # -P: modules are found as with the command pytest.
    command = [sys.executable, "-P", "-m", "pytest", "--rag-strict", f"--rag-output={BASE}"]
    command += [f"--rag-scenario={one}" for one in scenarios]
    command += ["--rag-report=html,badge", *_baseline_args(environ)]
    return [*command, *shlex.split(environ["ACTION_PYTEST_ARGS"])]


def _baseline_args(environ: Mapping[str, str]) -> list[str]:
    name = environ["ACTION_BASELINE"]
    falls = [f"--rag-compare-fail={fall}" for fall in _lines(environ["ACTION_COMPARE_FAIL"])]
    if not name:
        if falls:
            sys.exit("the action's input 'compare-fail' needs 'baseline': write baseline: main")
        if environ["ACTION_PINNED"]:
            sys.exit("the action's input 'pinned' needs 'baseline': write baseline: main")
        return []
    if not re.fullmatch(r"[\w-]+", name):
        sys.exit(f"the action's input 'baseline' is {name!r}: name it with letters and digits")
    _check_pinned(environ["ACTION_PINNED"])
    # Saved in a pull request, too: then a scenario that is new is not compared, instead of refused.
    args = ["-o", f"rageval_baselines={_baselines(environ).absolute()}", f"--rag-save={name}"]
    return args if is_default_branch(environ) else [*args, f"--rag-compare={name}", *falls]


def is_default_branch(environ: Mapping[str, str]) -> bool:
    """Return whether this run is of the default branch, and no pull request had a hand in it."""
    event = environ["GITHUB_EVENT_NAME"]
    if event == "schedule":  # runs on the default branch only, and its event names none
        return True
    payload = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    default = payload.get("repository", {}).get("default_branch")
    is_own = event in ("push", "workflow_dispatch")
    return is_own and environ["GITHUB_REF"] == f"refs/heads/{default}"


def _check_pinned(folder: str) -> None:
    """End the step if 'pinned' names no folder with saved runs."""
    if folder and not any(Path(folder).glob("*/**/*.json")):
        sys.exit(
            f"the action's input 'pinned' is {folder!r}, and {folder}/<scenario>/<name>.json is no "
            "file: name the folder of the saved runs that you commit. Which of them a scenario is "
            "compared with, it says itself: compare: [{baseline: release-1.4, looks: 50}]"
        )


def _baselines(environ: Mapping[str, str]) -> Path:
    """Return the folder of the saved runs, all of them copies."""
    return COPIES / environ["ACTION_NAME"]


def provide_baselines(environ: Mapping[str, str]) -> None:
    """Copy the saved runs of the default branch, and the pinned ones, which win over them."""
    used, kept, name = _baselines(environ), _kept(environ), environ["ACTION_BASELINE"]
    shutil.rmtree(used, ignore_errors=True)
    if kept.is_dir():
        shutil.copytree(kept, used)
    if environ["ACTION_PINNED"]:
        moving = shutil.ignore_patterns(f"{name}.json")
        shutil.copytree(environ["ACTION_PINNED"], used, ignore=moving, dirs_exist_ok=True)


def keep_baselines(environ: Mapping[str, str]) -> None:
    """Keep what the default branch saved; what any other run saved is nobody's baseline."""
    used, kept, name = _baselines(environ), _kept(environ), environ["ACTION_BASELINE"]
    for file in used.rglob(f"{name}.json") if name and is_default_branch(environ) else ():
        place = kept / file.relative_to(used)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, place)


def _kept(environ: Mapping[str, str]) -> Path:
    """Return the folder of the runs that the default branch saved, as the cache has them."""
    return BASELINES / environ["ACTION_NAME"]


def saved_runs(environ: Mapping[str, str]) -> set[Path]:
    """Return the scenarios (as folders below the base) that the default branch has saved."""
    kept, name = _kept(environ), environ["ACTION_BASELINE"]
    return {file.parent.relative_to(kept) for file in kept.rglob(f"{name}.json")}


def without_a_run(environ: Mapping[str, str], runs: Sequence[Run]) -> list[str]:
    """Return the scenario files of the input that left no run, relative to the working directory.

    pytest names the files of runs relative to its rootdir, which is a folder above the scenarios
    or the working directory: the one under which most of them are found.
    """
    here = Path.cwd()
    words = [line.partition("::")[0] for line in _lines(environ["ACTION_SCENARIOS"])]
    # Not Path.glob: as the plugin does it, hidden folders are left out.
    names = [[one] if Path(one).exists() else glob.glob(one, recursive=True) for one in words]  # noqa: PTH207
    named = {os.path.normpath(here / one): one for found in names for one in found}
    files = [here / "file", *map(Path, named)]
    roots = dict.fromkeys(folder for file in files for folder in file.parents)
    ran = [{os.path.normpath(root / run.path) for run in runs} for root in roots]
    lacking = min((named.keys() - found for found in ran), key=len)
    return sorted(named[path] for path in lacking if Path(path).is_file())


def _waiting(runs: Sequence[Run], saved: set[Path]) -> list[Run]:
    """Return the runs that are undecided because the default branch has not saved one yet."""
    return [run for run in runs if run.is_first and _place(run) not in saved]


def _not_judged(runs: Sequence[Run], waiting: Sequence[Run]) -> list[str]:
    """Return why a run is red that pytest called green."""
    if not runs:
        said = (
            f"pytest passed, and wrote no results below {BASE}: is pytest-rageval installed, and "
            "does no other option name another folder?"
        )
        return [said]
    return [f"{run.title}: {run.verdict}" for run in runs if run.is_unclear and run not in waiting]


def _verdict(status: int, runs: Sequence[Run], lacks: Sequence[str], unjudged: object) -> str:
    if status == 0 and not lacks:
        return "not judged" if unjudged else "passed"
    return "failed" if status == 1 and runs else "error"


def _undecided(environ: Mapping[str, str], runs: Sequence[Run], saved: set[Path]) -> list[str]:
    """Return why falls could not be judged: without any saved run, or with one that is refused."""
    if not _lines(environ["ACTION_COMPARE_FAIL"]):
        return []
    if not saved:
        said = (
            f"'compare-fail' could not be decided: there is no saved run "
            f"'{environ['ACTION_BASELINE']}'. Run this workflow on the default branch once (by a "
            "push, or by hand with workflow_dispatch); only a green run is saved"
        )
        return [said]
    refused = [run.title for run in runs if not run.is_compared and _place(run) in saved]
    said = f"'compare-fail' could not be decided, the saved run was refused: {', '.join(refused)}"
    return [f"{said}. {_how_to_accept(environ)}"] if refused else []


def _how_to_accept(environ: Mapping[str, str]) -> str:
    """Return what to do if a change that no saved run can be compared with is intended."""
    name = environ["ACTION_BASELINE"]
    has_falls = bool(_lines(environ["ACTION_COMPARE_FAIL"]))
    falls = ", and take 'compare-fail' out until then" if has_falls else ""
    return (
        "The log says why. It is never replaced by itself: somebody has to look at the answers. If "
        "the change is intended (other questions, other metrics), write another name in this pull "
        f"request, 'baseline: {name}-2': the default branch saves its next green run under it"
        f"{falls}"
    )


def _not_compared(environ: Mapping[str, str], runs: Sequence[Run], saved: set[Path]) -> list[str]:
    """Return what is not wrong, and must not go unsaid."""
    name = environ["ACTION_BASELINE"]
    if not name:
        return []
    new = [run.title for run in runs if not run.is_compared and _place(run) not in saved]
    refused = [run.title for run in runs if not run.is_compared and _place(run) in saved]
    found = []
    if new:
        found.append(f"not compared, there is no saved run '{name}' yet: {', '.join(new)}")
    if refused and not _lines(environ["ACTION_COMPARE_FAIL"]):
        said = f"not compared, the saved run '{name}' was refused: {', '.join(refused)}"
        found.append(f"{said}. {_how_to_accept(environ)}")
    return [*found, *_left_over(name, runs, saved)]


def _left_over(name: str, runs: Sequence[Run], saved: set[Path]) -> list[str]:
    if not (gone := _gone(runs, saved)):
        return []
    said = f"no scenario here is compared with the saved run '{name}' of {', '.join(gone)}"
    return [f"{said}: renamed, removed, or not run"]


def _gone(runs: Sequence[Run], saved: set[Path]) -> list[str]:
    """Return the saved runs with which no scenario of this run could be compared."""
    return sorted(one.as_posix() for one in saved - {_place(run) for run in runs}) if runs else []


def _place(run: Run) -> Path:
    return run.folder.parent.relative_to(BASE)


def _put_outputs(
    environ: Mapping[str, str], runs: Sequence[Run], report: str, statuses: Mapping[str, str]
) -> None:
    file = Path(environ["RUNNER_TEMP"]) / f"rageval-{uuid.uuid4().hex}.md"
    file.write_text(report, "utf-8")
    is_default = is_default_branch(environ)
    outputs = {
        **statuses,
        "report": str(file),
        "folders": _paths(environ, (run.folder for run in runs)),
        "pages": _paths(environ, _pages(runs)),
        "badges": _paths(environ, (run.folder / "badge.svg" for run in runs)),
        "is-default-branch": str(is_default).lower(),
        "saves-baseline": str(is_default and bool(saved_runs(environ))).lower(),
    }
    for name, value in outputs.items():
        end = uuid.uuid4().hex  # nothing in a value can end it
        _append(environ["GITHUB_OUTPUT"], f"{name}<<{end}\n{value}\n{end}\n")


def _pages(runs: Sequence[Run]) -> list[Path]:
    """Return the pages that compare variants, then those of the runs."""
    side_by_side = {run.folder.parents[1] / "variants.html" for run in runs}
    own = [file for run in runs for file in run.folder.glob("*.html")]
    return [*sorted(file for file in side_by_side if file.is_file()), *own]


def _paths(environ: Mapping[str, str], paths: Iterable[Path]) -> str:
    """Return the paths relative to the workspace, where the action's later steps run."""
    workspace = Path(environ["GITHUB_WORKSPACE"]).absolute()
    return "\n".join(os.path.relpath(path.absolute(), workspace) for path in paths)


def _append(path: str, text: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _escaped(text: str) -> str:
    """Return the text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


if __name__ == "__main__":
    sys.exit(main())
