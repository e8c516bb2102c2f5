"""Judges against people: scikit-learn, statsmodels, scipy, krippendorff and irrCAC say the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import people_and_judges
import pytest
from others_data import others_data

from pytest_rageval.model import Agreement
from pytest_rageval.stats.labels.agreement import Rated, agreement
from pytest_rageval.stats.labels.coefficients import kappa_influence, krippendorff_alpha

# Our name of each figure by the reference's. irrCAC rounds to 5 digits.
EXACT = {
    "n": "n",
    "cohen_kappa_sklearn": "kappa",
    "cohen_kappa_quadratic_sklearn": "weighted_kappa",
    "spearman_scipy": "spearman",
    "kendall_tau_b_scipy": "kendall",
    "roc_auc_sklearn": "auc",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
ROUNDED = {"gwet_ac1_irrCAC": "ac1", "gwet_ac2_quadratic_irrCAC": "ac2"}
SINGLE = "degenerate-n1"
INLINE = (
    "perfect",
    "all-one-class-both",
    "judge-constant",
    "opposite",
    "n2",
    "kappa-paradox",
)
REAL = {
    "openqa-gpt-4": lambda: people_and_judges.openqa("gpt-4"),
    "openqa-text-davinci-003": lambda: people_and_judges.openqa("text-davinci-003"),
    "evouna-fid-contains": lambda: people_and_judges.evouna("fid"),
    "evouna-chatgpt-contains": lambda: people_and_judges.evouna("chatgpt"),
    "evouna-newbing-contains": lambda: people_and_judges.evouna("newbing"),
    "expertqa-support-vs-correctness-5": people_and_judges.expertqa,
    "ragas-annotated": people_and_judges.ragas_annotated,
}

Case = dict[str, Any]


@pytest.fixture
def case(reference: Callable[[str], Any]) -> Callable[[str], Case]:
    """Return a function that finds a case of the reference by its id."""
    cases = {one["id"]: one for one in reference("calibration.json")["cases"]}
    return lambda name: cases[name]


def rated(both: Sequence[tuple[float, float]], *, is_level: bool = True) -> list[Rated]:
    return [
        Rated(str(at), at, {"people": human}, judge, judge if is_level else None, judge)
        for at, (human, judge) in enumerate(both)
    ]


def compare(found: Agreement, expected: Case) -> None:
    """Hold each figure that the reference has against ours."""
    for digits, names in ((1e-9, EXACT), (1e-4, ROUNDED)):
        for theirs, ours in names.items():
            if expected.get(theirs) is not None:
                assert getattr(found, ours) == pytest.approx(expected[theirs], abs=digits), ours
            elif theirs in expected:
                assert getattr(found, ours) is None
                assert found.why[ours]
    for name in ("sensitivity", "specificity"):
        if f"{name}_wilson95_statsmodels" in expected:
            low, high = expected[f"{name}_wilson95_statsmodels"]
            ours = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
            if ours == (None, None):
                assert "people call one sample" in found.why[f"{name}_low"]
                continue
            # Ours is that of every mean of scores, Clopper and Pearson's: Wilson's is about inside.
            assert ours[0] <= low + 1e-4
            assert ours[1] >= high - 1e-4
            labels = sum(found.confusion[-1 if name == "sensitivity" else 0])
            assert labels < 20 or ours == pytest.approx((low, high), abs=1 / labels)


def compare_levels(both: Sequence[tuple[float, float]], expected: Case) -> Agreement:
    """Hold the figures of levels, and the alpha of people and judge as two annotators."""
    levels = expected["levels"]
    found = agreement(rated(both), levels)
    assert [list(row) for row in found.confusion] == expected["confusion_rows_human_cols_judge"]
    compare(found, expected)
    assert found.kappa is None or found.kappa_low <= found.kappa <= found.kappa_high
    votes = [{"people": human, "judge": judge} for human, judge in both]
    name = "krippendorff_alpha_" + ("nominal" if len(levels) == 2 else "ordinal")
    alpha = krippendorff_alpha(votes, levels)
    assert alpha == (expected[name] and pytest.approx(expected[name], abs=1e-9))
    return found


@pytest.mark.parametrize("name", INLINE)
def test_degenerate_cases_are_as_elsewhere(name: str, case: Callable[[str], Case]) -> None:
    one = case(f"degenerate-{name}")
    compare_levels(
        list(zip(one["inputs"]["human"], one["inputs"]["judge"], strict=True)), one["expected"]
    )


def test_of_a_single_sample_there_are_only_counts(case: Callable[[str], Case]) -> None:
    """Others give sensitivity 1 here."""
    one = case(SINGLE)
    found = agreement(rated([(1, 1)]), one["inputs"]["levels"])
    assert [list(row) for row in found.confusion] == one["expected"][
        "confusion_rows_human_cols_judge"
    ]
    assert (found.n, found.kappa, found.sensitivity) == (1, None, None)


@pytest.mark.full
@pytest.mark.parametrize("name", REAL)
def test_real_judges_agree_with_people_as_elsewhere(name: str, case: Callable[[str], Case]) -> None:
    others_data(case(name)["source"])
    compare_levels(REAL[name](), case(name)["expected"])


@pytest.mark.parametrize(("levels", "weights"), [(2, ""), (5, ""), (5, "_quadratic")])
def test_the_variance_of_kappa_is_statsmodels(
    case: Callable[[str], Case], levels: int, weights: str
) -> None:
    """Before cells are smoothed; ours has no shortcut for weights of 0 and 1."""
    name = "openqa-gpt-4" if levels == 2 else "expertqa-support-vs-correctness-5"
    expected = case(name)["expected"]
    table = expected["confusion_rows_human_cols_judge"]
    kappa, cells = kappa_influence(table, quadratic=bool(weights))
    n = sum(map(sum, table))
    found = zip(chain.from_iterable(cells), chain.from_iterable(table), strict=True)
    variance = math.fsum(moved * moved * count for moved, count in found) / n / n
    assert kappa == pytest.approx(expected[f"cohen_kappa{weights}_statsmodels"], abs=1e-9)
    assert variance**0.5 == pytest.approx(
        expected[f"cohen_kappa{weights}_se_statsmodels"], abs=1e-9
    )


@pytest.mark.full
def test_a_score_between_levels_is_ranked(case: Callable[[str], Case]) -> None:
    """Token F1 against people's verdicts: as it is, and cut at 0.5."""
    one = case("openqa-f1-continuous")
    others_data(one["source"])
    both = people_and_judges.openqa_f1()
    found = agreement(rated(both, is_level=False), (0, 1), unclassed="no threshold cuts f1")
    compare(found, one["expected"])
    assert (found.kappa, found.confusion) == (None, ())
    assert found.why["kappa"] == found.why["sensitivity"] == "no threshold cuts f1"
    cut = [(human, float(score >= 0.5)) for human, score in both]
    compare_levels(cut, one["expected"]["agreement_at_threshold_0.5"])


def test_annotators_agree_among_themselves_as_elsewhere(case: Callable[[str], Case]) -> None:
    """The third is asked only where the first two differ: in alpha, but not in the ceiling."""
    one = case("openqa-annotators")
    others_data(one["source"])
    rows = people_and_judges.openqa_rows()
    votes = [dict(zip("abc", row["human"]["annotators"], strict=False)) for row in rows]
    assert max(map(len, votes)) == 3
    samples = [Rated(str(at), at, vote, 1.0, 1.0, 1.0) for at, vote in enumerate(votes)]
    found = agreement(samples, (0, 1))
    expected = one["expected"]
    assert found.annotators == 3
    assert found.alpha == pytest.approx(
        expected["krippendorff_alpha_nominal_3_raters_missing"], abs=1e-9
    )
    assert found.ceiling == pytest.approx(expected["first_two"]["cohen_kappa_sklearn"], abs=1e-9)
    assert found.split == 0
