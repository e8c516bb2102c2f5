"""``tolerate: pass_rate``: a case below its threshold is xfailed, and the gate decides."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

# em 1, 1, 0: two of three meet em >= 1, a rate of 0.6667.
THREE = """
    name: qa
    metrics: [em]
    tolerate: pass_rate
    thresholds: {em: 1}
    gates: {pass_rate: RATE}
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
      - {id: b, answer: Paris, references: [Paris]}
      - {id: c, answer: Rome, references: [Paris]}
"""


@pytest.mark.parametrize(("rate", "verdict", "status"), [(0.66, "passed", 0), (0.67, "failed", 1)])
def test_the_gate_decides(
    project: Project, run: Run, rate: float, verdict: str, status: int
) -> None:
    """[A10] 2/3 >= 0.66 and 2/3 < 0.67; the case below is xfailed with its verdict."""
    project.scenario(THREE.replace("RATE", str(rate)))
    result = run("-rx")
    result.assert_outcomes(passed=4 - status, failed=status, xfailed=1)
    assert result.ret == status
    assert project.outcomes() == {"a": "passed", "b": "passed", "c": "xfailed"}
    assert project.gates()["pass_rate"] == verdict
    result.stdout.fnmatch_lines(["XFAIL qa.rageval.yaml::c*em 0.0000 < 1.0000*"])


def test_runxfail_tolerates_nothing(project: Project) -> None:
    """[A10] The case fails, although the rate is high enough."""
    project.scenario(THREE.replace("RATE", "0.5"))
    project.pytest("--runxfail").assert_outcomes(passed=2 + 2, failed=1)


def test_runxfail_is_known_to_the_page(project: Project) -> None:
    """[A10] With other weights, what falls below its threshold there fails, as it would here."""
    project.scenario(THREE.replace("RATE", "0.5"))
    assert project.pytest("--runxfail", "--rag-report=html").ret == 1
    page = (project.folder() / "report.html").read_text("utf-8")
    assert '"tolerate":false,"expects_failures":false' in page
