"""E25: what a run of an agent may cost, and the options of its child."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.evaluation import evaluate
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.mcp import run_tool
from pytest_rageval.serving.mcp.described_run import Ended
from pytest_rageval.serving.mcp.run_tool import (
    RunArguments,
    ScenarioRuns,
    Weights,
    _budget,
    _weight_options,
)
from pytest_rageval.serving.project import Project, ScenarioEntry

TABLES = tomllib.loads(Path(__file__).with_name("run_tool.toml").read_text("utf-8"))

ROWS = [{"id": f"r{at}", "answer": "x", "references": ["x"]} for at in range(4)]


def outline(usd: float = 0.0, *unpriced: str) -> dict[str, Any]:
    return {
        "name": "s",
        "path": "s.yaml",
        "variant": "",
        "samples": 4,
        "metrics": [{"name": "f1", "weight": 1.0}],
        "docs": {"a.md": 1},
        "doc_weights": {"b.md": 2.0},
        "own_weights": [],
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
    part = usage.replace("}", ', "unpriced": 1}')
    results.write_text(results.read_text("utf-8").replace(usage, part))
    assert "about 0.1 USD" in refusal(tmp_path, 0.05, outline(0.1))  # a part tells nothing


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
        (Weights(metrics={"EM": 1}), "unknown metric 'EM'. Known: f1"),
        (
            Weights(metrics={"f1": 2, "em": 1}),
            "weights: em has not one weight in all variants; name one with 'variant'",
        ),
        (Weights(documents={"own.md": 1}), "weights: own.md has not one weight in all variants;"),
    ],
)
def test_unknown_names_of_weights_list_the_known_ones(weights: Weights, message: str) -> None:
    """[E25] Nothing else of an argument becomes part of a command."""
    with pytest.raises(UserError) as caught:
        _weight_options(weights, {**outline(), "own_weights": ["em", "own.md"]})
    assert str(caught.value).startswith(message)


class _Started(Exception):  # noqa: N818  (no error: it ends what follows)
    """The child that is started to run, with its options."""


async def _no_report(done: float, total: float | None, message: str | None) -> None:
    """Take what is reported."""


def run_options(
    monkeypatch: pytest.MonkeyPatch, base: Path, **arguments: Any
) -> tuple[list[str], list[list[str]]]:
    """Return the options of the child that runs, and those of the children that look before.

    The data has 40 rows, of 0.1 USD each, and the file limits them to 4. Only the last 30 have the
    document late.md, and what is shown of documents is that of rows within the limit.
    """
    looks: list[list[str]] = []

    async def run_child(_: object, command: Sequence[str], _report: object) -> Ended:
        options = [one for one in command if one.startswith("--rag-")]
        options = [one for one in options if not one.startswith(("--rag-scenario", "--rag-only"))]
        if "--collect-only" not in command:
            raise _Started(options)
        looks.append(options)
        limits = [int(one.partition("=")[2]) for one in options if "--rag-limit" in one]
        n = min(limits[0] if limits else 4, 40)
        docs = {"a.md": 1} if n <= 10 else {"a.md": 10, "late.md": n - 10}
        about = {"samples": n, "docs": docs, "invalid": 0, "compare": []}
        none: dict[str, Any] = {"asks": [], "warnings": []}
        event = {**outline(0.1 * n), **about, **none, "event": "scenario"}
        return Ended(0, [event], "")

    monkeypatch.setattr(run_tool, "run_child", run_child)
    project = Project("python", base, (), RunPaths(base))
    entry = ScenarioEntry(base / "s.yaml", "s.yaml", "s")
    request = RunArguments(name="s", **arguments)
    with pytest.raises(_Started) as caught:
        asyncio.run(ScenarioRuns(project).run(entry, base, request, _no_report))
    return caught.value.args[0], looks


@pytest.mark.parametrize(
    ("arguments", "options"),
    TABLES["a_run_has_the_options_of_its_call"],
)
def test_a_run_has_the_options_of_its_call(
    arguments: dict[str, Any],
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert run_options(monkeypatch, tmp_path, **arguments)[0] == options


def test_the_cost_is_that_of_the_rows_that_the_call_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """[E25] A limit of the call holds in place of the file's: 20 rows cost 2 USD, not 0.4."""
    with pytest.raises(UserError, match="about 20 samples will cost about 2 USD, more than 1.5"):
        run_options(monkeypatch, tmp_path, limit=20, max_cost_usd=1.5)
    weights = {"documents": {"a.md": 2, "late.md": 3}}
    found, looks = run_options(monkeypatch, tmp_path, limit=20, max_cost_usd=2.5, weights=weights)
    assert found == [
        "--rag-limit=20",
        "--rag-doc-weight=a.md=2.0",
        "--rag-doc-weight=late.md=3.0",
        "--rag-budget=2.5",
    ]
    assert looks == [["--rag-child=aside"], ["--rag-child=aside", "--rag-limit=20"]]


@pytest.mark.parametrize(
    ("events", "seen", "texts"),
    [
        ([("a.yaml", "", 1), ("b.yaml", "", 2)], {"a.yaml": [1], "b.yaml": [2]}, set()),
        ([("b.yaml", "", 2), ("a.yaml", "", 1)], {"a.yaml": [1], "b.yaml": [2]}, set()),
        ([("a.yaml", "x", 1), ("a.yaml", "y", 3)], {"a.yaml": [1, 3], "b.yaml": []}, {"b.yaml"}),
        ([("b.yaml", "", 2)], {"a.yaml": [], "b.yaml": [2]}, {"a.yaml"}),
        ([], {"a.yaml": [], "b.yaml": []}, {"a.yaml", "b.yaml"}),
    ],
)
def test_of_two_scenarios_of_one_name_each_has_its_own_figures(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    events: list[tuple[str, str, int]],
    seen: dict[str, list[int]],
    texts: set[str],
) -> None:
    """[E25] Both had those of the file that was read last."""
    written = [
        {**outline(), "event": "scenario", "path": path, "variant": variant, "samples": n}
        for path, variant, n in events
    ]

    async def run_child(*_: object) -> Ended:
        return Ended(0, written, "")

    monkeypatch.setattr(run_tool, "run_child", run_child)
    entries = [ScenarioEntry(tmp_path / name, name, "s", name) for name in seen]
    project = Project("python", tmp_path, (), RunPaths(tmp_path))
    found = asyncio.run(run_tool.outlines(project, entries, _no_report))
    assert {
        path: [figures["samples"] for figures in one.figures.values()]
        for path, one in found.items()
    } == seen
    assert {path for path, one in found.items() if one.problems} == texts
