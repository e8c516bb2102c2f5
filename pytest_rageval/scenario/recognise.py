"""Whether a file whose name does not say so is a scenario: by its keys, without reading its values.

A file that is named on pytest's command line may be anything; one that is no scenario must be left
to other plugins.
"""

from __future__ import annotations

import re
from pathlib import Path

SUFFIXES = (".yaml", ".yml", ".json")

_MAX_BYTES = 64 * 2**20
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


def is_scenario(path: Path) -> bool | None:
    """Return whether the file says what to measure and on what; None where it says one of them.

    False for a file that cannot be read, and for one without such keys.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            return False
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError):
        return False
    in_braces = text.lstrip().startswith("{")
    keys = set((_ANY_KEY if in_braces else _TOP_KEY).findall(text))
    found = (bool(keys & _MEASURES), bool(keys & _DATA))
    return True if all(found) else None if any(found) else False
