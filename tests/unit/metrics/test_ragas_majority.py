"""F8: verdicts that are asked for several times, and merged by majority."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from judged_scoring import NLI, SAMPLE, STATEMENTS, input_of, metric, score
from pydantic import ValidationError
from scripted_models import ScriptedJudge, nli

from pytest_rageval.clients.errors import ClientError, InvalidOutputError, ServerError
from pytest_rageval.metrics.base import METRIC_REGISTRY

CLAIMS = ["a", "b", "c"]
# By reply: of a two say yes, of b two, of c none. The first reply alone would give 1/3.
REPLIES = ([1, 0, 0], [1, 1, 0], [0, 1, 0])

VOTED = [
    "faithfulness",
    "context_precision",
    "context_utilization",
    "context_recall",
    "factual_correctness",
    "noise_sensitivity",
    "noise_sensitivity_irrelevant",
]


def faithfulness(*replies: Any, keeps: bool = False, **options: Any) -> tuple[Any, ScriptedJudge]:
    judge = ScriptedJudge({STATEMENTS: [{"statements": CLAIMS}], NLI: replies})
    judge.keeps = keeps
    return score("faithfulness", judge, **options), judge


def test_each_verdict_is_what_most_replies_say() -> None:
    """[F8] 2 of 3 claims; the reason is that of the first reply with the verdict."""
    pytest.importorskip("ragas")
    said = [nli(CLAIMS, verdicts, f"reply {at}") for at, verdicts in enumerate(REPLIES)]
    found, judge = faithfulness(*said, reproducibility=3)
    assert found.value == pytest.approx(2 / 3)
    claims = [(one["claim"], one["verdict"], one["reason"]) for one in found.details["claims"]]
    assert claims == [("a", 1, "reply 0"), ("b", 1, "reply 1"), ("c", 0, "reply 0")]
    assert Counter(judge.schemas) == {STATEMENTS: 1, NLI: 3}
    once, judge = faithfulness(*said)
    assert once.value == pytest.approx(1 / 3)
    assert Counter(judge.schemas) == {STATEMENTS: 1, NLI: 1}


def test_the_majority_is_that_of_ragas() -> None:
    """[F8] ``ensembler.from_discrete``, on five replies about four statements."""
    base = pytest.importorskip("ragas.metrics.base")
    claims = ["a", "b", "c", "d"]
    votes = ([1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0])
    said = [nli(claims, verdicts) for verdicts in votes]
    judge = ScriptedJudge({STATEMENTS: [{"statements": claims}], NLI: said})
    found = score("faithfulness", judge, reproducibility=5)
    theirs = base.ensembler.from_discrete(
        [copy.deepcopy(one["statements"]) for one in said], "verdict"
    )
    assert found.details is not None
    ours = [one["verdict"] for one in found.details["claims"]]
    assert ours == [one["verdict"] for one in theirs] == [0, 0, 1, 1]
    assert found.value == 0.5


def test_equal_questions_are_not_answered_by_one_kept_reply() -> None:
    """[F8] Each has its own place in the cache."""
    pytest.importorskip("ragas")
    said = [nli(CLAIMS, verdicts) for verdicts in REPLIES]
    found, judge = faithfulness(*said, keeps=True, reproducibility=3)
    assert (found.value, len(judge.prompts)) == (pytest.approx(2 / 3), 4)


def in_turns(*verdicts: Sequence[int]) -> Callable[[str], Any]:
    """Return what says of each context its verdicts in turn."""
    turns: Counter[str] = Counter()

    def say(prompt: str) -> Any:
        context = input_of(prompt)["context"]
        turns[context] += 1
        return {
            "reason": "",
            "verdict": verdicts[int(context)][turns[context] - 1],
        }

    return say


@pytest.mark.parametrize("name", ["context_precision", "context_utilization"])
def test_the_verdict_on_each_context_is_merged(name: str) -> None:
    """[F8] Useful, useless: 1. By the first replies alone, useless, useful: 1/2."""
    pytest.importorskip("ragas")
    sample = replace(SAMPLE, contexts=("0", "1"))
    replies = {"ContextPrecisionOutput": in_turns([0, 1, 1], [1, 0, 0])}
    assert score(name, replies, sample=sample, reproducibility=3).value == pytest.approx(1)
    replies = {"ContextPrecisionOutput": in_turns([0], [1])}
    assert score(name, replies, sample=sample).value == pytest.approx(0.5)


def recall(*verdicts: int) -> dict[str, Any]:
    return {
        "classifications": [
            {"statement": f"claim {at}", "reason": "", "attributed": one}
            for at, one in enumerate(verdicts)
        ]
    }


def test_replies_without_a_statement_say_what_one_alone_says() -> None:
    """[F8] The metric does not apply; it has not failed."""
    pytest.importorskip("ragas")
    once = score("context_recall", {"ContextRecallOutput": [recall()]})
    judge = ScriptedJudge({"ContextRecallOutput": [recall(), recall(), recall()]})
    found = score("context_recall", judge, reproducibility=3)
    assert (found.value, found.error) == (once.value, once.error) == (None, None)
    assert found.reason == once.reason


def test_statements_of_a_reference_are_matched_by_position() -> None:
    """[F8] Of both, two of three say yes: 1. A reply about three of them is asked for again."""
    pytest.importorskip("ragas")
    said = [recall(1, 0), recall(0, 1, 1), recall(0, 1), recall(1, 1)]
    judge = ScriptedJudge({"ContextRecallOutput": said})
    assert score("context_recall", judge, reproducibility=3).value == 1.0
    assert len(judge.prompts) == 4
    odd = {"ContextRecallOutput": [recall(1, 0), recall(1, 1, 1)]}
    with pytest.raises(InvalidOutputError, match="3 statements are judged, and 2 in the first"):
        score("context_recall", odd, reproducibility=3)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_reply_that_failed_leaves_no_majority(at: int) -> None:
    """[F8] Two that say yes are not most of three that were asked, of which one is not known."""
    pytest.importorskip("ragas")
    said: list[Any] = [nli(CLAIMS, [1, 1, 1])] * 3
    said[at] = ServerError("503", is_transient=True)
    with pytest.raises(ClientError, match="503"):
        faithfulness(*said, reproducibility=3)


def test_the_metrics_with_verdicts_have_the_option() -> None:
    """[F8]"""
    known = [one.name for one in METRIC_REGISTRY if "reproducibility" in one.options.known()]
    assert sorted(known) == sorted(VOTED)


@pytest.mark.parametrize("times", [0, 2, -1, 23, 3.0, "3"])
def test_a_number_that_gives_no_majority_is_refused(times: object) -> None:
    """[F8] ragas takes an even number for the next odd one, and 0 for 1."""
    with pytest.raises(ValidationError):
        METRIC_REGISTRY.get("faithfulness").options.model_validate({"reproducibility": times})


def test_once_is_what_it_was_without_the_option() -> None:
    """[F8] Saved runs and kept scores hold; with 3 they are others."""
    pytest.importorskip("ragas")
    options = METRIC_REGISTRY.get("faithfulness").options
    plain, once, thrice = (
        options.model_validate(one) for one in ({}, {"reproducibility": 1}, {"reproducibility": 3})
    )
    assert plain.stated() == once.stated() == {}
    assert thrice.stated() == {"reproducibility": 3}
    follows = metric("faithfulness", reproducibility=1).follows_from("en")
    assert follows["options"] == {"language": None}
    follows = metric("faithfulness", reproducibility=3).follows_from("en")
    assert follows["options"] == {"language": None, "reproducibility": 3}
