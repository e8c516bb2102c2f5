"""E22: the workflow runs the scenario from where the command was typed."""

from __future__ import annotations

import yaml

from pytest_rageval.first_scenario.workflow import workflow_text


def test_it_is_yaml_with_these_steps() -> None:
    """The package with the extra that the data need, then pytest on the scenario."""
    found = yaml.safe_load(workflow_text("my data.rageval.yaml", ["xlsx"], "sub/it's", asks=False))
    job = found["jobs"]["evaluate"]
    assert job["defaults"]["run"]["working-directory"] == "sub/it's"
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == [
        'pip install "pytest-rageval[xlsx]"',
        'pytest "my data.rageval.yaml" --rag-report=html',
    ]
    assert found["permissions"] == {"contents": "read"}
    assert set(found[True]) == {"push", "pull_request"}  # YAML 1.1 reads "on" as true


def test_a_system_that_is_asked_has_to_be_installed() -> None:
    """As a comment: only the user knows how."""
    text = workflow_text("a.yaml", [], "", asks=True)
    assert "# - run: pip install -r requirements.txt" in text
    assert "working-directory" not in text
