"""Compares strings: answers with references, contexts with expected ones, quotes with contexts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from pytest_rageval.metrics.base import NoOptions, ScoringContext, defined
from pytest_rageval.metrics.lexical import NEEDS, StringMetric, is_part, string_metric
from pytest_rageval.model import Sample, Score

Measure = Literal["levenshtein", "hamming", "jaro", "jaro_winkler"]

_LONGEST_PREFIX = 4
_PREFIX_WEIGHT = 0.1
_BOOST_FROM = 0.7


class DistanceOptions(NoOptions):
    """The measure, under ragas' names."""

    distance_measure: Measure = Field("levenshtein", description="how alike two texts are")


def string_similarity(name: str, options: DistanceOptions) -> StringMetric:
    """Return the metric of the most similar reference; two empty texts are equal."""
    similarity = SIMILARITIES[options.distance_measure]
    return StringMetric(
        name,
        lambda answer, references: max(similarity(answer, text) for text in references or ("",)),
    )


def contained(answer: str, references: Sequence[str]) -> float:
    """Return 1.0 if a reference occurs in the answer, else 0.0."""
    return float(any(is_part(reference, answer) for reference in references))


def equal(answer: str, references: Sequence[str]) -> float:
    """Return 1.0 if the answer is a reference, else 0.0; ``em`` is the same on normalised texts."""
    return float(answer in references)


def levenshtein_distance(one: str, other: str) -> int:
    """Return the least number of characters to insert, delete or replace.

    Myers 1999 in Hyyrö's form: the bits of two integers are a column of the table, so that one
    character takes a few integer operations.
    """
    text, pattern = sorted((one, other), key=len)
    if not text:
        return len(pattern)
    width = len(pattern)
    everywhere, last = (1 << width) - 1, 1 << (width - 1)
    places: dict[str, int] = {}
    for at, letter in enumerate(pattern):
        places[letter] = places.get(letter, 0) | 1 << at
    # The bits of more and less: a cell is one more, or one less, than the cell above it; those of
    # right_more and right_less: than the cell to its left.
    more, less, distance = everywhere, 0, width
    for letter in text:
        same = places.get(letter, 0)
        diagonal = (((same & more) + more) ^ more) | same | less
        right_more = less | (everywhere & ~(diagonal | more))
        right_less = more & diagonal
        distance += bool(right_more & last) - bool(right_less & last)
        right_more = (right_more << 1) | 1
        right_less <<= 1
        more = everywhere & (right_less | ~(diagonal | right_more))
        less = everywhere & right_more & diagonal
    return distance


def levenshtein_similarity(one: str, other: str) -> float:
    """Return 1 - distance / length of the longer text, 0..1; 1.0 for two empty ones."""
    longest = max(len(one), len(other))
    return 1.0 - levenshtein_distance(one, other) / longest if longest else 1.0


def hamming_similarity(one: str, other: str) -> float:
    """Return the share of the longer text's positions where both have the same character, 0..1.

    1.0 for two empty texts.
    """
    longest = max(len(one), len(other))
    same = sum(a == b for a, b in zip(one, other, strict=False))
    return same / longest if longest else 1.0


