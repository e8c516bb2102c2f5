"""YAML as plain data with lines; stricter than PyYAML where its leniency hides mistakes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.yaml.tree import YamlTree, inline_text, parse_yaml, parse_yaml_rows


def parsed(text: str) -> YamlTree:
    return parse_yaml(text, "s.yaml")


def refused(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parsed(text)
    return str(caught.value)


def problems(text: str) -> list[str]:
    return [str(problem) for problem in parsed(text).problems]


def test_scalars_are_what_they_look_like() -> None:
    found = parsed("{i: 3, f: 0.5, e: 1.0e+3, b: true, n: null, t: abc, q: '3', z: }").data
    assert found == {
        "i": 3,
        "f": 0.5,
        "e": 1000.0,
        "b": True,
        "n": None,
        "t": "abc",
        "q": "3",
        "z": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        *("2024-03-01", "2024-03-01 10:00:00", "12:30", "1:30:00", "007", "1:30.5", "-01", "="),
        *("0_7", "00_7"),
    ],
)
def test_dates_times_and_leading_zeros_stay_text(text: str) -> None:
    """PyYAML makes 12:30 the number 750 and 007 the number 7."""
    assert parsed(f"answer: {text}").data == {"answer": text}


@pytest.mark.parametrize("text", ["3.10", "-0.50", ".5", "1.1", "1.050"])
@pytest.mark.parametrize("rows", ["dataset: [%s]", "dataset: {rows: [%s]}"])
def test_a_decimal_of_a_row_has_its_text(rows: str, text: str) -> None:
    """It is a number all the same, also when it is copied and written again."""
    data = copy.deepcopy(parsed(rows % f"{{a: {text}}}").data["dataset"])
    (row,) = data if isinstance(data, list) else data["rows"]
    assert (row["a"], str(row["a"]), inline_text(row)) == (float(text), text, f"{{a: {text}}}")
    threshold = parsed(f"thresholds: {{em: {text}}}").data["thresholds"]["em"]
    assert type(threshold) is float


@pytest.mark.parametrize(
    ("text", "number"), [("2024_01", 202401), ("10_00", 1000), ("0x1F", 31), ("-0b11", -3)]
)
@pytest.mark.parametrize("rows", ["[%s]", "{rows: [%s]}"])
@pytest.mark.parametrize("place", ["dataset: %s", "variants: {v: {dataset: %s}}"])
def test_a_whole_number_of_a_row_has_its_text(
    place: str, rows: str, text: str, number: int
) -> None:
    """It is a number all the same, also when it is copied and written again."""
    data = copy.deepcopy(parsed(place % rows % f"{{a: {text}}}").data)
    data = data["variants"]["v"]["dataset"] if "variants" in data else data["dataset"]
    (row,) = data if isinstance(data, list) else data["rows"]
    assert (row["a"], str(row["a"]), inline_text(row)) == (number, text, f"{{a: {text}}}")
    assert json.dumps(row) == f'{{"a": {number}}}'
    assert type(parsed(f"limit: {text}").data["limit"]) is int
    (row,) = parsed(f"datasets: [{{prediction: {text}}}]").data["datasets"]  # of DB-GPT
    assert str(row["prediction"]) == text


@pytest.mark.parametrize("text", ["0", "7", "-3", "+5", "2024", "12345678901234567890"])
def test_a_whole_number_of_a_row_is_that_number(text: str) -> None:
    (row,) = parsed(f"dataset: [{{a: {text}}}]").data["dataset"]
    assert (row["a"], str(row["a"]), type(row["a"])) == (int(text), str(int(text)), int)


@pytest.mark.parametrize(
    "text",
    [
        "dataset: {path: a, limit: %s}",
        "ks: [%s]",
        "runtime: {max_samples: %s}",
        "sample: {n: %s, seed: %s}",
        "variants: {v: {dataset: {limit: %s}}}",
        "metrics: [{f1: {k: %s}}]",
    ],
)
def test_a_number_of_the_scenario_itself_may_be_written_with_underscores(text: str) -> None:
    """Only rows hold ids: a limit of 1_000 is 1,000, and 0x10 is 16."""
    assert inline_text(parsed("dataset: [{a: 1_000, b: -12_345_678}]").data["dataset"][0]) == (
        "{a: 1000, b: -12345678}"
    )
    for written, number in (("1_000", 1000), ("0x10", 16), ("0b11", 3)):
        found = repr(parsed(text.replace("%s", written)).data)
        assert found == repr(parsed(text.replace("%s", str(number))).data)


@pytest.mark.parametrize("key", ["on", "off", "yes", "null", "1", "1.5", "2024-03-01", "~", "true"])
def test_keys_are_always_text(key: str) -> None:
    """PyYAML makes ``on:`` the key True."""
    assert parsed(f"{key}: x").data == {key: "x"}


def test_a_duplicate_key_is_a_problem_with_both_lines() -> None:
    assert problems("a: 1\nb: 2\na: 3\n") == ["s.yaml:3: duplicate key 'a' (first on line 1)"]
    assert parsed("a: 1\na: 3\n").data == {"a": 1}


def test_duplicate_keys_are_found_at_any_depth() -> None:
    assert problems("m:\n  - f1: {x: 1, x: 2}\n") == [
        "s.yaml:2: duplicate key 'x' (first on line 2)"
    ]


def test_a_key_that_is_a_list_is_a_problem() -> None:
    assert problems("? [a, b]\n: 1\n") == ["s.yaml:1: a key must be text, not a list or a mapping"]


def test_each_value_knows_its_line() -> None:
    tree = parsed("a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n")
    assert tree.where(("a",)) == "s.yaml:1"
    assert tree.where(("b", 0)) == "s.yaml:3"
    assert tree.where(("b", 1, "d")) == "s.yaml:5"


def test_what_is_not_there_has_the_line_of_what_would_hold_it() -> None:
    tree = parsed("a: 1\nb:\n  c: 2\n")
    assert tree.where(("b", "zz", 3)) == "s.yaml:2"
    assert tree.where(("zz",)) == "s.yaml:1"
    assert parsed("").where(("zz",)) == "s.yaml"


def test_merge_keys_fill_in_what_is_not_said() -> None:
    text = "x-base: &base {a: 1, b: 2}\nm:\n  <<: *base\n  b: 3\n"
    assert parsed(text).data["m"] == {"a": 1, "b": 3}
    text = "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nm: {<<: [*x, *y]}\n"
    assert parsed(text).data["m"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "data", "lines"),
    [
        ("<<: *x\n  a: [5,\n   6]", {"a": [5, 6], "b": 2}, {"a": 10, "a.0": 10, "a.1": 11, "b": 4}),
        ("a: 5\n  <<: *x", {"a": 5, "b": 2}, {"a": 9, "b": 4}),
        ("<<: [*x, *y]", {"a": [1], "b": 2, "c": None}, {"a": 2, "a.0": 3, "b": 4, "c": 7}),
        ("<<: *y\n  <<: *x", {"a": 3, "c": None, "b": 2}, {"a": 6, "c": 7, "b": 4}),
        ("<<: *y\n  c: 8", {"a": 3, "c": 8}, {"a": 6, "c": 10}),
        ("<<: {<<: *x, a: {r: 1}}", {"a": {"r": 1}, "b": 2}, {"a": 9, "a.r": 9, "b": 4}),
        ("c: 8", {"c": 8}, {"c": 9}),
    ],
)
def test_what_is_merged_has_the_line_where_it_is_written(
    text: str, data: dict[str, Any], lines: dict[str, int]
) -> None:
    """And what is not, none: neither its lines, nor that it is empty."""
    bases = "x: &x\n  a:\n  - 1\n  b: 2\ny: &y\n  a: 3\n  c:\n"
    tree = parsed(f"{bases}m:\n  {text}\n")
    assert tree.data["m"] == data
    assert list(tree.data["m"]) == list(data)
    of_m = {path[1:]: line for path, line in tree.lines.items() if path[:1] == ("m",)}
    assert {".".join(map(str, path)): line for path, line in of_m.items() if path} == lines
    assert [path for path in tree.empty if path[0] == "m"] == [
        ("m", key) for key, value in data.items() if value is None
    ]


def test_only_mappings_can_be_merged() -> None:
    for merged in ("5", "!custom {x: 1}"):
        found = problems(f"x: &x [1]\nm: {{<<: {merged}}}\n")
        assert found == ["s.yaml:2: only mappings can be merged with <<"]


def test_aliases_are_copies() -> None:
    data = parsed("a: &a [1, 2]\nb: *a\n").data
    assert data == {"a": [1, 2], "b": [1, 2]}
    data["a"].append(3)
    assert data["b"] == [1, 2]


@pytest.mark.full
def test_an_alias_bomb_is_refused() -> None:
    """Nine levels of nine: 387 million values from 40 lines."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for at in range(1, 9):
        parts = ", ".join([f"*a{at - 1}"] * 9)
        lines.append(f"a{at}: &a{at} [{parts}]")
    assert "alias bomb" in refused("\n".join(lines))


