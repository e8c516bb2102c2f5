"""Weights that the page sends, as options of a run."""

from __future__ import annotations

from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.serving.web.weights import read_weights, run_options

OUTLINE = {
    "metrics": [{"name": "f1"}, {"name": "em"}],
    "docs": {"a=b.md": 3},
    "doc_weights": {"gone.md": 2.0},
}


def test_a_document_without_a_weight_weighs_one() -> None:
    """[A24] Documents are those of the data and of the scenario."""
    body = {"metric_weights": {"f1": 0.1}, "doc_weights": {"a=b.md": 2, "gone.md": None}}
    assert run_options(*read_weights(body, OUTLINE)) == [
        "--rag-metric-weight=f1=0.1",
        "--rag-doc-weight=a=b.md=2",
        "--rag-doc-weight=gone.md=1.0",
    ]


def test_blanks_at_the_ends_of_a_name_are_kept() -> None:
    """[A24] As --rag-set does, with quotes."""
    [option] = run_options({}, {' "a\\b" ': 2})
    flag, _, text = option.partition("=")
    override = set_override(flag, text)
    assert (override.path, override.value) == (("doc_weights", ' "a\\b" '), 2)


def test_nothing_is_sent_when_all_is_as_in_the_file() -> None:
    """[A24] The run then is that of plain pytest."""
    assert run_options(*read_weights({"metric_weights": None}, OUTLINE)) == []
