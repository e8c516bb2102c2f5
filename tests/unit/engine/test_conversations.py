"""G3: turns of conversations: what is read of them, what targets are sent, what judges see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import ScenarioResult
from pytest_rageval.datasets.answer_fields import read_messages, with_made_columns
from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.engine.plan import AnswerRules, Plan, TargetPlan
from pytest_rageval.engine.scoring.answer_rules import seen_by
from pytest_rageval.engine.scoring.ask_target import question_key
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.targets.base import TargetError

MakePlan = Callable[..., Plan]

FIRST = {"role": "user", "content": "Who built it?"}
SECOND = {"role": "assistant", "content": "Eiffel."}
ASKED = {"role": "user", "content": "When?"}
SAID = {"role": "assistant", "content": "1889"}
ROW: Mapping[str, Any] = {"question": "When?", "answer": "1889", "references": ["1889"]}


def rows(*found: Mapping[str, Any], extra: str = "conversation: true", metrics: str = "em") -> str:
    listed = "\n".join(f"  - {json.dumps(row, ensure_ascii=False)}" for row in found)
    return f"name: s\nmetrics: [{metrics}]\n{extra}\ndataset:\n{listed}\n"


def only(plan: Plan) -> Sample:
    (case,) = plan.cases
    assert isinstance(case, Sample), case.reason
    return case


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "history": [FIRST, SECOND]},
        {**ROW, "chat_history": [FIRST, SECOND]},
        {**ROW, "history": json.dumps([FIRST, SECOND])},
        {**ROW, "history": ["Who built it?", "Eiffel."]},
        {
            **ROW,
            "history": [
                {"speaker": "user", "text": "Who built it?"},
                {"speaker": "agent", "text": "Eiffel."},
            ],
        },
        {**ROW, "messages": [FIRST, SECOND, ASKED]},
        {**ROW, "messages": [FIRST, SECOND, ASKED, SAID]},
        {"messages": [FIRST, SECOND, ASKED, SAID], "references": ["1889"]},
        {"question": [FIRST, SECOND, ASKED], "answer": "1889", "references": ["1889"]},
        {"input": [FIRST, SECOND, ASKED], "answer": "1889", "references": ["1889"]},
    ],
)
def test_what_came_before_is_read_from_messages(plan: MakePlan, row: Mapping[str, Any]) -> None:
    sample = only(plan(rows(row)))
    assert sample.history == (FIRST, SECOND)
    assert (sample.question, sample.answer) == ("When?", "1889")


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "question": "When was it built?", "messages": [FIRST, SECOND, ASKED, SAID]},
        {**ROW, "messages": [FIRST, SECOND, ASKED, SAID, {"role": "user", "content": "Thanks"}]},
    ],
)
def test_a_reply_that_is_the_answer_did_not_come_before(
    plan: MakePlan, row: Mapping[str, Any]
) -> None:
    """[G3] The question is written anew, or thanks follow: the answer is no evidence for itself."""
    found = only(plan(rows(row)))
    assert [dict(message) for message in found.history or ()] == [FIRST, SECOND]


def test_a_history_that_ends_with_another_reply_stays(plan: MakePlan) -> None:
    """[G3] What was said before a new question."""
    found = only(plan(rows({**ROW, "question": "When was it built?", "history": [FIRST, SECOND]})))
    assert [dict(message) for message in found.history or ()] == [FIRST, SECOND]


def test_without_the_section_a_history_stays_metadata(plan: MakePlan) -> None:
    found = plan(rows({**ROW, "history": [FIRST, SECOND]}, extra=""))
    sample = only(found)
    assert sample.history is None
    assert sample.metadata["history"] == [FIRST, SECOND]
    assert [r for r in found.info.remarks if "'history'" in r and "conversation: true" in r]


def test_a_key_map_reads_a_history(plan: MakePlan) -> None:
    scenario = (
        "name: s\nmetrics: [em]\n"
        "dataset: {path: d.jsonl, key_map: {history: before}, other_names: false}\n"
    )
    row = json.dumps({**ROW, "before": [FIRST, SECOND]})
    assert only(plan(scenario, {"d.jsonl": row})).history == (FIRST, SECOND)


@pytest.mark.parametrize("value", ["hello", {"a": 1}, [{"role": "user"}], [7]])
def test_what_is_no_list_of_messages_is_an_invalid_row(plan: MakePlan, value: object) -> None:
    cases = plan(rows({**ROW, "history": value}, ROW)).cases
    assert isinstance(cases[0], InvalidRow)
    assert "history" in cases[0].reason


def test_turns_are_counted_in_their_conversation(plan: MakePlan) -> None:
    ids = ["a", "b", "a", "a"]
    found = plan(rows(*({**ROW, "conversation_id": name} for name in ids)))
    made = [(case.metadata["turn"], case.metadata["last_turn"]) for case in found.cases]
    assert made == [(1, False), (1, True), (2, False), (3, True)]


@pytest.mark.parametrize("options", [{"shuffle": True, "seed": 3}, {"limit": 2}])
def test_turns_are_counted_in_the_order_of_the_file_whichever_rows_run(
    tmp_path: Path, options: Mapping[str, Any]
) -> None:
    """Three turns of each conversation; a limit leaves some of them out."""
    told = [{**ROW, "id": f"{name}{at}", "conversation_id": name} for name in "ab" for at in "123"]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, told)), "utf-8")
    spec = DatasetSpec(path="t.jsonl", **options)
    found = load_dataset(spec, tmp_path, "s.yaml:1", of_answers=frozenset({"history"}))
    made = {case.id: (case.metadata["turn"], case.metadata["last_turn"]) for case in found.cases}
    whole = {f"{name}{at}": (at, at == 3) for name in "ab" for at in (1, 2, 3)}
    assert made == {name: whole[name] for name in made}
    assert len(made) == options.get("limit", 6)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"answerable": True}, True),
        ({"answerable": 0}, False),
        ({"answerable": "no"}, False),
        ({"is_impossible": True}, False),
        ({"should_abstain": "0"}, True),
        ({"answerable": None, "is_impossible": True}, False),
        ({"is_answerable": " ", "unanswerable": "yes"}, False),
        ({"answerable": True, "is_impossible": None}, True),
        ({"answerability": "PARTIAL"}, True),
        ({"Answerability": ["UNANSWERABLE"]}, False),
        ({"answerability": "CONVERSATIONAL"}, None),
        ({"answerability": "UNDERSPECIFIED"}, None),
        ({"answerable": ""}, None),
    ],
)
def test_answerable_in_the_words_of_data_sets(
    plan: MakePlan, value: Mapping[str, Any], read: bool | None
) -> None:
    sample = only(plan(rows({**ROW, **value}, extra="refusals: phrases")))
    assert sample.answerable is read
    assert sample.metadata.get("answerable") is read


@pytest.mark.parametrize("references", [[], None])
def test_an_unanswerable_row_needs_no_references(plan: MakePlan, references: object) -> None:
    row = {**ROW, "references": references, "answerable": False}
    cases = plan(rows(row, ROW, extra="refusals: phrases")).cases
    assert [getattr(case, "answerable", 0) for case in cases] == [False, None]


def test_an_answer_of_sentences_with_citations_is_read(plan: MakePlan) -> None:
    parts = [{"text": "It is iron.", "citations": [0]}, {"text": "It is high.", "citations": []}]
    row = {**ROW, "answer": parts, "contexts": ["It is iron."]}
    sample = only(plan(rows(row, extra="citations: auto")))
    assert sample.answer == "It is iron. It is high."
    assert sample.cited_sentences == (("It is iron.", (1,)), ("It is high.", ()))


def confident(plan: MakePlan, row: Mapping[str, Any], name: str) -> Any:
    scenario = (
        f"name: s\nmetrics: [em]\ndataset: {{path: d.jsonl, key_map: {{confidence: {name}}}}}\n"
    )
    lines = json.dumps({**ROW, **row}) + "\n" + json.dumps({**ROW, name: 0.5})
    return plan(scenario, {"d.jsonl": lines}).cases[0]


@pytest.mark.parametrize("blank", [None, "", " "])
def test_the_name_that_is_filled_says_which_end_is_sure(plan: MakePlan, blank: object) -> None:
    row = {**ROW, "confidence": blank, "na_prob": 0.25}
    assert only(plan(rows(row, extra="gates: {em: {aurc: 1}}"))).confidence == 0.75


@pytest.mark.parametrize(
    ("gates", "read"),
    [
        ("em: {aurc: 1}", True),
        ("em: {selective: {coverage: 0.8, min: 0.5}}", True),
        ("em: 0.5", False),
        ("by: {lang: {em: 0.5}}", False),
        ("by: {lang: {em: {mean: 0.5}}}, em: {mean: 0.5}", False),
        ("by: {confidence: {em: 0.5}}", False),
        ("by: {lang: {em: {aurc: 1}}}", True),
        ("by: {lang: {em: {mean: 0.5, selective: {coverage: 0.8, min: 0.5}}}}", True),
        # A field may be called like a gate.
        ("by: {aurc: {em: 0.5}}", False),
        ("by: {aurc: {em: {aurc: 1}}}", True),
    ],
)
def test_confidence_is_read_for_a_gate_about_it(plan: MakePlan, gates: str, read: bool) -> None:
    """Also of each value of a field. Else the column is metadata."""
    row = {**ROW, "confidence": 0.75, "lang": "en", "aurc": "x"}
    sample = only(plan(rows(row, extra=f"gates: {{{gates}}}")))
    assert (sample.confidence == 0.75) is read
    assert sample.metadata.get("confidence") == (None if read else 0.75)


def test_confidence_lies_between_0_and_1(plan: MakePlan) -> None:
    assert confident(plan, {"p": "0.25"}, "p").confidence == 0.25
    assert confident(plan, {"na_prob": 0.25}, "na_prob").confidence == 0.75
    for wrong in (1.5, "high", True):
        invalid = confident(plan, {"p": wrong}, "p")
        assert isinstance(invalid, InvalidRow)
        assert "a number from 0 to 1" in invalid.reason


APP = """
def takes(question, history="none"):
    return f"{len(history)} {question}"

