"""Metrics, models and targets after binding: the objects that a plan is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.metrics.base import BatchScorer, JudgedMetric, Metric, MetricInfo
from pytest_rageval.model import MetricColumn, Sample
from pytest_rageval.run_paths import ImportMode
from pytest_rageval.scenario.metric_specs import MetricSpec
from pytest_rageval.scenario.schema import MatchName

if TYPE_CHECKING:
    from pytest_rageval.controls import ControlRule
    from pytest_rageval.targets.base import Target


def _nothing() -> None:
    pass


_OURS = "pytest_rageval.metrics."
_OF_USERS = "pytest_rageval.metrics.custom."
_OF_OTHERS = (_OF_USERS, "pytest_rageval.metrics.ragas.")


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric of the scenario: what its scores are called, how it is measured, what it weighs."""

    column: MetricColumn
    info: MetricInfo
    metric: Metric | JudgedMetric
    position: int = 0
    batch: BatchScorer | None = None
    preload: Callable[[], None] = _nothing
    """Begins to load what the metric needs, in the background."""

    @property
    def is_known(self) -> bool:
        """Whether it is a metric of this package, or of ragas: no code of the user's runs."""
        module = type(self.metric).__module__
        return module.startswith(_OURS) and not module.startswith(_OF_USERS)

    @property
    def is_ours(self) -> bool:
        """Whether only code of this package computes it."""
        module = type(self.metric).__module__
        return module.startswith(_OURS) and not module.startswith(_OF_OTHERS)


@dataclass(frozen=True, slots=True)
class MetricSource:
    """All that the metrics of a scenario are made from: another process can make them again.

    ``specs`` are as the scenario lists them; ``path`` is that of its file, and ``root`` what else
    import paths are looked up in.
    """

    specs: Sequence[MetricSpec]
    options: Mapping[str, Any]
    match: MatchName | None
    path: Path
    root: Path
    import_mode: ImportMode = "prepend"


@dataclass(frozen=True, slots=True)
class Controlled:
    """The control rows of a metric: what its judge has to tell from what.

    ``high`` are the samples whose score should be high, ``low`` the others. ``number`` is that of
    the set, ``digest`` names all that decides what the judge makes of it, and ``tells`` is what a
    judge that passes tells apart.
    """

    high: tuple[Sample, ...]
    low: tuple[Sample, ...]
    rule: ControlRule
    number: int
    digest: str
    tells: str


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The models that the metrics of a scenario ask; None where none of them asks it."""

    judge: ClientSettings | None = None
    embedding: ClientSettings | None = None
    language: str = "auto"
    repeats: int = 1
    controls: Mapping[str, Controlled] = field(default_factory=dict)
    """By metric, what its judge is tested with."""

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight at once, over all processes of a run."""
        asked = (self.judge, self.embedding)
        return max((model.concurrency for model in asked if model is not None), default=1)


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """The system under test: how it is called in messages, and how hard it is asked.

    ``make`` returns what asks it; None where it takes the value of a ``fixture``, see
    ``of_fixture``. ``settings`` are its limits, put as those of a model, and ``limits_itself`` says
    who keeps to them. ``is_remote``: another process answers. ``identity`` is what makes answers
    those of another system, and ``fields`` of a row are what it is shown (None: all of them).
    """

    shown: str
    provides: frozenset[str]
    settings: ClientSettings
    make: Callable[[], Target] | None = None
    from_value: Callable[[object], Target] | None = None
    fixture: str | None = None
    is_remote: bool = False
    limits_itself: bool = False
    preload: Callable[[], None] | None = None
    top_k: int | None = None
    cache_answers: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)
    fields: frozenset[str] | None = None
    contexts_hint: str = ""
    """What to say where it returns no contexts, so that those of a row stay."""

    def of_fixture(self, value: object) -> TargetPlan:
        """Return the plan of a target that takes a fixture's ``value``.

        Raises TargetError for a wrong one.
        """
        assert self.from_value is not None
        return self.asking(self.from_value(value))

    def asking(self, target: Target) -> TargetPlan:
        """Return the plan with the ``target`` that is asked."""
        # Not at the top: most scenarios ask no target.
        from pytest_rageval.targets.base import Identified

        own = target.identity if isinstance(target, Identified) else {}
        return replace(self, make=lambda: target, identity={**self.identity, **own})
