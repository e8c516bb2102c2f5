"""Values from the command line replace those of the file, and the run says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# "in Paris": em 0, acc 1. "Paris": em 1, acc 1.
BASE = """
    name: qa
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 1}
    dataset:
      - {id: a, doc_name: a.pdf, answer: in Paris, references: [Paris]}
      - {id: b, doc_name: b.pdf, answer: Paris, references: [Paris]}
"""


def test_a_metric_weight_is_replaced(project: Project, run: Run) -> None:
    """[A14] acc weighs 3: sample a has (1*0 + 3*1)/4 = 0.75; the snapshot has what ran."""
    project.scenario(BASE)
    run("--rag-metric-weight", "acc=3")
    results = project.results()
    assert results["samples"][0]["weighted_score"] == 0.75
    assert results["scenario"]["overridden"] == ["metric_weights.acc"]
    text = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    assert "# overridden: metric_weights.acc" in text
    assert yaml.safe_load(text)["metric_weights"] == {"em": 1.0, "acc": 3.0}


def test_a_document_weight_is_replaced(project: Project) -> None:
    """[A14] em 0 and 1 with weights 1 and 3: 0.75; the dot in the name is no path."""
    project.scenario(BASE)
    project.pytest("--rag-doc-weight", "b.pdf=3")
    results = project.results()
    assert [sample["sample_weight"] for sample in results["samples"]] == [1.0, 3.0]
    assert results["metrics"]["em"]["weighted_mean"] == 0.75


def test_a_threshold_is_added(project: Project) -> None:
    """[A14] Sample a has em 0 < 0.5."""
    project.scenario(BASE)
    result = project.pytest("--rag-threshold=em=0.5")
    result.assert_outcomes(passed=1, failed=1)
    assert project.results()["scenario"]["overridden"] == ["thresholds.em"]


def test_a_gate_is_added(project: Project) -> None:
    """[A14] The mean of em is 0.5 < 0.6: two cases and the gate ``unscored`` pass."""
    project.scenario(BASE)
    result = project.pytest("--rag-gate=em=0.6")
    result.assert_outcomes(passed=3, failed=1)
    assert project.gates()["em.mean"] == "failed"


def test_a_gate_with_several_checks_keeps_the_others(project: Project) -> None:
    """[A14] A number means the mean: 0.5 >= 0.4 instead of < 0.9."""
    project.scenario(BASE + "    gates: {em: {mean: 0.9}}\n")
    assert project.pytest("--rag-gate=em=0.4").ret == pytest.ExitCode.OK
    assert project.results()["scenario"]["overridden"] == ["gates.em.mean"]


def test_any_value_is_set_by_its_path(project: Project) -> None:
    """[A14] Read as YAML; several in one run."""
    project.scenario(BASE)
    result = project.pytest(
        "--rag-set=description=from the shell", "--rag-set", "bands={good: 0.5, warn: 0.1}"
    )
    assert result.ret == pytest.ExitCode.OK
    snapshot = yaml.safe_load((project.folder() / "scenario.snapshot.yaml").read_text("utf-8"))
    assert snapshot["description"] == "from the shell"
    assert snapshot["bands"] == {"good": 0.5, "warn": 0.1}
    assert project.results()["scenario"]["overridden"] == ["description", "bands"]


def test_a_key_with_dots_is_quoted(project: Project) -> None:
    """[A14] em 0 and 1 with weights 3 and 1: 0.25."""
    project.scenario(BASE)
    project.pytest("--rag-set", 'doc_weights."a.pdf"=3')
    assert project.results()["metrics"]["em"]["weighted_mean"] == 0.25


def test_overrides_hold_for_every_scenario(project: Project) -> None:
    """[A14] em 0 and 1 against 0.5, twice."""
    project.scenario(BASE.replace("name: qa", "name: first"), "first")
    project.scenario(BASE.replace("name: qa", "name: second"), "second")
    project.pytest("--rag-threshold=em=0.5").assert_outcomes(passed=2, failed=2)


def test_the_file_is_not_edited(project: Project) -> None:
    """[A14] Not a byte."""
    path = project.scenario(BASE)
    before = path.read_bytes()
    project.pytest("--rag-metric-weight=acc=3", "--rag-set=name=other")
    assert path.read_bytes() == before
    assert len(project.folders("other")) == 1


def test_nothing_is_on_record_without_overrides(project: Project) -> None:
    """[A14] An empty list."""
    project.scenario(BASE)
    project.pytest()
    assert project.results()["scenario"]["overridden"] == []


@pytest.mark.parametrize(
    "option",
    [
        "--rag-metric-weight=em",
        "--rag-metric-weight=em=heavy",
        "--rag-metric-weight==1",
        "--rag-metric-weight=em=nan",
        "--rag-doc-weight=a.pdf:2",
        "--rag-threshold=0.5",
        "--rag-threshold=em=",
        "--rag-gate=em>0.5",
        "--rag-gate=em=inf",
        "--rag-set=dataset.limit",
        "--rag-set==5",
        "--rag-set=a..b=5",
        "--rag-set=a={unclosed",
    ],
)
def test_an_override_that_cannot_be_read_is_wrong_use(project: Project, option: str) -> None:
    """[A14, E12] Exit status 4, quoting what was written; nothing runs."""
    project.scenario(BASE)
    result = project.pytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    flag, _, text = option.partition("=")
    result.stderr.fnmatch_lines([f"ERROR: {flag} {text}:*"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert project.wrote_nothing


def test_wrong_use_is_found_under_xdist_too(project: Project) -> None:
    """[A14, E12] Before any worker starts."""
    project.scenario(BASE)
    result = project.pytest("--rag-threshold=0.5", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--rag-metric-weight=emm=1", "*--rag-metric-weight emm=1: *emm*Did you mean 'em'?*"),
        ("--rag-threshold=f1=0.5", "*--rag-threshold f1=0.5: *f1*not among*"),
        ("--rag-threshold=em=7", "*--rag-threshold em=7: *outside*0..1*"),
        ("--rag-gate=pas_rate=0.5", "*--rag-gate pas_rate=0.5: *Did you mean 'pass_rate'?*"),
        ("--rag-set=metrcs=[em]", "*--rag-set metrcs=[[]em]: *Did you mean 'metrics'?*"),
        ("--rag-set=name.first=x", "*--rag-set name.first=x: *"),
        ("--rag-limit=0", "*--rag-limit 0: *"),
    ],
)
def test_an_override_that_no_scenario_can_use_names_its_option(
    project: Project, option: str, message: str
) -> None:
    """[A14, E12] As a mistake of the scenario would be, with the option for its place."""
    project.scenario(
        """
        name: qa
        metrics: [em]
        dataset: {rows: [{answer: a, references: [a]}]}
        """
    )
    result = project.pytest(option)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
    assert "Traceback" not in result.stdout.str()


def test_the_environment_overrides_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """[A14] ``RAGEVAL_THRESHOLD``, several separated by ``;``: a fails both, b none."""
    monkeypatch.setenv("RAGEVAL_THRESHOLD", "em=0.5;weighted_score=0.9")
    project.scenario(BASE)
    project.pytest().assert_outcomes(passed=1, failed=1)
    assert project.results()["scenario"]["overridden"] == [
        "thresholds.em",
        "thresholds.weighted_score",
    ]
