"""A1, B12: scenario files in JSON, with the lines of their values."""

from __future__ import annotations

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import parse_json


def test_values_are_those_of_json_and_have_their_lines() -> None:
    """Tabs, escaped slashes, emoji in two parts and 1e2 are not YAML, or mean something else."""
    text = '{\n\t"a": "x\\/\\ud83d\\ude00",\n\t"b": {\n\t\t"c": [1e2,\n true, null, "no"]}}\n'
    tree = parse_json(text, "s.json")
    assert tree.data == {"a": "x/😀", "b": {"c": [100.0, True, None, "no"]}}
    assert isinstance(tree.data["b"]["c"][0], float)
    assert tree.where(("a",)) == "s.json:2"
    assert tree.where(("b", "c", 1)) == "s.json:5"
    assert tree.problems == []


def test_a_key_that_is_there_twice_is_a_problem() -> None:
    (problem,) = parse_json('{"a": 1,\n"a": 2}', "s.json").problems
    assert str(problem) == "s.json:2: duplicate key 'a' (first on line 1)"


def test_what_only_yaml_allows_is_read_as_yaml() -> None:
    assert parse_json('{"a": 1,  # one\n}', "s.json").data == {"a": 1}
    assert parse_json("a: 1\n", "s.json").data == {"a": 1}


def test_what_is_neither_is_refused_with_the_place() -> None:
    """E12."""
    with pytest.raises(ScenarioError, match=r"^s.json:2: not valid JSON: .* \(column 6\)$"):
        parse_json('{"a":\n "b" "c"}', "s.json")
    with pytest.raises(ScenarioError, match=r"s\.json"):
        parse_json("[" * 100_000, "s.json")


@pytest.mark.parametrize("depth", [101, 3000])
def test_a_file_nested_deeper_than_yaml_may_be_is_refused(depth: int) -> None:
    """[E12] Whatever comes later goes through it by recursion."""
    deep = "[" * depth + "]" * depth
    with pytest.raises(ScenarioError, match="^s.json.*: n[eo][st]"):
        parse_json(f'{{"x-own": {deep}}}', "s.json")
    assert parse_json('{"x-own": %s}' % ("[" * 68 + "]" * 68), "s.json").data
