"""ROUGE-1, ROUGE-2 and ROUGE-L F-measures, computed by rouge-score or, much faster, its Rust twin.

Lin 2004, as UltraRAG uses it: on the normalised texts, Porter stemming for words, the best
reference counts. The package ``rouge-score-rs`` (extra ``fast``) has the same interface and gives
the same bits; it is used when it is installed.
"""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

from pytest_rageval import extras
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, ScoringContext
from pytest_rageval.metrics.lexical import NEEDS, LexicalOptions, prepare
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.prepared import PreparedText
from pytest_rageval.text.tokenize import require_tokenizer


class RougeMetric:
    """One ROUGE measure; texts are tokenised once per sample, whatever measures look at them."""

    def __init__(self, name: str, options: LexicalOptions, measure: str) -> None:
        self._name = name
        self._normalizer = options.normalizer or "ultrarag"
        self._tokenizer = options.tokenizer
        self._measure = measure
        require_tokenizer(self._tokenizer)

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the F-measure in 0..1."""
        answer, references = prepare(sample, context, self._normalizer, self._tokenizer)
        find = partial(_tokens, context)
        best = max(self._f_measure(find(reference), find(answer)) for reference in references)
        return Score(self._name, best)

    def _f_measure(self, target: list[str], prediction: list[str]) -> float:
        if not target or not prediction:
            return 0.0
        return float(_scorer(self._measure).score(target, prediction)[self._measure].fmeasure)


class _GivenTokens:
    """The tokenizer of a scorer that is handed tokens instead of texts."""

    def tokenize(self, tokens: list[str]) -> list[str]:
        return tokens


def _tokens(context: ScoringContext, text: PreparedText) -> list[str]:
    """Return ROUGE's tokens of a text: stemmed words, or those of a CJK tokenizer as they are."""
    if text.tokenizer != "word":
        return text.tokens
    found: list[str] = context.texts.once(("rouge tokens", text.text), lambda: _stem(text.text))
    return found


def _stem(text: str) -> list[str]:
    tokens: list[str] = _default_tokenizer().tokenize(text)
    return tokens


# The backends are loaded when the first text is scored: rouge-score pulls in nltk, which takes
# over a second that neither collection nor the xdist controller should pay.
@cache
def _scorer(measure: str) -> Any:
    return _backend("rouge_scorer").RougeScorer([measure], tokenizer=_GivenTokens())


@cache
def _default_tokenizer() -> Any:
    return _backend("tokenizers").DefaultTokenizer(True)


def _backend(module: str) -> ModuleType:
    package = "rouge_score_rs" if extras.installed("rouge_score_rs") else "rouge_score"
    return import_module(f"{package}.{module}")


def _definition(name: str, measure: str, *aliases: str) -> MetricDefinition:
    return MetricDefinition(
        MetricInfo(name, NEEDS, aliases),
        partial(_make, measure=measure),
        LexicalOptions,
    )


def _make(name: str, options: LexicalOptions, measure: str) -> RougeMetric:
    return RougeMetric(name, options, measure)


METRICS = (
    _definition("rouge-1", "rouge1", "rouge1", "rouge_1"),
    _definition("rouge-2", "rouge2", "rouge2", "rouge_2"),
    _definition("rouge-l", "rougeL", "rougeL", "rouge_l"),
)
