"""E14: what editors are told agrees with what the loader and the types take, and says it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval.engine.editor_schema import editor_schema, json_schema
from pytest_rageval.gates.base import GATE_REGISTRY
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.targets.base import TARGET_REGISTRY

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    path
    for pattern in ("*.rageval.yaml", "by_test.yaml")
    for path in (ROOT / "examples").rglob(pattern)
)

SCENARIO = {"name": "s", "dataset": "rows.jsonl", "metrics": ["em"]}
TARGETS: list[tuple[Any, bool]] = [
    ("my_app:answer", True),
    ("http://127.0.0.1:8000/ask", True),
    (None, True),
    ({"use": "a:b", "options": {"k": 1}, "concurrency": 4}, True),
    ({"url": "http://h", "headers": {"X": "${Y}"}, "body": {"q": "{question}"}}, True),
    ({"type": "http", "fixture": "app_url", "url": "/ask", "x-own": 1}, True),
    ({"fixture": "bot", "timeout_s": 5}, True),
    ({"profile": "local", "prompt": "{contexts}", "retries": 0}, True),
    ({"model": "m", "price": {"input": 1.0}, "cache_answers": True}, True),
    ({"url": "http://h", "hedders": {}}, False),
    ({"type": "htp", "url": "http://h"}, False),
    ({"url": "http://h", "concurrency": 0}, False),
    ({"use": "a:b", "url": "http://h"}, False),
    ({"model": "m", "temperature": -1}, False),
    (7, False),
]


def test_every_type_and_option_is_listed_with_its_meaning() -> None:
    text, *forms = editor_schema()["$defs"]["TargetSpec"]["anyOf"]
    assert text["type"] == "string"
    by_type = {form["properties"]["type"]["enum"][0]: form["properties"] for form in forms}
    assert sorted(by_type) == TARGET_REGISTRY.names()
    for definition in TARGET_REGISTRY:
        assert set(definition.options.model_fields) <= set(by_type[definition.name])
    assert "data.text" in by_type["http"]["answer"]["description"]


def keys_of(part: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key that a scenario may have, with its schema."""
    if isinstance(part, dict):
        known = part.get("properties")
        if isinstance(known, dict) and "type" in part:  # else it is a key of that name
            yield from ((f"{place}.{key}", value) for key, value in known.items())
        for name, value in part.items():
            yield from keys_of(value, f"{place}.{name}")
    elif isinstance(part, list):
        for at, value in enumerate(part):
            yield from keys_of(value, f"{place}.{at}")


@pytest.mark.full
def test_every_key_has_a_description() -> None:
    """[U5] Of options of metrics, gates and targets, too. False forbids a key."""
    found = dict(keys_of(editor_schema()))
    assert len(found) > 500
    assert [key for key, form in found.items() if form and not form.get("description")] == []


def test_names_of_metrics_and_gates_are_proposed_and_others_are_taken() -> None:
    """[U5] In lists of metrics, and as keys of weights, thresholds and gates."""
    schema = editor_schema()
    keys, definitions = schema["properties"], schema["$defs"]
    metrics = set(METRIC_REGISTRY.names())
    names = {
        title: {form.get("const") for form in definitions[title]["anyOf"]}
        for title in ("MetricName", "ScoreName")
    }
    assert names["MetricName"] == metrics | {None}
    assert names["ScoreName"] == metrics | {None, "weighted_score"}
    assert set(keys["metric_weights"]["properties"]) == metrics
    assert set(keys["thresholds"]["properties"]) == metrics | {"weighted_score"}
    assert set(definitions["Gates"]["properties"]) == metrics | {"weighted_score"} | {
        kind.name for kind in GATE_REGISTRY if kind.scope == "scenario"
    }
    assert set(definitions["MetricSpec"]["anyOf"][1]["properties"]) == metrics | {"use", "column"}


