"""The lines about judge and people, in the terminal and in the summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_rageval.model import Agreement, Corrected, GateResult, HumanLabels, ScenarioResult
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.stats.wording import corrected_figures

WHY = "9 labelled answers, fewer than 10"


def test_a_gates_reason_is_not_said_again(result: Callable[..., ScenarioResult]) -> None:
    """F4: it stands beside the gate; without one, a line says why there is no mean."""
    none = Corrected(None, None, None, None, 9, None, WHY)
    ran = replace(result((), human=(HumanLabels("f1", (0.0, 1.0)),)), corrected={"f1": none})
    assert RunView(ran).people == [f"f1 by people: {WHY}"]
    gate = GateResult("f1.mean", "failed", None, 0.5, WHY)
    assert RunView(replace(ran, gates=(gate,))).people == []


def test_answers_are_counted_not_labels(result: Callable[..., ScenarioResult]) -> None:
    """F3: two people may have labelled each."""
    found = Agreement((0.0, 1.0), 23, (), stale=29, split=1)
    ran = replace(result(()), agreement={"f1": found})
    assert RunView(ran).people == [
        "f1 and people: 23 labelled answers; not counted: 29 with labels of earlier answers only, "
        "1 on which people are split"
    ]
    assert corrected_figures(Corrected(0.5, 0.4, 0.6, 0.2, 40, 43.2)) == "40 labelled, worth 43"


def test_coefficients_are_shown_with_their_intervals(result: Callable[..., ScenarioResult]) -> None:
    """N11: one without an interval stands alone."""
    found = Agreement(
        (0.0, 1.0),
        20,
        ((9, 1), (1, 9)),
        kappa=0.8,
        kappa_low=0.5,
        kappa_high=0.95,
        ac1=0.8,
        ac1_low=0.6,
        ac1_high=0.9,
        ceiling=0.75,
        why={"ceiling_low": "one group"},
    )
    assert RunView(replace(result(()), agreement={"f1": found})).people == [
        "f1 and people: 20 labelled answers, 18 agree, kappa 0.8000 (0.5000..0.9500), AC1 0.8000 "
        "(0.6000..0.9000), people among themselves 0.7500"
    ]
