"""What results that nobody judged leave open of the mean of a ranking metric.

The metric leaves in the details of a sample what its holes are, see ``metrics/holes.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.model import RETRIEVAL, Baseline, MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.stats.weights import is_scored, weighted_mean
from pytest_rageval.stats.wording import counted, figure

FEW_JUDGED: Final = 0.9
"""A figure is doubtful if a smaller share of its results is judged."""

_LARGEST_LOSS: Final = 0.05  # how much less than in a baseline may be judged without a word
_ON_RECORD: Final = 10  # how many results of a search the details of a sample name


@dataclass(frozen=True, slots=True)
class OpenMean:
    """The mean of a metric with holes; ``judged`` is the mean share of results that are no holes.

    ``ends`` are the means of the lowest and of the highest values, None where the metric leaves
    holes out by itself. ``k`` is its cutoff.
    """

    metric: str
    mean: float
    judged: float
    ends: tuple[float, float] | None
    k: int | None

    @property
    def is_doubtful(self) -> bool:
        """Whether so little is judged that it is said."""
        return self.judged < FEW_JUDGED

    @property
    def share_text(self) -> str:
        """The share that is judged, rounded down: 100 % would say that there is no hole."""
        return f"{int(100.0 * self.judged + 1e-9)} % judged"

    def __str__(self) -> str:
        without = f"{100.0 * (1.0 - self.judged):.0f} % of {_top(self.k)} have no judgement"
        if self.ends is None:
            return without
        return f"{without}: between {figure(self.ends[0])} and {figure(self.ends[1])}"


def open_mean(result: ScenarioResult, metric: str) -> OpenMean | None:
    """Return what holes leave open of a metric's mean; None without holes, or without a mean."""
    rows = [
        (score, holes_of(sample, metric), sample)
        for sample in result.samples
        if is_scored(score := sample.scores.get(metric))
    ]
    some = next((holes for _, holes, _ in rows if holes), None)
    if some is None:
        return None
    mean, judged, low, high = (
        weighted_mean((value, sample.sample_weight) for value, sample in column)
        for column in (
            [(score, sample) for score, _, sample in rows],
            [(_judged(sample, metric), sample) for _, _, sample in rows],
            [(holes.get("low", score), sample) for score, holes, sample in rows],
            [(holes.get("high", score), sample) for score, holes, sample in rows],
        )
    )
    if mean is None or judged is None or low is None or high is None:
        return None  # no weight is above 0
    return OpenMean(metric, mean, judged, (low, high) if "low" in some else None, some.get("k"))


def holes_of(sample: SampleResult, metric: str) -> Mapping[str, Any]:
    """Return what a ranking metric says of the holes of a sample, empty where there are none."""
    details = sample.details.get(metric)
    return details if isinstance(details, Mapping) and "holes" in details else {}


def judged_shares(
    samples: Collection[SampleResult], metrics: Iterable[MetricColumn]
) -> dict[str, dict[str, float]]:
    """Return by ranking metric and sample id the share that is judged, where not all is."""
    shares: dict[str, dict[str, float]] = {}
    for column in metrics:
        if column.retrieves:
            of_metric = [(sample.sample_id, holes_of(sample, column.name)) for sample in samples]
            shares[column.name] = {name: holes["judged"] for name, holes in of_metric if holes}
    return shares


def what_decides(result: ScenarioResult, baseline: Baseline, metric: str) -> str:
    """Return which holes a fall may come from; "" where about as much is judged as in ``baseline``.

    Only samples that both runs scored count.
    """
    theirs = baseline.scores.get(metric, {})
    both = [
        sample
        for sample in result.samples
        if is_scored(sample.scores.get(metric)) and is_scored(theirs.get(sample.sample_id))
    ]
    before = baseline.judged.get(metric, {})
    loss = weighted_mean(
        (before.get(sample.sample_id, 1.0) - share, sample.sample_weight)
        for sample in both
        if (share := _judged(sample, metric)) is not None
    )
    if loss is None or loss <= _LARGEST_LOSS + 1e-9:
        return ""
    found = [holes for sample in both if (holes := holes_of(sample, metric))]
    number = sum(holes["holes"] for holes in found)
    k = found[0].get("k")
    decide = "decides it: judge this" if number == 1 else "decide it: judge these"
    listed = "" if k is not None and k <= _ON_RECORD else f" has those of the first {_ON_RECORD}"
    return f"{counted(number, 'hole')} in {_top(k)} {decide} (holes.tsv{listed})"


def first_holes(sample: SampleResult) -> list[tuple[int, str]]:
    """Return the rank, from 1, and id of the holes among the first results, which are on record.

    Grade -1 is a hole, too: pooled, and not judged.
    """
    retrieval = sample.details.get(RETRIEVAL)
    if not isinstance(retrieval, Mapping) or not any(
        holes_of(sample, name) for name in sample.scores
    ):
        return []
    first = enumerate(retrieval.get("first", ()), 1)
    return [(rank, name) for rank, (name, grade) in first if grade in (None, -1)]


def at_high_end(result: ScenarioResult, metrics: Collection[str]) -> ScenarioResult:
    """Return a result whose samples score as high in ``metrics`` as their holes allow."""
    samples = [
        replace(
            sample,
            scores={
                name: holes_of(sample, name).get("high", score) if name in metrics else score
                for name, score in sample.scores.items()
            },
        )
        for sample in result.samples
    ]
    return replace(result, samples=samples)


def _judged(sample: SampleResult, metric: str) -> float | None:
    """Return the share that is judged; None where nothing was retrieved."""
    retrieval = sample.details.get(RETRIEVAL)
    if isinstance(retrieval, Mapping) and not retrieval.get("retrieved", 1):
        return None
    share: float = holes_of(sample, metric).get("judged", 1.0)
    return share


def _top(k: int | None) -> str:
    return "all results" if k is None else f"the top {k}"
