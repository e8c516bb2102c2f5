"""Whether a judge that filled holes may be believed: how it agrees with people, from results alone.

A metric whose name ends in ``+filled`` counts grades of a judge. The details of a sample hold the
judged documents that it graded, too: only where it agrees with people on these, a gate can pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.model import FILLED, WEIGHTED_SCORE, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.labels.coefficients import cohen_kappa
from pytest_rageval.stats.weights import is_scored

LEAST_KAPPA: Final = 0.4
"""A judge with a lower weighted kappa is not believed."""
FEWEST_PAIRS: Final = 20
"""With fewer judged documents nobody knows."""


@dataclass(frozen=True, slots=True)
class FillCheck:
    """How the judge grades documents that people judged: ``pairs`` of them, ``unread`` besides.

    ``kappa`` has quadratic weights; None where people and judge give one grade only.
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
                f"and {FEWEST_PAIRS} are the least; raise fill.check, and see that judged "
                "documents have texts (corpus)"
            )
        if self.kappa is None:
            return (
                f"the judge is not checked: of {self.pairs} documents that people judged, both "
                "give all the same grade; raise fill.check, or have documents of other grades "
                "judged"
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
        if self.kappa is None:
            return f"no weighted kappa on {self.pairs} judged documents{unread}"
        return f"weighted kappa with people {self.kappa:.2f} on {self.pairs}{unread}"


def check_of(samples: Iterable[SampleResult]) -> FillCheck:
    """Return how the judge agrees with people over all samples of a run."""
    rows = [row for sample in samples for row in _details(sample).get("checked", ())]
    pairs = [(max(people, 0), judge) for _, people, judge in rows if judge is not None]
    return FillCheck(len(pairs), len(rows) - len(pairs), _kappa(pairs))


def _kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    size = max((grade for pair in pairs for grade in pair), default=0) + 1
    table = [[0] * size for _ in range(size)]
    for people, judge in pairs:
        table[people][judge] += 1
    return cohen_kappa(table, quadratic=True) if size > 1 else None


def _details(sample: SampleResult) -> Mapping[str, Any]:
    found = sample.details.get(FILLED)
    return found if isinstance(found, Mapping) else {}


def filled_metrics(info: ScenarioInfo) -> list[str]:
    """Return the metrics that count grades of a judge."""
    return [column.name for column in info.metrics if column.filled]


def doubt_of(result: ScenarioResult, names: Iterable[str]) -> str:
    """Return why the figures of these metrics are not believed, "" if they are."""
    doubtful = reached_by_fill(result.info)
    return "" if doubtful.isdisjoint(names) else check_of(result.samples).doubt


def reached_by_fill(info: ScenarioInfo) -> set[str]:
    """Return the figures that grades of a judge are in: ``weighted_score`` where one weighs."""
    weighs = any(column.filled and column.weight > 0.0 for column in info.metrics)
    return {*filled_metrics(info), *([WEIGHTED_SCORE] if weighs else [])}


def filled_text(result: ScenarioResult, metric: str) -> str:
    """Return whose judgements a figure counts, and how the judge agrees; "" for other metrics."""
    if metric not in filled_metrics(result.info):
        return ""
    counted = [
        sample.details.get(metric)
        for sample in result.samples
        if is_scored(sample.scores.get(metric))
    ]
    details = [one for one in counted if isinstance(one, Mapping) and "by_judge" in one]
    total, by_judge = (sum(one[name] for one in details) for name in ("judgements", "by_judge"))
    check = check_of(result.samples)
    parts = [f"of {total:,} judgements {by_judge:,} by the judge ({check})"]
    return "; ".join([*parts, *_left(result.samples), *filter(None, [check.doubt])])


def _left(samples: Sequence[SampleResult]) -> Iterator[str]:
    """Yield how many holes stay, and why."""
    counts = {
        "replies of it could not be read": "unread",
        "have no text": "no_text",
    }
    for why, key in counts.items():
        number = sum(len(_details(sample).get(key, ())) for sample in samples)
        if number:
            yield f"{number} holes stay, {why}"


def qrels_lines(samples: Iterable[SampleResult]) -> Iterator[str]:
    """Yield the judge's grades as lines of qrels, with the iteration J.

    White space in ids becomes ``%20`` and the like: it ends a column there.
    """
    for sample in samples:
        for name, (grade, _) in _details(sample).get("grades", {}).items():
            yield f"{_column(sample.sample_id)} J {_column(name)} {grade}\n"


def _column(text: str) -> str:
    return "".join(f"%{ord(one):02X}" if one.isspace() or one == "%" else one for one in text)
