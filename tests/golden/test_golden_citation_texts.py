"""G1: citations in answers, read by hand, and the figures that follow by counting."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.base import METRIC_REGISTRY, AnswerReading, ScoringContext
from pytest_rageval.model import Sample
from pytest_rageval.text.citations import (
    CitationRule,
    CitedSentence,
    CitedText,
    find_style,
    read_citations,
    structured_answer,
)
from tests.golden.conftest import Reference

METRICS = ("citation_validity", "citation_coverage", "source_precision", "source_recall")


def read(case: Any) -> CitedText:
    """Return the answer as a scenario with its rule reads it."""
    if "structured" in case:
        parts = structured_answer(case["structured"])
        assert parts is not None
        sentences = tuple(CitedSentence(text, cited, is_counted=True) for text, cited in parts)
        text = " ".join(text for text, _ in parts)
        return CitedText(text, sentences, tuple(c for _, cited in parts for c in cited))
    given = case["citations"]
    superscripts = find_style([case["answer"]], [case["contexts"]]).rule.superscripts
    rule = CitationRule(given["style"], given["base"], given["of"], superscripts)
    return read_citations(case["answer"], rule, case["contexts"])


def test_each_answer_is_read_as_a_person_does(reference: Reference) -> None:
    cases = reference("answers.json")["families"]["citation_texts"]["cases"]
    assert len(cases) == 25
    for case in cases:
        expected, cited = case["expected"], read(case)
        found = [[sentence.text, list(sentence.citations)] for sentence in cited.sentences]
        assert found == expected["sentences"], case["id"]
        assert cited.stripped == expected["stripped"], case["id"]
        left = [at for at, s in enumerate(cited.sentences) if not s.is_counted]
        assert left == expected.get("not_counted", []), case["id"]


@pytest.mark.parametrize("metric", METRICS)
def test_figures_follow_by_counting(reference: Reference, metric: str) -> None:
    compared = 0
    for case in reference("answers.json")["families"]["citation_texts"]["cases"]:
        if metric not in case["expected"]:
            continue
        names = case.get("names")
        gold = case.get("gold")
        sample = Sample(
            "s",
            answer=case["answer"] or read(case).stripped,
            contexts=("text",) * case["contexts"],
            context_docs=tuple(names) if names else None,
            reference_citations=tuple(gold) if gold else None,
        )
        context = ScoringContext(reading=AnswerReading("answered", read(case)))
        made = METRIC_REGISTRY.get(metric)
        score = made.make(metric, made.options()).score(sample, context)
        assert score.error is None
        assert score.value == pytest.approx(case["expected"][metric]), (case["id"], score)
        compared += 1
    assert compared >= 7
