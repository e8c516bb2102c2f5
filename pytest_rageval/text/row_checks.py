"""What a row asks of its answer: reading the checks, and whether an answer passes one.

Texts are compared exactly (``icontains`` and its like ignore case), in Unicode's form NFC. Where a
text is to be in an answer or at its beginning, quotes, dashes, blanks and full-width forms are as
they are typed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.text.codec import LimitError, read_json, read_json_at, refuse_constant
from pytest_rageval.text.json_shape import Search, check_pattern, check_schema, json_key, misfit

KINDS: Final = (
    *("contains", "contains-any", "contains-all"),
    *("icontains", "icontains-any", "icontains-all"),
    *("starts-with", "equals", "regex", "is-json", "contains-json", "max_latency_s"),
)
"""The checks of ``answer_checks``; all but the last may begin with ``not-``."""

_LATENCY: Final = KINDS[-1]
_LEAST_PART: Final = 1e-6
"""The least part of a row's weight: below the tolerance of bounds a failed check would pass."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a row asks of its answer; ``is_not`` turns it round.

    ``value`` is a tuple of texts for kinds of ``contains``; ``weight`` is its part in the score.
    """

    kind: str
    value: Any
    is_not: bool = False
    weight: float = 1.0

    def __str__(self) -> str:
        kind = f"not-{self.kind}" if self.is_not else self.kind
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return kind if value is True else f"{kind} {shorten(repr(value), 100)}"

    @property
    def is_of_nothing(self) -> bool:
        """Whether it asks for an empty answer: ``{"equals": ""}``."""
        return self.kind == "equals" and self.value == "" and not self.is_not

    def passes(self, answer: str, search: Search, latency_s: float | None = None) -> bool | None:
        """Return whether the answer passes; None where the time that it took is not known.

        Raises LimitError where ``not-contains-json`` cannot look at all of it.
        """
        if self.kind == _LATENCY:
            return None if latency_s is None else bool(latency_s <= self.value)
        return self._holds(_nfc(answer), search) != self.is_not

    def _holds(self, answer: str, search: Search) -> bool:
        has = _has_hidden if self.is_not else _has
        if "contains" in self.kind and self.kind != "contains-json":
            return self._is_in(answer)
        if self.kind == "regex":
            return search(self.value, answer, False)
        if self.kind == "starts-with":
            return has(answer, self.value, at_start=True)
        if self.kind == "equals":
            is_text = self.is_not and isinstance(self.value, str)
            seen = _seen(answer, self.value) if is_text else ()
            return _equals(answer, self.value) or (bool(seen) and _equals(*seen))
        is_whole = self.kind == "is-json"
        values = [_json(answer)] if is_whole else _objects(answer, must_end=self.is_not)
        return any(
            value is not _NO_JSON and misfit(value, self.value, search) is None for value in values
        )

    def misfit(self, answer: str, search: Search) -> str:
        """Return why an answer that fails ``is-json`` does, "" for other checks."""
        if self.kind != "is-json" or self.is_not:
            return ""
        value = _json(_nfc(answer))
        why = "it is no JSON" if value is _NO_JSON else misfit(value, self.value, search)
        return shorten(why or "", 200)

    def _is_in(self, answer: str) -> bool:
        texts: Iterable[str] = self.value
        if self.kind.startswith("i"):
            answer, texts = answer.lower(), [text.lower() for text in texts]
        has = _has_hidden if self.is_not else _has
        found = (has(answer, text) for text in texts)
        return any(found) if self.kind.endswith("-any") else all(found)


def included(
    texts: Sequence[str | Sequence[str]], *, is_not: bool, ignore_case: bool
) -> list[Check]:
    """Return the checks of ``must_include`` or, with ``is_not``, of ``must_not_include``."""
    kind = "icontains" if ignore_case else "contains"
    return [
        Check(kind, (text,), is_not)
        if isinstance(text, str)
        else Check(f"{kind}-any", tuple(text), is_not)
        for text in texts
    ]


def read_texts(field: str, value: Any) -> tuple[str | tuple[str, ...], ...] | None:
    """Return the texts of a row, None where there are none; a list among them is of alternatives.

    A number is its text. Raises ValueError for another value, for a list of no alternatives, for a
    blank text, and for an empty one in a list: nearly every answer holds these.
    """
    return tuple(_one_or_more(field, part) for part in _parts(value)) or None


def _one_or_more(field: str, part: Any) -> str | tuple[str, ...]:
    if not isinstance(part, list | tuple):
        return _words(field, part)
    if not part:
        raise ValueError(f"{field}: a list of alternatives is empty")
    return tuple(_words(field, text) for text in part)


def read_criteria(field: str, value: Any) -> tuple[str, ...] | None:
    """Return the criteria of a row, None where there are none; ValueError for blanks or no text."""
    return tuple(_words(field, part) for part in _parts(value)) or None


def read_patterns(field: str, value: Any) -> tuple[str, ...] | None:
    """Return the patterns of a row, None where there are none; raises ValueError for a bad one."""
    return tuple(_pattern(field, part) for part in _parts(value)) or None


def read_checks(field: str, value: Any) -> tuple[Mapping[str, Any], ...] | None:
    """Return the checks of a row as they are written, None where there are none.

    Raises ValueError for what ``checks_of`` cannot read, and for a weight that counts for nothing
    beside the others.
    """
    parts = _parts(value)
    weights = [_check(field, part).weight for part in parts]
    if weights and min(weights) < _LEAST_PART * sum(weights):
        raise ValueError(
            f"{field}: a weight of {min(weights):g} of {sum(weights):g} counts for nothing; leave "
            "out the check, or give it more"
        )
    return tuple(parts) or None


def _parts(value: Any) -> list[Any]:
    """Return the items of a list, or the one value; null, as Parquet has it, and "" are none."""
    if isinstance(value, list | tuple):
        return [part for part in value if part is not None]
    return [] if value is None or value == "" else [value]


def checks_of(written: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Return the checks of ``answer_checks``, for instance ``{"not-contains": "sorry"}``.

    ``weight`` may stand beside the kind. Raises ValueError for what is no check.
    """
    return [_check("answer_checks", part) for part in written]


