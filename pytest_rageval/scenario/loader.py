"""From a scenario file to a validated Scenario, with every problem of the file found in one go."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import field

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.model import Value, json_plain
from pytest_rageval.scenario.dialects import dbgpt, rag_eval, retrieval, ultrarag
from pytest_rageval.scenario.overrides import NameOf, Override
from pytest_rageval.scenario.recognise import import_hint, is_promptfoo
from pytest_rageval.scenario.rewording import kind_of
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.validation import Positions, refuse_empty, validate
from pytest_rageval.scenario.variants import (
    SECTIONS,
    VARIANTS,
    check_variants,
    variant_names,
    variant_overrides,
)
from pytest_rageval.scenario.yaml.tree import DEEPEST, YamlTree, parse_yaml, refuse_depth
from pytest_rageval.text.limits import MAX_FILE_BYTES, cut_json, read_json

_MAX_VALUES = 300_000  # with the line of each, they are read for some seconds


class LoadedScenario(Value, frozen=True):
    """A validated scenario with its file, the lines of its values, and what overrode them."""

    scenario: Scenario
    path: Path
    tree: YamlTree
    overridden: tuple[str, ...] = ()
    overridden_by: tuple[str, ...] = ()
    """The option or variable of each of these."""
    warnings: tuple[str, ...] = ()
    positions: Positions = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    """The names of all variants in the file."""
    variant: str = ""
    """The one that is laid over the rest; empty where none is."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file has under keys ``x-...`` for other readers, without the ``x-``."""
        own = {str(key): value for key, value in self.tree.data.items()}
        return {
            key.removeprefix("x-"): json_plain(value)
            for key, value in own.items()
            if key.startswith("x-")
        }

    def position(self, section: str, at: int) -> int:
        """Return the position in the file of item ``at`` of a list: invalid items count."""
        return self.positions[section][at] if section in self.positions else at

    def has(self, section: str) -> bool:
        """Return whether the file has a section, be it valid or not; null is none."""
        return self.tree.data.get(section) is not None

    def where(self, *path: str | int) -> str:
        """Return ``file:line`` of the value at ``path``, or the option that overrode it."""
        return self.tree.where(path)


def inspect_scenario(
    path: Path,
    overrides: Iterable[Override] = (),
    shown: str = "",
    name_of: NameOf = str,
    variant: str = "",
) -> tuple[LoadedScenario, list[Problem]]:
    """Return what could be made of the scenario, or of a variant of it, and all its problems.

    A scenario with problems comes back without its invalid parts, so that a caller can go on and
    find the problems of the rest. Raises ScenarioError when the file cannot be read at all.
    """
    return inspect_tree(read_scenario(path, shown), path, overrides, name_of, variant)


def read_scenario(path: Path, shown: str = "") -> YamlTree:
    """Return the tree of a scenario file; raises ScenarioError when it cannot be read at all."""
    shown = shown or str(path)
    return parse_scenario(_read_text(path, shown), path, shown)


def variants_in(path: Path, overrides: Iterable[Override] = (), shown: str = "") -> tuple[str, ...]:
    """Return the names of the variants of a scenario file, () where it has none.

    Raises ScenarioError when the file cannot be read at all.
    """
    overrides = [one for one in overrides if one.path[0] == VARIANTS]
    text = _read_text(path, shown or str(path))
    if VARIANTS not in text and not overrides:
        return ()  # most scenarios: not parsed twice
    return variants_of(parse_scenario(text, path, shown or str(path)), overrides)


def variants_of(tree: YamlTree, overrides: Iterable[Override] = ()) -> tuple[str, ...]:
    """Return the names of the variants of a tree, which is changed by overrides of them."""
    for override in overrides:
        if override.path[0] == VARIANTS:
            override.apply(tree)
    return variant_names(tree.data)


def parse_scenario(text: str, path: Path, shown: str) -> YamlTree:
    """Return the tree of a scenario file's ``text``; raises ScenarioError when it has no keys."""
    tree = parse_json(text, shown) if path.suffix.lower() == ".json" else parse_yaml(text, shown)
    if not isinstance(tree.data, dict):
        found = "nothing" if tree.data is None else f"a {kind_of(tree.data)}"
        raise ScenarioError([Problem(f"{shown}:1", f"expected keys like 'name:', found {found}")])
    if is_promptfoo(tree.data):
        raise ScenarioError([Problem(shown, import_hint(shown))])
    refuse_empty(tree)
    return tree


