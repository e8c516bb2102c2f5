"""E22: the workflow runs the scenario from where the command was typed."""

from __future__ import annotations

import shlex

import yaml

from pytest_rageval.first_scenario.scenario_text import (
    shell_word,
    step_text,
    what_to_add,
    workflow_text,
)

STEP = step_text("my data.rageval.yaml")


def test_it_is_yaml_with_these_steps() -> None:
    """The package with the extra that the data need, then pytest on the scenario."""
    text = workflow_text(STEP, ["xlsx"], "sub/it's", asks=False)
    found = yaml.safe_load(text)
    job = found["jobs"]["evaluate"]
    assert job["defaults"]["run"]["working-directory"] == "sub/it's"
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == [
        'pip install "pytest-rageval[xlsx]"',
        "pytest 'my data.rageval.yaml' --rag-strict --rag-report=html",
    ]
    assert '# pip install "./vendor/pytest_rageval-' in text
    assert '-py3-none-any.whl[xlsx]"\n' in text
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


def test_a_second_scenario_joins_the_command_that_is_there() -> None:
    """A step of its own would not run after one that failed: its verdict would be missing."""
    text = workflow_text(STEP, [], "", asks=False)
    assert what_to_add(text, "my data.rageval.yaml") == ""
    own = workflow_text(step_text("R&D.rageval.yaml"), [], "", asks=False)
    assert what_to_add(own, "R&D.rageval.yaml") == ""
    for other in ("data.rageval.yaml", "evals/my data.rageval.yaml", "my.rageval.yaml"):
        word = shell_word(other).replace("'", "''")
        said = f"write {word} into the pytest command, before --rag-strict"
        assert what_to_add(text, other) == said
        joined = text.replace(" --rag-strict", f" {word} --rag-strict")
        assert what_to_add(joined, other) == ""
        command = yaml.safe_load(joined)["jobs"]["evaluate"]["steps"][3]["run"]
        assert shlex.split(command)[1:3] == ["my data.rageval.yaml", other]
    step = "add this step:  - run: 'pytest a.yaml --rag-strict --rag-report=html'"
    for mine in (
        "mine",
        "  # later: pytest a.yaml --rag-strict\n",
        "run: pytest a.yaml || true\n",
    ):
        assert what_to_add(mine, "a.yaml") == step
    for mine in (
        "run: pytest -q a.yaml b.yaml # all\n",
        "run: |\n  pytest \\\n    a.yaml && true\n",
        "run: >\n  pytest\n  a.yaml\n",
        "run: |\r\n  pytest \\\r\n    a.yaml\r\n",
        "run: py.test 2>&1 a.yaml; rm x || true\n",
        "run: tox -- a.yaml\n",
        "env: {FILES: a.yaml}\nrun: pytest $FILES\n",
    ):
        assert what_to_add(mine, "a.yaml") == ""
