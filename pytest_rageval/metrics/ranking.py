"""Measures of a search result: ndcg, map, mrr, precision, recall, hit_rate and their like.

Where rows have ``retrieved_ids`` and ``reference_ids``, or come from TREC files, ir-measures
computes them as trec_eval does, for all rows and measures at once. Else hit_rate, mrr, precision
and recall look at ``contexts`` and ``reference_contexts``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.metrics.context_match import Hits, Match, find_hits
from pytest_rageval.metrics.notation import MAX_CUTOFF
from pytest_rageval.model import MAX_GRADE, Sample, Score

_IDS = frozenset({"retrieved_ids", "reference_ids"})
_CONTEXTS = frozenset({"contexts", "reference_contexts"})
_DOCUMENTS = frozenset({"context_docs", "doc_name"})


# trec_eval counts documents of each grade up to the largest: its time grows with the square.
Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]


class RankingOptions(NoOptions):
    """``k`` cuts the ranking; a document is relevant from grade ``rel`` upwards.

    ``judged_only`` takes documents without a judgement out of the ranking first.
    """

    k: int | None = Field(None, ge=1, le=MAX_CUTOFF, strict=True)
    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True)
    judged_only: bool = False

    def label(self, name: str) -> str:
        """Return the name in ir-measures' notation, ``precision(rel=2)@5``."""
        shown = {"rel": self.rel} if self.rel != 1 else {}
        shown |= {"judged_only": True} if self.judged_only else {}
        listed = ",".join(f"{key}={value}" for key, value in shown.items())
        return name + (f"({listed})" if listed else "") + (f"@{self.k}" if self.k else "")


class WholeRankingOptions(NoOptions):
    """A document is relevant from grade ``rel`` upwards; these measures know no cutoff."""

    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True)

    def label(self, name: str) -> str:
        """Return ``rprec(rel=2)``, or the plain name."""
        return name if self.rel == 1 else f"{name}(rel={self.rel})"


class GainOptions(NoOptions):
    """``gains`` maps grades to gains; a grade is its own gain where it is not named."""

    k: int | None = Field(None, ge=1, le=MAX_CUTOFF, strict=True)
    judged_only: bool = False
    gains: dict[Grade, Grade] | None = None
    dcg: Literal["log2"] = "log2"

    def label(self, name: str) -> str:
        """Return ``ndcg@10``, or ``ndcg(judged_only=True)@10``."""
        only = "(judged_only=True)" if self.judged_only else ""
        return name + only + (f"@{self.k}" if self.k else "")


class HitOptions(RankingOptions):
    """What is compared: ``ids``, ``contexts``, or whatever of the two the row has (ids first)."""

    on: Literal["auto", "ids", "contexts"] = "auto"
    match: Match = "normalized"

    @model_validator(mode="after")
    def _contexts_have_no_grades(self) -> HitOptions:
        if self.on == "contexts" and (self.rel != 1 or self.judged_only):
            raise ValueError("'rel' and 'judged_only' are about ids; contexts have no grades")
        return self

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the fields that this kind of comparison needs."""
        texts = _DOCUMENTS if self.match == "doc_name" else _CONTEXTS
        if self.on == "ids":
            return replace(info, needs=_IDS)
        if self.on == "contexts":
            return replace(info, needs=texts)
        return replace(info, needs=_IDS, or_needs=texts)


_Gains = tuple[tuple[int, int], ...]
_Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Measure:
    """A measure as ir-measures has it, and what its value still goes through.

    ``gains`` take the place of the grades before it is asked for.
    """

    ask: Any
    finish: Callable[[float], float] = float
    gains: _Gains = ()


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
        lacking = self._lacking(sample)
        if lacking or self.of_hits is None:
            return Score(self.name, None, reason=lacking)
        return Score(self.name, self.of_hits(find_hits(sample, self.options.match), self.options.k))

    def _lacking(self, sample: Sample) -> str:
        """Return why the contexts of ``sample`` cannot be compared, empty when they can."""
        if self.of_hits is None or self.options.on == "ids":
            return "the row has no retrieved_ids and reference_ids"
        if self.options.match == "doc_name":
            known = sample.context_docs is not None and sample.doc_name is not None
            return "" if known else "no context names its document, or the row names none"
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
    """Return for each metric the score of each sample: one call of ir-measures for all by ids."""
    by_ids = [
        sample for sample in samples if any(metric.looks_at_ids(sample) for metric in metrics)
    ]
    measures = [metric.measure for metric in metrics]
    found = _evaluate(measures, by_ids) if by_ids else {}
    return [
        [_score(metric, measure, sample, values) for sample in samples]
        for metric, measure in zip(metrics, measures, strict=True)
        for values in [found.get(measure.gains, {}).get(measure.ask, {})]
    ]


def _score(metric: RankingMetric, measure: _Measure, sample: Sample, values: _Values) -> Score:
    if not metric.looks_at_ids(sample):
        return metric.score(sample, ScoringContext())
    if not sample.reference_ids:
        return Score(metric.name, None, reason="no document is judged: reference_ids are empty")
    value = values.get(str(sample.index))
    if value is None and _can_find(sample, _judged(sample, dict(measure.gains))):
        return Score(metric.name, None, reason="ir-measures gave no figure")
    # A search without any result is a bad one, as trec_eval -c has it.
    return Score(metric.name, measure.finish(value or 0.0))


def _judged(sample: Sample, gains: Mapping[int, int]) -> Mapping[str, int]:
    """Return the gain of each judged document: its grade, where ``gains`` do not say otherwise."""
    judged = sample.reference_ids or {}
    return {name: gains.get(grade, grade) for name, grade in judged.items()} if gains else judged


def _can_find(sample: Sample, judged: Mapping[str, int]) -> bool:
    """Return whether anything was retrieved, and relevant; else each measure is 0 without asking.

    trec_eval ends the process where all grades of a query are negative.
    """
    return bool(sample.retrieved_ids) and any(grade >= 1 for grade in judged.values())


def _evaluate(
    measures: Sequence[_Measure], samples: Sequence[Sample]
) -> dict[_Gains, dict[Any, _Values]]:
    """Return by gains and measure the values for the samples that can find anything, by index.

    Measures of different gains are never asked for together: ir-measures would compute an nDCG
    without gains in the first call of trec_eval that it makes, be its grades mapped or not.
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
    strings. It is given ranks instead: their distance from the end for scores, and as ids.
    """
    import ir_measures

    qrels: dict[str, dict[str, int]] = {}
    runs: dict[int, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for sample in samples:
        judged = _judged(sample, gains)
        if not _can_find(sample, judged):
            continue
        length = len(sample.retrieved_ids or ())
        if length not in runs:
            runs[length] = {str(rank): float(length - rank) for rank in range(length)}
        qrels[str(sample.index)] = _by_rank(sample, judged)
        run[str(sample.index)] = runs[length]
    values: dict[Any, _Values] = {measure: {} for measure in asked}
    # The provider itself keeps the order of the measures; ir_measures.iter_calc makes sets of them.
    measures = [_without_default(measure) for measure in asked]
    for found in ir_measures.pytrec_eval.iter_calc(measures, qrels, run) if run else ():
        if not math.isnan(found.value):
            values[found.measure][found.query_id] = found.value
    return values


def _without_default(measure: Any) -> Any:
    """Return a copy that is NaN, and not 0, for a query of which trec_eval says nothing."""
    made = measure()
    made.DEFAULT = math.nan
    return made


def _by_rank(sample: Sample, judged: Mapping[str, int]) -> dict[str, int]:
    """Return the gains of a sample's judged documents, under their ranks where they have one."""
    ranks = {name: rank for rank, name in enumerate(sample.retrieved_ids or ()) if name in judged}
    return {
        str(ranks[name]) if name in ranks else f"missed {at}": gain
        for at, (name, gain) in enumerate(judged.items())
    }


