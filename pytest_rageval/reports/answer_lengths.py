"""How long the answers are, beside figures that a longer answer raises."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.metrics import is_of_nuggets
from pytest_rageval.model import ScenarioResult
from pytest_rageval.stats.weights import is_scored, weighted_mean
from pytest_rageval.text.tokenize import split_characters


def lengths_beside_nuggets(result: ScenarioResult) -> Iterator[str]:
    """Yield how long the answers are whose nuggets count, by weight; nothing without such ones."""
    columns = [column for column in result.info.metrics if is_of_nuggets(column)]
    names = [column.name for column in columns if not column.retrieves]
    lengths = [
        (float(len(split_characters(sample.answer))), sample.sample_weight)
        for sample in result.samples
        if sample.answer is not None and any(is_scored(sample.scores.get(name)) for name in names)
    ]
    if (mean := weighted_mean(lengths)) is not None:
        yield (
            f"{names[0]}: answers have {mean:.1f} words in the mean (of Chinese, characters); "
            "one that says more finds more nuggets"
        )
