"""F6: ``stop`` is refused, or said to have no effect, where no verdict can be certain early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

MakePlan = Callable[..., Plan]
Problems = Callable[..., list[str]]

BASE = """name: s
dataset: [{id: a, answer: x, question: q, references: x, doc_name: d}]
metrics: [rubric]
judge: {model: m, base_url: "http://127.0.0.1:9/v1"}
"""
MEANS = (
    "an error bound is for gates on means and pass_rate, and for no_regression in mode any or "
    "exceeds, and "
)


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("gates: {rubric: 3}\nstop: decided\n", 0.0),
        ("gates: {rubric: 3}\nstop: 0.01\n", 0.01),
        ("gates: {rubric: 3}\nstop: 1e-3\n", 0.001),  # text to YAML 1.1
        ("gates: {weighted_score: 0.5, invalid: 0.1, unscored: 0.1}\nstop: 0.01\n", 0.01),
        ("gates: {by: {doc_name: {rubric: 3}}}\nstop: decided\n", 0.0),
        ("gates: {rubric: 3}\ndoc_weights: {d: 2}\ngroup_by: doc_name\nstop: decided\n", 0.0),
        (
            "thresholds: {rubric: 3}\ntolerate: pass_rate\ngates: {pass_rate: 0.9}\nstop: 0.05\n",
            0.05,
        ),
    ],
)
def test_gates_on_means_can_stop_early(plan: MakePlan, text: str, stop: float) -> None:
    found = plan(BASE + text)
    assert found.info.stop == stop
    assert found.info.remarks == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stop: decided\n", "needs 'gates': without any, nothing is ever decided"),
        (
            "stop: decided\ngates: {unscored: 0.1, invalid: 0.1}\n",
            "needs a gate on a mean, pass_rate, or no_regression: the others do not wait for "
            "scores",
        ),
        (
            "stop: decided\ngates: {rubric: 3}\nthresholds: {rubric: 3}\n",
            "any sample may miss its threshold, so that each one must be asked about; write "
            "'tolerate: pass_rate', or remove the thresholds",
        ),
        (
            "stop: 0.01\ngates: {rubric: 3}\ndoc_weights: {d: 2}\n",
            "an error bound holds for samples that weigh alike, and there is 'doc_weights'; "
            "write 'stop: decided'",
        ),
        (
            "stop: 0.01\ngates: {rubric: 3}\ngroup_by: doc_name\n",
            "an error bound holds for samples that are independent, and there is 'group_by'; "
            "write 'stop: decided'",
        ),
        (
            "stop: 0.01\ngates: {rubric: {lower_bound: 3}, by: {doc_name: {rubric: 3}}}\n",
            f"{MEANS}there is "
            "'rubric.lower_bound', 'by.doc_name.rubric.mean'; write 'stop: decided', or remove it",
        ),
        (
            "stop: 0.01\nhuman: {of: rubric}\ngates: {rubric: {mean: {min: 3, corrected: true}}}\n",
            f"{MEANS}'rubric.mean' is judged by "
            "labels, which needs every sample; write 'stop: decided', or remove it",
        ),
        (
            "stop: 0.01\nhuman: {of: rubric}\n"
            "gates: {rubric: {agreement: {kappa: 0.5, ac1: 0.5}, lower_bound: 3}}\n",
            f"{MEANS}there is 'rubric.lower_bound' "
            "and 'rubric.agreement.kappa', 'rubric.agreement.ac1' are judged by labels, which "
            "needs every sample; write 'stop: decided', or remove it",
        ),
        *(
            (
                f"stop: {given}\ngates: {{rubric: 3}}\n",
                f"expected 'decided' or an error bound above 0 and below 0.5, found {shown}",
            )
            for given, shown in (
                ("0.5", "0.5"),
                ("0", "0"),
                ("true", "True"),
                ("soon", "'soon'"),
                ("[0.1]", "[0.1]"),
                (".nan", "nan"),
            )
        ),
    ],
)
def test_what_can_never_be_certain_is_refused(problems: Problems, text: str, message: str) -> None:
    assert problems(BASE + text) == [f"s.yaml:5: stop: {message}"]


def test_a_test_function_asks_about_every_sample(write: Callable[..., Path]) -> None:
    path = write(BASE + "gates: {rubric: 3}\nstop: decided\n")
    found = make_plan(path, shown="s.yaml", answers_given=True)
    assert found.info.stop is None
    assert found.info.remarks == ("stop: nothing stops early: a test function does the asking",)


def test_a_test_function_has_no_sample(write: Callable[..., Path]) -> None:
    """F9: refused at its line, the fifth."""
    path = write(f"{BASE}sample: 20\n")
    with pytest.raises(ScenarioError) as caught:
        make_plan(path, shown="s.yaml", answers_given=True)
    (problem,) = caught.value.problems
    assert problem.where == "s.yaml:5"
    assert problem.message.startswith("sample: a test function asks every row")


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (
            BASE + "gates: {rubric: {mean: 3, lower_bound: 2}}\n",
            "stop: nothing stops early: gate 'rubric.lower_bound' needs every sample",
        ),
        (
            "name: s\ndataset: [{answer: x, references: x}]\nmetrics: [f1]\ngates: {f1: 0.5}\n",
            "stop: has no effect: no model and no target is asked",
        ),
    ],
)
def test_it_is_said_why_nothing_stops_early(plan: MakePlan, text: str, remark: str) -> None:
    found = plan(text + "stop: decided\n")
    assert found.info.stop is None
    assert found.info.remarks == (remark,)
