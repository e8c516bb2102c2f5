"""A scenario ready to be scored: its metrics and cases bound to objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_rageval.engine.batches import Batches
from pytest_rageval.engine.bind_models import ModelPlan
from pytest_rageval.engine.bind_target import TargetPlan
from pytest_rageval.engine.binding import BoundMetric
from pytest_rageval.model import Case, ScenarioInfo


@dataclass(frozen=True)
class Plan:
    """A scenario ready to be scored. ``cases`` are in dataset order."""

    info: ScenarioInfo
    metrics: tuple[BoundMetric, ...]
    cases: Sequence[Case]
    required: frozenset[str]
    """The names that a threshold or a gate asks about: unscored, they are an error."""
    on_invalid: str = "fail"
    models: ModelPlan = field(default_factory=ModelPlan)
    top_k: int | None = None
    target: TargetPlan | None = None
    """The system under test; None where the data hold the answers."""
    saved_columns: Mapping[str, str] | None = None
    """The column of each field, where the run saves its answers as a data set."""
    rename: Callable[[Plan, str, str], Plan] | None = None
    """What gives it the name and node id of its run, where they are not settled: see ``named``."""

    def named(self, name: str, nodeid: str) -> Plan:
        """Return the plan of a run called ``name``, compared with the runs saved under that name.

        The samples and all else stay as they are. Raises BaselineError for a run that cannot be
        compared with.
        """
        assert self.rename is not None
        return self.rename(self, name, nodeid)

    @cached_property
    def judged(self) -> tuple[BoundMetric, ...]:
        """The metrics that ask a model, or wait for something else."""
        return tuple(metric for metric in self.metrics if metric.info.is_judged)

    @property
    def is_asked(self) -> bool:
        """Whether somebody is asked about the samples: the system under test, or models."""
        return self.target is not None or bool(self.judged)

    @property
    def repeats(self) -> int:
        """How often each judged metric is asked."""
        return self.models.repeats

    @cached_property
    def batches(self) -> Batches:
        """The scores of the metrics that score all samples at once."""
        return Batches(self.metrics, self.cases)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weights of the metrics, in their order."""
        return tuple(column.weight for column in self.info.metrics)

    @cached_property
    def scores_are_unit(self) -> bool:
        """Whether every score enters the weighted score as it is."""
        return all(
            column.range == (0.0, 1.0) and column.higher_is_better for column in self.info.metrics
        )
