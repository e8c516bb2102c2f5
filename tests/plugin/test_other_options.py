"""pytest's own options, and runs without some of its plugins, meet no error."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, green

TWO = """
    name: qa
    metrics: [witness]
    gates: {witness: 1}
    dataset: [{id: a, answer: Paris}, {id: b, answer: Rome}]
"""


OTHERS = ("xdist", "cacheprovider", "junitxml", "skipping", "warnings", "logging", "capture")


@pytest.fixture(autouse=True)
def _witness(project: Project) -> None:
    project.with_broken_metrics()
    project.scenario(TWO)


def _scored(project: Project) -> list[str]:
    log = project.path / "scored.txt"
    return log.read_text("utf-8").split() if log.exists() else []


@pytest.mark.parametrize(
    "args",
    [
        ("-p", "no:terminal"),
        tuple(f"-pno:{name}" for name in OTHERS),
        ("-pno:cacheprovider", "--no-summary"),
        ("-q", "--tb=no", "--stepwise"),
        ("-vv", "-s", "-rA", "--tb=line", "--setup-show", "--durations=0", "--color=yes"),
        ("--import-mode=importlib", "--ff", "--nf", "--strict-config", "--strict-markers", "-n0"),
    ],
    ids=" ".join,
)
def test_the_run_is_green_and_written(project: Project, args: tuple[str, ...]) -> None:
    """[E3] Both samples are scored once, the gates pass, the files are there."""
    result = green(project.pytest(*args))
    assert _scored(project) == ["a", "b"]
    assert project.gates() == {"witness.mean": "passed", "unscored": "passed"}
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("option", ["--tb=native", "--tb=long -l"])
def test_no_style_of_traceback_shows_one(project: Project, option: str) -> None:
    """[E1] em 0 < 1 fails with its table, or with nothing."""
    project.scenario(
        """
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        dataset: [{id: wrong, answer: Rome, references: [Paris]}]
        """
    )
    result = project.pytest(*option.split())
    result.assert_outcomes(failed=1)
    assert "items.py" not in result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::wrong*em 0.0000 < 1.0000"])


GATE = "gate:witness.mean"


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("--collect-only", "-q"), [f"qa.rageval.yaml::{one}" for one in ("a", "b", GATE)]),
        (("--collect-only",), ["*<ScenarioFile qa.rageval.yaml>*", "*<SampleItem a>*"]),
        (("--setup-plan",), ["*qa.rageval.yaml::a*", "*qa.rageval.yaml::b*"]),
        (("--fixtures",), ["rag_sample *"]),
        (("--markers",), ["@pytest.mark.rag_scenario(file, variant=''): *"]),
    ],
)
def test_what_only_looks_scores_nothing(
    project: Project, args: tuple[str, ...], shown: list[str]
) -> None:
    """[A2, E13] It shows the cases; gates where it only collects (E28). No folder is written."""
    result = green(project.pytest(*args))
    result.stdout.fnmatch_lines(shown, consecutive="-q" in args)
    assert _scored(project) == []
    assert project.wrote_nothing


def test_the_plugin_can_be_switched_off(project: Project) -> None:
    """``-p no:rageval``: the scenario is no test file then."""
    project.pytester.makepyfile("def test_passes(): pass")
    result = project.pytest("-p", "no:rageval")
    result.assert_outcomes(passed=1)
    assert _scored(project) == []
    assert project.wrote_nothing


def test_the_plugin_can_be_loaded_by_its_module(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where plugins are not loaded by themselves."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS")
    green(project.pytest("-p", "pytest_rageval.plugin.hooks"))
    assert project.gates()["witness.mean"] == "passed"


@pytest.mark.full
def test_stepwise_goes_on_at_the_case_that_failed(project: Project) -> None:
    """[A2, E4] b fails; with a better answer the next run begins there, and decides no gate."""
    text = """
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        gates: {em: 0.1}
        dataset:
          - {id: a, answer: Paris, references: [Paris]}
          - {id: b, answer: Rome, references: [Paris]}
          - {id: c, answer: Paris, references: [Paris]}
    """
    project.scenario(text)
    project.pytest("--stepwise").assert_outcomes(passed=1, failed=1, skipped=2)
    project.scenario(text.replace("Rome", "Paris"))
    result = project.pytest("--stepwise")
    result.assert_outcomes(passed=2, deselected=1, skipped=2)
    assert project.outcomes() == {"b": "passed", "c": "passed"}
