"""A sample below a threshold is FAILED, with a table instead of a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# "in Paris": em 0; acc 1 because it contains Paris. Weighted: (1*0 + 3*1) / 4 = 0.75.
PARTLY = """
    name: qa
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 3}
    thresholds: {weighted_score: BOUND}
    dataset:
      - id: partly
        question: Which city is the capital of France?
        answer: in Paris
        references: [Paris, Lutetia]
        contexts: [France is a country., Its capital is Paris.]
"""


def test_a_score_at_its_threshold_passes(project: Project) -> None:
    """[A10] 0.75 >= 0.75."""
    project.scenario(PARTLY.replace("BOUND", "0.75"))
    result = project.pytest()
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    assert project.outcomes() == {"partly": "passed"}


def test_a_score_below_its_threshold_fails_the_case(project: Project, run: Run) -> None:
    """[A10, E1] 0.75 < 0.8; the short summary quotes the verdict."""
    project.scenario(PARTLY.replace("BOUND", "0.8"))
    result = run()
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::partly*weighted_score 0.7500 < 0.8000"])
    assert project.outcomes() == {"partly": "failed"}


@pytest.mark.parametrize(
    ("bound", "passes"), [("0.7500000001", True), ("0.75000001", False), ("{max: 0.7}", False)]
)
def test_the_comparison_tolerates_rounding(project: Project, bound: str, passes: bool) -> None:
    """[A10] 0.75 against 0.75 + 1e-10 and 0.75 + 1e-8: the tolerance is 1e-9."""
    project.scenario(PARTLY.replace("BOUND", bound))
    assert project.pytest().ret == (0 if passes else 1)


def test_every_threshold_that_is_missed_is_named(project: Project) -> None:
    """[E1] em 0 < 1 and weighted_score 0.75 < 0.8, but not acc."""
    project.scenario(PARTLY.replace("BOUND", "0.8, em: 1, acc: 1"))
    result = project.pytest()
    (line,) = (line for line in result.outlines if line.startswith("FAILED "))
    assert "weighted_score 0.7500 < 0.8000" in line
    assert "em 0.0000 < 1.0000" in line
    assert "acc 1.0000" not in line


def test_a_failure_shows_a_table_and_the_texts(project: Project) -> None:
    """[E1] Scores, weights, thresholds, question, answer, references, contexts."""
    project.scenario(PARTLY.replace("BOUND", "0.8, acc: 0.5"))
    result = project.pytest()
    lines = result.outlines
    start = next(at for at, line in enumerate(lines) if "FAILURES" in line)
    text = "\n".join(lines[start:])
    result.stdout.fnmatch_lines(
        [
            "weighted_score 0.7500 < 0.8000",
            "question *Which city is the capital of France?",
            "metric *score *weight *threshold",
            "em *0.0000 *1",
            "acc *1.0000 *3 *>= 0.50",
            "weighted_score *0.7500 *>= 0.80 *below",
            "answer *in Paris",
            'references*"Paris"',
            '*"Lutetia"',
            'contexts*"France is a country."',
            '*"Its capital is Paris."',
        ]
    )
    assert "Traceback" not in text
    assert ".py:" not in text
    assert "Error" not in text


def test_a_case_above_a_maximum_says_so(project: Project) -> None:
    """[E1] 0.75 > 0.7."""
    project.scenario(PARTLY.replace("BOUND", "{max: 0.7}"))
    result = project.pytest()
    result.stdout.fnmatch_lines(["weighted_score 0.7500 > 0.7000", "weighted_score *<= 0.70*above"])


@pytest.mark.parametrize(("bound", "word"), [("0.75", "PASSED"), ("0.8", "FAILED")])
def test_verbose_output_shows_the_score_beside_the_outcome(
    project: Project, bound: str, word: str
) -> None:
    """[A11] PASSED 0.75 or FAILED 0.75."""
    project.scenario(PARTLY.replace("BOUND", bound))
    project.pytest("-v").stdout.fnmatch_lines([f"qa.rageval.yaml::partly {word} 0.75 *"])


def test_verbose_output_of_workers_shows_the_score_too(project: Project) -> None:
    """[A11, E2] The controller has it from the worker's report."""
    project.scenario(PARTLY.replace("BOUND", "0.75"))
    project.pytest("-v", "-n", "1").stdout.fnmatch_lines(["*PASSED 0.75*qa.rageval.yaml::partly*"])


def test_texts_that_no_terminal_can_show_do_not_end_the_run(project: Project, run: Run) -> None:
    """[E1, E2] A lone surrogate in every text of a failing case, under xdist too."""
    project.scenario(
        """
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        dataset: qa.jsonl
        """
    )
    odd = "odd \ud800 text"
    row = {"id": odd, "question": odd, "answer": odd, "references": ["Paris"], "contexts": [odd]}
    project.rows([row, {"id": "wrong", "answer": "x", "references": [odd], "doc_name": odd}])
    result = run("-v", "--junitxml=junit.xml")
    result.assert_outcomes(failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert list(project.outcomes().values()) == ["failed", "failed"]


def test_control_characters_of_the_data_do_not_reach_the_terminal(project: Project) -> None:
    """[E1] An answer must not clear the screen or colour the log."""
    row = {
        "id": "wrong",
        "question": "\x1b[31mred\x07?",
        "answer": "\x1b[2Jx",
        "contexts": ["\x9b2J"],
    }
    project.rows([{**row, "references": ["\x1b]0;title\x07"]}])
    project.scenario("name: qa\nmetrics: [em]\nthresholds: {em: 1}\ndataset: qa.jsonl")
    result = project.pytest("--color=no")
    result.assert_outcomes(failed=1)
    assert not set("\x1b\x07\x9b") & set(result.stdout.str())


def test_a_long_text_is_cut_in_the_failure(project: Project) -> None:
    """[E1] 10,000 characters of an answer would bury the table."""
    project.scenario(PARTLY.replace("BOUND", "0.8").replace("in Paris", "in Paris " + "x" * 10_000))
    assert max(map(len, project.pytest().outlines)) < 1000


def test_an_ordinary_failure_keeps_its_traceback(project: Project) -> None:
    """[E1] Only cases go without."""
    project.scenario(PARTLY.replace("BOUND", "0.8"))
    project.pytester.makepyfile(test_plain="def test_plain():\n    assert 1 == 2")
    result = project.pytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *assert 1 == 2", "test_plain.py:2: AssertionError"])
