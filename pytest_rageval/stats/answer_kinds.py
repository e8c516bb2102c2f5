"""How many answers refuse, and what a metric is without those that it does not apply to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_rageval.model import ANSWER_KIND, SampleResult, ScenarioResult
from pytest_rageval.stats.weights import is_scored, weighted_mean


@dataclass(frozen=True, slots=True)
class Applicable:
    """Of ``n`` scores, ``left_out`` are the worst: the metric does not apply to such an answer.

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


def applicable(samples: Iterable[SampleResult], name: str) -> Applicable | None:
    """Return what a metric is where it applies; None where it applies to every scored answer."""
    scored = [s for s in samples if s.is_expected and is_scored(s.scores.get(name))]
    left = [sample for sample in scored if sample.left_out.get(name) == "answer"]
    if not left:
        return None
    kept = [sample for sample in scored if sample.left_out.get(name) != "answer"]
    mean = weighted_mean((sample.scores[name], sample.sample_weight) for sample in kept)
    reasons = Counter(sample.reasons.get(name, "") for sample in left)
    share = weighted_mean(
        (float(sample.left_out.get(name) == "answer"), sample.sample_weight) for sample in scored
    )
    return Applicable(mean, len(left), len(scored), ", ".join(reasons), share or 0.0)


_WORDS = {
    "refused": "refused",
    "partial": "in part refused, counted as answered",
    "unclear": "in a language whose refusals are not known",
    "failed": "of which the judge did not say whether they refuse",
}


def kinds_of_answers(result: ScenarioResult) -> Iterator[str]:
    """Yield how many answers refuse, in whole or in part, where that is looked for."""
    found = Counter(
        kind.get("kind")
        for sample in result.samples
        if isinstance(kind := sample.details.get(ANSWER_KIND), Mapping)
    )
    listed = [f"{found[kind]} {words}" for kind, words in _WORDS.items() if found[kind]]
    if listed:
        yield f"of {len(result.samples)} answers {', '.join(listed)}"
