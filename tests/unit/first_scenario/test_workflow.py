"""E22: the workflow runs the scenario from where the command was typed."""

from __future__ import annotations

import shlex

import yaml

from pytest_rageval.first_scenario.workflow import shell_word, step_text, workflow_text

STEP = step_text("my data.rageval.yaml")


def test_it_is_yaml_with_these_steps() -> None:
    """The package with the extra that the data need, then pytest on the scenario."""
    found = yaml.safe_load(workflow_text(STEP, ["xlsx"], "sub/it's", asks=False))
    job = found["jobs"]["evaluate"]
    assert job["defaults"]["run"]["working-directory"] == "sub/it's"
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == [
        'pip install "pytest-rageval[xlsx]"',
        "pytest 'my data.rageval.yaml' --rag-strict --rag-report=html",
    ]
    assert found["permissions"] == {"contents": "read"}
    assert set(found[True]) == {"push", "pull_request"}  # YAML 1.1 reads "on" as true


def test_a_system_that_is_asked_has_to_be_installed() -> None:
    """As a comment: only the user knows how."""
    text = workflow_text(STEP, [], "", asks=True)
    assert "# - run: pip install -r requirements.txt" in text
    assert "pytest-rageval[judge] as well" in text
    assert "working-directory" not in text


def test_a_shell_takes_a_name_as_it_is() -> None:
    """No command in it is run; names of every script stay readable."""
    name = 'we"ird $(x) `y`.rageval.yaml'
    assert shlex.split(yaml.safe_load(step_text(name))["run"])[1] == name
    assert shlex.split(shell_word("it's.yaml")) == ["it's.yaml"]
    assert shell_word("答案.yaml") == "答案.yaml"
