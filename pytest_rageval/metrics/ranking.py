"""Measures of a search result: ndcg, map, mrr, precision, recall, hit_rate and their like.

Where rows have ``retrieved_ids`` and ``reference_ids``, or come from TREC files, ir-measures
computes them as trec_eval does, for all rows and measures at once. Otherwise hit_rate, mrr,
precision and recall compare ``contexts`` with ``reference_contexts``, or their documents with
``doc_name``; the option ``match`` says when two match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from pytest_rageval.metrics.base import (
    MAX_CUTOFF,
    WITH_FILLED,
    MetricDefinition,
    MetricInfo,
    NoOptions,
    ScoringContext,
)
from pytest_rageval.metrics.context_hits import Hits, Match, find_hits
from pytest_rageval.metrics.holes import (
    Between,
    FillableOptions,
    OpenRanking,
    Ranked,
    average_precision_between,
    hit_rate_between,
    ndcg_between,
    precision_between,
    r_precision_between,
    recall_between,
    reciprocal_rank_between,
)
from pytest_rageval.model import MAX_GRADE, NO_IDS_FOUND, Sample, Score

_IDS = frozenset({"retrieved_ids", "reference_ids"})
_CONTEXTS = frozenset({"contexts", "reference_contexts"})
_DOCUMENTS = frozenset({"context_docs", "doc_name"})

# trec_eval counts the documents of each grade up to the largest: its time grows with the square.
Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]

_K: Final = "only the first k results count"
_REL: Final = "a document is relevant from this grade upwards"
_JUDGED_ONLY: Final = "leave results without a judgement out first"


class MeasureOptions(FillableOptions):
    """The options of a measure of ir-measures."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The options ``rel`` and ``judged_only``, where they are no defaults, for ir-measures."""
        return self.model_dump(include={"rel", "judged_only"}, exclude_defaults=True)

    def label(self, name: str) -> str:
        """Return our name in ir-measures' notation: ``precision(rel=2)@5+filled``."""
        listed = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        k = getattr(self, "k", None)
        cutoff, filled = f"@{k}" if k else "", WITH_FILLED if self.filled else ""
        return name + (f"({listed})" if listed else "") + cutoff + filled


class RankingOptions(MeasureOptions):
    """Which part of a ranking counts, and what is relevant in it."""

    k: int | None = Field(None, ge=1, le=MAX_CUTOFF, strict=True, description=_K)
    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True, description=_REL)
    judged_only: bool = Field(False, description=_JUDGED_ONLY)


class WholeRankingOptions(MeasureOptions):
    """What is relevant; these measures have no cutoff."""

    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True, description=_REL)


class GainOptions(MeasureOptions):
    """Which part of a ranking counts, and what its documents are worth."""

    k: int | None = Field(None, ge=1, le=MAX_CUTOFF, strict=True, description=_K)
    judged_only: bool = Field(False, description=_JUDGED_ONLY)
    gains: dict[Grade, Grade] | None = Field(
        None, description="grade: its gain; a grade that is not named is its own gain"
    )
    dcg: Literal["log2"] = Field("log2", description="how ranks are discounted")


