"""Finds the lines of gates and cases in a scenario file, to place failures there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_rageval.errors import ScenarioError

YamlPath = tuple[str | int, ...]

_PACKAGE = Path(__file__).parents[1]


class ScenarioLines:
    """The lines of the values in the scenario file ``path``; 1 if it is no longer readable.

    What ``variant`` says comes before what all variants share.
    """

    def __init__(self, path: Path, variant: str = "") -> None:
        self._lines = _lines(path)
        self._own: YamlPath = ("variants", variant) if variant else ()

    def of_gate(self, name: str) -> int:
        """Return the line of ``by.doc_name.f1.mean``, or of the nearest key that holds it."""
        places = [self._nearest((*start, "gates"), name) for start in (self._own, ())]
        known = [path for path in places if path in self._lines]
        nearest = max(known, key=lambda path: len(path) - path.index("gates"), default=())
        return self._lines.get(nearest, 1)

    def _nearest(self, path: YamlPath, name: str) -> YamlPath:
        rest = name
        while rest:
            steps = [key for key in self._keys(path) if rest == key or rest.startswith(f"{key}.")]
            if not steps:
                break
            step = max(steps, key=len)  # names of metrics may have dots
            path, rest = (*path, step), rest[len(step) + 1 :]
        return path

    def of_row(self, row: int) -> int:
        """Return the line of a row written in the scenario, else the line of its data set."""
        return self._first(
            ("dataset", row - 1), ("dataset", "rows", row - 1), ("dataset",), ("run_path",)
        )

    def of_target(self) -> int:
        """Return the line that names the target's fixture."""
        return self._first(("target", "fixture"), ("target",))

    def of_best(self) -> int:
        """Return the line that says which variant none may beat."""
        return self._first(("best", "at_least"), ("best",))

    def _first(self, *paths: YamlPath) -> int:
        own = [(*self._own, *path) for path in paths] if self._own else []
        return next((self._lines[path] for path in (*own, *paths) if path in self._lines), 1)

    def _keys(self, parent: YamlPath) -> Iterator[str]:
        for path in self._lines:
            if path[:-1] == parent and isinstance(path[-1], str):
                yield path[-1]


def placed(failure: Any, path: Path, line: int, message: str = "") -> Any:
    """Return pytest's representation of a failure moved from this package to ``path`` and ``line``.

    A failure raised in the user's code keeps its place. ``message`` replaces the text in the short
    summary.
    """
    chain = getattr(failure, "chain", None)
    if not chain or chain[-1][1] is None or not Path(chain[-1][1].path).is_relative_to(_PACKAGE):
        return failure
    traceback, crash, description = chain[-1]
    said = f"Failed: {message}" if message else crash.message
    own = replace(crash, path=str(path), lineno=line, message=said)
    return type(failure)([*chain[:-1], (traceback, own, description)])


def _lines(path: Path) -> Mapping[YamlPath, int]:
    """Return the line of each value of a scenario file, {} if it is no longer readable."""
    try:
        return _lines_of(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, ScenarioError):
        return {}


@lru_cache(maxsize=4)
def _lines_of(path: Path, _: int) -> Mapping[YamlPath, int]:
    """Return the lines of a file at a modification time: parsed once for all failures."""
    # Not at the top: an xdist controller reads no YAML unless something failed.
    from pytest_rageval.scenario.yaml.tree import parse_yaml

    return parse_yaml(path.read_text("utf-8-sig"), path.name).lines
