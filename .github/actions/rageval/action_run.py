"""Runs pytest on the scenarios, and tells the action's later steps what came of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from action_report import Run, contests, read_run, report_text, run_folders

BASE = Path(".rageval")
# Beside the cached replies: the plugin does not take a folder of this name for a user's file.
BASELINES = BASE / ".cache-baselines"


def main() -> int:
    """Return 0 only if pytest passed, left a summary, and what was to be compared was compared."""
    environ = os.environ
    before, saved = run_folders(BASE), saved_runs(environ["ACTION_BASELINE"])
    command = pytest_command(environ)
    sys.stdout.write(f"{shlex.join(command)}\n")
    sys.stdout.flush()
    status = subprocess.run(command, check=False).returncode  # noqa: S603 (the workflow's words)
    runs = [read_run(folder) for folder in sorted(run_folders(BASE) - before)]
    lacks = _not_judged(runs) if status == 0 else []
    remarks: list[str] = []
    if not is_default_branch(environ):
        lacks += _undecided(environ, runs, saved)
        remarks = _not_compared(environ, runs, saved)
    for level, notes in (("error", lacks), ("warning", remarks)):
        sys.stdout.writelines(f"::{level}::{_escaped(note)}\n" for note in notes)
    final = status or int(bool(lacks))
    verdict = "passed" if final == 0 else "failed" if status == 1 and runs else "error"
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
        return []
    if not re.fullmatch(r"[\w-]+", name):
        sys.exit(f"the action's input 'baseline' is {name!r}: name it with letters and digits")
    # Saved in a pull request, too: then a scenario that is new is not compared, instead of refused.
    args = ["-o", f"rageval_baselines={BASELINES.absolute()}", f"--rag-save={name}"]
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


def saved_runs(name: str) -> set[Path]:
    """Return the scenarios (as folders below the base) of which there is a saved run ``name``."""
    return {file.parent.relative_to(BASELINES) for file in BASELINES.rglob(f"{name}.json")}


def _not_judged(runs: Sequence[Run]) -> list[str]:
    """Return why a run is red that pytest called green."""
    if not runs:
        said = (
            f"pytest passed, and wrote no results below {BASE}: is pytest-rageval installed, and "
            "does no other option name another folder?"
        )
        return [said]
    return [f"{run.title}: {run.verdict}" for run in runs if not run.is_green]


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
    said = (
        f"'compare-fail' could not be decided, the saved run was refused: {', '.join(refused)}. "
        "The log says why. If the change is intended, take 'compare-fail' out in this pull request"
    )
    return [said] if refused else []


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
        found.append(f"not compared, the saved run '{name}' was refused: {', '.join(refused)}")
    return found


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
        "saves-baseline": str(is_default and any(BASELINES.rglob("*.json"))).lower(),
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