class HitOptions(RankingOptions):
    """Whether ids or contexts are compared, and how."""

    on: Literal["auto", "ids", "contexts"] = Field(
        "auto", description="what is compared; auto: what the row has, ids first"
    )
    match: Match = Field("normalized", description="when a context is an expected one")

    @model_validator(mode="after")
    def _contexts_have_no_grades(self) -> HitOptions:
        if self.on == "contexts" and (self.rel != 1 or self.judged_only or self.filled):
            raise ValueError("'rel', 'judged_only', 'filled' are about ids; contexts have none")
        return self

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the fields that this kind of comparison needs."""
        info = super().adapt(info)
        texts = _DOCUMENTS if self.match == "doc_name" else _CONTEXTS
        if self.on == "ids" or self.filled:
            return replace(info, needs=_IDS)
        if self.on == "contexts":
            return replace(info, needs=texts)
        return replace(info, needs=_IDS, or_needs=texts)


_Gains = tuple[tuple[int, int], ...]
_Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Measure:
    """What to ``ask`` ir-measures for; ``finish`` turns its value into the score.

    ``gains`` replace the grades of documents beforehand. ``between`` gives the bounds that holes
    leave; None where the measure leaves holes out by itself.
    """

    ask: Any
    finish: Callable[[float], float] = float
    gains: _Gains = ()
    between: Between | None = None


@dataclass(frozen=True)
class RankingMetric:
    """One measure of a search result, in 0..1."""

    name: str
    options: Any
    make_measure: Callable[[Any], _Measure]
    of_hits: Callable[[Hits, int | None], float] | None = None

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score of one sample; many are scored far faster by ``score_rankings``."""
        if self.looks_at_ids(sample):
            return score_rankings([self], [sample])[0][0]
        reason = self._why_not(sample)
        if reason or self.of_hits is None:  # without of_hits there is a reason; mypy asks
            return Score(self.name, None, reason=reason)
        value = self.of_hits(find_hits(sample, self.options.match), self.options.k)
        ids_come_first = self.options.on == "auto" and sample.reference_ids is not None
        return Score(self.name, value, reason=NO_IDS_FOUND if ids_come_first else None)

    def _why_not(self, sample: Sample) -> str:
        """Return why the contexts of ``sample`` cannot be compared, "" if they can."""
        if self.of_hits is None or self.options.on == "ids":
            return "the row has no retrieved_ids and reference_ids"
        if self.options.match == "doc_name":
            known = sample.context_docs is not None and sample.doc_name is not None
            return "" if known else "no context names its document, or the row has no doc_name"
        if not sample.reference_contexts or sample.contexts is None:
            return "the row has no contexts, or expects none (reference_contexts)"
        return ""

    def looks_at_ids(self, sample: Sample) -> bool:
        """Return whether the ids of ``sample`` are compared, and not its contexts."""
        if getattr(self.options, "on", "ids") == "contexts":
            return False
        return sample.retrieved_ids is not None and sample.reference_ids is not None

    @property
    def measure(self) -> _Measure:
        """The measure to ask ir-measures for."""
        return self.make_measure(self.options)


def score_rankings(
    metrics: Sequence[RankingMetric], samples: Sequence[Sample]
) -> list[list[Score]]:
    """Return each metric's score of each sample; all with the same gains take one call."""
    by_ids = [
        sample for sample in samples if any(metric.looks_at_ids(sample) for metric in metrics)
    ]
    measures = [metric.measure for metric in metrics]
    found = _evaluate(measures, by_ids) if by_ids else {}
    ranked = {sample.index: Ranked.of(sample) for sample in by_ids}
    return [
        [_score(metric, measure, sample, values, ranked.get(sample.index)) for sample in samples]
        for metric, measure in zip(metrics, measures, strict=True)
        for values in [found.get(measure.gains, {}).get(measure.ask, {})]
    ]


def _score(
    metric: RankingMetric,
    measure: _Measure,
    sample: Sample,
    values: _Values,
    ranked: Ranked | None,
) -> Score:
    if not metric.looks_at_ids(sample):
        return metric.score(sample, ScoringContext())
    if not sample.reference_ids:
        return Score(metric.name, None, reason="no document is judged: reference_ids are empty")
    value = values.get(str(sample.index))
    if value is None and _can_find(sample, _judged(sample, dict(measure.gains))):
        return Score(metric.name, None, reason="ir-measures gave no figure")
    # A search without results scores 0, as with trec_eval -c; so does one with nothing to find.
    details = _holes(metric, measure, ranked)
    return Score(metric.name, measure.finish(value or 0.0), details=details)


def _holes(
    metric: RankingMetric, measure: _Measure, ranked: Ranked | None
) -> dict[str, Any] | None:
    """Return what is known of the holes of a ranking, None if it has none."""
    if ranked is None:
        return None
    rel, k = getattr(metric.options, "rel", 1), getattr(metric.options, "k", None)
    found = OpenRanking.of(ranked, dict(measure.gains), rel, k)
    return found.details(measure.between) if found.n_holes else None


