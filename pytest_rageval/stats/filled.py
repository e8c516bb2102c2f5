"""Whether a judge that filled holes may be believed: how it agrees with people, from results alone.

A metric whose name ends in ``+filled`` counts grades of a judge. The judge also grades documents
that people judged, and the details of a sample hold both grades: a gate can pass only where they
agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.model import FILLED, WEIGHTED_SCORE, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.labels.coefficients import cohen_kappa
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted

LEAST_KAPPA: Final = 0.4
"""A judge with a lower weighted kappa is not believed."""
FEWEST_PAIRS: Final = 20
"""With fewer documents that both graded, nobody knows whether to believe it."""


@dataclass(frozen=True, slots=True)
class FillCheck:
    """How the judge grades documents that people judged: ``pairs`` have both grades.

    Of ``unread`` more, the judge's grade could not be read. ``kappa`` has quadratic weights; None
    without pairs, and where people find all of them relevant, or none.
    """

    pairs: int
    unread: int
    kappa: float | None

    @property
    def doubt(self) -> str:
        """Why this judge is not believed, and what to do; "" if it is."""
        if self.pairs < FEWEST_PAIRS:
            return (
                f"the judge is not checked: it graded {self.pairs} documents that people judged, "
                f"and {FEWEST_PAIRS} are the least; raise fill.check, give judged documents texts "
                "(corpus), or have people judge more"
            )
        if self.kappa is None:
            return (
                f"the judge cannot be checked: of the {self.pairs} documents that it graded, too, "
                "people found all relevant, or none; have others judged (not relevant ones are "
                "grade 0), or raise fill.check"
            )
        if self.kappa < LEAST_KAPPA:
            return (
                f"the judge is not believed: its weighted kappa with people is {self.kappa:.2f} on "
                f"{self.pairs} documents, and {LEAST_KAPPA:.2f} is the least; take another judge, "
                "or have people judge the holes"
            )
        return ""

    def __str__(self) -> str:
        unread = f", {self.unread} more without a grade" if self.unread else ""
        kappa = "none" if self.kappa is None else f"{self.kappa:.2f}"
        return f"weighted kappa with people {kappa} on {self.pairs} documents{unread}"


def check_of(samples: Iterable[SampleResult]) -> FillCheck:
    """Return how the judge agrees with people over all samples of a run."""
    rows = [row for sample in samples for row in _details(sample).get("checked", ())]
    pairs = [(max(people, 0), judge) for _, people, judge in rows if judge is not None]
    return FillCheck(len(pairs), len(rows) - len(pairs), _kappa(pairs))


def _kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    if len({people > 0 for people, _ in pairs}) < 2:
        return None  # nobody knows whether it tells relevant from not, as it must for holes
    size = max((grade for pair in pairs for grade in pair), default=0) + 1
    table = [[0] * size for _ in range(size)]
    for people, judge in pairs:
        table[people][judge] += 1
    return cohen_kappa(table, quadratic=True)


def _details(sample: SampleResult) -> Mapping[str, Any]:
    found = sample.details.get(FILLED)
    return found if isinstance(found, Mapping) else {}


def filled_metrics(info: ScenarioInfo) -> list[str]:
    """Return the metrics that count grades of a judge."""
    return [column.name for column in info.metrics if column.filled]


def doubts_of(result: ScenarioResult) -> dict[str, str]:
    """Return by figure why it is not believed; {} where the judge is."""
    doubt = check_of(result.samples).doubt
    return dict.fromkeys(reached_by_fill(result.info), doubt) if doubt else {}


def reached_by_fill(info: ScenarioInfo) -> set[str]:
    """Return the figures that count grades of a judge: metrics, and ``weighted_score`` with them.

    The latter only if one of these metrics has a weight above 0.
    """
    weighs = any(column.filled and column.weight > 0.0 for column in info.metrics)
    return {*filled_metrics(info), *([WEIGHTED_SCORE] if weighs else [])}


def filled_text(result: ScenarioResult, metric: str) -> str:
    """Return how many of the judgements that a figure counts are by the judge."""
    details = [
        sample.details.get(metric)
        for sample in result.samples
        if is_scored(sample.scores.get(metric))
    ]
    counts = [one for one in details if isinstance(one, Mapping) and "by_judge" in one]
    total, by_judge = (sum(one[name] for one in counts) for name in ("judgements", "by_judge"))
    return f"of {total:,} judgements {by_judge:,} by the judge"


_WHY_LEFT: Final = {"unread": "whose replies could not be read", "no_text": "without a text"}


def check_line(result: ScenarioResult) -> str:
    """Return how the judge that filled holes agrees with people, and which holes stay."""
    check = check_of(result.samples)
    counts = {
        why: sum(len(_details(sample).get(key, ())) for sample in result.samples)
        for key, why in _WHY_LEFT.items()
    }
    left = [f"{counted(number, 'hole')} {why}" for why, number in counts.items() if number]
    stay = [f"left open: {', '.join(left)}"] if left else []
    return f"holes filled by the judge: {'; '.join([check.doubt or str(check), *stay])}"


def grades_of_judge(samples: Iterable[SampleResult]) -> Iterator[tuple[str, str, int]]:
    """Yield sample id, document and grade of each hole that is filled."""
    for sample in samples:
        for name, (grade, _) in _details(sample).get("grades", {}).items():
            yield sample.sample_id, name, grade
