"""B12: DB-GPT's evaluation requests, as JSON and as YAML, are scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample
from pytest_rageval.scenario.loader import LoadedScenario
from pytest_rageval.scenario.overrides import set_override

Load = Callable[..., LoadedScenario]

RECALL: dict[str, Any] = {
    "scene_key": "recall",
    "scene_value": 147,
    "context": {"top_k": 5},
    "evaluate_metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
    "datasets": [
        {"query": "AWEL 是什么?", "contexts": ["a", "b"], "prediction": ["b", "x"]},
        {"query": "q2", "contexts": ["c"], "prediction": []},
    ],
}
APP: dict[str, Any] = {
    "scene_key": "app",
    "scene_value": "2c76eea2",
    "evaluate_metrics": ["AnswerRelevancyMetric"],
    "datasets": [{"query": "q", "prediction": "an answer", "factual": ["a passage"]}],
}


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that writes a request as JSON, or as YAML, and loads it."""

    def load_request(request: dict[str, Any], *sets: str, name: str = "nightly.json") -> Any:
        path = tmp_path / name
        path.write_text(json.dumps(request, indent="\t" if name.endswith("json") else 1))
        overrides = [set_override("--rag-set", text) for text in sets]
        return load_scenario(path, overrides, shown=name)

    return load_request


