"""[E17] The jobs that the documentation shows for GitHub and GitLab, played as they are written.

Each job runs in a copy of the project and in processes of its own, and gets nothing from another
one but the artifacts that are copied here, as the service would.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from sharded import files

pytestmark = pytest.mark.full

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "several-machines.md"
SCENARIO = """\
name: qa
dataset: qa.jsonl
metrics: [em, f1]
thresholds: {f1: 0.1}
tolerate: pass_rate
gates: {f1: 0.5, pass_rate: 0.5, by: {doc_name: {em: 0.1}}}
"""
_INSTALLS = "pip install "
_KEPT = ("PATH", "HOME", "PYTHONPATH")


def _blocks() -> list[dict[str, Any]]:
    text = PAGE.read_text("utf-8")
    return [yaml.safe_load(one) for one in re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)]


class Service:
    """A CI service: jobs in folders of their own, and artifacts between them."""

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        self._home = home
        self._project = home / "project"
        self._variables = variables
        self.lost: set[str] = set()
        self.broken: set[int] = set()
        """The numbers of the shard jobs that fail before they run pytest."""
        self.stored: dict[str, Path] = {}
        """The artifacts; a job that runs again replaces its own."""
        self._project.mkdir(parents=True)
        rows = [
            {"id": f"q{at}", "answer": "a b" if at % 4 else "a c", "references": ["a b"]}
            | {"doc_name": f"{at % 3}.pdf"}
            for at in range(20)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self._project / "qa.jsonl").write_text(text, "utf-8")
        (self._project / "qa.rageval.yaml").write_text(SCENARIO, "utf-8")
        (self._project / "pytest.ini").write_text("[pytest]\n", "utf-8")

    def checkout(self, job: str) -> Path:
        """Return the folder of a job, with a fresh copy of the project."""
        folder = self._home / job
        shutil.rmtree(folder, ignore_errors=True)
        return Path(shutil.copytree(self._project, folder))

    def run(self, line: str, folder: Path, **variables: str) -> int:
        """Return the exit status of a line of a job; what installs is left out."""
        if line.startswith(_INSTALLS):
            return 0
        assert line.startswith("pytest ") or line == "exit 1"
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        kept["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
        done = subprocess.run(
            ["bash", "-ec", line],
            cwd=folder,
            env={**kept, **self._variables, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stdout + done.stderr
        return done.returncode

    def whole(self) -> dict[str, bytes]:
        """Return the files of a run of all cases in one process."""
        folder = self.checkout("whole")
        assert self.run("pytest --rag-output=.rageval --rag-report=html", folder) == 0
        return files(folder / ".rageval")


def _github(service: Service) -> tuple[int, Path]:
    """Play the workflow; return the status of its last job, and that job's folder."""
    workflow = next(one for one in _blocks() if "jobs" in one)
    shard, verdict = workflow["jobs"]["shard"], workflow["jobs"]["verdict"]
    assert (verdict["needs"], verdict["if"]) == ("shard", "always()")
    numbers = shard["strategy"]["matrix"]["shard"]
    ended = [_github_job(shard, service, f"shard-job-{number}", number)[0] for number in numbers]
    result = "failure" if any(ended) else "success"
    return _github_job(verdict, service, "verdict-job", None, result)


def _github_job(
    job: Mapping[str, Any], service: Service, name: str, number: Any, result: str = ""
) -> tuple[int, Path]:
    """Play a job, and return how it ended and its folder; ``result`` is how the shards' did."""
    if number in service.broken:
        return 1, Path()
    folder, status = service.checkout(name), 0
    for step in _filled(job["steps"], number):
        if not _runs(step.get("if"), status, result):
            continue
        if "run" in step:
            status = service.run(step["run"], folder)
        elif "uses" in step:
            _artifacts(step["uses"].partition("@")[0], step.get("with", {}), service, folder)
    return status, folder


def _artifacts(action: str, given: Mapping[str, str], service: Service, folder: Path) -> None:
    if action == "actions/upload-artifact" and given["name"] not in service.lost:
        kept = folder.with_name(f"artifact-{given['name']}")
        shutil.rmtree(kept, ignore_errors=True)
        path, *left_out = given["path"].split()  # the others are "!folder"
        if (folder / path).exists():
            but = shutil.ignore_patterns(*(Path(one).name for one in left_out))
            service.stored[given["name"]] = Path(shutil.copytree(folder / path, kept, ignore=but))
    elif action == "actions/download-artifact":
        for artifact in sorted(service.stored):
            if fnmatch(artifact, given["pattern"]):
                shutil.copytree(service.stored[artifact], folder / given["path"] / artifact)


