"""F8: metrics of ragas that ask no model, under its names and with its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval import ScenarioResult, evaluate

Run = Callable[..., ScenarioResult]


def score(metric: Any, **row: Any) -> float | None:
    found = evaluate({"name": "s", "metrics": [metric], "dataset": [row]})
    (value,) = found.samples[0].scores.values()
    return value


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # One of two quotations is in the context, where white space and case are equal.
        ('It "runs on the sea" and "never ever stops"', 0.5),
        ("It \u201cruns on the sea\u201d", 1.0),
        ('It "never ever stops"', 0.0),
        # Two words are too few to count; what quotes nothing is right, as ragas has it.
        ('It "never stops"', 1.0),
        ("It never stops", 1.0),
    ],
)
def test_what_is_quoted_is_looked_for_in_the_contexts(answer: str, expected: float) -> None:
    """[F8]"""
    row = {"answer": answer, "contexts": ["It runs on", "the  Sea."]}
    assert score("QuotedSpansAlignment", **row) == expected


def test_the_options_of_quotations_are_those_of_ragas() -> None:
    """[F8]"""
    row = {"answer": '"The Sea" it is', "contexts": ["the sea"]}
    for options, expected in (({"min_span_words": 2}, 1.0), ({"casefold": False}, 1.0)):
        assert score({"quoted_spans_alignment": options}, **row) == expected
    both = {"min_span_words": 2, "casefold": False}
    assert score({"quoted_spans_alignment": both}, **row) == 0.0


def test_exact_match_of_ragas_is_to_the_letter() -> None:
    """[F8] em normalises."""
    assert score("ExactMatch", answer="Paris", references=["Rome", "Paris"]) == 1.0
    assert score("ExactMatch", answer="paris", references=["Paris"]) == 0.0
    assert score("exact_match", answer="paris.", references=["Paris"]) == 1.0


def test_rouge_of_ragas_keeps_articles() -> None:
    """[F8] "the cats" and "a cat" share a stem, 1 of 2 tokens each; rouge-l drops articles."""
    row = {"answer": "the cats", "references": ["a cat"]}
    assert score("RougeScore", **row) == 0.5
    assert score("rouge-l", **row) == 1.0
    longer = {"answer": "the cats run", "references": ["the cat"]}
    for mode, expected in (("precision", 2 / 3), ("recall", 1.0), ("fmeasure", 0.8)):
        found = score({"RougeScore": {"rouge_type": "rouge1", "mode": mode}}, **longer)
        assert found == pytest.approx(expected)
    assert score("RougeScore", answer="\u4e24\u5e74", references=["\u4e24\u5e74"]) == 1.0
