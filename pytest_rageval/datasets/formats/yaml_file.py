"""YAML files: rows in the shapes that JSON files may have, read as scenario files are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row, rows_of
from pytest_rageval.datasets.formats.json_file import rows_of_document
from pytest_rageval.datasets.formats.rows_at import JoinedRow, RowsPath, row_paths
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.yaml.tree import YamlTree, parse_yaml_rows

_MOST_VALUES: Final = 300_000
"""As many as a scenario file may have; here lines, commas and colons are counted.

YAML is read a hundred times slower than JSON.
"""

_DEEPEST: Final = 6
"""How many keys and positions may lead to a row whose line is given."""


def read_yaml(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each object, with its line; yes, no, dates and times stay text."""
    tree = _tree_of(file)
    rows = rows_of_document(tree.data, file)
    lines = _lines(tree, rows)
    for row in rows_of(rows, file.spec.max_row_mb, file.section):
        yield replace(row, line=lines.get(row.number - 1))


def _tree_of(file: DataFile) -> YamlTree:
    with file.open(is_whole=True) as stream:
        text = file.decode(stream.read())
    if sum(map(text.count, "\n,:")) > _MOST_VALUES:
        raise file.refuse(f"more than {_MOST_VALUES:,} values; save the rows as JSON Lines")
    tree = parse_yaml_rows(text, file.shown)
    if tree.problems:
        raise ScenarioError(tree.problems)
    return tree


def row_paths_in_yaml(file: DataFile) -> list[RowsPath]:
    """Return the paths at which a YAML file has rows, most rows first; raises ScenarioError."""
    return row_paths(_tree_of(file).data)


def _lines(tree: YamlTree, rows: list[Any]) -> dict[int, int]:
    """Return the lines of the rows that are in the file as they are, by position."""
    origins = (row.origin if isinstance(row, JoinedRow) else row for row in rows)
    known = {id(row): at for at, row in enumerate(origins)}
    found: dict[int, int] = {}
    for path, line in tree.lines.items():
        if path and isinstance(path[-1], int) and len(path) <= _DEEPEST:
            at = known.get(id(tree.at(path)))
            if at is not None:
                found.setdefault(at, line)
    return found


READERS = (
    DatasetReader("yaml", read_yaml, aliases=("yml",), places=row_paths_in_yaml, is_text=True),
)
