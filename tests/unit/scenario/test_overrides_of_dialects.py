"""A14, B12, A23: the command line wins in files of rag_eval, UltraRAG and DB-GPT, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario, inspect_scenario, inspect_tree
from pytest_rageval.scenario.overrides import Override, set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml

RAG_EVAL = """
scenario_name: s
judge_model: gpt-4o
runtime: {max_samples: 100, metric_concurrency: 8}
dataset: rows.jsonl
metrics: [llm_answer_relevancy]
"""
ONLINE = """
scenario_name: s
mode: online
app_adapter: {type: http, endpoint: "http://127.0.0.1:9/ask"}
runtime: {app_concurrency: 8}
dataset: rows.jsonl
metrics: [em]
"""
ULTRARAG = """
benchmark: {name: nq, path: nq.jsonl, limit: 5, key_map: {gt_ls: golds}}
evaluation: {metrics: [acc, f1]}
"""
RUNS = """
run_new_path: new.txt
run_old_path: old.txt
qrels_path: qrels.txt
ir_metrics: [mrr]
n_resamples: 500
"""
DBGPT = """
scene_key: app
parallel_num: 4
judge: qwen
context: {model: zhipu, top_k: 5}
datasets: [{query: q, prediction: a, factual: [c]}]
evaluate_metrics: [AnswerRelevancyMetric]
"""

Load = Callable[..., LoadedScenario]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a loader of a text with values of the command line: ``path=value`` pairs."""

    def load(text: str, **given: object) -> LoadedScenario:
        path = tmp_path / "s.rageval.yaml"
        path.write_text(text, encoding="utf-8")
        overrides = [
            Override(tuple(name.split("__")), value, "--rag-set") for name, value in given.items()
        ]
        loaded, problems = inspect_scenario(path, overrides)
        if problems or loaded is None:
            raise ScenarioError(problems)
        return loaded

    return load


def test_of_rag_eval(load: Load) -> None:
    """What the command line says nothing about stays as the file has it."""
    loaded = load(RAG_EVAL, dataset__limit=2, judge__concurrency=3, judge__base_url="http://h/v1")
    scenario, judge = loaded.scenario, loaded.scenario.judge
    assert judge is not None
    assert (scenario.dataset.limit, scenario.dataset.path) == (2, "rows.jsonl")
    assert (judge.model, judge.concurrency, judge.base_url) == ("gpt-4o", 3, "http://h/v1")
    assert loaded.overridden == ("dataset.limit", "judge.concurrency", "judge.base_url")
    other = load(RAG_EVAL, judge__model="other", name="t", metrics=["em"]).scenario
    assert other.judge is not None
    assert (other.judge.model, other.judge.concurrency, other.name) == ("other", 8, "t")
    assert [spec.metric for spec in other.metrics] == ["em"]


def test_of_rag_eval_in_its_own_words(load: Load) -> None:
    loaded = load(RAG_EVAL, runtime__max_samples=2, judge_model="other")
    assert loaded.scenario.dataset.limit == 2
    assert loaded.scenario.judge is not None
    assert loaded.scenario.judge.model == "other"
    beside = RAG_EVAL.replace("dataset: rows.jsonl", "dataset: {path: rows.jsonl, limit: 5}")
    beside = beside.replace("max_samples: 100, ", "")
    assert load(beside, runtime__max_samples=2).scenario.dataset.limit == 2


def test_of_rag_eval_online(load: Load) -> None:
    """Also to ask nobody: the recipe to judge answers that were saved."""
    target = load(ONLINE, target__concurrency=1).scenario.target
    assert target is not None
    assert target.concurrency == 1
    offline = load(ONLINE, target=None, dataset__path="saved.jsonl").scenario
    assert (offline.target, offline.dataset.path) == (None, "saved.jsonl")
    other = load(ONLINE, target="my_app:answer").scenario.target
    assert other is not None
    assert other.options == {"use": "my_app:answer"}


def test_of_ultrarag(load: Load) -> None:
    given = {"dataset__limit": 2, "dataset__path": "z.jsonl", "dataset__key_map__answer": "pred"}
    scenario = load(ULTRARAG, metrics=["em"], **given).scenario
    assert (scenario.name, scenario.dataset.limit, scenario.dataset.path) == ("nq", 2, "z.jsonl")
    assert scenario.dataset.key_map == {"references": "golds", "answer": "pred"}
    assert [spec.metric for spec in scenario.metrics] == ["em"]
    assert load(ULTRARAG, benchmark__limit=3).scenario.dataset.limit == 3
    whole = set_override("--rag-set", "benchmark={path: nq.jsonl, limit: 3}")
    for _ in range(2):  # for another variant, too
        found = inspect_tree(parse_yaml(ULTRARAG, "s.yaml"), Path("s.yaml"), [whole])[0]
        assert (found.scenario.dataset.limit, whole.limits) == (3, True)


def test_of_ultrarag_in_its_own_words_beside_ours(load: Load) -> None:
    """The file says it once, with our key; the command line says it with UltraRAG's."""
    given = {"benchmark__path": "z.jsonl", "evaluation__metrics": ["em"]}
    scenario = load(
        "name: s\ndataset: {path: a.jsonl, limit: 2}\nmetrics: [f1]\n", **given
    ).scenario
    assert (scenario.dataset.path, scenario.dataset.limit) == ("z.jsonl", 2)
    assert [spec.metric for spec in scenario.metrics] == ["em"]


def test_of_ultrarags_runs(load: Load) -> None:
    """A saved run takes the place of the older one."""
    (compare,) = load(RUNS, compare__n_resamples=777).scenario.compare or ()
    assert (compare.n_resamples, compare.run_old_path) == (777, "old.txt")
    (saved,) = load(RUNS, compare__baseline="main").scenario.compare or ()
    assert (saved.baseline, saved.run_old_path, saved.n_resamples) == ("main", None, 500)


def test_of_dbgpt(load: Load) -> None:
    scenario = load(DBGPT, judge__concurrency=2, top_k=1, metrics=["f1"]).scenario
    assert scenario.judge is not None
    assert (scenario.judge.model, scenario.judge.concurrency, scenario.top_k) == ("qwen", 2, 1)
    assert [spec.metric for spec in scenario.metrics] == ["f1"]


def test_of_dbgpt_whom_to_ask(load: Load) -> None:
    """Rows without a reply are none to refuse when somebody is asked."""
    questions = DBGPT.replace("prediction: a, ", "")
    with pytest.raises(ScenarioError, match="name whom to ask under 'target'"):
        load(questions)
    target = load(questions, target="my_app:answer").scenario.target
    assert target is not None
    assert target.options == {"use": "my_app:answer"}


def test_a_judge_of_rag_eval_says_the_rest_beside_its_model(load: Load) -> None:
    """Two models are one too many."""
    judge = load(RAG_EVAL + "judge: {temperature: 0.2}\n").scenario.judge
    assert judge is not None
    assert (judge.model, judge.temperature) == ("gpt-4o", 0.2)
    for second in ("{model: other}", "{profile: p}", "other"):
        with pytest.raises(ScenarioError, match="judge_model and judge say the same"):
            load(RAG_EVAL + f"judge: {second}\n")
