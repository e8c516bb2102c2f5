"""Each sample is a case ``<file>::<sample id>``, which can be selected and stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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
    return [report.nodeid for report in reports if report.when == "setup"]


@pytest.fixture
def three(project: Project) -> Project:
    """Return a project with the samples alpha, beta (which fails) and gamma."""
    project.scenario(SCENARIO)
    project.rows([_row("alpha"), _row("beta", "Rome"), _row("gamma")])
    return project


def test_a_node_id_is_the_file_and_the_sample_id(three: Project) -> None:
    """[A2] In the order of the data."""
    assert _node_ids(three) == [
        "qa.rageval.yaml::alpha",
        "qa.rageval.yaml::beta",
        "qa.rageval.yaml::gamma",
    ]


def test_a_sample_without_id_is_numbered_by_its_row(project: Project) -> None:
    """[A2] From 1 in file order, counting rows that have an id of their own."""
    project.scenario(SCENARIO)
    project.rows([_row(None), _row("named"), _row(None)])
    assert _node_ids(project) == [
        "qa.rageval.yaml::sample-1",
        "qa.rageval.yaml::named",
        "qa.rageval.yaml::sample-3",
    ]


def test_numbers_do_not_change_by_shuffling(project: Project) -> None:
    """[A2] The same ids, whatever their order."""
    project.rows([_row(None) for _ in range(8)])
    project.scenario(SCENARIO.replace("dataset: qa.jsonl", "dataset: {path: qa.jsonl}"))
    in_file_order = _node_ids(project)
    shuffled = _node_ids(project, "--rag-set=dataset.shuffle=true")
    assert shuffled != in_file_order
    assert sorted(shuffled) == sorted(in_file_order)


def test_a_node_id_on_the_command_line_selects_its_case(three: Project, run: Run) -> None:
    """[A2] One of three."""
    run("qa.rageval.yaml::gamma").assert_outcomes(passed=1)


def test_k_selects_by_sample_id(three: Project) -> None:
    """[A2] ``alpha`` and ``gamma`` of three."""
    three.pytest("-k", "alpha or gamma").assert_outcomes(passed=2, deselected=1)


def test_deselect_leaves_a_case_out(three: Project) -> None:
    """[A2] ``beta``, which would fail."""
    result = three.pytest("--deselect", "qa.rageval.yaml::beta")
    result.assert_outcomes(passed=2, deselected=1)


def test_lf_runs_what_failed(three: Project, run: Run) -> None:
    """[A2] ``beta`` failed; with a better answer it passes, and then all three run again."""
    run().assert_outcomes(passed=2, failed=1)
    three.rows([_row("alpha"), _row("beta"), _row("gamma")])
    run("--lf").assert_outcomes(passed=1)
    three.pytest("--lf").assert_outcomes(passed=3)


def test_lf_comes_back_after_a_failed_gate(project: Project) -> None:
    """[A2, E3] A gate is no item: with only a gate failed before, ``--lf`` runs everything."""
    project.scenario(SCENARIO.replace("thresholds: {em: 1.0}", "gates: {em: 0.9}"))
    project.rows([_row("alpha"), _row("beta", "Rome")])
    project.pytest().assert_outcomes(passed=3, failed=1)
    project.pytest("--lf").assert_outcomes(passed=3, failed=1)


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


def test_odd_ids_make_distinct_cases(project: Project, run: Run) -> None:
    """[A2] 14 ids that terminals, node ids or xdist could stumble over; results keep them raw."""
    project.scenario(SCENARIO)
    project.rows([_row(sample_id) for sample_id in ODD])
    run("-v").assert_outcomes(passed=len(ODD))
    assert [sample["id"] for sample in project.results()["samples"]] == ODD


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_a_case_with_an_odd_id_can_be_selected(project: Project, odd: str) -> None:
    """[A2] By the node id that its own report shows, among others."""
    project.scenario(SCENARIO)
    project.rows([_row("first"), _row(odd), _row("last")])
    node_id = _node_ids(project)[1]
    assert _node_ids(project, node_id) == [node_id]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_lf_finds_a_case_with_an_odd_id(project: Project, odd: str) -> None:
    """[A2] One of two failed and runs again."""
    project.scenario(SCENARIO)
    project.rows([_row("first"), _row(odd, "Rome")])
    failed = _node_ids(project)[1]
    assert _node_ids(project, "--lf") == [failed]


def test_ids_that_look_the_same_once_they_are_printable_stay_apart(project: Project) -> None:
    """[A2] Also when the second already bears the name that the first would be given."""
    project.scenario(SCENARIO)
    project.rows([_row(odd) for odd in ("a:b~2", "a:b", "a::b", "n" * 500, "n" * 501)])
    node_ids = _node_ids(project)
    assert len(set(node_ids)) == 5
    assert node_ids[:2] == ["qa.rageval.yaml::a:b~2", "qa.rageval.yaml::a:b"]


def test_node_ids_are_the_same_in_every_run(project: Project) -> None:
    """[A2] Odd ones included."""
    project.scenario(SCENARIO)
    project.rows([_row(odd) for odd in ODD])
    assert _node_ids(project) == _node_ids(project)


def test_a_duplicate_id_is_refused(project: Project) -> None:
    """[A2, E12] With both lines."""
    project.scenario(SCENARIO)
    project.rows([_row("same"), _row("other"), _row("same")])
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.jsonl:3: duplicate id 'same' (first on line 1)*"])


def test_the_heading_of_a_failure_names_the_case(three: Project) -> None:
    """[E1] And keeps the dots of the file name."""
    result = three.pytest()
    result.stdout.fnmatch_lines(["*___ qa: beta*___*", "FAILED qa.rageval.yaml::beta*"])


def test_no_sample_has_the_node_id_of_a_gate(project: Project) -> None:
    """[A2, E3] Else a gate's verdict would be taken for that of the sample, and the reverse."""
    project.scenario(SCENARIO + "    gates: {em: 1}\n")
    project.rows([_row("gate:em.mean"), _row("gate:unscored")])
    node_ids = _node_ids(project)
    assert len(node_ids) == 4
    assert len(set(node_ids)) == 4
