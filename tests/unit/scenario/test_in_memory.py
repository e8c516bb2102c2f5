"""B11: scenarios without a file are those that a file would give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import Scenario
from pytest_rageval.scenario.in_memory import scenario_data, tree_of
from pytest_rageval.scenario.loader import inspect_tree, load_scenario

TEXTS = [
    "name: s\nmetrics: [em, {f1: {normalizer: squad, name: strict}}, ndcg@10]\ndataset: r.jsonl\n",
    "name: s\nmetrics: [em]\ndataset: {path: r.csv, limit: 3, key_map: {query: q}}\ntop_k: 3\n",
    "name: s\nmetrics: [em]\ndataset: [{answer: x}]\nthresholds: {em: 0.5, f1: {max: 1}}\n",
    "name: s\nmetrics: [{mine: {use: 'a.b:c', needs: [answer]}}]\ndataset: r.jsonl\n",
    "name: s\nmetrics: [em]\ndataset: r.jsonl\ntarget: {url: 'http://x/', body: '{question}'}\n",
    "name: s\nmetrics: [em]\ndataset: r.jsonl\njudge: {model: x, temperature: null, price: 1}\n",
    "name: s\nmetrics: [em]\ndataset: r.jsonl\ncompare: main\ncorpus: c.jsonl\nbands: {good: 1}\n",
    "name: s\nmetrics: [em]\ndataset: r.jsonl\njudge: {profile: m, retries: 1}\n"
    "models: {m: {model: big, temperature: 1}, big: {model: small}}\n",
    "scenario_name: s\nmetrics: [em]\ndataset: r.jsonl\nruntime: {max_samples: 2}\n",
    "qrels_path: q.txt\nrun_path: r.txt\nname: s\nir_metrics: [mrr, recall]\nks: [1, 5]\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_scenario_gives_itself(write: Callable[..., Path], text: str) -> None:
    """Loaded, taken apart and read again, it is the same but for profiles, which are filled in."""
    loaded = load_scenario(write(text)).scenario
    again, problems = inspect_tree(tree_of(loaded), Path("s.yaml"))
    assert problems == []
    assert again is not None
    assert again.warnings == ()
    assert _said(again.scenario) == _said(loaded)


def _said(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(exclude={"models"})


def test_only_what_was_set_is_said() -> None:
    scenario = Scenario(name="s", dataset="r.jsonl", metrics=["em"])  # type: ignore[arg-type]
    assert scenario_data(scenario) == {
        "name": "s", "dataset": {"path": "r.jsonl"}, "metrics": ["em"],
    }  # fmt: skip


def test_a_mapping_may_hold_what_python_has_for_lists_and_paths() -> None:
    row = {"id": 1, "at": object()}
    tree = tree_of({"name": "s", "metrics": ("em",), "dataset": {"path": Path("a/b.jsonl")}})
    assert tree.data == {
        "name": "s",
        "metrics": ["em"],
        "dataset": {"path": str(Path("a/b.jsonl"))},
    }
    assert tree_of({"dataset": (row,)}).data["dataset"] == [row]
    assert tree.where(("metrics", 0)) == "s"
    assert tree_of({}).source == "scenario"
