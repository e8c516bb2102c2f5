"""Values from the command line replace those of the file, and the run says which."""

from __future__ import annotations

import pytest
import yaml

from tests.plugin.conftest import Project, Run, wrong_use

# "in Paris": em 0, acc 1. "Paris": em 1, acc 1.
BASE = """
    name: qa
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 1}
    gates: {em: {mean: 0.9}}
    dataset:
      - {id: a, doc_name: a.pdf, answer: in Paris, references: [Paris]}
      - {id: b, doc_name: b.pdf, answer: Paris, references: [Paris]}
"""


def test_values_are_replaced_and_on_record(project: Project, run: Run) -> None:
    """[A14] em 0 and 1, documents 1 and 3: 0.75, in the gate's reach; a has (0 + 3·1)/4 = 0.75.

    The snapshot has what ran, and the file stays as it is.
    """
    path = project.scenario(BASE)
    before = path.read_bytes()
    options = ("--rag-doc-weight", "b.pdf=3", "--rag-gate=em=0.7", "--rag-set=description=shell")
    assert run("--rag-metric-weight", "acc=3", *options).ret == pytest.ExitCode.OK
    results = project.results()
    assert results["samples"][0]["weighted_score"] == 0.75
    assert results["metrics"]["em"]["weighted_mean"] == 0.75
    names = ["metric_weights.acc", "doc_weights.b.pdf", "gates.em.mean", "description"]
    assert results["scenario"]["overridden"] == names
    text = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    assert [line[14:] for line in text.splitlines() if line.startswith("# overridden: ")] == names
    snapshot = yaml.safe_load(text)
    assert snapshot["metric_weights"] == {"em": 1.0, "acc": 3.0}
    assert snapshot["description"] == "shell"
    assert path.read_bytes() == before


def test_overrides_hold_for_every_scenario(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A14] em 0 and 1 against 0.5, twice; from the environment, too."""
    monkeypatch.setenv("RAGEVAL_SET", "gates=null")
    project.scenario(BASE.replace("name: qa", "name: first"), "first")
    project.scenario(BASE.replace("name: qa", "name: second"), "second")
    project.pytest("--rag-threshold=em=0.5").assert_outcomes(passed=2, failed=2)
    assert project.results("first")["scenario"]["overridden"] == ["thresholds.em", "gates"]


@pytest.mark.parametrize("args", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_an_override_that_cannot_be_read_is_wrong_use(
    project: Project, args: tuple[str, ...]
) -> None:
    """[A14, E12] Exit status 4 before anything runs, or any worker starts."""
    project.scenario(BASE)
    result = wrong_use(project.pytest("--rag-threshold=0.5", *args))
    result.stderr.fnmatch_lines(["ERROR: --rag-threshold 0.5:*"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert project.wrote_nothing