def whole(sample):
    return str(len(sample.history or ()))

def needs(question, history):
    return f"{len(history)}"

def takes_none(question):
    return "1889"
"""


def asking(run: Callable[..., ScenarioResult], name: str, send: str = "true") -> list[str | None]:
    turn = {"question": "When?", "references": ["1889"]}
    text = rows(
        turn,
        {**turn, "history": [FIRST, SECOND]},
        extra=f"conversation: {{send: {send}}}\ntarget: app:{name}",
    )
    return [sample.answer for sample in run(text, {"app.py": APP}).samples]


def test_functions_are_handed_the_history(
    run: Callable[..., ScenarioResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first turn has none: a parameter keeps its default."""
    import sys

    monkeypatch.delitem(sys.modules, "app", raising=False)
    assert asking(run, "takes") == ["4 When?", "2 When?"]
    assert asking(run, "needs") == ["0", "2"]
    assert asking(run, "whole") == ["0", "2"]
    assert asking(run, "whole", "false") == ["0", "0"]
    assert asking(run, "takes_none", "false") == ["1889", "1889"]
    with pytest.raises(ScenarioError, match="not sent the history") as raised:
        asking(run, "takes_none")
    assert "conversation: {send: false}" in str(raised.value)
    sys.modules.pop("app", None)


