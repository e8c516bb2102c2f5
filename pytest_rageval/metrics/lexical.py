"""Metrics that compare the answer with the references as text: em, acc, stringem, coverem, f1.

The definitions are UltraRAG's (the default) or, with ``normalizer: squad``, those of the SQuAD
evaluation and ALCE. Of several references the best counts (stringem: their share). A reference of
which normalising leaves nothing is in no answer that says something: else it would be in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from pydantic import Field

from pytest_rageval.metrics.base import MetricDefinition, NoOptions, ScoringContext, defined
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.tokenize import PreparedText, require_tokenizer

Normalizer = Literal["ultrarag", "squad", "unicode"]
Tokenizer = Literal["auto", "word", "char", "jieba"]
TOKENIZER: Final = "auto: char where the sample has Chinese, Japanese or Korean script, else word"
Compare = Callable[[PreparedText, Sequence[PreparedText], str], float]

NEEDS: Final = "answer references"
NOTHING_LEFT: Final = (
    "the normalizer leaves nothing of the references (normalizer: unicode keeps articles)"
)


class LexicalOptions(NoOptions):
    """How texts are normalised and tokenised; answer groups by default as in ALCE."""

    normalizer: Normalizer | None = Field(
        None, description="what counts as equal; ultrarag when absent, squad for answer groups"
    )
    tokenizer: Tokenizer = Field("auto", description=TOKENIZER)


class LexicalMetric:
    """Applies a comparison of prepared texts to a sample's answer and references."""

    def __init__(self, name: str, options: LexicalOptions, compare: Compare) -> None:
        self._name = name
        self._normalizer = options.normalizer or "ultrarag"
        self._tokenizer = options.tokenizer
        self._compare = compare
        require_tokenizer(self._tokenizer)

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the comparison's value in 0..1; 0 has a reason if no reference has text left."""
        answer, references = prepare(sample, context, self._normalizer, self._tokenizer)
        value = self._compare(answer, references, self._normalizer)
        reason = None if value or any(known.text for known in references) else NOTHING_LEFT
        return Score(self._name, value, reason)


def prepare(
    sample: Sample, context: ScoringContext, normalizer: str, tokenizer: str
) -> tuple[PreparedText, list[PreparedText]]:
    """Return the answer and the references, normalised, with the tokenizer for this sample."""

    def make() -> tuple[PreparedText, list[PreparedText]]:
        answer, references = sample.answer or "", sample.references or ()
        split = texts.resolve_tokenizer(tokenizer, (answer, *references))
        prepared = [texts.prepare(reference, normalizer, split) for reference in references]
        return texts.prepare(answer, normalizer, split), prepared

    texts = context.texts
    return texts.once(("answer and references", normalizer, tokenizer), make)


def exact_match(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when the answer equals a reference, else 0.0."""
    # Not float(any(...)): a million samples would keep as many numbers.
    return 1.0 if any(answer.text == reference.text for reference in references) else 0.0


def contains(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when a reference occurs in the answer as a substring, else 0.0.

    For an empty answer and an empty reference 0.0 with ``ultrarag``, as UltraRAG has it; with the
    other normalizers 1.0, as in ALCE.
    """
    if normalizer == "ultrarag" and not answer.text:
        return 0.0
    return 1.0 if any(is_part(reference.text, answer.text) for reference in references) else 0.0


def is_part(reference: str, answer: str) -> bool:
    """Return whether a reference is a part of the answer; an empty one only of an empty answer."""
    return reference in answer if reference else not answer


def share_matched(
    answer: PreparedText, references: Sequence[PreparedText], normalizer: str
) -> float:
    """Return the share of the references that the answer equals."""
    return sum(answer.text == reference.text for reference in references) / len(references)


def covers(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return 1.0 when all tokens of a reference occur in the answer, in any order, else 0.0.

    Only an answer without tokens covers a reference without tokens.
    """
    present = answer.vocabulary
    told = [reference for reference in references if reference.tokens or not present]
    return float(any(all(token in present for token in reference.tokens) for reference in told))


def token_f1(answer: PreparedText, references: Sequence[PreparedText], normalizer: str) -> float:
    """Return the best F1 of the answer's tokens against a reference's, as bags.

    2·P·R/(P + R) with P and R the shares of common tokens. Where a side has no tokens: 0.0, as in
    UltraRAG; but 1.0, as in SQuAD, if neither has any and ``normalizer`` is squad.
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
    groups of which any alias occurs in the answer (Gao et al. 2023, str_em). Both compare texts,
    not tokens: the option ``tokenizer`` has no effect.
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
            any(
                is_part(context.texts.prepare(alias, normalizer, "word").text, answer)
                for alias in group
            )
            for group in groups
        )
        return Score(self._name, hits / len(groups))


class StringMetric:
    """Applies a comparison of texts as they are to a sample's answer and references."""

    def __init__(self, name: str, compare: Callable[[str, Sequence[str]], float]) -> None:
        self._name = name
        self._compare = compare

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the comparison's value in 0..1."""
        return Score(self._name, self._compare(sample.answer or "", sample.references or ()))


def lexical_metric(
    names: str,
    summary: str,
    compare: Compare,
    options: type[LexicalOptions] = LexicalOptions,
) -> MetricDefinition:
    """Return a metric that compares normalised texts and their tokens."""

    def make(shown: str, chosen: LexicalOptions) -> LexicalMetric:
        return LexicalMetric(shown, chosen, compare)

    return defined(names, NEEDS, summary, make, options)


def string_metric(
    names: str, summary: str, compare: Callable[[str, Sequence[str]], float]
) -> MetricDefinition:
    """Return a metric that compares texts as they are."""
    return defined(names, NEEDS, summary, lambda shown, _: StringMetric(shown, compare))


METRICS = (
    lexical_metric("em exact_match", "1 if the answer equals a reference, else 0", exact_match),
    lexical_metric(
        "acc accuracy", "1 if a reference is a part of the answer (art of start), else 0", contains
    ),
    lexical_metric(
        "coverem cover_exact_match",
        "1 if all tokens of a reference are in the answer, in any order, else 0",
        covers,
    ),
    lexical_metric(
        "f1 token_f1",
        "tokens in common: the harmonic mean of precision and recall",
        token_f1,
    ),
    defined(
        "stringem string_em str_em",
        NEEDS,
        "the share of references, or groups of them, that are met",
        StringEm,
        LexicalOptions,
        reads=frozenset({"reference_groups"}),
    ),
)
