"""DB-GPT's requests over a scenario: what holds, what is replaced, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario

from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.serving.web.dbgpt_request import Changes, lay_over, read_request
from pytest_rageval.serving.web.refusals import Refused

# As dbgpt_client 0.8 sends it: EvaluateServeRequest(...).dict(), 18 fields, most of them null.
NULLS = dict.fromkeys(
    (
        "evaluate_code",
        "datasets_name",
        "user_name",
        "user_id",
        "sys_code",
        "parallel_num",
        "state",
        "result",
        "storage_type",
        "average_score",
        "log_info",
        "gmt_create",
        "gmt_modified",
    )
)
ROW = {"query": "AWEL?", "contexts": ["A language."], "prediction": ["Else.", "A language."]}
RECALL: dict[str, Any] = {
    **NULLS,
    "scene_key": "recall",
    "scene_value": "handbook",
    "context": {"top_k": 5},
    "evaluate_metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
    "datasets": [ROW],
}
APP: dict[str, Any] = {
    **RECALL,
    "scene_key": "app",
    "context": None,
    "evaluate_metrics": ["AnswerRelevancyMetric"],
    "datasets": [{"query": "AWEL?", "prediction": "A language.", "factual": ["AWEL is one."]}],
}
SCENARIO = """
name: handbook
dataset: rows.jsonl
corpus: docs.jsonl
metrics: [f1, {mrr: {k: 3}}, {politeness: {use: "mine:polite", range: [0, 5]}}]
metric_weights: {f1: 2, mrr@3: 1}
metric_options: {normalizer: squad}
doc_weights: {a.md: 2}
thresholds: {f1: 0.5, mrr@3: {min: 0.2}, weighted_score: 0.5}
gates: {f1: 0.8, weighted_score: 0.7}
skip: [{where: {id: a}, reason: late}]
group_by: doc_name
top_k: 9
save_path: out.json
judge: {model: m, base_url: "http://127.0.0.1:1/v1", concurrency: 8}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Return a scenario with nearly everything that a scenario can say."""
    return of_text(tmp_path, SCENARIO)


def of_text(folder: Path, text: str) -> Scenario:
    path = folder / "s.rageval.yaml"
    path.write_text(text, "utf-8")
    return load_scenario(path).scenario


def changes(scenario: Scenario, body: dict[str, Any], **changed: Any) -> Changes:
    return lay_over(read_request({**body, **changed}), scenario)


def test_the_metrics_of_the_request_replace_those_of_the_scenario(scenario: Scenario) -> None:
    """[B12] What weighs, judges, marks, compares and saves the scenario's own is left out."""
    found = changes(scenario, RECALL)
    assert found.values == {
        "doc_weights": {},
        "gates": {},
        "group_by": None,
        "metric_weights": {},
        "save_path": None,
        "skip": [],
        "thresholds": {},
        "metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
        "metric_options": {},
        "top_k": 5,
        "match": "exact",
        "empty_answer": None,
    }
    assert found.rows == [ROW]
    assert found.key_map == {"contexts": "prediction", "reference_contexts": "contexts"}


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        ("description: of the handbook", False),
        ("refusals: phrases", False),
        ("match: contains", True),  # as it is
        ("citations: brackets", False),
        ("bands: {good: 0.9}", False),
        ("embedding: e", False),
        ("output_dir: out", False),
        ("target: {url: 'http://127.0.0.1:1/'}", True),  # the rows have what it would be asked for
        ("xfail: [{where: {id: a}, reason: late}]", True),
        ("compare: main", True),
        ("sample: {n: 20, against: main}", True),
        ("stop: decided", True),
        ("diagnose: true", True),
        ("diagnose: {generation: f1}", True),
        ("human: {file: labels.csv, of: f1, levels: [0, 1]}", True),
        ("human: labels.csv", True),
    ],
)
def test_what_judges_or_draws_the_rows_of_the_scenario_is_left_out(
    tmp_path: Path, text: str, is_left_out: bool
) -> None:
    """[B12] Gates, labels, a saved run or metrics that it needs are not there: it was refused."""
    head = "name: handbook\ndataset: rows.jsonl\nmetrics: [f1]\ngates: {f1: 0.5}\n"
    found = changes(of_text(tmp_path, f"{head}{text}\n"), RECALL)
    assert (text.partition(":")[0] in found.values) is is_left_out
    assert found.values["gates"] == {}


