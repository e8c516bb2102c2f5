"""B12, D9, A23: whatever stands under another system's keys, it is read or it is a problem."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml.tree import YamlTree

ROWS = [{"query": "q", "prediction": "p", "contexts": ["c"], "factual": ["f"]}]
HTTP = {
    "type": "http",
    "endpoint": "http://127.0.0.1:9/ask",
    "method": "post",
    "timeout_seconds": 5,
    "request_template": {"style": "short"},
    "static_kwargs": {"lang": "zh"},
    "response_mapping": {"answer": "reply.text", "contexts": "passages"},
}
PYTHON = {"type": "python", "callable": "app:ask", "static_kwargs": {"k": 3}, "timeout_seconds": 5}
RAG_EVAL: dict[str, Any] = {
    "scenario_name": "s",
    "mode": "online",
    "dataset": "rows.csv",
    "judge_model": "m",
    "embedding_model": "e",
    "metrics": ["f1"],
    "runtime": {
        "batch_size": 1,
        "app_concurrency": 2,
        "metric_concurrency": 3,
        "max_samples": 4,
    },
}
DBGPT: dict[str, Any] = {
    "evaluate_code": "e-17",
    "user_id": "u",
    "scene_value": 147,
    "datasets_name": "march",
    "datasets": ROWS,
    "context": {"top_k": 5, "prompt": "p", "model": "m"},
    "parallel_num": 2,
}
TREC: dict[str, Any] = {
    "qrels_path": "q.txt",
    "run_path": "r.txt",
    "ks": [1, 5],
    "ir_metrics": ["mrr", "ndcg"],
}
BENCHMARK: dict[str, Any] = {
    "name": "nq",
    "path": "nq.jsonl",
    "key_map": {"gt_ls": "golden_answers"},
    "shuffle": True,
    "seed": 7,
    "limit": 3,
}
EVALUATION: dict[str, Any] = {"save_path": "out.json", "metrics": ["f1"]}
RUNS: dict[str, Any] = {"run_new_path": "n.txt", "run_old_path": "o.txt", "n_resamples": 999}

FILES: dict[str, dict[str, Any]] = {
    "rag_eval offline": {**RAG_EVAL, "mode": "offline"},
    "rag_eval over http": {**RAG_EVAL, "app_adapter": HTTP},
    "rag_eval in python": {**RAG_EVAL, "app_adapter": PYTHON},
    "dbgpt recall": {
        **DBGPT,
        "scene_key": "recall",
        "evaluate_metrics": ["RetrieverHitRateMetric"],
    },
    "dbgpt app": {**DBGPT, "scene_key": "app", "evaluate_metrics": ["f1"]},
    "dbgpt beside ours": {
        **{key: value for key, value in DBGPT.items() if key != "datasets"},
        "dataset": {"rows": ROWS, "key_map": {"answer": "prediction"}, "limit": 3},
        "evaluate_metrics": ["f1"],
        "judge": {"model": "j", "concurrency": 2},
    },
    "dbgpt with a target": {
        **DBGPT,
        "scene_key": "app",
        "evaluate_metrics": ["f1"],
        "target": {"type": "http", "url": "http://127.0.0.1:9/", "body": {"q": "{question}"}},
    },
    "ultrarag answers": {"benchmark": BENCHMARK, "evaluation": EVALUATION, "retriever": {"k": 1}},
    "ultrarag pipeline": {
        "benchmark": {"benchmark": BENCHMARK},
        "evaluation": {"evaluation": {**EVALUATION, **TREC, **RUNS}},
    },
    "ultrarag retrieval": {"evaluation": {**TREC, **RUNS}, "compare": {"seed": 1}},
    "trec": {"name": "s", "missing_queries": "skip", **TREC},
}
"""A sound file in each dialect; together they have every key that the dialects read."""

EVERY_KEY = sorted({key for file in FILES.values() for key in file} | set(Scenario.model_fields))

Place = tuple[str | int, ...]


def places_of(value: Any, here: Place = ()) -> list[Place]:
    """Return the path of each value in ``value``, its own first."""
    if isinstance(value, dict):
        steps = list(value.items())
    else:
        steps = list(enumerate(value)) if isinstance(value, list) else []
    return [here, *(place for step, part in steps for place in places_of(part, (*here, step)))]


def put(tree: Any, place: Place, value: Any) -> None:
    """Put ``value`` there as far as the tree, already changed elsewhere, still has the place."""
    found = tree
    for step in place[:-1]:
        try:
            found = found[step]
        except (LookupError, TypeError):
            return
    if isinstance(found, dict) or (isinstance(found, list) and place[-1] in range(len(found))):
        found[place[-1]] = value


def assert_read_or_refused(data: dict[str, Any]) -> None:
    """A file comes back without a problem, or with problems that say something."""
    loaded, problems = inspect_tree(YamlTree(copy.deepcopy(data), "s.yaml"), Path("s.yaml"))
    assert loaded is not None or problems
    assert all(problem.message.strip() for problem in problems)


ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", "my_app:answer", [], ["x"], [[]], [1], [None]]
ODD += [{}, {"model": "m"}, {"model": None}, {"type": "http"}, {"type": ["http"]}, {"path": []}]
ODD += [{"rows": {}}, {"url": "http://127.0.0.1:9/"}, {"use": "a:b"}, [{"x": [1]}], {"x": {}}]

scalars = st.sampled_from([one for one in ODD if not isinstance(one, list | dict)]) | st.text(
    max_size=4
)
inner_keys = st.sampled_from(
    sorted({str(step) for file in FILES.values() for place in places_of(file) for step in place})
) | st.text(max_size=3)
values = st.sampled_from(ODD) | st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(inner_keys, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", FILES)
def test_the_files_that_are_changed_below_are_sound(name: str) -> None:
    data = copy.deepcopy(FILES[name])
    loaded, problems = inspect_tree(YamlTree(data, "s.yaml"), Path("s.yaml"))
    assert loaded is not None
    assert problems == []


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_each_value_replaced_by_an_odd_one_is_read_or_refused(name: str) -> None:
    for place in places_of(FILES[name])[1:]:
        for value in ODD:
            data = copy.deepcopy(FILES[name])
            put(data, place, value)
            assert_read_or_refused(data)


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_any_key_of_any_dialect_with_an_odd_value_beside_it_is_read_or_refused(name: str) -> None:
    for key in EVERY_KEY:
        for value in ODD:
            assert_read_or_refused(FILES[name] | {key: value})


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_any_values_in_many_places_at_once_are_read_or_refused(
    name: str, data: st.DataObject
) -> None:
    tree: dict[str, Any] = copy.deepcopy(FILES[name])
    changed = st.lists(st.tuples(st.sampled_from(places_of(tree)[1:]), values), max_size=3)
    beside = st.dictionaries(st.sampled_from(EVERY_KEY), values, max_size=3)
    for place, value in data.draw(changed):
        put(tree, place, copy.deepcopy(value))
    assert_read_or_refused(tree | data.draw(beside))
