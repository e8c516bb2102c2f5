"""From a scenario file to a validated Scenario, with every problem of the file found in one go."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import field
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten
from pytest_rageval.model import Value, json_plain
from pytest_rageval.scenario.conflicts import conflicts
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.dialects import dbgpt, rag_eval, ultrarag
from pytest_rageval.scenario.model_specs import filled_roles
from pytest_rageval.scenario.overrides import NameOf, Override, pinned_runs
from pytest_rageval.scenario.recognise import import_hint, is_promptfoo
from pytest_rageval.scenario.schema import Scenario, must_be_filled
from pytest_rageval.scenario.spec import existing, kind_of, model_at, reworded
from pytest_rageval.scenario.variants import (
    SECTIONS,
    VARIANTS,
    check_variants,
    variant_names,
    variant_overrides,
)
from pytest_rageval.scenario.yaml.tree import (
    DEEPEST,
    YamlPath,
    YamlTree,
    dotted,
    parse_yaml,
    refuse_depth,
)
from pytest_rageval.text.codec import MAX_FILE_BYTES, cut_json, keys_given_twice, read_json

if TYPE_CHECKING:
    from pytest_rageval.scenario.labelled import LabelledAnswers

Positions = Mapping[str, Sequence[int]]

UNREADABLE: Final = DatasetSpec.model_construct()
"""The ``dataset`` of a scenario that has none, or an invalid one."""

_MAX_VALUES = 300_000  # with the line of each, they are read for some seconds


class LoadedScenario(Value, frozen=True):
    """A validated scenario with its file, the lines of its values, and what overrode them."""

    scenario: Scenario
    path: Path
    tree: YamlTree
    overridden: tuple[str, ...] = ()
    overridden_by: tuple[str, ...] = ()
    """The option or variable behind each item of ``overridden``."""
    warnings: tuple[str, ...] = ()
    positions: Positions = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    """The names of all variants in the file."""
    variant: str = ""
    """The variant that is laid over the rest; empty without one."""
    pinned: tuple[str, ...] = ()
    """The runs to which the file itself gives ``looks``, whatever an override makes of them."""
    labels: tuple[LabelledAnswers, ...] = ()
    """Which answers its columns of labels are about, by the file itself."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file has under keys ``x-...`` for other readers, without the ``x-``."""
        return {
            key.removeprefix("x-"): json_plain(value)
            for key, value in self.tree.data.items()
            if key.startswith("x-")
        }

    def position(self, section: str, at: int) -> int:
        """Return the position in the file of item ``at`` of a list: invalid items count."""
        return self.positions[section][at] if section in self.positions else at

    def has(self, section: str) -> bool:
        """Return whether the file has a section that is not null, valid or not."""
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
    """Return what could be made of a scenario, or of its ``variant``, and all problems.

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
    overrides = [override for override in overrides if override.path[0] == VARIANTS]
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
    """Return the tree of a scenario's ``text``; raises ScenarioError if it is no scenario's."""
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
    ``variant`` is laid over the rest, if the tree has it. Raises ScenarioError for bad overrides.
    """
    overrides = list(overrides)
    pinned = tuple(pinned_runs(tree.data.get("compare")))
    first = [override for override in overrides if override.path[0] in SECTIONS]
    applied = [override.apply(tree) for override in first]
    names = check_variants(tree)
    labels: tuple[LabelledAnswers, ...] = ()
    if "human" in tree.data or names:
        from pytest_rageval.scenario.labelled import known_labels

        labels = tuple(known_labels(tree, names))
    laid = variant_overrides(tree, variant) if variant in names else []
    tree.data.pop(VARIANTS, None)
    rest = [*laid, *(override for override in overrides if override not in first)]
    ours = [override for override in rest if override.path[0] in Scenario.model_fields]
    ours.sort(key=lambda override: override.path[0] != "models")  # before roles name them
    # Keys of other systems first: translated later, they would win over ours.
    theirs = [override for override in rest if override not in ours]
    applied += [override.apply(tree) for override in theirs]
    warnings = _translated(tree, [override.path for override in ours])
    applied += [override.apply(tree, name_of) for override in ours]
    named = [
        (name, override.source)
        for name, override in zip(applied, [*first, *theirs, *ours], strict=True)
        if name is not None and not override.written_at
    ]
    overridden, overridden_by = zip(*named, strict=True) if named else ((), ())
    scenario, positions, found = validate(tree)
    loaded = LoadedScenario(
        scenario,
        path,
        tree,
        overridden,
        overridden_by,
        tuple(warnings),
        positions,
        names,
        variant,
        pinned,
        labels,
    )
    return loaded, problems_by_line(tree.problems, found, tree)


def _translated(tree: YamlTree, given: Collection[YamlPath]) -> list[str]:
    """Rewrite other systems' keys into ours; return a warning for each without a counterpart.

    ``given`` are the paths of our keys that overrides set afterwards.
    """
    if all(key in Scenario.model_fields or key.startswith("x-") for key in tree.data):
        return []
    warnings = rag_eval.translate(tree, given)
    warnings += ultrarag.translate(tree)
    warnings += dbgpt.translate(tree, given)
    ultrarag.translate_retrieval(tree)
    return warnings


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


def problems_by_line(
    noted: Iterable[Problem], found: Iterable[Problem], tree: YamlTree
) -> list[Problem]:
    """Return problems by file and line; ``found`` ones get the names that the file has for keys."""
    named = [replace(problem, message=tree.as_written(problem.message)) for problem in found]
    return sorted([*noted, *named], key=_by_line)


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
        for key in keys_given_twice(cut_json(text, DEEPEST + 1)):
            tree.problem((), f"duplicate key {shorten(key)!r}")
    tree.data = data
    return tree


