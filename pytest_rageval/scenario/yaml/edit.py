"""Changing values in the text of a YAML file so that every other character of it stays.

PyYAML's nodes say where each value begins, its tokens where it ends, comments left out. Values that
differ are cut out and rewritten. Comments, order, quotes, indentation, line ends and anchors around
them are not touched. Places are numbers of characters from the beginning of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from pytest_rageval.scenario.yaml.tree import inline_text, pair_text

_WIDTH = 90
_OPENING = re.compile(r"[{\[]")
_REST_OF_LINE = re.compile(r"[ \t]*(,?)[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_COLON = re.compile(r"[ \t]*:")
_ALIAS = re.compile(r"[ \t]*(\*[^\s,\[\]{}]+)")
_LINE_END = re.compile(r"\r?\n|\Z")
_COMMENT = re.compile(r"[ \t]*#[^\r\n]*(?:\r?\n[ \t]*)?")
_BARE_LINE = re.compile(r"(?P<indent>[ \t]*)(?P<comment>#[^\r\n]*)?(?:\r?\n|\Z)")
_COMMA = re.compile(r"\s*,")
_LITERAL_HEADER = re.compile(r"[|>][-+\d]*")
_NO_CONTENT = re.compile(r"(?:\s|#[^\r\n]*)*")
_MISSING: Any = object()


class EditError(ValueError):
    """The text is written in a way that cannot be changed in place."""


def edited(text: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return ``text``, which says ``old``, changed where it must be to say ``new``.

    Raises EditError where that cannot be done in place. What aliases share changes in all places:
    the caller should read the result, and compare.
    """
    try:
        root: Any = yaml.compose(_for_yaml(text), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise EditError(str(error).splitlines()[0]) from error
    if not _is_mapping(root):
        raise EditError("the file is no mapping")
    editor = _Editor(text)
    editor.change_mapping(root, old, new, _Style(flow=bool(root.flow_style)))
    return editor.result()


def _for_yaml(text: str) -> str:
    """Return text with blanks for tabs, which JSON indents with and PyYAML refuses.

    Of the result only the places of values are used.
    """
    return text.replace("\t", " ")


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same in a scenario: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


@dataclass(frozen=True, slots=True)
class _Style:
    """How new text is written at a place: in a flow or not, in which quotes, at which column."""

    flow: bool = False
    quote: str = ""
    column: int = 0

    @classmethod
    def within(cls, node: Any, around: _Style) -> _Style:
        """Return the style of a mapping, as its keys are written."""
        keys = [key for key, _ in node.value]
        flow = around.flow or bool(node.flow_style)
        if not keys:
            return cls(flow, around.quote, around.column)
        quoted = all(key.style == '"' for key in keys)
        return cls(flow, '"' if quoted else "", keys[0].start_mark.column)


@dataclass
class _Editor:
    """Collects changes to a text; ``result`` makes them, from the end to the beginning."""

    text: str
    where: _Positions = field(init=False)
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Look at the text."""
        self.where = _Positions(self.text)

    @property
    def newline(self) -> str:
        """The line end of the file."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def result(self) -> str:
        """Return the text with all changes."""
        text = self.text
        # From the end, so that offsets stay true; of two texts at one place, the first comes first.
        for start, end, fresh in sorted(self._edits, key=lambda edit: edit[:2])[::-1]:
            text = text[:start] + fresh + text[end:]
        return text

    def put(self, start: int, end: int, fresh: str) -> None:
        """Have ``fresh`` put in place of the text from ``start`` to ``end``."""
        self._edits.append((start, end, fresh))

    def change_mapping(
        self,
        node: Any,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        style: _Style,
        colon: int = -1,
    ) -> None:
        """Change the entries that differ, add those that are new, take out those that are gone.

        ``colon`` is the place after the colon of the mapping's own key, -1 at the top.
        """
        entries = {_name(key): self.where.entry(key, value) for key, value in node.value}
        style = _Style.within(node, style)
        gone = [name for name in old if name not in new]
        if any(name not in entries for name in gone):
            raise EditError("what is to be removed comes from a merge (<<)")
        for name, entry in entries.items():
            if name in old and name in new and not same(old[name], new[name]):
                self._change(entry, old[name], new[name], style)
        fresh = {
            name: value
            for name, value in new.items()
            if name not in entries and not same(old.get(name, _MISSING), value)
        }
        everything = list(entries.values())
        kept = [entry for name, entry in entries.items() if name not in gone]
        if style.flow:
            self._change_flow(node, everything, kept, fresh, style)
        else:
            self._change_block(everything, kept, fresh, style, colon)

    def _change(self, entry: _Entry, old: Any, new: Any, style: _Style) -> None:
        node, own = entry.value, not entry.is_alias
        if own and _is_mapping(node) and isinstance(new, Mapping) and node.value:
            self.change_mapping(node, old, new, style, entry.colon)
        elif own and _is_longer(node, old, new):
            self._append(node, new[len(old) :], style)
        elif entry.colon < 0:
            raise EditError("a key without a value")
        else:
            self._replace(entry, new, style)

    def _replace(self, entry: _Entry, new: Any, style: _Style) -> None:
        column = entry.value.start_mark.column if entry.is_block else style.column
        # A list may begin where its key does, a mapping may not.
        is_kept = column > style.column or (entry.is_block and isinstance(new, list))
        block = self._block(new, style, column if is_kept else None)
        like = getattr(entry.value, "style", None)
        quote = like if like in ("'", '"') and isinstance(new, str) else style.quote
        fresh = inline_text(new, quote)
        if entry.is_block:
            # The value is on the lines below its key; a comment after the key stays.
            first = self.where.first_line_of(entry)
            self.put(first, self.where.after(entry.end), block or "")
            if block is None:
                self.put(entry.colon, entry.colon, f" {fresh}")
        elif block is None:
            gap = " " if entry.start == entry.colon else ""
            self.put(entry.start, entry.end, gap + fresh)
        else:
            comments = self.text[entry.colon : entry.start].rstrip()
            self.put(entry.colon, entry.end, comments)
            self._insert_lines(self.where.line_end(entry.end), block)

    def _change_block(
        self,
        entries: Sequence[_Entry],
        kept: Sequence[_Entry],
        fresh: Mapping[str, Any],
        style: _Style,
        colon: int,
    ) -> None:
        if fresh:
            lines = "".join(self._lines(name, value, style) for name, value in fresh.items())
            self._insert_lines(self.where.below(entries[-1].end, style.column), lines)
        elif not kept:
            if colon < 0 or not _NO_CONTENT.fullmatch(self.text, colon, entries[0].first):
                raise EditError("a value with a tag or an anchor")
            self.put(colon, colon, " {}")
        for entry in entries:
            if entry not in kept:
                first = self.where.line_start(entry.first)
                if self.text[first : entry.first].strip():
                    raise EditError("a key that does not begin its line")
                self.put(first, self.where.after(entry.end), "")

    def _change_flow(
        self,
        node: Any,
        entries: Sequence[_Entry],
        kept: Sequence[_Entry],
        fresh: Mapping[str, Any],
        style: _Style,
    ) -> None:
        texts = [pair_text(name, value, style.quote) for name, value in fresh.items()]
        if entries and not kept:
            self.put(entries[0].first, self.where.past_comma(entries[-1].end), ", ".join(texts))
            return
        for at, entry in enumerate(entries):
            if entry not in kept:
                self._cut_from_flow(entries, kept, at)
        if texts:
            places = [(entry.first, entry.end) for entry in kept]
            self._add_to_flow(node, places, texts, by_line=len(kept) == len(entries))

    def _cut_from_flow(self, entries: Sequence[_Entry], kept: Sequence[_Entry], at: int) -> None:
        """Take an entry out, with the comma after it or, if no kept entry follows, before it."""
        entry = entries[at]
        if any(later in kept for later in entries[at:]):
            end = entries[at + 1].first
            self.put(entry.first, end, self.where.comments(entry.end, end))
        else:
            before, end = entries[at - 1], self.where.past_comma(entry.end)
            start = before.end if before in kept else self.where.past_comma(before.end)
            comments = self.where.comments(start, entry.first) + self.where.comments(entry.end, end)
            self.put(start, end, comments)

    def _append(self, node: Any, items: Sequence[Any], style: _Style) -> None:
        """Add items to the end of a list."""
        texts = [inline_text(item, style.quote) for item in items]
        if style.flow or node.flow_style:
            places = [self.where.last_item(node)] if node.value else []
            self._add_to_flow(node, places, texts, by_line=True)
        else:
            indent = " " * node.start_mark.column
            lines = (f"{indent}- {text}{self.newline}" for text in texts)
            self._insert_lines(self.where.after(self.where.end(node)), "".join(lines))

    def _add_to_flow(
        self, node: Any, places: Sequence[tuple[int, int]], texts: Sequence[str], by_line: bool
    ) -> None:
        """Write ``texts`` after the entries at ``places``, one per line if the entries are."""
        if not places:
            opening = _OPENING.search(self.text, node.start_mark.index)
            assert opening is not None
            self.put(opening.end(), opening.end(), ", ".join(texts))
            return
        start, end = places[-1]
        indent = self.text[self.where.line_start(start) : start]
        rest = _REST_OF_LINE.match(self.text, end)
        if not by_line or rest is None or indent.strip():
            self.put(end, end, "".join(f", {text}" for text in texts))
            return
        if not rest.group(1):
            self.put(end, end, ",")
        lines = [f"{self.newline}{indent}{text}" for text in texts]
        self.put(rest.end(), rest.end(), ",".join(lines) + rest.group(1))

    def _insert_lines(self, at: int, lines: str) -> None:
        """Put whole lines at ``at``: the beginning of a line, or its end."""
        if at > 0 and self.text[at - 1] != "\n":
            lines = self.newline + lines.removesuffix(self.newline)
        self.put(at, at, lines)

    def _lines(self, name: str, value: Any, style: _Style) -> str:
        """Return a key and its value as lines of a block."""
        indent = " " * style.column
        block = self._block(value, style)
        if block is None:
            return f"{indent}{pair_text(name, value, style.quote)}{self.newline}"
        return f"{indent}{inline_text(name, style.quote)}:{self.newline}{block}"

    def _block(self, value: Any, style: _Style, column: int | None = None) -> str | None:
        """Return the lines of ``value`` below its key, None if it fits on the line of the key.

        They begin at ``column``, or else two to the right of the key.
        """
        if style.flow or not isinstance(value, Mapping | list) or not value:
            return None
        parts = list(value.values()) if isinstance(value, Mapping) else value
        is_flat = not any(isinstance(part, Mapping | list) and part for part in parts)
        if is_flat and len(inline_text(value, style.quote)) <= _WIDTH - style.column:
            return None
        inner = _Style(False, style.quote, style.column + 2 if column is None else column)
        if isinstance(value, Mapping):
            return "".join(self._lines(name, part, inner) for name, part in value.items())
        indent = " " * inner.column
        texts = (inline_text(part, style.quote) for part in value)
        return "".join(f"{indent}- {text}{self.newline}" for text in texts)


def _is_longer(node: Any, old: Any, new: Any) -> bool:
    """Return whether ``new`` is the list ``old`` with more behind it."""
    if node.id != "sequence" or not (isinstance(old, list) and isinstance(new, list) and old):
        return False
    return len(new) > len(old) and same(old, new[: len(old)])


def _name(key: Any) -> str:
    """Return the text of a key; JSON writes an emoji as two halves."""
    halves = str(key.value).encode("utf-16", "surrogatepass")
    return halves.decode("utf-16", "surrogatepass")


# Where things are


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry: ``start`` to ``end`` of its value are behind ``colon``, which is -1 without one."""

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
        is_scalar = self.value.id == "scalar"
        return not (self.is_alias or is_scalar or self.value.flow_style)


class _Positions:
    """Finds places in ``text``."""

    def __init__(self, text: str) -> None:
        self.text = text
        tokens: list[Any] = list(yaml.scan(_for_yaml(text), Loader=yaml.SafeLoader))
        self._tokens = [token for token in tokens if token.start_mark.index < token.end_mark.index]
        self._starts = [token.start_mark.index for token in self._tokens]

    def entry(self, key: Any, value: Any) -> _Entry:
        """Return the places of an entry of a mapping; raises EditError for a key with ``?``."""
        end = int(key.end_mark.index)
        colon = _COLON.match(self.text, end)
        if colon is None:
            if not _is_empty(value):
                raise EditError("a key with '?'")
            return _Entry(key, value, -1, end, end)
        at = colon.end()
        alias = _ALIAS.match(self.text, at)
        if alias is not None:
            return _Entry(key, value, at, *alias.span(1), is_alias=True)
        if _is_empty(value):
            return _Entry(key, value, at, at, at)
        return _Entry(key, value, at, int(value.start_mark.index), self.end(value))

    def last_item(self, node: Any) -> tuple[int, int]:
        """Return where the last item of a flow list is; the node of an alias is elsewhere."""
        at = bisect_left(self._starts, int(node.end_mark.index)) - 2
        last = self._tokens[at - isinstance(self._tokens[at], yaml.FlowEntryToken)]
        item = last if isinstance(last, yaml.AliasToken) else node.value[-1]
        return int(item.start_mark.index), self.end(item)

    def first_line_of(self, entry: _Entry) -> int:
        """Return where the first line of a block begins, comments above it left out."""
        first = self.line_start(entry.start)
        between = self.text[entry.colon : first]
        if first <= entry.colon or not _NO_CONTENT.fullmatch(between):
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
        token = self._last_token(int(node.end_mark.index))
        end = int(token.end_mark.index)
        return len(self.text[:end].rstrip()) if _is_literal(token) else end

    def after(self, end: int) -> int:
        """Return where the next line begins after a value, or an entry, that ends at ``end``."""
        token = self._last_token(end)
        if not _is_literal(token):
            return self.next_line(int(token.end_mark.index))
        header = _LITERAL_HEADER.match(self.text, token.start_mark.index)
        keeps_blanks = header is not None and "+" in header.group()
        last = int(token.end_mark.index)
        return last if keeps_blanks else self.next_line(len(self.text[:last].rstrip()))

    def below(self, end: int, column: int) -> int:
        """Return where the next line begins after an entry, and after what is said below it.

        Comments with more than ``column`` blanks before them belong to it, as keys do.
        """
        place = at = self.after(end)
        while at < len(self.text) and (line := _BARE_LINE.match(self.text, at)):
            at = line.end()
            if line["comment"] and len(line["indent"]) > column:
                place = at
        return place

    def _last_token(self, end: int) -> Any:
        return self._tokens[bisect_left(self._starts, end) - 1]

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


def _is_mapping(node: Any) -> bool:
    """Return whether a node is a mapping; a file without content has none."""
    return bool(node is not None and node.id == "mapping")


def _is_empty(node: Any) -> bool:
    """Return whether a value is null because it is left out."""
    return bool(node.id == "scalar" and node.start_mark.index == node.end_mark.index)


def _is_literal(token: Any) -> bool:
    """Return whether a token is text on the lines behind a ``|`` or ``>``."""
    return getattr(token, "style", None) in ("|", ">")