def _check(field: str, part: Any) -> Check:
    if not isinstance(part, Mapping):
        raise ValueError(
            f"{field}: expected a list of checks such as "
            f'{{"contains": "30 days"}}, found {shorten(repr(part))}'
        )
    kinds = [str(key) for key, asked in part.items() if key != "weight" and asked is not None]
    if len(kinds) != 1:
        raise ValueError(f"{field}: a check has one kind, found {shorten(repr(kinds))}")
    written = kinds[0]
    kind = written if written == _LATENCY else written.replace("_", "-")
    is_not = kind.startswith("not-")
    kind = kind.removeprefix("not-")
    if kind not in KINDS or (is_not and kind == _LATENCY):
        raise ValueError(f"{field}: {unknown_name('check', written, KINDS)}")
    value = _READ[kind](f"{field}: {written}", part[written])
    return Check(kind, value, is_not, _weight(field, part.get("weight")))


def _weight(field: str, weight: Any) -> float:
    if weight is None:
        return 1.0
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1e9:
        raise ValueError(
            f"{field}: expected a weight above 0, found {shorten(repr(weight))}; "
            "leave out a check that does not count"
        )
    return float(weight)


def _texts(place: str, value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list | tuple)
    if is_list and not place.endswith(("-any", "-all", "_any", "_all")):
        raise ValueError(f"{place}: expected one text, found a list; '-any' and '-all' take one")
    if is_list and not value:
        raise ValueError(f"{place}: the list is empty")
    return tuple(_text(place, part) for part in value) if is_list else (_text(place, value),)


def _text(place: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        raise ValueError(f"{place}: expected a text in quotes, found {shorten(repr(value))}")
    if not value:
        raise ValueError(f"{place}: an empty text is in every answer")
    return _nfc(value)


def _words(place: str, value: Any) -> str:
    text = _text(place, value)
    if not text.strip():
        raise ValueError(f"{place}: blanks alone are in nearly every answer")
    return text


def _pattern(place: str, value: Any) -> str:
    text = _text(place, value)
    check_pattern(place, text)
    return text


def _expected(place: str, value: Any) -> Any:
    """Return what the answer is to equal: a text, or a list or object in JSON."""
    return value if isinstance(value, list | dict) or value == "" else _text(place, value)


def _shape(place: str, value: Any) -> Any:
    if value is True:
        return True
    if not isinstance(value, Mapping):
        found = shorten(repr(value))
        raise ValueError(f"{place}: expected true or a JSON Schema, found {found}")
    check_schema(place, value)
    return value


def _seconds(place: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise ValueError(f"{place}: expected a number of seconds, found {shorten(repr(value))}")
    return float(value)


_READ: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    **dict.fromkeys(KINDS, _texts),
    "starts-with": _text,
    "equals": _expected,
    "regex": _pattern,
    "is-json": _shape,
    "contains-json": _shape,
    _LATENCY: _seconds,
}


def says_nothing(answer: str) -> bool:
    """Return whether an answer has nothing to be seen."""
    return not _UNSEEN.sub("", answer).strip()


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


_TYPED: Final = {
    **dict.fromkeys("‘’‚‛´ʼ′", "'"),
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‐‑‒–—―−﹣", "-"),
    **{chr(blank): " " for blank in (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)},
    **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""),  # not seen: soft hyphens and the like
    **{chr(sign + 0xFEE0): chr(sign) for sign in range(0x21, 0x7F)},
}

_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
"""Signs without a width; some have a meaning: they join emoji, and divide Persian words."""

_SIGNS: Final = re.compile(f"[{''.join(map(re.escape, _TYPED))}]")


@lru_cache(maxsize=256)
def _typed(text: str, kept: frozenset[str] = frozenset()) -> str:
    # Few kinds of signs are there: to replace these costs a tenth of looking up each character.
    for sign in set(_SIGNS.findall(text)) - kept:
        text = text.replace(sign, _TYPED[sign])
    return text


_WIDE: Final = {sign: chr(ord(sign) + 0xFEE0) for sign in "!,.:;?"}


