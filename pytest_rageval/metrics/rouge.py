"""ROUGE-1, ROUGE-2 and ROUGE-L F-measures, computed by rouge-score or, much faster, its Rust twin.

Lin 2004, as in UltraRAG: on normalised texts, with Porter stemming of words; the best reference
counts. The package ``rouge-score-rs`` (extra ``fast``) is used where it is installed: its results
are identical. The tokenizer of both drops all letters but a to z, so that two texts in Cyrillic
would have nothing but digits in common: a pair mostly in such a script is compared by its words as
they are, unless ``tokenizer: word`` is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal

from pydantic import Field

from pytest_rageval import extras
from pytest_rageval.metrics.base import MetricDefinition, NoOptions, defined
from pytest_rageval.metrics.lexical import NEEDS, LexicalMetric, LexicalOptions, StringMetric
from pytest_rageval.text.tokenize import (
    PreparedText,
    has_cjk,
    normalize_unicode,
    split_characters,
)

_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# Scripts from Greek on, with the signs of their vowels. One Greek letter alone is a symbol: 10 Ω.
_OTHER_SCRIPT: Final = re.compile(
    "[\u0370-\u03ff]{2,}|[\u0400-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2d00-\u2dff\ua4d0-\ua6ff"
    "\ua800-\uab2f\uab70-\uabff\ufb13-\ufdff\ufe70-\ufefc]+"
)


def _rouge(names: str, summary: str, measure: str) -> MetricDefinition:
    """Return the metric of a measure: its F-measure with the best reference, 0..1.

    The tokenizer ``word`` is rouge-score's for every script, as in UltraRAG.
    """

    def make(name: str, options: LexicalOptions) -> LexicalMetric:
        def compare(answer: PreparedText, references: Sequence[PreparedText], _: str) -> float:
            is_auto = options.tokenizer == "auto"
            return max(_figure(measure, *_tokens(text, answer, is_auto)) for text in references)

        return LexicalMetric(name, options, compare)

    return defined(names, NEEDS, summary, make, LexicalOptions)


class RougeScoreOptions(NoOptions):
    """Which ROUGE, under ragas' names."""

    rouge_type: Literal["rouge1", "rougeL"] = Field("rougeL", description="what is compared")
    mode: Literal["fmeasure", "precision", "recall"] = Field(
        "fmeasure", description="which figure of it is the score"
    )


def _as_in_ragas(name: str, options: RougeScoreOptions) -> StringMetric:
    """Return ROUGE as in ragas: on texts that are not normalised, so that articles are kept.

    CJK characters and words of other scripts are tokens (ragas drops them).
    """

    def figure(answer: str, reference: str, *, is_cjk: bool) -> float:
        split = split_characters if is_cjk else _splitter(answer, reference)
        return _figure(options.rouge_type, split(reference), split(answer), options.mode)

    def compare(answer: str, references: Sequence[str]) -> float:
        is_cjk = any(map(has_cjk, (answer, *references)))
        return max(figure(answer, text, is_cjk=is_cjk) for text in references)

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


def _tokens(
    target: PreparedText, prediction: PreparedText, is_auto: bool
) -> tuple[list[str], list[str]]:
    """Return the tokens of a pair: of ``_splitter`` or ``_stem``, or those of a CJK tokenizer."""
    if target.tokenizer != "word":
        return target.tokens, prediction.tokens
    split = _splitter(target.text, prediction.text) if is_auto else _stem
    return split(target.text), split(prediction.text)


def _splitter(*texts: str) -> Callable[[str], list[str]]:
    """Return rouge-score's tokenizer, or one of whole words where that drops most letters."""
    if all(map(str.isascii, texts)):
        return _stem
    text = "\n".join(texts)
    others = sum(map(len, _OTHER_SCRIPT.findall(text)))
    return _words if others and others > len(_LATIN.findall(text)) else _stem


# The measures of a sample are computed one after the other.
@lru_cache(maxsize=64)
def _words(text: str) -> list[str]:
    return normalize_unicode(text).split()


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
    _rouge("rouge-1 rouge1 rouge_1", "unigrams in common, words stemmed", "rouge1"),
    _rouge("rouge-2 rouge2 rouge_2", "bigrams in common; 0 for texts of one token", "rouge2"),
    _rouge("rouge-l rougeL rouge_l", "longest common subsequence of tokens", "rougeL"),
    defined(
        "rouge_score RougeScore",
        NEEDS,
        "ROUGE as ragas computes it",
        _as_in_ragas,
        RougeScoreOptions,
    ),
)
