"""E12, A20: whatever a user writes, the answer is a plan or an error that names places.

And whatever the plan, a run in which nothing was scored is not green.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval import UserError, evaluate
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import ScenarioResult

Files = Callable[[Mapping[str, bytes]], Path]

ROWS = "".join(
    json.dumps(row) + "\n"
    for row in (
        {"id": "a", "answer": "x", "references": ["x"], "doc_name": "d1", "level": 1},
        {"id": "b", "answer": "y", "references": [["x"], ["y"]], "doc_name": "d2"},
        {"answer": "", "reference": "北京", "tags": "zh", "skip": ""},
    )
).encode()

VALID: dict[str, Any] = {
    "name": "s",
    "description": "d",
    "dataset": {
        "path": "rows.jsonl",
        "format": "jsonl",
        "key_map": {"answer": "answer"},
        "limit": -1,
        "shuffle": False,
        "seed": 42,
        "on_invalid": "fail",
        "encoding": "utf-8",
        "max_row_mb": 1,
    },
    "metrics": ["em", {"f1": {"normalizer": "squad", "tokenizer": "word", "name": "g1"}}],
    "metric_options": {"normalizer": "ultrarag"},
    "metric_weights": {"em": 1, "g1": 0.5},
    "doc_weights": {"d1": 2},
    "thresholds": {"em": 0.5, "weighted_score": {"min": 0.1}},
    "gates": {
        "weighted_score": 0.5,
        "em": {"mean": {"min": 0.1}},
        "pass_rate": 0.5,
        "unscored": 0.5,
        "by": {"doc_name": {"em": 0.1}, "level": {"pass_rate": 0.5}},
    },
    "tolerate": "pass_rate",
    "skip": [{"where": {"level": 1}, "reason": "r"}],
    "xfail": [{"where": {"doc_name": ["d2"]}}],
    "bands": {"good": 0.8, "warn": 0.6},
    "judge": {"model": "m"},
    "embedding": "e",
    "judge_model": "m",
    "mode": "offline",
    "runtime": {"metric_concurrency": 2, "batch_size": 1},
    "output_dir": "o",
    "save_path": "p",
    "x-own": 1,
}
# What rag_eval calls by another name cannot stand beside our name for it.
VALID_BASE = {key: value for key, value in VALID.items() if key != "judge_model"}

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**63, 10**30, 10**400, 0.5, 1e308, 5e-324, -0.0]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["em", "f1", "rows.jsonl", "mean", "weighted_score", "by", "pass_rate", "doc_name", "min"]
    ),
    st.sampled_from(
        ["max", "path", "rows", "where", "utf-16", "gb18030", "level", "a.b", "x-", ""]
    ),
)
keys = st.one_of(
    st.text(max_size=5),
    st.sampled_from(sorted(VALID)),
    st.sampled_from(["min", "max", "mean", "by", "em", "f1", "doc_name", "where", "model", "path"]),
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)


def dump(tree: Any) -> bytes:
    """Return ``tree`` as YAML; what YAML cannot hold is left out by the codec."""
    text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
    return text.encode("utf-8", "replace")


def plan_or_error(path: Path) -> Plan | ScenarioError:
    """Return what becomes of the scenario; any other exception is a defect and passes on."""
    try:
        return make_plan(path, shown="s.yaml")
    except ScenarioError as error:
        found = error
    assert found.problems, "an error that says nothing"
    assert all(problem.message.strip() for problem in found.problems)
    return found


def result_or_error(path: Path) -> ScenarioResult | UserError:
    try:
        return evaluate(path)
    except UserError as error:
        return error


def assert_not_green_for_nothing(result: ScenarioResult) -> None:
    """A20: nothing scored and yet no red case and no red gate would be a lie."""
    green = all(gate.outcome != "failed" for gate in result.gates) and all(
        sample.outcome in ("passed", "xfailed", "skipped") for sample in result.samples
    )
    assert not (green and result.counts.scored == 0)
    for sample in result.samples:
        if sample.outcome == "passed":
            assert sample.weighted_score is not None


def paths_of(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [here, *(path for key, value in inner for path in paths_of(value, (*here, key)))]


PLACES = [path for path in paths_of(VALID_BASE) if path]


def put(tree: Any, path: tuple[Any, ...], value: Any) -> None:
    """Put ``value`` at ``path`` as far as the tree, already changed elsewhere, still has it."""
    found = tree
    for step in path[:-1]:
        try:
            found = found[step]
        except (LookupError, TypeError):
            return
    step = path[-1]
    is_place = isinstance(step, int) and isinstance(found, list) and step < len(found)
    if isinstance(found, dict) or is_place:
        found[step] = value


def test_the_scenario_that_is_mutated_below_is_a_valid_one(files: Files) -> None:
    path = files({"s.yaml": dump(VALID_BASE), "rows.jsonl": ROWS})
    assert isinstance(plan_or_error(path), Plan)


@given(tree=trees)
def test_any_tree_is_a_plan_or_a_scenario_error(files: Files, tree: Any) -> None:
    """E12."""
    plan_or_error(files({"s.yaml": dump(tree), "rows.jsonl": ROWS}))


@pytest.mark.full
@given(tree=st.dictionaries(st.sampled_from(sorted(VALID)), trees, max_size=8))
def test_any_values_under_known_keys_are_a_plan_or_a_scenario_error(
    files: Files, tree: dict[str, Any]
) -> None:
    """E12."""
    base = {"name": "s", "dataset": "rows.jsonl", "metrics": ["em"]}
    plan_or_error(files({"s.yaml": dump(base | tree), "rows.jsonl": ROWS}))


@pytest.mark.full
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), trees), min_size=1, max_size=3))
def test_a_valid_scenario_with_a_few_changes_is_a_plan_or_a_scenario_error(
    files: Files, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    """E12, A20: and where it runs, it is not green for nothing."""
    tree = copy.deepcopy(VALID_BASE)
    for path, value in changes:
        put(tree, path, value)
    path = files({"s.yaml": dump(tree), "rows.jsonl": ROWS})
    if isinstance(plan_or_error(path), Plan):
        result = result_or_error(path)
        assert isinstance(result, ScenarioResult)
        assert_not_green_for_nothing(result)


@pytest.mark.full
@given(
    at=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    piece=st.one_of(st.binary(max_size=4), st.sampled_from([b"\n", b": ", b"- ", b"&a ", b"*a "])),
)
def test_a_valid_file_with_bytes_put_into_it(files: Files, at: list[int], piece: bytes) -> None:
    """E12."""
    content = dump(VALID_BASE)
    for place in at:
        cut = place % len(content)
        content = content[:cut] + piece + content[cut:]
    plan_or_error(files({"s.yaml": content, "rows.jsonl": ROWS}))


MARKS = [*"[]{},!>'\"#@`~=_\t\\\n", "- ", "? ", ": ", "  ", "&a ", "*a", "<<: ", "%YAML", "---"]
TAGS = ["!!int ", "!!bool ", "!!set ", "!!float ", "!!null ", "!!str ", "!x "]
TEXTS = ["a", "name: s", "0x", "1:2", ".inf", ".nan", "\x00", "\ufeff", "\u2028", "|\n"]
yaml_pieces = st.sampled_from([*MARKS, *TAGS, *TEXTS])


@given(text=st.lists(yaml_pieces, max_size=30).map("".join))
def test_any_text_made_of_pieces_of_yaml(files: Files, text: str) -> None:
    """E12."""
    plan_or_error(files({"s.yaml": text.encode("utf-8"), "rows.jsonl": ROWS}))


@given(content=st.binary(max_size=200))
def test_any_bytes_as_a_scenario_file(files: Files, content: bytes) -> None:
    """E12."""
    plan_or_error(files({"s.yaml": content}))


@pytest.mark.full
@given(override=st.tuples(st.text(max_size=20), st.text(max_size=20)))
def test_any_override_is_taken_or_refused(files: Files, override: tuple[str, str]) -> None:
    """A14, E12."""
    from pytest_rageval.errors import OptionError
    from pytest_rageval.scenario.overrides import set_override

    path = files({"s.yaml": dump(VALID_BASE), "rows.jsonl": ROWS})
    with suppress(OptionError, ScenarioError):
        made = set_override("--rag-set", "=".join(override))
        assert make_plan(path, [made], shown="s.yaml").info.overridden


@pytest.mark.full
@given(place=st.sampled_from(PLACES), value=trees)
def test_any_override_of_a_known_key_is_taken_or_refused(
    files: Files, place: tuple[Any, ...], value: Any
) -> None:
    """A14, E12."""
    from pytest_rageval.scenario.overrides import Override

    path = files({"s.yaml": dump(VALID_BASE), "rows.jsonl": ROWS})
    # A value on the command line is read as YAML: what YAML makes of it, is put in place.
    read = yaml.safe_load(dump({"v": value}))["v"]
    made = Override(tuple(map(str, place)), _text_keys(read), "--rag-set")
    with suppress(ScenarioError):
        assert make_plan(path, [made], shown="s.yaml").info.overridden


def _text_keys(value: Any) -> Any:
    """Our own YAML reader makes every key text."""
    if isinstance(value, dict):
        return {str(key): _text_keys(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_text_keys(part) for part in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@pytest.mark.full
def test_the_generator_reaches_valid_and_invalid_scenarios(files: Files) -> None:
    """The properties above look at something: one change leaves many scenarios valid."""
    chooser = random.Random(0)
    verdicts = set()
    for _ in range(60):
        tree = copy.deepcopy(VALID_BASE)
        put(tree, chooser.choice(PLACES), chooser.choice([0.5, 1, "em", None, [], {}]))
        found = plan_or_error(files({"s.yaml": dump(tree), "rows.jsonl": ROWS}))
        verdicts.add(isinstance(found, Plan))
    assert verdicts == {True, False}
