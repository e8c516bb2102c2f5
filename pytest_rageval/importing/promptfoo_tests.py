"""promptfoo's tests, wherever they are written, each with its variables and asserts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import Losses, NotTakenError
from pytest_rageval.importing.files import Folder, Part
from pytest_rageval.importing.templates import fill
from pytest_rageval.scenario.yaml.tree import YamlTree

_MOST: Final = 10_000
_KNOWN: Final = frozenset(
    {"vars", "assert", "description", "threshold", "options", "metadata", "providerOutput"}
)
_OPTIONS: Final = frozenset(
    {"provider", "transform", "postprocess", "disableDefaultAsserts", "disableVarExpansion"}
    | {"runSerially", "timeout"}
)
_SUFFIXES: Final = (".csv", ".jsonl", ".json", ".yaml", ".yml")
_ASSERT: Final = re.compile(
    r"(?P<kind>(?:not-)?[a-z][a-z0-9-]*)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?",
    re.DOTALL,
)
_KINDS: Final = frozenset(
    {"answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any"}
    | {"contains-json", "context-faithfulness", "context-recall", "context-relevance", "cost"}
    | {"equals", "factuality", "g-eval", "icontains", "icontains-all", "icontains-any", "is-json"}
    | {"is-sql", "is-xml", "javascript", "latency", "levenshtein", "llm-rubric", "moderation"}
    | {"model-graded-closedqa", "perplexity", "perplexity-score", "pi", "python", "regex"}
    | {"rouge-n", "similar", "starts-with", "webhook", "word-count"}
)
_OTHER_NAMES: Final = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_WITH_THRESHOLD: Final = {
    "similar": 0.8,
    **dict.fromkeys(("answer-relevance", "latency"), 0.75),
    **dict.fromkeys(("context-faithfulness", "context-recall", "context-relevance"), 0.75),
}


@dataclass(slots=True)
class Test:
    """A test with what all tests share laid under it; ``asserts`` keep their places."""

    where: str
    variables: dict[str, Any]
    asserts: list[Part]
    description: str = ""
    threshold: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    metadata: Any = None
    output: Any = None


def tests_of(config: Part, folder: Folder, losses: Losses) -> Iterator[Test]:
    """Yield the tests, those of ``scenarios`` too; the ones that cannot be read are noted."""
    default = _default(config, folder, losses)
    for part in _expanded(config.of("tests"), folder, losses):
        yield from _made(part, [default], folder, losses)
    for scenario in config.of("scenarios").parts():
        if not isinstance(scenario.value, dict):
            losses.note(scenario.where, "scenario", "is no mapping with config and tests")
            continue
        tests = list(_expanded(scenario.of("tests"), folder, losses))
        for shared in _expanded(scenario.of("config"), folder, losses):
            for part in tests:
                yield from _made(part, [default, shared], folder, losses)


def _default(config: Part, folder: Folder, losses: Losses) -> Part:
    part = config.of("defaultTest")
    if isinstance(part.value, str):
        try:
            part = folder.data(folder.named(part.value)[0])
        except NotTakenError as error:
            losses.note(part.where, "defaultTest", error)
            return Part({}, part.tree)
    return part


def _expanded(tests: Part, folder: Folder, losses: Losses) -> Iterator[Part]:
    """Yield the tests of a list, with those of the files that it names."""
    for part in tests.parts():
        reference = part.value
        if isinstance(reference, dict) and isinstance(reference.get("path"), str):
            reference = reference["path"]
        if not isinstance(reference, str):
            yield part
            continue
        try:
            for file in folder.named(reference):
                yield from _in_file(file, folder)
        except NotTakenError as error:
            losses.note(part.where, f"tests {shorten(reference, 80)}", error)


def _in_file(file: Any, folder: Folder) -> Iterator[Part]:
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        raise NotTakenError(f"tests in {suffix or 'such a file'} are not read")
    if suffix == ".csv":
        yield from map(_of_csv, folder.rows(file))
    elif suffix == ".jsonl":
        yield from folder.rows(file)
    else:
        yield from folder.data(file).parts()


def _of_csv(part: Part) -> Part:
    """Return a row of a table as a test; its columns ``__expected`` are asserts."""
    test: dict[str, Any] = {"vars": {}, "assert": []}
    for name, cell in part.value.items():
        if name.startswith("__expected"):
            test["assert"] += [_assert(cell)] if cell.strip() else []
        elif name in ("__description", "__threshold", "__providerOutput"):
            test |= {name.removeprefix("__"): cell} if cell else {}
        elif name.startswith("__"):
            test |= {name: cell} if cell and name != "__metric" else {}
        else:
            test["vars"][name] = cell
    return Part(test, YamlTree(test, part.tree.source, part.tree.lines))


def _assert(text: str) -> dict[str, Any]:
    """Return the assert that a cell spells, ``contains:30 days``; other text is to be equalled."""
    found = _ASSERT.fullmatch(text)
    kind = found["kind"] if found else ""
    kind = _OTHER_NAMES.get(kind, kind)
    if found is None or kind.removeprefix("not-") not in _KINDS:
        is_file = text.startswith("file://")
        return {"type": "javascript" if is_file else "equals", "value": text}
    made: dict[str, Any] = {"type": kind, "value": found["value"]}
    if kind in _WITH_THRESHOLD:
        made["threshold"] = float(found["threshold"] or _WITH_THRESHOLD[kind])
    return made


def _made(part: Part, under: list[Part], folder: Folder, losses: Losses) -> Iterator[Test]:
    """Yield the test, once for each value of variables that are lists."""
    if not isinstance(part.value, dict):
        losses.note(part.where, "test", f"is no mapping: {shorten(repr(part.value))}")
        return
    for key in sorted(map(str, part.value.keys() - _KNOWN)):
        losses.note(part.where, f"test: {key}", "has no counterpart here")
    layers = [*under, part]
    options: dict[str, Any] = {}
    for layer in layers:
        options |= _options(layer, layer is part, losses)
    try:
        variables = _variables(layers, folder)
    except NotTakenError as error:
        losses.note(part.where, "test", f"its variables cannot be read: {error}")
        return
    drops = options.get("disableDefaultAsserts") is True
    asserts = [one for layer in layers[drops:] for one in layer.of("assert").parts()]
    threshold = next(
        (found for layer in reversed(layers) if (found := layer.of("threshold").value) is not None),
        None,
    )
    for values in _combinations(variables, options, part, losses):
        yield Test(
            part.where,
            values,
            list(_flat(asserts, losses)),
            str(part.of("description").value or ""),
            threshold,
            options,
            part.of("metadata").value,
            part.of("providerOutput").value,
        )


def _options(layer: Part, is_of_test: bool, losses: Losses) -> dict[str, Any]:
    """Return the options of a test, or of what tests share; note those without a counterpart."""
    given = layer.of("options")
    options = given.value if isinstance(given.value, dict) else {}
    known = _OPTIONS - ({"provider"} if is_of_test else set())
    for key in sorted(map(str, options.keys() - known)):
        losses.note(given.of(key).where, f"options.{key}", "has no counterpart here")
    return options


def _flat(asserts: list[Part], losses: Losses) -> Iterator[Part]:
    """Yield the asserts, those of a set instead of it: all of them have to hold, too."""
    for part in asserts:
        value = part.value
        if not (isinstance(value, dict) and value.get("type") == "assert-set"):
            yield part
        elif "threshold" in value:
            losses.note(part.where, "assert-set", "its threshold has no counterpart here")
        else:
            yield from _flat(list(part.of("assert").parts()), losses)


def _variables(layers: list[Part], folder: Folder) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for layer in layers:
        given = layer.of("vars").value
        if isinstance(given, str):
            given = folder.value(given)
        if given is not None and not isinstance(given, dict):
            raise NotTakenError(f"vars is no mapping: {shorten(repr(given))}")
        found |= {str(name): _read(value, folder) for name, value in (given or {}).items()}
    return {name: _filled(value, found) for name, value in found.items()}


def _read(value: Any, folder: Folder) -> Any:
    if isinstance(value, list):
        return [_read(part, folder) for part in value]
    is_file = isinstance(value, str) and value.startswith("file://")
    return folder.value(value) if is_file else value


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        return fill(value, variables)
    except NotTakenError:
        return value


def _combinations(
    variables: dict[str, Any], options: Mapping[str, Any], part: Part, losses: Losses
) -> Iterator[dict[str, Any]]:
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    if not lists or options.get("disableVarExpansion") is True:
        yield variables
        return
    found = itertools.product(*lists.values())
    for at, values in enumerate(found):
        if at == _MOST:
            losses.note(part.where, "test", f"its lists of variables make more than {_MOST} tests")
            return
        yield {**variables, **dict(zip(lists, values, strict=True))}
