"""G7: nugget_recall, its names and options, what it asks, and what it says of a row."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from scripted_models import ScriptedJudge

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.support.prompts import cells_prompt
from pytest_rageval.model import EMPTY_ANSWER, SUPPORT, Sample, SampleResult

PlanOf = Callable[..., Plan]
NUGGETS = (
    {"text": "30 days", "importance": "vital"},
    {"text": "original packaging", "importance": "vital"},
    {"text": "free", "importance": "okay"},
)
ANSWER = {"30 days": "full", "original packaging": "partial", "free": "none"}
CONTEXTS = {"30 days": "full", "original packaging": "full", "free": "none"}
FOUND = ("Within 30 days.", "In the original packaging.")
JUDGE = "judge: {model: m, base_url: 'http://127.0.0.1:1'}\n"
METRICS = """
  - nugget_recall
  - nugget_recall: {in: contexts}
  - strict_vital_score
  - vital_score
  - strict_all_score
  - all_score
  - strict_weighted_score
"""
ROWS = "dataset: [{question: q, answer: a, contexts: [c], nuggets: [x]}]\n"


class Judge(ScriptedJudge):
    """Knows the level of each nugget, by whether the source is the answer."""

    def __init__(self, levels: Mapping[str, str] = ANSWER, found: Any = None) -> None:
        super().__init__({"support": self.verdicts})
        self.levels = levels
        self.found = found or CONTEXTS

    def verdicts(self, prompt: str) -> Any:
        known = self.found if FOUND[0] in prompt else self.levels
        texts = re.findall(r'<statement n="\d+">\n(.*?)\n</statement>', prompt)
        levels = [known.get(text, "none") for text in texts]
        listed = enumerate(levels, 1)
        return {"verdicts": [{"n": n, "support": level, "reason": ""} for n, level in listed]}


@pytest.fixture
def scored(plan: PlanOf) -> Callable[..., SampleResult]:
    """Return a function from a judge and the fields of a sample to its result."""

    def score(judge: Judge, more: str = "", **fields: Any) -> SampleResult:
        known = {"question": "q", "answer": "a", "contexts": FOUND, "nuggets": NUGGETS}
        sample = Sample("s", **{**known, **fields})
        made = plan(f"name: s\n{JUDGE}{more}{ROWS}metrics:{METRICS}")
        judged = asyncio.run(judge_sample(made, sample, Models(judge)))
        return score_case(made, sample, Judgement(scores=judged))

    return score


def test_what_an_answer_holds_is_asked_in_its_language(
    scored: Callable[..., SampleResult],
) -> None:
    judge, answer = Judge(), "三十天之内可以退货。"
    scored(judge, answer=answer)
    texts = [str(nugget["text"]) for nugget in NUGGETS]
    in_answer, in_contexts = sorted(judge.prompts, key=lambda prompt: answer not in prompt)
    assert in_answer == cells_prompt("zh", "q", [answer], texts)
    assert in_contexts == cells_prompt("en", "q", FOUND, texts)


def test_each_name_is_the_same_table_read_in_its_way(
    scored: Callable[..., SampleResult],
) -> None:
    """Of two vital nuggets one is there and one in part, the okay one is missing."""
    judge = Judge()
    found = scored(judge)
    assert found.scores == {
        "nugget_recall": 1 / 2,
        "nugget_recall.contexts": 1.0,
        "strict_vital_score": 1 / 2,
        "vital_score": 3 / 4,
        "strict_all_score": pytest.approx(1 / 3),
        "all_score": 1 / 2,
        "strict_weighted_score": pytest.approx(1 / 2.5),
    }
    assert len(judge.prompts) == 2
    assert found.reasons["nugget_recall"] == (
        '1 of 2 vital nuggets in part, which counts nothing: "original packaging"'
    )
    assert found.reasons["all_score"] == (
        '1 of 3 nuggets missing: "free"; '
        '1 of 3 nuggets in part, which counts half: "original packaging"'
    )
    assert "nugget_recall.contexts" not in found.reasons
    table = found.details[SUPPORT]
    assert [one["importance"] for one in table["statements"]] == ["vital", "vital", "okay"]
    assert {"kind": "contexts", "index": [1, 2]} in table["sources"]


def test_ten_nuggets_are_asked_for_at_a_time(scored: Callable[..., SampleResult]) -> None:
    """Whatever counts, the same calls are made: 11 of the answer, and of the contexts."""
    many = tuple({"text": f"fact {at}", "importance": "vital"} for at in range(11))
    judge = Judge({f"fact {at}": "full" for at in range(10)})
    found = scored(judge, nuggets=many)
    assert found.scores["nugget_recall"] == pytest.approx(10 / 11)
    sizes = sorted(prompt.count("</statement>") for prompt in judge.prompts)
    assert sizes == [1, 1, 10, 10]
    assert found.reasons["nugget_recall"] == '1 of 11 vital nuggets missing: "fact 10"'
    assert found.reasons["nugget_recall.contexts"] == (
        '11 of 11 vital nuggets missing: "fact 0", "fact 1", "fact 2" and 8 more'
    )


def test_a_row_without_such_nuggets_is_left_out(scored: Callable[..., SampleResult]) -> None:
    judge = Judge()
    okay = scored(judge, nuggets=NUGGETS[2:], answer="")
    assert okay.left_out["nugget_recall"] == okay.left_out["nugget_recall.contexts"] == "label"
    assert okay.reasons["nugget_recall"] == "the row has no nuggets that are vital"
    assert okay.scores["all_score"] == 0.0
    none = scored(judge, nuggets=None)
    assert set(none.left_out.values()) == {"label"}
    assert none.reasons["all_score"] == "the row has no nuggets"
    assert judge.prompts == []


@pytest.mark.parametrize("more", ["", "refusals: phrases\n"])
def test_an_empty_answer_is_the_worst_and_leaves_what_was_retrieved_alone(
    scored: Callable[..., SampleResult], more: str
) -> None:
    judge = Judge()
    found = scored(judge, more, answer=" ")
    assert found.scores["nugget_recall"] == found.scores["all_score"] == 0.0
    assert found.reasons["nugget_recall"] == EMPTY_ANSWER
    assert found.scores["nugget_recall.contexts"] == 1.0
    assert len(judge.prompts) == 1


def test_a_refusal_has_none_and_leaves_what_was_retrieved_alone(
    scored: Callable[..., SampleResult],
) -> None:
    judge, refused = Judge(), "I do not know."
    found = scored(judge, "refusals: phrases\n", answer=refused)
    assert found.scores["nugget_recall"] == 0.0
    assert found.scores["nugget_recall.contexts"] == 1.0
    assert not found.left_out
    none = scored(judge, "refusals: phrases\n", answer=refused, nuggets=None)
    assert set(none.left_out.values()) == {"label"}
    right = scored(judge, "refusals: phrases\n", answer=refused, answerable=False)
    assert right.scores["nugget_recall"] == 1.0
    assert right.left_out == {"nugget_recall.contexts": "row"}


def test_nothing_retrieved_has_none(scored: Callable[..., SampleResult]) -> None:
    found = scored(Judge(), contexts=())
    assert found.scores["nugget_recall.contexts"] == 0.0
    assert found.reasons["nugget_recall.contexts"] == "nothing was retrieved"


def test_a_half_answered_table_is_a_failed_metric(scored: Callable[..., SampleResult]) -> None:
    judge = Judge(found={**CONTEXTS, "free": "perhaps"})
    found = scored(judge)
    assert found.scores["nugget_recall.contexts"] is None
    assert "support" in found.errors["nugget_recall.contexts"]
    assert found.scores["nugget_recall"] == 1 / 2


def test_options_are_said_by_their_names(problems: Callable[..., list[str]]) -> None:
    head = f"name: s\n{JUDGE}{ROWS}metrics: "
    (wrong,) = problems(head + "[{nugget_recall: {in: reference}}]\n")
    assert "metrics[0].nugget_recall.in: " in wrong
    (unknown,) = problems(head + "[{nugget_recall: {source: answer}}]\n")
    assert "Known: in, of, strict" in unknown


def test_what_they_mean_is_in_the_definition(plan: PlanOf) -> None:
    made = plan(f"name: s\n{JUDGE}{ROWS}metrics:{METRICS}")
    columns = {metric.column.name: metric.column for metric in made.metrics}
    assert columns["nugget_recall"].definition == (
        "nugget_recall v1 (in=answer, of=vital, strict=True) by m"
    )
    assert [name for name, column in columns.items() if column.retrieves] == [
        "nugget_recall.contexts"
    ]


def test_data_without_them_are_refused_in_their_words(problems: Callable[..., list[str]]) -> None:
    pytest.importorskip("aiohttp")
    head = f"name: s\n{JUDGE}metrics: [nugget_recall]\ndataset: "
    (none,) = problems(head + "[{question: q, answer: a}]\n")
    assert "metric 'nugget_recall' needs 'nuggets'; s.yaml has no such field" in none
    assert "make lists: --rag-init --rag-from=FILE --rag-nuggets" in none
    (okay,) = problems(head + "[{answer: a, nuggets: [{text: x, importance: okay}]}]\n")
    assert "s.yaml has no nuggets that are vital" in okay


def test_a_threshold_on_a_row_is_warned_of(plan: PlanOf) -> None:
    head = f"name: s\n{JUDGE}metrics: [nugget_recall]\n{ROWS}"
    (said,) = plan(head + "thresholds: {nugget_recall: 0.5}\n").info.warnings
    assert "by run, not reliably by row; write a gate on the mean" in said
    assert plan(head + "gates: {nugget_recall: 0.5}\n").info.warnings == ()
