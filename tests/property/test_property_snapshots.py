"""V9: a snapshot is a scenario with the same plan and the same verdict, whatever it is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval import UserError, evaluate
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.model import InvalidRow, SampleResult, ScenarioResult

pytestmark = pytest.mark.full

Files = Callable[[Mapping[str, bytes]], Path]

ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "q1", "answer": "x", "references": ["x"], "doc_name": "d1", "n": 1},
    {"id": "b", "question": "q2", "answer": "", "references": ["y"], "doc_name": "d2", "n": None},
    {"id": "c", "question": "q3", "answer": "yes", "references": ["no"], "contexts": ["c", "k"]},
    {"id": "d", "question": "q4", "answer": "1e3", "references": ["2024-01-01"], "say": "right"},
    {"id": "e", "question": 5, "answer": None, "references": ["~"], "say": "wrong"},
]
FILES: dict[str, bytes] = {
    "rows.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "q.txt": b"1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n",
    "r.txt": b"1 Q0 d1 1 2.0 r\n1 Q0 d2 2 1.0 r\n2 Q0 d4 1 1.0 r\n",
    "o.txt": b"1 Q0 d2 1 2.0 o\n2 Q0 d3 1 1.0 o\n",
    "labels.csv": b"id,metric,annotator,label,digest\n",
    "chunks.jsonl": b'{"id": "k1", "text": "c", "doc_name": "d1"}\n',
    "snapshot_app.py": b"def answer(question):\n    return 'x' if question else 'y'\n",
}


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


def one(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=6
) | one("null", "~", "yes", "1e3", "0x1f", "2024-01-01", "=", "<<", "1_000", ".5", "- a", "#")
numbers = one(0, 0.0, 0.25, 1, 1e-9, 5e-324, 0.1)
weights = one(0, 0.5, 1, 3.0)

MODEL = {
    "concurrency": one(1, 4),
    "rpm": one(None, 60),
    "tpm": one(None, 1000),
    "timeout_s": one(0.5, 60),
    "retries": one(0, 4),
    "max_wait_s": one(0, 120),
    "max_mb": one(8, 1.5),
    "price": one(None, 0.5, {"input": 1, "output": 2}),
    "base_url": one(None, "http://127.0.0.1:9/v1"),
    "api_key_env": one(None, "A_KEY"),
}
judges = optional(
    **MODEL,
    temperature=one(None, 0, 0.7),
    max_failures=one(None, 1, 20),
    max_tokens=one(None, 64),
    seed=one(None, 7),
    form=one("auto", "text"),
    language=one("auto", "zh"),
    repeats=one(1, 3),
).map(lambda keys: {"model": "m", **keys})

COMMON = {
    "description": texts,
    "top_k": one(None, 1, 2),
    "empty_answer": one(None, "worst", "missing", "error"),
    "match": one(None, "exact", "contains"),
    "metric_options": one({}, {"normalizer": "squad"}),
    "doc_weights": st.dictionaries(texts | one("d1"), weights, max_size=2),
    "group_by": one(None, "doc_name"),
    "bands": one({}, {"good": 0.9}, {"warn": 0.1}),
    "diagnose": one(None, True, False),
    "skip": one([], [{"where": {"id": "a"}}], [{"where": {"doc_name": ["d1", "d2"]}}]),
    "xfail": one([], [{"where": {"id": "b"}, "reason": "known"}]),
    "output_dir": one(None, "out"),
    "save_path": one(None, "u.json"),
}
OF_EM = {
    "thresholds": one({}, {"em": 0.5}, {"em": {"min": 0.1}}, {"em": {"min": 0.1, "max": 1}}),
    "gates": one(
        {},
        {"em": 0.5},
        {"em": {"mean": 0.2, "lower_bound": 0.0}, "unscored": 1},
        {"pass_rate": 0.1, "invalid": 0.5, "unscored": {"em": 0.5}},
        {"by": {"doc_name": {"em": {"max": 1}}}},
    ),
    "tolerate": one(None, None, "pass_rate"),
    "metric_weights": st.dictionaries(one("em", "g"), weights, max_size=2),
}
datasets = optional(
    limit=one(-1, 2, 5),
    shuffle=st.booleans(),
    seed=one(1, 42),
    on_invalid=one("fail", "skip", "xfail"),
    blank_answer=one("missing", "empty"),
    key_map=one({}, {"answer": "say"}),
    other_names=st.booleans(),
    merge_rows=one(None),
    max_mb=one(None, 10),
)
offline = st.builds(
    lambda own, rows, dataset, common: {
        "name": own,
        "dataset": {**rows, **dataset},
        "metrics": ["em", {"f1": {"name": "g", "tokenizer": "word"}}],
        **common,
    },
    texts,
    one({"path": "rows.jsonl"}, {"rows": ROWS}),
    datasets,
    optional(**COMMON, **OF_EM),
)
judged = st.builds(
    lambda made, judge, model: {
        **made,
        "metrics": [
            "em",
            {"rubric": {"name": "g", "prompt": "Is {answer} right? {query} {context}"}},
        ],
        "judge": judge,
        "models": model,
    },
    offline,
    judges | one("m", "p"),
    one({}, {"p": {"model": "large", "temperature": None, "max_failures": None}}),
)
TARGET = {
    "concurrency": one(1, 4),
    "rpm": one(None, 60),
    "retries": one(None, 0, 2),
    "timeout_s": one(1, 60.0),
    "version": one("", "2"),
}
targets = st.builds(
    lambda made, target, limits: {**made, "target": {**target, **limits}},
    offline,
    one(
        {"use": "snapshot_app:answer"},
        {"type": "http", "url": "http://127.0.0.1:9/", "body": {"q": "{question}"}},
        {"type": "chat", "model": "m", "temperature": None, "base_url": "http://127.0.0.1:9/v1"},
    ),
    optional(**TARGET),
)
people = st.builds(
    lambda made, human: {**made, "human": human},
    offline,
    one(
        {"file": "labels.csv", "of": "em", "levels": [0, 1]},
        {"column": ["say"], "of": "em", "levels": [0, 1], "cut": None, "drawn": "random"},
    ),
)
trec = st.builds(
    lambda common, missing, compare: {
        "name": "s",
        "qrels_path": "q.txt",
        "run_path": "r.txt",
        "missing_queries": missing,
        "ir_metrics": ["mrr", "ndcg"],
        "ks": [1, 5],
        **common,
        **compare,
    },
    optional(top_k=one(None, 1), bands=COMMON["bands"], doc_weights=COMMON["doc_weights"]),
    one("zero", "skip", "error"),
    one({}, {"compare": {"run_old_path": "o.txt", "metrics": ["mrr"], "alpha": 0.1}}),
)
dialects = one(
    {
        "scenario_name": "s",
        "mode": "offline",
        "dataset": "rows.jsonl",
        "metrics": ["em"],
        "runtime": {"max_samples": 2},
    },
    {
        "benchmark": {"name": "nq", "path": "rows.jsonl", "shuffle": True, "limit": 3},
        "evaluation": {"save_path": "out.json", "metrics": ["em", "f1"]},
    },
    {
        "evaluate_code": "e",
        "scene_key": "app",
        "evaluate_metrics": ["em"],
        "datasets": [{"query": "q", "prediction": "p", "references": ["p"]}],
    },
    {
        "evaluate_code": "e",
        "scene_key": "recall",
        "evaluate_metrics": ["RetrieverHitRateMetric"],
        "datasets": [{"query": "q", "prediction": ["c"], "contexts": ["c"]}],
    },
)


def of_snapshot(files: Files, scenario: Mapping[str, Any], variant: str = "") -> None:
    """Assert that a scenario and its snapshot have one plan, and where nobody is asked, one run."""
    text = yaml.safe_dump(scenario, allow_unicode=True, sort_keys=False)
    path = files({**FILES, "s.yaml": text.encode()})
    try:
        plan = make_plan(path, shown="s.yaml", variant=variant)
    except UserError:
        return  # it cannot run, and so leaves no snapshot
    run = None if plan.is_asked else evaluate(path, variant=variant or None)
    files({"s.yaml": plan.info.snapshot.encode()})
    again = make_plan(path, shown="s.yaml")
    assert again.info.snapshot == plan.info.snapshot
    assert facts(again) == facts(plan)
    if run is not None:
        second = evaluate(path)
        assert scored(second) == scored(run)
        assert second.gates == run.gates
        assert second.counts == run.counts


def scored(result: ScenarioResult) -> list[SampleResult]:
    """Return the samples without how long they took and on which line they stand."""
    return [replace(sample, latency_s=0.0, line=None) for sample in result.samples]


def facts(plan: Plan) -> list[Any]:
    """Return all of a plan that is not an object of its own, or about the file that says it."""
    info = replace(
        plan.info,
        nodeid="",
        variant="",
        contest=None,
        warnings=(),
        overridden=(),
        overridden_by=(),
    )
    target = plan.target and replace(plan.target, make=None, from_value=None, preload=None)
    metrics = [replace(metric, metric=None) for metric in plan.metrics]
    return [
        info,
        metrics,
        [replace(one, line=None) if isinstance(one, InvalidRow) else one for one in plan.cases],
        plan.required,
        plan.on_invalid,
        plan.models,
        plan.top_k,
        target,
        plan.empty_answer,
        plan.left_out,
        plan.own_names,
    ]


@given(scenario=offline)
def test_of_answers_from_a_file(files: Files, scenario: dict[str, Any]) -> None:
    of_snapshot(files, scenario)


@given(scenario=judged)
def test_of_judged_answers(files: Files, scenario: dict[str, Any]) -> None:
    of_snapshot(files, scenario)


@given(scenario=targets)
def test_of_systems_that_are_asked(files: Files, scenario: dict[str, Any]) -> None:
    pytest.importorskip("aiohttp")
    of_snapshot(files, scenario)


@given(scenario=people)
def test_of_answers_that_people_labelled(files: Files, scenario: dict[str, Any]) -> None:
    of_snapshot(files, scenario)


@given(scenario=trec)
def test_of_retrieval_runs(files: Files, scenario: dict[str, Any]) -> None:
    of_snapshot(files, scenario)


@given(scenario=dialects)
def test_of_other_systems_files(files: Files, scenario: dict[str, Any]) -> None:
    of_snapshot(files, scenario)


KEYS = {name: values for name, values in (COMMON | OF_EM).items() if name != "output_dir"}


@given(scenario=offline, keys=optional(**KEYS))
def test_of_a_variant(files: Files, scenario: dict[str, Any], keys: dict[str, Any]) -> None:
    """Without ``best``, which is about all variants and makes each sample need its metric."""
    shared = {name: value for name, value in scenario.items() if value is not None}
    of_snapshot(files, {**shared, "variants": {"a": {}, "b": keys}}, "b")