@pytest.mark.parametrize(
    ("more", "answers", "is_left_out"),
    [
        ({}, "second.jsonl", True),
        ({"id": None, "number": 7}, "second.jsonl", True),
        ({"id": " "}, "second.jsonl", True),
        ({"id": "a"}, "{path: second.jsonl, key: qid}", False),  # as two files meet
        ({}, "{path: second.jsonl, key: query}", False),
        ({"id": "a"}, "second.jsonl", False),
        ({"id": 0}, "second.jsonl", False),
        ({"sample_id": "a"}, "second.jsonl", False),
        ({"Sample ID": "a"}, "second.jsonl", False),
        ({"qid": "a"}, "{path: second.jsonl, key: qid}", False),
        ({"prediction": None}, "second.jsonl", False),  # it is told that there is no id
        ({"prediction": None, "id": "a"}, "second.jsonl", False),
    ],
)
def test_a_second_file_is_left_out_where_no_row_of_a_request_has_its_key(
    tmp_path: Path, more: dict[str, Any], answers: str, is_left_out: bool
) -> None:
    """[B12] They have their answers, and could not be joined: each request was refused."""
    text = f"{{name: n, dataset: r.jsonl, metrics: [f1], answers: {answers}}}"
    [row] = APP["datasets"]
    found = changes(of_text(tmp_path, text), APP, datasets=[{**row, **more}])
    assert ("answers" in found.values) is is_left_out
    assert found.values.get("answers") is None


def test_a_metric_of_the_scenario_keeps_its_options_and_threshold(scenario: Scenario) -> None:
    """[B12] By any of its names; its own by that which the scenario gives it."""
    found = changes(scenario, APP, evaluate_metrics=["politeness", "f1", "mrr@3"])
    assert found.values["metrics"] == [
        {"use": "mine:polite", "name": "politeness", "range": (0.0, 5.0)},
        "f1",
        {"mrr": {"k": 3}},
    ]
    assert found.values["thresholds"] == {"f1": {"value": 0.5}, "mrr@3": {"min": 0.2}}
    assert found.values["metric_options"] == {"normalizer": "squad"}


def test_the_name_of_dbgpt_finds_the_metric_of_ours(tmp_path: Path) -> None:
    """[B12]"""
    text = "{name: n, dataset: r.jsonl, metrics: [{mrr: {match: contains}}], thresholds: {mrr: 1}}"
    found = changes(of_text(tmp_path, text), RECALL, evaluate_metrics=["RetrieverMRRMetric"])
    assert found.values["metrics"] == [{"mrr": {"match": "contains"}}]
    assert found.values["thresholds"] == {"mrr": {"value": 1.0}}


def test_what_the_scenario_says_of_matching_and_empty_answers_holds(tmp_path: Path) -> None:
    """[B12]"""
    text = "{name: n, dataset: r.jsonl, metrics: [f1], match: contains, empty_answer: error}"
    found = changes(of_text(tmp_path, text), RECALL)
    assert (found.values["match"], found.values["empty_answer"]) == ("contains", "error")


def test_rows_in_work_are_calls_at_once(scenario: Scenario) -> None:
    """[B12] parallel_num is for the judge, and for the target where it is asked."""
    assert changes(scenario, APP, parallel_num=3).values["judge.concurrency"] == 3
    assert "target.concurrency" not in changes(scenario, APP, parallel_num=3).values


TARGET = '{name: n, dataset: r.jsonl, target: "app:answer", metrics: [f1]}'
QUESTION = {"query": "AWEL?", "contexts": ["A language."]}


def test_rows_without_predictions_are_put_to_the_target(tmp_path: Path) -> None:
    """[B12]"""
    scenario = of_text(tmp_path, TARGET)
    found = changes(scenario, RECALL, datasets=[QUESTION], parallel_num=3)
    assert "target" not in found.values
    assert found.values["target.concurrency"] == 3
    assert found.key_map == {"reference_contexts": "contexts"}


def test_rows_with_predictions_need_no_target(tmp_path: Path) -> None:
    """[B12] Nor those with contexts beside what is expected."""
    scenario = of_text(tmp_path, TARGET)
    assert changes(scenario, RECALL).values["target"] is None
    row = {"query": "AWEL?", "contexts": ["Else."], "factual": ["A language."]}
    found = changes(scenario, RECALL, datasets=[row])
    assert found.values["target"] is None
    assert found.key_map == {}


def test_without_a_target_rows_need_predictions(scenario: Scenario) -> None:
    """[B12]"""
    with pytest.raises(Refused, match="no row has a 'prediction'"):
        changes(scenario, RECALL, datasets=[QUESTION])


def test_a_row_without_factual_takes_its_contexts(tmp_path: Path) -> None:
    """[B12] Beside rows that name what is expected otherwise."""
    scenario = of_text(tmp_path, "{name: n, dataset: r.jsonl, metrics: [f1]}")
    other = {"query": "?", "prediction": ["a"], "factual": ["b"]}
    found = changes(scenario, RECALL, datasets=[other, ROW])
    assert found.key_map == {"contexts": "prediction"}
    assert found.rows == [
        other,
        {"query": "AWEL?", "prediction": ROW["prediction"], "reference_contexts": ["A language."]},
    ]


