"""The interface of metrics, their registry, and the notation of their names, such as ndcg@10.

To add metrics, write a module here with ``METRICS = (MetricDefinition(...), ...)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict

from pytest_rageval.model import Sample, Score, Value
from pytest_rageval.registry import Registry
from pytest_rageval.text.tokenize import SampleTexts

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Accept, ChatClient, EmbeddingClient, ReplySchema
    from pytest_rageval.text.citations import CitedText


Client = TypeVar("Client")

Role = Literal["judge", "embedding"]
"""The part that a model plays in a scenario."""

Section = Literal["citations", "refusals"]
"""The key of a scenario that says how answers are read for a metric."""


class MetricInfo(Value, frozen=True):
    """What is known about a metric before it scores anything.

    ``needs`` are fields of Sample that must not be None; if ``or_needs`` is not empty, it is enough
    to have these. ``range`` holds infinities where it is unbounded. ``asks`` are the models that it
    asks; it is a JudgedMetric then. ``may_ask`` are those that a user's function asks, too, where a
    scenario has them. ``extra`` is the optional dependency group it needs.
    ``version`` changes whenever the same sample may get another score. ``keeps_scores``: it is a
    CacheableMetric, and the cache keeps its scores; not for code that may change without a new
    version. ``is_async``: it is a coroutine although it asks no model (a user's async function).
    ``of_row``: the fields by which a row itself asks for the metric. Without them the metric does
    not apply to the row, which is no error. ``empty_is_worst``: an empty answer gets the worst
    score without a request, unless the scenario says otherwise. ``as_is``: its scores enter the
    weighted score without being rescaled to 0..1. ``margin`` is the share of the range by which a
    judge must tell good control rows from bad ones. ``section``: it scores what its section reads
    in the answer, a refusal or citations, and decides itself what an empty answer is worth.
    ``comes_last``: it makes its score of those of other metrics of the scenario. ``needs_pool``: it
    estimates by the documents that were pooled and not judged, of grade -1. ``column``: that of
    the data which holds its scores, empty for other metrics. ``summary``: what it is, in short.
    ``of_table``: it is a SupportMetric, whose score follows from the support table of the sample.
    ``fills``: it is a measure of a ranking whose holes a judge grades, and becomes a FilledMetric.
    ``is_neutral``: neither end is the better one, so that it has no weight unless one is written.
    ``reads``: fields that its score follows from where the row has them, and that it does not need.
    ``speaks``: the language of ``Models`` may decide in which one its judge is asked.
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
    empty_is_worst: bool = False
    as_is: bool = False
    of_row: frozenset[str] = frozenset()
    margin: float = 0.3
    section: Section | None = None
    comes_last: bool = False
    needs_pool: bool = False
    column: str = ""
    summary: str = ""
    of_table: bool = False
    is_neutral: bool = False
    fills: bool = False
    may_ask: frozenset[Role] = frozenset()
    reads: frozenset[str] = frozenset()
    speaks: bool = True

    @property
    def names(self) -> frozenset[str]:
        """The fields that it says it reads, needed or not."""
        return self.needs | self.or_needs | self.of_row | self.reads

    @property
    def is_judged(self) -> bool:
        """Whether it is a JudgedMetric, scored in the event loop before the turn of its case."""
        return self.is_async or bool(self.asks)


AnswerKind = Literal["refused", "partial", "answered", "unclear", "empty", "failed"]
"""What an answer does; ``unclear``: it is in no language whose refusals are known; ``failed``: the
judge that was asked did not say."""


class AnswerReading(Value, frozen=True):
    """What is read in an answer: its kind, and its sentences with what they cite, if asked for."""

    kind: AnswerKind
    cited: CitedText | None = None
    base: int = 1
    """The number of the first source in fields of the row."""
    of: str = "contexts"
    """What a citation names: a place in ``contexts``, one of the ``ids``, or a ``doc_name``."""


class ScoringContext(Struct):
    """What the metrics of one sample share: its texts, prepared once.

    ``latency_s`` is the time that its answer took, None where this run did not ask for it, and
    ``cost_usd`` what the target says that it cost.
    ``reading`` is there for metrics of a ``section``, ``scores`` for those that come last.
    """

    texts: SampleTexts = field(default_factory=SampleTexts)
    latency_s: float | None = None
    cost_usd: Any = None
    reading: AnswerReading | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)


