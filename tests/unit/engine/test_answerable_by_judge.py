"""G1: rows that do not say whether they can be answered, where a judge is there to say it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_rageval import ScenarioResult
from pytest_rageval.engine.plan import Plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample

RunOf = Callable[..., ScenarioResult]
REFUSES = {"question": "Is there a fee?", "answer": "I do not know.", "contexts": ["A fee: no."]}
SAYS = {"question": "Known?", "answer": "yes", "contexts": ["yes"], "answerable": True}


@pytest.fixture
def judge(no_proxy: None) -> Iterator[Any]:
    """A judge that finds an answer where the contexts have a fee, and none elsewhere."""
    pytest.importorskip("aiohttp")
    from fake_openai import FakeOpenAI

    def says(body: Any) -> str:
        found = "A fee: no." in body["messages"][-1]["content"]
        return json.dumps({"reason": "as the texts are", "score": int(found)})

    with FakeOpenAI(answer=says) as server:
        yield server


def scenario(url: str, metrics: str, *rows: dict[str, Any], told: str = "judge") -> str:
    listed = "".join(f"  - {json.dumps(row)}\n" for row in rows)
    refusals = f"refusals: {{answerable: {told}}}\n" if told else ""
    return (
        f"name: s\nmetrics: [{metrics}]\n{refusals}"
        f"judge: {{model: m, base_url: '{url}', controls: off}}\ndataset:\n{listed}"
    )


@pytest.mark.parametrize("others", [[SAYS], []], ids=["one says it", "no row says it"])
def test_rows_that_do_not_say_it_are_cases(
    run: RunOf, judge: Any, others: list[dict[str, Any]]
) -> None:
    """The documents hold an answer to the first, which is refused wrongly; none to the second."""
    second = {**REFUSES, "contexts": ["Opening hours."]}
    result = run(scenario(judge.base_url, "over_refusal, refusal", REFUSES, second, *others))
    found = [dict(sample.scores) for sample in result.samples]
    assert found[0] == {"over_refusal": 1.0, "refusal": 0.0}
    assert found[1] == {"over_refusal": None, "refusal": 1.0}
    assert found[2:] == [{"over_refusal": 0.0, "refusal": 1.0}][: len(others)]
    assert len(judge.chats) == 2
    assert "skipped" not in {sample.outcome for sample in result.samples}


def test_a_row_that_has_no_reference_may_be_unanswerable(run: RunOf, judge: Any) -> None:
    """To refuse is right in the second row, and wrong in the third.

    The first has an answer, and no figure without knowing it.
    """
    first, second = {**REFUSES, "answer": "No."}, {**REFUSES, "contexts": ["Opening hours."]}
    known = {**SAYS, "references": ["yes"]}
    result = run(scenario(judge.base_url, "em", first, second, REFUSES, known))
    assert [sample.scores["em"] for sample in result.samples] == [None, 1.0, 0.0, 1.0]
    assert result.samples[0].reasons["em"] == "the row has no references"


def test_a_row_that_the_judge_cannot_see_is_an_error(run: RunOf, judge: Any) -> None:
    blind = {key: value for key, value in REFUSES.items() if key != "contexts"}
    result = run(scenario(judge.base_url, "refusal", blind, SAYS))
    assert result.samples[0].outcome == "error"
    assert "no contexts" in result.samples[0].errors["refusal"]
    assert judge.chats == []


def test_where_no_judge_can_say_it_the_scenario_is_refused(plan: Callable[..., Plan]) -> None:
    blind = {key: value for key, value in REFUSES.items() if key != "contexts"}
    with pytest.raises(ScenarioError, match="needs 'answerable'"):
        plan(scenario("http://127.0.0.1:9/v1", "refusal", blind))
    with pytest.raises(ScenarioError, match="needs 'answerable'"):
        plan(scenario("http://127.0.0.1:9/v1", "refusal", REFUSES, told=""))


def test_without_the_judge_such_rows_ask_for_nothing(plan: Callable[..., Plan]) -> None:
    found = plan(scenario("http://127.0.0.1:9/v1", "refusal", REFUSES, SAYS, told=""))
    first, second = found.cases
    assert isinstance(first, Sample)
    assert first.skip == "the row asks for nothing that is measured: no answerable"
    assert second.skip is None


def test_a_reference_that_refuses_in_the_words_of_the_scenario_is_no_answer(
    run: RunOf, judge: Any
) -> None:
    """G1: the right answer is that refusal, and the answer gives it."""
    words = "Das steht nicht in den Dokumenten."
    row = {**REFUSES, "answer": words, "references": [words], "contexts": ["Opening hours."]}
    text = scenario(judge.base_url, "em, refusal", row)
    result = run(text.replace("{answerable: judge}", f"{{answerable: judge, also: ['{words}']}}"))
    assert dict(result.samples[0].scores) == {"em": 1.0, "refusal": 1.0}
