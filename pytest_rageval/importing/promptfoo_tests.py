"""promptfoo's tests, wherever they are written, each with its variables and asserts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import ImportNotes, NotTakenError
from pytest_rageval.importing.files import Folder, Part, shown_name
from pytest_rageval.importing.templates import fill
from pytest_rageval.scenario.yaml.tree import YamlTree

_SHARED: Final = frozenset({"vars", "assert", "threshold", "options", "metadata"})
_KNOWN: Final = _SHARED | {"description", "providerOutput"}
_OPTIONS: Final = frozenset(
    {"transform", "postprocess", "disableDefaultAsserts", "disableVarExpansion", "runSerially"}
    | {"timeout"}
)
_SUFFIXES: Final = (".csv", ".jsonl", ".json", ".yaml", ".yml")
_ASSERT: Final = re.compile(
    r"(?P<kind>(?:not-)?[a-z][a-z0-9-]*)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?",
    re.DOTALL,
)
_LISTS: Final = frozenset({"contains-all", "contains-any", "icontains-all", "icontains-any"})
_KINDS: Final = frozenset(
    _LISTS
    | {"agent-rubric", "answer-relevance", "bleu", "classifier", "contains", "contains-html"}
    | {"contains-json", "contains-sql", "contains-xml", "context-faithfulness", "context-recall"}
    | {"context-relevance", "conversation-relevance", "cost", "equals", "factuality"}
    | {"finish-reason", "g-eval", "gleu", "guardrails", "icontains", "is-html", "is-json"}
    | {"is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call"}
    | {"is-valid-openai-tools-call", "is-xml", "javascript", "latency", "levenshtein"}
    | {"llm-rubric", "meteor", "model-graded-closedqa", "model-graded-factuality", "moderation"}
    | {"perplexity", "perplexity-score", "pi", "python", "regex", "rouge-n", "ruby"}
    | {"search-rubric", "similar", "skill-used", "starts-with", "tool-call-f1", "webhook"}
    | {"word-count"}
)
_OTHER_NAMES: Final = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_WITH_THRESHOLD: Final = {
    "similar": 0.8,
    **dict.fromkeys(("answer-relevance", "latency"), 0.75),
    **dict.fromkeys(("context-faithfulness", "context-recall", "context-relevance"), 0.75),
}


@dataclass(slots=True)
class Test:
    """A test with what all tests share laid under it; ``asserts`` keep their places.

    The first ``shared`` asserts are those of ``defaultTest``. ``is_whole`` is false where some were
    lost, or where code scores them together; ``asks_itself`` says whether there were any besides
    those of ``defaultTest``, lost ones too.
    """

    where: str
    variables: dict[str, Any]
    asserts: list[Part]
    shared: int = 0
    is_whole: bool = True
    asks_itself: bool = False
    description: str = ""
    threshold: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    output: Any = None


def tests_of(config: Part, default: Part, folder: Folder, notes: ImportNotes) -> Iterator[Test]:
    """Yield the tests, also of ``scenarios``; a test that cannot be read is noted.

    ``default`` is what all tests share.
    """
    for part in _expanded(config.of("tests"), folder, notes):
        yield from _made(part, [default], folder, notes)
    for scenario in config.of("scenarios").parts():
        if not isinstance(scenario.value, dict):
            notes.add(scenario.where, "scenario", "is no mapping with config and tests")
        else:
            yield from _of_scenario(scenario, default, folder, notes)


def _of_scenario(
    scenario: Part, default: Part, folder: Folder, notes: ImportNotes
) -> Iterator[Test]:
    """Yield each test of a scenario with each of its configs; without tests, the configs alone."""
    for key in sorted(map(str, scenario.value.keys() - {"config", "tests", "description"})):
        notes.add(scenario.of(key).where, f"scenario: {key}", "has no counterpart here")
    given = scenario.of("tests")
    none = Part({}, scenario.tree, scenario.path)
    tests = [none] if given.value is None else list(_expanded(given, folder, notes))
    configs = scenario.of("config")
    if configs.value is None:
        notes.add(scenario.where, "scenario", "has no config, without which no test of it runs")
    for config in _expanded(configs, folder, notes):
        if not _is_mapping(config, "scenario: config", _KNOWN, notes):
            continue
        for part in tests:
            yield from _made(part, [default, config], folder, notes)


def default_of(config: Part, folder: Folder, notes: ImportNotes) -> Part:
    """Return what all tests share, from its file if it has one; an empty part if it is lost."""
    given = part = config.of("defaultTest")
    if isinstance(part.value, str):
        try:
            part = folder.data(folder.one(part.value))
        except NotTakenError as error:
            notes.add(given.where, "defaultTest", error)
            return Part({}, part.tree)
    if part.value is None or _is_mapping(part, "defaultTest", _SHARED, notes):
        return part
    return Part({}, part.tree)


def _is_mapping(part: Part, what: str, known: Collection[str], notes: ImportNotes) -> bool:
    """Return whether a part is a mapping; note it where it is none, and its unknown keys."""
    if not isinstance(part.value, dict):
        notes.add(part.where, what, f"is no mapping: {shorten(repr(part.value))}")
        return False
    for key in sorted(map(str, part.value.keys() - known)):
        notes.add(part.of(key).where, f"{what}: {key}", "has no counterpart here")
    return True


def _expanded(tests: Part, folder: Folder, notes: ImportNotes) -> Iterator[Part]:
    """Yield the tests of a list, and of the files that it names."""
    for part in tests.parts():
        reference = part.value
        if isinstance(reference, dict) and isinstance(reference.get("path"), str):
            for key in sorted(map(str, reference.keys() - {"path"})):
                notes.add(part.where, f"tests: {key}", "has no counterpart here")
            reference = reference["path"]
        if not isinstance(reference, str):
            yield part
            continue
        try:
            for file in folder.named(reference):
                yield from _in_file(file, folder, notes)
        except NotTakenError as error:
            notes.add(part.where, f"tests {shorten(shown_name(reference), 80)}", error)


def _in_file(file: Path, folder: Folder, notes: ImportNotes) -> Iterator[Part]:
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        raise NotTakenError(f"tests in {suffix or 'such a file'} are not read")
    if suffix == ".csv":
        for part in folder.rows(file):
            if isinstance(part.value, str):
                notes.add(part.where, "test", part.value)
            else:
                if part.value.pop(""):
                    notes.add(part.where, "test", "a column without a name is not read")
                yield _of_csv(part)
    elif suffix == ".jsonl":
        yield from folder.rows(file)
    else:
        yield from folder.data(file).parts()


def _of_csv(part: Part) -> Part:
    """Return a row of a table as a test; its columns ``__expected`` are asserts."""
    test: dict[str, Any] = {"vars": {}, "assert": []}
    for name, cell in part.value.items():
        if name.startswith("__expected"):
            test["assert"] += [_assert(cell.strip())] if cell.strip() else []
        elif name in ("__description", "__threshold", "__providerOutput"):
            test |= {name.removeprefix("__"): cell} if cell else {}
        elif name.startswith("__"):
            # Keys that are not known are noted later. ``__metric`` only names the asserts.
            test |= {name: cell} if cell and name != "__metric" else {}
        else:
            test["vars"][name] = cell
    return Part(test, YamlTree(test, part.tree.source, part.tree.lines))


def _assert(text: str) -> dict[str, Any]:
    """Return the assert that a cell spells, ``contains:30 days``.

    A ``file://`` is code. A text that spells none is what the answer has to equal.
    """
    found = _ASSERT.fullmatch(text)
    kind, value = (found["kind"], found["value"]) if found else ("", None)
    kind = _OTHER_NAMES.get(kind, kind) if value is not None else kind
    base = kind.removeprefix("not-")
    if found is None or base not in _KINDS:
        is_file = text.startswith("file://")
        return {"type": "javascript" if is_file else "equals", "value": text}
    if value is not None:
        value = [part.strip() for part in value.split(",")] if base in _LISTS else value.strip()
    made: dict[str, Any] = {"type": kind, "value": value}
    if kind in _WITH_THRESHOLD:
        made["threshold"] = float(found["threshold"] or _WITH_THRESHOLD[kind])
    return made


def _made(part: Part, under: list[Part], folder: Folder, notes: ImportNotes) -> Iterator[Test]:
    """Yield the test over the layers ``under`` it, once for each choice of variables.

    Nothing where it cannot be read, which is noted.
    """
    if not _is_mapping(part, "test", _KNOWN, notes):
        return
    layers = [*under, part]
    options = _options(layers, notes)
    if isinstance(part.value.get("vars"), dict) and "assert" in part.value["vars"]:
        why = "is a variable here, not the asserts; promptfoo does not check it either"
        notes.add(part.of("vars").of("assert").where, "vars: assert", why)
    drops = options.get("disableDefaultAsserts") is True
    threshold = _last(layers, "threshold")
    # The first layer is ``defaultTest``.
    found = [list(_flat(layer, threshold is not None, notes)) for layer in layers[drops:]]
    every = [one for of_layer in found for one in of_layer]
    asserts = [one for one in every if one is not None]
    is_scored_by_code = any("assertScoringFunction" in (layer.value or {}) for layer in layers)
    try:
        for values in variables_of(layers, options, folder, part, notes):
            yield Test(
                part.where,
                values,
                asserts,
                0 if drops else sum(one is not None for one in found[0]),
                len(asserts) == len(every) and not is_scored_by_code,
                any(layer.of("assert").value for layer in layers[1:]),
                str(_last(layers[1:], "description") or ""),
                threshold,
                options,
                _metadata(layers, notes),
                _last(layers[1:], "providerOutput"),
            )
    except NotTakenError as error:
        notes.add(part.where, "test", f"its variables cannot be read: {error}")


def _last(layers: list[Part], key: str) -> Any:
    """Return the value of a key in the last layer that has it, None in none."""
    values = (layer.of(key).value for layer in reversed(layers))
    return next((value for value in values if value is not None), None)


def _metadata(layers: list[Part], notes: ImportNotes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for layer in layers:
        given = layer.of("metadata")
        if isinstance(given.value, dict):
            found |= given.value
        elif given.value is not None:
            notes.add(given.where, "metadata", f"is no mapping: {shorten(repr(given.value))}")
    return found


def _options(layers: list[Part], notes: ImportNotes) -> dict[str, Any]:
    """Return the options of a test; an option without a counterpart is noted."""
    found: dict[str, Any] = {}
    for layer in layers:
        given = layer.of("options")
        options = given.value if isinstance(given.value, dict) else {}
        if given.value not in (None, options):
            notes.add(given.where, "options", f"is no mapping: {shorten(repr(given.value))}")
        known = _OPTIONS | ({"provider"} if layer is layers[0] else set())
        for key in sorted(map(str, options.keys() - known)):
            notes.add(given.of(key).where, f"options.{key}", "has no counterpart here")
        found |= options
    return found


def _flat(layer: Part, is_scored: bool, notes: ImportNotes) -> Iterator[Part | None]:
    """Yield the asserts of a layer and of the sets in it; None for a set that is lost.

    Those of a set have to hold, too. ``is_scored``: a threshold decides on the score of all asserts
    of the test; those of a set then share its weight.
    """
    for part in layer.of("assert").parts():
        if not (isinstance(part.value, dict) and part.value.get("type") == "assert-set"):
            yield part
            continue
        inside = list(part.of("assert").parts())
        why = _lack(part.value, inside)
        if why:
            notes.add(part.where, "assert-set", why)
            yield None
        else:
            if "metric" in part.value:
                notes.add(part.where, "assert-set: metric", "the name of a set is not kept")
            weights = _weights(part.value, inside) if is_scored else None
            yield from inside if weights is None else map(_weighing, inside, weights)


def _lack(given: Mapping[str, Any], inside: list[Part]) -> str:
    """Return why a set of asserts is not taken; "" for one that is."""
    others = sorted(map(str, given.keys() - {"type", "assert", "weight", "metric"}))
    if others:
        keys = ", ".join(others)
        return f"its {keys} {'has' if len(others) == 1 else 'have'} no counterpart here"
    return "" if inside else "it has no list 'assert'"


def _weights(given: Mapping[str, Any], inside: list[Part]) -> list[float] | None:
    """Return the weights of a set's asserts in the score of its test.

    None where weights are no numbers, or those of the asserts sum up to 0.
    """
    own = [part.value.get("weight", 1) if isinstance(part.value, dict) else 1 for part in inside]
    try:
        weight, parts = float(given.get("weight", 1)), [float(one) for one in own]
        return [weight * part / math.fsum(parts) for part in parts]
    except (TypeError, ValueError, ArithmeticError):
        return None


def _weighing(part: Part, weight: float) -> Part:
    value = {**part.value, "weight": weight} if isinstance(part.value, dict) else part.value
    return Part(value, part.tree, part.path)


_MOST: Final = 10_000
_ROUNDS: Final = 5
"""How deep promptfoo looks for variables in variables."""


def variables_of(
    layers: list[Part], options: Mapping[str, Any], folder: Folder, part: Part, notes: ImportNotes
) -> Iterator[dict[str, Any]]:
    """Yield the variables of a test, once for each value of a list or of several files.

    ``layers`` are what may have ``vars``, the test last, and later ones count. ``part`` is where
    notes point. Raises NotTakenError for variables that cannot be read.
    """
    expands = options.get("disableVarExpansion") is not True
    given = _variables(layers, folder)
    choices = [_choices(value, folder, expands=expands) for value in given.values()]
    for at, values in enumerate(itertools.product(*choices)):
        if at == _MOST:
            notes.add(part.where, "test", f"its lists of variables make more than {_MOST} tests")
            return
        yield _resolved(dict(zip(given, values, strict=True)))


def _variables(layers: list[Part], folder: Folder) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for layer in layers:
        value = layer.of("vars").value
        named = folder.named(value) if isinstance(value, str) else []
        for given in [folder.data(file).value for file in named] or [value]:
            if given is not None and not isinstance(given, dict):
                raise NotTakenError(f"vars is no mapping: {shorten(repr(given))}")
            found |= {str(name): part for name, part in (given or {}).items()}
    return found


def _choices(value: Any, folder: Folder, *, expands: bool) -> list[Any]:
    """Return the values that a variable takes in turn.

    Where it ``expands``, these are the files that a ``file://`` names, or the entries of a list
    that begins with a text; otherwise it has one value.
    """
    if isinstance(value, str) and value.startswith("file://"):
        files = folder.named(value) if expands else [folder.one(value)]
        return [folder.variable(file) for file in files]
    if expands and isinstance(value, list) and value and isinstance(value[0], str):
        return [_read(part, folder) for part in value]
    return [[_read(part, folder) for part in value] if isinstance(value, list) else value]


def _read(value: Any, folder: Folder) -> Any:
    is_file = isinstance(value, str) and value.startswith("file://")
    return folder.variable(folder.one(value)) if is_file else value


def _resolved(variables: dict[str, Any]) -> dict[str, Any]:
    """Return variables with the ones filled in that their texts name, without a last line end."""
    found = {
        name: value.removesuffix("\n") if isinstance(value, str) else value
        for name, value in variables.items()
    }
    for _ in range(_ROUNDS):
        before, found = found, {name: _filled(value, found) for name, value in found.items()}
        if found == before:
            break
    return found


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_filled(part, variables) for part in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        return fill(value, variables)
    except NotTakenError:
        return value
