"""Names of scenarios on the command line, of samples in node ids, and of tags as markers."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.recognise import SUFFIXES, import_hint, is_scenario, names_promptfoo
from pytest_rageval.text.printable import one_line, printable

_MAX_NAME = 200
WHOLE_PREFIXES = ("gate:", "save:")
"""Prefixes of the last part of a node id that is about a whole scenario."""
_NOT_IN_TAGS = re.compile(r"[^\w+\-.\\/]+")
# Markers with a meaning in pytest: a tag called "skip" must not switch off tests.
_PYTEST_MARKERS = ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings")


def item_name(sample_id: str) -> str:
    """Return the name of the item of ``sample_id`` in node ids.

    ``::`` would split the node id and ``[`` breaks ``--lf``; both are replaced. So is the colon of
    a name that begins like that of a gate, since gates have node ids, too. Several ids may get the
    same name, since long ones are cut.

    >>> item_name("a::b[1]")
    'a:b(1)'
    """
    name = sample_id.replace("::", ":").replace("[", "(").replace("]", ")")
    name = one_line(name)[:_MAX_NAME].rstrip(":")
    if name.startswith(WHOLE_PREFIXES):
        name = name.replace(":", "_", 1)
    return name or "sample"


def look_alike(wanted: str, ids: Mapping[str, str]) -> str:
    """Return which sample runs in place of one with the ``wanted`` id, and what to write instead.

    "" where the right one runs, or none. ``ids`` are those of the samples by the names of their
    items; a name may be ``wanted``, too.
    """
    plain = one_line(wanted)
    found = ids.get(item_name(wanted))
    if found is None or one_line(found) == plain:
        return ""
    own = next((name for name, sample_id in ids.items() if one_line(sample_id) == plain), "")
    if not own and plain in ids:
        return ""
    shown = shorten(repr(wanted))
    how = f"to run {shown}, name it {own}" if own else f"no sample has the id {shown}"
    return f"that is the name of the sample {shorten(repr(found))}; {how}"


class Names:
    """Gives each item of a file a unique name."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The last number given with each name."""

    def give(self, sample_id: str) -> str:
        """Return the item's name, followed by ``~2`` if another id has the same name."""
        name = unique = item_name(sample_id)
        number = self._numbers.get(name, 1)
        while unique in self._numbers:
            number += 1
            unique = f"{name}~{number}"
        self._numbers[unique] = 1
        self._numbers[name] = number
        return unique


NAMED = pytest.StashKey[frozenset[Path]]()
"""Key in the config: the arguments of pytest that are scenarios by their content."""
UNCLEAR = pytest.StashKey[tuple[str, ...]]()
"""Key in the config: a remark for each argument that may or may not be a scenario."""


def tag_name(tag: str) -> str:
    """Return the name of a tag's marker: one that ``-m`` can select and pytest does not use.

    >>> tag_name("lang: zh"), tag_name("skip")
    ('lang_zh', 'skip_')
    """
    name = _NOT_IN_TAGS.sub("_", printable(tag)).lstrip("_") or "tag"
    return f"{name}_" if name in _PYTEST_MARKERS else name


def matching(name: str, folder: Path) -> list[str]:
    """Return the files that match a pattern, sorted, [] if there is none.

    ``**`` matches folders of any depth. A name that is no pattern, or that exists as it is written,
    is the only match; nobody checks that it is a file.
    """
    if (folder / name).exists() or not glob.has_magic(name):
        return [name]
    # Not Path.glob: it takes no absolute pattern, and searches hidden folders.
    found = glob.glob(name, root_dir=folder, recursive=True)  # noqa: PTH207
    return sorted(one for one in found if (folder / one).is_file())


def note_named_scenarios(
    config: pytest.Config, patterns: Iterable[str], scenarios: Collection[Path]
) -> None:
    """Note, in NAMED and UNCLEAR, arguments of pytest whose names match none of the ``patterns``.

    ``scenarios`` are the files of ``--rag-scenario``, which need no check.
    """
    named: set[Path] = set()
    unclear: list[str] = []
    for argument in config.args:
        name = argument.partition("::")[0]
        path = Path(os.path.normpath(config.invocation_params.dir / name))
        is_usual = any(fnmatch(path.name, pattern) for pattern in patterns)
        if is_usual or path in scenarios or path.suffix.lower() not in SUFFIXES:
            continue
        found = is_scenario(path)
        if found:
            named.add(path)
        elif found is None or names_promptfoo(path):
            unclear.append(_remark(name, path))
    config.stash[NAMED] = frozenset(named)
    config.stash[UNCLEAR] = tuple(dict.fromkeys(unclear))


def _remark(name: str, path: Path) -> str:
    if names_promptfoo(path):
        return f"rageval: {name} is {import_hint(name)}"
    return (
        f"rageval: if {name} is a scenario, run it with --rag-scenario={name} (to be recognised it "
        "needs 'metrics', and 'dataset' or 'target')"
    )