def test_the_text_of_a_prompt_goes_to_the_metric(tmp_path: Path) -> None:
    """[B12] With the options that the scenario gives it."""
    text = "{name: n, dataset: r.jsonl, judge: m, metrics: [{AnswerRelevancyMetric: {levels: 0}}]}"
    text = text.replace("levels: 0", "name: relevant")
    prompt = "Rate {answer} for {query}: 0 to 5"
    found = changes(of_text(tmp_path, text), APP, context={"prompt": prompt, "model": "m"})
    assert found.values["metrics"] == [
        {"AnswerRelevancyMetric": {"name": "relevant", "prompt": prompt}}
    ]


def test_options_say_what_they_are_to(scenario: Scenario) -> None:
    """[B12] Whatever the text of a prompt: --rag-set reads it as it was."""
    prompt = "\"{answer}\"\n\t{query}: 'ä' 甲 😀 \u2028 \ufeff \x7f \x85 # - [0, 5]"
    found = changes(scenario, APP, context={"prompt": prompt})
    options = [option.removeprefix("--rag-set=") for option in found.options("/tmp/x y/rows.json")]
    read = {override.path: override.value for override in map(_override, options)}
    assert read["metrics",] == [{"AnswerRelevancyMetric": {"prompt": prompt}}]
    assert read["dataset",]["path"] == "/tmp/x y/rows.json"
    assert read["gates",] == {}


def _override(text: str) -> Any:
    return set_override("--rag-set", text)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scene_value": None}, "scene_value: expected the name"),
        ({"scene_value": ["handbook"]}, "scene_value: expected the name"),
        ({"evaluate_metrics": None}, "evaluate_metrics: expected a list"),
        ({"evaluate_metrics": "f1"}, "evaluate_metrics: expected a list"),
        ({"evaluate_metrics": ["mine:polite"]}, "'mine:polite' is no metric's name"),
        ({"evaluate_metrics": ["mine.polite"]}, "'mine.polite' is no metric's name"),
        ({"evaluate_metrics": [{"use": "mine:polite"}]}, "is no metric's name"),
        ({"evaluate_metrics": ["f1(corpus='/etc/passwd')"]}, "is no metric's name"),
        ({"datasets": "/etc/passwd"}, "datasets: expected the rows themselves; no file is opened"),
        ({"datasets": []}, "datasets: expected a list of rows"),
        ({"datasets": [ROW, "x"]}, "datasets: row 2 is text, expected an object"),
        ({"dataset": {"path": "x"}}, "unknown field 'dataset'. Did you mean 'datasets'"),
        ({"target": "os:system"}, "unknown field 'target'"),
        ({"context": "x"}, "context: expected an object"),
        ({"context": {"corpus": "x"}}, "context: unknown field 'corpus'"),
        ({"context": {"top_k": 0}}, "context.top_k: expected a whole number from 1"),
        ({"context": {"top_k": True}}, "context.top_k: expected a whole number from 1"),
        ({"context": {"prompt": "\ud800"}}, "context.prompt: expected a text"),
        ({"context": {"prompt": "x" * 20_001}}, "context.prompt: expected a text"),
        ({"parallel_num": 1025}, "parallel_num: expected a whole number from 1 to 1024"),
    ],
)
def test_what_no_request_holds_is_refused(changed: dict[str, Any], message: str) -> None:
    """[B12] No path, no import path, nothing of a scenario file."""
    with pytest.raises(Refused) as caught:
        read_request({**RECALL, **changed})
    assert caught.value.status == 400
    assert message in str(caught.value)


def test_an_unknown_scene_is_refused(scenario: Scenario) -> None:
    """[B12]"""
    with pytest.raises(Refused, match="scene_key: expected 'recall' or 'app', found 'dataset'"):
        changes(scenario, RECALL, scene_key="dataset")


def test_a_number_may_be_the_name_of_a_scenario() -> None:
    """[B12] DB-GPT's documentation has 147 for a space."""
    assert read_request({**RECALL, "scene_value": 147}).scenario == "147"


def test_rows_with_and_without_an_answer_go_apart(tmp_path: Path) -> None:
    """[B12] Those without were not asked, and had no score."""
    asked = of_text(tmp_path, f'{SCENARIO}target: "http://127.0.0.1:1/ask"\n')
    rows = [{"query": "q", "prediction": "a"}, {"query": "q2"}, {"query": "q3", "prediction": None}]
    with pytest.raises(Refused, match="no prediction in rows 2, 3, and others have one"):
        changes(asked, APP, datasets=rows)
