"""E24: workflows, the action and the project's papers keep the rules that no linter checks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import __version__

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
ACTION = GITHUB / "actions" / "rageval" / "action.yml"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [
    file for file in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if file.stem != "config"
]


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def load(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text("utf-8")))


def steps(plain: Any) -> Iterator[dict[str, Any]]:
    """Yield every step and every job that calls a workflow."""
    if isinstance(plain, dict):
        if "run" in plain or "uses" in plain:
            yield plain
        for value in plain.values():
            yield from steps(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from steps(value)


@pytest.mark.parametrize("file", [*WORKFLOWS, ACTION], ids=name_of)
def test_actions_of_others_are_pinned_by_commit_with_the_version_beside_it(file: Path) -> None:
    lines = re.findall(r"uses: (.+)", file.read_text("utf-8"))
    others = [line for line in lines if not line.startswith("./")]
    assert [
        line for line in others if not re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ] == []


def test_an_action_has_the_same_commit_everywhere() -> None:
    pins = set(
        re.findall(r"uses: (\S+@\S+)", "".join(f.read_text("utf-8") for f in [*WORKFLOWS, ACTION]))
    )
    names = [pin.partition("@")[0].removesuffix("/restore").removesuffix("/save") for pin in pins]
    assert len({pin.rpartition("@")[2] for pin in pins}) == len(set(names))


@pytest.mark.parametrize("file", [*WORKFLOWS, ACTION], ids=name_of)
def test_nothing_is_put_into_a_script_but_by_its_environment(file: Path) -> None:
    assert [step["run"] for step in steps(load(file)) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("file", WORKFLOWS, ids=name_of)
def test_workflows_may_read_and_jobs_ask_for_more(file: Path) -> None:
    plain = load(file)
    assert plain["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in file.read_text("utf-8")
    assert all("timeout-minutes" in job or "uses" in job for job in plain["jobs"].values())


def test_the_job_that_publishes_runs_nothing_of_ours_and_knows_no_secret() -> None:
    """It gets what was built and tested, and has the right to publish; no other job has it."""
    plain = load(GITHUB / "workflows" / "release.yml")
    publish = plain["jobs"]["publish"]
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    assert publish["needs"] == ["tests", "build", "try"]
    assert publish["permissions"] == {"id-token": "write"}
    others = [job for name, job in plain["jobs"].items() if name != "publish"]
    assert [job for job in others if "id-token" in job.get("permissions", {})] == []
    assert "secrets" not in str(plain)


def test_a_failed_step_of_the_action_is_never_forgiven() -> None:
    action = load(ACTION)
    found = list(steps(action["runs"]))
    assert [step for step in found if "continue-on-error" in step] == []
    assert [step["run"] for step in found if re.search(r"[|;]|&&", step.get("run", ""))] == []
    assert all(step["shell"] == "bash" for step in found if "run" in step)


def test_the_check_asks_for_every_job() -> None:
    """The job that a branch requires needs all others, and compares all their results."""
    jobs = load(GITHUB / "workflows" / "tests.yml")["jobs"]
    last = jobs.pop("passed")
    assert set(last["needs"]) == set(jobs)
    assert last["if"] == "always()"
    results = last["steps"][0]["env"]["RESULTS"]
    assert results == " ".join(f"${{{{ needs.{name}.result }}}}" for name in last["needs"])


def run(script: str, folder: Path, own: dict[str, str]) -> int:
    """Return the exit status of a script, run as GitHub runs it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOX")}
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=kept | own, check=False).returncode


@pytest.mark.parametrize(
    ("full", "results", "status"),
    [
        ("false", "success success success skipped", 0),
        ("true", "success success success success", 0),
        ("true", "success success success skipped", 1),
        ("false", "success failure success skipped", 1),
        ("false", "success cancelled success skipped", 1),
        ("false", "success skipped success skipped", 1),
        ("", "failure skipped success skipped", 1),
    ],
)
def test_all_passed_only_if_every_job_did(
    tmp_path: Path, full: str, results: str, status: int
) -> None:
    """The quick start on other systems may be skipped, and only where not all tests run."""
    (step,) = load(GITHUB / "workflows" / "tests.yml")["jobs"]["passed"]["steps"]
    assert run(step["run"], tmp_path, {"FULL": full, "RESULTS": results}) == status


