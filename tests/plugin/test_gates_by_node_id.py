"""Gates by their node ids: remembered by --lf, given back to pytest, deselected."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, red

SCENARIO = """
    name: qa
    metrics: [em]
    thresholds: {em: 0.5}
    tolerate: pass_rate
    gates: {em: 0.9, pass_rate: 0.1}
    dataset: qa.jsonl
"""
TEST = "def test_plain():\n    assert {}\n"


@pytest.fixture
def failing(project: Project) -> Project:
    """Return a project in which a gate (mean 0.75) and a plain test failed."""
    project.scenario(SCENARIO)
    project.rows(
        [
            {"id": f"s{at}", "answer": "Paris" if at else "Rome", "references": ["Paris"]}
            for at in range(4)
        ]
    )
    project.file("test_plain.py", TEST.format("False"))
    project.pytest().assert_outcomes(failed=2, passed=5, xfailed=1)
    return project


@pytest.mark.full
def test_lf_does_not_forget_a_gate_that_failed(failing: Project, run: Run) -> None:
    """[G6] The test is mended, the gate is not: all cases run, and it fails again."""
    failing.file("test_plain.py", TEST.format("1 == 1"))
    red(run("--lf"))
    assert failing.gates() == {"em.mean": "failed", "pass_rate": "passed", "unscored": "passed"}
    run("--lf", "--deselect=qa.rageval.yaml::s3")  # as after --lf -x, it is not decided
    assert failing.gates()["em.mean"] == "skipped"
    red(run("--lf"))
    assert failing.results()["counts"]["ran"] == 4


@pytest.mark.full
def test_a_gate_that_passes_again_is_forgotten(failing: Project) -> None:
    """[G6] Then --lf has nothing left of the scenario."""
    failing.rows([{"id": "s0", "answer": "Paris", "references": ["Paris"]}])
    failing.pytest("--lf").assert_outcomes(failed=1, passed=1 + 3)
    failing.pytest("--lf").assert_outcomes(failed=1)


@pytest.mark.full
@pytest.mark.parametrize(
    "how",
    [["qa.rageval.yaml::gate:em.mean"], ["--rag-scenario=qa.rageval.yaml::gate:em.mean"]],
    ids=["argument", "option"],
)
def test_a_gate_is_selected_by_its_node_id(failing: Project, run: Run, how: list[str]) -> None:
    """[G6] It needs every sample: all cases of its scenario run, and no other test."""
    run(*how).assert_outcomes(failed=1, passed=3 + 2, xfailed=1)


@pytest.mark.full
def test_a_gate_is_deselected_by_its_node_id(failing: Project, run: Run) -> None:
    """[G6] Skipped, and named as such; strict or not."""
    result = run("qa.rageval.yaml", "--deselect=qa.rageval.yaml::gate:em.mean", "-rs")
    result.assert_outcomes(passed=3 + 2, xfailed=1, skipped=1)
    result.stdout.fnmatch_lines(["gate em.mean *skipped deselected (0.7500 < 0.9000)"])


@pytest.mark.parametrize("variants", [["dense", "sparse"], ["dense (v2)", "sparse (v1)"]])
def test_lf_does_not_forget_a_gate_of_a_variant(project: Project, variants: list[str]) -> None:
    """[G6] Nor does its node id from the summary lead nowhere."""
    project.rows([{"id": "a", "answer": "Paris", "references": ["Paris"]}])
    project.scenario(
        "name: qa\nmetrics: [em]\ndataset: qa.jsonl\nvariants:\n"
        f'  "{variants[0]}": {{gates: {{em: 0.9}}}}\n'
        f'  "{variants[1]}": {{gates: {{em: {{max: 0.5}}}}}}\n'
    )
    failed = f"qa.rageval.yaml::{variants[1]}::gate:em.mean"
    for args in ([], ["--lf"], [failed]):
        result = red(project.pytest(*args))
        assert f"FAILED {failed}" in result.stdout.str()


@pytest.mark.parametrize("folder", ["d", "d (1)", "d[1]"])
@pytest.mark.parametrize("given", ["", ", k"])
def test_lf_does_not_forget_a_gate_of_a_test_in_any_folder(
    project: Project, folder: str, given: str
) -> None:
    """[G6] The test is mended, the gate of another one is not."""
    project.file("qa.yaml", "name: qa\nmetrics: [em]\ngates: {em: {max: 0.5}}\ndataset: qa.jsonl\n")
    project.rows([{"id": "a", "answer": "Paris", "references": ["Paris"]}])
    mark = "@pytest.mark.parametrize('k', ['(x)'])\n" if given else ""
    project.file(
        f"{folder}/test_bot.py",
        f"import pytest\n\n{mark}@pytest.mark.rag_scenario('qa.yaml')\n"
        f"def test_bot(rageval{given}):\n    rageval.check()\n",
    )
    project.file("test_plain.py", TEST.format("False"))
    project.pytest().assert_outcomes(failed=2, passed=2)
    project.file("test_plain.py", TEST.format("1 == 1"))
    result = red(project.pytest("--lf"))
    result.stdout.fnmatch_lines(["FAILED d*::test_bot*::gate:em.mean*"])
