"""Tags of a row are markers; rows can be skipped or expected to fail, by column or condition."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import Project, Run, green, red

SCENARIO = """
    name: qa
    metrics: [em]
    thresholds: {em: 1}
    dataset: qa.jsonl
"""


def _row(name: str, answer: str = "Paris", **more: Any) -> dict[str, Any]:
    return {"id": name, "answer": answer, "references": ["Paris"], **more}


@pytest.mark.full
def test_m_selects_by_tag(project: Project, run: Run) -> None:
    """[E7] ``fast`` but not ``flaky``: first only, although nobody registered the tags.

    A topic called "skip" switches nothing off.
    """
    project.scenario(SCENARIO)
    project.rows([
        _row("first", tags=["fast"]),
        _row("second", tags=["fast", "flaky"]),
        _row("third", tags=["two words", "\ud800", "skip"]),
        _row("fourth"),
    ])  # fmt: skip
    result = run("--strict-markers", "-m", "fast and not flaky", "-W", "error")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 1
    assert project.outcomes() == {"first": "passed"}
    project.pytest("--strict-markers", "-W", "error").assert_outcomes(passed=4)


def test_rows_are_skipped_or_expected_to_fail_with_their_reasons(
    project: Project, run: Run
) -> None:
    """[E7] By their own columns and by conditions. A skipped row is not scored, the others are.

    em 1, 0, 0: 1/3.
    """
    project.scenario(SCENARIO + "    xfail: [{where: {level: [2, 3]}, reason: issue 8}]\n")
    project.rows(
        [
            _row("first", tags="easy, fast"),
            _row("second", "Rome", skip="no answer yet"),
            _row("third", "Rome", xfail="issue 7"),
            _row("fourth", "Rome", level="3"),
        ]
    )
    result = green(run("-rsx"))
    result.assert_outcomes(passed=1, skipped=1, xfailed=2)
    result.stdout.fnmatch_lines_random(
        [
            "SKIPPED *no answer yet*",
            "XFAIL *qa.rageval.yaml::third*issue 7*",
            "XFAIL *qa.rageval.yaml::fourth*issue 8*",
        ]
    )
    results = project.results()
    assert list(project.outcomes().values()) == ["passed", "skipped", "xfailed", "xfailed"]
    assert results["samples"][1]["weighted_score"] is None
    assert results["metrics"]["em"]["mean"] == pytest.approx(1 / 3)
    assert results["complete"] is True


@pytest.mark.parametrize(
    ("answer", "args", "counted", "outcome"),
    [
        ("Paris", (), {"xpassed": 1}, "passed"),
        ("Paris", ("-o", "xfail_strict=true"), {"failed": 1}, "failed"),
        ("Rome", ("--runxfail",), {"failed": 1}, "failed"),
    ],
)
def test_expectations_count_as_pytest_has_it(
    project: Project, answer: str, args: tuple[str, ...], counted: dict[str, int], outcome: str
) -> None:
    """[E7] Of a row that passes, strictly, and with ``--runxfail``, which takes them back."""
    project.scenario(SCENARIO)
    project.rows([_row("first", answer, xfail="issue 7")])
    project.pytest(*args).assert_outcomes(**counted)
    assert project.outcomes() == {"first": outcome}


@pytest.mark.parametrize("judging", ["thresholds: {flaky: 1}", "gates: {flaky: 1}"])
def test_a_failed_metric_is_not_what_a_mark_expects(
    project: Project, run: Run, judging: str
) -> None:
    """The row is xfailed, but no score was there to be too low: em weighs all, and has one."""
    project.file("own.py", "def flaky(answer):\n    return 1 / (answer != 'boom')\n")
    project.scenario(
        SCENARIO.replace("[em]", "[em, {use: 'own:flaky'}]").replace("thresholds: {em: 1}", judging)
        + "    metric_weights: {em: 1, flaky: 0}\n"
    )
    project.rows([_row("first"), _row("second", "boom", xfail="issue 7")])
    result = red(run())
    assert project.outcomes() == {"first": "passed", "second": "xfailed"}
    assert project.gates()["unscored"] == "failed"
    result.stdout.fnmatch_lines(["*flaky missing on 1*"])


def test_a_run_that_skips_all_rows_is_not_green(project: Project, run: Run) -> None:
    """[E7] Nothing was tested: the gate on unscored samples fails, asked for or not."""
    project.scenario(SCENARIO)
    project.rows([_row("first", skip="not yet"), _row("second", skip="not yet")])
    result = red(run())
    result.assert_outcomes(skipped=2, failed=1)
    assert project.gates() == {"unscored": "failed"}