def test_many_aliases_of_a_scenario_are_no_bomb() -> None:
    text = "x: &x {normalizer: squad}\nm: [" + ", ".join(["*x"] * 1000) + "]\n"
    assert len(parsed(text).data["m"]) == 1000


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "&a [[*a]]", "a: &a {<<: *a}"])
def test_an_alias_that_contains_itself_is_refused(text: str) -> None:
    assert "contains itself" in refused(text)


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        "[" * 200 + "]" * 200,
        "[" * 100_000,
        "{a: " * 10_000,
        "- " * 200 + "x",
        "- " * 100_000 + "x",
        "\n".join(" " * at + "a:" for at in range(200)),
        "\n".join(" " * at + "-" for at in range(2000)),
    ],
    ids=["flow", "open flow", "open maps", "block", "deep block", "keys", "items"],
)
def test_deep_nesting_is_refused_and_ends_no_process(text: str) -> None:
    assert "nested too deeply" in refused(text)


def test_keys_in_keys_end_no_process() -> None:
    problems = parse_yaml("? " * 6000 + "x", "x.yaml").problems
    assert "a key must be text" in str(problems[0])


OPEN = "[" * 3000


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"a: '{OPEN}\n\n  {OPEN}'\n", f"{OPEN}\n{OPEN}"),
        (f'a: "{OPEN} \\"{OPEN}"\n', f'{OPEN} "{OPEN}'),
        (f"a: x{OPEN}\n  {OPEN}\n", f"x{OPEN} {OPEN}"),
        (f"a: |\n  {OPEN}\n  {OPEN}\n", f"{OPEN}\n{OPEN}\n"),
        (f"a: |\n  x\n{' ' * 6000}y\n", f"x\n{' ' * 5998}y\n"),
        (f"a: 1  # {OPEN}{OPEN}\n", 1),
        (f"\ufeffa: ['{OPEN}', '{OPEN}']\n", [OPEN, OPEN]),
    ],
)
def test_brackets_within_texts_are_no_nesting(text: str, first: object) -> None:
    """Neither those of a comment, nor blanks; what is deep behind them is refused all the same."""
    assert parsed(f"{text}b: [1]\n").data == {"a": first, "b": [1]}
    for deep in ("[" * 100_000, f"{'[' * 6000}{']' * 6000}", "{a: " * 10_000):
        assert "nested too deeply" in refused(f"{text}b: {deep}\n")
    assert ": not valid YAML: while parsing a flow" in refused(f"{text}b: [1\nc: 2\n")
    assert "nested too deeply" in refused(f"b: {'[' * 100_000}\n{text}")


