"""Corrected means: those of ppi-python at our lambda, and intervals from separate code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import people_and_judges
import pytest
from others_data import others_data
from people_and_judges import Both

from pytest_rageval.stats.labels.corrected import Judged, corrected_mean

Case = dict[str, Any]

DEGENERATE = ("perfect-judge", "constant-judge", "constant-human", "anticorrelated")
EVERY_15TH = {
    "openqa-gpt-4-corrected-100": lambda: people_and_judges.openqa("gpt-4"),
    "openqa-text-davinci-003-corrected-100": lambda: people_and_judges.openqa("text-davinci-003"),
}
EVERY_30TH = {
    f"evouna-{system}-corrected-101": lambda system=system: people_and_judges.evouna(system)
    for system in ("fid", "chatgpt", "newbing")
}


@pytest.fixture
def case(reference: Callable[[str], Any]) -> Callable[[str], Case]:
    """Return a function that finds a case of the reference by its id."""
    cases = {one["id"]: one for one in reference("calibration.json")["cases"]}
    return lambda name: cases[name]


def every(step: int, both: Both, weights: Sequence[float] | None = None) -> list[Judged]:
    """Return samples of which each ``step``-th is labelled."""
    return [
        Judged(judge, human if at % step == 0 else None, 1.0 if weights is None else weights[at])
        for at, (human, judge) in enumerate(both)
    ]


def compare(samples: list[Judged], expected: Case, formula: Case | None = None) -> None:
    """Hold the mean against theirs: it lies between those of lambda 0 and 1, linearly."""
    found = corrected_mean([samples])
    none, whole = (expected[name]["estimate"] for name in ("classical_lam0", "ppi_lam1"))
    assert found.labels == expected["n_labelled"]
    assert found.mean == pytest.approx(none + found.share * (whole - none), abs=1e-9)
    # They choose lambda with other degrees of freedom.
    assert found.mean == pytest.approx(expected["ppi_plus_plus"]["estimate"], abs=1.5e-3)
    if formula is not None:
        assert found.share == pytest.approx(formula["lambda"], abs=1e-9)
        assert found.mean == pytest.approx(formula["estimate"], abs=1e-9)
        assert [found.ci_low, found.ci_high] == pytest.approx(formula["ci95"], abs=1e-9)


@pytest.mark.parametrize("name", [*EVERY_15TH, *EVERY_30TH])
def test_a_real_judge_is_corrected_as_elsewhere(name: str, case: Callable[[str], Case]) -> None:
    one = case(name)
    others_data(one["source"])
    step, both = (15, EVERY_15TH[name]()) if name in EVERY_15TH else (30, EVERY_30TH[name]())
    formula = one["proposed_formula_own_code_not_independent"]
    compare(every(step, both), one["expected"]["ppi"], formula)


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_cases_are_as_elsewhere(name: str, case: Callable[[str], Case]) -> None:
    one = case(f"degenerate-ppi-{name}")
    samples = _given(one["inputs"])
    compare(samples, one["expected"]["ppi"], one["proposed_formula_own_code_not_independent"])


def test_two_labels_are_too_few_here(case: Callable[[str], Case]) -> None:
    """ppi-python gives them an interval."""
    one = case("degenerate-ppi-n2")
    assert one["proposed_formula_own_code_not_independent"]["refused"]
    found = corrected_mean([_given(one["inputs"])])
    assert (found.mean, found.labels, found.why) == (None, 2, "2 labelled answers, fewer than 10")


def test_weighted_means_are_ppi_pythons(case: Callable[[str], Case]) -> None:
    one = case("openqa-gpt-4-corrected-weighted")
    others_data(one["source"])
    rows = people_and_judges.openqa_judged("gpt-4")
    weights = [[1, 1.5, 2, 4][int(row["question_id"]) % 4] for row in rows]
    compare(every(15, people_and_judges.openqa("gpt-4"), weights), one["expected"]["ppi"])


def test_a_continuous_judge_is_corrected_as_elsewhere(case: Callable[[str], Case]) -> None:
    one = case("openqa-f1-continuous")
    others_data(one["source"])
    samples = every(15, people_and_judges.openqa_f1())
    compare(samples, one["expected"]["ppi_labelled_index%15==0"])


@pytest.mark.full
@pytest.mark.parametrize("system", ["fid", "chatgpt"])
def test_thousands_of_labels_give_ppi_pythons_interval(
    system: str, case: Callable[[str], Case]
) -> None:
    """Labels of another system; of so many, Wilson's form and degrees of freedom say the same."""
    one = case(f"evouna-transfer-{system}-to-gpt4")
    others_data(one["source"])
    samples = [Judged(judge, human) for human, judge in people_and_judges.evouna(system)]
    samples += [Judged(judge) for _, judge in people_and_judges.evouna("gpt4")]
    compare(samples, one["expected"]["ppi"])
    found = corrected_mean([samples])
    theirs = one["expected"]["ppi"]["ppi_plus_plus"]["ci95"]
    assert [found.ci_low, found.ci_high] == pytest.approx(theirs, abs=5e-4)


def _given(inputs: Case) -> list[Judged]:
    labelled = [Judged(f, y) for y, f in zip(inputs["Y"], inputs["f"], strict=True)]
    return labelled + [Judged(f) for f in inputs["F"]]
