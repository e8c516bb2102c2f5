"""Says in one line how a result, or several variants, came out."""

from __future__ import annotations

from pytest_rageval.model import GateResult, Ranking, ScenarioResult
from pytest_rageval.reports.figures import figure, interval
from pytest_rageval.reports.summary_md import verdict_parts
from pytest_rageval.reports.variants import ranking_head
from pytest_rageval.text.printable import one_line


def verdict_of(result: ScenarioResult) -> tuple[str, str]:
    """Return the verdict, and how many gates and cases ended how.

    A run is ``passed`` only if it was judged, and every gate was decided.
    """
    word, counts = verdict_parts(result)
    if word == "passed" and any(gate.outcome == "skipped" for gate in result.gates):
        return "undecided", counts
    return word, counts


def result_text(result: ScenarioResult) -> str:
    """Return name, verdict and weighted score.

    ``support-bot: FAILED, 1 of 2 gates failed; 3 of 3 cases passed; weighted_score 0.6000
    (0.5000..0.7000)``
    """
    word, counts = verdict_of(result)
    overall = result.weighted_score
    ends = interval(overall.ci_low, overall.ci_high)
    score = f"weighted_score {figure(overall.mean)}" + ("" if ends == "-" else f" ({ends})")
    return f"{one_line(result.info.title)}: {word}, {counts}; {score}"


def ranking_text(ranking: Ranking, gate: GateResult | None) -> str:
    """Return the variants with means and letters, and the gate ``best``."""
    ranked = ", ".join(
        one_line(f"{one.name} {figure(one.mean)} {one.letters}") for one in ranking.variants
    )
    said = f"; gate {gate.name} {gate.outcome}" if gate is not None else ""
    undecided = "; no letters" if ranking.undecided else ""
    return f"{one_line(ranking.scenario)}: {ranked} ({ranking_head(ranking)}){undecided}{said}"