def _has_hidden(answer: str, text: str, *, at_start: bool = False) -> bool:
    """Return whether an answer has a text, also with signs that nobody sees between the letters."""
    seen = _seen(answer, text)
    return _has(answer, text, at_start=at_start) or (bool(seen) and _has(*seen, at_start=at_start))


def _seen(answer: str, text: str) -> tuple[str, str] | tuple[()]:
    """Return both without signs that nobody sees, () where the text is of these alone."""
    seen = _UNSEEN.sub("", text)
    return (_UNSEEN.sub("", answer), seen) if seen.strip() else ()


def _has(answer: str, text: str, *, at_start: bool = False) -> bool:
    """Return whether an answer has a text, with the signs of a keyboard in both.

    A text of signs alone asks for these. One that begins or ends with a mark asks for its width,
    and with a dash, for no letter or digit before or behind it: in a range there is no minus.

    >>> _has("I don’t.", "don't"), _has("So—no.", "-"), _has("It is −5.", "-5"), _has("3–5", "-5")
    (True, False, True, False)
    """
    if answer.startswith(text) if at_start else text in answer:
        return True
    if (answer.isascii() and text.isascii()) or not any(map(str.isalnum, text)):
        return False
    ends = (_TYPED.get(sign, sign) for sign in (text[0], text[-1]))
    kept = frozenset(_WIDE[sign] for sign in ends if sign in _WIDE)
    whole, answer, text = answer, _typed(answer, kept), _typed(text, kept)
    before, behind = _NO_WORD if text[0] == "-" else "", _NO_MORE if text[-1] == "-" else ""
    if not before and not behind:
        return answer.startswith(text) if at_start else text in answer
    if not (behind or at_start) and any(f" {sign}{text[1:]}" in whole for sign in "-\u2212"):
        return True  # behind a figure and a blank, only other dashes may be of a range
    found = re.compile(f"{before}{re.escape(text)}{behind}")
    return bool(found.match(answer) if at_start else found.search(answer))


_NO_WORD: Final = "(?<![0-9A-Za-z%°℃€$£¥)])(?<![0-9%°℃€$£¥] )"
_NO_MORE: Final = "(?![0-9A-Za-z])"


_NO_JSON: Final = object()
_MOST_OBJECTS: Final = 200
"""How many opening braces are tried: each failure may read to the end of the answer."""


_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)


def _json(text: str) -> Any:
    """Return the value that the whole text is in strict JSON, ``_NO_JSON`` where it is none."""
    try:
        return read_json(text, parse_constant=refuse_constant)
    except ValueError:
        return _NO_JSON


def _objects(text: str, *, must_end: bool) -> Iterable[Any]:
    """Yield the outermost objects of a text that are strict JSON.

    Not all, if there are too many braces or one is too deep: LimitError if they ``must_end``.
    """
    at = failures = 0
    while (start := text.find("{", at)) >= 0:
        try:
            if failures == _MOST_OBJECTS:
                raise LimitError(f"only {_MOST_OBJECTS} opening braces without JSON are tried")
            found, at = read_json_at(_DECODER, text, start)
        except LimitError as error:  # a part of it is none of the outermost
            if must_end:
                raise LimitError(f"not-contains-json: not known: {error}") from None
            return
        except ValueError:
            at, failures = start + 1, failures + 1
        else:
            yield found


def _equals(answer: str, expected: Any) -> bool:
    if isinstance(expected, str):
        return answer == expected
    found = _json(answer)
    return found is not _NO_JSON and json_key(found) == json_key(expected)


CHECK_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "must_include": read_texts,
    "must_not_include": read_texts,
    "must_match": read_patterns,
    "answer_checks": read_checks,
    "must_satisfy": read_criteria,
}
"""What reads each field by which a row says what its answer has to be like."""


_SEPARATOR = re.compile(r"[;|\n；，、،]|,(?!(?<=\d,)\d{3}(?!\d))")
"""What may separate texts in one cell: read as one text, must_not_include would always hold.

No comma in a number: ``1,500``.
"""
_COMMAS = frozenset(",，、،")
"""Marks that must_include may have in one text, ``Paris, France``: if it is not found, that is red.
"""


def separator_in(name: str, text: str) -> str:
    """Return the mark at which one text of this field may be several, "" without one.

    >>> [separator_in("must_not_include", text) for text in ("sorry, cannot", "$1,500")]
    [',', '']
    >>> separator_in("must_include", "Paris, France")
    ''
    """
    found = _SEPARATOR.findall(text)
    return next((mark for mark in found if name != "must_include" or mark not in _COMMAS), "")


def joined_at(text: str) -> str:
    """Return the mark at which a text of must_not_include seems to be several, "" without one.

    All parts are a few words. Commas are in sentences and places, too, and other signs in code.

    >>> [joined_at(text) for text in ("sorry; cannot", "sorry, but", "text/html; charset=utf-8")]
    [';', '', '']
    """
    return found[1] if (found := _LISTED.fullmatch(text.strip())) else ""


_LISTED: Final = re.compile(r"[\w'’ -]{1,30}(?:([;|\n；])[\w'’ -]{1,30})+")
