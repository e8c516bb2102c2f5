"""Puts a page together in one file: scripts, style, and data whose texts are cut to a size."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from pytest_rageval.text.printable import one_line

LONGEST = 20_000
"""No text is shown with more characters."""

MOST_LISTED = 10
"""How many contexts, or references, of a sample are shown."""

_SHORTEST = 60
_LARGE = 2_000_000  # characters: longer data are compressed
_LEVEL = 6  # of gzip
_MARK = 12  # bytes for the length of a text that was cut
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff]")


class TextPool:
    """Numbers the texts: ``texts`` has them by number, cut, and ``added`` whole, with their share.

    A text is cut at ``longest`` characters, divided by its ``share``.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.texts: list[str | list[str | int]] = []
        self.added: dict[tuple[str, int], None] = {}
        self._numbers: dict[tuple[str, int], int] = {}

    def add(self, text: str | None, share: int = 1) -> int:
        """Return the number of ``text``, -1 for None.

        A text that is too long is held as its beginning and its length in characters.
        """
        if text is None:
            return -1
        self.added[text, share] = None
        width = self.longest // share
        key = (text, width if len(text) > width else 0)
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append([text[:width], len(text)] if key[1] else text)
        return self._numbers[key]


def longest_that_fits(texts: Iterable[tuple[str, int]], budget: int) -> int:
    """Return at how many characters, divided by its share, to cut each text: 60 to ``LONGEST``.

    All texts then take about ``budget`` bytes at most, unless 60 characters of each are too many. A
    cut text is taken to need as many bytes a character as the whole.
    """
    sizes = [(len(text), len(embedded_json(text).encode()) + 1, share) for text, share in texts]
    low, high = _SHORTEST, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        if _total(sizes, middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _total(sizes: list[tuple[int, int, int]], longest: int) -> float:
    return sum(
        size if length <= longest // share else size * (longest // share) / length + _MARK
        for length, size, share in sizes
    )


def cut(text: str, width: int) -> str:
    """Return ``text``, or its beginning with an ellipsis."""
    return text if len(text) <= width else text[:width] + "…"


def embedded_json(value: Any) -> str:
    r"""Return ``value`` as JSON for a script element of the page.

    It has no ``<``, which could end the element or begin a comment, and nothing that UTF-8 cannot
    hold.

    >>> embedded_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


SCRIPTS = (
    "numbers.js",
    "mean_bounds.js",
    "weighing.js",
    "gates.js",
    "word_diff.js",
    "words.js",
    "run_words.js",
    "support_words.js",
    "elements.js",
    "frame.js",
    "plots.js",
    "overview.js",
    "verdict.js",
    "panel.js",
    "slices.js",
    "comparison.js",
    "agreement.js",
    "label.js",
    "answer_sheet.js",
    "label_found.js",
    "samples.js",
    "detail.js",
    "marked_answer.js",
    "support_table.js",
    "support_faults.js",
    "worst.js",
    "start.js",
)
"""In an order in which each may use those before it."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def page_of(
    title: str, scripts: Iterable[str], data: Callable[[int], Any], without_script: Iterable[str]
) -> Iterator[str]:
    """Yield the text of a page in parts.

    ``data`` gets how many bytes style and scripts take; ``without_script`` is what a browser shows
    that runs none, in each language.
    """
    style, script = asset("report.css"), in_one_scope(map(asset, scripts))
    slots = {
        "policy": _policy(style, script),
        "title": html.escape(cut(one_line(title), 200)),
        "style": style,
        "script": script,
        "without_script": "<br>".join(without_script),
        "data": _packed(embedded_json(data(len(style.encode()) + len(script.encode())))),
    }
    for at, part in enumerate(_SLOT.split(asset("report.html"))):
        yield slots[part] if at % 2 else part


def _packed(text: str) -> str:
    """Return the data as they are or, where they are large, compressed, as base64.

    A browser unpacks them faster than it reads the larger text.
    """
    if len(text) <= _LARGE:
        return text
    return base64.b64encode(gzip.compress(text.encode(), _LEVEL, mtime=0)).decode()


def in_one_scope(scripts: Iterable[str]) -> str:
    """Return one script of several, each of which sees what is in the others."""
    joined = "\n".join(scripts)
    return f'(() => {{\n"use strict";\n{joined}}})();\n'


def asset(name: str, package: str = __package__) -> str:
    """Return the text of a file in the folder ``assets`` of a package, by default of this one."""
    return resources.files(package).joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    rules: Mapping[str, str] = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
