"""[A14, E20] Options, variants and patches of sections that ``true`` or a list stands for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import patch_scenario
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml

ROWS = tomllib.loads(Path(__file__).with_name("sections_laid_over.toml").read_text("utf-8"))

BASE = "name: s\ndataset: rows.jsonl\nmetrics: [em]\n"


def read(section: str, text: str, variant: str = "", *options: str) -> tuple[Any, list[str]]:
    """Return a section with a variant and options laid over, and the messages of its problems."""
    whole = f"{BASE}{text}\n" + (f"variants: {{v: {variant}}}\n" if variant else "")
    given = [set_override("--rag-set", option) for option in options]
    tree = parse_yaml(whole, "s.yaml")
    loaded, problems = inspect_tree(tree, Path("s.yaml"), given, variant="v" if variant else "")
    return getattr(loaded.scenario, section), [problem.message for problem in problems]


def same(section: str, text: str, expected: str, variant: str = "", *options: str) -> None:
    """Check that a section with a variant and options is as one that is written so."""
    assert read(section, text, variant, *options) == read(section, expected)
    assert read(section, expected)[1] == []


@pytest.mark.parametrize(
    ("section", "text", "variant", "options", "expected"),
    [
        *ROWS["words_and_mappings_are_laid_over_each_other"],
        *ROWS["prices_and_controls_of_models_have_short_forms"],
        ("human", "human: a.csv", "{human: {of: em}}", [], "{file: a.csv, of: em}"),
        ("human", "human: a.csv", "", ["human.more=c.csv"], "{file: a.csv, more: c.csv}"),
        # A list replaces, and so does what has nothing in common with one.
        ("human", "human: {file: a.csv, of: em}", "{human: [b.csv]}", [], "{file: b.csv}"),
        ("human", "human: {column: label, of: em}", "{human: [b.csv]}", [], "{file: b.csv}"),
        ("human", "human: [a.csv, b.csv]", "{human: [c.csv]}", [], "{file: c.csv}"),
        ("human", "human: [a.csv, b.csv]", "{human: c.csv}", [], "{file: c.csv}"),
        ("human", "human: [a.csv, b.csv]", "{human: null}", [], "null"),
        ("human", "human: [a.csv, b.csv]", "", ["human=c.csv"], "{file: c.csv}"),
        # Digits are places in it.
        ("human", "human: [a.csv, b.csv]", "", ["human.1=c.csv"], "{file: [a.csv, c.csv]}"),
        # Lists with a meaning of their own.
        (
            "compare",
            "compare: [m, {baseline: v, test: t}]",
            "",
            ["compare.1.test=permutation"],
            "[m, {baseline: v, test: permutation}]",
        ),
    ],
)
def test_words_and_mappings_are_laid_over_each_other(
    section: str, text: str, variant: str, options: list[str], expected: str
) -> None:
    same(section, text, f"{section}: {expected}", variant, *options)


@pytest.mark.parametrize("section", ["compare", "best", "judge", "corpus", "answers"])
def test_true_is_a_mistake_elsewhere(section: str) -> None:
    two = "{x: {}, y: {}}"
    for text in (f"{section}: true", f"{section}: true\nvariants: {two}"):
        assert read(section, text)[1] != []


@pytest.mark.parametrize(
    ("section", "part"),
    [
        ("citations", "{of: ids}"),
        ("refusals", "{empty: refused}"),
        ("conversation", "{turns: 3}"),
        ("fill", "{k: 5}"),
        ("diagnose", "{generation: em}"),
    ],
)
def test_true_is_a_mapping_without_keys(section: str, part: str, tmp_path: Path) -> None:
    """A part of it was refused, at the line of the file, which is right."""
    ((key, value),) = parse_yaml(part, "").data.items()
    on, other = f"{section}: true", f"{section}: {part}"
    same(section, on, other, "", f"{section}.{key}={value}")
    same(section, on, other, f"{{{section}: {part}}}")
    same(section, other, other, f"{{{section}: true}}")  # it is on
    same(section, other, f"{section}: null", f"{{{section}: false}}")
    same(section, f"{section}: false", other, f"{{{section}: {part}}}")
    same(section, f"{section}: false", on, f"{{{section}: true}}")
    same(section, on, f"{section}: null", f"{{{section}: false}}")
    for base in (on, other, f"{section}: false", ""):
        for given in ("true", "false", "null", "{}"):  # what an option sets switches it on
            option = f"variants.v.{section}.{key}={value}"
            same(section, base, other, f"{{{section}: {given}}}", option)
    if section == "diagnose":  # needs metrics that ask a judge
        return
    path = tmp_path / "s.rageval.yaml"
    for changes in ({f"{section}.{key}": value}, {section: {key: value}}):
        path.write_text(f"{BASE}{on}\n", "utf-8")
        assert patch_scenario(path, changes) == (f"{section}.{key}",)
        assert path.read_text("utf-8").endswith(f"\n{other}\n")
    path.write_text(f"{BASE}{other}\n", "utf-8")
    assert patch_scenario(path, {section: True}) == ()
    assert patch_scenario(path, {section: False}) == (section,)
    assert path.read_text("utf-8").endswith(f"\n{section}: false\n")


def test_a_part_that_is_set_switches_a_section_on() -> None:
    same("citations", "citations: false", "citations: {of: ids}", "", "citations.of=ids")


@pytest.mark.parametrize("files", ["[a.csv, b.csv]", "[a.csv]", "[]"])
def test_a_list_of_labels_is_short_for_files(files: str, tmp_path: Path) -> None:
    """``--rag-labels`` was refused beside it, and a variant lost the labels without a word."""
    text = f"human: {files}"
    of, more = (f"human: {{file: {files}, {part}}}" for part in ("of: em", "more: c.csv"))
    same("human", text, of, "{human: {of: em}}")
    same("human", text, of, "", "human.of=em")
    same("human", text, more, "", "human.more=c.csv")
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}{text}\n", "utf-8")
    assert patch_scenario(path, {"human.of": "em"}) == ("human.of",)
    assert parse_yaml(path.read_text("utf-8"), "").data == parse_yaml(f"{BASE}{of}", "").data


@pytest.mark.parametrize("name", ["price", "controls"])
@pytest.mark.parametrize("section", ["thresholds", "metric_weights", "doc_weights"])
def test_what_is_called_as_a_key_of_models_has_none(section: str, name: str) -> None:
    """A threshold of a column ``price`` was taken for a price, and refused."""
    text, expected = (f"{section}: {{{name}: {number}, a: 1}}" for number in (5, 4))
    same(section, text, expected, f"{{{section}: {{{name}: 4}}}}")
    same(section, text, expected, "", f"{section}.{name}=4")
    if section == "thresholds":
        same(
            section,
            f"{section}: {{{name}: {{max: 5}}, a: 1}}",
            expected,
            f"{{{section}: {{{name}: 4}}}}",
        )


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("0", 0),
        ("1", 1),
        ("'0'", 0),
        ("'1'", 1),
        ("1.0", 1),
        ("0.0", 0),
        ("01", 1),
        ("true", 1),
        ("null", None),
    ],
)
def test_the_number_of_the_first_source(base: str, expected: int | None) -> None:
    found, problems = read("citations", f"citations: {{base: {base}}}")
    assert (found.base, problems) == (expected, [])


@pytest.mark.parametrize("base", ["2", "x", "'0.9'", "-1", "''"])
def test_what_is_no_number_of_a_first_source_is_refused(base: str) -> None:
    (problem,) = read("citations", f"citations: {{base: {base}}}")[1]
    assert problem.startswith("citations.base: ")


@pytest.mark.parametrize("levels", ["[0, 1]", "[1, 2.5, 4]", "['0', '1']"])
def test_levels_are_numbers(levels: str) -> None:
    assert read("human", f"human: {{file: a.csv, levels: {levels}}}")[1] == []


def test_levels_of_support_are_words() -> None:
    human = "human: {file: a.csv, levels: [none, full], of: %s}"
    assert read("human", human % "support")[1] == []
    (problem,) = read("human", human % "em")[1]
    assert "level 'none' is one of 'of: support'" in problem


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("citations: {base: [1]}", "citations.base: "),
        ("citations: {base: {a: 1}}", "citations.base: "),
        ("citations: {base: 0.9}", "citations.base: "),
        ("citations: {base: .inf}", "citations.base: "),
        ("human: {file: a.csv, levels: [0: bad, 1: good]}", "human.levels[0]: "),
        ("human: {file: a.csv, levels: [[0], 1]}", "human.levels[0]: "),
        ("human: {file: a.csv, levels: {0: bad, 1: good}}", "human.levels: "),
    ],
)
def test_what_has_another_shape_is_refused_in_the_words_of_the_file(text: str, path: str) -> None:
    """It ended in a traceback, or 0.9 was 0."""
    assert read("human", text)[1][0].startswith(path)
