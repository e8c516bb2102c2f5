"""F3, F5: labels are about answers of the data, and what cannot be used is named with its line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.reviews import review_digest
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import CHOSEN, RANDOM, HumanLabels, Sample, answer_digest
from pytest_rageval.results.draws import DrawRecord, StratumRecord, draws_chunks
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.text.codec import from_json, to_json

TABLES = tomllib.loads(Path(__file__).with_name("bind_labels.toml").read_text("utf-8"))

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
    pytest.importorskip("aiohttp")
    rows = ROWS.replace("answer", "question: q, answer")
    judged = "judge: {model: m, base_url: 'http://127.0.0.1:9/v1'}\n" + rows
    judged += "metrics: [em, {rubric: {name: kind, levels: {0: rude, 1: polite}}}]\n"
    file = f"id,metric,annotator,label,digest\na,kind,ann,1,{X}\n"
    made = plan(f"name: s\n{judged}human: {{file: l.csv, of: [kind, em]}}\n", {"l.csv": file})
    kind, exact = made.info.human
    assert (kind.meanings, exact.meanings) == (("rude", "polite"), ())
    assert to_json(from_json(to_json(kind), HumanLabels)) == to_json(kind)


@pytest.mark.parametrize(
    ("metric", "given", "wanted"),
    TABLES["people_are_asked_in_the_words_of_the_scenario"],
)
def test_people_are_asked_in_the_words_of_the_scenario(
    plan: MakePlan, metric: str, given: str, wanted: str
) -> None:
    """Where lower is better, yes to a question of the description might mean either level."""
    made = plan(f"name: s\nmetrics: [{metric}]\n{ROWS}{given}")
    assert labels_of(made).question == wanted


def test_one_question_is_not_that_of_two_metrics(problems: Problems) -> None:
    (found,) = problems(TWO + "human: {file: l.csv, of: [em, f1], question: right?}\n")
    assert "one 'question' cannot be that of em, f1; name one metric in 'of'" in found


def test_labels_of_rejected_rows_are_left_out_and_counted(plan: MakePlan) -> None:
    """Whoever reviews the questions takes no label file away; other unknown rows are a problem."""
    made = plan(ONE.replace("dataset:\n", "dataset:\n  rows:\n"), {})
    shown = next(case for case in made.cases if isinstance(case, Sample) and case.id == "b")
    review = "id,question,reference,verdict,reviewer,digest\n"
    review += f"b,,x,reject,ann,{review_digest(shown)}\n"
    text = ONE.replace("dataset:\n", "dataset:\n  reviews: [r.csv]\n  rows:\n")
    labels = f"id,annotator,label,digest\na,ann,1,{X}\nb,ann,0,{Y}\n"
    made = plan(text + "human: {file: l.csv}\n", {"l.csv": labels, "r.csv": review})
    assert said(labels_of(made)) == {"a": [(1.0, "ann", CHOSEN)]}
    assert "human: 1 row of samples that reviews rejected: left out" in made.info.remarks


def test_an_answer_to_the_question_before_a_review_is_told(plan: MakePlan) -> None:
    """It was scored with the new wording, without a word; not where a target is asked anew."""
    row = "{id: a, question: old, answer: x, references: [x]}"
    data = f"dataset: {{reviews: [r.csv], rows: [{row}]}}\n"
    shown = plan(f"name: s\nmetrics: [em]\ndataset: [{row}]\n", {}).cases[0]
    review = (
        f"id,question,reference,verdict,reviewer,digest\na,new,x,edit,ann,{review_digest(shown)}\n"
    )
    files = {"r.csv": review, "reviewed_bot.py": "def answer(question):\n    return 'x'\n"}
    told = "\n".join(plan(f"name: s\nmetrics: [em]\n{data}", files).info.remarks)
    assert "1 question edited by people (a): the answers in the data may be to the" in told
    asked = plan(f"name: s\nmetrics: [em]\ntarget: reviewed_bot:answer\n{data}", files).info.remarks
    assert "earlier wording" not in "\n".join(asked)


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
        (
            "id,annotator,label\na,\xe4nn,1\n".encode("latin-1"),
            "set human.encoding: cp1252 or --rag-set human.encoding=cp1252 if",
        ),
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_files_in_different_encodings_are_read_together(plan: MakePlan, encoding: str) -> None:
    """F5: ``encoding`` is for those whose bytes do not show theirs."""
    files = {
        "ann.csv": f"id,annotator,label,digest\na,张三,1,{X}\n".encode("gb18030"),
        "ben.csv": f"id,annotator,label,digest\na,李四,0,{X}\n".encode(encoding),
    }
    human = "human: {file: [ann.csv, ben.csv], of: em, encoding: gb18030}\n"
    found = said(labels_of(plan(ONE + human, files)))
    assert found == {"a": [(1.0, "张三", CHOSEN), (0.0, "李四", CHOSEN)]}


def test_what_spreadsheets_make_of_a_cell_is_understood(plan: MakePlan) -> None:
    """F5: a decimal comma, capitals, and an id without its zeros if the digest tells which."""
    rows = (
        "dataset:\n  - {id: '054', answer: x, references: [x]}\n"
        "  - {id: '54x', answer: y, references: [x]}\n"
        "  - {id: '0054', answer: z, references: [x]}\n"
    )
    file = f"id;annotator;label;digest\n54;ann;1,0;{X.upper()}\n"
    made = plan("name: s\nmetrics: [em]\n" + rows + "human: l.csv\n", {"l.csv": file})
    assert said(labels_of(made)) == {"054": [(1.0, "ann", CHOSEN)]}
    assert labels_of(made).labels["054"][0].digest == X


def test_an_id_without_zeros_needs_the_digest(problems: Problems) -> None:
    """F5: else it is not known which sample was meant."""
    rows = "dataset:\n  - {id: '054', answer: x, references: [x]}\n"
    file = f"id,annotator,label,digest,answer\n54,ann,1,{Y},x\n54,ann,1,,x\n"
    found = problems("name: s\nmetrics: [em]\n" + rows + "human: l.csv\n", {"l.csv": file})
    assert found == [
        f"l.csv:{line}: no sample '54' in the data. Did you mean '054'?" for line in (2, 3)
    ]


def test_a_file_without_any_label_is_named(plan: MakePlan) -> None:
    """F5: as a remark, or as the reason why there are no labels at all."""
    blank = f"id,annotator,label,digest\na,,,{X}\nb,ann,,{Y}\n"
    reason = (
        "none of the 2 rows of l.csv has a label; if you labelled in the browser, hand in the "
        "file that it downloaded"
    )
    alone = plan(ONE + "human: l.csv\n", {"l.csv": blank})
    assert (labels_of(alone).blank, alone.info.remarks) == (reason, ())
    files = {"l.csv": blank, "m.csv": blank.replace("b,ann,,", "b,ann,1,")}
    both = plan(ONE + "human: [l.csv, m.csv]\n", files)
    assert labels_of(both).blank == ""
    assert both.info.remarks == (f"human: {reason}", "human: 1 row without a label: left out")


def test_labels_of_others_alone_are_the_reason(plan: MakePlan) -> None:
    """Nothing was to be drawn and labelled: the name of the annotator was misspelt."""
    file = f"id,annotator,label,digest\na,anna,1,{X}\nb,anna,0,{Y}\n"
    made = plan(ONE + "human: {file: l.csv, annotators: ana}\n", {"l.csv": file})
    reason = "2 rows by anna, whom human.annotators does not name: left out"
    assert (labels_of(made).blank, made.info.remarks) == (reason, (f"human: {reason}",))


def draws(*codes: str) -> str:
    """Return the file of a draw from these strata."""
    strata = {code: StratumRecord(1, 0.5, "high") for code in codes}
    record = DrawRecord("r", "em", 1, f"{codes}", {"a": X, "b": Y}, strata)
    return "".join(draws_chunks([record]))


@pytest.mark.parametrize(
    ("beside", "local", "remarks"),
    [
        (["s-1", "s-2"], [], []),
        (
            ["s-1"],
            ["s-1", "s-2"],
            [
                "l/draws.json lacks the draw of s-2, which is only in .rageval/s/labels: copy it, "
                "or other machines fail"
            ],
        ),
        (
            ["s-1"],
            [],
            [
                "l/draws.json is older than the labels (no draw of s-2): copy the newest from "
                ".rageval/s/labels"
            ],
        ),
        (None, [], []),  # the gate says it
    ],
)
def test_a_draw_that_is_not_beside_the_labels_is_named(
    tmp_path: Path, beside: Sequence[str] | None, local: Sequence[str], remarks: Sequence[str]
) -> None:
    """F5: the one of this machine is read, too, but no other machine has it."""
    kept, drawn = tmp_path / "l", tmp_path / ".rageval" / "s" / "labels"
    kept.mkdir()
    drawn.mkdir(parents=True)
    file = f"id,annotator,label,drawn,digest\na,ann,1,s-1,{X}\nb,ann,1,s-2,{Y}\n"
    (kept / "ann.csv").write_text(file, "utf-8")
    if beside is not None:
        (kept / "draws.json").write_text(draws(*beside), "utf-8")
    (drawn / "draws.json").write_text(draws(*local), "utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(ONE + "human: l/ann.csv\n", "utf-8")
    found = make_plan(path, shown="s.yaml", run_paths=RunPaths(tmp_path))
    assert found.info.remarks == tuple(f"human: {line}" for line in remarks)


def test_a_draw_for_another_metric_counts_where_labels_name_its_strata(
    plan: MakePlan,
) -> None:
    """The metric was renamed, or one sheet is labelled for two."""
    file = f"id,annotator,label,drawn,digest\na,ann,1,s-1,{X}\n"
    for code, count in (("s-1", 1), ("s-2", 0)):
        drawn = draws(code).replace('"em"', '"f1"')
        made = plan(ONE + "human: l.csv\n", {"l.csv": file, "draws.json": drawn})
        assert len(labels_of(made).draws) == count


def uniform(metric: str, a: str, day: str) -> DrawRecord:
    """Return a uniform draw from two answers, of which the first had this digest."""
    return DrawRecord("r", metric, 1, f"2026-11-{day}T08:00:00+00:00", {"a": a, "b": Y})


LACKS = (
    "human: l/draws.json lacks the draw of 2026-11-29, which is only in .rageval/s/labels: copy "
    "it, or other machines cannot tell which answers have changed since"
)


@pytest.mark.parametrize(
    ("drawn", "beside", "local", "remarks"),
    [
        ("random", [], [uniform("em", X, "29")], (LACKS,)),
        ("random", [uniform("em", X, "29")], [uniform("em", X, "29")], ()),
        ("random", [uniform("em", X, "28")], [uniform("em", X, "29")], ()),  # the same answers
        ("random", [uniform("em", Y, "28")], [uniform("em", X, "29")], (LACKS,)),
        ("random", [uniform("f1", X, "28")], [uniform("em", X, "29")], (LACKS,)),
        ("random", [], [uniform("f1", X, "29"), uniform("em", Y, "29")], ()),  # of other labels
        ("chosen", [], [uniform("em", X, "29")], ()),
    ],
)
def test_a_uniform_draw_that_is_not_beside_the_labels_is_named(
    tmp_path: Path,
    drawn: str,
    beside: Sequence[DrawRecord],
    local: Sequence[DrawRecord],
    remarks: tuple[str, ...],
) -> None:
    """F5: where an answer changes, other machines refuse its label."""
    kept, here = tmp_path / "l", tmp_path / ".rageval" / "s" / "labels"
    for folder, records in ((kept, beside), (here, local)):
        folder.mkdir(parents=True)
        if records:
            (folder / "draws.json").write_text("".join(draws_chunks(records)), "utf-8")
    rows = f"id,annotator,label,drawn,digest\na,ann,1,{drawn},{X}\n"
    (kept / "ann.csv").write_text(rows, "utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(ONE + "human: l/ann.csv\n", "utf-8")
    found = make_plan(path, shown="s.yaml", run_paths=RunPaths(tmp_path))
    assert found.info.remarks == remarks


def test_columns_of_the_data_are_annotators(plan: MakePlan) -> None:
    """F3: a column, or each item of a list in one, is what one person says."""
    found = labels_of(plan(ONE + "human: {column: [ok, votes], of: em, drawn: random}\n"))
    assert said(found) == {
        "a": [(1.0, "ok", RANDOM), (1.0, "votes[0]", RANDOM), (0.0, "votes[1]", RANDOM)],
        "b": [(0.0, "ok", RANDOM)],
        "c": [(1.0, "votes[0]", RANDOM)],
    }


@pytest.mark.parametrize(
    ("named", "counted"),
    [("OK", ["ok"]), ("votes", ["votes[0]", "votes[1]"]), ("votes[1]", ["votes[1]"])],
)
def test_columns_of_people_who_are_not_named_are_left_out_and_counted(
    plan: MakePlan, named: str, counted: list[str]
) -> None:
    """The labels of a trainee turned a gate green."""
    keys = f"human: {{column: [ok, votes], of: em, annotators: '{named}'}}\n"
    made = plan(ONE + keys)
    assert [name for _, name, _ in said(labels_of(made))["a"]] == counted
    left = {"OK": "votes[0]", "votes": "ok", "votes[1]": "ok"}[named]
    line = f"2 rows by {left}, whom human.annotators does not name: left out"
    assert f"human: {line}" in made.info.remarks


def test_a_row_without_an_answer_does_not_stop_the_labels_of_the_others(plan: MakePlan) -> None:
    """F5: without a target it is an invalid row, not one whose answer is still to come."""
    row = "  - {id: d, references: [x], ok: 1}\n"
    found = labels_of(plan(ONE + row + "human: {column: ok, of: em, drawn: random}\n"))
    assert {"a", "b"} <= said(found).keys()


def test_labels_beside_other_answers_are_refused(plan: MakePlan, problems: Problems) -> None:
    """A label is of the answer beside it; a second file may have both."""
    keys = "name: s\nmetrics: [em]\ndataset: gold.csv\nanswers: {path: a.csv, key: id}\n"
    keys += "human: {column: ok, of: em}\n"
    gold = "id,references,ok\na,x,1\nb,y,1\n"
    (found,) = problems(keys, {"gold.csv": gold, "a.csv": "id,answer\na,bad\nb,worse\n"})
    assert "'ok' is of gold.csv, and the answers are of a.csv: a label is of the answer" in found
    both = {"gold.csv": gold, "a.csv": "id,answer,ok\na,bad,0\nb,worse,0\n"}
    assert problems(keys, both) == [found]  # those of gold.csv would count
    blank = {**both, "gold.csv": "id,references,ok\na,x,\nb,y,\n"}
    assert said(labels_of(plan(keys, blank))).keys() == {"a", "b"}
    gold = "id,references\na,x\nb,y\n"
    assert labels_of(plan(keys, {"gold.csv": gold, "a.csv": "id,answer,ok\na,bad,0\nb,worse,0\n"}))
    keys = keys.replace("dataset: gold.csv", "dataset: {path: gold.csv, key_map: {answer: answer}}")
    gold = "id,answer,ok\na,bad,0\nb,worse,0\n"
    assert labels_of(plan(keys, {"gold.csv": gold, "a.csv": "id,references\na,x\nb,y\n"}))


def test_merged_rows_with_different_labels_are_refused(plan: MakePlan, problems: Problems) -> None:
    """Two people who agree would be one, and agreement that of those who differ alone."""
    keys = "name: s\nmetrics: [em]\ndataset: {path: d.csv, merge_rows: id}\n"
    keys += "human: {column: ok, of: em}\n"
    rows = "id,answer,references,ok\na,x,x,1\na,x,x,1\nb,y,x,0\nb,y,x,{}\n"
    (found,) = problems(keys, {"d.csv": rows.format(1)})
    assert "the rows that merge_rows makes one sample of differ in it, for instance those" in found
    assert "from d.csv:4 on" in found
    assert labels_of(plan(keys, {"d.csv": rows.format(0)})).labels.keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("keys", "is_refused"),
    [
        ("{dataset: {key_map: {answer: two}}}", True),
        ("{dataset: {key_map: {contexts: two}}}", True),
        ("{dataset: {key_map: {answer: two}}, human: {column: ok2, of: em}}", False),
        ("{dataset: {key_map: {answer: two}, path: other.csv}}", False),
        ("{dataset: {key_map: {answer: two}, path: ./d.csv}}", True),  # the same rows
        ("{dataset: {key_map: {answer: answer}}}", False),  # the same answers
        ("{metric_weights: {em: 2}}", False),
    ],
)
def test_labels_of_one_column_are_not_of_a_variants_answers(
    tmp_path: Path, keys: str, is_refused: bool
) -> None:
    """Also where it runs alone: its answers would pass by what people said of others."""
    path = tmp_path / "s.yaml"
    base = "name: s\nmetrics: [em]\nhuman: {column: ok, of: em}\ndataset: d.csv\n"
    path.write_text(f"{base}variants:\n  one: {{}}\n  two: {keys}\n", "utf-8")
    for name in ("d.csv", "other.csv"):
        (tmp_path / name).write_text(
            "id,answer,two,references,ok,ok2,contexts\na,x,y,x,1,0,z\n", "utf-8"
        )
    make = partial(make_plan, path, run_paths=RunPaths(tmp_path))
    if is_refused:
        with pytest.raises(ScenarioError, match="'ok' is of other answers in these rows than"):
            make(variant="two")
    else:
        assert make(variant="two").info.human
    override = set_override("--rag-set", "dataset.key_map.answer=two")
    with pytest.raises(ScenarioError, match="'ok' is of other answers in these rows than"):
        make([override], variant="one")
    assert make([override, set_override("--rag-set", "human.column=ok2")], variant="one").info.human


@pytest.mark.parametrize("labels", ["ok", "[ok]", "[ok2, ok]"])
@pytest.mark.parametrize("of_file", ["ok", "[ok, ok3]"])
def test_one_column_of_labels_is_of_the_same_answers_in_whichever_list(
    tmp_path: Path, labels: str, of_file: str
) -> None:
    path = tmp_path / "s.yaml"
    base = f"name: s\nmetrics: [em]\nhuman: {{column: {of_file}, of: em}}\ndataset: d.csv\n"
    path.write_text(base, "utf-8")
    rows = "id,answer,two,references,ok,ok2,ok3\na,x,y,x,1,0,1\n"
    (tmp_path / "d.csv").write_text(rows, "utf-8")
    given = {"dataset.key_map.answer": "two", "human.column": labels}
    overrides = [set_override("--rag-set", f"{key}={value}") for key, value in given.items()]
    with pytest.raises(ScenarioError, match="is of other answers in these rows than"):
        make_plan(path, overrides, run_paths=RunPaths(tmp_path))
    overrides[1] = set_override("--rag-set", "human.column=[ok2]")
    assert make_plan(path, overrides, run_paths=RunPaths(tmp_path)).info.human


@pytest.mark.parametrize("answer", ["answer,", ""])
def test_labels_of_one_search_are_not_of_anothers(tmp_path: Path, answer: str) -> None:
    path = tmp_path / "s.yaml"
    by = "{{dataset: {{key_map: {{contexts: {}}}}}}}"
    path.write_text(
        "name: s\nmetrics: [recall]\nmetric_options: {'on': contexts}\ndataset: d.csv\n"
        "human: {column: ok, of: recall}\n"
        f"variants:\n  one: {by.format('bm25')}\n  two: {by.format('dense')}\n",
        "utf-8",
    )
    text = f"id,{answer}bm25,dense,reference_contexts,ok\na,{answer and 'x,'}x,y,x,1\n"
    (tmp_path / "d.csv").write_text(text, "utf-8")
    make = partial(make_plan, path, run_paths=RunPaths(tmp_path))
    assert make(variant="one").info.human
    with pytest.raises(ScenarioError, match="'ok' is of other answers in these rows than"):
        make(variant="two")


def test_a_column_of_answers_may_be_named_that_is_read_anyway(tmp_path: Path) -> None:
    """Also the only one, which no name tells."""
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nmetrics: [em]\ndataset: d.csv\nhuman: {column: ok, of: em}\n", "utf-8"
    )
    for column, more in (("response", ""), ("a1", ""), ("answer", "response")):
        text = f"id,{column},references,ok,{more}\na,x,x,1,y\n"
        (tmp_path / "d.csv").write_text(text, "utf-8")
        override = set_override("--rag-set", f"dataset.key_map.answer={column}")
        assert make_plan(path, [override], run_paths=RunPaths(tmp_path)).info.human


def test_variants_that_name_answers_and_labels_are_right(tmp_path: Path) -> None:
    """Also where the scenario names the labels of one of them."""
    path = tmp_path / "s.yaml"
    by = "{{dataset: {{key_map: {{answer: a{0}}}}}, human: {{column: ok{0}}}}}"
    path.write_text(
        "name: s\nmetrics: [em]\ndataset: d.csv\nhuman: {column: ok1, of: em}\n"
        f"variants:\n  one: {by.format(1)}\n  two: {by.format(2)}\n",
        "utf-8",
    )
    (tmp_path / "d.csv").write_text("id,a1,a2,references,ok1,ok2\na,x,y,x,1,0\n", "utf-8")
    for variant in ("one", "two"):
        assert make_plan(path, variant=variant, run_paths=RunPaths(tmp_path)).info.human


def test_the_first_variant_of_some_rows_says_whose_answers_the_labels_are_about(
    tmp_path: Path,
) -> None:
    """Where the scenario itself names no rows."""
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nmetrics: [em]\nhuman: {column: ok, of: em}\nvariants:\n  one: {dataset: d.csv}\n"
        "  two: {dataset: {path: d.csv, key_map: {answer: two}}}\n  three: {dataset: other.csv}\n"
        "  own: {dataset: {path: d.csv, key_map: {answer: two}}, human: null}\n",
        "utf-8",
    )
    for name in ("d.csv", "other.csv"):
        (tmp_path / name).write_text("id,answer,two,references,ok\na,x,y,x,1\n", "utf-8")
    make = partial(make_plan, path, run_paths=RunPaths(tmp_path))
    assert make(variant="one").info.human
    assert make(variant="three").info.human
    assert not make(variant="own").info.human
    with pytest.raises(ScenarioError, match="'ok' is of other answers in these rows than"):
        make(variant="two")


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


def test_the_question_and_the_contexts_must_be_those_that_were_seen(problems: Problems) -> None:
    """F5: as far as the file shows them."""
    rows = "dataset:\n  - {id: a, question: Who?, answer: x, references: [x], contexts: [now]}\n"
    scenario = "name: s\nmetrics: [em]\n" + rows + "human: {file: l.csv, of: em}\n"
    file = (
        "question,contexts,answer,id,annotator,label\n"
        '"Who?",[1] now,x,a,ann,1\nWhen?,[1] now,x,a,bob,1\nWho?,[1] then,x,a,eva,1\n'
    )
    assert problems(scenario, {"l.csv": file}) == [
        "l.csv:3: the question has changed since it was labelled",
        "l.csv:4: the contexts have changed since it was labelled",
    ]


def test_one_person_may_be_written_in_several_ways(problems: Problems) -> None:
    """F5: Anna is anna, and she contradicts herself."""
    file = f"id,annotator,label,digest\na,anna,1,{X}\na,Anna,0,{X}\n"
    (found,) = problems(ONE + "human: {file: l.csv, of: em}\n", {"l.csv": file})
    assert "'anna' has labelled 'a' twice" in found


def test_a_file_that_is_named_twice_counts_once(plan: MakePlan) -> None:
    """F5: however its path is written."""
    file = f"id,annotator,label,digest\na,ann,1,{X}\n"
    found = labels_of(plan(ONE + "human: {file: [l.csv, ./l.csv], of: em}\n", {"l.csv": file}))
    assert len(found.labels["a"]) == 1


def test_an_id_may_be_composed_in_another_way(plan: MakePlan) -> None:
    """F5: macOS writes é as two characters."""
    rows = "dataset: [{id: caf\u00e9, answer: x, references: [x]}]\n"
    scenario = "name: s\nmetrics: [em]\n" + rows + "human: {file: l.csv, of: em}\n"
    file = f"id,annotator,label,digest\ncafe\u0301,ann,1,{X}\n"
    assert list(labels_of(plan(scenario, {"l.csv": file})).labels) == ["caf\u00e9"]


def test_levels_must_be_said_where_1_could_be_the_worst_of_five(problems: Problems) -> None:
    """F3: on any scale but one from 0 to 1, unless it is a rubric's."""
    scenario = (
        "name: s\njudge: m\nmetrics: [{rubric: {levels: {1: bad, 2: fair, 3: good}, name: r}},"
        " {rubric: {prompt: '{query} {context} {answer}', range: [1, 5], name: p}}]\n"
        "dataset: [{id: a, question: q, answer: x, contexts: [c]}]\n"
    )
    said = problems(scenario + "human: {of: [r, p]}\n")
    (found,) = (line for line in said if "human" in line)
    assert "say what a label of p may be, for its range is 1..5: 'levels: [0, 1]'" in found


