"""Transforms of an output that need not be run: a check may not see them, or say them itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.importing.promptfoo_asserts import SPACES, Measured, Taken
from pytest_rageval.importing.promptfoo_scripts import Script

_TRIM, _LOWER = "trim", "toLowerCase"
_CALLS: Final = re.compile(
    rf"\s*(?:return\s+)?output(?P<calls>(?:\s*\??\.(?:{_TRIM}|{_LOWER})\(\))+)\s*;?\s*"
)
_BLANKS: Final = r"\s*"
_SOLID: Final = r"(?:[^\s\\.^$\[\](){}|*+?]|\\[dw.+*?()\[\]{}|^$/-]|\[(?:[^\s\\\]\[^]|\\[dw.-])+\])"
"""A part of a pattern that no white space can match."""
_ANY: Final = rf"(?:{_SOLID}|[ .*+?{{}}]|\\[sb])"
_GROUP: Final = r"\((?:(?!\?)|\?:|\?P<\w+>)"
# What a pattern finds lies within the trimmed text, if no white space can match any of its parts,
# or neither its first nor its last one, which have to be there.
_WITHIN: Final = re.compile(
    r"(?P<flags>(?:\(\?a\))?)(?P<start>\^?)"
    rf"(?P<core>(?:{_SOLID}|{_GROUP}|[*+?{{}})|]|\\b)*|{_SOLID}(?![*?{{]){_ANY}*{_SOLID}\+?|{_SOLID}\+?)"
    r"(?P<end>(?:\\Z)?)"
)


def seen_through(taken: Taken, transform: Any) -> Taken:
    """Return what an assert is of the output as it is, before ``transform``.

    Raises NotTakenError where the transform would have to be run.
    """
    if isinstance(taken, Script):
        return taken.of_transformed(str(transform))
    if isinstance(taken, dict) and "max_latency_s" in taken:
        return taken
    found = _CALLS.fullmatch(transform) if isinstance(transform, str) else None
    changes = (
        f"its transform {shorten(repr(transform), 60)} changes the answer that it is about; "
        "let the target give the transformed answer, and import the file without it"
    )
    if found is None:
        raise NotTakenError(changes)
    calls = set(re.findall(r"\w+", found["calls"]))
    changed = _changed(taken, calls)
    if changed is None:
        raise NotTakenError(changes)
    return changed


def _changed(taken: Taken, calls: Collection[str]) -> Taken | None:
    """Return an assert of a trimmed or lowered text as one of the text before, None for none."""
    if isinstance(taken, list | Measured | Script):
        return None if _LOWER in calls else taken
    (kind,) = taken.keys() - {"weight"}
    check = _changed_check(kind, taken[kind], calls)
    if check is None:
        return None
    return {**check, **{key: value for key, value in taken.items() if key == "weight"}}


def _changed_check(kind: str, value: Any, calls: Collection[str]) -> dict[str, Any] | None:
    base = kind.removeprefix("not-")
    sign = kind.removesuffix(base)
    lowers = _LOWER in calls
    if base in ("is-json", "contains-json") or (base == "equals" and not isinstance(value, str)):
        return None if lowers else {kind: value}
    if base == "regex":
        pattern = None if lowers else _trimmed_pattern(value)
        return None if pattern is None else {kind: pattern}
    texts = value if isinstance(value, list) else [value]
    is_same_case = base.startswith("icontains")
    if not all(_stays(text, calls, is_same_case=is_same_case) for text in texts):
        return None
    if base in ("equals", "starts-with"):
        return {f"{sign}regex": _pattern_of(value, calls, is_whole=base == "equals")}
    return {f"{sign}i{base}" if lowers and not is_same_case else kind: value}


def _stays(text: str, calls: Collection[str], *, is_same_case: bool) -> bool:
    """Return whether a text that is looked for is itself as the transform leaves texts."""
    is_trimmed = re.fullmatch(rf"[{SPACES}].*|.*[{SPACES}]", text, re.DOTALL) is None
    is_lowered = is_same_case or text == text.lower()
    return (is_trimmed or _TRIM not in calls) and (is_lowered or _LOWER not in calls)


def _pattern_of(text: str, calls: Collection[str], *, is_whole: bool) -> str:
    """Return a pattern that the text before the transform matches."""
    blanks = _BLANKS if _TRIM in calls else ""
    end = rf"{blanks}\Z" if is_whole else ""
    case = "(?i)" if _LOWER in calls else ""
    return rf"{case}\A{blanks}{re.escape(unicodedata.normalize('NFC', text))}{end}"


def _trimmed_pattern(pattern: str) -> str | None:
    found = _WITHIN.fullmatch(pattern)
    if found is None or not pattern.isprintable():
        return None
    is_held = found["start"] or found["end"]
    if is_held and "|" in found["core"]:
        return None
    blanks = f"[{SPACES}]*" if found["flags"] else _BLANKS
    start = f"^{blanks}" if found["start"] else ""
    end = rf"{blanks}\Z" if found["end"] else ""
    return f"{found['flags']}{start}{found['core']}{end}"
