"""Where the figures of reference systems are, and how one text is scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from without_extras import pytest_fixture_setup, pytest_pyfunc_call  # noqa: F401

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.model import Sample

_REFERENCE = Path(__file__).with_name("reference")

Reference = Callable[[str], Any]
ScoreText = Callable[..., float | None]


@pytest.fixture(scope="session")
def reference() -> Reference:
    """Return a function that reads a file of ``reference/``; its README says what they are."""
    return lambda name: json.loads((_REFERENCE / name).read_text("utf-8"))


@pytest.fixture(scope="session")
def synth() -> Path:
    """Return the folder of a small TREC collection that was made for these tests."""
    return _REFERENCE / "synth"


@pytest.fixture(scope="session")
def score() -> ScoreText:
    """Return a function that scores one answer: metric, answer, references, options."""

    def score_text(
        metric: str,
        answer: str,
        references: Sequence[str],
        groups: Sequence[Sequence[str]] | None = None,
        **options: str,
    ) -> float | None:
        definition = METRIC_REGISTRY.get(metric)
        made = definition.make(metric, definition.options.model_validate(options))
        sample = Sample(
            "s",
            answer=answer,
            references=tuple(references),
            reference_groups=tuple(map(tuple, groups)) if groups is not None else None,
        )
        return made.score(sample, ScoringContext()).value

    return score_text


@pytest.fixture
def clear_rouge_backend() -> Iterator[Callable[[], None]]:
    """Return a function that makes ROUGE look for its backend anew; does so at the end too."""
    from pytest_rageval.metrics import rouge

    def clear() -> None:
        rouge._scorer.cache_clear()
        rouge._default_tokenizer.cache_clear()

    yield clear
    clear()
