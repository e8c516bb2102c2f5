"""BLEU and chrF of the answer: n-grams of tokens, or of characters, in common with a reference.

Both are computed for one answer, as sacrebleu's ``sentence_bleu`` and ``sentence_chrf``, divided by
100. The best reference counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from pytest_rageval.metrics.lexical import (
    LexicalOptions,
    Normalizer,
    lexical_metric,
    string_metric,
)
from pytest_rageval.text.tokenize import PreparedText

_BLEU_ORDER = 4
_CHRF_ORDER = 6
_CHRF_BETA = 2


class BleuOptions(LexicalOptions):
    """How texts become tokens; by default, articles are kept."""

    normalizer: Normalizer = Field("unicode", description="what counts as equal")


def bleu(answer: Sequence[str], reference: Sequence[str]) -> float:
    """Return the geometric mean of the n-gram precisions, times the penalty for brevity.

    (Papineni et al. 2002.) n goes up to 4, or to the length of a shorter answer. An order without a
    match counts half a match, the next one a quarter, and so on (NIST's smoothing, Chen and Cherry
    2014, method 3); without any match the score is 0.
    """
    logs, halved = [], 1.0
    orders = range(1, min(_BLEU_ORDER, len(answer)) + 1)
    matches = [_common(answer, reference, order) for order in orders]
    if not any(matches):
        return 0.0
    for order, found in zip(orders, matches, strict=True):
        halved = halved if found else halved / 2.0
        logs.append(math.log((found or halved) / (len(answer) - order + 1)))
    brevity = min(0.0, 1.0 - len(reference) / len(answer))
    return math.exp(brevity + math.fsum(logs) / len(logs))


def chrf(answer: str, reference: str) -> float:
    """Return the F-measure, recall counting twice, of character n-grams without white space.

    ChrF2 (Popović 2015) needs no tokenizer and works for every script. Precision and recall are
    means over n = 1..6, or up to the length of the shorter text.
    """
    given, wanted = "".join(answer.split()), "".join(reference.split())
    last = min(_CHRF_ORDER, len(given), len(wanted))
    if not last:
        return 0.0
    matches = [_common(given, wanted, order) for order in range(1, last + 1)]
    precision = sum(n / (len(given) - at) for at, n in enumerate(matches)) / last
    recall = sum(n / (len(wanted) - at) for at, n in enumerate(matches)) / last
    if not precision:
        return 0.0
    factor = _CHRF_BETA**2
    return (1 + factor) * precision * recall / (factor * precision + recall)


def _common(one: Sequence[str], other: Sequence[str], order: int) -> int:
    """Return how many n-grams two sequences have in common, as bags."""
    return sum((_ngrams(one, order) & _ngrams(other, order)).values())


def _ngrams(sequence: Sequence[str], order: int) -> Counter[Sequence[str] | tuple[str, ...]]:
    if isinstance(sequence, str):
        return Counter(sequence[at : at + order] for at in range(len(sequence) - order + 1))
    return Counter(tuple(sequence[at : at + order]) for at in range(len(sequence) - order + 1))


def _best_bleu(answer: PreparedText, references: Sequence[PreparedText], _: str) -> float:
    return max(bleu(answer.tokens, text.tokens) for text in references)


def _best_chrf(answer: str, references: Sequence[str]) -> float:
    return max(chrf(answer, text) for text in references or ("",))


METRICS = (
    lexical_metric(
        "bleu bleu_score BleuScore",
        "n-grams of the answer that a reference has",
        _best_bleu,
        BleuOptions,
    ),
    string_metric(
        "chrf chrf_score CHRFScore chrf2",
        "n-grams of characters in common, for every script",
        _best_chrf,
    ),
)
