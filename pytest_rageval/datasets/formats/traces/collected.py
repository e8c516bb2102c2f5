"""What the records of a file hold together: spans by trace, and what the tool says of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rageval.datasets.formats.traces.span import Span
from pytest_rageval.scenario.column_names import read_field


@dataclass
class Collected:
    """The spans of a file, each once, in the order of the file."""

    spans: dict[str, dict[str, Span]] = field(default_factory=dict)
    """By trace and span."""
    said: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Columns of a row by trace: what is known of it beside its spans."""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Records that come in pieces, by id; their kind is under the key ""."""
    counts: Counter[str] = field(default_factory=Counter)
    last_trace: str = ""
    line: int | None = None

    def add(self, span: Span) -> None:
        """Add a span; one that is there already counts once, the finished one rather."""
        span.line = self.line
        known = self.spans.setdefault(span.trace_id, {})
        before = known.get(span.span_id)
        self.last_trace = span.trace_id
        if before is not None:
            self.counts["twice"] += 1
            if span.end_ns is None and before.end_ns is not None:
                return
        known[span.span_id] = span

    def say(self, trace_id: str, column: str, value: Any) -> None:
        """Note the value of a column for a trace, unless there is none."""
        if value is not None and value not in ("", [], {}):
            self.said.setdefault(trace_id, {})[column] = value

    def score(self, trace_id: str, name: Any, value: Any) -> None:
        """Note a score or label that the tool keeps for a trace, under its name."""
        if isinstance(name, str) and name and isinstance(value, str | int | float | bool):
            self.say(trace_id, f"score_{name}", value)

    def expect(self, trace_id: str, name: Any, value: Any) -> None:
        """Note what was expected: an answer becomes the references, all else keeps its name."""
        if not isinstance(name, str) or not name:
            return
        known = read_field(name)
        is_gold = known is not None and known[0] in ("references", "answer")
        column = "references" if is_gold else name
        if known is not None and not is_gold:
            column = known[0] if known[0].startswith("reference") else f"expected_{name}"
        self.say(trace_id, column, value)

    def part(self, kind: str, name: str, fields: Mapping[str, Any]) -> None:
        """Add a piece of a record."""
        known = self.parts.setdefault(name, {"": kind})
        known.update({key: value for key, value in fields.items() if value is not None})
