"""G2: support of citations against ALCE's script and TREC's, but for what they do not count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from others_data import others_data
from table_judge import table_judge

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.metrics.base import METRIC_REGISTRY, AnswerReading, Models
from pytest_rageval.metrics.support.fill import fill_table
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import SupportRow
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.citations import (
    CitationRule,
    CitedSentence,
    CitedText,
    read_citations,
    structured_citations,
)

LEVELS = {0: "none", 1: "partial", 2: "full", -1: None}


def cases_of(family: str) -> Sequence[Mapping[str, Any]]:
    found = json.loads(others_data("reference/answers.json").read_text("utf-8"))
    cases: Sequence[Mapping[str, Any]] = found["families"][family]["cases"]
    return cases


def metric(name: str, **options: Any) -> SupportMetric:
    definition = METRIC_REGISTRY.get(name)
    made = definition.make(name, definition.options(**options))
    assert isinstance(made, SupportMetric)
    return made


def scored(metrics: Sequence[SupportMetric], row: SupportRow, look: Any) -> list[Score | Exception]:
    measures = [metric.measure for metric in metrics]
    table = asyncio.run(fill_table(row, measures, Models(judge=table_judge(look))))
    return [metric.failure(table) or metric.score_of(table) for metric in metrics]


def row_of(sentences: Sequence[CitedSentence], k: int) -> SupportRow:
    contexts = tuple(f"context {place}" for place in range(1, k + 1))
    cited = CitedText("", tuple(sentences), tuple(c for s in sentences for c in s.citations))
    sample = Sample("s", question="q", answer="a", contexts=contexts)
    return SupportRow(sample, "a", AnswerReading("answered", cited))


def of_alce(answer: Mapping[str, Any]) -> list[float | None]:
    """Return citation_recall and citation_precision; a combination not listed supports nothing."""
    read = [read_citations(text, CitationRule()) for text in answer["sentences"]]
    sentences = [
        CitedSentence(f"{at} {one.stripped}", one.citations, is_counted=True)
        for at, one in enumerate(read)
    ]
    true = {
        (sentences[at].text, frozenset(int(place) + 1 for place in combination.split(",")))
        for at, said in enumerate(answer["nli"])
        for combination, is_true in said.items()
        if is_true
    }

    def look(text: str, sources: Sequence[str]) -> str:
        places = frozenset(int(source.removeprefix("context ")) for source in sources)
        return "full" if (text, places) in true else "none"

    metrics = [metric("citation_recall"), metric("citation_precision")]
    found = scored(metrics, row_of(sentences, answer["k"]), look)
    assert all(isinstance(score, Score) and not score.error for score in found)
    return [score.value for score in found if isinstance(score, Score)]


def test_recall_and_precision_are_those_of_alce_by_our_rule() -> None:
    cases = cases_of("alce")
    for case in cases:
        rule = case["rule"]
        expected = [rule["citation_recall"], rule["citation_precision"]]
        assert of_alce(case) == pytest.approx(expected), case["id"]
    assert len(cases) > 20


def test_an_answer_without_sentences_is_in_no_mean_of_alce() -> None:
    cases = cases_of("alce_means")
    for case in cases:
        rows = [of_alce(answer) for answer in case["answers"]]
        for at, name in enumerate(("citation_recall", "citation_precision")):
            values = [row[at] for row in rows if row[at] is not None]
            expected = case["rule"][name]
            assert len(values) == expected["n"], case["id"]
            assert sum(v or 0.0 for v in values) / len(values) == pytest.approx(expected["mean"])
    assert cases


def test_support_is_that_of_trec_and_a_missing_judgement_fails() -> None:
    names = {
        f"{strict}{share}_{cites}": metric(f"support_{share}", strict=bool(strict), cites=cites)
        for strict in ("", "strict_")
        for share in ("precision", "recall")
        for cites in ("first", "all")
    }
    cases, failed = cases_of("support"), 0
    for case in cases:
        said = {
            (f"sentence {at}", int(doc[1:])): LEVELS[label]
            for at, cited in enumerate(case["sentences"])
            for doc, label in cited
        }
        sentences = [
            CitedSentence(
                f"sentence {at}",
                structured_citations([doc[1:] for doc, _ in cited]),
                is_counted=True,
            )
            for at, cited in enumerate(case["sentences"])
        ]

        def look(text: str, sources: Sequence[str], said: Any = said) -> Any:
            (source,) = sources
            return said[text, int(source.removeprefix("context "))]

        found = scored(list(names.values()), row_of(sentences, 9), look)
        if case["rule"] == "failed":
            failed += 1
            # The metrics that read all citations fail; of the first alone, where that is the one.
            of_all = [one for name, one in zip(names, found, strict=True) if name.endswith("all")]
            assert all(isinstance(one, ClientError) for one in of_all), case["id"]
            continue
        values = [one.value for one in found if isinstance(one, Score)]
        assert values == pytest.approx([case["rule"][name] for name in names]), case["id"]
    assert failed > 3
    assert len(cases) > 20