class Metric(Protocol):
    """Scores a sample. The sample has every field that the metric's info says it needs."""

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score; a metric that cannot answer returns the value None and a reason."""
        ...


class Models(Value, frozen=True):
    """The models that a judged metric may ask; they cache, limit and retry by themselves.

    A model that the metric's info does not name under ``asks`` may be None. ``language`` is that of
    the prompts: ``auto`` (that of the sample), or a code like ``en`` or ``zh``.
    """

    judge: ChatClient | None = None
    embedding: EmbeddingClient | None = None
    language: str = "auto"

    async def ask(self, prompt: str, accept: Accept, schema: ReplySchema | None = None) -> str:
        """Return the judge's reply to a prompt; raises ClientError."""
        from pytest_rageval.clients.base import ask

        return await ask(declared(self.judge), prompt, accept, schema)


def declared(client: Client | None) -> Client:
    """Return a model that a metric asks; RuntimeError where its info does not name it."""
    if client is None:
        raise RuntimeError("the metric asks a model that it does not declare")
    return client


class JudgedMetric(Protocol):
    """Scores a sample by asking a model; many samples at once, in one event loop."""

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the score; a ClientError that is raised becomes the error of this score.

        What cannot be scored (no claims, an unreadable reply) has the value None and a reason.
        """
        ...


class CacheableMetric(JudgedMetric, Protocol):
    """A judged metric that can name everything its scores depend on.

    Where metric, version, models and the results of these two methods are equal, a cached score is
    used again.
    """

    def follows_from(self, language: str) -> Mapping[str, Any]:
        """Return options, versions of packages, and the language of prompts, in JSON's types.

        ``language`` is that of ``Models``.
        """
        ...

    def reads(self, sample: Sample) -> Mapping[str, Any] | None:
        """Return what is read of a sample, in JSON's types; None for a score not to be cached."""
        ...


class LevelGuide(Value, frozen=True):
    """What a judge is told of its levels: people who label follow it, too.

    A metric that has words for its levels keeps it as its attribute ``guide``. ``question`` may be
    empty, and so may ``meanings``.
    """

    meanings: Mapping[float, str]
    question: str = ""

    def of(self, levels: Sequence[float]) -> tuple[str, ...]:
        """Return what ``levels`` mean, or () where they are not levels of this scale.

        The highest level must be the same: 0 and 1 mean something else on a scale from 0 to 5.
        """
        known = self.meanings
        is_same = set(levels) <= known.keys() and max(levels) == max(known, default=None)
        return tuple(known[level] for level in levels) if is_same else ()


class NoOptions(BaseModel):
    """The options of a metric that has none, and the base of those that have some."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def label(self, name: str) -> str:
        """Return the name of the scores of the metric ``name`` with these options."""
        return name

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info of a metric with these options, which may change what it needs."""
        return info

    @classmethod
    def known(cls) -> Collection[str]:
        """Return the names of the options as a scenario writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def stated(self) -> Mapping[str, Any]:
        """Return the options in JSON's types: scores are comparable where these are equal."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


BatchScorer = Callable[[Sequence[Any], Sequence[Sample]], Sequence[Sequence[Score]]]
"""(metrics, samples) -> for each metric the score of each sample, in their orders."""


class MetricDefinition(Value, frozen=True):
    """A metric as the registry holds it: its info, the model of its options, and how to make it.

    ``make(name, options)`` returns the metric; ``name`` is the name of its scores. ``batch`` is for
    metrics that are cheaper for all samples at once: it scores all metrics of the scenario with the
    same ``batch``, for all samples that have the fields of at least one of them. A metric that
    cannot score one of these samples returns it unscored.
    """

    info: MetricInfo
    make: Callable[[str, Any], Metric | JudgedMetric]
    options: type[NoOptions] = NoOptions
    batch: BatchScorer | None = None
    preload: Callable[[], None] | None = None
    """Begins to load a heavy package in the background."""
    source: str = ""
    """The import path of a user's own metric, ``pkg.mod:attr``; scores are comparable where it is
    equal."""

    @property
    def name(self) -> str:
        """The metric's own name."""
        return self.info.name

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that mean the same metric."""
        return self.info.aliases


def defined(
    names: str,
    needs: str,
    summary: str,
    make: Callable[[str, Any], Metric | JudgedMetric],
    options: type[NoOptions] = NoOptions,
    **known: Any,
) -> MetricDefinition:
    """Return a metric: ``names`` are its own and its aliases, ``needs`` the fields, with blanks.

    ``known`` is what else its MetricInfo says.
    """
    name, *aliases = names.split()
    info = MetricInfo(name, frozenset(needs.split()), tuple(aliases), summary=summary, **known)
    return MetricDefinition(info, make, options)


def missing_fields(sample: Sample, info: MetricInfo) -> list[str]:
    """Return the fields that the metric needs and the sample lacks, sorted.

    Of two alternatives, the one that lacks fewer fields counts.
    """
    for need in info.needs:
        if getattr(sample, need) is None:
            break
    else:
        return []
    missing = absent_fields(sample, info.needs)
    other = absent_fields(sample, info.or_needs)
    return other if info.or_needs and len(other) < len(missing) else missing


def absent_fields(sample: Sample, needs: Iterable[str]) -> list[str]:
    """Return the fields that the sample lacks, sorted."""
    return sorted(need for need in needs if getattr(sample, need) is None)


def _adopt(loaded: Any, point: EntryPoint) -> Iterable[MetricDefinition]:
    """Return the metrics of an entry point; a bare function takes the entry's name."""
    # Imported here: most runs need no metric of another distribution.
    from pytest_rageval.metrics.custom.from_python import define_metric, define_metrics

    if isinstance(loaded, MetricDefinition | tuple):
        return define_metrics(loaded, f"entry point {point.name!r}")
    return [define_metric(loaded, point.name, point.value)]


