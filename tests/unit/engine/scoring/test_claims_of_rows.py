"""G6: claims on rows that refuse, that have no answer, or that a judge reads in several ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from claim_tables import ALL
from scripted_models import ScriptedJudge

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import REPEATS, Sample, SampleResult, Score

PlanOf = Callable[..., Plan]
SCENARIO = """
name: s
judge: {{model: m, base_url: http://127.0.0.1:9/v1, repeats: {repeats}}}
refusals: {refusals}
metrics: [{metrics}]
{more}
dataset:
  - {{question: q, answer: a, contexts: [c], references: [r], answerable: true,
     history: [{{role: assistant, content: before}}]}}
"""
REFUSED = "The documents do not say."
LOWER = ("noise_in_relevant", "noise_in_irrelevant", "hallucination", "self_knowledge")
OF_REFERENCES = ("claim_precision", "claim_recall", "claim_f1")
OF_CONTEXTS = ("context_claim_recall", "context_claim_precision")
FULL = {"n": 1, "support": "full", "reason": ""}
SAYS_ALL = {"claims": lambda _: {"claims": ["It is so"]}, "support": lambda _: {"verdicts": [FULL]}}


@pytest.fixture
def plan_of(plan: PlanOf) -> PlanOf:
    """Return a function from metrics and keys to a plan with the judge of a test."""

    def make(
        metrics: tuple[str, ...] = ALL, refusals: str = "phrases", repeats: int = 1, more: str = ""
    ) -> Plan:
        listed = ", ".join(metrics)
        return plan(SCENARIO.format(metrics=listed, refusals=refusals, repeats=repeats, more=more))

    return make


def result_of(
    plan: Plan, replies: Mapping[str, Any] = SAYS_ALL, **fields: Any
) -> tuple[SampleResult, ScriptedJudge]:
    known = {"question": "q", "answer": "a", "contexts": ("c",), "references": ("r",)}
    sample = Sample("s", **{**known, **fields})
    judge = ScriptedJudge(replies)
    scores = asyncio.run(judge_sample(plan, sample, Models(judge)))
    return score_case(plan, sample, Judgement(scores=scores)), judge


def worst(name: str) -> float:
    return 1.0 if name in LOWER else 0.0


def test_a_refusal_of_an_answerable_question_is_the_worst_end(plan_of: PlanOf) -> None:
    """It makes no claim: its figures count as the worst, and the mean without it is shown."""
    found, judge = result_of(plan_of(), answer=REFUSED, answerable=True)
    of_answer = [name for name in ALL if name not in OF_CONTEXTS]
    assert {name: found.scores[name] for name in of_answer} == {n: worst(n) for n in of_answer}
    left_out = {name for name, why in found.left_out.items() if why == "answer"}
    assert left_out == set(of_answer) - set(OF_REFERENCES)
    assert {found.scores[name] for name in OF_CONTEXTS} == {1.0}
    assert judge.schemas == ["claims", "support"]


def test_a_refusal_of_an_unanswerable_question_is_right(plan_of: PlanOf) -> None:
    """What holds claims against contexts does not apply to it, and nothing is asked."""
    found, judge = result_of(plan_of(), answer=REFUSED, answerable=False, references=None)
    assert {name: found.scores[name] for name in OF_REFERENCES} == dict.fromkeys(OF_REFERENCES, 1.0)
    others = set(ALL) - set(OF_REFERENCES)
    assert {name for name, why in found.left_out.items() if why == "row"} == others
    assert found.errors == {}
    assert judge.prompts == []


@pytest.mark.parametrize("answer", ["It is so.", ""])
@pytest.mark.parametrize("references", [None, ("r",)])
def test_an_answer_to_an_unanswerable_question_is_the_worst_end(
    plan_of: PlanOf, answer: str, references: tuple[str, ...] | None
) -> None:
    """Its claims can be right by nothing; what the contexts support is asked as ever."""
    found, judge = result_of(plan_of(), answer=answer, answerable=False, references=references)
    by_row = {*OF_CONTEXTS, "self_knowledge"}
    assert {name for name, why in found.left_out.items() if why == "row"} == by_row
    faithful = {"claim_faithfulness": 1.0 if answer else 0.0}
    others = {name: worst(name) for name in ALL if name not in by_row}
    assert {name: found.scores[name] for name in others} == others | faithful
    assert judge.schemas == (["claims", "support"] if answer else [])


def test_conditions_say_which_metrics_such_a_row_decides(plan_of: PlanOf) -> None:
    plan = plan_of(refusals="{conditions: [hallucination]}")
    found, _ = result_of(plan, answer=REFUSED, answerable=False)
    assert found.scores["hallucination"] == 0.0
    assert found.left_out["noise_in_relevant"] == "row"


def test_an_answer_that_the_judge_finds_no_claim_in_counts_as_the_worst(plan_of: PlanOf) -> None:
    """However long: a judge that finds nothing must not make it green."""
    replies = {**SAYS_ALL, "claims": lambda text: {"claims": [] if "so long" in text else ["R"]}}
    found, _ = result_of(plan_of(), replies, answer="It is so long. " * 20)
    of_claims = set(ALL) - {"claim_recall", "claim_f1", "claim_utilization", *OF_CONTEXTS}
    assert {name: found.scores[name] for name in of_claims} == {n: worst(n) for n in of_claims}
    assert {found.reasons[name] for name in of_claims} == {"the answer makes no claim"}
    assert found.scores["claim_f1"] == 0.0


def test_replies_about_an_answer_without_a_claim_are_counted(plan_of: PlanOf) -> None:
    """They are paid for, and those that could not be used warn of the judge."""
    name, replies = "claim_faithfulness", {"ok": 1, "unusable": 1}
    none = Score(name, None, "the answer makes no claim", left_out="answer", replies=replies)
    sample = Sample("s", question="q", answer="a", contexts=("c",), references=("r",))
    found = score_case(plan_of((name,)), sample, Judgement(scores={name: none}))
    assert (found.scores[name], found.replies[name]) == (0.0, replies)
    assert found.left_out == {name: "answer"}


def test_a_repeat_without_a_claim_is_no_repeat_less(plan_of: PlanOf) -> None:
    """Full, nothing, full: two thirds, not 1; an error stays an error."""
    claims = [{"claims": ["It is so"]}, {"claims": []}, {"claims": ["It is so"]}]
    plan = plan_of(("claim_faithfulness",), repeats=3)
    found, _ = result_of(plan, {**SAYS_ALL, "claims": claims})
    assert found.scores == {"claim_faithfulness": pytest.approx(2 / 3)}
    values = found.details["claim_faithfulness"][REPEATS]["values"]
    assert sorted(values) == [0.0, 1.0, 1.0]
    assert found.left_out == {}


def test_all_repeats_without_a_claim_are_left_out_together(plan_of: PlanOf) -> None:
    plan = plan_of(("claim_faithfulness",), repeats=2)
    found, _ = result_of(plan, {**SAYS_ALL, "claims": lambda _: {"claims": []}})
    assert found.scores == {"claim_faithfulness": 0.0}
    assert found.left_out == {"claim_faithfulness": "answer"}


def weights(plan: Plan) -> dict[str, float]:
    return {column.name: column.weight for column in plan.info.metrics}


def test_what_has_no_better_end_weighs_nothing_unless_written(plan_of: PlanOf) -> None:
    pair = ("claim_f1", "self_knowledge")
    assert weights(plan_of(pair)) == {"claim_f1": 1.0, "self_knowledge": 0.0}
    written = plan_of(pair, more="metric_weights: {self_knowledge: 2}")
    assert weights(written) == {"claim_f1": 1.0, "self_knowledge": 2.0}
    other = plan_of(pair, more="metric_weights: {claim_f1: 3}")
    assert weights(other) == {"claim_f1": 3.0, "self_knowledge": 0.0}
    assert not any("is assumed" in warning for warning in other.info.warnings)
    alone = plan_of(pair[1:], more="metric_weights: {self_knowledge: 1}")
    assert weights(alone) == {"self_knowledge": 1.0}


def test_nothing_but_it_makes_no_weighted_score(plan_of: PlanOf) -> None:
    with pytest.raises(
        Exception, match="'self_knowledge' is neither better high nor better low; write"
    ):
        plan_of(("self_knowledge",))


@pytest.mark.parametrize(
    ("gates", "is_said"),
    [
        ("{claim_utilization: 0.5}", True),
        ("{claim_utilization: 0.5, context_claim_recall: 0.5}", False),
        ("{context_claim_recall: 0.5}", False),
        ("{by: {q: {claim_utilization: 0.5}}}", True),
        ("{claim_f1: 0.5}", False),
    ],
)
def test_a_gate_that_losing_contexts_can_meet_is_told(
    plan_of: PlanOf, gates: str, is_said: bool
) -> None:
    names = ("claim_f1", "claim_utilization", "context_claim_recall")
    if "by" in gates:
        gates = gates.replace("q:", "doc_name:")
    said = plan_of(names, more=f"gates: {gates}").info.warnings
    assert any("bound context_claim_recall, too" in warning for warning in said) == is_said


@pytest.mark.parametrize("evidence", [True, False])
def test_earlier_turns_are_evidence_where_the_scenario_says_so(
    plan_of: PlanOf, evidence: bool
) -> None:
    """The judge supports everything by the history, and nothing by a context."""
    said = {"n": 1, "support": "none", "reason": ""}

    def support(prompt: str) -> Any:
        is_history = "It was said before" in prompt[prompt.index("<source>") :]
        return {"verdicts": [FULL if is_history else said]}

    more = f"conversation: {{evidence: {str(evidence).lower()}}}"
    plan = plan_of(("claim_faithfulness", "hallucination", "context_claim_recall"), more=more)
    history = ({"role": "assistant", "content": "It was said before"},)
    found, judge = result_of(plan, {**SAYS_ALL, "support": support}, history=history)
    assert found.scores == {
        "claim_faithfulness": float(evidence),
        "hallucination": float(not evidence),
        "context_claim_recall": 0.0,
    }
    assert judge.schemas.count("support") == 3 + evidence
    assert ("only the history" in str(found.reasons.get("claim_faithfulness"))) == evidence
