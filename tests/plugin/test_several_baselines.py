"""F7: a run against several baselines: each has its table and its gates, a pinned one stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

PLAIN = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
"""
GATES = "    gates: {no_regression: {metrics: [em], max_drop: 0.02}}\n"
PINNED = "{baseline: release-1.4, looks: 50}"
BOTH = f"{PLAIN}    compare: [main, {PINNED}]\n{GATES}"
RELEASE, MAIN = (f".rageval/qa/baselines/{name}.json" for name in ("release-1.4", "main"))
OF_MAIN, OF_RELEASE = "no_regression.main.em", "no_regression.release-1.4.em"


def rows(wrong: int = 0, question: str = "Capital?") -> list[dict[str, Any]]:
    """Return 40 rows; the first ``wrong`` are wrong, and the last one has the ``question``."""
    return [
        {
            "id": f"s{at}",
            "question": "Capital?" if at < 39 else question,
            "answer": "Rome" if at < wrong else "Paris",
            "references": ["Paris"],
            "topic": f"t{at % 2}",
        }
        for at in range(40)
    ]


def saved(project: Project, name: str, wrong: int) -> None:
    """Save a run with so many wrong answers, compared with nothing."""
    project.rows(rows(wrong))
    assert project.pytest("--rag-save", name).ret == pytest.ExitCode.OK


@pytest.fixture
def fallen(project: Project) -> Project:
    """Return a project that fell slowly: 20 of 40 are wrong, as in ``main``, but none in 1.4.

    All 20 differences have one sign, p = 2/2^20, which is less than 0.05 / 50.
    """
    project.scenario(PLAIN)
    saved(project, "release-1.4", 0)
    saved(project, "main", 20)
    project.scenario(BOTH)
    return project


def mean(project: Project, file: str) -> float:
    found: float = json.loads((project.path / file).read_text("utf-8"))["weighted_score"]["mean"]
    return found


def refused(project: Project, *args: str) -> str:
    """Return what a run says that does not begin (exit status 4)."""
    before = project.path / ".rageval"
    known = sorted(before.rglob("results.json"))
    result = project.pytest(*args)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert "Traceback" not in text
    assert sorted(before.rglob("results.json")) == known
    return text


# The verdict


def test_a_slow_fall_is_red_against_the_pinned_run_alone(fallen: Project, run: Run) -> None:
    """One gate and one table for each, with the alpha of one look."""
    result = run("-v")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {OF_MAIN: "passed", OF_RELEASE: "failed", "unscored": "passed"}
    result.stdout.fnmatch_lines(
        [
            f"*::gate:{OF_MAIN} PASSED*",
            f"*::gate:{OF_RELEASE} FAILED*",
            "A this run, B main, test permutation, alpha 0.05",
            "A this run, B release-1.4, test permutation, alpha 0.001 (one of 50 looks*0.05)",
        ]
    )
    found = fallen.results()
    first, second = found["comparisons"]
    assert found["comparison"] == first
    assert [one["baseline"] for one in (first, second)] == ["main", "release-1.4"]
    assert "looks" not in first
    assert (second["looks"], second["alpha"]) == (50, pytest.approx(0.001))
    assert [one["metrics"]["em"]["diff"] for one in (first, second)] == [0.0, -0.5]
    by_name = {gate["name"]: gate for gate in found["gates"]}
    assert (by_name[OF_RELEASE]["baseline"], by_name[OF_RELEASE]["metric"]) == ("release-1.4", "em")


def test_one_entry_keeps_its_gate_names(fallen: Project) -> None:
    fallen.scenario(f"{PLAIN}    compare: [{PINNED}]\n{GATES}")
    assert fallen.pytest().ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {"no_regression": "failed", "unscored": "passed"}


def test_a_gate_may_name_the_one_that_it_is_for(fallen: Project) -> None:
    gates = "    gates: {no_regression: {baseline: main, metrics: [em], max_drop: 0.02}}\n"
    fallen.scenario(f"{PLAIN}    compare: [main, {PINNED}]\n{gates}")
    assert fallen.pytest().ret == pytest.ExitCode.OK
    assert fallen.gates() == {"no_regression": "passed", "unscored": "passed"}
    assert len(fallen.results()["comparisons"]) == 2


