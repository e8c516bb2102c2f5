"""E14: the JSON Schema that editors use agrees with what the loader takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario
from pydantic import ValidationError

from pytest_rageval.engine.editor_schema import json_schema
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.scenario.schema import BestSpec, Scenario
from pytest_rageval.scenario.spec import reworded

LONG: dict[str, Any] = {
    "name": "s",
    "dataset": {"path": "r.jsonl", "key_map": {"answer": "a"}, "limit": 3},
    "metrics": ["em", {"f1": {"normalizer": "squad"}}],
    "thresholds": {"em": {"min": 0.5}, "f1": 0.5},
    "gates": {"em": 0.5, "f1": {"mean": 0.5}},
    "judge": "m",
    "x-own": {"any": "thing"},
}


def test_every_key_of_a_scenario_is_in_the_schema() -> None:
    schema = json_schema()
    assert set(Scenario.model_fields) <= set(schema["properties"])
    # Each has another form: scenario_name; qrels_path and run_path; ir_metrics and ks.
    assert schema["required"] == []
    assert "scenario_name" in schema["properties"]
    assert json.loads(json.dumps(schema)) == schema


CHANGES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"dataset": "r.jsonl"}, True),
    ({"dataset": [{"answer": "x"}]}, True),
    ({"judge": {"model": "m"}}, True),
    ({"judge": {"profile": "p", "repeats": 3}, "models": {"p": {"model": "m"}}}, True),
    ({"judge": {"repeats": 3}}, False),
    ({"corpus": "chunks.jsonl", "top_k": 5, "match": "contains"}, True),
    ({"corpus": {"path": "chunks.csv", "encoding": "gb18030"}}, True),
    ({"compare": "main"}, True),
    ({"compare": {"baseline": "main", "test": "t", "alpha": 0.1, "n_resamples": 100}}, True),
    ({"dataset": {"qrels_path": "q.txt", "run_path": "r.txt", "missing_queries": "skip"}}, True),
    ({"gates": {"no_regression": {"baseline": "main"}, "f1": {"quantile": {"0.1": 0.3}}}}, True),
    ({"metrics": [{"use": "my_metrics:polite"}]}, True),
    ({"metrics": [{"use": "a.b:c.d", "name": "x", "range": [0, None], "words": [1]}]}, True),
    ({"metrics": [{"use": "a:b", "needs": ["answer"], "asks": ["judge"], "version": 2}]}, True),
    ({"metrics": [{"polite": {"use": "my_metrics:polite", "range": [0, 5]}}]}, True),
    ({"metrics": [{"use": "my_metrics.polite"}]}, False),
    ({"metrics": [{"use": 5, "name": "x"}]}, False),
    ({"metrics": [{"use": "a:b", "range": 5}]}, False),
    ({"metrics": [{"use": "a:b", "version": 0}]}, False),
    ({"metrics": [{"use": "a:b", "asks": ["jugde"]}]}, False),
    ({"metrics": [{"use": "a:b", "timeout_s": 0}]}, False),
    ({"top_k": 0}, False),
    ({"match": "fuzzy"}, False),
    ({"corpus": {"encoding": "utf-8"}}, False),
    ({"compare": {"baseline": "main", "alpha": 1.0}}, False),
    ({"compare": {"baseline": "main", "test": "chi2"}}, False),
    ({"compare": {"baseline": "main", "n_resamples": 99}}, False),
    ({"dataset": {"qrels_path": "q.txt", "run_path": "r.txt", "missing_queries": 0}}, False),
    ({"metrics": []}, False),
    ({"metrics": [{"f1": {}, "em": {}}]}, False),
    ({"tresholds": {}}, False),
    ({"metric_weights": {"em": -1}}, False),
    ({"thresholds": {"em": "high"}}, False),
    ({"dataset": {"path": "r.jsonl", "on_invalid": "ignore"}}, False),
]


@pytest.mark.parametrize(("change", "valid"), CHANGES)
def test_the_loader_takes_and_refuses(
    write: Callable[..., Path], change: dict[str, Any], valid: bool
) -> None:
    path = write(json.dumps(LONG | change))
    if valid:
        assert load_scenario(path).scenario.name == "s"
    else:
        with pytest.raises(ScenarioError):
            load_scenario(path)


@pytest.mark.full
@pytest.mark.parametrize(("change", "valid"), CHANGES)
def test_the_schema_agrees_with_the_loader(change: dict[str, Any], valid: bool) -> None:
    """E14."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid(LONG | change) is valid


def test_every_field_has_its_names_in_key_map() -> None:
    """A17, D7: both generations and UltraRAG's."""
    for name, aliases in FIELD_ALIASES.items():
        assert aliases[0] == name
        assert {FIELD_OF[alias] for alias in aliases} == {name}
    assert [FIELD_OF[name] for name in ("gt_ls", "q_ls", "pred_ls")] == [
        "references",
        "question",
        "answer",
    ]


@pytest.mark.parametrize("alpha", [0, 1, 1.0, -0.1, "low", "nan", True, None, [0.5], 10**400])
def test_what_is_no_share_is_told_with_what_one_is(alpha: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        BestSpec.model_validate({"alpha": alpha})
    (detail,) = caught.value.errors()
    assert reworded(detail).startswith("expected a number between 0 and 1, found ")


@pytest.mark.parametrize("alpha", [0.5, "0.5", "1e-2"])
def test_a_share_may_be_text(alpha: Any) -> None:
    """YAML 1.1 reads 1e-2 as text."""
    assert BestSpec.model_validate({"alpha": alpha}).alpha == float(alpha)