@pytest.mark.parametrize(("tag", "status"), [("v1.2.3", 0), ("v1.2.4", 1), ("v", 1)])
def test_a_tag_that_is_not_the_version_is_not_released(
    tmp_path: Path, tag: str, status: int
) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "pytest_rageval-1.2.3-py3-none-any.whl").touch()
    build = load(GITHUB / "workflows" / "release.yml")["jobs"]["build"]
    script = next(s["run"] for s in build["steps"] if s.get("name") == "the tag names the version")
    assert run(script, tmp_path, {"GITHUB_REF_NAME": tag}) == status


@pytest.mark.full
@pytest.mark.parametrize("is_full", [False, True])
def test_the_environments_of_tox_become_jobs(tmp_path: Path, is_full: bool) -> None:
    """Those of the check, or those with the label; not bench, nor mutation."""
    pytest.importorskip("tox_uv")
    job = load(GITHUB / "workflows" / "tests.yml")["jobs"]["list"]
    script = next(step["run"] for step in job["steps"] if step.get("id") == "list")
    output = tmp_path / "output"
    own = {"GITHUB_OUTPUT": str(output), "IS_FULL": str(is_full).lower()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert run(script, ROOT, own | {"PATH": path}) == 0
    found = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
    text = (ROOT / "tox.ini").read_text("utf-8")
    line = r"^labels = full = (.+)$" if is_full else r"^env_list = (.+)$"
    names = re.findall(line, text, re.MULTILINE)[0].split(", ")
    assert sorted(json.loads(found["environments"])) == sorted(names)
    assert found["full"] == own["IS_FULL"]


# What the documentation says of them.


def test_the_page_lists_inputs_defaults_and_outputs() -> None:
    page = (ROOT / "docs" / "how-to" / "github-action.md").read_text("utf-8")
    inputs, _, rest = page.partition("## Outputs")
    rows = re.findall(r"^\| `([\w-]+)` \| (?:`(.+?)` )?\|", inputs, re.MULTILINE)
    action = load(ACTION)
    defaults = {
        name: str(value.get("default", "")).replace("${{ ", "").replace(" }}", "")
        for name, value in action["inputs"].items()
    }
    assert dict(rows) == defaults
    outputs = re.findall(r"^\| `([\w-]+)` \|", rest.partition("## What is red")[0], re.MULTILINE)
    assert sorted(outputs) == sorted(action["outputs"])


def test_the_docs_use_actions_of_the_versions_that_are_tested() -> None:
    majors = {
        name.split("/")[1]: major
        for file in [*WORKFLOWS, ACTION]
        for name, major in re.findall(r"uses: (\S+)@\w+ # v(\d+)", file.read_text("utf-8"))
    }
    found = []
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        found += re.findall(r"uses: actions/([\w-]+)(?:/\w+)?@v(\d+)", text)
    assert len(found) >= 4
    assert [use for use in found if majors[use[0]] != use[1]] == []


def test_the_docs_name_this_version() -> None:
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    named = re.findall(r"(?:actions/rageval@|rev: )v(\S+)", pages)
    assert set(named) == {__version__}


# Papers.


@pytest.mark.parametrize("file", FORMS, ids=name_of)
def test_forms_ask_for_something_and_have_ids_of_their_own(file: Path) -> None:
    form = load(file)
    assert {"name", "description", "body"} <= set(form)
    asked = [entry for entry in form["body"] if entry["type"] != "markdown"]
    ids = [entry["id"] for entry in asked]
    assert ids == list(dict.fromkeys(ids)) != []
    assert all(entry["attributes"]["label"] for entry in asked)
    assert any(entry.get("validations", {}).get("required") for entry in asked)


def test_the_citation_names_this_version() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