HTTP = "target: {{type: http, url: 'http://localhost:9', body: {{q: '{body}'}}}}"


def test_a_template_has_to_place_the_history(plan: MakePlan) -> None:
    pytest.importorskip("aiohttp")
    row = {**ROW, "history": [FIRST, SECOND]}
    plain = HTTP.format(body="{question}")
    with pytest.raises(ScenarioError, match="not sent the history"):
        plan(rows(row, extra=f"conversation: true\n{plain}"))
    placed = HTTP.format(body="{history} {question}")
    assert plan(rows(row, extra=f"conversation: true\n{placed}")).target
    with pytest.raises(ScenarioError, match="is not read: write conversation: true"):
        plan(rows(row, extra=placed))


def test_a_fixture_that_takes_no_history_is_refused_when_it_is_there(plan: MakePlan) -> None:
    row = {**ROW, "history": [FIRST, SECOND]}
    target = plan(rows(row, extra="conversation: true\ntarget: {type: fixture}")).target
    assert isinstance(target, TargetPlan)
    with pytest.raises(TargetError, match="not sent the history"):
        target.of_fixture(lambda question: question)
    assert target.of_fixture(lambda question, history: question).takes_history


def test_the_cache_knows_answers_by_the_history_that_was_sent(plan: MakePlan) -> None:
    row = {**ROW, "history": [FIRST, SECOND]}
    chat = "target: {type: chat, model: m, provider: openai, base_url: 'http://localhost:9/v1'}"
    target = plan(rows(row, extra=f"conversation: true\n{chat}")).target
    assert target is not None
    first, later = Sample("a", question="When?"), Sample("a", question="When?", history=(FIRST,))
    assert question_key(target, first) != question_key(target, later)
    silent = replace_send(target)
    assert question_key(silent, first) == question_key(silent, later)