def test_yes_and_no_say_nothing_where_lower_is_better(problems: Problems) -> None:
    """F3: the highest level is the highest score there, too, and that is the worst."""
    scenario = (
        "name: s\nmetrics: [{use: 'lower_metric:g', name: g, higher_is_better: false}]\n"
        "dataset: [{id: a, answer: x}]\nhuman: l.csv\n"
    )
    file = f"id,annotator,label,digest\na,ann,yes,{X}\na,bob,1,{X}\n"
    code = "def g(sample):\n    return 0.5\n"
    (found,) = problems(scenario, {"l.csv": file, "lower_metric.py": code})
    assert found.startswith("l.csv:2: label 'yes' is no declared level")


CLAIMS = (
    "name: s\njudge: {model: m, base_url: 'http://127.0.0.1:9/v1'}\n"
    "metrics: [claim_recall, claim_precision, em]\n"
    "dataset:\n"
    "  - {id: a/b, question: q, answer: x, references: [x]}\n"
    "  - {id: '退货', question: q, answer: y, references: [x]}\n"
)
CELLS = "id,metric,annotator,label,digest\n"


def test_labels_of_cells_are_words_or_numbers(plan: MakePlan) -> None:
    """Their digests are those of cells, which are known when the judge has been asked."""
    pytest.importorskip("aiohttp")
    file = CELLS + (
        f"a/b/claim-1/reference,support,ann,Partial,{X}\n"
        f'"a/b/claim-2/contexts[1, 3]",support,ann,"0,5",{X}\n'
        f"退货/reference_claim-1/answer,support,ann,full,{X}\n"
        f"退货/nugget-12/answer,support,bo,0,{X}\n"
        f"a/b,claim_recall,ann,1,{X}\n"
    )
    found = labels_of(plan(CLAIMS + "human: {file: l.csv, of: support}\n", {"l.csv": file}))
    assert (found.metric, found.levels, found.question) == ("support", (0.0, 0.5, 1.0), "")
    assert said(found) == {
        "a/b/claim-1/reference": [(0.5, "ann", CHOSEN)],
        "a/b/claim-2/contexts[1, 3]": [(0.5, "ann", CHOSEN)],
        "退货/reference_claim-1/answer": [(1.0, "ann", CHOSEN)],
        "退货/nugget-12/answer": [(0.0, "bo", CHOSEN)],
    }
    assert to_json(from_json(to_json(found), HumanLabels)) == to_json(found)


