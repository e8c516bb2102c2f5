"""G2: refusals and unanswerable questions against SQuAD 2.0, RGB, CRAG and MTRAG.

Where the figures differ, the reason stands beside the case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.refusals import kind_of
from tests.golden.conftest import Reference

SQUAD = """
name: squad2
dataset: [{answer: a, references: [a], answerable: true}]
metrics: [em, f1]
metric_options: {normalizer: squad}
refusals: {empty: refused}
"""
IDK = "I don't know."


@pytest.fixture
def families(reference: Reference) -> Mapping[str, Any]:
    found: Mapping[str, Any] = reference("answers.json")["families"]
    return found


def planned(folder: Path, text: str) -> Plan:
    path = folder / "s.yaml"
    path.write_text(text, "utf-8")
    return make_plan(path)


def test_squad_2_is_conditioned_as_its_script_does(
    families: Mapping[str, Any], tmp_path: Path
) -> None:
    plan = planned(tmp_path, SQUAD)
    checked = 0
    for case in families["squad2"]["cases"]:
        for at, (row, figures) in enumerate(zip(case["rows"], case["rows_em_f1"], strict=True)):
            if figures is None:  # no prediction: upstream fails, here the row is an error
                continue
            references = tuple(row["references"])
            answer, is_answerable = row["prediction"], bool(references)
            sample = Sample(
                row["id"], at, answer=answer, references=references, answerable=is_answerable
            )
            assert score_case(plan, sample).scores == pytest.approx(figures), (case["id"], row)
            checked += 1
    assert checked > 80


MTRAG = """
name: mtrag
dataset: [{answer: a, references: [a], answerable: true}]
metrics: [f1]
refusals: phrases
"""
ANSWERABLE = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
SAID = {0: "The fee is 5 euros.", 0.5: "The fee is 5 euros. The deadline is not given.", 1: IDK}


def test_mtrag_conditions_but_for_turns_that_are_neither(
    families: Mapping[str, Any], tmp_path: Path
) -> None:
    """Upstream makes 0 of conversational turns and of blanks: "You're welcome!" is neither."""
    plan = planned(tmp_path, MTRAG)
    (bound,) = plan.metrics
    differing = set()
    for case in families["mtrag_conditions"]["cases"]:
        answerable = ANSWERABLE.get(case["answerability"])

        class Fixed:
            def score(self, sample: Sample, context: Any, value: float = case["metric"]) -> Score:
                return Score("f1", value)

        fixed = replace(bound, metric=Fixed(), batch=None)
        sample = Sample("s", answer=SAID[case["idk"]], references=("a",), answerable=answerable)
        found = score_case(replace(plan, metrics=(fixed,)), sample).scores["f1"]
        if found != pytest.approx(case["conditioned"]):
            differing.add(case["answerability"])
    assert differing <= {"CONVERSATIONAL"}


def test_most_refusal_texts_are_told_rightly(families: Mapping[str, Any]) -> None:
    cases = families["refusal_texts"]["cases"]
    right = sum(kind_of(case["answer"]) == case["kind"] for case in cases)
    taken = [case for case in cases if case["kind"] == "answered"]
    assert right >= 0.85 * len(cases)
    assert sum(kind_of(case["answer"]) == "refused" for case in taken) <= len(taken) / 16


CRAG = """
name: crag
dataset: [{answer: a, references: [a]}]
metrics: [em, {crag_score: {correct: em}}]
refusals: phrases
"""
CRAG_DIFFERS = {
    "missing_then_answer": "upstream sees 'I don't know' anywhere; here it goes on to answer",
    "other_refusal": "upstream knows one phrase",
    "no_reply": "a judge without a usable reply is a failed score, never a wrong answer",
    "score_2": "so is a reply that cannot be",
}


def test_crag_scores_but_for_its_phrase_and_its_judge(
    families: Mapping[str, Any], tmp_path: Path
) -> None:
    plan = planned(tmp_path, CRAG)
    em, crag = plan.metrics
    differing = {}
    for case in families["crag"]["cases"]:
        scores = []
        for row in case["rows"]:
            is_exact = any(row["prediction"].lower() == r.lower() for r in row["references"])
            is_usable = all(reply in (0, 1) for reply in row["judge"])
            right = float(is_exact or 1 in row["judge"]) if is_usable else None

            class Judged:
                def score(self, sample: Sample, context: Any, value: float | None = right) -> Score:
                    return Score("em", value, error=None if value is not None else "no reply")

            fixed = replace(plan, metrics=(replace(em, metric=Judged()), crag))
            sample = Sample("s", answer=row["prediction"], references=tuple(row["references"]))
            scores.append(score_case(fixed, sample).scores["crag_score"])
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if known else None
        if mean != pytest.approx(case["upstream"]["score"]):
            differing[case["id"]] = mean
    assert differing.keys() <= CRAG_DIFFERS.keys() | {"invalid_said", "no_reference"}, differing


def test_rgb_knows_no_refusal_that_is_none_here(families: Mapping[str, Any]) -> None:
    """Its two fixed phrases miss other wordings; what they find is refused here, too."""
    for case in families["rgb"]["cases"]:
        for row, labels in zip(case["rows"], case["labels"], strict=True):
            if -1 in labels["label"]:
                assert kind_of(row["prediction"]) == "refused", row
