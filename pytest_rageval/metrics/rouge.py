"""ROUGE-1, ROUGE-2 and ROUGE-L F-measures, computed by rouge-score or, much faster, its Rust twin.

Lin 2004, as in UltraRAG: on normalised texts, with Porter stemming of words; the best reference
counts. The package ``rouge-score-rs`` (extra ``fast``) is used where it is installed: its results
are identical.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from pydantic import Field

from pytest_rageval import extras
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.metrics.lexical import NEEDS, LexicalOptions, prepare
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.tokenize import PreparedText, has_cjk, require_tokenizer, split_characters


class RougeMetric:
    """One ROUGE measure; texts are tokenised once per sample for all measures."""

    def __init__(self, name: str, options: LexicalOptions, measure: str) -> None:
        self._name = name
        self._normalizer = options.normalizer or "ultrarag"
        self._tokenizer = options.tokenizer
        self._measure = measure
        require_tokenizer(self._tokenizer)

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the F-measure in 0..1."""
        answer, references = prepare(sample, context, self._normalizer, self._tokenizer)
        prediction = _tokens(context, answer)
        return Score(
            self._name,
            max(_figure(self._measure, _tokens(context, text), prediction) for text in references),
        )


class RougeScoreOptions(NoOptions):
    """Which ROUGE, under ragas' names."""

    rouge_type: Literal["rouge1", "rougeL"] = Field("rougeL", description="what is compared")
    mode: Literal["fmeasure", "precision", "recall"] = Field(
        "fmeasure", description="which figure of it is the score"
    )


class RougeScoreMetric:
    """ROUGE as in ragas: on texts that are not normalised, so that articles are kept."""

    def __init__(self, name: str, options: RougeScoreOptions) -> None:
        self._name = name
        self._options = options

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score in 0..1; CJK characters are tokens (ragas drops them)."""
        answer, references = sample.answer or "", sample.references or ()
        split = split_characters if any(map(has_cjk, (answer, *references))) else _stem
        prediction, chosen = split(answer), self._options
        found = (
            _figure(chosen.rouge_type, split(text), prediction, chosen.mode) for text in references
        )
        return Score(self._name, max(found))


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


def _tokens(context: ScoringContext, text: PreparedText) -> list[str]:
    """Return ROUGE's tokens of a text: stemmed words, or the tokens of a CJK tokenizer."""
    if text.tokenizer != "word":
        return text.tokens
    found: list[str] = context.texts.once(("rouge tokens", text.text), lambda: _stem(text.text))
    return found


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


def _definition(name: str, measure: str, *aliases: str, summary: str) -> MetricDefinition:
    return MetricDefinition(
        MetricInfo(name, NEEDS, aliases, summary=summary),
        lambda shown, options: RougeMetric(shown, options, measure),
        LexicalOptions,
    )


METRICS = (
    _definition(
        "rouge-1", "rouge1", "rouge1", "rouge_1", summary="unigrams in common, words stemmed"
    ),
    _definition(
        "rouge-2",
        "rouge2",
        "rouge2",
        "rouge_2",
        summary="bigrams in common; 0 for texts of one token",
    ),
    _definition(
        "rouge-l", "rougeL", "rougeL", "rouge_l", summary="longest common subsequence of tokens"
    ),
    MetricDefinition(
        MetricInfo("rouge_score", NEEDS, ("RougeScore",), summary="ROUGE as ragas computes it"),
        RougeScoreMetric,
        RougeScoreOptions,
    ),
)
