"""What is said beside a figure: holes in it, grades of a judge, answers that count as the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_rageval.model import ANSWER_KIND, NOTHING, SampleResult, ScenarioResult
from pytest_rageval.model.value import Band
from pytest_rageval.stats.weights import is_scored, weighted_mean
from pytest_rageval.stats.wording import figure

if TYPE_CHECKING:
    from pytest_rageval.stats.holes import OpenMean


def open_text(result: ScenarioResult, metric: str) -> str:
    """Return whose judgements a ranking metric counts, and what is open if few are judged.

    "" where no judge filled holes, and enough is judged.
    """
    found = _open_mean(result, metric)
    is_open = found is not None and found.is_doubtful
    return "; ".join(filter(None, [_filled_text(result, metric), str(found) if is_open else ""]))


def open_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield a line for each ranking metric whose holes a judge filled, or that has many.

    If a judge filled holes, a last line says whether it is believed.
    """
    for name in result.metrics:
        if text := open_text(result, name):
            yield f"{name} {figure(result.mean_of(name))}, {text}"
    if any(column.filled for column in result.info.metrics):
        # Not at the top: most scenarios have no holes filled.
        from pytest_rageval.stats.filled import check_line

        yield check_line(result)


def judged_text(result: ScenarioResult, metric: str) -> str:
    """Return the share of a ranking metric's results that is judged, behind two blanks.

    "" if all are, and for any other metric.
    """
    found = _open_mean(result, metric)
    return "" if found is None else f"  {found.share_text}"


def band_of(result: ScenarioResult, name: str, mean: float | None) -> Band | None:
    """Return how good a mean is; None, too, where it counts grades of a judge not believed."""
    return None if name in doubtful_figures(result) else result.info.band_of(name, mean)


def doubtful_figures(result: ScenarioResult) -> Mapping[str, str]:
    """Return why figures are not believed that count grades of a judge; {} if they are."""
    if not any(column.filled for column in result.info.metrics):
        return NOTHING
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.stats.filled import doubts_of

    return doubts_of(result)


def _filled_text(result: ScenarioResult, metric: str) -> str:
    if not any(column.filled for column in result.info.metrics if column.name == metric):
        return ""
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.stats.filled import filled_text

    return filled_text(result, metric)


def _open_mean(result: ScenarioResult, metric: str) -> OpenMean | None:
    if not any(column.retrieves for column in result.info.metrics if column.name == metric):
        return None
    # Not at the top: most scenarios have no ranking.
    from pytest_rageval.stats.holes import open_mean

    return open_mean(result, metric)


@dataclass(frozen=True, slots=True)
class Applicable:
    """Of ``n`` scores, ``left_out`` count as the worst: the answer rules the metric out.

    ``mean`` is that of the others, weighted; None where there are none. ``why`` lists reasons.
    """

    mean: float | None
    left_out: int
    n: int
    why: str = ""
    share: float = 0.0
    """The share of the answers, by weight, to which the metric does not apply, 0 to 1."""

    def __str__(self) -> str:
        mean = "" if self.mean is None else f"{self.mean:.4f} without "
        return f"{mean}{self.left_out} of {self.n} that count as the worst: {self.why}"


def applicable(samples: Collection[SampleResult], name: str) -> Applicable | None:
    """Return what a metric is where it applies; None where it applies to every scored answer."""
    # Most runs leave nothing out: that is found out first.
    if not any(sample.left_out.get(name) == "answer" for sample in samples):
        return None
    scored = [s for s in samples if s.is_expected and is_scored(s.scores.get(name))]
    left = [sample for sample in scored if sample.left_out.get(name) == "answer"]
    if not left:
        return None
    kept = [sample for sample in scored if sample.left_out.get(name) != "answer"]
    mean = weighted_mean((sample.scores[name], sample.sample_weight) for sample in kept)
    reasons = dict.fromkeys(sample.reasons.get(name, "") for sample in left)
    share = weighted_mean(
        (float(sample.left_out.get(name) == "answer"), sample.sample_weight) for sample in scored
    )
    return Applicable(mean, len(left), len(scored), ", ".join(reasons), share or 0.0)


_WORDS = {
    "refused": "refused",
    "partial": "in part refused, counted as answered",
    "unclear": "in a language whose refusals are not known",
    "failed": "not classified by the judge",
}


def kinds_of_answers(result: ScenarioResult) -> Iterator[str]:
    """Yield one line: how many answers refuse, do so in part, or could not be classified.

    Nothing where that is not looked for, and where all answer.
    """
    found = Counter(
        kind.get("kind")
        for sample in result.samples
        if isinstance(kind := sample.details.get(ANSWER_KIND), Mapping)
    )
    listed = [f"{found[kind]} {words}" for kind, words in _WORDS.items() if found[kind]]
    if listed:
        yield f"of {len(result.samples)} answers: {', '.join(listed)}"


def remarks_of(result: ScenarioResult, target: str) -> Iterator[str]:
    """Yield what is said beside a mean: of its holes, and of answers that count as the worst."""
    if text := open_text(result, target):
        yield text
    if left := applicable(result.samples, target):
        yield str(left)
