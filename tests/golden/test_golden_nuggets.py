"""G7: nugget recall on lists like those of nuggetizer; ours where upstream scores nothing 0."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any, cast

import pytest
from others_data import others_data
from scripted_models import ScriptedJudge

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.datasets.answer_fields import read_answer_fields
from pytest_rageval.datasets.cells import BadValueError
from pytest_rageval.metrics.base import METRIC_REGISTRY, JudgedMetric, Models, missing_fields
from pytest_rageval.model import Sample

Nuggets = Sequence[tuple[str, str]]
"""(importance, assignment) of each."""

LEVELS = {"support": "full", "partial_support": "partial", "not_support": "none"}
OPTIONS = {
    "strict_vital": {},
    "vital": {"strict": False},
    "strict_all": {"of": "all"},
    "all": {"of": "all", "strict": False},
    "strict_weighted": {"of": "weighted"},
    "weighted": {"of": "weighted", "strict": False},
}
"""The options of ``nugget_recall`` by the names of the reference figures."""
NAMES = {
    "strict_vital": "strict_vital_score",
    "vital": "vital_score",
    "strict_all": "strict_all_score",
    "all": "all_score",
    "strict_weighted": "strict_weighted_score",
}


@pytest.fixture(scope="module")
def families() -> Any:
    """Return the reference figures by family."""
    return json.loads(others_data("reference/answers.json").read_text("utf-8"))["families"]


def sample_of(nuggets: Nuggets) -> Sample:
    """Return a sample with these nuggets, as a data file would have them."""
    written = [{"text": f"fact {at}", "importance": nugget[0]} for at, nugget in enumerate(nuggets)]
    row = {"nuggets": written, "answer": "an answer"}
    found = read_answer_fields(row, frozenset({"nuggets"}), {"nuggets": "nuggets"})
    return Sample("s", question="q", **found)


def judge_of(nuggets: Nuggets) -> ScriptedJudge:
    """Return a judge that gives the assignments of the nuggets that it is asked about."""

    def verdicts(prompt: str) -> Any:
        asked = [at for at in range(len(nuggets)) if f"\nfact {at}\n" in prompt]
        levels = [LEVELS.get(nuggets[at][1], nuggets[at][1]) for at in asked]
        numbered = enumerate(levels, 1)
        return {"verdicts": [{"n": n, "support": level, "reason": ""} for n, level in numbered]}

    return ScriptedJudge({"support": verdicts})


def scored(name: str, nuggets: Nuggets, **options: Any) -> float | None:
    """Return the score of a metric, None where the row rules it out."""
    definition = METRIC_REGISTRY.get(name)
    made = definition.options.model_validate(options)
    sample = sample_of(nuggets)
    if missing_fields(sample, made.adapt(definition.info)):
        return None
    metric = cast("JudgedMetric", definition.make(name, made))
    return asyncio.run(metric.ascore(sample, Models(judge_of(nuggets)))).value


@pytest.mark.full
def test_each_list_has_the_figures_that_follow_from_its_assignments(families: Any) -> None:
    cases = families["nuggets"]["cases"]
    assert len(cases) == 24
    compared = 0
    for case in cases:
        nuggets, rule = case["nuggets"], case["rule"]
        if rule == "refused at reading":
            with pytest.raises(BadValueError, match="importance must be vital or okay"):
                sample_of(nuggets)
            continue
        for figure, options in OPTIONS.items():
            if rule == "failed":
                with pytest.raises(ClientError):
                    scored("nugget_recall", nuggets, **options)
                continue
            expected = rule[figure] if rule[figure] is None else pytest.approx(rule[figure])
            assert scored("nugget_recall", nuggets, **options) == expected, (case["id"], figure)
            if figure in NAMES:
                assert scored(NAMES[figure], nuggets) == expected, (case["id"], figure)
            compared += 1
    assert compared >= 100


def test_a_mean_is_over_the_answers_to_which_the_metric_applies(families: Any) -> None:
    cases = families["nugget_means"]["cases"]
    assert len(cases) == 4
    for case in cases:
        for figure, expected in case["rule"].items():
            found = [scored(NAMES[figure], nuggets) for nuggets in case["answers"]]
            values = [value for value in found if value is not None]
            assert fmean(values) == pytest.approx(expected["mean"]), (case["id"], figure)
            assert len(values) == expected["n"], (case["id"], figure)
