"""From a scenario file to a validated Scenario, with every problem of the file found in one go."""

from __future__ import annotations

import sys
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten
from pytest_rageval.scenario.dialects import dbgpt, rag_eval, retrieval, ultrarag
from pytest_rageval.scenario.json_tree import parse_json
from pytest_rageval.scenario.overrides import NameOf, Override
from pytest_rageval.scenario.schema import Scenario, is_secret
from pytest_rageval.scenario.yaml_tree import YamlPath, YamlTree, parse_yaml

_MAX_FILE_BYTES = 64 * 2**20

_Positions = dict[str, list[int]]


@dataclass(frozen=True)
class LoadedScenario:
    """A validated scenario with its file, the lines of its values, and what overrode them."""

    scenario: Scenario
    path: Path
    tree: YamlTree
    overridden: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    positions: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def position(self, section: str, at: int) -> int:
        """Return where item ``at`` of a list stands in the file, invalid items counted."""
        places = self.positions.get(section, ())
        return places[at] if at < len(places) else at

    def where(self, *path: str | int) -> str:
        """Return ``file:line`` of the value at ``path``, or the option that overrode it."""
        return self.tree.where(path)


def load_scenario(
    path: Path, overrides: Iterable[Override] = (), shown: str = ""
) -> LoadedScenario:
    """Return the scenario in ``path`` with ``overrides`` applied.

    ``shown`` is the file's name in messages. Raises ScenarioError with every problem of the file.
    """
    loaded, problems = inspect_scenario(path, overrides, shown)
    if problems or loaded is None:
        raise ScenarioError(problems)
    return loaded


def inspect_scenario(
    path: Path, overrides: Iterable[Override] = (), shown: str = "", name_of: NameOf = str
) -> tuple[LoadedScenario | None, list[Problem]]:
    """Return what could be made of the scenario, and all its problems.

    A scenario with problems comes back without its invalid parts, so that a caller can go on and
    find the problems of the rest; None when too little is left. Raises ScenarioError when the file
    cannot be read at all.
    """
    shown = shown or str(path)
    tree = parse_scenario(_read_text(path, shown), path, shown)
    return inspect_tree(tree, path, overrides, name_of)


def parse_scenario(text: str, path: Path, shown: str) -> YamlTree:
    """Return the tree of a scenario file's ``text``; raises ScenarioError when it has no keys."""
    tree = parse_json(text, shown) if path.suffix.lower() == ".json" else parse_yaml(text, shown)
    if not isinstance(tree.data, dict):
        found = "nothing" if tree.data is None else f"a {_kind(tree.data)}"
        raise ScenarioError([Problem(f"{shown}:1", f"expected keys like 'name:', found {found}")])
    return tree


def inspect_tree(
    tree: YamlTree, path: Path, overrides: Iterable[Override] = (), name_of: NameOf = str
) -> tuple[LoadedScenario | None, list[Problem]]:
    """Return what could be made of a tree, which is changed, and all its problems.

    ``path`` is the file that data files are relative to. Where ``name_of`` says that an override
    names a metric which the file writes otherwise, it takes the place of that.
    """
    overrides = list(overrides)
    ours = [override for override in overrides if override.path[0] in Scenario.model_fields]
    # What another system calls a value by its own name comes to our key first, or would win there.
    applied = [override.apply(tree) for override in overrides if override not in ours]
    given = [override.path for override in ours]
    warnings = rag_eval.translate(tree, given)
    warnings += ultrarag.translate(tree)
    warnings += dbgpt.translate(tree, given)
    retrieval.translate(tree)
    applied += [override.apply(tree, name_of) for override in ours]
    overridden = tuple(name for name in applied if name is not None)
    scenario, positions, problems = _validate(tree)
    problems = sorted([*tree.problems, *problems], key=by_line)
    if scenario is None:
        return None, problems
    return LoadedScenario(scenario, path, tree, overridden, tuple(warnings), positions), problems


def _read_text(path: Path, shown: str) -> str:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            limit = f"{_MAX_FILE_BYTES // 2**20} MB"
            message = f"larger than {limit}; put the rows into a data file ('dataset: rows.jsonl')"
            raise ScenarioError([Problem(shown, message)])
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError([Problem(shown, f"cannot be read: {error.strerror}")]) from error
    return decode_scenario(raw, shown)


