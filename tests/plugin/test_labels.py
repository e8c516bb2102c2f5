"""F3 to F5: a run held against labels of people, from the files to the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.model import answer_digest

SCENARIO = """
    name: qa
    dataset: qa.jsonl
    metrics: [em]
    human: {file: labels.csv, of: em}
    gates:
      em:
        agreement: {kappa: 0.5, min_labels: 20}
        mean: {min: 0.5, corrected: true}
      no_regression: {baseline: main, metrics: [em], corrected: true, undecided: pass}
"""


def rows(answers: str) -> list[dict[str, Any]]:
    """Return samples whose answers are right where ``answers`` has an x."""
    return [
        {"id": f"q{at}", "question": "?", "answer": answer, "references": ["x"], "contexts": ["c"]}
        for at, answer in enumerate(answers)
    ]


def labels(answers: str, said: str, drawn: str = "random") -> str:
    """Return a label file: of each sample with 1 or 0 in ``said``."""
    lines = [
        f"q{at},em,ann,{one},{drawn},{answer_digest(answer, ['c'])}"
        for at, (answer, one) in enumerate(zip(answers, said, strict=True))
        if one != "-"
    ]
    return "\n".join(["id,metric,annotator,label,drawn,digest", *lines]) + "\n"


# The judge accepts 24 of 40. Of the 20 labelled, it is wrong about four: two each way.
ANSWERS = "x" * 12 + "y" * 8 + "x" * 12 + "y" * 8
SAID = "1" * 10 + "00" + "0" * 6 + "11" + "-" * 20


@pytest.mark.full
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_run_is_held_against_people(project: Any, workers: tuple[str, ...]) -> None:
    """F3, F4: the same in every way of running; kappa (0.8 - 0.52)/0.48."""
    project.scenario(SCENARIO)
    project.rows(rows(ANSWERS))
    project.file("labels.csv", labels(ANSWERS, SAID))
    project.pytest("--rag-save=main", "-q")
    run = project.pytest(*workers, "-q")
    assert project.gates() == {
        "em.agreement.kappa": "passed",
        "em.mean": "passed",
        "no_regression": "passed",
        "unscored": "passed",
    }
    found = project.results()
    agreement = found["agreement"]["em"]
    assert agreement["confusion"] == [[6, 2], [2, 10]]
    assert agreement["kappa"] == pytest.approx((0.8 - 0.52) / 0.48)
    assert agreement["cells"] == {"0,1": ["q10", "q11"], "1,0": ["q18", "q19"]}
    assert [one["sample_id"] for one in agreement["disagreements"]] == ["q10", "q11", "q18", "q19"]
    corrected = found["metrics"]["em"]["corrected"]
    assert (corrected["mean"], corrected["labels"]) == (pytest.approx(0.6), 20)
    assert found["metrics"]["em"]["weighted_mean"] == pytest.approx(0.6)
    assert corrected["ci_low"] < 0.6 < corrected["ci_high"]
    run.stdout.fnmatch_lines(
        [
            "em by people * 20 labelled*",
            "em and people: 20 labelled answers, 16 agree, kappa 0.5833 *",
            "em on q10: judge 1, people 0",
        ]
    )
    summary = (project.folders()[-1] / "summary.md").read_text("utf-8")
    assert "## Judge and people" in summary
    assert "em on q10: judge 1, people 0" in summary


def test_labels_on_the_command_line_are_added(project: Any) -> None:
    """F5: those of the scenario's file stay, and a draw beside either file is on record."""
    project.scenario(SCENARIO.replace("      no_regression", "      # no_regression"))
    project.rows(rows(ANSWERS))
    first, second = SAID[:10] + "-" * 30, "-" * 10 + SAID[10:]
    project.file("labels.csv", labels(ANSWERS, first))
    project.file("more/labels.csv", labels(ANSWERS, second))
    project.pytest("--rag-labels=more/labels.csv", "-q")
    assert project.results()["agreement"]["em"]["n"] == 20