def _parameters(options: Any) -> dict[str, Any]:
    given = {"rel": options.rel} if options.rel != 1 else {}
    return given | ({"judged_only": True} if options.judged_only else {})


def _precision(options: HitOptions) -> _Measure:
    from ir_measures import P, SetP

    parameters = _parameters(options)
    return _Measure(P(**parameters) @ options.k if options.k else SetP(**parameters))


def _recall(options: HitOptions) -> _Measure:
    from ir_measures import R

    # Without a cutoff: far behind the end of any ranking.
    return _Measure(R(**_parameters(options)) @ (options.k or 1_000_000))


def _reciprocal_rank(options: HitOptions) -> _Measure:
    from ir_measures import RR

    last, asked = options.k, RR(**_parameters(options))
    if last is None:
        return _Measure(asked)
    # 1 / rank is below 1 / k by far more than this when the rank is behind the cutoff.
    return _Measure(asked, lambda value: value if value > (1.0 / last) * (1.0 - 1e-9) else 0.0)


def _hit_rate(options: HitOptions) -> _Measure:
    found = _reciprocal_rank(options)
    return _Measure(found.ask, lambda value: float(found.finish(value) > 0.0))


def _average_precision(options: RankingOptions) -> _Measure:
    from ir_measures import AP

    asked = AP(**_parameters(options))
    return _Measure(asked @ options.k if options.k else asked)


def _ndcg(options: GainOptions) -> _Measure:
    from ir_measures import nDCG

    asked = nDCG(judged_only=True) if options.judged_only else nDCG
    gains = sorted((grade, gain) for grade, gain in (options.gains or {}).items() if grade != gain)
    return _Measure(asked @ options.k if options.k else asked, gains=tuple(gains))


def _whole(measure: str) -> Callable[[WholeRankingOptions], _Measure]:
    def make(options: WholeRankingOptions) -> _Measure:
        import ir_measures

        asked = getattr(ir_measures, measure)
        return _Measure(asked(rel=options.rel) if options.rel != 1 else asked)

    return make


def _definition(
    name: str,
    make_measure: Callable[[Any], _Measure],
    options: type[NoOptions],
    aliases: tuple[str, ...],
    of_hits: Callable[[Hits, int | None], float] | None = None,
) -> MetricDefinition:
    return MetricDefinition(
        MetricInfo(name, _IDS, aliases),
        lambda shown, chosen: RankingMetric(shown, chosen, make_measure, of_hits),
        options,
        score_rankings,
    )


METRICS = (
    _definition(
        "hit_rate",
        _hit_rate,
        HitOptions,
        ("hit", "success", "RetrieverHitRateMetric"),
        Hits.hit_rate,
    ),
    _definition(
        "mrr",
        _reciprocal_rank,
        HitOptions,
        ("rr", "recip_rank", "reciprocal_rank", "RetrieverMRRMetric"),
        Hits.reciprocal_rank,
    ),
    _definition(
        "precision",
        _precision,
        HitOptions,
        ("p", "id_based_context_precision", "IDBasedContextPrecision"),
        Hits.precision,
    ),
    _definition(
        "recall",
        _recall,
        HitOptions,
        ("r", "id_based_context_recall", "IDBasedContextRecall"),
        Hits.recall,
    ),
    _definition("map", _average_precision, RankingOptions, ("ap", "average_precision")),
    _definition("ndcg", _ndcg, GainOptions, ()),
    _definition("rprec", _whole("Rprec"), WholeRankingOptions, ("r_precision",)),
    _definition("bpref", _whole("Bpref"), WholeRankingOptions, ()),
)