def jaro_similarity(one: str, other: str) -> float:
    """Return Jaro's similarity (1989), 0..1: common characters not too far apart, and their order.

    1.0 for two empty texts, 0.0 if one is empty.
    """
    if not one or not other:
        return float(one == other)
    matched = _jaro_matches(one, other)
    if not matched:
        return 0.0
    common = len(matched)
    partners = sorted(at for _, at in matched)
    swapped = sum(one[at] != other[place] for (at, _), place in zip(matched, partners, strict=True))
    in_order = (common - swapped // 2) / common
    return (common / len(one) + common / len(other) + in_order) / 3.0


def _jaro_matches(one: str, other: str) -> list[tuple[int, int]]:
    """Return pairs of positions with the same character, no farther apart than Jaro's reach.

    That is half the longer length, rounded down, minus 1. Each position is in one pair at most.
    """
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    free = [True] * len(other)
    matched = []
    for at, letter in enumerate(one):
        low, high = max(at - reach, 0), min(at + reach + 1, len(other))
        place = other.find(letter, low, high)
        while place >= 0 and not free[place]:
            place = other.find(letter, place + 1, high)
        if place >= 0:
            free[place] = False
            matched.append((at, place))
    return matched


def jaro_winkler_similarity(one: str, other: str) -> float:
    """Return Jaro's similarity, raised for texts that begin alike (Winkler 1990), 0..1.

    Up to four first characters count. A similarity of at most 0.7 is not raised.
    """
    found = jaro_similarity(one, other)
    if found <= _BOOST_FROM:
        return found
    same = 0
    for a, b in zip(one[:_LONGEST_PREFIX], other[:_LONGEST_PREFIX], strict=False):
        if a != b:
            break
        same += 1
    return found + same * _PREFIX_WEIGHT * (1.0 - found)


SIMILARITIES: dict[Measure, Callable[[str, str], float]] = {
    "levenshtein": levenshtein_similarity,
    "hamming": hamming_similarity,
    "jaro": jaro_similarity,
    "jaro_winkler": jaro_winkler_similarity,
}

Table = Sequence[Sequence[float]]
"""A row for each retrieved context with its similarity to each expected one."""


class OverlapOptions(DistanceOptions):
    """When two contexts match."""

    threshold: float = Field(
        0.5, ge=0.0, le=1.0, description="how similar two contexts must be to match, 0..1"
    )


class OverlapMetric:
    """Compares each retrieved context with each expected one, by ``precision`` or ``recall``."""

    def __init__(
        self,
        name: str,
        options: OverlapOptions,
        measure: Callable[[Table, float], tuple[float, str]],
    ) -> None:
        self._name = name
        self._options = options
        self._measure = measure

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score in 0..1: 0.0 if nothing was retrieved, None if nothing is expected."""
        retrieved, expected = sample.contexts or (), sample.reference_contexts or ()
        if not expected:
            return Score(self._name, None, reason="the row expects no context")
        if not retrieved:
            return Score(self._name, 0.0, reason="no context was retrieved")
        make = partial(self._table, retrieved, expected)
        table = context.texts.once(("context overlap", self._options.distance_measure), make)
        return Score(self._name, *self._measure(table, self._options.threshold))

    def _table(self, retrieved: Sequence[str], expected: Sequence[str]) -> Table:
        similarity = SIMILARITIES[self._options.distance_measure]
        return [[similarity(context, other) for other in expected] for context in retrieved]


def precision(table: Table, threshold: float) -> tuple[float, str]:
    """Return the average precision and a reason: the mean of precision@k over ranks with a hit.

    0.0 without a hit.
    """
    hits = [max(row) >= threshold for row in table]
    found, total = 0, 0.0
    for rank, hit in enumerate(hits, start=1):
        found += hit
        total += found / rank if hit else 0.0
    return total / found if found else 0.0, f"{found} of {len(hits)} contexts match an expected one"


def recall(table: Table, threshold: float) -> tuple[float, str]:
    """Return the share of expected contexts that a retrieved one matches, and a reason."""
    # As in ragas: only above the threshold, while precision includes the threshold itself.
    found = [max(column) > threshold for column in zip(*table, strict=True)]
    missing = ", ".join(f"[{number}]" for number, hit in enumerate(found, 1) if not hit)
    reason = f"{sum(found)} of {len(found)} expected contexts were retrieved"
    return sum(found) / len(found), reason + (f"; missing: {missing}" if missing else "")


# As in ragas, any mark opens a quotation and any closes it, an apostrophe, too.
_MARKS = "\"\u201c\u201d\u201e\u201f'\u2018\u2019`\u00b4"
_QUOTED = re.compile(f"[{_MARKS}](.*?)[{_MARKS}]")


class QuotationOptions(NoOptions):
    """What counts as a quotation, and when the contexts contain it."""

    casefold: bool = Field(
        True, description="whether differences in case and white space are ignored"
    )
    min_span_words: int = Field(3, ge=1, strict=True, description="shorter quotations do not count")


class QuotedSpans:
    """The share of the answer's quotations that the contexts contain (QuotedSpansAlignment)."""

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
    defined(
        "string_similarity non_llm_string_similarity NonLLMStringSimilarity",
        NEEDS,
        "how few characters to change",
        string_similarity,
        DistanceOptions,
    ),
    string_metric(
        "string_presence string_present StringPresence",
        "1 if a reference is a part of the answer to the letter, else 0",
        contained,
    ),
    string_metric(
        "string_equality ExactMatch", "1 if the answer is a reference to the letter, else 0", equal
    ),
    defined(
        "non_llm_context_precision non_llm_context_precision_with_reference"
        " NonLLMContextPrecisionWithReference",
        "contexts reference_contexts",
        "average precision of the contexts that are like an expected one",
        partial(OverlapMetric, measure=precision),
        OverlapOptions,
    ),
    defined(
        "non_llm_context_recall NonLLMContextRecall",
        "contexts reference_contexts",
        "the share of the expected contexts that a retrieved one is like",
        partial(OverlapMetric, measure=recall),
        OverlapOptions,
    ),
    defined(
        "quoted_spans_alignment QuotedSpansAlignment quoted_spans",
        "answer contexts",
        "the share of the answer's quotations that the contexts hold",
        QuotedSpans,
        QuotationOptions,
    ),
)
