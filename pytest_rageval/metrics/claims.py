"""What an answer claims, held against the reference and the contexts, claim by claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import (
    ANSWER,
    REFERENCE,
    Key,
    Measure,
    Source,
    Statement,
    SupportTable,
)
from pytest_rageval.model import Score


def _against(statements: Iterable[Statement], sources: Sequence[Source]) -> Iterator[Key]:
    return ((statement, source) for statement in statements for source in sources)


def _wants_recall(table: SupportTable) -> Iterator[Key]:
    return _against(table.of("reference_claim"), [ANSWER])


def _recall(name: str, table: SupportTable) -> Score:
    claims = table.of("reference_claim")
    if not claims:
        return Score(name, None, "the reference makes no claim", left_out="row")
    missing = [claim for claim in claims if not table.is_full(claim, ANSWER)]
    value = float(1 - Fraction(len(missing), len(claims)))
    return Score(name, value)


def _wants_precision(table: SupportTable) -> Iterator[Key]:
    return _against(table.of("claim"), [REFERENCE])


def _precision(name: str, table: SupportTable) -> Score:
    claims = table.of("claim")
    if not claims:
        return Score(name, None, "the answer makes no claim", left_out="answer")
    right = sum(table.is_full(claim, REFERENCE) for claim in claims)
    return Score(name, right / len(claims))


_RECALL = Measure(frozenset({"reference_claim"}), _wants_recall, _recall)
_PRECISION = Measure(frozenset({"claim"}), _wants_precision, _precision)


def _definition(
    name: str, measure: Measure, needs: Iterable[str], summary: str
) -> MetricDefinition:
    info = MetricInfo(
        name,
        frozenset(needs),
        asks=frozenset({"judge"}),
        empty_is_worst=True,
        of_table=True,
        summary=summary,
    )
    return MetricDefinition(info, lambda shown, _: SupportMetric(shown, measure), NoOptions)


METRICS = (
    _definition(
        "claim_precision",
        _PRECISION,
        ("answer", "references"),
        "the share of the answer's claims that the reference supports",
    ),
    _definition(
        "claim_recall",
        _RECALL,
        ("answer", "references"),
        "the share of the reference's claims that the answer makes",
    ),
)