def replace_send(target: TargetPlan) -> TargetPlan:
    from msgspec import structs

    return structs.replace(target, sends_history=False)


def test_turns_without_groups_are_remarked_on(plan: MakePlan) -> None:
    row = {**ROW, "history": [FIRST, SECOND], "conversation_id": "c"}

    def said(found: Plan) -> bool:
        return any("write group_by: conversation_id" in one for one in found.info.remarks)

    assert said(plan(rows(row)))
    assert not said(plan(rows(row, extra="conversation: true\ngroup_by: conversation_id")))
    assert not said(plan(rows(ROW)))


JUDGE = "judge: {model: m, base_url: 'http://localhost:9/v1'}"
TURNS = AnswerRules(turns=6)
TALK = Sample(
    "t",
    question="When?",
    answer="1889",
    contexts=("It opened in 1889.",),
    history=(FIRST, SECOND),
)


@pytest.fixture
def bound(plan: MakePlan) -> Callable[..., Any]:
    def make(name: str) -> Any:
        row = {**ROW, "contexts": ["c"]}
        return plan(rows(row, extra=JUDGE, metrics=name)).metrics[0]

    return make


def test_judges_read_the_question_after_the_earlier_turns(bound: Callable[..., Any]) -> None:
    rubric = bound("rubric")
    shown = seen_by(TURNS, rubric, TALK).question
    assert shown == (
        "[Earlier turns, only for reading the question]\nUser: Who built it?\n"
        "Assistant: Eiffel.\n[The question]\nWhen?"
    )
    chinese = replace(TALK, question="什么时候？")
    assert str(seen_by(TURNS, rubric, chinese).question).startswith("［此前的对话")


def test_judges_see_the_last_turns_only(bound: Callable[..., Any]) -> None:
    rubric = bound("rubric")
    shown = str(seen_by(AnswerRules(turns=1), rubric, TALK).question)
    assert "Eiffel." in shown
    assert "Who built it?" not in shown
    assert seen_by(AnswerRules(turns=0), rubric, TALK) is TALK


def test_a_first_turn_is_judged_as_ever(bound: Callable[..., Any]) -> None:
    """Its prompts, and so its entries in the cache, stay as they are."""
    first = replace(TALK, history=None)
    assert seen_by(TURNS, bound("rubric"), first) is first


