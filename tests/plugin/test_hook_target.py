"""[A21] The system under test is what the hook ``pytest_rageval_target`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    x-tenant: acme
    metrics: [em]
    dataset:
      - {id: a, question: say Paris, references: [Paris acme]}
"""


def test_a_hook_gives_the_target(project: Project, run: Run) -> None:
    """The scenario names none; what it says under x- keys reaches the hook."""
    project.conftest("""
    def pytest_rageval_target(config, scenario):
        tenant = scenario.metadata["tenant"]
        assert scenario.path == "qa.rageval.yaml"
        return lambda question: f"{question.removeprefix('say ')} {tenant}"
    """)
    project.scenario(SCENARIO)
    run().assert_outcomes(passed=1)
    assert project.results()["samples"][0]["answer"] == "Paris acme"


def test_it_takes_the_place_of_the_scenarios_own(project: Project) -> None:
    """None leaves the scenario's own."""
    project.conftest("""
    def pytest_rageval_target(config, scenario):
        return (lambda question: "Paris acme") if scenario.name == "qa" else None
    """)
    project.file("own.py", "def answer(question):\n    return 'own'\n")
    project.scenario(SCENARIO + "    target: {use: own:answer, concurrency: 2}\n")
    project.scenario(
        SCENARIO.replace("name: qa", "name: qb") + "    target: own:answer\n", file="qb"
    )
    project.pytest()
    assert project.results()["samples"][0]["answer"] == "Paris acme"
    assert project.results("qb")["samples"][0]["answer"] == "own"


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("return 3", "pytest_rageval_target of conftest.py returned 3, which cannot be called"),
        ("raise OSError('no index')", "pytest_rageval_target of conftest.py raised OSError: no"),
        ("return lambda a, b: 1", "its parameter 'a', 'b' cannot be filled"),
    ],
)
def test_a_hook_that_is_wrong_is_a_collection_error(project: Project, hook: str, said: str) -> None:
    """[E12]"""
    project.conftest(f"""
    def pytest_rageval_target(config, scenario):
        {hook}
    """)
    project.scenario(SCENARIO)
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert said in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_a_scenario_that_waits_for_a_hook_says_so(project: Project) -> None:
    project.scenario(SCENARIO + "    target: hook\n")
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "target: no plugin and no conftest.py gave a function" in result.stdout.str()
    assert "needs 'answer'" not in result.stdout.str()
