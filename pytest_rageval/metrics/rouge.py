"""ROUGE-1, ROUGE-2 and ROUGE-L F-measures, computed by rouge-score or, much faster, its Rust twin.

Lin 2004, as in UltraRAG: on normalised texts, with Porter stemming of words; the best reference
counts. The package ``rouge-score-rs`` (extra ``fast``) is used where it is installed: its results
are identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from pydantic import Field

from pytest_rageval import extras
from pytest_rageval.metrics.base import NoOptions, defined
from pytest_rageval.metrics.lexical import NEEDS, Compare, StringMetric, lexical_metric
from pytest_rageval.text.tokenize import PreparedText, has_cjk, split_characters


def _rouge(measure: str) -> Compare:
    """Return the comparison by a measure: its F-measure with the best reference, 0..1."""

    def compare(answer: PreparedText, references: Sequence[PreparedText], _: str) -> float:
        prediction = _tokens(answer)
        return max(_figure(measure, _tokens(text), prediction) for text in references)

    return compare


class RougeScoreOptions(NoOptions):
    """Which ROUGE, under ragas' names."""

    rouge_type: Literal["rouge1", "rougeL"] = Field("rougeL", description="what is compared")
    mode: Literal["fmeasure", "precision", "recall"] = Field(
        "fmeasure", description="which figure of it is the score"
    )


def _as_in_ragas(name: str, options: RougeScoreOptions) -> StringMetric:
    """Return ROUGE as in ragas: on texts that are not normalised, so that articles are kept.

    CJK characters are tokens (ragas drops them).
    """

    def compare(answer: str, references: Sequence[str]) -> float:
        split = split_characters if any(map(has_cjk, (answer, *references))) else _stem
        prediction = split(answer)
        return max(
            _figure(options.rouge_type, split(text), prediction, options.mode)
            for text in references
        )

    return StringMetric(name, compare)


def _figure(
    measure: str, target: list[str], prediction: list[str], figure: str = "fmeasure"
) -> float:
    if not target or not prediction:
        return 0.0
    return float(getattr(_scorer(measure).score(target, prediction)[measure], figure))


class _GivenTokens:
    """The tokenizer of a scorer that gets tokens instead of texts."""

    def tokenize(self, tokens: list[str]) -> list[str]:
        return tokens


def _tokens(text: PreparedText) -> list[str]:
    """Return ROUGE's tokens of a text: stemmed words, or the tokens of a CJK tokenizer."""
    return _stem(text.text) if text.tokenizer == "word" else text.tokens


# The measures of a sample are computed one after the other.
@lru_cache(maxsize=64)
def _stem(text: str) -> list[str]:
    tokens: list[str] = _default_tokenizer().tokenize(text)
    return tokens


# Loaded when the first text is scored: rouge-score imports nltk, which takes over a second that
# neither collection nor the xdist controller should spend.
@cache
def _scorer(measure: str) -> Any:
    return _backend("rouge_scorer").RougeScorer([measure], tokenizer=_GivenTokens())


@cache
def _default_tokenizer() -> Any:
    return _backend("tokenizers").DefaultTokenizer(True)


def _backend(module: str) -> ModuleType:
    package = "rouge_score_rs" if extras.installed("rouge_score_rs") else "rouge_score"
    return import_module(f"{package}.{module}")


METRICS = (
    lexical_metric("rouge-1 rouge1 rouge_1", "unigrams in common, words stemmed", _rouge("rouge1")),
    lexical_metric(
        "rouge-2 rouge2 rouge_2", "bigrams in common; 0 for texts of one token", _rouge("rouge2")
    ),
    lexical_metric(
        "rouge-l rougeL rouge_l", "longest common subsequence of tokens", _rouge("rougeL")
    ),
    defined(
        "rouge_score RougeScore",
        NEEDS,
        "ROUGE as ragas computes it",
        _as_in_ragas,
        RougeScoreOptions,
    ),
)