def test_many_rows_with_intervals_are_read() -> None:
    rows = [f'- {{id: "{at}", contexts: ["from [0, {at}) on"]}}' for at in range(6000)]
    assert len(parse_yaml_rows("\n".join(rows), "r.yaml").data) == 6000


def test_nesting_as_scenarios_have_it_is_fine() -> None:
    assert parsed("a: " + "[" * 20 + "1" + "]" * 20).data["a"] != []


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1, 2\nb: 3\n", 2), ("a: 1\n\tb: 2\n", 2), ("a: 'x\n", 2), ("a: b: c", 1), ("*x", 1)],
)
def test_a_syntax_error_has_its_line(text: str, line: int) -> None:
    message = refused(text)
    assert message.startswith(f"s.yaml:{line}: not valid YAML: ")


def test_a_tab_gets_the_advice_to_use_spaces() -> None:
    assert "Indent with spaces." in refused("a:\n\tb: 2\n")


@pytest.mark.parametrize("text", ["a: \x00", "\x01", "a: 1\n---\nb: 2\n", "\ud800: 1"])
def test_what_is_no_yaml_document_is_refused(text: str) -> None:
    assert refused(text).startswith("s.yaml")


@pytest.mark.parametrize(
    "text",
    ["a: !!python/name:os.system x", "a: !secret x", "a: !!binary aGk=", "a: !include b.yaml"],
)
def test_tags_are_a_problem_and_run_nothing(text: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith("s.yaml:1: the tag ")


@pytest.mark.parametrize(
    "text", ["a: !secret [x]", "a: !!python/object/apply:os.system [x]", "a: !x {b: c}"]
)
def test_tags_of_lists_and_mappings_are_a_problem_too(text: str) -> None:
    assert problems(text) != []


def test_a_tag_of_yaml_itself_is_fine() -> None:
    tree = parsed("a: !!str 12\nb: !!float 3\nc: !!int '7'\n")
    assert (tree.data, tree.problems) == ({"a": "12", "b": 3.0, "c": 7}, [])


@pytest.mark.parametrize("text", ["a: !!int x", "a: !!float abc", "a: !!bool 7"])
def test_a_value_that_is_not_what_its_tag_says_is_a_problem(text: str) -> None:
    (problem,) = problems(text)
    assert "cannot be read as a value" in problem


@pytest.mark.parametrize("number", ["9" * 5000, "0x1" + "f" * 5000, "0b1" + "0" * 20_000])
def test_a_number_that_python_cannot_write_is_no_crash_later(number: str) -> None:
    """What comes out, as text or as a number, can be shown; or it is a problem."""
    tree = parsed(f"a: {number}")
    assert len(repr(tree.data)) > 0


def test_an_empty_file_is_nothing() -> None:
    assert parsed("").data is None
    assert parsed("# only a comment\n").data is None


def test_putting_a_value_names_its_origin() -> None:
    tree = parsed("a: {b: 1}\nc: [1, 2]\nd:\n")
    tree.put(("a", "b"), 2, origin="--rag-set a.b=2")
    tree.put(("new", "deep"), 3)
    tree.put(("c", 1), 5)
    tree.put(("d", "e"), 6)
    assert tree.data == {"a": {"b": 2}, "c": [1, 5], "new": {"deep": 3}, "d": {"e": 6}}
    assert tree.where(("a", "b", "x")) == "--rag-set a.b=2"
    assert tree.where(("a",)) == "s.yaml:1"
    assert tree.has(("new", "deep"))
    assert not tree.has(("a", "b", "x"))


@pytest.mark.parametrize("path", [("a", "b", "c"), ("c", 2), ("c", "x"), ("c", 0, "x"), ("c", -1)])
def test_nothing_can_be_put_where_there_is_no_place(path: tuple[str | int, ...]) -> None:
    tree = parsed("a: {b: 1}\nc: [1, 2]\n")
    with pytest.raises(LookupError):
        tree.put(path, 3)


def test_a_moved_value_keeps_its_lines() -> None:
    tree = parsed("x: 1\nold:\n  a: 5\n")
    tree.move(("old",), ("new", "place"))
    assert tree.data == {"x": 1, "new": {"place": {"a": 5}}}
    assert tree.where(("new", "place", "a")) == "s.yaml:3"
