"""Metrics that compare the answer with the references as text: em, acc, stringem, coverem, f1.

The definitions are those of UltraRAG's evaluation server (the default) or, with
``normalizer: squad``, of the SQuAD evaluation and ALCE. Several references: the best counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.prepared import PreparedText
from pytest_rageval.text.tokenize import require_tokenizer

Normalizer = Literal["ultrarag", "squad", "unicode"]
Tokenizer = Literal["auto", "word", "char", "jieba"]
Compare = Callable[[PreparedText, Sequence[PreparedText], str], float]

NEEDS = frozenset({"answer", "references"})


class LexicalOptions(NoOptions):
    """How texts are made comparable.

    ``normalizer`` None is ``ultrarag``; for answer groups, which only ALCE defines, it is
    ``squad``. ``tokenizer`` auto is ``char`` where Chinese, Japanese or Korean script occurs in
    the sample, else ``word``.
    """

    normalizer: Normalizer | None = None
    tokenizer: Tokenizer = "auto"


class LexicalMetric:
    """Applies a comparison of prepared texts to a sample's answer and references."""

    def __init__(self, name: str, options: LexicalOptions, compare: Compare) -> None:
        self._name = name
        self._normalizer = options.normalizer or "ultrarag"
        self._tokenizer = options.tokenizer
        self._compare = compare
        require_tokenizer(self._tokenizer)

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the comparison's value in 0..1."""
        answer, references = prepare(sample, context, self._normalizer, self._tokenizer)
        return Score(self._name, self._compare(answer, references, self._normalizer))


def prepare(
    sample: Sample, context: ScoringContext, normalizer: str, tokenizer: str
) -> tuple[PreparedText, list[PreparedText]]:
    """Return the answer and the references, normalised, with the tokenizer that fits the sample."""
    key = (normalizer, tokenizer)
    pair = context.pairs.get(key)
    if pair is None:
        answer, references = sample.answer or "", sample.references or ()
        texts = context.texts
        split = texts.resolve_tokenizer(tokenizer, (answer, *references))
        pair = context.pairs[key] = (
            texts.prepare(answer, normalizer, split),
            [texts.prepare(reference, normalizer, split) for reference in references],
        )
    return pair


def exact_match(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when the answer equals a reference, else 0.0."""
    return float(any(answer.text == reference.text for reference in references))


def contains(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when a reference occurs in the answer as a substring, else 0.0.

    An empty reference occurs in every text; in UltraRAG's definition an empty answer still
    scores 0.0, in ALCE's it does not.
    """
    if normalizer == "ultrarag" and not answer.text:
        return 0.0
    return float(any(reference.text in answer.text for reference in references))


def share_matched(
    answer: PreparedText, references: Sequence[PreparedText], normalizer: str
) -> float:
    """Return the share of the references that the answer equals."""
    return sum(answer.text == reference.text for reference in references) / len(references)


def covers(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when all tokens of a reference occur in the answer, in any order, else 0.0."""
    present = answer.vocabulary
    return float(
        any(all(token in present for token in reference.tokens) for reference in references)
    )


def token_f1(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return the best F1 of the answer's tokens against a reference's, as bags.

    2·P·R/(P + R) with P and R the shares of common tokens. Where either side has no tokens:
    0.0 as UltraRAG, or whether both have none as SQuAD.
    """
    return max(_f1(answer, reference, normalizer) for reference in references)


def _f1(answer: PreparedText, reference: PreparedText, normalizer: str) -> float:
    given, wanted = answer.tokens, reference.tokens
    if not given or not wanted:
        return float(normalizer == "squad" and given == wanted)
    if given == wanted:
        return 1.0
    if answer.vocabulary.isdisjoint(wanted):
        return 0.0
    counts = answer.counts
    common = sum(min(count, counts[token]) for token, count in reference.counts.items())
    precision = common / len(given)
    recall = common / len(wanted)
    return (2 * precision * recall) / (precision + recall)


class StringEm:
    """The share of references that the answer equals, or of answer groups that it contains.

    Flat references: UltraRAG's definition. Nested ones are ALCE's answer groups: the share of
    groups of which any alias occurs in the answer (Gao et al. 2023, str_em).
    """

    def __init__(self, name: str, options: LexicalOptions) -> None:
        self._name = name
        self._flat = LexicalMetric(name, options, share_matched)
        self._group_normalizer = options.normalizer or "squad"

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the share in 0..1."""
        groups = sample.reference_groups
        if not groups:
            return self._flat.score(sample, context)
        normalizer = self._group_normalizer
        answer = context.texts.prepare(sample.answer or "", normalizer, "word").text
        hits = sum(
            any(context.texts.prepare(alias, normalizer, "word").text in answer for alias in group)
            for group in groups
        )
        return Score(self._name, hits / len(groups))


def _definition(name: str, compare: Compare, *aliases: str) -> MetricDefinition:
    return MetricDefinition(
        MetricInfo(name, NEEDS, aliases),
        lambda shown, options: LexicalMetric(shown, options, compare),
        LexicalOptions,
    )


METRICS = (
    _definition("em", exact_match, "exact_match"),
    _definition("acc", contains, "accuracy"),
    _definition("coverem", covers, "cover_exact_match"),
    _definition("f1", token_f1, "token_f1"),
    MetricDefinition(
        MetricInfo("stringem", NEEDS, ("string_em", "str_em")),
        StringEm,
        LexicalOptions,
    ),
)