def test_earlier_turns_support_an_answer_if_asked_for(bound: Callable[..., Any]) -> None:
    pytest.importorskip("ragas")
    evidence = AnswerRules(turns=6, history_is_evidence=True)
    faithful = bound("faithfulness")
    assert seen_by(TURNS, faithful, TALK).contexts == TALK.contexts
    assert (seen_by(evidence, faithful, TALK).contexts or ())[1:] == (
        "[Earlier turns of the conversation]\nUser: Who built it?\nAssistant: Eiffel.",
    )
    assert seen_by(evidence, bound("context_utilization"), TALK).contexts == TALK.contexts


def test_a_plan_says_how_many_turns_judges_see(plan: MakePlan) -> None:
    row = {**ROW, "contexts": ["c"], "history": [FIRST, SECOND]}
    extra = f"conversation: {{turns: 1}}\n{JUDGE}"
    found = plan(rows(row, extra=extra, metrics="rubric"))
    assert found.answers is not None
    assert found.answers.turns == 1
    assert any("the last 1 messages" in one and "up to 2" in one for one in found.info.remarks)


def test_a_judge_is_sent_the_earlier_turns(
    run: Callable[..., ScenarioResult], no_proxy: None
) -> None:
    """Only of rows that have some; results keep the question as it is."""
    pytest.importorskip("aiohttp")
    from fake_openai import FakeOpenAI

    first = {**ROW, "contexts": ["c"], "question": "Who built it?"}
    later = {**ROW, "contexts": ["c"], "history": [FIRST, SECOND]}
    with FakeOpenAI(answer=lambda body: '{"reason": "in part", "score": 1}') as server:
        judge = f"judge: {{model: m, base_url: '{server.base_url}', controls: off}}"
        extra = f"conversation: true\nrefusals: judge\n{judge}"
        result = run(rows(first, later, extra=extra, metrics="rubric"))
        prompts = [chat.body["messages"][-1]["content"] for chat in server.chats]
    assert sorted("Assistant: Eiffel.\n[The question]\nWhen?" in one for one in prompts) == [
        *(False, False),
        *(True, True),
    ]
    assert [sample.question for sample in result.samples] == ["Who built it?", "When?"]


@pytest.mark.parametrize(("question", "gold"), [("When?", "x"), ("When was it?", "gold")])
def test_a_target_is_never_sent_what_follows_the_question(
    plan: Callable[..., Plan], question: str, gold: str
) -> None:
    """It may be the gold answer, also where the question was written anew."""
    made = plan(
        "name: s\nconversation: true\nmetrics: [f1]\ndataset:\n"
        f"  - question: {question}\n    answer: x\n    references: [{gold}]\n    messages:\n"
        "      - {role: user, content: Hello}\n      - {role: assistant, content: Hi}\n"
        "      - {role: user, content: When?}\n      - {role: assistant, content: gold}\n"
    )
    (sample,) = made.cases
    assert isinstance(sample, Sample)
    assert [turn["content"] for turn in sample.history or ()] == ["Hello", "Hi"]


LONG = {"role": "assistant", "content": "The moon pays for it."}
THANKS = {"role": "user", "content": "Thanks"}
REWRITTEN = {"question": "When was it built?", "references": ["The moon pays for it."]}


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [FIRST, SECOND, ASKED, LONG]},
        {"messages": [FIRST, SECOND, ASKED, LONG, THANKS]},
        {"messages": [FIRST, SECOND, ASKED, LONG], "answer": "The moon pays for it. "},
        {"question": "When?", "messages": [FIRST, SECOND, ASKED, LONG, THANKS]},
        {"question": "When?", "history": [FIRST, SECOND, ASKED, LONG, THANKS]},
        {"messages": [FIRST, SECOND, ASKED, SAID], "references": ["1889"]},
        {"question": None, "messages": [FIRST, SECOND, ASKED, LONG, THANKS]},
    ],
)
def test_the_answer_is_no_earlier_turn(plan: MakePlan, row: Mapping[str, Any]) -> None:
    """It would support itself, and a target would be sent the gold answer."""
    found = plan(rows({"answer": "x", **REWRITTEN, **row}))
    assert only(found).history == (FIRST, SECOND)
    assert not [one for one in found.info.warnings if "earlier one" in one]