def decode_scenario(raw: bytes, shown: str) -> str:
    """Return the text of a scenario file, without a byte order mark; raises ScenarioError."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise ScenarioError([Problem(f"{shown}:{line}", message)]) from error


def _validate(tree: YamlTree) -> tuple[Scenario | None, _Positions, list[Problem]]:
    """Validate; then again without what was invalid, until something valid is left or nothing."""
    problems: list[Problem] = []
    reported: list[YamlPath] = []
    data = tree.data
    positions = {
        key: list(range(len(value))) for key, value in data.items() if isinstance(value, list)
    }
    for _ in range(10):
        try:
            return Scenario.model_validate(data), positions, problems
        except ValidationError as error:
            details = error.errors(include_url=False)
        found: list[YamlPath] = []
        invalid = [_existing(detail["loc"], data) for detail in details]
        for detail, path in zip(details, invalid, strict=True):
            place = _original(path, positions)
            full = (*place, *detail["loc"][len(path) :])
            # Later passes see what earlier ones took out; that is no second problem.
            told = [*reported, *(other["loc"] for other in details)]
            if not _is_of_profile(detail["loc"], tree, told) and not any(
                full[: len(old)] == old or old[: len(full)] == full for old in reported
            ):
                problems.append(_problem(detail, place, tree))
            found.append(full)
        reported += found
        data = _with_placeholders(_without(data, invalid), details)
        for key, kept in positions.items():
            dropped = {path[1] for path in invalid if path[0:1] == (key,) and len(path) == 2}
            positions[key] = [place for at, place in enumerate(kept) if at not in dropped]
    return None, positions, problems


def _is_of_profile(location: YamlPath, tree: YamlTree, told: Collection[YamlPath]) -> bool:
    """Return whether a mistake in a role is that of its profile, where it is told of."""
    role, *inside = location or ("",)
    if role not in ("judge", "embedding"):
        return False
    given = tree.data.get(role)
    own = given if isinstance(given, dict) else {"model": given}
    profile = ("models", own.get("profile", own.get("model")))
    return profile in told or (*profile, *inside) in told


def _original(path: YamlPath, positions: _Positions) -> YamlPath:
    """Return ``path`` with the position that its list item has in the file."""
    if len(path) > 1 and isinstance(path[1], int) and path[0] in positions:
        return (path[0], positions[str(path[0])][path[1]], *path[2:])
    return path


def _without(data: Any, paths: Sequence[YamlPath]) -> Any:
    """Return a copy of ``data`` that lacks what stands at ``paths``."""
    here = {path[0] for path in paths if len(path) == 1}
    deeper: dict[str | int, list[YamlPath]] = {}
    for path in paths:
        if len(path) > 1:
            deeper.setdefault(path[0], []).append(path[1:])
    if isinstance(data, dict):
        return {
            key: _without(value, deeper[key]) if key in deeper else value
            for key, value in data.items()
            if key not in here
        }
    if isinstance(data, list):
        return [
            _without(value, deeper[at]) if at in deeper else value
            for at, value in enumerate(data)
            if at not in here
        ]
    return data


def _with_placeholders(data: Any, details: Sequence[ErrorDetails]) -> Any:
    """Fill required keys that were missing or dropped, so that the rest can still be checked."""
    touched = {detail["loc"][0] for detail in details if detail["loc"]}
    data = dict(data)
    if any(not detail["loc"] for detail in details):
        data.pop("tolerate", None)
    if "name" in touched:
        data["name"] = "unnamed"
    if "dataset" in touched and not isinstance(data.get("dataset"), str | list):
        kept = data.get("dataset") if isinstance(data.get("dataset"), dict) else {}
        trec = "qrels_path" in kept and "run_path" in kept
        if [trec, "path" in kept, "rows" in kept].count(True) != 1:
            data["dataset"] = {"rows": []}
    if "metrics" in touched and not (isinstance(data.get("metrics"), list) and data["metrics"]):
        data["metrics"] = ["em"]
    return data


def _existing(location: tuple[str | int, ...], data: Any) -> YamlPath:
    """Return the longest part of ``location`` that exists in ``data``: what to drop."""
    path: YamlPath = ()
    found = data
    for step in location:
        if isinstance(found, dict) and step in found:
            found = found[str(step)]
        elif isinstance(found, list) and isinstance(step, int) and step < len(found):
            found = found[step]
        else:
            break
        path = (*path, step)
    return path


def _problem(detail: ErrorDetails, place: YamlPath, tree: YamlTree) -> Problem:
    """Return what pydantic found in our words; ``place`` is the value's path in the file."""
    location = detail["loc"]
    where = tree.where(place)
    if detail["type"] == "extra_forbidden":
        return Problem(where, _unknown_key(location))
    name = _dotted(place or location)
    if detail["type"] == "missing":
        return Problem(
            where, f"{_dotted(location)}: required, and missing{_missing_hint(location)}"
        )
    message = _reworded(
        {**detail, "input": _Hidden(detail["input"])} if _is_secret(location) else detail
    )
    if not place:  # keys that do not go together: the message begins with the one to mend
        where = tree.where(_named_first(message))
    return Problem(where, f"{name}: {message}" if name else message)