def _without_rows(data: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario without its rows: a row that is too deep leaves the scenario valid."""
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
    """Return JSON as YAML can read it, for the lines of values; the values may be others."""
    parts, done = [], 0
    for string in _STRING.finditer(text):
        blanks = text[done : string.start()].replace("\t", " ")
        parts += [blanks, _HALF.sub("?", string.group())]
        done = string.end()
    return "".join([*parts, text[done:].replace("\t", " ")])


def validate(tree: YamlTree) -> tuple[Scenario, Positions, list[Problem]]:
    """Return the scenario, the file positions of list items, and all problems.

    Of a section with problems, the valid parts stay. A required section without any is ``unnamed``,
    ``UNREADABLE`` or an empty list. Positions are those of the lists from which items were dropped.
    """
    try:
        return Scenario.model_validate(tree.data), {}, []
    except ValidationError as error:
        found = error.errors(include_url=False)
    details = [detail for detail in found if detail["loc"]]
    invalid = {detail["loc"] for detail in details}
    problems = [
        _problem_of(detail, tree)
        for detail in details
        if not _is_of_profile(detail["loc"], tree, invalid)
    ]
    # Without a place are conflicts, which are looked for below, and keys that are no text.
    problems += [
        Problem(tree.where(), f"a key that is no text: {reworded(detail)}")
        for detail in found
        if not detail["loc"] and detail["type"] != "value_error"
    ]
    scenario, positions = _valid_parts(tree.data, {existing(loc, tree.data) for loc in invalid})
    for path, other, message in conflicts(scenario):
        if other not in {loc[0] for loc in invalid}:
            problems.append(Problem(tree.where(path), message))
    return scenario, positions, problems


def _valid_parts(
    data: Mapping[str, Any], invalid: Collection[YamlPath]
) -> tuple[Scenario, Positions]:
    sections: dict[str, Any] = {"name": "unnamed", "dataset": UNREADABLE, "metrics": []}
    positions = {}
    for name, value in filled_roles(_without(data, filter(None, invalid))).items():
        if name in Scenario.model_fields:
            items = len(data[name]) if isinstance(data[name], list) else 0
            kept = [at for at in range(items) if (name, at) not in invalid]
            valid, kept = _valid_part(_section(name), value, kept)
            if valid is not None:
                sections[name] = valid
            if len(kept) < items:
                positions[name] = kept
    return Scenario.model_construct(**sections), positions


def _valid_part(model: TypeAdapter[Any], value: Any, kept: list[int]) -> tuple[Any, list[int]]:
    """Return what is valid in a section, None if nothing is, and which list items were ``kept``."""
    while True:
        try:
            return model.validate_python(value), kept
        except ValidationError as error:
            invalid = {existing(detail["loc"], value) for detail in error.errors()}
        if () in invalid:
            return None, []
        kept = [at for here, at in enumerate(kept) if (here,) not in invalid]
        value = _without(value, invalid)


@cache
def _section(name: str) -> TypeAdapter[Any]:
    field = Scenario.model_fields[name]
    annotation: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotation)


def _without(data: Any, paths: Iterable[YamlPath]) -> Any:
    """Return a copy of ``data`` without what is at ``paths``, all of which exist."""
    inner: dict[str | int, list[YamlPath]] = defaultdict(list)
    for path in paths:
        inner[path[0]].append(path[1:])
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    kept = {
        key: _without(value, inner[key]) if key in inner else value
        for key, value in entries
        if () not in inner.get(key, ())
    }
    return kept if isinstance(data, dict) else list(kept.values())


def _is_of_profile(location: YamlPath, tree: YamlTree, invalid: Collection[YamlPath]) -> bool:
    """Return whether a mistake in a role is one of its profile, where it is reported already."""
    role, *inside = location
    if role not in ("judge", "embedding"):
        return False
    given = tree.data.get(role)
    mapping = given if isinstance(given, dict) else {"model": given}
    profile = ("models", str(mapping.get("profile", mapping.get("model"))))
    return profile in invalid or (*profile, *inside) in invalid


def _problem_of(detail: ErrorDetails, tree: YamlTree) -> Problem:
    """Return what pydantic found, in the words of a scenario file."""
    location = detail["loc"]
    place = existing(location, tree.data)
    where = tree.where(place)
    if detail["type"] == "extra_forbidden":
        return Problem(where, _unknown_key(location))
    if detail["type"] == "missing":
        hint = _MISSING_HINTS.get(location, "") + tree.hints.get(str(location[0]), "")
        return Problem(where, f"{dotted(location)}: {reworded(detail)}{hint}")
    return Problem(where, f"{dotted(place or location)}: {reworded(detail)}")


_MISSING_HINTS: Mapping[YamlPath, str] = {
    ("name",): " (the scenario's name, for instance 'name: support-bot')",
    ("dataset",): " (for instance 'dataset: rows.jsonl')",
    ("metrics",): " (for instance 'metrics: [em, f1]')",
}


def _unknown_key(location: YamlPath) -> str:
    key, parents = str(location[-1]), location[:-1]
    model = model_at(Scenario, parents)
    known = sorted(Scenario.model_fields if model is None else model.model_fields)
    hint = did_you_mean(key, known)
    inside = f" under {dotted(parents)}" if parents else ""
    return f"unknown key {shorten(key)!r}{inside}.{hint} Known: {', '.join(known)}"


def refuse_empty(tree: YamlTree) -> None:
    """Note a problem for each key of ours without a value, ``gates: {em: }``.

    YAML would read null, which removes a gate. Other systems' keys may be empty.
    """
    for path in tree.empty:
        if must_be_filled(path):
            message = (
                "is empty; write a value, or take the key out. Where you mean null, write null"
            )
            tree.problem(path, f"{dotted(path)}: {message}")
