"""E26: how many questions are made by a model is said, and their means stand apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.datasets.reviews import review_digest
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.bind_cases import made_questions
from pytest_rageval.model import (
    MadeQuestions,
    MetricColumn,
    RunInfo,
    Sample,
    SampleResult,
    Sampling,
    ScenarioResult,
)
from pytest_rageval.notebooks.html import result_html
from pytest_rageval.reports.made_questions import made_lines
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.results.run_point import point_of
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.stats.wording import made_text

Run = Callable[..., ScenarioResult]

HEAD = "name: s\nmetrics: [em, f1]\ngates: {em: 0.1}\ndoc_weights: {heavy: 3}\n"
DECIDES = "a mean over made questions tells versions apart; it is no estimate of quality for users"


def row(right: bool, made_by: str | None = "model", **fields: Any) -> dict[str, Any]:
    """Return a row with em and f1 of 1 or 0."""
    by = {} if made_by is None else {"made_by": made_by}
    return {"answer": "yes" if right else "no", "references": ["yes"], **by, **fields}


def scenario(rows: Sequence[dict[str, Any]], head: str = HEAD) -> str:
    return f"{head}dataset: {json.dumps(rows)}\n"


BOTH = [
    row(True, doc_name="heavy"),
    row(False),
    row(False, None),
    row(True, "Ann"),
    row(False, "Ann"),
]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((50, 0, 0, 50), "50 made questions, 0 reviewed by a person"),
        ((1, 1, 0, 1), "1 made question, 1 reviewed by a person"),
        ((7, 5, 2, 7), "7 made questions, 5 reviewed by a person, 2 rows rejected (left out)"),
        (
            (50, 12, 3, 80),
            "50 of 80 questions are made by a model, 12 of them reviewed by a person, "
            "3 rows rejected (left out)",
        ),
        (
            (1, 0, 0, 80),
            "1 of 80 questions is made by a model, 0 of them reviewed by a person",
        ),
    ],
)
def test_the_sentence(counts: tuple[int, int, int, int], text: str) -> None:
    assert made_text(MadeQuestions(*counts)) == text


def test_only_ids_of_made_rows_count_as_reviewed() -> None:
    """A row that a person wrote, and one that is left out by a limit, are no made questions."""
    rows = [row(True, id="a"), row(True, id="b"), row(True, None, id="c"), row(True, id="d")]
    spec = DatasetSpec(rows=rows, limit=3)
    data = load_dataset(spec, Path(), "s.yaml:1")
    data = replace(data, reviewed=frozenset("acd"), rejected=frozenset("wxyz"))
    assert made_questions(data, data.cases) == MadeQuestions(2, 1, 4, rows=3)


def test_reviews_of_people_are_counted(run: Run, plan: Callable[..., Plan]) -> None:
    """Of three made rows one is accepted, one rejected, and one nobody looked at."""
    rows = [row(True, id=name, question=f"Q {name}?") for name in "abc"]
    cases = plan(scenario(rows)).cases
    digests = [review_digest(case) for case in cases if isinstance(case, Sample)]
    reviews = f"a,Q a?,yes,accept,Ann,{digests[0]}\nb,Q b?,yes,reject,Ann,{digests[1]}\n"
    text = f"{HEAD}dataset: {{rows: {json.dumps(rows)}, reviews: [r.csv]}}\n"
    ran = run(text, {"r.csv": f"id,question,reference,verdict,reviewer,digest\n{reviews}"})
    assert ran.info.made == MadeQuestions(2, 1, 1, rows=2)
    said = "2 made questions, 1 reviewed by a person, 1 row rejected (left out); "
    assert next(made_lines(ran)) == said + DECIDES


def test_data_without_made_rows_say_nothing(run: Run) -> None:
    """Whoever else made them, and also where people rejected all that were made."""
    ran = run(scenario([row(True, None), row(False, "Ann"), row(False, "a model")]))
    assert ran.info.made is None
    assert [*made_lines(ran)] == []
    data = load_dataset(DatasetSpec(rows=[row(True, None)]), Path(), "s.yaml:1")
    assert made_questions(replace(data, rejected=frozenset("xyz")), data.cases) is None


def test_a_point_of_the_history_knows_it(run: Run) -> None:
    ran = run(scenario(BOTH))
    assert point_of(ran, RunInfo("id", "", "", "0.1.0")).made == ran.info.made


def test_an_invalid_row_is_a_row(run: Run) -> None:
    ran = run(scenario([row(True), {"made_by": "model", "references": 5}]))
    assert ran.counts.invalid == 1
    assert ran.info.made == MadeQuestions(2, 0, 0, rows=2)


def test_means_of_both_kinds_stand_apart(run: Run) -> None:
    """Made: (3·1 + 1·0) / 4; others: (0 + 1 + 0) / 3. f1 has no gate."""
    lines = [*made_lines(run(scenario(BOTH)))]
    assert lines[0] == "2 of 5 questions are made by a model, 0 of them reviewed by a person"
    em, overall = (line.split(" is ") for line in lines[1:])
    assert (em[0], overall[0]) == ("em", "weighted_score")
    assert em[1] == overall[1]
    made, others = em[1].split(", ")
    assert (made[:8], made.partition(")")[2]) == ("0.7500 (", " over 2 made questions")
    assert (others[:8], others.partition(")")[2]) == ("0.3333 (", " over 3 others")


def test_the_intervals_are_those_of_runs_of_one_kind(run: Run) -> None:
    whole = [*made_lines(run(scenario(BOTH)))][1]
    for part in (BOTH[:2], BOTH[2:]):
        alone = run(scenario(part)).metrics["em"]
        assert f"({alone.ci_low:.4f}..{alone.ci_high:.4f})" in whole


def test_what_has_no_score_is_not_counted_as_zero(result: Run) -> None:
    """One of two made ones is scored; of one alone there is no interval."""
    scores, by = [1.0, None, 0.0], [{"made_by": "model"}, {"made_by": "model"}, {}]
    samples = [
        SampleResult(str(at), at, weighted_score=score, scores={"f1": score}, metadata=by[at])
        for at, score in enumerate(scores)
    ]
    made = MadeQuestions(2, 0, 0, 3)
    line = [*made_lines(result(samples, MetricColumn("f1"), made=made))][1]
    assert line == "weighted_score is 1.0000 over 1 of 2 made questions, 0.0000 over 1 other"
    nothing = [replace(sample, weighted_score=None, scores={}) for sample in samples]
    assert len([*made_lines(result(nothing, MetricColumn("f1"), made=made))]) == 1


def test_where_all_are_made_the_line_says_what_that_decides(run: Run) -> None:
    """Once, and no means apart."""
    ran = run(scenario(BOTH[:2]))
    assert [*made_lines(ran)] == [f"2 made questions, 0 reviewed by a person; {DECIDES}"]


def test_a_sample_of_the_rows_has_no_means_apart(run: Run) -> None:
    """Rows that changed are more likely to be drawn: their plain means estimate nothing."""
    ran = run(scenario(BOTH))
    ran = replace(ran, info=replace(ran.info, sample=Sampling(2, 7, "main", 5, frozenset())))
    lines = [*made_lines(ran)]
    assert lines[1:] == [
        "means of made and other questions apart: not estimated where a sample is asked"
    ]


def test_it_is_a_notice_that_changes_no_verdict(run: Run) -> None:
    ran = run(scenario(BOTH))
    view = RunView(ran)
    first = view.missing[0]
    assert (first.text, first.is_error) == (made_text(MadeQuestions(2, 0, 0, 5)), False)
    assert (view.verdict, view.is_plain) == ("passed", True)
    assert "2 of 5 questions are made by a model" in result_html(ran)


def test_the_page_slices_by_who_made_the_questions_first(run: Run) -> None:
    """Only where there are both kinds."""
    assert run(scenario(BOTH)).info.fields == ("made_by", "doc_name")
    assert run(scenario(BOTH[:2])).info.fields == ("doc_name", "made_by")
    assert run(scenario([row(True, None, level=1)])).info.fields == ("doc_name", "level")
