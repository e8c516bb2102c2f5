"""E25: what a run of an agent may cost, and the options of its child."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.evaluation import evaluate
from pytest_rageval.serving.mcp.run_tool import RunArguments, Weights, _budget, _weight_options

ROWS = [{"id": f"r{at}", "answer": "x", "references": ["x"]} for at in range(4)]


def outline(usd: float = 0.0, *unpriced: str) -> dict[str, Any]:
    return {
        "name": "s",
        "variant": "",
        "samples": 4,
        "metrics": [{"name": "f1"}],
        "docs": {"a.md": 1},
        "doc_weights": {"b.md": 2.0},
        "cost": {"usd": usd, "unpriced": list(unpriced)},
    }


def budget(base: Path, most: float | None, about: dict[str, Any], limit: int | None = None) -> Any:
    return _budget(RunArguments(name="s", max_cost_usd=most, limit=limit), [about], base)


def refusal(base: Path, *args: Any) -> str:
    with pytest.raises(UserError) as caught:
        budget(base, *args)
    return str(caught.value)


def test_a_run_within_its_budget_is_held_to_it(tmp_path: Path) -> None:
    """[E25] The estimate is a guess: pytest stops asking at the same amount."""
    assert budget(tmp_path, 0.5, outline(0.4)) == ["--rag-budget=0.5"]
    assert budget(tmp_path, None, outline(99.0)) == []


def test_a_run_that_asks_nobody_needs_no_budget(tmp_path: Path) -> None:
    assert budget(tmp_path, 0.0, outline()) == []


def test_a_run_above_its_budget_is_refused_with_the_estimate(tmp_path: Path) -> None:
    """[E25] A limit makes it cheaper: half of the samples, half of the cost."""
    assert refusal(tmp_path, 0.5, outline(0.6)).startswith(
        "max_cost_usd: not run: asking about 4 samples will cost about 0.6 USD, more than 0.5."
    )
    assert budget(tmp_path, 0.5, outline(0.6), 2) == ["--rag-budget=0.5"]


def test_every_variant_that_runs_costs(tmp_path: Path) -> None:
    """[E20, E25] A limit is one for each: of 4 samples for 0.4 and 0.2 USD, 2 cost 0.2 and 0.1."""
    figures = [{**outline(0.4), "variant": "a"}, {**outline(0.2), "variant": "b"}]
    given = RunArguments(name="s", max_cost_usd=0.5, limit=None)
    with pytest.raises(UserError, match="asking about 8 samples will cost about 0.6 USD"):
        _budget(given, figures, tmp_path)
    half = given.model_copy(update={"limit": 2, "max_cost_usd": 0.29})
    with pytest.raises(UserError, match="asking about 4 samples will cost about 0.3 USD"):
        _budget(half, figures, tmp_path)


def test_a_cost_that_cannot_be_known_is_refused(tmp_path: Path) -> None:
    """[E25]"""
    assert refusal(tmp_path, 0.5, outline(0.0, "judge 'm'")).startswith(
        "max_cost_usd: the cost cannot be known: judge 'm' has no price in the scenario"
    )


def test_what_runs_cost_before_counts_where_it_is_more(tmp_path: Path) -> None:
    """[E25] 4 samples, 2 calls for 0.2 USD, 6 replies from the cache: 0.8 USD without it."""
    file = tmp_path / "s.yaml"
    file.write_text(f"name: s\nmetrics: [em]\ndataset: {json.dumps(ROWS)}\n", "utf-8")
    evaluate(file, write_to=tmp_path)
    results = tmp_path / "s" / "latest" / "results.json"
    usage = '{"calls": 2, "cached": 6, "cost_usd": 0.2}'
    results.write_text(results.read_text("utf-8").replace('"usage": null', f'"usage": {usage}'))
    assert "about 0.8 USD" in refusal(tmp_path, 0.5, outline(0.1))
    assert "about 0.4 USD" in refusal(tmp_path, 0.3, outline(0.1), 2)


def test_weights_become_options(tmp_path: Path) -> None:
    """[E25] Documents of the data and of the scenario."""
    weights = Weights(metrics={"f1": 2}, documents={"a.md": 0.5, "b.md": 0})
    assert _weight_options(weights, outline()) == [
        "--rag-metric-weight=f1=2.0",
        "--rag-doc-weight=a.md=0.5",
        "--rag-doc-weight=b.md=0.0",
    ]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (Weights(metrics={"f11": 1}), "unknown metric 'f11'. Did you mean 'f1'? Known: f1"),
        (Weights(documents={"../a.md": 1}), "unknown document '../a.md'. Did you mean 'a.md'?"),
    ],
)
def test_unknown_names_of_weights_list_the_known_ones(weights: Weights, message: str) -> None:
    """[E25] Nothing else of an argument becomes part of a command."""
    with pytest.raises(UserError) as caught:
        _weight_options(weights, outline())
    assert str(caught.value).startswith(message)