@pytest.mark.parametrize(
    ("row", "is_said"),
    [
        ({"messages": [FIRST, SECOND]}, True),  # nothing says whether it is the answer
        ({"history": [FIRST, SECOND]}, False),
        ({"history": [FIRST, SAID], "answer": "1889"}, True),  # as short as "Yes."
        ({"history": [FIRST, LONG]}, True),  # the reference
    ],
)
def test_a_turn_that_may_be_the_answer_is_said(
    plan: MakePlan, row: Mapping[str, Any], is_said: bool
) -> None:
    found = plan(rows({"answer": "x", **REWRITTEN, **row}))
    assert len(only(found).history or ()) == 2
    assert any("counts as an earlier one" in one for one in found.info.warnings) is is_said


@pytest.mark.parametrize("column", ["history", "chat_history", "conversation_history", "before"])
@pytest.mark.parametrize(
    "turns",
    [[FIRST, LONG], [FIRST, LONG, THANKS, SECOND], [ASKED, LONG, FIRST, SECOND]],
    ids=["at the end", "in the middle", "with the question in the middle"],
)
def test_a_reply_that_is_given_again_cuts_no_history(
    plan: MakePlan, column: str, turns: list[Mapping[str, str]]
) -> None:
    """Such as "I could not find that in the documents.": the column has only what came before."""
    row = {"question": "When?", "answer": "x", "references": [LONG["content"]], column: turns}
    scenario = "name: s\nmetrics: [em]\nconversation: true\n"
    scenario += f"dataset: {{path: d.jsonl, key_map: {{history: {column}}}}}\n"
    found = plan(scenario, {"d.jsonl": json.dumps(row)})
    assert only(found).history == tuple(turns)
    said = [one for one in found.info.warnings if "name it 'history'" in one]
    assert not said


@pytest.mark.parametrize("column", ["messages", "input"])
def test_a_whole_conversation_is_cut_at_its_question(plan: MakePlan, column: str) -> None:
    """The reply to another question is the same text."""
    turns = [FIRST, LONG, ASKED, LONG, THANKS]
    row = {"question": "When?", "answer": "x", "references": [LONG["content"]], column: turns}
    assert only(plan(rows(row))).history == (FIRST, LONG)


@pytest.mark.parametrize("column", ["question", "input"])
def test_the_last_message_of_a_prompt_is_its_question(plan: MakePlan, column: str) -> None:
    """Its reference is what the assistant said before: both cannot be answered."""
    row = {column: [FIRST, LONG, ASKED], "answer": "x", "references": [LONG["content"]]}
    sample = only(plan(rows(row)))
    assert (sample.question, sample.history) == ("When?", (FIRST, LONG))


def test_where_thanks_follow_the_answer_that_is_said(plan: MakePlan) -> None:
    """They may be the question."""
    row = {"messages": [FIRST, SECOND, ASKED, LONG, THANKS], "references": [LONG["content"]]}
    found = plan(rows(row))
    assert only(found).question == "When?"
    assert [one for one in found.info.warnings if "what follows is left out" in one]


def test_a_turn_that_is_called_by_a_name_has_its_place_in_the_file() -> None:
    """Every row was the last turn of its conversation."""
    rows = [
        {"conversation_id": "c", "turn": f"turn-{at}", "question": "q", "answer": "a"}
        for at in (1, 2, 3)
    ]
    cases = [
        Sample(str(at), row=at, metadata={key: row[key] for key in ("conversation_id", "turn")})
        for at, row in enumerate(rows)
    ]
    found, made = with_made_columns(cases, frozenset({"history"}))
    assert made == ("turn", "last_turn")
    assert [case.metadata["last_turn"] for case in found] == [False, False, True]


def test_a_message_that_calls_a_tool_and_says_nothing_is_passed_over() -> None:
    """As the clients of OpenAI write it."""
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    asked = {"role": "user", "content": "May dogs come in?"}
    assert read_messages([asked, call], "messages") == (asked,)
