"""B1, B2, B4: which contexts are expected ones, and the measures over them, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_rageval.metrics.context_hits import Hits, Match, find_hits
from pytest_rageval.model import Sample


def hits(contexts: Sequence[str], expected: Sequence[str], match: Match, **fields: Any) -> Hits:
    fields.setdefault("reference_contexts", tuple(expected))
    return find_hits(Sample("s", contexts=tuple(contexts), **fields), match)


@pytest.mark.parametrize(
    ("context", "expected", "matches"),
    [
        ("Paris", "Paris", {"exact", "normalized", "contains", "holds"}),
        ("paris!", "Paris", {"normalized", "contains", "holds"}),
        ("one\n\ntwo", "one two", {"normalized", "contains", "holds"}),
        ("ＲＡＧ，北京。", "rag 北京", {"normalized", "contains", "holds"}),
        ("cafe\u0301", "caf\u00e9", {"normalized", "contains", "holds"}),
        ("STRASSE", "Straße", {"normalized", "contains", "holds"}),
        ("in Paris, France", "paris", {"contains", "holds"}),
        ("paris", "in Paris, France", {"contains"}),
        ("双源CT成像技术", "双源ct", {"contains", "holds"}),
        (
            "All rules: see the guide for guests.",
            "See [the guide](guide.md#g) for guests",
            {"holds"},
        ),
        ("See [the guide](other.md) for guests.", "see the guide for guests", {"holds"}),
        (
            "Intro. The Eiffel Tower is 330 m high. End",
            "The [Eiffel Tower](https://en.wikipedia.org/wiki/Tower_(Paris)) is 330 m high.",
            {"holds"},
        ),
        ("See the guide first.", 'See the [guide](https://x.org/a "Guide") first.', {"holds"}),
        ("See the guide first.", "See the [guide](https://x.org/a 'Our map') first.", {"holds"}),
        ("See [the guide] (first).", "See [the guide] (last).", set()),
        ("See [the map](guide.md) for guests.", "see [the guide](guide.md) for guests", set()),
        ("Paris", "Rome", set()),
        ("", "Rome", set()),
        # Nothing is left of a text of punctuation; it says nothing that could be found.
        ("...", "Rome", set()),
        ("...", "!!!", set()),
    ],
)
def test_each_kind_of_match(context: str, expected: str, matches: set[str]) -> None:
    """B4."""
    kinds: tuple[Match, ...] = ("exact", "normalized", "contains", "holds")
    assert {kind for kind in kinds if hits([context], [expected], kind).relevant[0]} == matches


def test_the_rank_of_each_expected_context() -> None:
    """Contexts x, b, a: b is found at 2, a at 3, c nowhere."""
    found = hits(["x", "b", "a"], ["a", "b", "c"], "exact")
    assert found == Hits(relevant=(False, True, True), found_at=(3, 2, 0))


@pytest.mark.parametrize(
    ("k", "hit_rate", "reciprocal_rank", "precision", "recall"),
    [
        (1, 0.0, 0.0, 0.0, 0.0),
        (2, 1.0, 1 / 2, 1 / 2, 1 / 3),
        (3, 1.0, 1 / 2, 2 / 3, 2 / 3),
        (4, 1.0, 1 / 2, 2 / 4, 2 / 3),
        (10, 1.0, 1 / 2, 2 / 10, 2 / 3),
        (None, 1.0, 1 / 2, 2 / 4, 2 / 3),
    ],
)
def test_measures_at_k(
    k: int | None, hit_rate: float, reciprocal_rank: float, precision: float, recall: float
) -> None:
    """B1, B2: of x, b, a, y the second and third are two of three expected ones.

    Precision divides by k, as trec_eval's P does, also where fewer were retrieved.
    """
    found = hits(["x", "b", "a", "y"], ["a", "b", "c"], "exact")
    assert found.hit_rate(k) == hit_rate
    assert found.reciprocal_rank(k) == reciprocal_rank
    assert found.precision(k) == precision
    assert found.recall(k) == recall


def test_nothing_retrieved_finds_nothing() -> None:
    found = hits([], ["a"], "normalized")
    for k in (None, 1):
        assert found.hit_rate(k) == found.reciprocal_rank(k) == 0.0
        assert found.precision(k) == found.recall(k) == 0.0


@pytest.mark.parametrize("match", ["exact", "normalized", "contains"])
def test_a_context_that_is_retrieved_twice_is_relevant_once(match: Match) -> None:
    """Of a, x, a the third says nothing new: precision 1/3, recall of a and b 1/2."""
    found = hits(["a", "x", "a"], ["a", "b"], match)
    assert found.relevant == (True, False, False)
    assert found.precision(None) == 1 / 3
    assert found.recall(None) == 1 / 2


def test_the_same_context_in_another_spelling_is_a_second_one_only_for_exact_matches() -> None:
    assert hits(["A.", "a"], ["a"], "normalized").relevant == (True, False)
    assert hits(["A.", "a"], ["a", "A."], "exact").relevant == (True, True)


def test_an_expected_context_that_is_named_twice_counts_once() -> None:
    """Recall of a, a, b by a alone is 1/2; "A!" is "a" where spelling does not count."""
    assert hits(["a"], ["a", "a", "b"], "exact").recall(None) == 1 / 2
    assert hits(["a"], ["a", "A!", "b"], "normalized").recall(None) == 1 / 2


# doc_name


def by_document(
    docs: Sequence[str | None], wanted: str, texts: Sequence[str] | None = None
) -> Hits:
    texts = texts or [f"text {at}" for at in range(len(docs))]
    return hits(texts, (), "doc_name", context_docs=tuple(docs), doc_name=wanted)


def test_a_context_of_the_rows_document_is_expected() -> None:
    """B4: b, a, a, none; a context that names no document is of no document."""
    found = by_document(["b.pdf", "a.pdf", "a.pdf", None], "a.pdf")
    assert found == Hits(relevant=(False, True, True, False), found_at=(2,))
    assert (found.reciprocal_rank(None), found.precision(None)) == (1 / 2, 2 / 4)
    assert (found.recall(1), found.recall(2)) == (0.0, 1.0)


def test_names_of_documents_are_compared_in_nfc_without_blanks_around() -> None:
    """A4, B4: as everywhere; case counts."""
    assert by_document(["cafe\u0301.pdf"], "caf\u00e9.pdf").relevant == (True,)
    assert by_document([" a.pdf "], "a.pdf").relevant == (True,)
    assert by_document(["A.pdf"], "a.pdf").relevant == (False,)


def test_a_row_without_a_document_is_not_answered_by_contexts_without_one() -> None:
    """B4: two missing names are not the same name."""
    assert by_document([None, ""], "a.pdf").relevant == (False, False)


def test_the_same_text_in_two_documents_is_two_texts() -> None:
    """B4: "page 1" of b.pdf stands before "page 1" of a.pdf, which is the one that was wanted."""
    found = by_document(["b.pdf", "a.pdf"], "a.pdf", ["page 1", "page 1"])
    assert found.relevant == (False, True)
    assert found.hit_rate(None) == found.recall(None) == 1.0