def inspect_tree(
    tree: YamlTree,
    path: Path,
    overrides: Iterable[Override] = (),
    name_of: NameOf = str,
    variant: str = "",
) -> tuple[LoadedScenario, list[Problem]]:
    """Return what could be made of a tree, which is changed, and all its problems.

    ``path`` is the file that data files are relative to. ``name_of`` returns the name that
    results use for a metric: an override finds its value by that, however the file writes it.
    ``variant`` is laid over the rest; without a name none is, and ``variants`` is only checked.
    """
    overrides = list(overrides)
    first = [one for one in overrides if one.path[0] in SECTIONS]
    applied = [one.apply(tree) for one in first]
    names = check_variants(tree)
    laid = variant_overrides(tree, variant) if variant in names else []
    tree.data.pop(VARIANTS, None)
    rest = [*laid, *(one for one in overrides if one not in first)]
    ours = [override for override in rest if override.path[0] in Scenario.model_fields]
    # Keys of other systems first: translated later, they would win over ours.
    theirs = [override for override in rest if override not in ours]
    applied += [override.apply(tree) for override in theirs]
    given = [override.path for override in ours]
    warnings = rag_eval.translate(tree, given)
    warnings += ultrarag.translate(tree)
    warnings += dbgpt.translate(tree, given)
    retrieval.translate(tree)
    applied += [override.apply(tree, name_of) for override in ours]
    named = [
        (name, override.source)
        for name, override in zip(applied, [*first, *theirs, *ours], strict=True)
        if name is not None and not override.written_at
    ]
    overridden, overridden_by = zip(*named, strict=True) if named else ((), ())
    scenario, positions, found = validate(tree)
    loaded = LoadedScenario(
        scenario, path, tree, overridden, overridden_by, tuple(warnings), positions, names, variant
    )
    return loaded, listed(tree.problems, found, tree)


def _read_text(path: Path, shown: str) -> str:
    try:
        is_large = path.stat().st_size > MAX_FILE_BYTES
        raw = b"" if is_large else path.read_bytes()
    except OSError as error:
        raise ScenarioError([Problem(shown, f"cannot be read: {error.strerror}")]) from error
    # Each value has one of these around it.
    if is_large or sum(map(raw.count, (b"\n", b",", b":"))) > _MAX_VALUES:
        limits = f"{MAX_FILE_BYTES // 2**20} MB or {_MAX_VALUES:,} line breaks, commas and colons"
        message = f"more than {limits}; put the rows into a data file ('dataset: rows.jsonl')"
        raise ScenarioError([Problem(shown, message)])
    return decode_scenario(raw, shown)


def decode_scenario(raw: bytes, shown: str) -> str:
    """Return the text of a scenario file, without a byte order mark; raises ScenarioError."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise ScenarioError([Problem(f"{shown}:{line}", message)]) from error


def listed(known: Iterable[Problem], found: Iterable[Problem], tree: YamlTree) -> list[Problem]:
    """Return problems by file and line; those ``found`` in a tree with its keys as written."""
    named = [replace(one, message=tree.as_written(one.message)) for one in found]
    return sorted([*known, *named], key=_by_line)


def _by_line(problem: Problem) -> tuple[bool, str, int]:
    """Return what problems are sorted by: causes of others first; then their file, then their line.

    What is about the file as a whole comes first, how many more there are comes last.
    """
    file, _, line = problem.where.rpartition(":")
    if line.isdecimal():
        return not problem.is_cause, file, int(line)
    last = sys.maxsize if problem.message.startswith("and ") else 0
    return not problem.is_cause, problem.where, last


# JSON is nearly YAML, but not quite: tabs may indent it, an emoji may be two escapes, 1e2 a number.
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')


def parse_json(text: str, source: str) -> YamlTree:
    """Return the tree of ``text``; ``source`` is the file's name in messages.

    A file with comments or trailing commas, which only YAML allows, is read as YAML. Raises
    ScenarioError when the text is neither.
    """
    try:
        data = read_json(cut_json(text, DEEPEST + 1), depth=None)
    except ValueError as error:
        return _as_yaml(text, source, error)
    if isinstance(data, dict):
        refuse_depth(_without_rows(data), source)
    try:
        tree = parse_yaml(_for_yaml(text), source)
    except ScenarioError:
        tree = YamlTree(data, source)  # its lines are not known, which costs messages their lines
    tree.data = data
    return tree


def _without_rows(data: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario without its rows: one that is too deep is invalid, not the scenario."""
    dataset = data.get("dataset")
    return {**data, "dataset": {**dataset, "rows": None}} if isinstance(dataset, dict) else data


def _as_yaml(text: str, source: str, error: Exception) -> YamlTree:
    try:
        return parse_yaml(text, source)
    except ScenarioError:
        if isinstance(error, json.JSONDecodeError):
            message = f"not valid JSON: {error.msg} (column {error.colno})"
            raise ScenarioError([Problem(f"{source}:{error.lineno}", message)]) from error
        raise ScenarioError([Problem(source, f"not readable as JSON: {error}")]) from error


def _for_yaml(text: str) -> str:
    """Return ``text`` as YAML can read it: every value on its line, if not to the character."""
    parts, done = [], 0
    for found in _STRING.finditer(text):
        blanks = text[done : found.start()].replace("\t", " ")
        parts += [blanks, _HALF.sub("?", found.group())]
        done = found.end()
    return "".join([*parts, text[done:].replace("\t", " ")])
