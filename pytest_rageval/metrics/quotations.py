"""The share of the answer's quotations that are in the contexts (ragas' QuotedSpansAlignment)."""

from __future__ import annotations

import re

from pydantic import Field

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.model import Sample, Score

_MARKS = "\"\u201c\u201d\u201e\u201f'\u2018\u2019`\u00b4"
_QUOTED = re.compile(f"[{_MARKS}](.*?)[{_MARKS}]")


class QuotationOptions(NoOptions):
    """What counts as a quotation, and when the contexts contain it."""

    casefold: bool = Field(True, description="whether case and white space count as equal")
    min_span_words: int = Field(3, ge=1, strict=True, description="shorter quotations do not count")


class QuotedSpans:
    """The share of the answer's quotations that the contexts contain literally."""

    def __init__(self, name: str, options: QuotationOptions) -> None:
        self._name = name
        self._options = options

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the share in 0..1; 1.0, as in ragas, for an answer without quotations."""
        quoted = (span.strip() for span in _QUOTED.findall(sample.answer or ""))
        spans = [span for span in quoted if len(span.split()) >= self._options.min_span_words]
        if not spans:
            return Score(self._name, 1.0, reason="the answer quotes nothing")
        source = self._normalized(" ".join(sample.contexts or ()))
        missing = [span for span in spans if self._normalized(span) not in source]
        reason = f"not in the contexts: {'; '.join(missing)}" if missing else None
        return Score(self._name, 1.0 - len(missing) / len(spans), reason=reason)

    def _normalized(self, text: str) -> str:
        return re.sub(r"\s+", " ", text).strip().lower() if self._options.casefold else text


METRICS = (
    MetricDefinition(
        MetricInfo(
            "quoted_spans_alignment",
            needs=frozenset({"answer", "contexts"}),
            aliases=("QuotedSpansAlignment", "quoted_spans"),
            summary="the share of the answer's quotations that the contexts hold",
        ),
        QuotedSpans,
        QuotationOptions,
    ),
)
