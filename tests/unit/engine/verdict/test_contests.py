"""[E20] Variants judged together: whole, in part, with lost samples; in the order of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ranked_variants import contest_of, run_of

from pytest_rageval.engine.verdict.decide import contested, in_file_order, with_rankings
from pytest_rageval.model import ScenarioResult

ONES, ZEROS = [1.0] * 8, [0.0] * 8
CONTEST = contest_of("bm25", "dense", at_least="dense")


def variant(name: str, scores: list[float | None], **info: Any) -> ScenarioResult:
    marks = info.pop("marks", None)
    known = {"nodeid": f"qa.yaml::{name}", "contest": CONTEST, "selected": len(scores), **info}
    run = run_of(name, scores, marks=marks)
    return replace(run, info=replace(run.info, **known))


def outcome(*results: ScenarioResult, **how: bool) -> tuple[str, str]:
    (found,) = contested(results, **how)
    assert found.gate is not None
    return found.gate.outcome, found.gate.message


def test_whole_variants_are_decided() -> None:
    """Whichever came first, they are in the order of the file."""
    runs = variant("dense", ONES), variant("bm25", ZEROS)
    (found,) = contested(runs)
    assert [one.info.variant for one in found.results] == ["bm25", "dense"]
    assert outcome(*runs)[0] == "passed"
    beaten = variant("dense", ZEROS), variant("bm25", ONES)
    assert outcome(*beaten)[0] == "failed"
    ranked = with_rankings(runs, [found])
    assert [one.ranking for one in ranked] == [found.ranking, found.ranking]


def test_a_part_is_undecided_whatever_it_shows() -> None:
    """Left out on purpose, ``best`` is skipped; failed if strict."""
    runs = variant("dense", ONES), variant("bm25", ZEROS, total=9)
    part = tuple(replace(one, complete=False) for one in runs)
    assert outcome(*part) == ("skipped", "16 of 17 samples ran")
    assert outcome(*part, strict=True)[0] == "failed"
    assert outcome(*part, stopped=True)[0] == "skipped"


def test_one_variant_alone_is_undecided() -> None:
    """Also if all of its samples ran; without a second one there is no ranking."""
    assert outcome(variant("dense", ONES)) == ("skipped", "1 of 2 variants ran")
    assert outcome(variant("dense", ONES), strict=True)[0] == "failed"
    assert contested([variant("dense", ONES)])[0].ranking is None


@pytest.mark.parametrize("strict", [False, True])
def test_lost_samples_fail(strict: bool) -> None:
    """They were selected and have no result: a worker crashed."""
    lost = variant("bm25", ZEROS, total=9, selected=9)
    said = outcome(variant("dense", ONES), replace(lost, complete=False), strict=strict)
    assert said == ("failed", "16 of 17 samples ran; 1 lost (a worker crashed?)")


def test_a_spent_budget_fails() -> None:
    """What was not asked for may have turned the comparison."""
    errors = {"errors": {"f1": "budget: 5 USD are spent"}, "scores": {"f1": None}}
    spent = variant("bm25", ZEROS, marks={"s0": {**errors, "weighted_score": None}})
    found, message = outcome(variant("dense", ONES), spent)
    assert found == "failed"
    assert message.startswith("the budget is spent: 1 of 16 samples not asked for")


def test_without_a_variant_to_lead_there_is_no_gate() -> None:
    """They are ranked all the same."""
    contest = contest_of("bm25", "dense")
    runs = [variant("dense", ONES, contest=contest), variant("bm25", ZEROS, contest=contest)]
    (found,) = contested(runs)
    assert found.gate is None
    assert found.ranking is not None
    assert found.ranking.best == "dense"


def test_scenarios_without_variants_and_test_functions_are_not_compared() -> None:
    """A test function over a variant has cases of its own."""
    of_test = variant("dense", ONES, nodeid="test_bot.py::test_it")
    assert contested([run_of("", ONES), of_test, of_test]) == []


def test_scenarios_are_listed_by_file_and_variants_as_their_file_has_them() -> None:
    """Not by name: the file's order is the user's."""
    contest = contest_of("dense", "bm25")
    runs = [
        variant("bm25", ZEROS, contest=contest),
        run_of("", ONES),
        variant("dense", ONES, contest=contest),
    ]
    ordered = sorted((one.info for one in runs), key=in_file_order)
    assert [info.variant for info in ordered] == ["", "dense", "bm25"]
