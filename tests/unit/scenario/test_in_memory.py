"""B11: scenarios without a file are those that a file would give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from load_scenario import load_scenario

from pytest_rageval import Scenario, evaluate
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.in_memory import overrides_of, scenario_data, tree_of
from pytest_rageval.scenario.loader import inspect_tree

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
    "name: s\nmetrics: [em]\ndataset: r.jsonl\ntarget: {profile: m}\n"
    "models: {m: {model: big, base_url: 'http://x/v1'}, big: {model: small}}\n",
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


def test_a_profile_that_a_role_has_is_there_for_others(write: Callable[..., Path]) -> None:
    """The texts of a target with its name went to another server."""
    text = (
        "name: s\nmetrics: [em]\ndataset: r.jsonl\njudge: gpt-x\n"
        "models: {gpt-x: {model: gpt-x, base_url: 'http://x/v1', batch_size: 2}}\n"
    )
    loaded = load_scenario(write(text)).scenario
    given = overrides_of({"target": {"model": "gpt-x", "prompt": "say {question}"}})
    again, problems = inspect_tree(tree_of(loaded), Path("s.yaml"), given)
    assert (problems, again.scenario.judge) == ([], loaded.judge)
    assert again.scenario.target is not None
    assert again.scenario.target.options["base_url"] == "http://x/v1"


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


def _nested(kind: type, depth: int = 3000) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = [found] if kind is list else {"a": found}
    return found


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("key", ["x-own", "metric_options", "dataset"])
def test_a_mapping_nested_too_deeply_is_refused(kind: type, key: str) -> None:
    """[E12] Also below rows and overrides, and one that holds itself."""
    deep = _nested(kind)
    tree = {"name": "s", "metrics": ["em"], "dataset": [{"answer": "x"}]}
    value = [{"answer": "x", "references": ["x"], "m": deep}] if key == "dataset" else {"a": deep}
    with pytest.raises(ScenarioError, match="nested too deeply"):
        tree_of({**tree, key: value})
    with pytest.raises(ScenarioError, match="nested too deeply"):
        overrides_of({key: value})
    own: dict[str, Any] = {}
    own["x"] = own["y"] = own
    with pytest.raises(ScenarioError, match="nested too deeply"):
        tree_of({**tree, "x-own": own})


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"x", {("a", 1): 1, "b": 2}, {"\ud800": 1}, {None: 1, 2: 3}]
)
def test_rows_of_a_program_may_hold_what_no_file_can(value: Any) -> None:
    """[E12] It is metadata, and is written down as text."""
    row = {"answer": "x", "references": ["x"], "own": value}
    result = evaluate({"name": "s", "metrics": ["em"], "dataset": [row]})
    assert result.mean_of("em") == 1.0
    assert yaml.safe_load(result.info.snapshot)["dataset"]["rows"][0]["own"] is not None


def test_columns_that_are_numbers_have_their_text_as_name() -> None:
    """[E12] As those of a data frame without a header."""
    tree = {"name": "s", "metrics": ["em"], "dataset": {"rows": [{0: "x", 1: "x", None: "y"}]}}
    with pytest.raises(ScenarioError, match="has no such fields. Columns: 0, 1, None"):
        evaluate(tree)
    rows = {**tree["dataset"], "key_map": {"answer": "0", "references": "1"}}
    assert evaluate({**tree, "dataset": rows}).mean_of("em") == 1.0


@pytest.mark.parametrize("scenario", [[{"name": "s"}], None, 7])
def test_what_is_no_scenario_at_all_is_refused(scenario: Any) -> None:
    """[E12] A list that was read from a file, for instance."""
    with pytest.raises(ScenarioError, match="expected a path, a Scenario or a mapping, found"):
        evaluate(scenario)


def polite(answer: str) -> bool:
    return "please" in answer


def test_a_function_as_a_metric_is_told_the_path_to_write() -> None:
    for metrics in ([polite], [{"use": polite}]):
        with pytest.raises(ScenarioError) as caught:
            tree_of({"metrics": metrics})
        assert str(caught.value).endswith(f"; write {{'use': '{__name__}:polite'}}")
    with pytest.raises(ScenarioError, match="define it with a name in a module, and write"):
        tree_of({"metrics": [lambda answer: 1.0]})
    with pytest.raises(ScenarioError, match="of type function$"):
        tree_of({"thresholds": {"em": polite}})
