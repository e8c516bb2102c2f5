"""G8: what a judge is to grade is fixed before the run: texts, documents to check, grades."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.metrics.filling import FilledMetric, Filling

QRELS = "".join(f"q{at} 0 d{n} {n % 3}\n" for at in range(4) for n in range(6))
RUN = "".join(f"q{at} Q0 d{9 - n} {n} {9 - n} r\n" for at in range(4) for n in range(9))
FILES = {
    "qrels.txt": QRELS,
    "run.txt": RUN,
    "queries.tsv": "qid\ttext\n" + "".join(f"q{at}\tWhat is {at}?\n" for at in range(4)),
    "corpus.jsonl": "".join(
        json.dumps({"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}"}) + "\n" for n in range(5)
    ),
}
HEAD = """
name: s
qrels_path: qrels.txt
run_path: run.txt
queries_path: queries.tsv
judge: m
"""
SCENARIO = HEAD + "corpus: corpus.jsonl\nmetrics: [ndcg@5+filled, map+filled, ndcg@5]\n"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")


def filling_of(plan: Plan) -> Filling:
    return cast("FilledMetric", plan.metrics[0].metric).filling


def test_all_filled_metrics_read_the_same_grades(plan: Callable[..., Plan]) -> None:
    made = plan(SCENARIO, FILES)
    first, second, plain = made.metrics
    assert cast("FilledMetric", first.metric).filling is cast("FilledMetric", second.metric).filling
    assert not isinstance(plain.metric, FilledMetric)
    assert [metric.batch is None for metric in made.metrics] == [True, True, False]
    assert [metric.column.filled for metric in made.metrics] == [True, True, False]
    assert first.column.definition.endswith(" by m, filled as k=10")
    (chinese, *_) = plan(
        SCENARIO.replace("judge: m", "judge: {model: m, language: zh}"), FILES
    ).metrics
    assert chinese.column.definition.endswith(" by m, filled as k=10, asked in zh")


def test_queries_and_texts_come_from_their_files(plan: Callable[..., Plan]) -> None:
    made = plan(SCENARIO, FILES)
    sample = cast("Any", made.cases[1])
    assert sample.question == "What is 1?"
    assert filling_of(made).text_of(sample, "d2") == "T2\ntext 2"
    assert filling_of(made).text_of(sample, "d5") == ""


def test_people_who_go_up_to_2_have_no_grade_for_what_is_only_related(
    plan: Callable[..., Plan],
) -> None:
    assert filling_of(plan(SCENARIO, FILES)).grades == (0, 0, 1, 2)
    assert filling_of(plan(f"{SCENARIO}fill: {{grades: [0, 1, 1, 2]}}\n", FILES)).grades == [
        0, 1, 1, 2,
    ]  # fmt: skip


def pairs(made: Plan) -> set[tuple[str, str]]:
    checked = filling_of(made).checked
    return {(query, name) for query, names in checked.items() for name in names}


def test_the_documents_to_check_do_not_depend_on_the_order_of_the_data(
    plan: Callable[..., Plan],
) -> None:
    """Of 4 · 5 with a text; d5 has none."""
    few = f"{SCENARIO}fill: {{check: 7}}\n"
    turned = "".join(reversed(QRELS.splitlines(keepends=True)))
    found = pairs(plan(few, FILES))
    assert len(found) == 7
    assert found == pairs(plan(few, {**FILES, "qrels.txt": turned}))
    everything = pairs(plan(SCENARIO, FILES))
    assert everything == {(f"q{at}", f"d{n}") for at in range(4) for n in range(5)}
    assert found < everything


_OF_CONTEXTS = "{recall: {on: contexts, filled: true}}"
ROWS = """
name: s
metrics: [recall@2+filled]
judge: m
dataset:
- {question: q, retrieved_ids: [a, b], contexts: [one, two], reference_ids: {a: 1, c: 0}}
"""


def test_rows_need_no_corpus(plan: Callable[..., Plan]) -> None:
    """c was not retrieved, and so nobody knows its text."""
    made = plan(ROWS)
    assert filling_of(made).text_of(cast("Any", made.cases[0]), "b") == "two"
    assert [name for _, name in pairs(made)] == ["a"]


@pytest.mark.parametrize(
    ("scenario", "files", "said"),
    [
        (
            HEAD.replace("queries_path", "x-d") + "metrics: [mrr+filled]",
            {},
            "with qrels_path write queries_path",
        ),
        (SCENARIO, {"qrels.txt": "q1 0 d1 4\n"}, "grades: [0, 0, 2, 4]"),
        (SCENARIO, {"queries.tsv": "qid\tnote\nq1\ta\n"}, "a text under one of text, query"),
        (SCENARIO.replace("map+", "f1+"), {}, "'+filled' is for measures of a ranking"),
        (SCENARIO.replace("map+filled", "ndcg+filled@5"), {}, "write '+filled' at the end"),
        (SCENARIO.replace("judge: m", ""), {}, "asks a model: name it under 'judge'"),
        (f"{SCENARIO}fill: {{grades: [0, 1]}}\n", {}, "fill.grades"),
        (
            ROWS.replace("recall@2+filled", "{recall: {on: contexts, filled: true}}"),
            {},
            "about ids",
        ),
    ],
)
def test_what_cannot_be_filled_is_refused(
    scenario: str, files: Mapping[str, str], said: str, problems: Callable[..., list[str]]
) -> None:
    assert said in "\n".join(problems(scenario, {**FILES, **files}))


@pytest.mark.parametrize(
    "keys",
    [
        "target: {model: m, prompt: '{question}'}\n",
        "target: {url: 'http://x', body: {question: '{question}', reranker: m}}\n",
    ],
)
def test_a_judge_that_is_a_model_of_the_system_is_said(
    keys: str, plan: Callable[..., Plan]
) -> None:
    said = "the judge 'm' is also a model of the system under test"
    warnings = "\n".join(plan(ROWS + keys, FILES).info.warnings)
    assert said in warnings
    assert said not in "\n".join(plan(ROWS + keys.replace(" m", " other"), FILES).info.warnings)


def test_a_key_without_a_metric_is_said(plan: Callable[..., Plan]) -> None:
    made = plan(
        SCENARIO.replace("ndcg@5+filled", "mrr").replace("+filled", "") + "fill: true\n", FILES
    )
    assert "fill has no effect: no metric is to be filled" in "\n".join(made.info.warnings)


def test_a_definition_of_0_1_0_stays_what_it_was(plan: Callable[..., Plan]) -> None:
    plain = plan(SCENARIO, FILES).metrics[2].column
    assert plain.definition == "ndcg v1 (dcg=log2, judged_only=False, k=5)"
