"""Measures of a search result: ndcg, map, mrr, precision, recall, hit_rate and their like.

Where rows have ``retrieved_ids`` and ``reference_ids``, or come from TREC files, ir-measures
computes them as trec_eval does, for all rows and measures at once. Otherwise hit_rate, mrr,
precision and recall compare ``contexts`` with ``reference_contexts``: two match when they are
equal, equal after normalising, or one contains the other; or when they come from one document.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from pytest_rageval.metrics.base import (
    MAX_CUTOFF,
    MetricDefinition,
    MetricInfo,
    NoOptions,
    ScoringContext,
)
from pytest_rageval.model import MAX_GRADE, Sample, Score
from pytest_rageval.text.tokenize import normalize_unicode

Match = Literal["exact", "normalized", "contains", "doc_name"]


@dataclass(frozen=True, slots=True)
class Hits:
    """``relevant`` says for each context, in rank order, whether it is an expected one.

    ``found_at`` holds for each expected context the rank (from 1) of the first match, 0 without a
    match. A text that is retrieved twice is relevant once.
    """

    relevant: tuple[bool, ...]
    found_at: tuple[int, ...]

    def hit_rate(self, k: int | None) -> float:
        """Return 1.0 when an expected context is among the first ``k``, else 0.0."""
        return float(any(self.relevant[:k]))

    def reciprocal_rank(self, k: int | None) -> float:
        """Return 1 / rank of the first expected context, 0.0 when the first ``k`` hold none."""
        ranks = (rank for rank, hit in enumerate(self.relevant[:k], start=1) if hit)
        return 1.0 / next(ranks, float("inf"))

    def precision(self, k: int | None) -> float:
        """Return the share of expected ones among ``k``, or among all that were retrieved."""
        size = k or len(self.relevant)
        return sum(self.relevant[:k]) / size if size else 0.0

    def recall(self, k: int | None) -> float:
        """Return the share of the expected contexts that the first ``k`` hold."""
        last = k or len(self.relevant)
        return sum(0 < rank <= last for rank in self.found_at) / len(self.found_at)


def find_hits(sample: Sample, match: Match) -> Hits:
    """Return the hits of a sample that has the fields which ``match`` needs, none of them empty.

    ``normalized`` compares after NFKC and case folding, without punctuation and white space (which
    PDF readers put between Chinese characters); ``contains`` normalises too, and accepts either
    text inside the other. Equal expected contexts count once.
    """
    contexts = sample.contexts or ()
    if match == "doc_name":
        wanted = _file(sample.doc_name)
        same = [name is not None and _file(name) == wanted for name in sample.context_docs or ()]
        return _hits(contexts, [same])
    expected = tuple(dict.fromkeys(_folded(tuple(sample.reference_contexts or ()), match)))
    shown = _folded(contexts, match)
    if match == "contains":
        return _hits(shown, [[_overlap(text, one) for text in shown] for one in expected])
    return _hits(shown, [[text == one and text != "" for text in shown] for one in expected])


def _hits(contexts: Sequence[str], matches: Sequence[Sequence[bool]]) -> Hits:
    seen: set[str] = set()
    relevant = []
    for rank, text in enumerate(contexts):
        hit = text not in seen and any(row[rank] for row in matches)
        relevant.append(hit)
        if hit:
            seen.add(text)
    found_at = tuple(next((at for at, hit in enumerate(row, 1) if hit), 0) for row in matches)
    return Hits(tuple(relevant), found_at)


def _overlap(one: str, other: str) -> bool:
    return bool(one and other) and (one in other or other in one)


# All questions about a document may expect the same chunks.
@lru_cache(maxsize=1024)
def _folded(texts: tuple[str, ...], match: Match) -> tuple[str, ...]:
    """Return the texts in the form that is compared; punctuation alone is left unchanged."""
    if match == "exact":
        return texts
    return tuple(normalize_unicode(text).replace(" ", "") or text for text in texts)


def _file(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").strip()


_IDS = frozenset({"retrieved_ids", "reference_ids"})
_CONTEXTS = frozenset({"contexts", "reference_contexts"})
_DOCUMENTS = frozenset({"context_docs", "doc_name"})

# trec_eval counts the documents of each grade up to the largest: its time grows with the square.
Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]

_K: Final = "only the first k results count"
_REL: Final = "a document is relevant from this grade upwards"
_JUDGED_ONLY: Final = "leave results without a judgement out first"


class _MeasureOptions(NoOptions):
    """The options of a measure of ir-measures."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that ir-measures takes, except defaults."""
        return self.model_dump(include={"rel", "judged_only"}, exclude_defaults=True)

    def label(self, name: str) -> str:
        """Return the name in ir-measures' notation, ``precision(rel=2)@5``."""
        listed = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        k = getattr(self, "k", None)
        return name + (f"({listed})" if listed else "") + (f"@{k}" if k else "")


