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


UNREADABLE = ["\x7f", "\x92", "\ufffe"]
"""Characters that JSON takes and YAML does not: a mis-decoded quote of Windows, for instance."""


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "%s", "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]}',
        '{"%s": 1, "b": 1}',
        '{"a": "\\"a\\": 1, \\"a\\": 2 %s"}',
        "{\"a\": \"{'b': 1, 'b': 2} %s\"}",
        '{"a": "%s", "A": 1, "a ": 2, "": 3}',
    ],
)
@pytest.mark.parametrize("character", [*UNREADABLE, "x", "k" * 2000])
def test_keys_that_differ_are_no_problem(text: str, character: str) -> None:
    tree = parse_json(text % character, "s.json")
    assert (tree.problems, character in str(tree.data)) == ([], character.isprintable())


def test_a_row_too_deep_is_cut_off_beside_what_yaml_cannot_read() -> None:
    deep = "[" * 3000 + "]" * 3000
    row = f'{{"a": "\x7f", "b": {deep}}}'
    tree = parse_json(f'{{"dataset": {{"rows": [{row}]}}}}', "s.json")
    assert tree.problems == []


@pytest.mark.parametrize("character", [*UNREADABLE, "k" * 2000])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"gates": {"em": 0.9}, "gates": {"em": 0.0}, "a": "%s"}', "gates"),
        ('{"gates": {"em": 0.9, "em": 0.0}, "%s": 1}', "em"),
        ('{"x": 1, "\\u0078": 2, "%s": 1}', "x"),
        ('{"dataset": [{"id": 1, "id": 2, "id": 3, "%s": 1}]}', "id"),
    ],
)
def test_a_key_is_found_twice_where_yaml_cannot_read_the_text(
    text: str, key: str, character: str
) -> None:
    """The later of two gates won."""
    tree = parse_json(text % character, "s.json")
    found = [problem.message.partition(" (")[0] for problem in tree.problems]
    assert found == [f"duplicate key {key!r}"]
