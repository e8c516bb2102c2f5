"""[E24] The action's steps, played as a runner would, in a clean repository that has a workflow.

Each job clones the repository anew. What it saves in the cache, uploads and writes to GitHub stays;
all else is gone after it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_github import REPOSITORY, TOKEN, FakeGitHub

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "rageval"
PAGE = ROOT / "docs" / "how-to" / "github-action.md"
SCENARIO = "{name: garden, dataset: answers.jsonl, metrics: [em], gates: {em: 0.5}}"
_KEPT = ("HOME", "LANG", "PYTHONPATH", "TMPDIR")
_TERM = re.compile(r"(?:inputs|steps|github)(?:\.[\w-]+)+")


def _workflow_inputs() -> dict[str, str]:
    """Return what the workflow of the how-to gives to the action."""
    (workflow,) = re.findall(
        r"^```yaml\n(name: rag quality\n.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S
    )
    *_, step = yaml.safe_load(workflow)["jobs"]["evaluate"]["steps"]
    assert "/.github/actions/rageval@" in step["uses"]
    return dict(step["with"])


@dataclass
class Runner:
    """A repository, and what GitHub keeps of its jobs."""

    home: Path
    github: FakeGitHub
    cache: dict[str, Path] = field(default_factory=dict)
    """The saved folders by their key, the newest last."""
    artifacts: dict[str, list[str]] = field(default_factory=dict)
    """The files of the last artifact of each name."""
    jobs: int = 0

    def __post_init__(self) -> None:
        self.repository = self.home / "repository"
        self.repository.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch=main")

    def _git(self, *words: str) -> None:
        who = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        subprocess.run(["git", *who, *words], cwd=self.repository, check=True)

    def commit(self, right: int, wrong: int) -> None:
        """Commit a scenario with so many right and wrong answers."""
        folder = self.repository / "eval"
        folder.mkdir(exist_ok=True)
        (folder / "garden.rageval.yaml").write_text(SCENARIO, "utf-8")
        rows = [
            {"id": f"q{at}", "answer": "yes" if at < right else "no", "references": ["yes"]}
            for at in range(right + wrong)
        ]
        (folder / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self._git("add", ".")
        self._git("commit", "--quiet", "-m", f"{right} of {right + wrong} are right")

    def job(self, event: str, **inputs: str) -> tuple[int, dict[str, str]]:
        """Play a job with the action in it; return how it ended, and the action's outputs."""
        self.jobs += 1
        return Job(self, self.home / f"job-{self.jobs}", event, inputs).play()


