"""A run of some samples decides no gate: undecided gates are skipped, or fail where strict."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red

# em: 1, 0, 1, 1. The mean 0.75 keeps both gates, as does every part but "beta" alone.
FOUR = """
    name: qa
    metrics: [em]
    thresholds: {em: 0.5}
    gates: {em: 0.5, pass_rate: 0.5}
    dataset:
      - {id: alpha, answer: Paris, references: [Paris]}
      - {id: beta, answer: Rome, references: [Paris]}
      - {id: gamma, answer: Paris, references: [Paris]}
      - {id: delta, answer: Paris, references: [Paris]}
"""

UNDECIDED = {"em.mean": "skipped", "pass_rate": "skipped", "unscored": "skipped"}


@pytest.fixture(autouse=True)
def _four(project: Project) -> None:
    project.scenario(FOUR)


@pytest.mark.parametrize(
    ("args", "ran"),
    [
        (("-k", "alpha or gamma"), 2),
        (("qa.rageval.yaml::alpha",), 1),
        (("--rag-scenario=qa.rageval.yaml::alpha",), 1),
        (("--deselect", "qa.rageval.yaml::beta"), 3),
    ],
    ids=["k", "node id", "option", "deselect"],
)
def test_a_selection_skips_the_gates(project: Project, args: tuple[str, ...], ran: int) -> None:
    """[E4] With how many of four ran; what was selected passed, so the run is green."""
    result = green(project.pytest("-rs", *args))
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["skipped"]) == (ran, 3)
    result.stdout.fnmatch_lines([f"SKIPPED *{ran} of 4 samples ran*"])
    assert project.gates() == UNDECIDED
    assert project.results()["complete"] is False


def test_a_selection_skips_the_gates_with_workers_too(project: Project, run: Run) -> None:
    """[E4] Nobody but the workers knows what was deselected."""
    result = run("-k", "alpha or gamma")
    assert {key: result.parseoutcomes()[key] for key in ("passed", "skipped")} == {
        "passed": 2,
        "skipped": 3,
    }
    assert project.gates() == UNDECIDED


@pytest.mark.parametrize("option", ["-x", "--maxfail=1", "--exitfirst"])
def test_stopping_at_the_first_failure_skips_the_gates(project: Project, option: str) -> None:
    """[E4] alpha passed and beta failed, the others did not run."""
    result = red(project.pytest(option))
    result.assert_outcomes(passed=1, failed=1, skipped=3)
    assert project.gates() == UNDECIDED
    assert project.results()["counts"]["ran"] == 2


def test_a_failure_in_the_very_last_case_leaves_the_gates_decided(project: Project) -> None:
    """[E4] With ``-x`` all four ran nevertheless: 0.75 >= 0.5."""
    text = FOUR.replace("answer: Rome", "answer: Paris").replace(
        "{id: delta, answer: Paris", "{id: delta, answer: Rome"
    )
    project.scenario(text)
    result = project.pytest("-x")
    result.assert_outcomes(passed=3 + 3, failed=1)
    assert set(project.gates().values()) == {"passed"}


def test_a_selection_of_nothing_is_no_run(project: Project) -> None:
    """[E4] pytest's own exit status, no table and no folder."""
    result = project.pytest("-k", "nothing")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.wrote_nothing


def test_strict_makes_undecided_gates_fail(project: Project, run: Run) -> None:
    """[E4] The samples pass and the run is red, with the same figures in the message."""
    result = red(run("-k", "alpha or gamma", "--rag-strict"))
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (2, 3)
    result.stdout.fnmatch_lines(["FAILED *gate:em.mean*2 of 4 samples ran*strict*"])


@pytest.mark.full
@pytest.mark.parametrize(
    ("last", "args", "status"),
    [
        ("alpha", (), pytest.ExitCode.OK),  # undecided, as after any stop
        ("alpha", ("--rag-strict",), pytest.ExitCode.TESTS_FAILED),
        ("beta", (), pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_a_hook_that_ends_the_run_does_not_make_it_green(
    project: Project, last: str, args: tuple[str, ...], status: pytest.ExitCode
) -> None:
    """``pytest.exit(returncode=0)`` after a sample; beta fails, and so do strict gates."""
    project.conftest(
        f"""
        import pytest
        def pytest_runtest_logfinish(nodeid):
            if nodeid.endswith("{last}"):
                pytest.exit("enough", returncode=0)
        """
    )
    assert project.pytest(*args).ret == status


@pytest.mark.full
def test_a_selection_of_another_scenario_leaves_this_one_alone(project: Project) -> None:
    """[E4] One scenario complete and decided, of the other one sample."""
    project.scenario(FOUR.replace("name: qa", "name: other").replace("Rome", "Paris"), "other")
    project.pytest("other.rageval.yaml", "qa.rageval.yaml::alpha").assert_outcomes(
        passed=4 + 3 + 1, skipped=3
    )
    assert set(project.gates("other").values()) == {"passed"}
    assert project.gates() == UNDECIDED


SPLITS = """
def pytest_collection_modifyitems(config, items):
    left = [item for at, item in enumerate(items) if at % 2]
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = left
"""


@pytest.mark.full
def test_what_another_plugin_leaves_out_is_said_in_the_last_lines(
    project: Project, run: Run
) -> None:
    """[G12] As ``--splits`` of pytest-split: each part is green by itself, and decides nothing."""
    project.scenario(FOUR.replace("thresholds: {em: 0.5}", "thresholds: {em: 0.0}"))
    project.conftest(SPLITS)
    result = green(run())
    assert set(project.gates().values()) == {"skipped"}
    lines = [line for line in result.stdout.lines if line.startswith("NOT DECIDED: ")]
    assert lines == [
        "NOT DECIDED: 3 of 3 gates of qa, 2 of 4 samples ran; --rag-strict fails such a run"
    ]
    assert result.stdout.lines.index(lines[0]) >= len(result.stdout.lines) - 3
