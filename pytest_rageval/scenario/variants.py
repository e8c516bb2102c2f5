"""The variants of a scenario file: sets of keys that are laid over the others, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final
from unicodedata import category, normalize

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.model import BEST, SEPARATOR
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.short_forms import (
    ABSENT,
    ROLES,
    as_profile,
    expanded_short_form,
    type_of_target,
)
from pytest_rageval.scenario.yaml.tree import YamlTree, dotted

VARIANTS: Final = "variants"
"""The key that holds them."""

SECTIONS: Final = (VARIANTS, BEST)
"""The keys that are about all variants together."""

SHARED_KEYS: Final = ("name", "scenario_name", "output_dir", VARIANTS, BEST)
"""Keys that all variants of a file share."""

# What else is in the folder of a scenario that has variants.
_TAKEN: Final = (
    "latest",
    "baselines",
    "labels",
    "report.html",
    "variants.html",
    "variants.json",
)
_RUN_ID = re.compile(r"\d{8}T\d{6}-.*")
_MAX_NAME = 100
SOURCES: Final = (("path",), ("rows",), ("qrels_path", "run_path"))
"""The keys of ``dataset`` that say where its rows are; only one of these groups is allowed."""

Steps = tuple[str, ...]

_FILLED_LATER: Final[tuple[Steps, ...]] = (("dataset",), ("judge",))
"""What keys of other systems, such as ``runtime``, are moved into once a variant is laid."""

_AS_GIVEN: Final = frozenset({"body", "extra_body", "options", "metric_options"})
"""Keys of anything: there an empty mapping is a value."""

_FIRST: Final = {"profile": 0, "model": 1}
"""The keys of a role that are laid before its others."""


def variant_names(data: Any) -> tuple[str, ...]:
    """Return the names of the variants in a scenario file's data, in its order."""
    found = data.get(VARIANTS) if isinstance(data, dict) else None
    return tuple(map(str, found)) if isinstance(found, dict) else ()


def check_variants(tree: YamlTree) -> tuple[str, ...]:
    """Return the names of the variants; note what is wrong with them in the tree's problems."""
    found = tree.data.get(VARIANTS)
    if found is None or found == {}:
        if tree.data.get(BEST) is not None:
            tree.problem((BEST,), "best: needs 'variants', which it compares")
        return ()
    if not isinstance(found, dict):
        message = "expected a mapping of names to keys, as {dense: {dataset: dense.jsonl}}"
        tree.problem((VARIANTS,), f"variants: {message}")
        return ()
    if SEPARATOR in str(tree.data.get("name", "")):
        message = f"name: {SEPARATOR!r} separates a scenario from its variants; write another name"
        tree.problem(("name",), message)
    folders: dict[str, str] = {}
    for name, keys in found.items():
        _check_variant(tree, name, keys, folders)
    return tuple(found)


def _check_variant(tree: YamlTree, name: str, keys: Any, folders: dict[str, str]) -> None:
    for message in _problems(name, keys, folders):
        tree.problem((VARIANTS, name), f"variants: {shorten(name)!r} {message}")
    for key in set(SHARED_KEYS).intersection(keys if isinstance(keys, dict) else ()):
        message = f"{key!r} belongs to all variants; write it once, at the top of the file"
        tree.problem((VARIANTS, name, key), f"variants.{name}: {message}")


