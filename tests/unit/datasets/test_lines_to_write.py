"""K18, K23, K27: each line that a refusal prints can be written, and the file is then read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml

ROW = {"question": "q", "references": ["a"]}
LINE = re.compile(
    r"(?:write|or|set|sample,) (?:dataset\.)?"
    r"((?:rows_at|format|delimiter|encoding|key_map|merge_rows|split): "
    r'(?:\{[^}]*\}|"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s,;)]+))'
)
FILES: dict[str, tuple[str, bytes | str, dict[str, Any]]] = {
    "two lists": ("r.json", json.dumps({"a": [ROW], "b": [ROW]}), {}),
    "two lists that differ": ("r.json", json.dumps({"runs": [{"s": 3}], "rows": [ROW]}), {}),
    "below keys": ("r.json", json.dumps({"data": {"x": {"rows": [ROW]}}}), {}),
    "names with blanks": ("r.json", json.dumps({"my data": {"x.y": [ROW], "n": 1}}), {}),
    "names with quotes": ("r.json", json.dumps({'a "b"': {"it's": [ROW], "n": 1}}), {}),
    "a name like an index": ("r.json", json.dumps({"0": [ROW], "x": [ROW]}), {}),
    "an empty name": ("r.json", json.dumps({"": [ROW], "x": [ROW]}), {}),
    "lists under all keys": (
        "r.json",
        json.dumps({"v": 1, "tea": {"qas": [ROW]}, "bikes": {"qas": [ROW]}}),
        {},
    ),
    "suites in suites": (
        "r.json",
        json.dumps({"n": 1, "x": {"suites": [{"name": "s", "tests": [ROW, ROW]}]}}),
        {},
    ),
    "objects by id": ("r.json", json.dumps({"x": {"was?": 1}, "y": {"was?": 2}}), {}),
    "objects by id below a path": (
        "r.json",
        json.dumps({"d": {"m": {"x": [ROW], "n": 1}, "o": 3}}),
        {"rows_at": "d"},
    ),
    "a list in YAML": ("r.yaml", "a:\n- question: q\nb:\n- question: q\n", {}),
    "a table of JSON": ("r.csv", json.dumps([ROW]), {}),
    "lines of JSON as a table": ("r.csv", f"{json.dumps(ROW)}\n{json.dumps(ROW)}\n", {}),
    "JSON one after the other as a table": ("r.csv", json.dumps(ROW, indent=1) * 2, {}),
    "another encoding": ("r.csv", "question,references\n几点,九点开门\n".encode("gb18030"), {}),
    "UTF-16": ("r.csv", "question,references\nq,a\n".encode("utf-16"), {}),
    "another delimiter": (
        "r.tsv",
        "question|references\nq|a\n",
        {"key_map": {"question": "question"}},
    ),
    "an id of documents": ("r.csv", "id,question\nd1,q1\nd1,q2\nd1,q3\n", {}),
}


def problems(folder: Path, keys: dict[str, Any]) -> str:
    """Return why the data cannot be used, "" where they can."""
    try:
        load_dataset(DatasetSpec.model_validate(keys), folder, "s.yaml")
    except (ScenarioError, ValueError) as error:
        return str(error)
    return ""


def lines_in(message: str) -> list[str]:
    """Return the lines to write, as a YAML reader sees them."""
    return [
        found.replace("Write ", "") for found in LINE.findall(message.replace("Write", "write"))
    ]


@pytest.mark.parametrize("name", FILES)
def test_each_line_that_a_refusal_prints_works(tmp_path: Path, name: str) -> None:
    """K23: taken from the message, written into the scenario, and given to --rag-set."""
    file, content, keys = FILES[name]
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / file).write_bytes(raw)
    given = {"path": file, **keys}
    message = problems(tmp_path, given)
    assert message
    lines = lines_in(message)
    assert lines, message
    for line in lines:
        tree = parse_yaml(line, "s.yaml")
        assert not tree.problems, line
        assert problems(tmp_path, {**given, **tree.data}) == "", line
        key, _, value = line.partition(": ")
        if key in ("rows_at", "format", "encoding", "delimiter"):
            changed = set_override("--rag-set", f"dataset.{key}={value}")
            assert problems(tmp_path, {**given, key: changed.value}) == "", line


def test_every_kind_of_line_is_tried(tmp_path: Path) -> None:
    """K23: the files above lead to each key that a reader's message names."""
    tried = set()
    for file, content, keys in FILES.values():
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        tried |= {
            line.split(":")[0] for line in lines_in(problems(tmp_path, {"path": file, **keys}))
        }
    assert tried == {"rows_at", "format", "encoding", "delimiter", "key_map", "merge_rows"}


@pytest.mark.parametrize(
    ("document", "rows_at"),
    [
        ({"data": [{"qas": [ROW]}]}, "data.qas"),
        ([{"qas": [ROW]}], "qas"),
        ({"d": [{"a b": [{"qas": [ROW]}]}]}, 'd["a b"][*].qas'),
        ({"d.e": [{"x.y": [ROW]}]}, '["d.e"]["x.y"]'),
    ],
)
def test_the_paths_of_a_path_that_is_lost_in_a_list_work(
    tmp_path: Path, document: Any, rows_at: str
) -> None:
    """K23: one item, or all of them."""
    (tmp_path / "r.json").write_text(json.dumps(document), "utf-8")
    message = problems(tmp_path, {"path": "r.json", "rows_at": rows_at})
    found = re.search(r"write '(.+)' for one item, '(.+)' for all", message)
    assert found, message
    for path in found.groups():
        assert problems(tmp_path, {"path": "r.json", "rows_at": path}) == "", path