def _judged(sample: Sample, gains: Mapping[int, int]) -> Mapping[str, int]:
    """Return the gain of each judged document: its grade, unless ``gains`` name another."""
    judged = sample.reference_ids or {}
    return {name: gains.get(grade, grade) for name, grade in judged.items()} if gains else judged


def _can_find(sample: Sample, judged: Mapping[str, int]) -> bool:
    """Return whether anything was retrieved and anything is relevant; if not, every measure is 0.

    It is not given to trec_eval then, which ends the process where all grades are negative.
    """
    return bool(sample.retrieved_ids) and any(grade >= 1 for grade in judged.values())


def _evaluate(
    measures: Sequence[_Measure], samples: Sequence[Sample]
) -> dict[_Gains, dict[Any, _Values]]:
    """Return, by gains and measure, the values of the samples by index.

    Measures with different gains need separate calls: in one call, ir-measures may compute an nDCG
    without gains from grades that were replaced.
    """
    asked: dict[_Gains, dict[Any, None]] = {}
    for measure in measures:
        asked.setdefault(measure.gains, {})[measure.ask] = None
    return {gains: _ask(list(wanted), samples, dict(gains)) for gains, wanted in asked.items()}


def _ask(
    asked: Sequence[Any], samples: Sequence[Sample], gains: Mapping[int, int]
) -> dict[Any, _Values]:
    """Return for each measure its value for each sample, by the sample's index.

    trec_eval compares scores as 32-bit floats, breaks ties by document id, and holds ids as C
    strings. So it gets ranks as ids, and their distance from the end as scores.
    """
    import ir_measures

    qrels: dict[str, dict[str, int]] = {}
    runs: dict[int, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for sample in samples:
        judged = _judged(sample, gains)
        if not _can_find(sample, judged):
            continue
        listed = dict.fromkeys(sample.retrieved_ids or ())  # a hook's sample may repeat an id
        length = len(listed)
        if length not in runs:
            runs[length] = {str(rank): float(length - rank) for rank in range(length)}
        qrels[str(sample.index)] = _by_rank(listed, judged)
        run[str(sample.index)] = runs[length]
    values: dict[Any, _Values] = {measure: {} for measure in asked}
    # The provider keeps the order of the measures; ir_measures.iter_calc makes sets of them.
    measures = [_without_default(measure) for measure in asked]
    for found in ir_measures.pytrec_eval.iter_calc(measures, qrels, run) if run else ():
        if not math.isnan(found.value):
            values[found.measure][found.query_id] = found.value
    return values


def _without_default(measure: Any) -> Any:
    """Return a copy that is NaN, not 0, for a query without a result of trec_eval."""
    made = measure()
    made.DEFAULT = math.nan
    return made


def _by_rank(listed: Mapping[str, None], judged: Mapping[str, int]) -> dict[str, int]:
    """Return the gains of the judged documents, by rank from 0 where they are ``listed``."""
    ranks = {name: rank for rank, name in enumerate(listed) if name in judged}
    return {
        str(ranks[name]) if name in ranks else f"missed {at}": gain
        for at, (name, gain) in enumerate(judged.items())
    }


def _bounds(options: RankingOptions | GainOptions, between: Between) -> Between | None:
    """Return the bounds that holes leave; None where results without a judgement are left out."""
    return None if options.judged_only else between


def _precision(options: HitOptions) -> _Measure:
    from ir_measures import P, SetP

    asked = P(**options.parameters) @ options.k if options.k else SetP(**options.parameters)
    return _Measure(asked, between=_bounds(options, precision_between))


def _recall(options: HitOptions) -> _Measure:
    from ir_measures import R

    # Without a cutoff, one beyond the end of any ranking.
    asked = R(**options.parameters) @ (options.k or 1_000_000)
    return _Measure(asked, between=_bounds(options, recall_between))


def _reciprocal_rank(options: HitOptions) -> _Measure:
    from ir_measures import RR

    asked, between = RR(**options.parameters), _bounds(options, reciprocal_rank_between)
    if options.k is None:
        return _Measure(asked, between=between)
    # trec_eval takes no cutoff here. Beyond it, 1 / rank is below 1 / k by more than the tolerance.
    least = (1.0 / options.k) * (1.0 - 1e-9)
    return _Measure(asked, lambda value: value if value > least else 0.0, between=between)


def _hit_rate(options: HitOptions) -> _Measure:
    # By the first relevant result: trec_eval's success needs a cutoff.
    first = _reciprocal_rank(options)
    return _Measure(
        first.ask,
        lambda value: float(first.finish(value) > 0.0),
        between=_bounds(options, hit_rate_between),
    )


def _average_precision(options: RankingOptions) -> _Measure:
    from ir_measures import AP

    asked = AP(**options.parameters)
    asked = asked @ options.k if options.k else asked
    return _Measure(asked, between=_bounds(options, average_precision_between))


def _ndcg(options: GainOptions) -> _Measure:
    from ir_measures import nDCG

    asked = nDCG(**options.parameters)
    gains = sorted((grade, gain) for grade, gain in (options.gains or {}).items() if grade != gain)
    return _Measure(
        asked @ options.k if options.k else asked,
        gains=tuple(gains),
        between=_bounds(options, ndcg_between),
    )


def _whole(
    measure: str, between: Between | None = None
) -> Callable[[WholeRankingOptions], _Measure]:
    def make(options: WholeRankingOptions) -> _Measure:
        import ir_measures

        return _Measure(getattr(ir_measures, measure)(**options.parameters), between=between)

    return make


def _definition(
    names: str,
    summary: str,
    make_measure: Callable[[Any], _Measure],
    options: type[NoOptions],
    of_hits: Callable[[Hits, int | None], float] | None = None,
    *,
    needs_pool: bool = False,
) -> MetricDefinition:
    """Return a metric; ``names`` is its own and its aliases. Without ``of_hits`` it needs ids."""
    name, *aliases = names.split()
    return MetricDefinition(
        MetricInfo(name, _IDS, tuple(aliases), needs_pool=needs_pool, summary=summary),
        lambda shown, chosen: RankingMetric(shown, chosen, make_measure, of_hits),
        options,
        score_rankings,
    )


METRICS = (
    _definition(
        "hit_rate hit success RetrieverHitRateMetric",
        "1 if any result is relevant, else 0",
        _hit_rate,
        HitOptions,
        Hits.hit_rate,
    ),
    _definition(
        "mrr rr recip_rank reciprocal_rank RetrieverMRRMetric",
        "1 / the rank of the first relevant result, 0 without one",
        _reciprocal_rank,
        HitOptions,
        Hits.reciprocal_rank,
    ),
    _definition(
        "precision p id_based_context_precision IDBasedContextPrecision",
        "the share of the results that is relevant",
        _precision,
        HitOptions,
        Hits.precision,
    ),
    _definition(
        "recall r id_based_context_recall IDBasedContextRecall",
        "the share of the relevant documents that was found",
        _recall,
        HitOptions,
        Hits.recall,
    ),
    _definition(
        "map ap average_precision",
        "average precision: recall and order in one",
        _average_precision,
        RankingOptions,
    ),
    _definition("ndcg", "graded relevance, discounted by rank", _ndcg, GainOptions),
    _definition(
        "rprec r_precision",
        "precision at as many results as there are relevant documents",
        _whole("Rprec", r_precision_between),
        WholeRankingOptions,
    ),
    _definition(
        "bpref",
        "order of the judged documents only, for incomplete judgements",
        _whole("Bpref"),
        WholeRankingOptions,
    ),
    _definition(
        "infap",
        "average precision, estimated from a pool of which a part is judged",
        _whole("infAP"),
        WholeRankingOptions,
        needs_pool=True,
    ),
)
