"""What a metric must provide, and what it is given.

To add metrics, write a module here with ``METRICS = (MetricDefinition(...), ...)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from pytest_rageval.model import Sample, Score
from pytest_rageval.registry import Registry
from pytest_rageval.text.prepared import PreparedText, SampleTexts


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What a scenario must know of a metric before it scores anything.

    ``needs`` are fields of Sample that must not be None; ``range`` holds infinities where it is
    unbounded; ``extra`` is the optional dependency group it needs; ``version`` changes whenever
    the same sample may get another score.
    """

    name: str
    needs: frozenset[str]
    aliases: tuple[str, ...] = ()
    family: str = ""
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    extra: str | None = None
    version: int = 1


@dataclass(slots=True)
class ScoringContext:
    """What the metrics of one sample share: its texts, each prepared once.

    ``pairs`` holds the prepared answer and references by normalizer and tokenizer.
    """

    texts: SampleTexts = field(default_factory=SampleTexts)
    pairs: dict[tuple[str, str], tuple[PreparedText, list[PreparedText]]] = field(
        default_factory=dict
    )


class Metric(Protocol):
    """Scores a sample. The sample has every field that the metric's info says it needs."""

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score; a metric that cannot answer returns the value None and a reason."""
        ...


class NoOptions(BaseModel):
    """The options of a metric that has none, and the base of those that have some."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric as the registry holds it: its info, the model of its options, and how to make it.

    ``make(name, options)`` returns the metric; ``name`` is what its scores are called.
    """

    info: MetricInfo
    make: Callable[[str, Any], Metric]
    options: type[NoOptions] = NoOptions

    @property
    def name(self) -> str:
        """The metric's own name."""
        return self.info.name

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that mean the same metric."""
        return self.info.aliases


METRIC_REGISTRY: Registry[MetricDefinition] = Registry(
    "metric", "pytest_rageval.metrics", "METRICS", group="pytest_rageval.metrics"
)