def _runs(condition: str | None, status: int, result: str) -> bool:
    """Return whether a step runs after steps that ended with ``status``."""
    if condition == "always()":
        return True
    if condition is None:
        return not status
    assert condition == "needs.shard.result != 'success'"
    return not status and result != "success"


def _filled(steps: Iterable[Any], number: Any) -> Any:
    return json.loads(json.dumps(steps).replace("${{ matrix.shard }}", str(number)))


def _gitlab(service: Service) -> tuple[int, Path]:
    pipeline = next(one for one in _blocks() if "stages" in one)
    shard, verdict = pipeline["shard"], pipeline["verdict"]
    assert pipeline["stages"].index(shard["stage"]) < pipeline["stages"].index(verdict["stage"])
    assert (shard["artifacts"]["when"], verdict["when"]) == ("always", "always")
    last = service.checkout("verdict-job")
    for number in range(1, shard["parallel"] + 1):
        folder = service.checkout(f"shard-job-{number}")
        node = {"CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(shard["parallel"])}
        _script(shard, service, folder, node)
        if f"shard-{number}" not in service.lost:
            for path in shard["artifacts"]["paths"]:
                shutil.copytree(folder / path, last / path, dirs_exist_ok=True)
    return _script(verdict, service, last, {}), last


def _script(
    job: Mapping[str, Any], service: Service, folder: Path, variables: Mapping[str, str]
) -> int:
    for line in job["script"]:
        status = service.run(line, folder, **variables)
        if status:
            return status
    return 0


PLAYED = {
    "github": (_github, ".rageval", {"GITHUB_SHA": "c0ffee1" * 5, "GITHUB_RUN_ID": "77"}),
    "gitlab": (_gitlab, "merged", {"CI_COMMIT_SHA": "c0ffee1" * 5, "CI_PIPELINE_ID": "78"}),
}


@pytest.mark.parametrize("name", PLAYED)
def test_the_jobs_come_to_the_verdict_of_one_run(tmp_path: Path, name: str) -> None:
    """Its files are those of one process, to the byte."""
    play, output, variables = PLAYED[name]
    service = Service(tmp_path, variables)
    status, folder = play(service)
    assert status == 0, service.said
    found, whole = files(folder / output), service.whole()
    assert len(found) >= 6
    assert found == {path: whole[path] for path in found}


@pytest.mark.parametrize(
    ("lost", "ends", "said"),
    [
        ("2", pytest.ExitCode.TESTS_FAILED, "shard 2/3 is missing"),
        ("123", pytest.ExitCode.USAGE_ERROR, "shards: no such folder"),
    ],
)
@pytest.mark.parametrize("name", PLAYED)
def test_a_job_that_is_lost_is_red(
    tmp_path: Path, name: str, lost: str, ends: int, said: str
) -> None:
    play, _, variables = PLAYED[name]
    service = Service(tmp_path, variables)
    service.lost = {f"shard-{one}" for one in lost}
    status, _ = play(service)
    assert status == ends
    assert said in service.said


@pytest.mark.parametrize("name", PLAYED)
def test_a_failing_case_fails_its_job_and_the_verdict(tmp_path: Path, name: str) -> None:
    """Its artifacts travel all the same."""
    play, _, variables = PLAYED[name]
    service = Service(tmp_path, variables)
    scenario = tmp_path / "project" / "qa.rageval.yaml"
    scenario.write_text(
        SCENARIO.replace("tolerate: pass_rate\n", "").replace("0.1}\n", "0.6}\n", 1)
    )
    status, _ = play(service)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "is missing" not in service.said
    assert "FAILED qa.rageval.yaml::q4" in service.said


def test_a_shard_that_fails_before_it_writes_is_red_though_an_older_one_is_there(
    tmp_path: Path,
) -> None:
    """GitHub keeps the artifacts of the first attempt."""
    _, _, variables = PLAYED["github"]
    service = Service(tmp_path, variables)
    assert _github(service)[0] == 0
    service.broken = {2}
    assert _github(service)[0] == 1
    assert "cases passed" not in service.said
