"""What an answer claims, held against the reference and the contexts, claim by claim.

A claim of the answer is right if the reference supports it, and else wrong. A context is relevant
if it has a claim of the reference. ``full`` counts as support, ``partial`` does not.

Of several references, all together are what may support a claim of the answer; the claims that are
to be found are those of the first that is not blank: the others say the same in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from pytest_rageval.metrics.base import MetricDefinition, defined
from pytest_rageval.metrics.support import claim_reasons as reasons
from pytest_rageval.metrics.support.claim_reasons import Claims
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import (
    ANSWER,
    REFERENCE,
    Key,
    Measure,
    Origin,
    SupportTable,
)
from pytest_rageval.model import Score

Figure: TypeAlias = tuple[Fraction | None, str]
"""A share and, in words, what lowers it; no share where there is nothing to count."""

_Cells: TypeAlias = Callable[[SupportTable], Iterator[Key]]


def _in_reference(table: SupportTable) -> Iterator[Key]:
    return ((claim, REFERENCE) for claim in table.of("claim"))


def _in_answer(table: SupportTable) -> Iterator[Key]:
    return ((claim, ANSWER) for claim in table.of("reference_claim"))


def _in_evidence(table: SupportTable) -> Iterator[Key]:
    return ((claim, source) for claim in table.of("claim") for source in table.row.evidence)


def _in_contexts(table: SupportTable) -> Iterator[Key]:
    # Earlier turns are not retrieved.
    sources = table.row.contexts
    return ((claim, source) for claim in table.of("reference_claim") for source in sources)


def _precision(claims: Claims) -> Figure:
    return 1 - _share(claims.wrong, claims.of_answer), reasons.of_wrong(claims)


def _recall(claims: Claims) -> Figure:
    return 1 - _share(claims.missing, claims.of_reference), reasons.of_missing(claims)


def _f1(claims: Claims) -> Figure:
    if not claims.of_answer:
        return Fraction(0), NO_CLAIM
    (precision, wrong), (recall, missing) = _precision(claims), _recall(claims)
    assert precision is not None
    assert recall is not None
    both = precision + recall
    return 2 * precision * recall / both if both else Fraction(0), reasons.joined(wrong, missing)


def _context_recall(claims: Claims) -> Figure:
    found = _share(claims.found, claims.of_reference)
    return found, reasons.of_not_found(claims)


def _context_precision(claims: Claims) -> Figure:
    contexts = claims.table.row.contexts
    if not contexts:
        return Fraction(0), "there are no contexts"
    return _share(claims.relevant, contexts), reasons.of_irrelevant(claims)


def _utilization(claims: Claims) -> Figure:
    if not claims.found:
        return None, "no context has a claim of the reference"
    used = [claim for claim in claims.found if claim not in claims.missing]
    return _share(used, claims.found), reasons.of_unused(claims)


def _noise_in_relevant(claims: Claims) -> Figure:
    noise = claims.noise(in_relevant=True)
    return _share(noise, claims.of_answer), reasons.of_noise(claims, noise, "relevant")


def _noise_in_irrelevant(claims: Claims) -> Figure:
    noise = claims.noise(in_relevant=False)
    return _share(noise, claims.of_answer), reasons.of_noise(claims, noise, "irrelevant")


def _hallucination(claims: Claims) -> Figure:
    made_up = [claim for claim in claims.wrong if not claims.support(claim)]
    said = "in no context and not in the reference"
    return _share(made_up, claims.of_answer), reasons.of_unsupported(claims, made_up, said)


def _self_knowledge(claims: Claims) -> Figure:
    known = [claim for claim in claims.unfounded if claim not in claims.wrong]
    said = "right, and in no context"
    return _share(known, claims.of_answer), reasons.of_unsupported(claims, known, said)


def _faithfulness(claims: Claims) -> Figure:
    return 1 - _share(claims.unfounded, claims.of_answer), reasons.of_unfounded(claims)


def _share(some: Collection[object], of: Collection[object]) -> Fraction:
    return Fraction(len(some), len(of))


NO_CLAIM: Final = "the answer makes no claim"
NO_REFERENCE_CLAIM: Final = "the reference makes no claim"


@dataclass(frozen=True)
class _Rule:
    """A figure, the cells that it is made of, and the origins that must have claims."""

    figure: Callable[[Claims], Figure]
    cells: tuple[_Cells, ...]
    origins: frozenset[Origin]
    is_0_without_claims: bool = False
    """Whether an answer without claims scores 0; else it has no score, and counts as the worst."""

    def wants(self, table: SupportTable) -> Iterator[Key]:
        """Yield the cells; none where one of the origins has no claims: that decides the score."""
        if all(table.of(origin) for origin in self.origins):
            for cells in self.cells:
                yield from cells(table)

    def score(self, name: str, table: SupportTable) -> Score:
        """Return the score of a table."""
        if "reference_claim" in self.origins and not table.of("reference_claim"):
            return Score(name, None, NO_REFERENCE_CLAIM, left_out="run")
        if "claim" in self.origins and not table.of("claim") and not self.is_0_without_claims:
            return Score(name, None, NO_CLAIM, left_out="answer")
        value, reason = self.figure(Claims(table))
        if value is None:
            return Score(name, None, reason, left_out="run")
        return Score(name, float(value), reason or None)


_BOTH: Final = frozenset[Origin](("claim", "reference_claim"))
_OF_REFERENCE: Final = frozenset[Origin](("reference_claim",))
_OF_ANSWER: Final = frozenset[Origin](("claim",))
_RIGHT_AND_FOUNDED: Final = (_in_reference, _in_evidence)


def _metric(
    name: str,
    rule: _Rule,
    needs: str,
    summary: str,
    *,
    lower_is_better: bool = False,
    is_neutral: bool = False,
) -> MetricDefinition:
    measure = Measure(rule.origins, rule.wants, rule.score)
    return defined(
        name,
        needs,
        summary,
        lambda shown, _: SupportMetric(shown, measure),
        asks=frozenset({"judge"}),
        higher_is_better=not lower_is_better,
        is_neutral=is_neutral,
        empty_is_worst=True,
        of_table=True,
    )


METRICS = (
    _metric(
        "claim_precision",
        _Rule(_precision, (_in_reference,), _BOTH),
        "answer references",
        "the share of the answer's claims that the references support",
    ),
    _metric(
        "claim_recall",
        _Rule(_recall, (_in_answer,), _OF_REFERENCE),
        "answer references",
        "the share of the first reference's claims that the answer makes",
    ),
    _metric(
        "claim_f1",
        _Rule(_f1, (_in_reference, _in_answer), _BOTH, is_0_without_claims=True),
        "answer references",
        "the harmonic mean of claim_precision and claim_recall",
    ),
    _metric(
        "context_claim_recall",
        _Rule(_context_recall, (_in_contexts,), _OF_REFERENCE),
        "contexts references",
        "the share of the first reference's claims that some context has",
    ),
    _metric(
        "context_claim_precision",
        _Rule(_context_precision, (_in_contexts,), _OF_REFERENCE),
        "contexts references",
        "the share of the contexts that have a claim of the first reference",
    ),
    _metric(
        "claim_utilization",
        _Rule(_utilization, (_in_contexts, _in_answer), _OF_REFERENCE),
        "answer contexts references",
        "of the reference's claims that some context has, the share that the answer makes",
    ),
    _metric(
        "noise_in_relevant",
        _Rule(_noise_in_relevant, (*_RIGHT_AND_FOUNDED, _in_contexts), _BOTH),
        "answer contexts references",
        "the share of the answer's claims that are wrong, and stand in a context that has a claim"
        " of the reference",
        lower_is_better=True,
    ),
    _metric(
        "noise_in_irrelevant",
        _Rule(_noise_in_irrelevant, (*_RIGHT_AND_FOUNDED, _in_contexts), _BOTH),
        "answer contexts references",
        "the share of the answer's claims that are wrong, and stand only in contexts without a"
        " claim of the reference",
        lower_is_better=True,
    ),
    _metric(
        "hallucination",
        _Rule(_hallucination, _RIGHT_AND_FOUNDED, _BOTH),
        "answer contexts references",
        "the share of the answer's claims that are wrong, and in no context",
        lower_is_better=True,
    ),
    _metric(
        "self_knowledge",
        _Rule(_self_knowledge, _RIGHT_AND_FOUNDED, _BOTH),
        "answer contexts references",
        "the share of the answer's claims that are right, and in no context; neither end is better,"
        " so that its weight is 0 unless written",
        # A gate needs a direction, and an answer that refuses must not meet a maximum.
        lower_is_better=True,
        is_neutral=True,
    ),
    _metric(
        "claim_faithfulness",
        _Rule(_faithfulness, (_in_evidence,), _OF_ANSWER),
        "answer contexts",
        "the share of the answer's claims that some context supports",
    ),
)
