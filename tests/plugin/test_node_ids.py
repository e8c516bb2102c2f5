"""Each sample is a case ``<file>::<sample id>``, which can be selected and stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em]
    thresholds: {em: 1.0}
    dataset: qa.jsonl
"""


def _row(sample_id: str | None, answer: str = "Paris") -> dict[str, Any]:
    row: dict[str, Any] = {"answer": answer, "references": ["Paris"]}
    return row if sample_id is None else {"id": sample_id, **row}


def _node_ids(project: Project, *args: str) -> list[str]:
    """Return the node ids of a run, in order, as the reports have them."""
    result = project.pytester.inline_run(*args)
    reports = result.getreports("pytest_runtest_logreport")
    return [report.nodeid for report in reports if report.when == "call"]


@pytest.fixture
def three(project: Project) -> Project:
    """Return a project with the samples alpha, beta (which fails) and gamma."""
    project.scenario(SCENARIO)
    project.rows([_row("alpha"), _row("beta", "Rome"), _row("gamma")])
    return project


@pytest.mark.full
def test_lf_runs_what_failed(three: Project, run: Run) -> None:
    """[A2, E1] ``beta`` failed; with a better answer it passes, and then all three run again.

    The heading of the failure keeps the dots of the file name.
    """
    result = run()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*___ qa: beta*___*", "FAILED qa.rageval.yaml::beta*"])
    three.rows([_row("alpha"), _row("beta"), _row("gamma")])
    run("--lf").assert_outcomes(passed=1)
    three.pytest("--lf").assert_outcomes(passed=3)


ODD = [
    "a::b",
    "x[1]",
    "two words",
    "双源CT成像技术",
    "line\nbreak",
    "n" * 1000,
    "lone \ud800 surrogate",
    "tab\tand\x1b[31mescape",
    "-k",
    "a/b.py",
    "::",
    "ends:",
    "'quoted\"",
    "%s{}",
]


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)], ids=["plain", "xdist"]
)
def test_odd_ids_make_distinct_cases(project: Project, args: tuple[str, ...]) -> None:
    """[A2] 14 ids that terminals, node ids or xdist could stumble over; results keep them raw."""
    project.scenario(SCENARIO)
    project.rows([_row(sample_id) for sample_id in ODD])
    project.pytest("-v", *args).assert_outcomes(passed=len(ODD))
    assert [sample["id"] for sample in project.results()["samples"]] == ODD


@pytest.mark.full
def test_cases_with_odd_ids_can_be_selected(project: Project) -> None:
    """[A2] By the node ids of their own reports, which are the same in every run, and by --lf."""
    project.scenario(SCENARIO)
    project.rows([_row("first"), *(_row(odd, "Rome") for odd in ODD), _row("last")])
    failed = _node_ids(project)[1:-1]
    assert len(set(failed)) == len(ODD)
    assert _node_ids(project, "--lf") == failed
    assert _node_ids(project, *failed) == failed


def test_no_sample_has_the_node_id_of_a_gate(project: Project) -> None:
    """[A2, E3] Else a gate's verdict would be taken for that of the sample, and the reverse."""
    project.scenario(SCENARIO + "    gates: {em: 1}\n")
    project.rows([_row("gate:em.mean"), _row("gate:unscored")])
    node_ids = _node_ids(project)
    assert len(node_ids) == 4
    assert len(set(node_ids)) == 4
