"""Reads right answers: texts, lists, groups, objects by the role of their keys, and aliases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_rageval.datasets.cells import BadValueError, is_filled, is_missing, plain_text
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.column_names import name_key

_ROLES: Final = ("answer", "text", "value", "content")
"""The keys under which an object may have the right answer."""

_MARKS: Final = frozenset(
    {"correct", "right", "valid", "iscorrect", "isright", "isvalid", "isanswer", "istrue", "label"}
)
"""The keys that may say whether an alternative is a right answer: only a clear no counts."""

_TURNED: Final = frozenset(("wrong", "iswrong", "incorrect", "isincorrect", "invalid", "isinvalid"))
YES: Final = frozenset(
    {"true", "yes", "y", "t", "on", "ok", "ja", "wahr", "oui", "vrai", "si", "sí", "да", "correct"}
    | {"right", "valid", "是", "是的", "对", "正确", "√", "✓", "✔", "✅"}
)
_LETTERS: Final = frozenset({"n", "f", "off", "否", "不", "不是"})
"""What says no, but in ``label`` may be a label."""

NO: Final = _LETTERS | (
    {"false", "no", "nein", "falsch", "non", "faux", "não", "нет", "wrong", "incorrect"}
    | {"错", "错误", "不对", "不正确", "✗", "✘", "❌"}
)

_PLAIN: Final = frozenset({"true", "false", "1", "0", "1.0", "0.0"})

_WITHOUT_ANSWER: Final = frozenset({"provenance", "meta"})
"""The keys of KILT's outputs, of which some have no answer: they say where one is found."""

_SEVERAL: Final = (list, tuple)  # a union would be built anew for each value
_VISIBLE: Final = re.compile(r"[^\s\u200b-\u200d\u2060\ufeff]")
"""What a blank text lacks: blanks of any width, also none, are no answer."""


def read_references(
    value: Any,
) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...] | None]:
    """Return the flat references, and the groups if the value is a list of lists.

    A string is one reference, a blank one none: it would be found in every answer. None if no
    reference is left. Raises BadValueError for what is no text, and as ``references_in`` does.
    """
    if not isinstance(value, _SEVERAL):
        if isinstance(value, Mapping):
            return reference_group(value) or None, None
        text = "" if value is None else plain_text("references", value)
        return (None if _is_blank(text) else (text,)), None
    if any(isinstance(part, _SEVERAL) for part in value):
        groups = tuple(group for part in value if (group := reference_group(part)))
        flat = tuple(reference for group in groups for reference in group)
        return flat or None, groups or None
    return reference_group(value) or None, None


def reference_group(value: Any) -> tuple[str, ...]:
    """Return the references in a list, or in one item: a text or an object; no blank ones."""
    found: list[str] = []
    for part in value if isinstance(value, _SEVERAL) else [value]:
        if isinstance(part, str):  # most are: looked at first
            found.append(part)
        elif isinstance(part, Mapping):
            found += references_in(part)
        elif not is_missing(part):
            found.append(plain_text("a reference", part))
    return tuple(text for text in found if not _is_blank(text))


def references_in(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the references in an object; none where its answer is blank, or it is empty.

    Raises BadValueError for an object that is marked as wrong, that has no key for an answer, or
    that has several with different ones.

    >>> references_in({"text": ["14 euros"], "answer_start": [4]})
    ('14 euros',)
    """
    wrong = next((key for key in part if _holds_no(part, key)), "")
    if wrong:
        it_is = (
            "not each of its texts is a" if isinstance(part[wrong], list | tuple) else "it is no"
        )
        raise BadValueError(
            f"a reference is an object with {wrong!r}: {shorten(repr(part[wrong]))}, so {it_is} "
            f"right answer; name a column with the right ones alone, or, if {wrong!r} says "
            "something else, the path to the text, COLUMN.text, or of objects in a list "
            "COLUMN[*].text"
        )
    held = {key: part[key] for key in _ROLES if key in part}
    filled = {key: value for key, value in held.items() if not _is_blank(value)}
    if not held and part and not part.keys() <= _WITHOUT_ANSWER:
        found = ", ".join(map(repr, list(part)[:5]))
        raise BadValueError(
            f"a reference is an object without {', '.join(_ROLES)}, found {shorten(found)}; name "
            "the path to the text, for instance key_map: {references: COLUMN[*].name}"
        )
    if len({str(value) for value in filled.values()}) > 1:
        one, other, *_ = filled
        raise BadValueError(
            f"a reference is an object with {one!r} and {other!r}; name the one that is right: "
            f"key_map: {{references: COLUMN[*].{one}}} or {{references: COLUMN[*].{other}}}"
        )
    return reference_group(next(iter(filled.values()), None))


def with_aliases(
    flat: tuple[str, ...] | None, groups: tuple[tuple[str, ...], ...] | None, aliases: Any
) -> tuple[str, ...] | None:
    """Return references with further ones after them, none of them twice.

    Raises BadValueError for aliases of references that are groups.
    """
    more = reference_group(aliases)
    if more and groups is not None:
        raise BadValueError(
            "aliases: the references are groups, of which each has alternatives; write the aliases "
            "into the groups"
        )
    return tuple(dict.fromkeys((*(flat or ()), *more))) if more else flat


def _holds_no(part: Mapping[str, Any], key: str) -> bool:
    """Return whether a mark says no, or one of a list of clear marks, as long as the texts.

    A mark is clear if it is true or false, a word for that, 1 or 0; in ``label`` a boolean.
    """
    name, value = name_key(str(key)), part[key]
    if not isinstance(value, list | tuple):
        return _says_no(name, value)
    texts = [part[role] for role in _ROLES if isinstance(part.get(role), list | tuple)]
    given = [one for one in value if not is_missing(one)]
    said = {*map(_said, given)}
    if len(value) not in map(len, texts) or _may_be_texts(name, value, said, texts):
        return False
    clear = said <= _PLAIN | YES | NO
    if name == "label":
        clear = all(type(one) is bool for one in given)
    return clear and any(_says_no(name, one) for one in given)


def _may_be_texts(name: str, marks: Sequence[Any], said: set[str], texts: Sequence[Any]) -> bool:
    """Return whether marks may be answers: {"answer": ["No"], "incorrect": ["Yes"]}.

    What speaks for it: there is one, it is no true or false, and the texts are such words as well.
    """
    if name.startswith("is") or not any(isinstance(one, str) for one in marks):
        return False
    are_alike = any({*map(_said, several)} <= _PLAIN | YES | NO for several in texts)
    signs = (len(marks) == 1, not said <= _PLAIN, are_alike)
    return sum(signs) >= (2 if name in _TURNED else 3)


def _said(value: Any) -> str:
    return str(value).strip(" \t\n.。!！").lower()


def _says_no(mark: str, value: Any) -> bool:
    said = _said(value)
    if mark in _TURNED:
        return said in YES or said in ("1", "1.0")
    if mark == "label":
        return said in NO - _LETTERS or said in ("0", "0.0")
    return mark in _MARKS and (said in NO or _is_at_most_0(said))


def _is_at_most_0(text: str) -> bool:
    try:
        return float(text) <= 0
    except ValueError:
        return False


def _is_blank(value: Any) -> bool:
    return not (_VISIBLE.search(value) if isinstance(value, str) else is_filled(value))