OWN = {"my_own": 1.0, "ndcg@10": 0.5}
CHANGES: list[tuple[Mapping[str, Any], bool]] = [
    ({"metrics": ["my_own", "ndcg@10", {"my_own": {"any": [1]}}]}, True),
    ({"metric_weights": OWN, "thresholds": OWN, "gates": OWN}, True),
    ({"metrics": [{"f1": {"normalizer": "squad", "name": "g", "x-own": 1}}, {"em": None}]}, True),
    ({"metrics": [{"f1": {"use": "a:b", "words": 3}}]}, True),
    ({"gates": {"by": {"doc_name": {"f1": {"quantile": {"0.1": 0.3}}}}, "x-own": "any"}}, True),
    ({"gates": {"f1": {"quantile": {0.1: 0.3, 0.5: {"min": 0.5}}}}}, True),  # as YAML has it
    ({"gates": {"f1": {"quantile": {"q": 0.1}}}}, False),
    ({"gates": {"no_regression": {"baseline": "main", "max_drop": "5%"}}}, True),
    ({"compare": {"baseline": "main", "metrics": ["my_own", "weighted_score"]}}, True),
    ({"dataset": [{"answer": "x"}], "x-own": 1}, True),
    ({"dataset": {"path": "rows.jsonl"}, "thresholds": {"f1": {"max": 0.5}}}, True),
    ({"dataset": True}, False),
    ({"metrics": [{"f1": {"normaliser": "squad"}}]}, False),
    ({"metrics": [{"f1": {"normalizer": "none"}}]}, False),
    ({"metrics": [{"hit_rate": {"k": 0}}]}, False),
    ({"metric_weights": {"f1": -1}}, False),
    ({"thresholds": {"f1": "high"}}, False),
    ({"gates": {"f1": "high"}}, False),
    ({"gates": {"by": {"doc_name": 0.5}}}, False),
    ({"variants": {"a": None, "b": {"target": {"url": "http://127.0.0.1/b"}}}}, True),
    ({"variants": {"a": None, "b": {"target": {"options": {"temperature": 0}}}}}, True),
    ({"variants": {"a": None, "b": {"judge": {"temperature": 0, "price": {"output": 2}}}}}, True),
    ({"variants": {"a": None, "b": {"embedding": {"batch_size": 3}}}}, True),
    ({"variants": {"a": None, "b": {"corpus": {"delimiter": ";"}}}}, True),
    ({"variants": {"a": None, "b": {"judge": {"temprature": 0}}}}, False),
    ({"variants": {"a": None, "b": {"embedding": {"batch_size": "many"}}}}, False),
    ({"variants": {"a": None, "b": {"name": "other"}}}, False),
    ({"judge": {"temperature": 0}}, False),
    ({"variants": {"a": None, "b": {"dataset": {"limit": 3}, "compare": {"alpha": 0.1}}}}, True),
    ({"variants": {"a": None, "b": {"dataset": {"limit": 0}}}}, False),
]

FOUND: list[tuple[Mapping[str, Any], bool]] = [
    ({"name": 5}, True),
    ({"gates": {"f1": "0.5"}, "metric_weights": {"em": "1e-2"}}, True),
    ({"gates": {"no_regression": {"baseline": "main", "min_pairs": "0.5"}}}, True),
    ({"mode": "batch"}, False),
    ({"gates": {"no_regression": {"mode": "sig"}}}, False),
    ({"gates": {"no_regression": {"correction": "bonf"}}}, False),
    ({"gates": {"no_regression": {"min_pairs": 2}}}, False),
    ({"gates": {"no_regression": 0.02}}, False),
    ({"ir_metrics": ["recall"], "ks": [0]}, False),
    ({"dataset": {"path": "r.jsonl", "limit": 0}}, False),
    ({"dataset": {"path": "r.jsonl", "max_mb": 0}}, False),
    ({"gates": {"f1": {"agreement": {"min_labels": 5}}}}, False),
    ({"metrics": None}, False),
]


def test_a_missing_key_is_named() -> None:
    """M6: editors show the message as it is."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(editor_schema())
    error = jsonschema.exceptions.best_match(validator.iter_errors({"name": "s", "dataset": "d"}))
    assert error.message == "'metrics' is a required property"


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "is_valid"), [*(({"target": one}, ok) for one, ok in TARGETS), *FOUND, *CHANGES]
)
def test_keys_as_files_have_them(change: Mapping[str, Any], is_valid: bool) -> None:
    """[U5, M6] All else is compared in test_schema_and_loader.py."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(editor_schema())
    assert validator.is_valid(SCENARIO | change) is is_valid


@pytest.mark.full
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_valid_and_with_a_typo_are_not(path: Path) -> None:
    """[U5]"""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(editor_schema())
    tree = yaml.safe_load(path.read_text("utf-8"))
    assert [error.message for error in validator.iter_errors(tree)] == []
    assert not validator.is_valid({**tree, "tresholds": tree.pop("thresholds", {})})


def test_without_the_types_any_option_is_taken() -> None:
    """The scenario's own schema does not know them."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({**SCENARIO, "target": {"type": "of_a_plugin", "own": 1}})
    assert validator.is_valid({**SCENARIO, "target": "my_app:answer"})
    assert not validator.is_valid({**SCENARIO, "target": {"concurrency": "many"}})