@pytest.mark.parametrize(
    ("row", "message"),
    TABLES["a_label_of_no_cell_is_refused_with_its_line"],
)
def test_a_label_of_no_cell_is_refused_with_its_line(
    problems: Problems, row: str, message: str
) -> None:
    pytest.importorskip("aiohttp")
    file = CELLS + row.replace("{X}", X) + "\n"
    (found,) = problems(CLAIMS + "human: {file: l.csv, of: support}\n", {"l.csv": file})
    assert found.startswith("l.csv:")
    assert message in found


@pytest.mark.parametrize(
    ("human", "message"),
    [
        ("{of: support, levels: [0, 2]}", "2 is no level of support; known: none, partial, full"),
        ("{of: claim_recall, levels: [none, full]}", "level 'none' is one of 'of: support'"),
        ("{levels: [none, full]}", "level 'none' is one of 'of: support'"),
        ("{of: [support, em], levels: [none, full]}", "level 'none' is one of 'of: support'"),
        (
            "{of: support, levels: [none, half]}",
            "expected a number, or a level of support (none, partial, full), found 'half'",
        ),
        ("{of: support, column: ok}", "labels of support are about cells, not rows"),
        ("{of: suport}", "unknown metric 'suport'. Did you mean 'support'?"),
    ],
)
def test_levels_in_words_are_those_of_the_table(
    problems: Problems, human: str, message: str
) -> None:
    pytest.importorskip("aiohttp")
    assert message in "\n".join(problems(CLAIMS + f"human: {human}\n"))


def test_without_such_metrics_there_is_no_table_to_label(problems: Problems) -> None:
    (found,) = problems(ONE + "human: {file: l.csv, of: support}\n")
    assert "unknown metric 'support'" in found


def test_two_levels_of_cells_need_no_third(plan: MakePlan) -> None:
    pytest.importorskip("aiohttp")
    made = plan(CLAIMS + "human: {of: support, levels: [full, none], cut: 1}\n")
    assert (labels_of(made).levels, labels_of(made).cut) == ((0.0, 1.0), 1.0)


def test_what_is_judged_by_tables_alone_is_labelled_by_cells(plan: MakePlan) -> None:
    """Of several metrics that read one table it is clear what people label: its cells."""
    pytest.importorskip("aiohttp")
    assert labels_of(plan(CLAIMS + "human: {}\n")).metric == "support"