@pytest.mark.parametrize("way", ["typed", "variable", "addopts and typed"])
def test_the_option_may_be_given_twice(
    fallen: Project, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each name is a run of its own, whichever way it is given."""
    fallen.scenario(f"{PLAIN}")
    args = ["--rag-compare-fail=em:0.02"]
    if way == "variable":
        monkeypatch.setenv("RAGEVAL_COMPARE", "main; release-1.4")
    elif way == "typed":
        args += ["--rag-compare=main", "--rag-compare", "release-1.4"]
    else:
        fallen.pytester.makeini("[pytest]\naddopts = --rag-compare=main")
        args += ["--rag-compare=release-1.4"]
    assert fallen.pytest(*args).ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {
        "compare_fail.main.em": "passed",
        "compare_fail.release-1.4.em": "failed",
        "unscored": "passed",
    }
    assert [one["baseline"] for one in fallen.results()["comparisons"]] == ["main", "release-1.4"]


@pytest.mark.parametrize("args", [("main",), ("main", "main"), ("main", "release-1.4")])
def test_an_option_takes_no_pinned_run_away(fallen: Project, args: tuple[str, ...]) -> None:
    """Nor its looks, whichever runs it names, and how often."""
    result = fallen.pytest(*(f"--rag-compare={name}" for name in args))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates()[OF_RELEASE] == "failed"
    assert [one.get("looks") for one in fallen.results()["comparisons"]] == [None, 50]


def test_slices_have_a_gate_for_each_run(fallen: Project) -> None:
    gates = "    gates: {by: {topic: {no_regression: {metrics: [em], max_drop: 0.02}}}}\n"
    fallen.scenario(f"{PLAIN}    compare: [main, release-1.4]\n{gates}")
    assert fallen.pytest().ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {
        "by.topic.no_regression.main.em": "passed",
        "by.topic.no_regression.release-1.4.em": "failed",
        "unscored": "passed",
    }


# Missing, damaged, incomparable


def test_a_first_run_needs_the_pinned_one_first(project: Project) -> None:
    """Neither is there: the message says which commands lead on, and they do."""
    project.scenario(BOTH)
    project.rows(rows())
    for args in ((), ("--rag-save=main",), ("--rag-save=release-1.4",)):
        text = refused(project, *args)
        assert "no saved run" in text
        name = "main" if "--rag-save=release-1.4" in args else "release-1.4"
        assert f"no other: --rag-set compare={name} --rag-save {name}" in text
    args = ("--rag-set", "compare=release-1.4", "--rag-save=release-1.4")
    assert project.pytest(*args).ret == pytest.ExitCode.OK
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    assert project.gates() == {OF_MAIN: "skipped", OF_RELEASE: "passed", "unscored": "passed"}
    assert [one["baseline"] for one in project.results()["comparisons"]] == ["release-1.4"]
    assert project.pytest().ret == pytest.ExitCode.OK
    assert len(project.results()["comparisons"]) == 2


def test_a_pinned_run_that_is_gone_is_no_green(fallen: Project) -> None:
    """Not when ``main`` is saved, either: only who names it saves it anew, and that is said."""
    (fallen.path / RELEASE).unlink()
    for args in ((), ("--rag-save=main",), ("--rag-save-failed=main",), ("--rag-strict",)):
        text = refused(fallen, *args)
        assert "no saved run 'release-1.4'" in text
        assert "Put it back, or pin this run in its place: --rag-save release-1.4" in text
    result = fallen.pytest("--rag-save=release-1.4")
    assert result.ret == pytest.ExitCode.OK
    assert fallen.gates()[OF_RELEASE] == "skipped"
    result.stdout.fnmatch_lines(["not compared: *no saved run 'release-1.4'*"])
    result.stdout.fnmatch_lines(
        [f"baseline release-1.4 saved: {RELEASE}; it was not there, and is pinned from now on"]
    )
