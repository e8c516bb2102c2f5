"""[R5] Each prompt of ragas that has an example refuses a reply that repeats it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics import ragas as definitions
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.ragas.backend import begin_loading
from pytest_rageval.metrics.ragas.metric import _examples
from pytest_rageval.text.echo import Examples, RepeatedExampleError, refuse_repeated

pytest.importorskip("ragas")

PLANT = ["When is the plant watered?", "On Mondays.", "The office plant is watered on Tuesdays."]
ONLY_NUMBERS = {"answer_accuracy", "context_relevance", "response_groundedness"}
"""Their prompts ask for a rating and nothing else."""


def examples_of(name: str) -> dict[str, tuple[Any, Examples]]:
    made = next(one for one in definitions.METRICS if one.name == name)
    metric: Any = made.make(name, made.options())
    models = Models(object(), object())  # type: ignore[arg-type]
    found = metric._templates(begin_loading().result(), models)
    return {prompt: (template, _examples(template)) for prompt, template in found.items()}


JUDGED = [
    one.name for one in definitions.METRICS if one.info.is_judged and one.name not in ONLY_NUMBERS
]


@pytest.mark.parametrize("name", JUDGED)
def test_an_example_is_refused_for_another_row(name: str) -> None:
    """The whole output of an example, unless all that it says is in a word or a number."""
    refused = 0
    for template, shown in examples_of(name).values():
        assert shown.rows
        for given, answer in getattr(template, "examples", ()):
            try:
                refuse_repeated(answer.model_dump(), shown, PLANT)
            except RepeatedExampleError:
                refused += 1
                refuse_repeated(answer.model_dump(), shown, [PLANT, given.model_dump()])
        if not hasattr(template, "examples"):
            with pytest.raises(RepeatedExampleError):
                refuse_repeated(shown.rows[-1], shown, PLANT)
            refused += 1
    assert refused


def test_factual_correctness_has_four_lists_of_examples() -> None:
    """Which of them is written depends on its options; ``high, high`` names the food critic."""
    (_, shown) = examples_of("factual_correctness")["prompt"]
    assert " charles babbage was a food critic " in shown.rows