def _named_first(message: str) -> YamlPath:
    """Return the path that ``tolerate: ...`` or ``compare.run_old_path needs`` begins with."""
    words = message.split(maxsplit=1)
    return tuple(words[0].rstrip(":").split(".")) if words else ()


_MISSING_HINTS = {
    "name": " (the scenario's name, for instance 'name: support-bot')",
    "dataset": " (for instance 'dataset: rows.jsonl')",
    "metrics": " (for instance 'metrics: [em, f1]')",
}


def _missing_hint(location: tuple[str | int, ...]) -> str:
    return _MISSING_HINTS.get(str(location[0]), "") if len(location) == 1 else ""


def _unknown_key(location: tuple[str | int, ...]) -> str:
    key, parents = str(location[-1]), location[:-1]
    known = sorted(_model_at(parents).model_fields)
    hint = did_you_mean(key, known)
    inside = f" under {_dotted(parents)}" if parents else ""
    return f"unknown key {shorten(key)!r}{inside}.{hint} Known: {', '.join(known)}"


def _model_at(location: tuple[str | int, ...]) -> type[BaseModel]:
    """Return the schema model that describes what stands at ``location``."""
    model: type[BaseModel] = Scenario
    for step in location:
        annotation = model.model_fields[step].annotation if step in model.model_fields else None
        model = _model_in(annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, dict, Union, types.UnionType):
        found = [_model_in(part) for part in get_args(annotation)]
        return next((model for model in found if model is not None), None)
    return None


_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


_LIMITS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


def _reworded(detail: ErrorDetails) -> str:
    """Return pydantic's message in the words of a YAML file, with what was found."""
    found, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"expected {context['expected']}, found {_shown(found)}"
        case kind if kind in _LIMITS:
            sign, name = _LIMITS[kind]
            return f"expected a number {sign} {context[name]:g}, found {_shown(found)}"
        case "too_short":
            return "must not be empty"
        case kind if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}, found {_shown(found)}"
    return f"{detail['msg']}, found {_shown(found)}"


class _Hidden:
    """Stands for a value that may be a secret: messages say of which kind it is."""

    def __init__(self, value: Any) -> None:
        self.kind = _kind(value)


def _is_secret(path: YamlPath) -> bool:
    """Return whether keys and passwords may stand at ``path``, be it by mistake."""
    return path[:1] in _WITH_SECRETS and is_secret(path)


_WITH_SECRETS = (("judge",), ("embedding",), ("models",), ("target",))


def _shown(value: Any) -> str:
    if isinstance(value, _Hidden):
        return f"a {value.kind}" if value.kind != "text" else "text"
    if isinstance(value, dict | list):
        return f"a {_kind(value)}"
    return "nothing" if value is None else shorten(repr(value))


def _kind(value: Any) -> str:
    names = {dict: "mapping", list: "list", str: "text", bool: "boolean", int: "number"}
    return names.get(type(value), type(value).__name__)


def _dotted(location: Iterable[str | int]) -> str:
    """Return a path as it is read aloud: ``metrics[1].f1``."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return shorten("".join(parts).lstrip("."), 120)


def by_line(problem: Problem) -> tuple[str, int]:
    """Return what problems are sorted by: their file, then their line.

    What is about the file as a whole comes first, how many more there are comes last.
    """
    file, _, line = problem.where.rpartition(":")
    if line.isdecimal():
        return file, int(line)
    return problem.where, sys.maxsize if problem.message.startswith("and ") else 0
