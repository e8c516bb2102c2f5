"""Rows that bring a check along are judged by it where the scenario judges nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.model import Bound

HEAD = """\
name: s
metrics: [em, must_include, {column: latency, range: [0, 9], name: x-own}]
dataset: [{id: a, answer: x, references: x, must_include: banana, latency: 3, level: 1}]
"""
CHECKED = {"must_include": Bound(min=1.0)}


@pytest.mark.parametrize(
    ("section", "thresholds"),
    [
        ("gates: {em: 0.1}", {}),
        ("gates: {fail_under: 0.1}", {}),
        ("gates: {by: {level: {em: 0.1}}}", {}),
        ("gates: {by: {level: {unscored: 0.1, x-own: 1}}}", {}),
        (
            "human: {column: level, of: em}\ngates: {em: {agreement: {kappa: 0.1}, mean: 0.1}}",
            {},
        ),
        ("thresholds: {em: 0.1}", {"em": Bound(min=0.1)}),
        ("thresholds: {em: 0.1, x-note: 0.8}", {"em": Bound(min=0.1)}),
        # Names that begin so, of metrics that there are.
        ("gates: {x-own: 1}", {}),
        ("thresholds: {x-own: 1}", {"x-own": Bound(min=1.0)}),
        # What judges no answer leaves the checks: they were all switched off, and red was green.
        ("gates: {x-note: since June}", CHECKED),
        ("thresholds: {x-note: 0.8}", CHECKED),
        ("gates: {invalid: 0.1, x-note: since June}", CHECKED),
        ("gates: {unscored: {em: 0.1}, invalid: 0}", CHECKED),
        ("gates: {by: {level: {unscored: 0.1, x-note: since June}}, invalid: 0.1}", CHECKED),
        (
            "human: {column: level, of: em}\ngates: {em: {agreement: {kappa: 0.1}, x-note: June}}",
            CHECKED,
        ),
        # Where nothing else judges, a check must hold.
        *((section, CHECKED) for section in ("", "gates: {}", "thresholds: {}")),
        ("x-gates: {em: 1}", CHECKED),
    ],
)
def test_a_check_must_hold_and_is_a_score_where_something_else_judges(
    plan: Callable[..., Plan], section: str, thresholds: dict[str, Bound]
) -> None:
    assert plan(HEAD + section).info.thresholds == thresholds


@pytest.mark.parametrize(
    "section", ["gates: {em: 7}", "thresholds: {em: 7}", "thresholds: {no: 1}"]
)
def test_what_is_refused_is_one_problem(problems: Callable[..., list[str]], section: str) -> None:
    assert len(problems(HEAD + section)) == 1
