"""What a metric must provide, and what it is given.

To add metrics, write a module here with ``METRICS = (MetricDefinition(...), ...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from pytest_rageval.model import Sample, Score
from pytest_rageval.text.prepared import PreparedText, SampleTexts

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ChatClient, EmbeddingClient


Role = Literal["judge", "embedding"]
"""The part that a model plays in a scenario."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What a scenario must know of a metric before it scores anything.

    ``needs`` are fields of Sample that must not be None, or else those of ``or_needs`` (where that
    is not empty). ``range`` holds infinities where it is unbounded. ``asks`` are the models that it
    asks; its metric is a JudgedMetric then. ``extra`` is the optional dependency group it needs.
    ``version`` changes whenever the same sample may get another score. ``keeps_scores`` says that
    the metric is a KeptMetric, whose scores the cache keeps beside the replies; leave it out where
    the code may change and the version not. ``is_async``: the metric is a coroutine although it
    asks no model (a user's async function).
    """

    name: str
    needs: frozenset[str]
    aliases: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    extra: str | None = None
    version: int = 1
    or_needs: frozenset[str] = frozenset()
    asks: frozenset[Role] = frozenset()
    keeps_scores: bool = False
    is_async: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether its metric is a JudgedMetric, scored in the event loop and ahead of its case."""
        return self.is_async or bool(self.asks)


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


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a judged metric may ask: cached, limited and retried already.

    One that the metric's info does not name under ``asks`` may be None. ``language`` is that of
    the prompts: ``auto`` (that of the sample), or a code like ``en`` or ``zh``.
    """

    judge: ChatClient | None = None
    embedding: EmbeddingClient | None = None
    language: str = "auto"


class JudgedMetric(Protocol):
    """Scores a sample by asking a model; many samples at once, in one event loop."""

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the score; ClientError may be raised, and is then the error of this score.

        What cannot be scored (no claims, an unreadable reply) has the value None and a reason.
        """
        ...


class KeptMetric(JudgedMetric, Protocol):
    """A judged metric that can say what its scores follow from, without making one.

    Where metric, version, models and what these two return are the same, a score out of the cache
    stands for one made anew of the same replies.
    """

    def follows_from(self, language: str) -> Mapping[str, Any]:
        """Return, in JSON's types, options, versions of packages, and the language of prompts.

        ``language`` is that of ``Models``.
        """
        ...

    def reads(self, sample: Sample) -> Mapping[str, Any] | None:
        """Return what is read of a sample, in JSON's types; None where nothing is to be kept."""
        ...


class NoOptions(BaseModel):
    """The options of a metric that has none, and the base of those that have some."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def label(self, name: str) -> str:
        """Return what the scores of the metric ``name`` with these options are called."""
        return name

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info of a metric with these options, which may change what it needs."""
        return info

    @classmethod
    def known(cls) -> Collection[str]:
        """Return the names of the options as a scenario writes them."""
        return cls.model_fields.keys()

    def stated(self) -> Mapping[str, Any]:
        """Return the options in JSON's types: where these are equal, scores can be compared."""
        return self.model_dump(mode="json", exclude_none=True)


BatchScorer = Callable[[Sequence[Any], Sequence[Sample]], Sequence[Sequence[Score]]]
"""(metrics, samples) -> for each metric the score of each sample, in their orders."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric as the registry holds it: its info, the model of its options, and how to make it.

    ``make(name, options)`` returns the metric; ``name`` is what its scores are called. ``batch``
    is for metrics that are cheaper for all samples at once: it scores every metric of the scenario
    that has the same ``batch``, with all samples that have what some of them needs
    (a sample that one of them cannot score comes back unscored).
    """

    info: MetricInfo
    make: Callable[[str, Any], Metric | JudgedMetric]
    options: type[NoOptions] = NoOptions
    batch: BatchScorer | None = None
    preload: Callable[[], None] | None = None
    """Begins to load a heavy package in the background, where the metric needs one."""
    source: str = ""
    """Where the code of a metric of the user's own is, ``pkg.mod:attr``: part of what scores are
    compared by."""

    @property
    def name(self) -> str:
        """The metric's own name."""
        return self.info.name

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that mean the same metric."""
        return self.info.aliases
