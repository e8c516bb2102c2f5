"""Takes thoughts and Markdown from a judge's reply, and finds its JSON, also almost-JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_rageval.text.codec import (
    MAX_DEPTH,
    TOO_DEEP,
    TOO_DEEP_TO_READ,
    LimitError,
    read_json,
    read_json_at,
)

BEGUN = r"\{\s*[\"'“](?:[\w .-]{0,60}(?:\Z|[\"'”]\s*(?:[:：]|\Z))|\Z)"
"""JSON that begins: a quoted key, or the beginning of one at the end of a text."""

_THOUGHT = r"(?i)(?<![\"'“「`])[<◁]\s*(/?)\s*(?:think|thinking|thoughts?|reasoning)\s*[>▷]"
# What models mark their thoughts with in place of <think>: Magistral, gpt-oss and others.
_OTHER_THOUGHTS = (
    (r"\[(/?)THINK\]|<(/?)seed:think>", r"<\1\2think>"),
    (r"<\|(?:begin_of_thought|START_THINKING)\|>", "<think>"),
    (r"<\|(?:end_of_thought|END_THINKING)\|>", "</think>"),
    (r"(?s)\Aanalysis(?=[A-Z\"']).*?assistantfinal", "<think></think>"),  # without its marks
    (r"<\|channel\|>\s*(?:analysis|commentary)[^<\n]{0,80}<\|message\|>", "<think>"),
    (r"<\|channel\|>\s*final[^<\n]{0,80}<\|message\|>", "</think>"),
)
# At the beginning of a line, or behind another tag: within a sentence it is told of.
_TAG = r"(?:(?m:^[ \t]*)|(?<=>)\s*|(?=</))<(/?)([A-Za-z][\w-]{0,30})(?:\s[^<>\n]{0,100})?/?>"
_BULLET = r"(?m)^[ \t]*(?:[-+#•·]+[ \t]+)+"


class UnreadableReplyError(ValueError):
    """A reply does not contain what was asked for; the text says what was found instead."""


def strip_thinking(text: str) -> str:
    """Return ``text`` without ``<think>`` blocks, even if one end of a block is missing.

    What an object of JSON holds is no thought: its texts may quote such a tag.
    """
    for mark, plain in _OTHER_THOUGHTS:
        text = re.sub(mark, plain, text)
    kept: list[str] = []
    is_thought, at = False, 0
    objects = _complete(text)
    for tag in re.finditer(_THOUGHT, text):
        if any(found.start < tag.start() < found.end for found in objects):
            continue
        if not is_thought:
            kept.append(text[at : tag.start()])
            if tag[1]:
                # Some servers drop the beginning of a block: all text so far was thought.
                kept.clear()
        is_thought, at = not tag[1], tag.end()
    if not is_thought:
        kept.append(text[at:])
    return "".join(kept).strip()


def to_lines(reply: str) -> str:
    """Return a reply as plain lines in lower case, so that patterns can read it.

    Full-width characters become plain ones (NFKC), ``<score>4</score>`` and ``【评分】4`` lines of
    ``key: value``, boxed answers ``box: ...``; Markdown and what it strikes out are removed.
    """
    text = plain_characters(strip_thinking(reply))
    if "\n" not in text:
        text = text.replace("\\n", "\n")
    text = re.sub(r"~~[^~\n]+~~", " ", text)  # struck out
    text = re.sub(r"\\(?:text|textbf|mathbf|mathrm)\{([^{}\n]*)\}", r"\1", text)
    text = re.sub(_BOX, _boxed, text)
    text = re.sub(
        r"(?i)(?:\A|(?<=[.!?。)\n]))\s*\[result\]\s*:?\s*\(?(?=-?\d)", "\nfinal score: ", text
    )  # Prometheus, behind its feedback
    text = re.sub(r"(?<![^\s。])【([^】\n]{1,12})】[ \t]*:?[ \t]*(?=[^\s:])", r"\n\1: ", text)
    text = re.sub(r"<answer>((?:(?!</?answer>).)*)</answer>\s*\Z", r"\n\1", text, flags=re.DOTALL)
    text = re.sub(_TAG, lambda tag: "\n" if tag[1] else f"\n{tag[2]}: ", text)
    text = re.sub(r"```\w*", "\n", text)
    text = re.sub(r"[*_~`\u200b-\u200d\ufeff]+", _blank, text)
    text = re.sub(r"(?m)^[ \t]*\|(.*)\|[ \t]*$", r"\1", text).replace("|", ":")
    text = re.sub(_BULLET, "", text).lower()
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def plain_characters(text: str) -> str:
    """Return a text with plain characters for full-width ones, and without numbers of notes."""
    text = re.sub("[¹²³⁰-⁹]", " ", text)
    text = re.sub("[\u2010-\u2012\u2015\u2212]", "-", text)  # hyphens and signs of minus
    return unicodedata.normalize("NFKC", text).replace("〜", "~")


_BOX = (
    r"\$*\\boxed\{([^{}\n]*)\}\$*|<\|begin_of_box\|>([^<>\n]*)<\|end_of_box\|>"
    # Within a sentence it is a citation.
    r"|(?m:(?<![^\s:：=*])\[\[([^\[\]\n]*)\]\](?=[\s.。*]*$))"
)


def _boxed(found: re.Match[str]) -> str:
    return f"\nbox: {found[1] or found[2] or found[3] or ''}\n"


def _blank(found: re.Match[str]) -> str:
    """Return the replacement of a Markdown mark: a space in ``final_score``, ``~`` for a range."""
    return " " if "_" in found[0] else "~" if found[0] == "~" else ""


def leaves_of(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys that lead to each value that is not nested, and the value as one line."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(str(key).split()))
            yield from leaves_of(part, (*path, spaced))
    elif isinstance(value, list):
        for part in value:
            yield from leaves_of(part, path)
    elif isinstance(value, str):
        # One line without tags, so that all of it is the value of this label; <5 is no 5.
        bound = re.sub(r"<\s*=?\s*(?=\d[^>]*$)", "below ", value)
        bound = re.sub(r"^\s*>\s*=?\s*(?=\d)", "above ", bound)
        yield path, " ".join(re.sub(r"[<>|\\]", " ", bound).split())
    else:
        yield path, "null" if value is None else str(value)


# Limits that no sensible reply reaches, so that none takes long to read.
_MOST_FAILURES = 20
_LONGEST_TEXT = 20_000
_MAY_BE_JSON = re.compile(r"\{\s*(?:\}|[\"'“‘]|[^\W\d][\w .-]{0,60}[:：])")

_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


@dataclass(frozen=True, slots=True)
class FoundJson:
    """An object, and its place in the text."""

    value: Any
    start: int
    end: int


def objects_in(text: str) -> Iterator[FoundJson]:
    """Yield the complete outermost objects of ``text``; raises UnreadableReplyError at a deep one.

    Of an object without an end, they are the complete ones inside it.
    Besides JSON, it accepts single and typographic quotes, keys without quotes, Python's constants,
    trailing and missing commas, and a quotation mark inside a string. NaN becomes None. It ends
    after 20 that look like one and are none.
    """
    at = failures = 0
    while failures < _MOST_FAILURES and (start := text.find("{", at)) >= 0:
        if not _MAY_BE_JSON.match(text, start):  # braces of LaTeX, of code
            at = start + 1
            continue
        try:
            value, at = _parsed(text, start)
        except LimitError:  # a part of it is not what was said
            raise UnreadableReplyError(f"its JSON is {TOO_DEEP}") from None
        except ValueError:
            at, failures = start + 1, failures + 1
        else:
            yield FoundJson(value, start, at)


def _complete(text: str) -> list[FoundJson]:
    with suppress(UnreadableReplyError):
        return list(objects_in(text))
    return []


def _parsed(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at ``start``, and its end; raises ValueError without one."""
    try:
        return read_json_at(_decoder(), text, start)
    except LimitError:
        raise
    except ValueError:
        loose = _Loose(text, start)
        return loose.value(MAX_DEPTH), loose.at


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        strict=False, parse_constant=lambda _: None, object_pairs_hook=_with_all_values
    )