def refused(load: Load, request: dict[str, Any], *sets: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load(request, *sets)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("name", ["nightly.json", "nightly.yaml"])
def test_a_request_about_retrieval_is_a_scenario(load: Load, name: str) -> None:
    """B1, B2, B8, B12: contexts are the expected ones, the prediction what was retrieved."""
    loaded = load(RECALL, name=name)
    scenario = loaded.scenario
    assert scenario.name == "nightly"
    assert [spec.metric for spec in scenario.metrics] == RECALL["evaluate_metrics"]
    assert scenario.dataset.rows == RECALL["datasets"]
    assert scenario.dataset.key_map == {
        "reference_contexts": "contexts",
        "contexts": "prediction",
    }
    assert (scenario.top_k, scenario.match) == (5, "exact")
    assert loaded.warnings == (
        "scene_value: the space 147 of a running DB-GPT is not asked: "
        "the rows hold what it replied",
    )


def test_a_request_about_an_app_is_a_scenario(load: Load) -> None:
    """B5, B12: the prediction is the answer; what it was judged against are the contexts."""
    context = {"top_k": 5, "prompt": "942acd7e", "model": "zhipu"}
    loaded = load({**APP, "context": context, "parallel_num": 4, "judge": "qwen"})
    scenario = loaded.scenario
    assert scenario.dataset.key_map == {"answer": "prediction", "contexts": "factual"}
    assert scenario.judge is not None
    assert (scenario.judge.model, scenario.judge.concurrency) == ("qwen", 4)
    assert [warning.partition(":")[0] for warning in loaded.warnings] == [
        "context.prompt",
        "context.model",
        "scene_value",
    ]
    assert scenario.match is None


def test_what_stands_beside_a_request_is_kept(load: Load) -> None:
    """B7, B12: a judge, thresholds, a corpus; our own values come first."""
    loaded = load(
        {
            **APP,
            "name": "mine",
            "judge": {"model": "qwen-plus", "base_url": "http://127.0.0.1:9/v1", "concurrency": 2},
            "thresholds": {"AnswerRelevancyMetric": 3},
            "context": {"model": "zhipu"},
            "parallel_num": 8,
        }
    )
    scenario = loaded.scenario
    assert scenario.name == "mine"
    assert scenario.judge is not None
    assert (scenario.judge.model, scenario.judge.concurrency) == ("qwen-plus", 2)


def test_the_model_of_a_request_is_the_apps(load: Load) -> None:
    """[F7] It answered; it became the judge. A judge's name may be a number."""
    loaded = load({**APP, "judge": 1, "context": {"model": "zhipu"}})
    assert loaded.scenario.judge is not None
    assert loaded.scenario.judge.model == "1"
    said = "context.model: 'zhipu' is the app's model, and judges nothing; 'judge' says who does"
    assert loaded.warnings[0] == said
    loaded = load({**APP, "context": {"model": "zhipu"}})
    assert loaded.scenario.judge is None
    assert loaded.warnings[0] == said
    half = {**APP, "judge": {"concurrency": 2}, "context": {"model": "zhipu"}}
    (problem,) = refused(load, half)
    assert problem.endswith(
        "judge.model: required, and missing; "
        "context.model 'zhipu' is the app's model, and judges nothing"
    )


def test_options_of_the_command_line_reach_a_request(load: Load) -> None:
    """A14, B12."""
    sets = ("dataset.limit=1", "judge.base_url='http://127.0.0.1:9/v1'", "top_k=2")
    loaded = load({**APP, "judge": "qwen", "context": {"top_k": 5}}, *sets)
    judge = loaded.scenario.judge
    assert judge is not None
    assert (judge.model, judge.base_url) == ("qwen", "http://127.0.0.1:9/v1")
    assert [warning.partition(":")[0] for warning in loaded.warnings] == ["scene_value"]
    assert loaded.scenario.dataset.limit == 1
    assert loaded.scenario.dataset.rows == APP["datasets"]
    assert loaded.scenario.top_k == 2


def test_an_option_for_a_context_is_no_contradiction(load: Load) -> None:
    """The request says both; the text of a number is the number."""
    request = {**APP, "judge": "qwen", "top_k": "5", "context": {"top_k": 5}}
    assert load(request).scenario.top_k == 5
    assert load(request, "context.top_k=10").scenario.top_k == 10


def test_keys_without_a_counterpart_are_named_in_warnings(load: Load) -> None:
    """B12."""
    account = {
        "user_name": "u", "user_id": None, "sys_code": "xx", "state": "complete", "result": "r",
        "storage_type": "db", "average_score": "0.5", "log_info": "", "gmt_create": "2024",
        "gmt_modified": "2025",
    }  # fmt: skip
    loaded = load(
        {**RECALL, **account, "evaluate_code": "e-17", "datasets_name": "march", "parallel_num": 3,
         "context": {"top_k": 5, "model": "zhipu", "prompt": None}}
    )  # fmt: skip
    assert (loaded.scenario.name, loaded.scenario.description) == ("e-17", "march")
    text = "\n".join(loaded.warnings)
    for key in ("user_name", "sys_code", "state", "average_score", "gmt_modified", "scene_value"):
        assert key in text
    assert "user_id" not in text
    assert "context.model: has no counterpart here" in text
    assert "parallel_num: has no effect" in text


def test_rows_may_be_in_a_file(load: Load) -> None:
    """B7, B12: a file beside the request; expected contexts may come from a corpus."""
    by_path = {**RECALL, "datasets": "rows.jsonl"}
    dataset = load(by_path).scenario.dataset
    assert dataset.path == "rows.jsonl"
    assert dataset.key_map == {"contexts": "prediction", "reference_contexts": "contexts"}
    dataset = load({**by_path, "corpus": "chunks.jsonl"}).scenario.dataset
    assert dataset.key_map == {"contexts": "prediction"}
    own = {"path": "rows.jsonl", "key_map": {"contexts": "found"}}
    dataset = load({**RECALL, "datasets": None, "dataset": own}).scenario.dataset
    assert dataset.key_map == {"contexts": "found", "reference_contexts": "contexts"}


def test_rows_without_predictions_need_a_target(load: Load) -> None:
    """A21, B12: the message says what to do."""
    request = {**RECALL, "datasets": [{"query": "q", "contexts": ["c"]}]}
    (problem,) = refused(load, request)
    assert "no row has a 'prediction', and the space of a running DB-GPT is not asked" in problem
    assert problem.startswith("nightly.json:11: ")
    assert problem.endswith("name whom to ask under 'target'")
    loaded = load({**request, "target": "my_app.rag:search", "parallel_num": 3})
    assert loaded.scenario.target is not None
    assert loaded.scenario.target.concurrency == 3
    assert loaded.scenario.dataset.key_map == {"reference_contexts": "contexts"}
    assert loaded.warnings[-1].endswith("is not asked: 'target' is")


def test_rows_that_are_no_mappings_are_not_said_to_lack_something(load: Load) -> None:
    """[F7] That they are none is the cause, and said of each row."""
    assert load({**RECALL, "datasets": ["What is AWEL?"]}).scenario.dataset.rows


def test_rows_may_have_our_own_names(load: Load) -> None:
    """B12: nothing is renamed then."""
    row = {"question": "q", "contexts": ["found"], "reference_contexts": ["wanted"]}
    assert load({**RECALL, "datasets": [row]}).scenario.dataset.key_map == {}
    row = {"question": "q", "answer": "a", "contexts": ["c"], "factual": ["f"]}
    assert load({**APP, "datasets": [row]}).scenario.dataset.key_map == {}


def test_a_limit_is_no_data(load: Load) -> None:
    """A14, B12."""
    (problem,) = refused(load, {**RECALL, "datasets": None}, "dataset.limit=1")
    assert "datasets: needs the rows" in problem


def test_the_scene_follows_from_the_metrics_where_it_is_not_named(load: Load) -> None:
    """B12."""
    for request in (RECALL, APP):
        unnamed = {key: value for key, value in request.items() if key != "scene_key"}
        assert load(unnamed).scenario == load(request).scenario


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scene_key": "dataset"}, "scene_key: expected 'recall' or 'app', found 'dataset'"),
        ({"scene_key": ["app"]}, "scene_key: expected 'recall' or 'app', found ['app']"),
        ({"judge": ["x"]}, "judge: expected text, found a list"),
        ({"datasets": None}, "datasets: needs the rows, or the path of a file with them"),
        ({"datasets": None, "datasets_name": "m"}, "and 'm' is one that DB-GPT keeps"),
        ({"metrics": ["em"]}, "evaluate_metrics and metrics say the same; keep one of them"),
        ({"evaluate_metrics": None}, "metrics: required, and missing"),
        ({"context": [1]}, "context: expected a mapping"),
        ({"contxt": {}}, "unknown key 'contxt'"),
        ({"context": {"top_k": 0}}, "top_k: expected a number >= 1, found 0"),
        ({"top_k": 9}, "context.top_k and top_k say different things; keep one of them"),
        ({"judge": "x", "parallel_num": 0}, "judge.concurrency: expected a number >= 1, found 0"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(
    load: Load, change: dict[str, Any], message: str
) -> None:
    """B12, E12."""
    assert any(message in problem for problem in refused(load, {**RECALL, **change}))


@pytest.mark.parametrize("own", [None, 5])
def test_top_k_may_be_said_twice(load: Load, own: int | None) -> None:
    """B12: null is no value; it took the place of the other."""
    assert load({**RECALL, "top_k": own}).scenario.top_k == 5


def test_our_own_scenarios_are_left_alone(load: Load) -> None:
    """A key that is theirs, by mistake among ours, gets the usual message."""
    own = {"name": "s", "metrics": ["em"], "datasets": "rows.jsonl"}
    assert any("Did you mean 'dataset'?" in problem for problem in refused(load, own))


@pytest.mark.parametrize("is_file", [False, True])
def test_factual_is_for_rows_without_contexts(tmp_path: Path, is_file: bool) -> None:
    """[F7] In the request and in a file; "found nothing" is no reason to take it."""
    rows = [
        {"query": "o", "prediction": "a", "factual": ["f"], "contexts": ["c"]},
        {"query": "p", "prediction": "a", "factual": ["f"], "contexts": None},
        {"query": "q", "prediction": "b", "factual": ["f"], "contexts": []},
        {"query": "r", "prediction": "b", "factual": ["f"]},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), "utf-8")
    request = {**APP, "evaluate_metrics": ["f1"], "datasets": "rows.json" if is_file else rows}
    (tmp_path / "r.json").write_text(json.dumps(request), "utf-8")
    loaded = load_scenario(tmp_path / "r.json")
    fallbacks = loaded.tree.fallbacks
    dataset = load_dataset(loaded.scenario.dataset, tmp_path, "r.json", fallbacks=fallbacks)
    cases = [case for case in dataset.cases if isinstance(case, Sample)]
    read = [(case.contexts, case.reference_contexts) for case in cases]
    assert read == [(("c",), ("f",)), (("f",), None), ((), ("f",)), (("f",), None)]


def test_an_answer_that_equals_its_factual_stays(tmp_path: Path) -> None:
    """[F7] Python keeps one object for equal texts of a letter."""
    (tmp_path / "rows.json").write_text('[{"query": "q", "prediction": "A", "factual": "A"}]')
    request = {**APP, "evaluate_metrics": ["f1"], "datasets": "rows.json"}
    (tmp_path / "r.json").write_text(json.dumps(request), "utf-8")
    loaded = load_scenario(tmp_path / "r.json")
    fallbacks = loaded.tree.fallbacks
    dataset = load_dataset(loaded.scenario.dataset, tmp_path, "r.json", fallbacks=fallbacks)
    (sample,) = dataset.cases
    assert isinstance(sample, Sample)
    assert (sample.answer, sample.contexts, sample.reference_contexts) == ("A", ("A",), None)


def test_a_prompt_may_be_its_text(load: Load) -> None:
    """[F7] What is the key of one that DB-GPT keeps is a warning."""
    prompt = "Rate {answer} for {query}: 0 to 5"
    loaded = load({**APP, "context": {"prompt": prompt}})
    (metric,) = [one for one in loaded.scenario.metrics if one.metric == "AnswerRelevancyMetric"]
    assert metric.options == {"prompt": prompt}
    assert not [warning for warning in loaded.warnings if "prompt" in warning]


@pytest.mark.parametrize(
    ("prompt", "metrics", "warning"),
    [
        ("942acd7e", ["AnswerRelevancyMetric"], "a prompt that DB-GPT keeps; give its text: "),
        ({"key": 1}, ["AnswerRelevancyMetric"], "a prompt that DB-GPT keeps; give its text: "),
        ("942acd7e", ["em"], "a prompt that DB-GPT keeps; give its text: "),
        ("Rate {answer}", ["em"], "has no effect: AnswerRelevancyMetric, which it is for, is not"),
        (
            "Rate {answer}",
            ["em", {"AnswerRelevancyMetric": {"prompt": "Mine: {answer}"}}],
            "not taken: AnswerRelevancyMetric has options of its own under 'metrics'",
        ),
    ],
)
def test_a_prompt_that_is_left_out_is_warned_of(
    load: Load, prompt: Any, metrics: Any, warning: str
) -> None:
    """[F7] A text was called the key of one that DB-GPT keeps."""
    found = load({**APP, "evaluate_metrics": metrics, "context": {"prompt": prompt}}).warnings
    assert [one.startswith(f"context.prompt: {warning}") for one in found if "prompt" in one] == [
        True
    ]
