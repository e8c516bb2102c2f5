"""Tells whether a file is a scenario by its keys, where its name does not say so.

A file that is named on pytest's command line may be anything; one that is no scenario must be left
to other plugins.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

SUFFIXES = (".yaml", ".yml", ".json")

_TOP_KEY = re.compile(r"^[\"']?([A-Za-z]\w*)[\"']?[ \t]*:", re.MULTILINE)
_ANY_KEY = re.compile(r"[\"']?([A-Za-z]\w*)[\"']?\s*:")
_MEASURES = frozenset({"metrics", "ir_metrics", "evaluate_metrics", "evaluation"})
_DATA = frozenset(
    {
        "dataset",
        "datasets",
        "qrels_path",
        "run_path",
        "run_new_path",
        "benchmark",
        "target",
        "variants",
    }
)


_PROMPTFOO_ASKS = frozenset({"prompts", "providers", "targets"})
_PROMPTFOO_TESTS = frozenset({"tests", "scenarios", "defaultTest", "redteam"})


def is_promptfoo(keys: Collection[str]) -> bool:
    """Return whether a file with these top keys is a promptfoo configuration."""
    both = _PROMPTFOO_ASKS.intersection(keys) and _PROMPTFOO_TESTS.intersection(keys)
    return bool(both) and not (_MEASURES | _DATA).intersection(keys)


def names_promptfoo(path: Path) -> bool:
    """Return whether a file looks like a promptfoo configuration."""
    keys = _keys(path)
    return keys is not None and is_promptfoo(keys)


def import_hint(shown: str) -> str:
    """Return what to do with a promptfoo configuration."""
    return f"a promptfoo configuration: pytest --rag-import={shown} makes a scenario of it"


def is_scenario(path: Path) -> bool | None:
    """Return whether the file says what to measure and on what; None where it says only one.

    False for a file without such keys, and for one that cannot be read or is too large.
    """
    keys = _keys(path)
    if keys is None:
        return False
    found = (bool(keys & _MEASURES), bool(keys & _DATA))
    return True if all(found) else None if any(found) else False


def _keys(path: Path) -> set[str] | None:
    """Return the top keys of a file; of broken JSON, keys of all levels; None if it is not read."""
    from pytest_rageval.text.codec import MAX_FILE_BYTES, read_json

    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError):
        return None
    with suppress(ValueError):
        document = read_json(text, depth=None) if text.lstrip().startswith("{") else None
        if isinstance(document, dict):
            return {*document}
    in_braces = text.lstrip().startswith("{")
    return set((_ANY_KEY if in_braces else _TOP_KEY).findall(text))
