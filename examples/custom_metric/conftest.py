"""What every scenario of this folder knows and prints: a metric by its name, and a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_rageval import Sample, ScenarioResult, ScenarioView


def calm(sample: Sample) -> bool:
    """Return whether the answer has no shouting: True counts 1."""
    return "!" not in (sample.answer or "")


def pytest_rageval_metrics() -> Mapping[str, Callable[[Sample], bool]]:
    """Add ``calm`` to the metrics that scenarios can name."""
    return {"calm": calm}


def pytest_rageval_summary(scenario: ScenarioView, result: ScenarioResult) -> str:
    """Print a line below the table of a scenario."""
    polite = [sample.sample_id for sample in result.samples if sample.scores["polite"] == 1.0]
    return f"{scenario.metadata['owner']}: the most polite answers are {', '.join(polite)}"