class RankingOptions(_MeasureOptions):
    """Which part of a ranking counts, and what is relevant in it."""

    k: int | None = Field(None, ge=1, le=MAX_CUTOFF, strict=True, description=_K)
    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True, description=_REL)
    judged_only: bool = Field(False, description=_JUDGED_ONLY)


class WholeRankingOptions(_MeasureOptions):
    """What is relevant; these measures have no cutoff."""

    rel: int = Field(1, ge=1, le=MAX_CUTOFF, strict=True, description=_REL)


class GainOptions(_MeasureOptions):
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
    """A measure of ir-measures; ``finish`` makes the score of its value.

    ``gains`` replace the grades of documents beforehand.
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
        reason = self._why_not(sample)
        if reason or self.of_hits is None:
            return Score(self.name, None, reason=reason)
        return Score(self.name, self.of_hits(find_hits(sample, self.options.match), self.options.k))

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
    """Return for each metric the score of each sample; one call of ir-measures scores all ids."""
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
    # A search without results scores 0, as with trec_eval -c.
    return Score(metric.name, measure.finish(value or 0.0))


def _judged(sample: Sample, gains: Mapping[int, int]) -> Mapping[str, int]:
    """Return the gain of each judged document: its grade, unless ``gains`` name another."""
    judged = sample.reference_ids or {}
    return {name: gains.get(grade, grade) for name, grade in judged.items()} if gains else judged


def _can_find(sample: Sample, judged: Mapping[str, int]) -> bool:
    """Return whether anything was retrieved and anything is relevant; if not, every measure is 0.

    trec_eval would end the process where all grades of a query are negative.
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
        length = len(sample.retrieved_ids or ())
        if length not in runs:
            runs[length] = {str(rank): float(length - rank) for rank in range(length)}
        qrels[str(sample.index)] = _by_rank(sample, judged)
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


def _by_rank(sample: Sample, judged: Mapping[str, int]) -> dict[str, int]:
    """Return the gains of a sample's judged documents, by rank where they were retrieved."""
    ranks = {name: rank for rank, name in enumerate(sample.retrieved_ids or ()) if name in judged}
    return {
        str(ranks[name]) if name in ranks else f"missed {at}": gain
        for at, (name, gain) in enumerate(judged.items())
    }


def _precision(options: HitOptions) -> _Measure:
    from ir_measures import P, SetP

    return _Measure(
        P(**options.parameters) @ options.k if options.k else SetP(**options.parameters)
    )


def _recall(options: HitOptions) -> _Measure:
    from ir_measures import R

    # Without a cutoff, one beyond the end of any ranking.
    return _Measure(R(**options.parameters) @ (options.k or 1_000_000))


def _reciprocal_rank(options: HitOptions) -> _Measure:
    from ir_measures import RR

    last, asked = options.k, RR(**options.parameters)
    if last is None:
        return _Measure(asked)
    # Beyond the cutoff, 1 / rank is smaller than 1 / k by far more than this tolerance.
    return _Measure(asked, lambda value: value if value > (1.0 / last) * (1.0 - 1e-9) else 0.0)


def _hit_rate(options: HitOptions) -> _Measure:
    found = _reciprocal_rank(options)
    return _Measure(found.ask, lambda value: float(found.finish(value) > 0.0))


def _average_precision(options: RankingOptions) -> _Measure:
    from ir_measures import AP

    asked = AP(**options.parameters)
    return _Measure(asked @ options.k if options.k else asked)


def _ndcg(options: GainOptions) -> _Measure:
    from ir_measures import nDCG

    asked = nDCG(**options.parameters)
    gains = sorted((grade, gain) for grade, gain in (options.gains or {}).items() if grade != gain)
    return _Measure(asked @ options.k if options.k else asked, gains=tuple(gains))


def _whole(measure: str) -> Callable[[WholeRankingOptions], _Measure]:
    def make(options: WholeRankingOptions) -> _Measure:
        import ir_measures

        return _Measure(getattr(ir_measures, measure)(**options.parameters))

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