METRIC_REGISTRY: Registry[MetricDefinition] = Registry(
    "metric",
    "pytest_rageval.metrics",
    "METRICS",
    group="pytest_rageval.metrics",
    adopt=_adopt,
    page="docs/reference/metrics.md",
)


MAX_CUTOFF = 2**31 - 1
"""The largest cutoff that trec_eval can hold."""

WITH_FILLED = "+filled"
"""How the name of a measure ends that counts the grades of a judge where nobody judged."""

_MAX_LENGTH = 200
_NAME = re.compile(r"(?P<base>[^@()]+)(?P<parameters>\([^@]*\))?(?:@(?P<cutoff>[^@]*))?")


class NotationError(ValueError):
    """A name with ``@`` or ``(`` that is not in the notation."""


class Notation(Value, frozen=True):
    """The parts of a metric's name; ``options`` holds the parameters, and ``k`` for the cutoff."""

    base: str
    options: Mapping[str, Any] = field(default_factory=dict)


def parse_notation(name: str) -> Notation:
    """Return the parts of ``name``; a plain name has no options.

    A ``+filled`` at its end is the option ``filled``. Raises NotationError for another form, and
    for a cutoff that is not a whole number >= 1: a cutoff of 0 aborts trec_eval, and with it the
    whole process.

    >>> parse_notation("P(rel=2)@5")
    Notation(base='P', options={'rel': 2, 'k': 5})
    """
    if name.endswith(WITH_FILLED):
        inner = parse_notation(name.removesuffix(WITH_FILLED))
        return Notation(inner.base, {**inner.options, "filled": True})
    if WITH_FILLED in name:
        raise NotationError(f"write {WITH_FILLED!r} at the end, as in 'ndcg@10{WITH_FILLED}'")
    if "@" not in name and "(" not in name:
        return Notation(name)
    found = _NAME.fullmatch(name.strip()) if len(name) <= _MAX_LENGTH else None
    if found is None:
        raise NotationError("write it as 'ndcg@10' or 'precision(rel=2)@5'")
    options = _parameters(found["parameters"] or "()")
    if found["cutoff"] is not None:
        if "k" in options:
            raise NotationError("the cutoff is given twice: as parameter 'k' and after '@'")
        options["k"] = _cutoff(found["cutoff"])
    return Notation(found["base"].strip(), options)


def _cutoff(text: str) -> int:
    cutoff = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= cutoff <= MAX_CUTOFF:
        most = f" and <= {MAX_CUTOFF}" if cutoff > MAX_CUTOFF else ""
        raise NotationError(f"the cutoff must be a whole number >= 1{most}, found '@{text}'")
    return cutoff


def _parameters(text: str) -> dict[str, Any]:
    """Return the parameters in the parentheses, which are Python keyword arguments."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise NotationError(f"cannot read the parameters {text!r}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise NotationError(f"the parameters {text!r} must be written as (name=value)")
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in options:
            raise NotationError(f"the parameters {text!r} must have different names")
        try:
            options[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError as error:
            raise NotationError(
                f"the value of {keyword.arg!r} must be a literal, such as 2 or True"
            ) from error
    return options