def _with_all_values(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a key that it has twice, with different values, has a list of them."""
    found: dict[str, list[Any]] = {}
    for key, value in pairs:
        known = found.setdefault(key, [])
        if value not in known:
            known.append(value)
    return {key: known[0] if len(known) == 1 else known for key, known in found.items()}


# What may follow on a quotation mark that ends a text: any mark of JSON; behind a key a colon;
# behind the value of a quoted key another such key, or the end. So no mark ends the text that
# says: It says "no fee", as asked.
_ANYWHERE = r"\s*(?:[,:}\]]|$)"
_AT_KEY = r"\s*:"
_AT_VALUE = r"\s*(?:,?\s*(?:[}\]]|$|[\"'“][^\"'“”\n]{1,60}[\"'”]\s*:))"


class _Loose:
    """Reads a value from ``at`` on, and moves ``at`` to its end."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        self._ends = _ANYWHERE

    def value(self, depth: int) -> Any:
        if depth == 0:
            raise LimitError(TOO_DEEP_TO_READ)
        first = self._peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        return self._string() if first in _CLOSING else self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: list[tuple[str, Any]] = []
        while self._peek() != "}":
            is_quoted = self._peek() in _CLOSING
            key = self._string(_AT_KEY) if is_quoted else self._take(r"[^\W\d][\w .-]*")
            self._ends = _AT_VALUE if is_quoted else _ANYWHERE
            if self._peek() != ":":
                raise ValueError("a key without a value")
            self.at += 1
            is_nested = self._peek() in ("{", "[", *_CLOSING)
            found.append((key, self.value(depth - 1) if is_nested else self._plain()))
            self._comma()
        self.at += 1
        return _with_all_values(found)

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while self._peek() != "]":
            self._ends = _ANYWHERE
            found.append(self.value(depth - 1))
            self._comma()
        self.at += 1
        return found

    def _string(self, ends: str | None = None) -> str:
        """Return a quoted text; a quotation mark ends it only where a key or a value can end."""
        closing = _CLOSING[self._text[self.at]]
        end = re.compile(rf"(?<!\\){closing}(?={ends or self._ends})").search(
            self._text, self.at + 1, self.at + _LONGEST_TEXT
        )
        if end is None:
            raise ValueError("a text without an end")
        raw, self.at = self._text[self.at + 1 : end.start()], end.end()
        return _unescaped(raw)

    def _plain(self) -> Any:
        """Return an unquoted value of a key: a constant, a number, or words."""
        words = self._take(r"[^,{}\[\]\n\"“”]+").strip()
        try:
            return _constant(words)
        except ValueError:
            return words

    def _scalar(self) -> Any:
        return _constant(self._take(r"[\w.+-]+"))

    def _take(self, pattern: str) -> str:
        self._peek()
        found = re.compile(pattern).match(self._text, self.at)
        if found is None:
            raise ValueError("neither a value nor a key")
        self.at = found.end()
        return found[0].strip()

    def _comma(self) -> None:
        if self._peek() == ",":
            self.at += 1

    def _peek(self) -> str:
        """Return the next character that is not white space, and move ``at`` to it."""
        found = re.compile(r"\s*").match(self._text, self.at)
        self.at = found.end() if found else self.at
        if self.at >= len(self._text):
            raise ValueError("the text ends in the middle of it")
        return self._text[self.at]


def _constant(words: str) -> Any:
    if words.lower() in _WORDS:
        return _WORDS[words.lower()]
    return read_json(words, parse_constant=lambda _: None)


def _unescaped(raw: str) -> str:
    # It may contain unescaped quotes, which JSON does not allow.
    quoted = re.sub(r'(?<!\\)"', r"\"", raw.replace(r"\'", "'"))
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return raw


_TAIL = 4000
_LONGEST_UNIT = _TAIL // 5
_TIMES = 5
_LEAST = 100


def repeats_itself(text: str) -> bool:
    """Return whether at least half of a text, from its end, is one unit again and again.

    The unit has up to 800 characters and comes five times or more; together 100 characters at
    least. Of a text above 4,000 characters, its end counts.

    >>> repeats_itself("Yes. " + "The sky is blue. " * 20), repeats_itself("巴黎是首都。" * 20)
    (True, True)
    >>> repeats_itself("[" + "0, " * 9)
    False
    """
    tail = text[-_TAIL:]
    least = max(_LEAST, len(tail) // 2)
    for unit in range(1, _LONGEST_UNIT + 1):
        span = max(least, _TIMES * unit)
        if span > len(tail):
            return False
        if tail[len(tail) - span : len(tail) - unit] == tail[len(tail) - span + unit :]:
            return True
    return False
