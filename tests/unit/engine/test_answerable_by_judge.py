"""G1: rows that do not say whether they can be answered, where a judge is there to say it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
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


OWN = """
async def answerable(answer: str) -> float:
    return 0.25

def said(answer: str) -> float:
    return 0.25
"""
OPEN = {"question": "Is there a fee?", "answer": "Seven.", "given": 0.25}


@pytest.mark.parametrize(
    ("refusals", "metric", "answerable"),
    [
        ("", "use: '{own}:answerable'", None),
        ("", "use: '{own}:said', name: answerable", True),
        ("", "column: given, name: answerable", None),
        ("phrases", "use: '{own}:said', name: answerable", None),
        ("phrases", "use: '{own}:said', name: answerable", False),
        ("phrases", "column: given, name: answerable", None),
        ("{answerable: judge}", "use: '{own}:said', name: answerable", False),
        ("{answerable: judge}", "use: '{own}:answerable', name: mine", True),
        ("phrases", "use: '{own}:answerable'", None),
        ("phrases", "use: '{own}:answerable'", True),
        ("phrases", "use: '{own}:answerable'", False),
    ],
)
def test_a_metric_of_that_name_says_nothing_of_the_row(
    run: RunOf,
    tmp_path: Path,
    refusals: str,
    metric: str,
    answerable: bool | None,
) -> None:
    """Its own score counts, and whether the row can be answered is what the row says."""
    own = tmp_path.name  # a module of its own for each test
    row = {**OPEN, "contexts": ["c"]} | ({} if answerable is None else {"answerable": answerable})
    known = {**row, "references": ["yes"]}
    metrics = f"em, {{{metric.format(own=own)}}}"
    text = scenario("http://127.0.0.1:9/v1", metrics, row, known, told="").replace(
        "judge:", f"refusals: {refusals or 'null'}\njudge:", 1
    )
    first, second = run(text, {f"{own}.py": OWN}).samples
    name = "mine" if "mine" in metric else "answerable"
    assert (first.scores[name], second.scores[name]) == (0.25, 0.25)
    assert (first.scores["em"], second.scores["em"]) == (
        0.0 if refusals and answerable is False else None,
        0.0,
    )
    assert not first.errors


@pytest.mark.parametrize(
    ("function", "row"), [("answerable", {}), ("said", {}), ("answerable", {"answerable": True})]
)
def test_beside_the_question_of_the_judge_the_name_is_taken(
    problems: Callable[..., list[str]], tmp_path: Path, function: str, row: dict[str, Any]
) -> None:
    """The judge's reply stood for the metric's score."""
    own = tmp_path.name
    metrics = f"refusal, {{use: '{own}:{function}', name: answerable}}"
    text = scenario("http://127.0.0.1:9/v1", metrics, {**OPEN, "contexts": ["c"], **row})
    every = problems(text, {f"{own}.py": OWN})  # another one where nobody can be asked
    (found,) = (one for one in every if "reserved name" in one)
    assert "'answerable' is a reserved name beside refusals: {answerable: judge}" in found
    assert "give it another one" in found
