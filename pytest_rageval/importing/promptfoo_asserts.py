"""promptfoo's asserts as checks of a row, as criteria for a judge, or as metrics of a scenario.

Transforms of the output are not run. For an assert of a trimmed or lowered output,
``seen_through`` finds a check of the output as it is that says the same, if there is one.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.importing.files import Folder, is_code
from pytest_rageval.importing.promptfoo_scripts import Script, runs_script, script_of
from pytest_rageval.importing.templates import as_text, fill
from pytest_rageval.scenario.yaml.tree import parse_yaml
from pytest_rageval.text.json_value import change_texts
from pytest_rageval.text.row_checks import read_checks

METRICS: Final = {
    "similar": "semantic_similarity",
    "answer-relevance": "answer_relevancy",
    "context-faithfulness": "faithfulness",
    "context-recall": "context_recall",
}
"""The asserts that are metrics here, which measure every row."""

_DEFAULTS: Final = {"similar": 0.75, "answer-relevance": 0.0}
_GOLD: Final = ("similar", "context-recall")
_RUNS_CODE: Final = ("ruby", "webhook", "is-valid-openai-function-call")
_ONE: Final = ("contains", "icontains", "starts-with")
_MANY: Final = tuple(f"{i}contains-{all_of}" for i in ("", "i") for all_of in ("any", "all"))
_JSON: Final = ("is-json", "contains-json")
_CRITERIA: Final = ("llm-rubric", "model-graded-closedqa", "g-eval", "factuality")
_OF_ASCII: Final = frozenset({r"\d", r"\D", r"\w", r"\W", r"\b", r"\B"})
SPACES: Final = r"\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The white space of JavaScript, for a class of characters, also under ``(?a)``."""
_PART: Final = re.compile(r"\\.|\[\^?\]|\[\^?|\(\?<(?=[A-Za-z_])|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_GROUP_OF_BOTH: Final = re.compile(r"\(\?(?:[:=!]|<[=!]|[is]*(?:-[is]+)?:)")
_PART_OF_CLASS: Final = re.compile(r"\\.|.", re.DOTALL)
_LETTERS: Final = {rf"\{letter}": letter for letter in "AZaU"}
"""Letters that a backslash makes special in Python alone."""
_SPELLED: Final = {
    **_LETTERS,
    "$": r"\Z",
    "(?<": "(?P<",
    "{": r"\{",
    "[]": "(?!)",
    "[^]": "(?s:.)",
}
_IN_CLASS: Final = {**_LETTERS, **{sign: rf"\{sign}" for sign in "[&|~"}}
_TAKEN_KEYS: Final = frozenset(
    {"type", "value", "threshold", "weight", "metric", "description", "provider"}
)
_LEFT_OVER: Final = {
    "threshold": "a check holds or does not, without a score between",
    "weight": "all asserts of a test have to hold",
    "provider": "one model judges, or embeds, for all",
    "metric": "the name of an assert is not kept",
}
_FACTUALITY: Final = (
    "What the answer says agrees with this reference, and contradicts nothing of it: "
)


@dataclass(frozen=True, slots=True)
class Measured:
    """An assert that is a metric here: its type, the least score, and what the row expects."""

    kind: str
    threshold: float
    gold: str | None = None


Taken = dict[str, Any] | list[str] | Measured | Script
"""A check of the row, criteria for a judge, a metric, or a function to write."""


def take(assertion: Mapping[str, Any], variables: Mapping[str, Any], folder: Folder) -> Taken:
    """Return what an assert is here, its value filled in.

    Raises NotTakenError with the reason, and ScenarioError for a JSON Schema that is no YAML.
    """
    kind = assertion.get("type")
    if not isinstance(kind, str):
        raise NotTakenError("has no type")
    if assertion.get("weight") == 0:
        raise NotTakenError("with weight 0 it decides nothing")
    if runs_script(kind):
        return script_of(kind, assertion, folder)
    _check_followed(kind, assertion)
    if kind in METRICS:
        return _measured(kind, assertion, variables, folder)
    if kind in _CRITERIA:
        return _criteria(kind, _value(assertion.get("value"), variables, folder))
    return _checked(kind, assertion, variables, folder)


def _check_followed(kind: str, assertion: Mapping[str, Any]) -> None:
    """Raise NotTakenError for an assert that runs code, or has keys that change what it asks."""
    if kind.removeprefix("not-") in _RUNS_CODE or _is_code(assertion.get("value")):
        raise NotTakenError("runs code; write a metric of your own")
    others = sorted(map(str, assertion.keys() - _TAKEN_KEYS))
    if others:
        raise NotTakenError(f"its {', '.join(others)} cannot be followed")


def role_of(kind: str) -> str | None:
    """Return which model decides an assert, "text" or "embedding"; None if none does."""
    if kind == "similar":
        return "embedding"
    return "text" if kind in METRICS or kind in _CRITERIA else None


def left_over(assertion: Mapping[str, Any], taken: Taken) -> list[tuple[str, str]]:
    """Return the keys of an assert that its counterpart does without, and why."""
    used = {"threshold"} if isinstance(taken, Measured) else set()
    if isinstance(taken, Script):
        used = {"threshold", "provider", "metric"}
    if isinstance(taken, dict):
        used = {"weight"} | ({"threshold"} if "max_latency_s" in taken else set())
    found = [
        (key, why)
        for key, why in _LEFT_OVER.items()
        if key in assertion and key not in used and (key, assertion[key]) != ("weight", 1)
    ]
    if str(assertion["type"]).endswith("regex"):
        parts = list(_parts_of(str(assertion.get("value"))))
        why = "JavaScript refuses this; here it is read as Python does"
        found += [(shown, why) for shown in itertools.islice(_refused(parts), 1)]
    return found


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and (
        value.startswith("package:") or (value.startswith("file://") and is_code(value))
    )


def _value(value: Any, variables: Mapping[str, Any], folder: Folder) -> Any:
    """Return the value of an assert with files read and variables filled in."""

    def filled(text: str) -> Any:
        found = fill(text, variables)
        return folder.value(found) if text.startswith("file://") else found

    return change_texts(value, filled)


def _measured(
    kind: str, assertion: Mapping[str, Any], variables: Mapping[str, Any], folder: Folder
) -> Measured:
    least = _number(assertion, "threshold", _DEFAULTS.get(kind, 0.0))
    if least <= 0.0:
        raise NotTakenError("without a threshold it decides nothing")
    if not least <= 1.0:  # NaN, too
        raise NotTakenError(f"no score reaches its threshold {least:g}; write one of at most 1")
    if kind not in _GOLD:
        return Measured(kind, least)
    gold = _value(assertion.get("value"), variables, folder)
    if not isinstance(gold, str) or not gold:
        raise NotTakenError("its value is no single text")
    return Measured(kind, least, gold)


def _criteria(kind: str, value: Any) -> list[str]:
    parts = value if isinstance(value, list) and kind == "g-eval" else [value]
    if not parts or not all(isinstance(part, str) and part.strip() for part in parts):
        raise NotTakenError("its value is no text")
    return [_FACTUALITY + part if kind == "factuality" else part for part in parts]


def _checked(
    kind: str, assertion: Mapping[str, Any], variables: Mapping[str, Any], folder: Folder
) -> dict[str, Any]:
    base = kind.removeprefix("not-")
    if kind == "latency":
        if not 0.0 < (most := _number(assertion, "threshold")) < 1e12:
            raise NotTakenError(f"its threshold: expected milliseconds above 0, found {most:g}")
        check: dict[str, Any] = {"max_latency_s": most / 1000}
    else:
        value = _value(assertion.get("value"), variables, folder)
        check = {kind: _check_value(base, value)}
    if "weight" in assertion:
        check["weight"] = _number(assertion, "weight")
    try:
        read_checks("value", [check])
    except ValueError as error:
        raise NotTakenError(error) from None
    return check


def _check_value(base: str, value: Any) -> Any:
    if base in _JSON:
        return _schema(value)
    if base == "regex":
        return _pattern(value)
    if value is None and base in ("equals", *_ONE, *_MANY):
        raise NotTakenError("its value is missing")
    if base in _MANY:
        parts = value if isinstance(value, list) else _comma_separated(value)
        return [as_text(part) for part in parts]
    if base == "equals":
        return value if isinstance(value, list | Mapping) else as_text(value)
    if base in _ONE:
        if isinstance(value, list | Mapping) or value in (None, ""):
            raise NotTakenError(f"its value is no text: {shorten(repr(value))}")
        return as_text(value)
    raise NotTakenError("has no counterpart here")


def _comma_separated(value: Any) -> list[str]:
    parts = (quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^,"]+)', str(value)))
    return [part.strip() for part in parts if part.strip()]


def _schema(value: Any) -> Any:
    if value in (None, "", True):
        return True
    if isinstance(value, str):
        value = parse_yaml(value, "").data
    if not isinstance(value, Mapping):
        raise NotTakenError("its value is no JSON Schema")
    return json.loads(json.dumps(value))


def _pattern(value: Any) -> str:
    """Return a pattern of JavaScript for Python, with the same meaning.

    In JavaScript, ``$`` is the very end, a named group has no P, letters and digits are those of
    ASCII, white space is that of Unicode, and some of what is special in Python is plain text.
    """
    if not isinstance(value, str) or not value:
        raise NotTakenError("its value is no text")
    parts = list(_parts_of(value))
    if any(re.fullmatch(r"\\[1-9k]", part) for part, _ in parts):
        raise NotTakenError("it refers back to a group, which Python does otherwise")
    is_ascii = not _OF_ASCII.isdisjoint(part for part, _ in parts)
    found = ["(?a)"] if is_ascii else []
    for part, in_class in parts:
        if is_ascii and part in (r"\s", r"\S"):
            found.append(_space(part, in_class=in_class))
        else:
            found.append((_IN_CLASS if in_class else _SPELLED).get(part, part))
    return "".join(found)


def _parts_of(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a pattern, and whether each is in a class of characters."""
    in_class, at = False, 0
    while at < len(pattern):
        found = (_PART_OF_CLASS if in_class else _PART).match(pattern, at)
        assert found is not None  # any character is a part
        yield found[0], in_class
        in_class = found[0] != "]" if in_class else found[0] in ("[", "[^")
        at = found.end()


def _refused(parts: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield what Python knows in a pattern and JavaScript refuses: ``(?i)``, ``(?>``, ``a++``."""
    texts = ["[" if in_class else part for part, in_class in parts]
    for at, (before, part) in enumerate(itertools.pairwise(texts)):
        start = "".join(texts[at : at + 8])
        if (before, part) == ("(", "?") and not _GROUP_OF_BOTH.match(start):
            yield start
        if part == "+" and re.fullmatch(r"[*+?]|\{.+", before):
            yield f"{before}+"


def _space(part: str, *, in_class: bool) -> str:
    if in_class:
        return SPACES if part == r"\s" else part
    return f"[{'' if part == chr(92) + 's' else '^'}{SPACES}]"


def _number(assertion: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = assertion.get(key, default)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        found = shorten(repr(value))
        raise NotTakenError(f"its {key}: expected a number, found {found}") from None


_TRIM, _LOWER = "trim", "toLowerCase"
_CALLS: Final = re.compile(
    rf"\s*(?:return\s+)?output(?P<calls>(?:\s*\??\.(?:{_TRIM}|{_LOWER})\(\))+)\s*;?\s*"
)
_BLANKS: Final = r"\s*"
_SOLID: Final = r"(?:[^\s\\.^$\[\](){}|*+?]|\\[dw.+*?()\[\]{}|^$/-]|\[(?:[^\s\\\]\[^]|\\[dw.-])+\])"
"""A part of a pattern that no white space can match."""
_ANY: Final = rf"(?:{_SOLID}|[ .*+?{{}}]|\\[sb])"
_GROUP: Final = r"\((?:(?!\?)|\?:|\?P<\w+>)"
# Patterns that find in a text what they find in the trimmed one: white space can match none of
# their parts, or neither the first nor the last, and both of these have to be there.
_WITHIN: Final = re.compile(
    r"(?P<flags>(?:\(\?a\))?)(?P<start>\^?)"
    rf"(?P<core>(?:{_SOLID}|{_GROUP}|[*+?{{}})|]|\\b)*|{_SOLID}(?![*?{{]){_ANY}*{_SOLID}\+?|{_SOLID}\+?)"
    r"(?P<end>(?:\\Z)?)"
)


def seen_through(taken: Taken, transform: Any) -> Taken:
    """Return an assert of the output that says what ``taken`` says of the transformed output.

    Raises NotTakenError where ``transform`` would have to be run.
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
    """Return an assert of a trimmed or lowered text as one of the text itself, None without one.

    To a judge or a metric, a trimmed text is the same text.
    """
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
    """Return whether the transform would leave a text that is looked for as it is.

    ``is_same_case``: the check ignores case.
    """
    is_trimmed = re.fullmatch(rf"[{SPACES}].*|.*[{SPACES}]", text, re.DOTALL) is None
    is_lowered = is_same_case or text == text.lower()
    return (is_trimmed or _TRIM not in calls) and (is_lowered or _LOWER not in calls)


def _pattern_of(text: str, calls: Collection[str], *, is_whole: bool) -> str:
    """Return a pattern of texts that, transformed, start with ``text`` (``is_whole``: equal it)."""
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
