"""A span, whatever tool wrote it, how its attributes are looked up, and all spans of a file."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pytest_rageval.datasets.cells import value_or_text
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.fields import CHECK_FIELDS


@dataclass(slots=True)
class Span:
    """A step of a trace; ``parent_id`` is "" for one that no other step began.

    ``attributes`` has the names of the tool: dotted, or nested. ``error`` is None unless the step
    failed. ``tool`` names the convention of the attributes where their names do not show it.
    ``kind`` says what the step does; ``Trace`` fills it in where the record does not say it.
    ``is_trace``: the tool's record of the trace itself, above all spans without a parent.
    ``has_remote_parent``: it may be a root though its parent is not in the file.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    attributes: Mapping[str, Any]
    start_ns: int | None = None
    end_ns: int | None = None
    error: str | None = None
    tool: str = ""
    is_trace: bool = False
    has_remote_parent: bool = False
    kind: str = ""
    line: int | None = None


@dataclass
class Collected:
    """The spans of a file, each once, in the order of the file."""

    spans: dict[str, dict[str, Span]] = field(default_factory=dict)
    """By trace and span."""
    said: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Columns of a row by trace: what is known of it beside its spans."""
    of_steps: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Columns that are known of a single step: by trace, column and step."""
    untold: list[str] = field(default_factory=list)
    """Columns left out: the steps of a trace disagree, and it has no value of its own; or it was
    told two things to expect.
    """
    _expected: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    """By trace, step and column; None where two differ."""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Records that come in pieces, by id; their kind is under the key ""."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many things were left out or came twice, by a word for their kind."""
    last_trace: str = ""
    line: int | None = None
    """The line of the spans that are added next."""

    def add(self, span: Span) -> None:
        """Add a span; if it comes twice the last counts, unless only an earlier one is finished."""
        span.line = self.line
        known = self.spans.setdefault(span.trace_id, {})
        before = known.get(span.span_id)
        self.last_trace = span.trace_id
        if before is not None:
            self.counts["twice"] += 1
            if span.end_ns is None and before.end_ns is not None:
                return
        known[span.span_id] = span

    def say(self, trace_id: str, column: str, value: Any, step: str = "") -> None:
        """Note the value of a column for a trace, or of one ``step``, unless there is none."""
        if value is None or value in ("", [], {}):
            return
        if step:
            columns = self.of_steps.setdefault(trace_id, {})
            columns.setdefault(column, {})[step] = value
        else:
            self.said.setdefault(trace_id, {})[column] = value

    def score(self, trace_id: str, name: Any, value: Any, step: str = "") -> None:
        """Note a score or label that the tool keeps for a trace, under its name."""
        if isinstance(name, str) and name and isinstance(value, str | int | float | bool):
            self.say(trace_id, f"score_{name}", value, step)

    def expect(self, trace_id: str, name: Any, value: Any, step: str = "") -> None:
        """Note what was expected.

        Of several that differ, none. An answer or a reference goes to ``references``, what is about
        a reference and a check to their own fields. Another field of a row gets ``expected_``
        before its name: what was observed stays. An unknown name is kept.
        """
        if not isinstance(name, str) or not name:
            return
        known = read_field(name)
        is_gold = known is not None and known[0] in ("references", "answer")
        column = "references" if is_gold else name
        if known is not None and not is_gold:
            is_own = known[0].startswith("reference") or known[0] in CHECK_FIELDS
            column = known[0] if is_own else f"expected_{name}"
        if value is None or value in ("", [], {}):
            return
        place = (trace_id, step, column)
        before = self._expected.setdefault(place, value)
        if before is not None and _say_alike(before, value):
            self.say(trace_id, column, value, step)
        elif before is not None:
            self._expected[place] = None
            self.untold.append(column)
            if step:
                del self.of_steps[trace_id][column][step]
            else:
                del self.said[trace_id][column]

    def part(self, kind: str, name: str, fields: Mapping[str, Any]) -> None:
        """Add a piece of a record."""
        known = self.parts.setdefault(name, {"": kind})
        known.update({key: value for key, value in fields.items() if value is not None})


