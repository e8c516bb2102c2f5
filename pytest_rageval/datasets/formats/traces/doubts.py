"""What is read as the answer of a trace, and may be that of another step or of an earlier turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.conventions import answer_of, left_open_of, output_of
from pytest_rageval.datasets.formats.traces.trace import Trace, request_roots

_MAY_ANSWER: Final = ("chain", "agent", "llm")


def is_open(trace: Trace, fields: Mapping[str, Any]) -> bool:
    """Return whether the question stands behind the answer, in the chat that this is read from."""
    gave = [span for span in request_roots(trace) if output_of(span) is not None]
    asked = left_open_of(gave[-1]) if gave else None
    question, answer = fields["question"] or "", fields["answer"]
    return asked is not None and asked != answer and asked.strip() == question.strip()


def failed_behind(trace: Trace) -> str:
    """Return the model whose text is read as the answer, and a step that failed when it had ended.

    "" without one that may have had to answer, and where a root has an output.
    """
    if any(output_of(span) is not None for span in request_roots(trace)):
        return ""
    steps = trace.steps()
    models = [span for span in steps if span.kind == "llm" and span.error is None]
    answered = next(filter(answer_of, reversed(models)), None)
    if answered is None or answered.end_ns is None:
        return ""
    failed = (span for span in steps if span.error is not None and span.kind in _MAY_ANSWER)
    behind = (span.name for span in failed if (span.start_ns or 0) >= answered.end_ns)
    return next((f"{answered.name!r}, then {name!r}" for name in behind), "")
