"""F3, F5: labels are about answers of the data, and what cannot be used is named with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.model import CHOSEN, RANDOM, HumanLabels, answer_digest

MakePlan = Callable[..., Plan]
Problems = Callable[..., list[str]]

ROWS = (
    "dataset:\n"
    "  - {id: a, answer: x, references: [x], ok: 1, votes: [1, 0]}\n"
    "  - {id: b, answer: y, references: [x], ok: 0}\n"
    "  - {id: c, answer: z, references: [x], votes: [1]}\n"
)
ONE = "name: s\nmetrics: [em]\n" + ROWS
TWO = "name: s\nmetrics: [em, f1]\n" + ROWS
X, Y = (answer_digest(answer, None) for answer in "xy")


def labels_of(made: Plan) -> HumanLabels:
    (found,) = made.info.human
    return found


def said(found: HumanLabels) -> dict[str, list[tuple[float, str, str]]]:
    return {
        name: [(one.value, one.annotator, one.drawn) for one in labels]
        for name, labels in found.labels.items()
    }


def test_labels_are_read_from_a_file(plan: MakePlan) -> None:
    """F3: a blank label is none yet, further columns are kept, yes and no are the two levels."""
    file = (
        "question,id,metric,annotator,label,note,drawn,digest,mood\r\n"
        f"?,a,em,ann,1,,random,{X},good\r\n"
        f"?,a,em,bob,no,,chosen,{X},\r\n"
        f"?,b,em,ann,,,random,{Y},\r\n"
    )
    found = labels_of(plan(ONE + "human: {file: l.csv, of: em}\n", {"l.csv": file}))
    assert said(found) == {"a": [(1.0, "ann", RANDOM), (0.0, "bob", CHOSEN)]}
    assert found.levels == (0.0, 1.0)
    assert found.labels["a"][0].place == "l.csv:2"


def test_labels_come_with_what_the_metric_says_of_the_levels(plan: MakePlan) -> None:
    """They outlive the way to another process; a metric without words has none."""
    rows = ROWS.replace("answer", "question: q, answer")
    judged = "judge: {model: m, base_url: 'http://127.0.0.1:9/v1'}\n" + rows
    judged += "metrics: [em, {rubric: {name: kind, levels: {0: rude, 1: polite}}}]\n"
    file = f"id,metric,annotator,label,digest\na,kind,ann,1,{X}\n"
    made = plan(f"name: s\n{judged}human: {{file: l.csv, of: [kind, em]}}\n", {"l.csv": file})
    kind, exact = made.info.human
    assert (kind.meanings, exact.meanings) == (("rude", "polite"), ())
    assert HumanLabels.from_dict(kind.to_dict()) == kind


def test_what_is_left_out_is_counted(plan: MakePlan) -> None:
    """F3: rows without a label, of other metrics, by others than the named annotators."""
    file = (
        "id,metric,annotator,label,digest\n"
        f"a,em,ann,1,{X}\na,f1,ann,1,{X}\nb,em,bob,1,{Y}\nb,em,ann,,{Y}\n"
    )
    made = plan(TWO + "human: {file: l.csv, of: em, annotators: ann}\n", {"l.csv": file})
    assert list(labels_of(made).labels) == ["a"]
    assert [line for line in made.info.remarks if line.startswith("human")] == [
        "human: 1 row of f1, which human.of does not name: left out",
        "human: 1 row by bob, whom human.annotators does not name: left out",
        "human: 1 row without a label: left out",
    ]


def test_every_bad_label_is_named_with_its_line(problems: Problems) -> None:
    """F5: all at once."""
    file = (
        "id,metric,annotator,label,drawn,digest\n"
        f"nope,em,ann,1,random,{X}\n"
        f"a,em,ann,2,random,{X}\n"
        f"a,em,,1,random,{X}\n"
        f"a,em,ann,1,random,{X}\n"
        f"a,em,ann,0,random,{X}\n"
        f"a,em,eva,1,often,{X}\n"
        "a,em,eva,1,random,xyz\n"
        f"a,emm,ann,1,random,{X}\n"
        f"b,em,ann,1,random,{X}\n"
        "c,em,ann,1,random\n"
        "c,em,ann,1,random,\n"
    )
    found = problems(ONE + "human: {file: l.csv, of: em}\n", {"l.csv": file})
    lines = [2, 3, 4, 6, 7, 8, 9, 10, 11, 12]
    assert [int(line.split(":")[1]) for line in found] == lines
    for line, words in zip(
        found,
        (
            "no sample 'nope' in the data",
            "label '2' is no declared level (human.levels: 0, 1)",
            "no 'annotator'",
            "'ann' has labelled 'a' twice (first at l.csv:5)",
            "drawn 'often'",
            "digest 'xyz'",
            "unknown metric 'emm'",
            "the answer has changed since it was labelled",
            "has 5 cells where the header has 6",
            "no 'digest' and no 'answer'",
        ),
        strict=True,
    ):
        assert words in line


def test_without_a_digest_the_answer_itself_is_compared(problems: Problems) -> None:
    """F5: blanks and line ends may differ, as spreadsheets leave them."""
    file = "id,annotator,label,answer\na,ann,1, x \r\nb,ann,1,other\n"
    found = problems(ONE + "human: {file: l.csv, of: em}\n", {"l.csv": file})
    assert found == ["l.csv:3: the answer has changed since it was labelled"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id^annotator^label\na^ann^1\n", "no column 'id' and no 'annotator' and no 'label'"),
        ("id,annotator,label\na,\xe4nn,1\n".encode("latin-1"), "set human.encoding: cp1252"),
    ],
)
def test_another_delimiter_or_encoding_is_named(
    problems: Problems, content: Any, words: str
) -> None:
    """F5: with the key that sets it."""
    (found,) = problems(ONE + "human: {file: l.csv, of: em}\n", {"l.csv": content})
    assert found.startswith("l.csv")
    assert words in found


def test_a_semicolon_and_gb18030_are_read(plan: MakePlan) -> None:
    """F5: a usual delimiter is found, an encoding is declared."""
    file = f"id;annotator;label;digest\na;张三;是;{X}\n".encode("gb18030")
    made = plan(ONE + "human: {file: l.csv, of: em, encoding: gb18030}\n", {"l.csv": file})
    assert said(labels_of(made)) == {"a": [(1.0, "张三", CHOSEN)]}


def test_columns_of_the_data_are_annotators(plan: MakePlan) -> None:
    """F3: a column, or each item of a list in one, is what one person says."""
    found = labels_of(plan(ONE + "human: {column: [ok, votes], of: em, drawn: random}\n"))
    assert said(found) == {
        "a": [(1.0, "ok", RANDOM), (1.0, "votes[0]", RANDOM), (0.0, "votes[1]", RANDOM)],
        "b": [(0.0, "ok", RANDOM)],
        "c": [(1.0, "votes[0]", RANDOM)],
    }


def test_a_wrong_column_or_level_is_named(problems: Problems) -> None:
    """F5: with the nearest name, and with the line of the row."""
    (found,) = problems(ONE + "human: {column: okk, of: em}\n")
    assert "no row has a column 'okk'. Did you mean 'ok'?" in found
    (found,) = problems(ONE + "human: {column: ok, of: em, levels: [1, 2]}\n")
    assert found == "s.yaml:5: ok 0 is no declared level (human.levels: 1, 2)"


def test_the_metric_must_be_clear(plan: MakePlan, problems: Problems) -> None:
    """F3: the only metric is meant; of several one is named."""
    file = {"l.csv": f"id,annotator,label,digest\na,ann,1,{X}\n"}
    assert labels_of(plan(ONE + "human: l.csv\n", file)).metric == "em"
    (found,) = problems(TWO + "human: l.csv\n", file)
    assert "name the metric that the labels are about with 'of'" in found
    (found,) = problems(TWO + "human: {file: l.csv, of: emm}\n", file)
    assert "unknown metric 'emm'" in found


def test_levels_must_be_on_the_scale_of_the_metric(problems: Problems) -> None:
    """F3: two levels stand for bad and good on any scale, more are compared as numbers."""
    found = problems(ONE + "human: {of: em, levels: [1, 2, 3]}\n")
    assert found == [
        "s.yaml:7: human.levels: 1, 2, 3 leave the range 0..1 of em; write them on its scale"
    ]


@pytest.mark.parametrize(
    "gate",
    [
        "agreement: {kappa: 0.6}",
        "mean: {min: 0.5, corrected: true}",
        "lower_bound: {min: 0.5, corrected: true}",
    ],
)
def test_gates_about_people_need_labels(problems: Problems, gate: str) -> None:
    """F3, F4: without the section there is nothing to decide by."""
    (found,) = problems(ONE + f"gates: {{em: {{{gate}}}}}\n")
    assert "needs labels of people: write human: {file: labels.csv, of: em}" in found


def test_a_drawn_label_takes_the_place_of_a_chosen_one(plan: MakePlan, problems: Problems) -> None:
    """F5: of the same person, about the same answer, if it says the same."""
    file = f"id,annotator,label,drawn,digest\na,ann,1,chosen,{X}\na,ann,1,random,{X}\n"
    scenario = ONE + "human: {file: l.csv, of: em}\n"
    assert said(labels_of(plan(scenario, {"l.csv": file}))) == {"a": [(1.0, "ann", RANDOM)]}
    (found,) = problems(scenario, {"l.csv": file.replace("ann,1,random", "ann,0,random")})
    assert "'ann' has labelled 'a' twice" in found