def pick(tree: Mapping[str, Any], path: str) -> Any:
    """Return what is at a dotted path, however the names are parted; None where nothing is.

    >>> pick({"llm": {"token_count.prompt": 3}}, "llm.token_count.prompt")
    3
    """
    if path in tree:
        return tree[path]
    at = path.find(".")
    while at > 0:
        inner = tree.get(path[:at])
        if isinstance(inner, str) and inner[:1] in ("{", "["):
            inner = value_or_text(inner)
        if isinstance(inner, Mapping) and (found := pick(inner, path[at + 1 :])) is not None:
            return found
        at = path.find(".", at + 1)
    return None


def first_of(tree: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    """Return the value at the first of the paths that has one; None without any."""
    for path in paths:
        value = pick(tree, path)
        if value is not None and value != "":
            return value
    return None


def list_at(tree: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path; a list also where each item has names of its own.

    >>> list_at({"docs.0.id": "a", "docs.1.id": "b"}, "docs")
    [{'id': 'a'}, {'id': 'b'}]
    """
    value = pick(tree, path)
    if value is None:
        return _items(tree, f"{path}.") or None
    return _numbered(value) if isinstance(value, Mapping) else value


def _items(tree: Mapping[str, Any], prefix: str) -> list[Any]:
    found: dict[int, Any] = {}
    for name, value in tree.items():
        if name.startswith(prefix):
            number, _, rest = name[len(prefix) :].partition(".")
            if number.isdecimal() and len(number) < 6:
                at = int(number)
                if rest:
                    item = found.setdefault(at, {})
                    if isinstance(item, dict):
                        item[rest] = value
                else:
                    found[at] = value
    return [found[at] for at in sorted(found)]


def _numbered(value: Mapping[str, Any]) -> Any:
    if value and all(str(name).isdecimal() for name in value):
        return [value[name] for name in sorted(value, key=int)]
    return value


_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{11}=|[A-Za-z0-9+/]{22}==")


def plain_id(value: Any) -> str:
    """Return the id of a trace or span as text, base64 as hexadecimal; "" for none or only zeros.

    >>> plain_id("0x026f3e4e89e2ce0d"), plain_id("Am8+Tonizg0="), plain_id("0000000000000000")
    ('026f3e4e89e2ce0d', '026f3e4e89e2ce0d', '')
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    text = str(value).strip().removeprefix("0x")
    if _BASE64.fullmatch(text):
        try:
            text = b64decode(text, validate=True).hex()
        except binascii.Error:
            return text
    return text if text.strip("0") else ""


_NANOSECONDS: Final = ((10**17, 1), (10**14, 1000), (10**11, 10**6), (0, 10**9))
"""From which number on a time since 1970 is in ns, µs, ms, s; and how many ns that is."""


def time_ns(value: Any) -> int | None:
    """Return a time as nanoseconds since 1970, None for what is no time; without a zone in UTC.

    Positive numbers are seconds, milliseconds, microseconds or nanoseconds by their size.

    >>> time_ns("2026-11-24T03:57:59.5Z") == time_ns(1795492679500) == time_ns("1795492679.5")
    True
    """
    number = as_number(value)
    if number is not None:
        if number <= 0:
            return None
        factor = next(factor for least, factor in _NANOSECONDS if number >= least)
        return round(number * factor) if isinstance(number, float) else number * factor
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000


def as_number(value: Any) -> int | float | None:
    """Return a number, also one written as text; None from ±1e19 on, for NaN, and for all else.

    >>> as_number("3.0"), as_number("1e30"), as_number(True)
    (3, None, None)
    """
    if isinstance(value, str):
        if not value[:1].isdecimal() and value[:1] not in ("-", "."):
            return None
        try:
            value = int(value) if value.isdecimal() else float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_HUGE < value < _HUGE:  # NaN, too
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


_HUGE: Final = 10**19


def _say_alike(*values: Any) -> bool:
    """Return whether the texts of one value, or of its items, are all among those of the other."""
    one, other = (
        {str(part).strip() for part in (value if isinstance(value, list) else [value])}
        for value in values
    )
    return one <= other or other <= one