def _problems(name: str, keys: Any, folders: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with a variant; ``folders`` has the earlier ones."""
    if not (keys is None or isinstance(keys, dict)):
        yield "expected the keys that it changes, for instance {dataset: dense.jsonl}, or {}"
    folder = normalize("NFC", name).casefold()
    first = folders.setdefault(folder, name)
    if first != name:
        yield f"and {first!r} would share a folder where case is ignored; rename one"
    if folder in _TAKEN or _RUN_ID.fullmatch(name):
        yield f"is what a file or folder of runs is called; the names {', '.join(_TAKEN)} are taken"
    elif not _is_name(name):
        yield (
            f"cannot be part of a node id: a name has 1 to {_MAX_NAME} characters, none of them "
            "'::', '[', ']' or a line break, and does not begin with 'gate:' or 'save:'"
        )


def _is_name(name: str) -> bool:
    if not name.strip() or name != name.strip() or len(name) > _MAX_NAME:
        return False
    if name.startswith(("gate:", "save:", "-")) or name.endswith(":"):
        return False
    return not (
        SEPARATOR in name
        or set("[]") & set(name)
        or any(category(letter)[0] == "C" for letter in name)
    )


def matching_variants(
    known: Sequence[str], wanted: Iterable[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the variants that names or patterns ask for, and those that match none.

    Several may be in one text, with commas between them, unless a variant is called so.

    >>> matching_variants(("bm25", "dense-s", "dense-l"), ["dense-*,bm25", "x"])
    (('bm25', 'dense-s', 'dense-l'), ['x'])
    """
    texts = [
        part
        for text in wanted
        for part in ([text] if text in known else map(str.strip, text.split(",")))
    ]
    matched = {
        part: [name for name in known if name == part or fnmatchcase(name, part)] for part in texts
    }
    chosen = {name for names in matched.values() for name in names}
    unknown = [part for part, names in matched.items() if not names]
    return tuple(name for name in known if name in chosen), unknown


def unknown_variant(name: str, known: Sequence[str]) -> str:
    """Return the message for a name that no variant of the file has."""
    hint = did_you_mean(name, known)
    return f"unknown variant {shorten(name)!r}.{hint} Known: {', '.join(known)}"


def variant_overrides(tree: YamlTree, name: str) -> list[Override]:
    """Return what lays the variant ``name`` over the rest of the tree, in the order to apply it.

    Mappings are merged, short forms expanded; lists and single values replace what is there, null
    removes it. Another source of rows, or another type of target, removes the one that is there.
    """
    keys = tree.data[VARIANTS][name]
    found: list[Override] = []
    for key, written in keys.items() if isinstance(keys, dict) else ():
        if key in SHARED_KEYS:
            continue
        at = (VARIANTS, name, key)
        value = as_profile(tree.data, at, written)
        present = tree.data.get(key, ABSENT)
        # A model without a profile is not asked at the server of a profile that is there.
        if not (isinstance(value, dict) and "model" in value and "profile" not in value):
            present = as_profile(tree.data, at, present)
        found += _other_sources(tree, value, at) if key == "dataset" else ()
        if key == "target" and _is_other_target(value, present):
            present = []  # no mapping: replaced as a whole
        found += _laid((key,), value, present, tree, at)
    return found


def _laid(path: Steps, value: Any, present: Any, tree: YamlTree, at: Steps) -> Iterator[Override]:
    """Yield an override for each part of ``value`` that replaces one of ``present``.

    ``at`` is where the file says it.
    """
    known = expanded_short_form(path, present)
    if path == ("human",) and isinstance(value, dict) and "column" in value:
        known = None if isinstance(present, list) else known  # in place of the files
    if value is True and known and expanded_short_form(path, value) == {}:
        return  # it is on
    given = value
    replaces = value is None or (isinstance(value, list) and path != ("dataset",))
    if isinstance(known, dict) and not isinstance(value, dict) and not replaces:
        # A bare value is short for one key where a mapping is, or would be.
        is_mapping = known or path in _FILLED_LATER
        given = (expanded_short_form(path, value) or value) if is_mapping else value
    if given == {} and known and _AS_GIVEN.isdisjoint(path[:-1]) and path[0][:2] != "x-":
        _refuse_inner(tree, at, len(path))
        return  # nothing is laid over: null removes
    if isinstance(given, dict) and given and known is not None:
        keys = list(given)
        # A profile makes room first, a model: what is said beside it stays.
        if path[0] in ROLES or path[:-1] == ("models",):
            keys.sort(key=lambda key: _FIRST.get(key, len(_FIRST)))
        for key in keys:
            below = (*at, key) if given is value else at
            yield from _laid((*path, key), given[key], known.get(key, ABSENT), tree, below)
    else:
        yield Override(path, value, tree.where(at), written_at=at)


def _refuse_inner(tree: YamlTree, at: Steps, depth: int) -> None:
    """Note, once, an empty mapping below the top over one with keys: it may be meant to remove."""
    found = f"{dotted(at)}: {{}} removes nothing: leave it out, or write null to remove"
    is_noted = any(noted.message == found for noted in tree.problems)  # laid for labels, too
    if depth > 1 and not is_noted:
        tree.problem(at, found)


def _other_sources(tree: YamlTree, value: Any, at: Steps) -> Iterator[Override]:
    """Yield what removes the rows of the scenario where a variant's ``value`` has other ones."""
    given = expanded_short_form(("dataset",), value) or {}
    if not any(key in given for keys in SOURCES for key in keys):
        return
    for keys in SOURCES:
        if not any(key in given for key in keys):
            yield from (
                Override(("dataset", key), None, tree.where(at), written_at=at) for key in keys
            )


def _is_other_target(value: Any, present: Any) -> bool:
    types = [_type_of(expanded_short_form(("target",), target)) for target in (value, present)]
    return None not in types and types[0] != types[1]


def _type_of(target: dict[str, Any] | None) -> str | None:
    if not target:
        return None
    return target.get("type") or type_of_target(target)
