"""The garden's answers in an ordinary test: asked here, scored by by_test.yaml."""

from __future__ import annotations

import pytest
from garden import Garden

from pytest_rageval import Checker, Sample


@pytest.mark.rag_scenario("by_test.yaml")
def test_answers_are_passages(rag_sample: Sample, rageval: Checker, garden: Garden) -> None:
    reply = garden.ask(rag_sample.question or "")
    assert reply["answer"] == reply["contexts"][0]["text"], "answers are quoted, not made up"
    rageval.check(reply)
