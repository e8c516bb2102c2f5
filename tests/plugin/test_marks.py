"""Tags of a row are markers; rows can be skipped or expected to fail, by column or condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em]
    thresholds: {em: 1}
    dataset: qa.jsonl
"""


def _row(name: str, answer: str = "Paris", **more: Any) -> dict[str, Any]:
    return {"id": name, "answer": answer, "references": ["Paris"], **more}


def test_m_selects_by_tag(project: Project, run: Run) -> None:
    """[E7] ``fast`` but not ``flaky``: first only, although nobody registered the tags."""
    project.scenario(SCENARIO)
    project.rows([
        _row("first", tags=["fast"]),
        _row("second", tags=["fast", "flaky"]),
        _row("third"),
    ])  # fmt: skip
    result = run("--strict-markers", "-m", "fast and not flaky", "-W", "error")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 1
    assert project.outcomes() == {"first": "passed"}


@pytest.mark.parametrize(
    "tag",
    [
        "fast",
        "two words",
        "lang:zh",
        "中文",
        "v1.2",
        "a/b",
        "_private",
        "x(1)",
        "--",
        "\ud800",
        "3",
    ],
    ids=ascii,
)
def test_any_tag_passes_strict_markers(project: Project, tag: str) -> None:
    """[E7] Whatever the data call it; neither an error nor a warning of an unknown mark."""
    project.scenario(SCENARIO)
    project.rows([_row("first", tags=[tag])])
    result = project.pytest("--strict-markers", "-W", "error")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("tag", ["skip", "skipif", "xfail", "parametrize", "usefixtures"])
def test_a_tag_is_never_one_of_pytests_own_markers(project: Project, tag: str) -> None:
    """[E7] A topic called "skip" must not switch its samples off: em 0 < 1 fails."""
    project.scenario(SCENARIO)
    project.rows([_row("first", "Rome", tags=[tag])])
    project.pytest("--strict-markers").assert_outcomes(failed=1)


def test_tags_may_be_one_text(project: Project) -> None:
    """[E7] As a CSV cell has them."""
    (project.path / "qa.csv").write_text(
        'id,answer,references,tags\nfirst,Paris,Paris,"fast, easy"\nsecond,Paris,Paris,slow\n',
        "utf-8",
    )
    project.scenario(SCENARIO.replace("qa.jsonl", "qa.csv"))
    project.pytest("-m", "easy").assert_outcomes(passed=1, deselected=1)


def test_a_row_is_skipped_with_its_reason(project: Project, plain: Run) -> None:
    """[E7] The wrong row is not scored: its score is null and the mean that of the other, 1."""
    project.scenario(SCENARIO)
    project.rows([_row("first"), _row("second", "Rome", skip="no answer yet")])
    result = plain("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["SKIPPED *no answer yet*"])
    results = project.results()
    assert results["samples"][1]["weighted_score"] is None
    assert results["metrics"]["em"]["mean"] == 1.0
    assert results["complete"] is True


def test_a_row_is_expected_to_fail_with_its_reason(project: Project, run: Run) -> None:
    """[E7] It is scored and counts in the mean: (1 + 0)/2."""
    project.scenario(SCENARIO)
    project.rows([_row("first"), _row("second", "Rome", xfail="issue 7")])
    result = run("-rx")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["XFAIL *qa.rageval.yaml::second*issue 7*"])
    assert project.outcomes()["second"] == "xfailed"
    assert project.results()["metrics"]["em"]["mean"] == 0.5


def test_an_expected_failure_that_passes_is_xpassed(project: Project) -> None:
    """[E7] As pytest has it; with ``xfail_strict`` it fails."""
    project.scenario(SCENARIO)
    project.rows([_row("first", xfail="issue 7")])
    project.pytest().assert_outcomes(xpassed=1)
    assert project.outcomes() == {"first": "passed"}
    project.pytester.makeini("[pytest]\nxfail_strict = true")
    project.pytest().assert_outcomes(failed=1)
    assert project.outcomes() == {"first": "failed"}


def test_runxfail_takes_expectations_back(project: Project) -> None:
    """[E7] The row's reason does not count."""
    project.scenario(SCENARIO)
    project.rows([_row("first", "Rome", xfail="issue 7")])
    project.pytest("--runxfail").assert_outcomes(failed=1)


@pytest.mark.parametrize("value", [False, "", "no", "false", "0", 0, None])
def test_a_column_that_says_no_marks_nothing(project: Project, value: object) -> None:
    """[E7] In all the ways that data say it."""
    project.scenario(SCENARIO)
    project.rows([_row("first", skip=value, xfail=value)])
    project.pytest().assert_outcomes(passed=1)


def test_conditions_of_the_scenario_mark_rows(project: Project) -> None:
    """[E7] All of ``where`` must be met, a list means any; the row's own reason comes first."""
    project.scenario(
        SCENARIO
        + """
    skip:
      - {where: {level: hard, doc_name: [a.pdf, b.pdf]}, reason: too hard}
    xfail:
      - {where: {id: third}, reason: issue 8}
        """
    )
    project.rows(
        [
            _row("first", "Rome", level="hard", doc_name="b.pdf"),
            _row("second", level="hard", doc_name="c.pdf"),
            _row("third", "Rome", level="easy", doc_name="a.pdf"),
            _row("fourth", "Rome", level="hard", doc_name="a.pdf", skip="own reason"),
        ]
    )
    result = project.pytest("-rsx")
    result.assert_outcomes(passed=1, skipped=2, xfailed=1)
    assert project.outcomes() == {
        "first": "skipped",
        "second": "passed",
        "third": "xfailed",
        "fourth": "skipped",
    }
    for reason in ("too hard", "own reason", "issue 8"):
        assert reason in result.stdout.str()


def test_numbers_of_conditions_match_the_text_of_a_table(project: Project) -> None:
    """[E7] ``level: 3`` finds the "3" of a CSV file."""
    (project.path / "qa.csv").write_text(
        "id,answer,references,level\nfirst,Paris,Paris,3\nsecond,Paris,Paris,4\n", "utf-8"
    )
    text = SCENARIO.replace("qa.jsonl", "qa.csv")
    project.scenario(text + "    skip: [{where: {level: 3}, reason: hard}]\n")
    project.pytest().assert_outcomes(passed=1, skipped=1)
    assert project.outcomes()["first"] == "skipped"


def test_a_condition_on_a_field_that_no_row_has_is_refused(project: Project) -> None:
    """[E7, E12] It would silently mark nothing."""
    project.scenario(SCENARIO + "    skip: [{where: {levl: 3}}]\n")
    project.rows([_row("first", level=3)])
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.rageval.yaml:5: *'levl'*Did you mean 'level'?*"])


def test_a_run_that_skips_all_rows_is_not_green(project: Project, run: Run) -> None:
    """[E7] Nothing was tested: the gate on unscored samples fails, asked for or not."""
    project.scenario(SCENARIO)
    project.rows([_row("first", skip="not yet"), _row("second", skip="not yet")])
    result = run()
    result.assert_outcomes(skipped=2, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates() == {"unscored": "failed"}


def test_a_broken_metric_on_an_expected_failure_is_xfailed(project: Project) -> None:
    """[E7] An error is a way to fail too; without a score the gate on unscored ones is red."""
    project.with_broken_metrics()
    project.scenario(SCENARIO.replace("em", "raises"))
    project.rows([_row("first"), _row("second", "raise", xfail="the judge is away")])
    project.pytest().assert_outcomes(passed=1, xfailed=1, failed=1)