class Job:
    """A machine of its own that checks the repository out and runs the action's steps."""

    def __init__(self, runner: Runner, home: Path, event: str, inputs: Mapping[str, str]) -> None:
        self._runner, self._home = runner, home
        self._folder = home / "work"
        subprocess.run(["git", "clone", "--quiet", runner.repository, self._folder], check=True)
        self._action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
        defaults = {name: one.get("default", "") for name, one in self._action["inputs"].items()}
        self._inputs: dict[str, str] = {}
        self._outputs: dict[str, dict[str, str]] = {}
        self._inputs |= self._filled(defaults) | dict(inputs)
        payload: dict[str, Any] = {"repository": {"default_branch": "main"}}
        if event == "pull_request":
            payload |= {"number": 7, "pull_request": {"head": {"sha": "c0ffee00" * 5}}}
        (home / "event.json").write_text(json.dumps(payload))
        pull = event == "pull_request"
        self._environ = {name: value for name, value in os.environ.items() if name in _KEPT} | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_API_URL": runner.github.url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(home / "event.json"),
            "GITHUB_REF": "refs/pull/7/merge" if pull else "refs/heads/main",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": str(runner.jobs),
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
            "GITHUB_WORKSPACE": str(self._folder),
            "NO_PROXY": "127.0.0.1",
            "RUNNER_TEMP": str(home),
        }

    def play(self) -> tuple[int, dict[str, str]]:
        status = 0
        for step in self._action["runs"]["steps"]:
            if not self._runs(step.get("if", ""), status):
                continue
            if "run" in step:
                status = self._script(step) or status
            else:
                self._used(step["uses"].partition("@")[0], self._filled(step.get("with", {})), step)
        outputs = {name: one["value"] for name, one in self._action["outputs"].items()}
        return status, self._filled(outputs)

    def _runs(self, condition: str, status: int) -> bool:
        """A step without ``!cancelled()`` runs only while none has failed."""
        if status and "!cancelled()" not in condition:
            return False
        return not condition or bool(self._value(condition.removeprefix("${{").removesuffix("}}")))

    def _value(self, expression: str) -> Any:
        """Return what an expression of GitHub is, of those that action.yml has."""
        told = {
            "github.token": TOKEN,
            "github.run_id": str(self._runner.jobs),
            "github.run_attempt": "1",
            **{f"inputs.{name}": value for name, value in self._inputs.items()},
        }
        terms: list[str] = []

        def known(found: re.Match[str]) -> str:
            kind, *path = found[0].split(".")
            if kind == "steps":
                terms.append(self._outputs.get(path[0], {}).get(path[2], ""))
            else:
                terms.append(told[found[0]])
            return f"terms[{len(terms) - 1}]"

        text = _TERM.sub(known, expression.replace("!cancelled()", "True").strip())
        text = text.replace("&&", " and ").replace("||", " or ")
        return eval(text, {"terms": terms})

    def _filled(self, words: Mapping[str, str]) -> dict[str, str]:
        one = re.compile(r"\$\{\{(.*?)\}\}")
        return {
            name: one.sub(lambda found: str(self._value(found[1])), str(value))
            for name, value in words.items()
        }

    def _script(self, step: Mapping[str, Any]) -> int:
        output = self._home / "output"
        output.write_text("")
        where = self._filled({"at": step.get("working-directory", ".")})["at"]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self._folder / where,
            env={
                **self._environ,
                **self._filled(step.get("env", {})),
                "GITHUB_OUTPUT": str(output),
            },
            check=False,
        )
        found = re.findall(r"^(.+?)<<(\w+)\n(.*?)\n\2$", output.read_text("utf-8"), re.M | re.S)
        self._outputs[step.get("id", "")] = {name: value for name, _, value in found}
        return done.returncode

    def _used(self, action: str, given: Mapping[str, str], step: Mapping[str, Any]) -> None:
        """Do what another action does; the Python to set up is this one."""
        if action == "actions/cache/restore":
            self._restore(self._folder / given["path"], given["restore-keys"])
        elif action == "actions/cache/save":
            kept = self._home / "cache"
            shutil.copytree(self._folder / given["path"], kept)
            self._runner.cache[given["key"]] = kept
        elif action == "actions/upload-artifact":
            self._upload(given)
            self._outputs[step["id"]] = {"artifact-url": "https://github.example/artifact"}
        else:
            assert action == "actions/setup-python"

    def _restore(self, path: Path, start: str) -> None:
        for key, kept in reversed(self._runner.cache.items()):
            if key.startswith(start):
                shutil.copytree(kept, path)
                return

    def _upload(self, given: Mapping[str, str]) -> None:
        kept, left_out = given["path"].split()
        assert left_out.startswith("!")
        files = [str(one.relative_to(self._folder)) for one in (self._folder / kept).rglob("*")]
        start = str(Path(left_out.removeprefix("!").removesuffix("*")))
        self._runner.artifacts[given["name"]] = [one for one in files if not one.startswith(start)]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    with FakeGitHub() as github:
        yield Runner(tmp_path, github)


def test_the_workflow_of_the_how_to_compares_a_pull_request_with_main(runner: Runner) -> None:
    """A green run of main is the baseline; a pull request that falls below the gate is red."""
    given = {**_workflow_inputs(), "install": ""}
    runner.commit(right=9, wrong=1)
    status, outputs = runner.job("push", **given)
    assert (status, outputs["verdict"], outputs["exit-status"]) == (0, "passed", "0")
    assert len(runner.cache) == 1
    assert runner.github.asked == []
    runner.commit(right=3, wrong=7)
    status, outputs = runner.job("pull_request", **given)
    assert (status, outputs["verdict"], outputs["exit-status"]) == (1, "failed", "1")
    assert outputs["artifact-url"] == "https://github.example/artifact"
    assert len(runner.cache) == 1
    (comment,) = [one["body"] for one in runner.github.comments]
    assert "Compared with main" in comment
    kept = runner.artifacts["rageval"]
    assert any(one.endswith("results.json") for one in kept)
    assert not any("cache" in one for one in kept)


def test_a_fall_that_no_gate_sees_is_red_with_compare_fail(runner: Runner) -> None:
    given = {**_workflow_inputs(), "install": "", "compare-fail": "em:0.05"}
    runner.commit(right=100, wrong=0)
    assert runner.job("push", **given)[0] == 0
    runner.commit(right=70, wrong=30)
    status, outputs = runner.job("pull_request", **given)
    assert (status, outputs["verdict"]) == (1, "failed")


def test_what_pip_cannot_install_ends_the_job_red_and_the_comment_says_it(runner: Runner) -> None:
    runner.commit(right=9, wrong=1)
    given = {**_workflow_inputs(), "install": "--no-index nowhere-to-be-found"}
    status, outputs = runner.job("pull_request", **given)
    assert (status, outputs["verdict"]) == (1, "error")
    assert "NOT JUDGED" in runner.github.comments[0]["body"]
