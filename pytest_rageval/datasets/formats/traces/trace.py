"""A trace: the spans of one request, and the tree that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.conventions import kind_of, output_of
from pytest_rageval.datasets.formats.traces.span import Collected, Span

WHOLE: Final = ("chain", "agent", "")
"""Kinds of steps that may be whole requests."""


@dataclass
class Trace:
    """The spans of a trace in order of their start, with the tree that they make."""

    id: str
    spans: list[Span]
    roots: list[Span] = field(default_factory=list)
    """The tool's record of the trace, else spans without a parent, else those with a remote one."""
    orphans: list[Span] = field(default_factory=list)
    """Other spans whose parent is not in the file."""
    _children: dict[str, list[Span]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spans = _in_order(self.spans)
        known = {span.span_id for span in self.spans}
        top = next((span for span in self.spans if span.is_trace), None)
        for span in self.spans:
            span.kind = span.kind or kind_of(span)
            parent = span.parent_id
            if parent and parent not in known:
                self.orphans.append(span)
            elif not parent and (top is None or span is top):
                self.roots.append(span)
            else:
                parent = parent or (top.span_id if top else "")
                self._children.setdefault(parent, []).append(span)
        if not self.roots:
            self.roots = [span for span in self.orphans if span.has_remote_parent]
            self.orphans = [span for span in self.orphans if not span.has_remote_parent]

    def below(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Yield the spans and all below them, the upper ones first."""
        level, seen = [*spans], set()
        while level:
            level = [span for span in level if span.span_id not in seen]
            seen |= {span.span_id for span in level}
            yield from level
            level = [child for span in level for child in self._children.get(span.span_id, ())]

    def children(self, span: Span) -> list[Span]:
        """Return the spans right below one."""
        return self._children.get(span.span_id, [])

    def tops(self) -> list[Span]:
        """Return the roots, of a record of the trace the steps right below; events are left out."""
        tops = self.roots
        if tops and tops[0].is_trace:
            remote = [span for span in self.orphans if span.has_remote_parent]
            tops = [*self.children(tops[0]), *remote] or tops
        return [span for span in tops if span.attributes.get("type") != "EVENT"]

    def steps(self) -> list[Span]:
        """Return the spans of the system itself in order of start: not those that judge it."""
        judging = [span for span in self.spans if span.kind == "judge"]
        left_out = {span.span_id for span in self.below(judging)} if judging else ()
        return [span for span in self.spans if span.span_id not in left_out]


def request_roots(trace: Trace) -> list[Span]:
    """Return the roots that may have the question and the answer: no searches.

    No judges beside other roots, and no tools beside a step that may answer and has an output.
    """
    searches = ("retrieval", "rerank", "embedding")
    return [span for span in main_roots(trace) if span.kind not in searches]


def main_roots(trace: Trace) -> list[Span]:
    """Return the roots, without judges and tools where others are the system's."""
    roots = [span for span in trace.roots if span.kind != "judge"]
    if not any(span.kind in (*WHOLE, "llm", "tool") for span in roots):
        roots = trace.roots  # a guardrail may be around all
    outputs = (output_of(span) for span in roots if span.kind in WHOLE)
    has_answer = any(output is not None for output in outputs)
    return [span for span in roots if span.kind != "tool"] if has_answer else roots


def columns_of(trace: Trace, known: Collected) -> dict[str, Any]:
    """Return what a tool says of a trace beside its spans: of the trace itself, else of a step.

    The top steps come before all others. A column of which they say different things is left out,
    and noted in ``known.untold``.
    """
    found = {**known.said.get(trace.id, {})}
    for column, by_step in known.of_steps.get(trace.id, {}).items():
        tops = [by_step[top.span_id] for top in trace.tops() if top.span_id in by_step]
        first, *others = tops or by_step.values()
        if column not in found and any(other != first for other in others):
            known.untold.append(column)
        else:
            found.setdefault(column, first)
    return found


def _in_order(spans: Sequence[Span]) -> list[Span]:
    """Return spans by start; equal ones as in the file, which may have the last ones first."""
    starts = [span.start_ns for span in spans if span.start_ns is not None]
    is_backwards = len(starts) > 1 and starts[0] > starts[-1]
    listed = spans[::-1] if is_backwards else spans
    return sorted(listed, key=lambda span: span.start_ns or 0)
