"""Gates are among the results of allure, as the cases are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

pytest.importorskip("allure_commons")

# em 1, 0: mean 0.5. The gate em fails, f1 and unscored pass.
SCENARIO = """\
name: qa
metrics: [em, f1]
gates: {em: 0.9, f1: 0.1}
dataset:
  - {id: right, answer: Paris, references: [Paris]}
  - {id: wrong, answer: Rome, references: [Paris]}
"""


def results(project: Project) -> dict[str, dict[str, Any]]:
    """Return the results that allure wrote, by their names; each is there once."""
    files = (project.path / "allure").glob("*-result.json")
    found = [json.loads(file.read_text("utf-8")) for file in files]
    assert len({one["name"] for one in found}) == len(found)
    return {one["name"]: one for one in found}


def test_gates_are_results_of_allure(project: Project, run: Run) -> None:
    """[U6] Beside the cases, in their suite; a failed one says why and shows the worst samples."""
    project.file("eval/qa.rageval.yaml", SCENARIO)
    run("--alluredir=allure", "eval")
    found = results(project)
    assert {name: one["status"] for name, one in found.items()} == {
        "right": "passed",
        "wrong": "passed",
        "gate:em.mean": "failed",
        "gate:f1.mean": "passed",
        "gate:unscored": "passed",
    }
    failed, case = found["gate:em.mean"], found["right"]
    assert failed["fullName"] == case["fullName"].replace("right", "gate:em.mean")
    assert failed["statusDetails"]["message"] == "0.5000 < 0.9000"
    assert "0.0000  wrong" in failed["statusDetails"]["trace"]
    shared = ("parentSuite", "suite", "package")
    labels = [
        {(label["name"], label["value"]) for label in one["labels"] if label["name"] in shared}
        for one in (failed, case)
    ]
    assert labels[0] == labels[1]


def test_a_gate_that_is_not_decided_is_skipped_there(project: Project) -> None:
    """[U6] Its history is that of the same gate in other runs."""
    project.file("qa.rageval.yaml", SCENARIO)
    project.pytest("--alluredir=allure")
    earlier = results(project)["gate:em.mean"]["historyId"]
    project.pytest("--alluredir=allure", "--clean-alluredir", "-k", "right")
    found = results(project)["gate:em.mean"]
    assert (found["status"], found["historyId"]) == ("skipped", earlier)
    assert "1 of 2 samples ran" in found["statusDetails"]["message"]


def test_without_its_folder_nothing_is_written(project: Project) -> None:
    """[U6] allure is installed and not asked for."""
    project.file("qa.rageval.yaml", SCENARIO)
    project.pytest().assert_outcomes(passed=4, failed=1)
    assert not list(project.path.rglob("*-result.json"))
