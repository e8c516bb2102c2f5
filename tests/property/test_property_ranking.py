"""D4, B4: rankings and contexts of any shape against their definitions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval import ScenarioResult, UserError, evaluate
from pytest_rageval.metrics.base import METRIC_REGISTRY, NotationError, parse_notation
from pytest_rageval.metrics.ranking import Hits, Match, find_hits, score_rankings
from pytest_rageval.model import Sample

Files = Callable[[Mapping[str, bytes]], Path]

ids = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.text(max_size=3),
    st.sampled_from(["\ud800", "a\0"]),
)
searches = st.tuples(
    st.lists(ids, max_size=12, unique=True),
    # Nothing but negative ones end a process that lets trec_eval see them: test_ranking has those.
    st.dictionaries(ids, st.integers(-2, 5), min_size=1, max_size=8).filter(
        lambda judged: max(judged.values()) >= 0
    ),
)
NAMES = ("precision@3", "recall@3", "mrr", "mrr@3", "map", "ndcg@3", "ndcg", "hit_rate@3", "rprec")


def by_definition(retrieved: list[str], judged: Mapping[str, int]) -> dict[str, float]:
    relevant = {name for name, grade in judged.items() if grade > 0}
    hits = [name in relevant for name in retrieved]
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    count = len(relevant)
    gains = [max(judged.get(name, 0), 0) for name in retrieved]
    best = sorted((max(grade, 0) for grade in judged.values()), reverse=True)
    return {
        "precision@3": sum(hits[:3]) / 3,
        "recall@3": sum(hits[:3]) / count if count else 0.0,
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "mrr@3": 1 / ranks[0] if ranks and ranks[0] <= 3 else 0.0,
        "map": sum(at / rank for at, rank in enumerate(ranks, 1)) / count if count else 0.0,
        "ndcg@3": _share(gains[:3], best[:3]),
        "ndcg": _share(gains, best),
        "hit_rate@3": float(any(hits[:3])),
        "rprec": sum(hits[:count]) / count if count else 0.0,
    }


def _share(gains: list[int], best: list[int]) -> float:
    ideal = _discounted(best)
    return _discounted(gains) / ideal if ideal else 0.0


def _discounted(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def make(name: str) -> Any:
    notation = parse_notation(name)
    definition = METRIC_REGISTRY.get(notation.base)
    return definition.make(name, definition.options.model_validate(notation.options))


@pytest.mark.full
@given(st.lists(searches, min_size=1, max_size=6))
def test_a_batch_gives_what_the_definitions_say(
    batch: list[tuple[list[str], dict[str, int]]],
) -> None:
    """D4: any ids, any grades, several samples at once."""
    samples = [
        Sample("same id", at, retrieved_ids=tuple(retrieved), reference_ids=judged)
        for at, (retrieved, judged) in enumerate(batch)
    ]
    found = score_rankings([make(name) for name in NAMES], samples)
    for at, (retrieved, judged) in enumerate(batch):
        expected = by_definition(retrieved, judged)
        for name, row in zip(NAMES, found, strict=True):
            value = row[at].value
            assert value is not None
            assert abs(value - expected[name]) < 1e-12, (name, retrieved, judged)


lines = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "问"]),
        st.sampled_from(["a", "b", "文档"]),
        st.sampled_from(["0", "1", "2", "-1", "1.0", "x", "1e9", ""]),
        st.sampled_from(["1", "2.5", "-3e2", "inf", "nan", "high"]),
    ),
    max_size=6,
)


@pytest.mark.full
@given(lines, lines, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n"]))
def test_trec_files_are_scored_or_refused_with_their_places(
    files: Files, judged: list[Any], retrieved: list[Any], gap: str, end: str
) -> None:
    """D5, E12: whatever stands in them."""
    qrels = "".join(gap.join((query, "0", name, grade)) + end for query, name, grade, _ in judged)
    run = "".join(
        gap.join((query, "Q0", name, "1", score, "r")) + end for query, name, _, score in retrieved
    )
    path = files(
        {
            "q.txt": qrels.encode(),
            "r.txt": run.encode(),
            "s.yaml": b"name: s\nqrels_path: q.txt\nrun_path: r.txt\nmetrics: [map, ndcg@2]\n",
        }
    )
    places: set[str] = set()
    try:
        result: ScenarioResult = evaluate(path)
    except UserError as error:
        places = {problem.where.split(":")[0] for problem in error.problems}
    assert places <= {"q.txt", "r.txt"}
    if places:
        return
    assert [sample.sample_id for sample in result.samples] == list(
        dict.fromkeys(query for query, *_ in judged)
    )
    assert all(0.0 <= (sample.scores["map"] or 0.0) <= 1.0 for sample in result.samples)


cells = st.one_of(
    st.none(),
    ids,
    st.integers(-(10**12), 10**12),
    st.booleans(),
    st.floats(),
    st.lists(st.one_of(ids, st.none(), st.integers(0, 9)), max_size=4),
    st.dictionaries(ids, st.one_of(st.integers(-(10**12), 10**12), st.floats(), ids), max_size=3),
    st.lists(st.fixed_dictionaries({"id": ids, "grade": st.integers(-9, 9)}), max_size=3),
    st.sampled_from(["[]", "a;b", '{"a": 1}', '{"a": 1e999}', "{", "['a', 'b']", "[[[", "nan"]),
)


def _is_harmless(cell: Any) -> bool:
    grades = cell.values() if isinstance(cell, dict) else ()
    listed = (
        [one["grade"] for one in cell if isinstance(one, dict)] if isinstance(cell, list) else ()
    )
    numbers = [grade for grade in (*grades, *listed) if isinstance(grade, int | float)]
    return not numbers or max(numbers) >= 0


rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "retrieved_ids": cells,
            "reference_ids": cells.filter(_is_harmless),
            "contexts": cells,
            "reference_contexts": cells,
            "doc_name": ids,
        },
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.full
@given(rows, st.sampled_from(["normalized", "exact", "contains", "doc_name"]))
def test_rows_of_any_content_are_scored_unscored_or_refused(
    files: Files, data: list[dict[str, Any]], match: str
) -> None:
    """A19, A20, D5: nothing crashes, nothing is out of range, nothing but words is an error."""
    content = "".join(json.dumps(row) + "\n" for row in data).encode()
    scenario = (
        f"name: s\nmetrics: [hit_rate, mrr@2, recall, precision@2, map, ndcg]\nmatch: {match}\n"
    )
    path = files({"r.jsonl": content, "s.yaml": (scenario + "dataset: r.jsonl\n").encode()})
    try:
        result = evaluate(path)
    except UserError:
        return
    for sample in result.samples:
        assert set(sample.errors) <= {"row"}, sample.errors
        for value in sample.scores.values():
            assert value is None or 0.0 <= value <= 1.0


# Contexts

texts = st.lists(
    st.one_of(
        st.sampled_from(["a", "A.", "a b", "ab", "…", "-", "Ａ", "北京。", "北京"]),
        st.text(min_size=1, max_size=4).filter(str.strip),
    ),
    min_size=1,
    max_size=5,
)


def hits(shown: list[str], expected: list[str], match: Match) -> Hits:
    sample = Sample("s", contexts=tuple(shown), reference_contexts=tuple(expected))
    return find_hits(sample, match)


@given(texts, texts)
def test_each_kind_of_match_finds_what_the_stricter_one_finds(
    shown: list[str], expected: list[str]
) -> None:
    """B4: exact, normalized, contains."""
    kinds: tuple[Match, ...] = ("exact", "normalized", "contains")
    found = [hits(shown, expected, kind).reciprocal_rank(None) for kind in kinds]
    assert found == sorted(found)


@given(texts, texts, st.integers(1, 6))
def test_measures_of_contexts_agree_with_each_other(
    shown: list[str], expected: list[str], k: int
) -> None:
    """B1, B2: within 0..1; something is found when its rank is."""
    found = hits(shown, expected, "normalized")
    for measure in (found.hit_rate, found.reciprocal_rank, found.precision, found.recall):
        assert 0.0 <= measure(k) <= 1.0
    assert (found.reciprocal_rank(k) > 0) == (found.hit_rate(k) == 1.0) == (found.recall(k) > 0)
    assert found.recall(k) <= found.recall(None)


@given(st.text(max_size=12))
def test_any_text_is_notation_or_is_not(name: str) -> None:
    """D4, E12."""
    for text in (name, f"ndcg@{name}", f"P({name})@5", f"P(rel={name})"):
        try:
            parse_notation(text)
        except NotationError:
            continue
