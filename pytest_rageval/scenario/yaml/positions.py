"""Where keys and values are in the text of a YAML file, and where the lines around them end.

Positions are numbers of characters from the beginning of the text. The nodes are those of
ruamel.yaml, which tells where a value begins; where it ends, comments left out, is found here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_COLON = re.compile(r"[ \t]*:")
_ALIAS = re.compile(r"[ \t]*(\*[^\s,\[\]{}]+)")
_LINE_END = re.compile(r"\r?\n|\Z")
_COMMENT = re.compile(r"[ \t]*#[^\r\n]*(?:\r?\n[ \t]*)?")
_COMMA = re.compile(r"\s*,")
_LITERAL_HEADER = re.compile(r"[|>][-+\d]*")

NO_CONTENT = re.compile(r"(?:\s|#[^\r\n]*)*")
"""Nothing but blanks and comments."""


class EditError(ValueError):
    """The text is written in a way that cannot be changed in place."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a mapping: its value follows ``colon``, from ``start`` to ``end``."""

    key: Any
    value: Any
    colon: int
    start: int
    end: int
    is_alias: bool = False

    @property
    def first(self) -> int:
        """Where the entry itself begins."""
        return int(self.key.start_mark.index)

    @property
    def is_block(self) -> bool:
        """Whether the value is a mapping or a list on lines of its own."""
        return not self.is_alias and is_block(self.value)


@dataclass(frozen=True, slots=True)
class Positions:
    """Finds places in ``text``."""

    text: str

    def entry(self, key: Any, value: Any) -> Entry:
        """Return the places of an entry of a mapping; raises EditError for a key with ``?``."""
        end = int(key.end_mark.index)
        colon = _COLON.match(self.text, end)
        if colon is None:
            if not is_empty(value):
                raise EditError("a key with '?'")
            return Entry(key, value, -1, end, end)
        at = colon.end()
        alias = _ALIAS.match(self.text, at)
        if alias is not None:
            return Entry(key, value, at, *alias.span(1), is_alias=True)
        if is_empty(value):
            return Entry(key, value, at, at, at)
        return Entry(key, value, at, int(value.start_mark.index), self.end(value))

    def first_line_of(self, entry: Entry) -> int:
        """Return where the first line of a block begins, comments above it left out."""
        first = self.line_start(entry.start)
        between = self.text[entry.colon : first]
        if first <= entry.colon or not NO_CONTENT.fullmatch(between):
            raise EditError("a value with a tag or an anchor")
        return first

    def comments(self, start: int, end: int) -> str:
        """Return the comments between two places, with the line ends behind them."""
        return "".join(_COMMENT.findall(self.text[start:end]))

    def past_comma(self, at: int) -> int:
        """Return the place behind the comma that comes next, ``at`` itself where none does."""
        comma = _COMMA.match(self.text, at)
        return at if comma is None else comma.end()

    def end(self, node: Any) -> int:
        """Return where the text of a value ends; of a block, without the lines behind it."""
        end = int(node.end_mark.index)
        return len(self.text[:end].rstrip()) if is_literal(node) or is_block(node) else end

    def after_entry(self, entry: Entry) -> int:
        """Return where the line after an entry begins."""
        if entry.is_block or (not entry.is_alias and is_literal(entry.value)):
            return self.after(entry.value)
        return self.next_line(entry.end)

    def after(self, node: Any) -> int:
        """Return where the line after a block begins: comments behind it are not part of it."""
        end, leaf = int(node.end_mark.index), _last_leaf(node)
        if leaf is not None and is_literal(leaf):
            header = _LITERAL_HEADER.search(self.text, leaf.start_mark.index)
            keeps_blanks = header is not None and "+" in header.group()
            return end if keeps_blanks else self.next_line(len(self.text[:end].rstrip()))
        if leaf is not None and not is_empty(leaf):
            return self.next_line(int(leaf.end_mark.index))
        while end > 0:
            first = self.line_start(end - 1)
            if not NO_CONTENT.fullmatch(self.text, first, end):
                break
            end = first
        return end

    def line_start(self, at: int) -> int:
        """Return where the line begins that ``at`` is in."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Return where the line ends that ``at`` is in, its line end left out."""
        found = _LINE_END.search(self.text, at)
        return found.start() if found is not None else len(self.text)

    def next_line(self, at: int) -> int:
        """Return where the next line begins, the end of the text where none does."""
        found = _LINE_END.search(self.text, at)
        return found.end() if found is not None else len(self.text)


def is_mapping(node: Any) -> bool:
    """Return whether a node is a mapping; a file without content has none."""
    return bool(node is not None and node.id == "mapping")


def is_empty(node: Any) -> bool:
    """Return whether a value is null because it is left out."""
    return bool(node.id == "scalar" and node.start_mark.index == node.end_mark.index)


def is_literal(node: Any) -> bool:
    """Return whether a value is text on the lines behind a ``|`` or ``>``."""
    return bool(node.id == "scalar" and node.style in ("|", ">"))


def is_block(node: Any) -> bool:
    """Return whether a value is a mapping or a list on lines of its own."""
    return bool(node.id != "scalar" and not node.flow_style)


def _last_leaf(node: Any) -> Any:
    """Return the scalar or flow that a block ends with, None where that is an alias."""
    while is_block(node) and node.value:
        last = node.value[-1][1] if node.id == "mapping" else node.value[-1]
        if last.start_mark.index < node.start_mark.index:
            return None
        node = last
    return node
