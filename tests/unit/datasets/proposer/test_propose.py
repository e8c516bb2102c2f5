"""E22, W6: which column serves which field, by names and content; never the gold as the answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.proposer.columns import Table, columns_of
from pytest_rageval.datasets.proposer.names import holds_joined_ids, holds_joined_texts
from pytest_rageval.datasets.proposer.propose import Mapped, map_columns

ROWS = tomllib.loads(Path(__file__).with_name("propose.toml").read_text("utf-8"))

ASKED = ("How long do refunds take?", "Is there a fee for them?", "Who pays for the parcel?")
SAID = ("five working days or so", "there is no fee", "the shop pays for it")


def mapped(rows: list[Mapping[str, Any]], stem: str = "data", **given: str) -> Mapped:
    return map_columns(Table(tuple(columns_of(rows)), len(rows), ()), stem, given)


def of(stem: str = "data", /, **columns: Any) -> dict[str, str]:
    """Return the column of each field for columns with three cells each, or one value for all."""
    found = mapped(rows_of(columns), stem)
    return {name: one.column for name, one in found.fields.items()}


def rows_of(columns: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        {name: cells[at] if isinstance(cells, tuple) else cells for name, cells in columns.items()}
        for at in range(3)
    ]


@pytest.mark.parametrize(
    ("question", "gold"),
    ROWS["questions_and_gold_in_the_words_of_many_projects"],
)
def test_questions_and_gold_in_the_words_of_many_projects(question: str, gold: str) -> None:
    """Names in several languages, in camel case, with slashes and brackets."""
    assert of(**{question: ASKED, gold: SAID}) == {"question": question, "references": gold}


@pytest.mark.parametrize(
    "column",
    [
        "reference_answer_type",
        "answer_relevancy_reason",
        "Human-Verified?",
        "expected_tools",
        "incorrect_answers",
        "question_variation",
        "referensi_terjemahan",
        "expected_categories",
    ],
)
def test_a_name_that_says_something_else_serves_no_field(column: str) -> None:
    """A wrong field is worse than none."""
    assert of(question=ASKED, ground_truth=SAID, **{column: SAID}) == {
        "question": "question",
        "references": "ground_truth",
    }


def test_a_bare_answer_alone_is_the_gold() -> None:
    """Nothing else says what is right: four public projects of five mean the gold."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, "IsContextOnly": "false"}))
    assert found.fields["references"].column == "answer"
    assert "alone" in found.fields["references"].why
    assert "answer" not in found.fields


@pytest.mark.parametrize(
    "beside",
    [
        {"gold_id": ("g1", "g2", "g3")},
        {"reference_page": SAID},
        {"incorrect_answers": SAID},
        {"expected_topic": SAID},
    ],
)
def test_columns_that_are_no_gold_leave_it_alone(beside: dict[str, Any]) -> None:
    assert of(question=ASKED, answer=SAID, **beside)["references"] == "answer"


@pytest.mark.parametrize("beside", ["reference", "expected", "ground_truth"])
def test_beside_gold_it_is_what_a_system_said(beside: str) -> None:
    """A column of references beside it, by a documented name or another."""
    found = of(question=ASKED, answer=SAID, **{beside: SAID})
    assert (found["answer"], found["references"]) == ("answer", beside)


@pytest.mark.parametrize(
    "beside",
    [
        {"reference_1": SAID, "reference_2": SAID},
        {"gold_1": SAID, "gold_2": SAID},
        {"correct": SAID},
        {"facts": SAID},
        {"key_facts": SAID},
        {"context": SAID},
        {"faithfulness": 0.5},
        {"relevance": "GOOD"},
        {"is_correct": True},
        {"latency_ms": (5, 6, 7)},
        {"model": "small-1"},
    ],
)
def test_beside_gold_contexts_or_scores_nobody_can_tell(beside: dict[str, Any]) -> None:
    """Public data have these columns with both meanings: the user is asked, with both ways."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, **beside}))
    assert "'answer' may be the right answer" in found.doubt
    assert [(way.field, way.column) for way in found.ways] == [
        ("references", "answer"),
        ("answer", "answer"),
    ]
    assert not {"answer", "references"} & found.fields.keys()


def test_the_name_of_the_file_may_tell() -> None:
    """A file that is called golden holds gold."""
    found = of("Golden Set 2", question=ASKED, answer=SAID, context=SAID)
    assert found["references"] == "answer"
    assert found["reference_contexts"] == "context"


def test_beside_a_certain_answer_it_is_the_gold() -> None:
    """``generated_answer`` can only be the system's."""
    found = of(question=ASKED, answer=SAID, generated_answer=ASKED)
    assert (found["answer"], found["references"]) == ("generated_answer", "answer")


@pytest.mark.parametrize("name", ["response", "reply", "Bot answer", "Answer of the bot"])
def test_a_name_that_ends_in_answer_is_what_a_system_said(name: str) -> None:
    """Never the gold, whatever is missing beside it."""
    found = mapped(rows_of({"question": ASKED, name: SAID}))
    assert found.fields["answer"].column == name
    assert not found.has_gold


@pytest.mark.parametrize("name", ["模型回答", "机器人回答", "AI回答", "大模型输出", "实际输出"])
def test_what_a_system_said_is_told_from_the_gold_in_chinese(name: str) -> None:
    """Words without spaces between them; alone it is never the gold."""
    found = of(问题=ASKED, 答案=SAID, **{name: ASKED})
    assert (found["answer"], found["references"]) == (name, "答案")
    assert "references" not in of(问题=ASKED, **{name: SAID})


@pytest.mark.parametrize("name", ["回复", "答复"])
def test_a_chinese_reply_is_what_a_system_said(name: str) -> None:
    """As ``reply`` is."""
    assert of(问题=ASKED, **{name: SAID}) == {"question": "问题", "answer": name}


@pytest.mark.parametrize(
    "name", ["是否正确", "正确率", "错误答案", "答案类型", "答案评分", "标准答案编号"]
)
def test_a_chinese_name_that_says_more_of_an_answer_is_not_one(name: str) -> None:
    """Neither the gold nor the answer, with the other one beside it or not."""
    gold, answer = {"问题": ASKED, "标准答案": SAID}, {"问题": ASKED, "模型回答": SAID}
    assert of(**gold, **{name: SAID}) == of(**gold)
    assert of(**answer, **{name: SAID}) == of(**answer)


@pytest.mark.parametrize(
    "columns",
    [["答案", "回答"], ["答案", "回复"], ["客服回答"], ["答案", "模型"], ["回答", "是否正确"]],
)
def test_chinese_columns_that_do_not_tell_the_gold_are_asked_about(columns: list[str]) -> None:
    """Two answers, or one of a shop's staff, or what a model or a score stands beside."""
    found = mapped(rows_of({"问题": ASKED, **dict.fromkeys(columns, SAID)}), "答案")
    assert "may be the right answer, or what a system said" in found.doubt
    assert not {"answer", "references"} & found.fields.keys()


PASSAGES_ZH = ("员工每年有十五天年假。", "新员工试用期为三个月。", "报销五个工作日到账。")


@pytest.mark.parametrize(
    "name", ["上下文", "检索上下文", "检索结果", "检索内容", "检索到的内容片段", "参考资料"]
)
def test_short_chinese_passages_are_contexts(name: str) -> None:
    """Ten letters of Chinese are a sentence, though they have no blank."""
    columns = {"问题": ASKED, "回答": SAID, "参考答案": SAID}
    assert of(**columns, **{name: PASSAGES_ZH})["contexts"] == name
    short = (["容量450毫升。"], ["含税。"], ["包邮。", "当天发货。"])
    assert of(**columns, **{name: short})["contexts"] == name
    assert "contexts" not in of(**columns, **{name: (["第一段"], ["第二段"], ["第七段"])})


def test_chinese_passages_without_answers_are_to_be_found() -> None:
    """As ``context`` is; what was retrieved is not, and numbers or files are no passages."""
    assert of(问题=ASKED, 上下文=PASSAGES_ZH)["reference_contexts"] == "上下文"
    assert "reference_contexts" not in of(问题=ASKED, 检索结果=PASSAGES_ZH)
    columns = {"问题": ASKED, "回答": SAID, "参考答案": SAID}
    assert "contexts" not in of(**columns, 上下文=("第一段", "第二段", "第七段"))
    assert "contexts" not in of(
        **columns, 参考资料=("员工手册第二版.pdf", "公司报销制度.docx", "c.md")
    )


def test_sentences_are_for_a_judge() -> None:
    """No answer repeats them to the letter."""
    facts = [
        f"{text}, which the terms of the shop say in section five of the annex" for text in SAID
    ]
    assert of(question=ASKED, expected_facts=tuple(facts)) == {
        "question": "question",
        "must_satisfy": "expected_facts",
    }


def test_a_reference_with_a_page_may_be_a_passage() -> None:
    """Gold made from documents: question, answer, the passage, its page."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, "reference": ASKED, "page": 3}))
    assert "the passage that it is in" in found.doubt


@pytest.mark.parametrize("name", ["context", "contexts"])
def test_contexts_without_an_answer_are_to_be_found(name: str) -> None:
    """deepeval's context, and the golden passages that a hand-made set calls contexts."""
    found = of(question=ASKED, ground_truth=SAID, **{name: SAID})
    assert found["reference_contexts"] == name
    found = of(question=ASKED, ground_truth=SAID, response=SAID, **{name: SAID})
    assert found["contexts"] == name


def test_retrieved_contexts_are_those_of_a_search_at_any_time() -> None:
    """And an empty column of them is none: deepeval saves all of its columns."""
    found = of(question=ASKED, ground_truth=SAID, retrieved_contexts=SAID, context=ASKED)
    assert (found["contexts"], found["reference_contexts"]) == ("retrieved_contexts", "context")
    found = of(
        input=ASKED, expected_output=SAID, actual_output="", retrieval_context="", context=SAID
    )
    assert found == {
        "question": "input",
        "references": "expected_output",
        "reference_contexts": "context",
    }


@pytest.mark.parametrize(
    ("column", "cells", "field"),
    [
        ("expected_documents", (["a.pdf"], ["b.pdf"], ["a.pdf"]), "reference_ids"),
        ("expected_doc", ("a1", "a2", "a3"), "reference_ids"),
        ("must_include_arxiv_ids", (["2104.1"], ["2104.2"], ["2104.3"]), "reference_ids"),
        ("gold_passages", SAID, "reference_contexts"),
        ("retrieved_docs", (["a1", "b2"], ["a2"], ["a3"]), "retrieved_ids"),
        ("relevant", (["a1", "b2"], ["a2"], ["a3"]), "reference_ids"),
        ("expectedKeywords", (["days"], ["fee"], ["shop"]), "must_include"),
        ("expected_answer_contains", (["days"], ["fee"], ["shop"]), "must_include"),
        ("mustIncludePatterns", (["days?"], ["fee"], ["shop"]), "must_match"),
        ("Ground Truth Source", ("a.pdf", "b.pdf", "a.pdf"), "doc_name"),
        ("expected.keywords", (["days"], ["fee"], ["shop"]), "must_include"),
    ],
)
def test_documents_and_texts_in_an_answer(column: str, cells: Any, field: str) -> None:
    """Ids or texts, by what the cells hold; keywords only where the name says no more."""
    assert of(question=ASKED, **{column: cells}).get(field) == column


def test_terms_of_an_object_are_no_texts_to_include() -> None:
    """``expected.payment_terms`` is a field of an invoice."""
    assert of(question=ASKED, **{"expected.payment_terms": SAID}) == {"question": "question"}


def test_ids_that_repeat_for_different_questions_are_those_of_documents() -> None:
    """A set to test a search; where each row has its own, it is the row's."""
    assert of(id=("d1", "d1", "d2"), question=ASKED)["reference_ids"] == "id"
    assert of(id=("r1", "r2", "r3"), question=ASKED, expected=SAID)["id"] == "id"


def test_a_question_is_in_nearly_all_rows() -> None:
    """Other questions may be parts of some."""
    found = of(promptAr=ASKED, expected=SAID, **{"parameters.query": ("Who?", None, None)})
    assert found["question"] == "promptAr"


def test_one_letter_for_each() -> None:
    """Numbers may be gold."""
    assert of(q=ASKED, a=(1.7, 2.5, 0.1)) == {"question": "q", "references": "a"}


def test_kinds_of_questions_are_no_questions() -> None:
    """A few values that repeat, or a header row that is a row of data."""
    rows = [{"query": kind, "text": f"{kind} {at}"} for at in range(10) for kind in ("a b", "c d")]
    assert not mapped(rows).fields
    assert not of(**{"machine learning for student dropout question": SAID})


def test_what_the_user_says_holds() -> None:
    """Also against the names; its columns serve nothing else."""
    found = mapped(
        rows_of({"question": ASKED, "answer": SAID, "context": SAID}), references="answer"
    )
    assert {name: one.column for name, one in found.fields.items()} == {
        "references": "answer",
        "question": "question",
        "reference_contexts": "context",
    }
    assert not found.doubt


@pytest.mark.parametrize("cell", ["fee, refund", "费用、退款", "fee; refund", "fee|refund"])
def test_cells_of_one_text_or_several_are_no_checks(cell: str) -> None:
    """A reader refuses such cells; a list of texts, and one text, are what they are."""
    for name in ("expected_keywords", "forbidden_keywords"):
        (column,) = columns_of([{name: cell}])
        assert holds_joined_texts(column)
        assert not of(**{"question": ASKED, name: (cell, "fee", "fee")}).keys() - {"question"}
        (column,) = columns_of([{name: [cell]}])
        assert not holds_joined_texts(column)


def test_ids_with_commas_are_no_ids() -> None:
    """A reader would take ``E1,E2`` for one id, and the recall would be 0."""
    (column,) = columns_of([{"expected_product_ids": "E1,E2"}])
    assert holds_joined_ids(column)
    assert of(question=ASKED, expected_product_ids=("E1,E2", "E3", "E4")) == {
        "question": "question"
    }


@pytest.mark.parametrize("said", [(None, None, None), ("five days", "", "we do")])
@pytest.mark.parametrize(
    ("gold", "ways"),
    [
        ({"expected": SAID}, [("answer", "generated_answer"), ("answer", "answer")]),
        ({}, [("answer", "generated_answer"), ("references", "answer")]),
    ],
)
def test_a_blank_beside_a_bare_answer_leaves_it_open(
    said: tuple[str | None, ...], gold: Mapping[str, Any], ways: list[tuple[str, str]]
) -> None:
    """A27: the gold would be the answer where a system gave none."""
    rows = rows_of({"question": ASKED, "answer": SAID, "generated_answer": said, **gold})
    found = mapped(rows)
    assert found.doubt.startswith(f"'generated_answer' is blank in {3 - sum(map(bool, said))} of 3")
    assert [(way.field, way.column) for way in found.ways] == ways
    for field, column in ways:
        assert mapped(rows, **{field: column}).doubt == ""


def test_two_columns_of_a_system_are_left_open() -> None:
    """A27: the better name would be read, and the other one never seen."""
    rows = rows_of({"question": ASKED, "expected": SAID, "model_answer": SAID, "output": ASKED})
    found = mapped(rows)
    assert found.doubt == "'model_answer' and 'output' may both be what a system said"
    assert [(way.field, way.column) for way in found.ways] == [
        ("answer", "model_answer"),
        ("answer", "output"),
    ]
    assert mapped(rows, answer="output").doubt == ""
    same = rows_of({"question": ASKED, "expected": SAID, "model_answer": SAID, "output": SAID})
    assert mapped(same).doubt == ""


OTHER = ("in a week or so", "there is a small fee", "the customer pays it")


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"expected": SAID, "response_a": ASKED, "response_b": OTHER}, "answer"),
        ({"expected": SAID, "gpt4_answer": ASKED, "claude_answer": OTHER}, "answer"),
        ({"references": SAID, "answer": ASKED, "response": OTHER}, "answer"),
        ({"references": SAID, "model1.response": ASKED, "model2.response": OTHER}, "answer"),
        ({"gold_a": SAID, "gold_b": OTHER}, "references"),
    ],
)
def test_two_columns_that_fit_as_well_are_asked_about(columns: dict[str, Any], field: str) -> None:
    """K1: none is taken in silence, and each is offered; two systems as variants, too."""
    found = mapped(rows_of({"question": ASKED, **columns}))
    first, second = list(columns)[-2:]
    assert found.doubt.startswith(f"'{first}' and '{second}' may both be ")
    assert [(way.field, way.column) for way in found.ways] == [(field, first), (field, second)]
    assert found.systems == ((first, second) if field == "answer" else ())
    assert field not in found.fields
    assert mapped(rows_of({"question": ASKED, **columns}), **{field: second}).doubt == ""


@pytest.mark.parametrize("likeness", ["gpt-4_text", "judges.gpt-4_text", "claude_answer"])
def test_a_documented_name_wins_over_any_likeness(likeness: str) -> None:
    """K2: what a judge replied stands beside the answer."""
    found = of(question=ASKED, answer=SAID, references=OTHER, **{likeness: ASKED})
    assert found == {"question": "question", "references": "references", "answer": "answer"}


def test_a_part_of_an_object_that_few_rows_have_is_no_field() -> None:
    """K3: 1 of 3 rows has it."""
    assert of(**{"question": ASKED, "expected.incoterms": ("five days", None, None)}) == {
        "question": "question"
    }
    assert of(**{"question": ASKED, "expected.text": SAID})["references"] == "expected.text"


def test_what_a_system_should_do_is_no_text_to_compare() -> None:
    """K7: it repeats; the line that takes it nevertheless is there."""
    rows = [
        {"question": f"Who pays for {at}?", "answer": f"you, {at}", "expect": word}
        for at in range(6)
        for word in ("answer", "refuse")
    ]
    found = mapped(rows)
    assert "references" not in found.fields
    ((why, way),) = found.notes
    assert "'expect' repeats 'answer', 'refuse'" in why
    assert way is not None
    assert (way.field, way.column) == ("references", "expect")


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("must_mention", "must_include"),
        ("should_contain", "must_include"),
        ("must_not_mention", "must_not_include"),
        ("gold_facts", "must_include"),
    ],
)
def test_checks_of_other_projects_are_known(column: str, field: str) -> None:
    """K7: texts that an answer must have, or not."""
    assert of(question=ASKED, **{column: (["days"], ["fee"], ["shop"])}).get(field) == column


@pytest.mark.parametrize("column", ["assertions", "expected_keypoints", "rubric"])
def test_criteria_in_words_are_for_a_judge(column: str) -> None:
    """K7, K15: sentences, which no answer repeats."""
    cells = tuple([f"The answer says that it takes {at} days"] for at in (5, 6, 7))
    assert of(question=ASKED, **{column: cells})["must_satisfy"] == column
    assert mapped(rows_of({"question": ASKED, "asks": cells}), must_satisfy="asks").has_gold


def test_lists_of_nuggets_are_gold() -> None:
    """G7: by their one name, and only if they are lists; an ``answer`` beside is asked about."""
    lists = ([{"text": "5 days", "importance": "vital"}], ["6 days"], None)
    assert of(question=ASKED, nuggets=lists) == {"question": "question", "nuggets": "nuggets"}
    rows = {"question": ASKED, "nuggets": lists}
    assert mapped(rows_of(rows)).has_gold
    answers = ("5 days", "6 days", "7 days")
    assert "answer" in mapped(rows_of({**rows, "answer": answers})).doubt
    assert "nuggets" not in of(question=ASKED, nuggets=("chicken", "chicken", "beef"))


@pytest.mark.parametrize("cells", [(1, 0, 1), ("1", "0", "1"), (True, False, True)])
@pytest.mark.parametrize("column", ["answerable", "is_answerable", "response_ok", "answer"])
def test_a_flag_is_no_answer(column: str, cells: tuple[Any, ...]) -> None:
    """K9."""
    found = of(question=ASKED, expected=SAID, **{column: cells})
    assert "answer" not in found


YES_OR_NO = ("yes", "no", "yes")


@pytest.mark.parametrize(
    ("columns", "gold"),
    [
        ({"answer": SAID, "expected": SAID, "reference": YES_OR_NO}, "expected"),
        ({"response": SAID, "expected": YES_OR_NO}, ""),
        ({"response": SAID, "correct": YES_OR_NO}, ""),
        ({"response": SAID, "gold_label": YES_OR_NO}, ""),
        ({"response": SAID, "reference": (True, False, True)}, ""),
        ({"response": SAID, "reference": YES_OR_NO, "ground_truth": YES_OR_NO}, ""),
        ({"response": SAID, "reference": ("yes", "five days", "no")}, "reference"),
        # As the documented name says, and as the scenario would read it.
        ({"response": SAID, "reference": YES_OR_NO}, "reference"),
        ({"answer": SAID, "ground_truth": YES_OR_NO, "is_correct": YES_OR_NO}, "ground_truth"),
        ({"response": SAID, "reference": ("True", "False", "True")}, ""),
        ({"references": (["yes"], ["no"], ["no", "No."])}, "references"),
        ({"reference": ("ja", "nein", None)}, "reference"),
    ],
)
def test_yes_and_no_are_gold_under_a_documented_name_alone(
    columns: dict[str, Any], gold: str
) -> None:
    """Under another name they may say whether the answer is right."""
    found = mapped(rows_of({"question": ASKED, **columns}))
    taken = found.fields.get("references")
    assert (taken.column if taken is not None else "") == gold
    assert not found.doubt


@pytest.mark.parametrize("column", ["predicted", "Bot said v3", "bot_reply"])
def test_what_a_system_said_in_other_words(column: str) -> None:
    """K10."""
    assert of(question=ASKED, expected=SAID, **{column: OTHER})["answer"] == column


def test_a_verdict_of_people_beside_an_answer() -> None:
    """K12: no group, but labels."""
    columns = {"question": ASKED, "answer": SAID, "expected": OTHER}
    found = mapped(rows_of({**columns, "OK?": ("yes", "no", "yes")}))
    assert found.human == "OK?"
    assert mapped(rows_of({**columns, "answerable": ("yes", "no", "yes")})).human == ""
    assert mapped(rows_of({"question": ASKED, "OK?": ("yes", "no", "yes")})).human == ""


@pytest.mark.parametrize("column", ["answer_aliases", "alternative_answers", "aliases"])
def test_more_right_answers_go_with_the_gold(column: str) -> None:
    """K14: MuSiQue, CRAG; alone they are the gold."""
    lists = tuple([text, "so"] for text in OTHER)
    found = of(question=ASKED, answer=SAID, **{column: lists})
    assert (found["references"], found["aliases"]) == ("answer", column)
    assert of(question=ASKED, **{column: lists})["references"] == column


def test_lists_of_answers_are_the_gold() -> None:
    """K13: a system gives one answer."""
    assert of(question=ASKED, answers=(["a b"], ["c"], ["d"]), context=SAID) == {
        "question": "question",
        "references": "answers",
        "reference_contexts": "context",
    }


@pytest.mark.parametrize(
    "marks",
    [
        {"supporting_facts": (["a", 1], ["b", 0], ["c", 2])},
        {"passages.is_selected": ([0, 1], [1, 0], [0, 1])},
        {"context": ([{"text": SAID[0]}], [{"text": SAID[1], "is_selected": 0}], SAID[2])},
        {"relevance": (0, 2, 3)},
        {"relevance": (-1, 2, 3)},
        {"relevance": ("0.00", "2", "3")},
        {"grade": ("3", "1", "0")},
    ],
)
def test_passages_that_mislead_are_no_gold(marks: dict[str, Any]) -> None:
    """K20: HotpotQA, MS MARCO: what marks the right ones stands beside."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, "context": OTHER, **marks}), "gold")
    assert "reference_contexts" not in found.fields
    assert "'context' holds wrong passages, too" in found.notes[0][0]


def test_nothing_else_moves_when_one_field_is_named() -> None:
    """K18: neither more gold nor a list becomes the answer."""
    rows = rows_of({"question": ASKED, "short_answers": SAID, "long_answer": OTHER})
    found = mapped(rows, references="short_answers")
    assert "answer" not in found.fields
    assert found.notes[0][1] is not None
    assert found.notes[0][1].column == "long_answer"
    lists = {"Answer.Aliases": (["a"], ["b"], ["c"]), "Answer.Names": (["d"], ["e"], ["f"])}
    rows = rows_of({"question": ASKED, **lists})
    assert "answer" not in mapped(rows, references="Answer.Aliases").fields


@pytest.mark.parametrize(
    ("roles", "question", "answer"),
    [
        (["assistant"], "chat[-2].content", "chat[-1].content"),
        (["user"], "chat[-1].content", ""),
        (["human", "gpt"], "chat[-2].content", "chat[-1].content"),
        (["assistant", "tool", "assistant"], None, "chat[-1].content"),
        (["assistant", "assistant"], None, "chat[-1].content"),
        (["tool"], None, ""),
        (["system"], None, ""),
    ],
)
def test_the_last_question_of_chat_messages(
    roles: list[str], question: str | None, answer: str
) -> None:
    """K24: and the answer after it, gold or a system's; what no person says is no question."""
    rows = [
        {
            "chat": [
                {"role": "user", "content": f"Is it {at}?"},
                *([{"role": "user", "content": "And then?"}] * at),
                *({"role": role, "content": f"It is {at}, I think."} for role in roles),
            ]
        }
        for at in range(3)
    ]
    found = mapped(rows)
    assert getattr(found.fields.get("question"), "column", None) == question
    assert {way.column for way in found.ways} == ({answer} if answer else set())
    noted = [why for why, _ in found.notes]
    assert ["is no person's message in row 1" in why for why in noted] == [True] * (not question)


def test_one_turn_of_a_tool_is_named_and_a_prompt_alone_is_the_question() -> None:
    """Questions of all rows went in silence; evals of OpenAI have prompts of a system alone."""

    def chat(*roles: str) -> list[dict[str, str]]:
        return [{"role": role, "content": f"Is it {role}?"} for role in roles]

    usual, odd = chat("user", "assistant"), chat("user", "assistant", "tool", "assistant")
    found = mapped([{"chat": usual}, {"chat": odd}, {"chat": usual}])
    assert [(why, way.column if way else "") for why, way in found.notes] == [
        (
            "'chat[-2].content' is no person's message in row 2; to take it nevertheless",
            "chat[-2].content",
        )
    ]
    evals = mapped([{"input": chat("system"), "ideal": "a"}, {"input": chat("developer")}])
    assert evals.fields["question"].column == "input[-1].content"
    assert "question" not in mapped([{"input": chat("system")}, {"input": chat("user")}]).fields


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (("2014/2016", "Rome", "Paris/Lutetia"), "/"),
        (("five days; a week", "a fee; a charge", "you"), ";"),
        (("five days", "km/h", "the shop"), ""),
        (("https://a.b/c", "https://d.e/f", "x"), ""),
    ],
)
def test_several_right_answers_in_a_cell(cells: tuple[str, ...], mark: str) -> None:
    """K11: offered where a third of the cells have the mark."""
    assert mapped(rows_of({"question": ASKED, "expected": cells})).split == mark


def test_documents_that_a_search_found_are_no_right_answers() -> None:
    """Phoenix writes a row for each, with its text as ``reference``."""
    rows = rows_of({"input.value": ASKED, "reference": SAID, "document_position": (0, 1, 0)})
    found = mapped(rows)
    assert found.fields["contexts"].column == "reference"
    assert "references" not in found.fields


def test_numbered_columns_are_parts_of_a_field() -> None:
    """None of them is taken for the whole."""
    found = of(question=ASKED, expected=SAID, retrieved_doc1=SAID, retrieved_doc2=OTHER)
    assert found == {"question": "question", "references": "expected"}


@pytest.mark.parametrize("stem", ["predictions", "results_v2", "gpt_outputs", "模型输出"])
def test_a_file_of_a_run_has_no_gold_alone(stem: str) -> None:
    """The name of the file says that a system answered."""
    assert mapped(rows_of({"question": ASKED, "answer": SAID}), stem).doubt


def test_a_long_answer_alone_may_be_what_a_system_said() -> None:
    """Gold is often short; whole sentences are asked about."""
    long = tuple(f"{text}, as the terms of the shop say in their fifth section" for text in SAID)
    assert mapped(rows_of({"question": ASKED, "answer": long})).doubt


def test_a_long_reference_beside_its_document_may_be_a_passage() -> None:
    """Both ways are offered."""
    passages = tuple(f"{text}. " * 30 for text in SAID)
    found = mapped(rows_of({"question": ASKED, "reference": passages, "url": SAID}))
    assert [way.field for way in found.ways] == ["references", "reference_contexts"]


def test_parts_of_what_is_said_of_a_row_are_no_fields() -> None:
    """``metadata.answer`` is about the row; where it is from may be in it."""
    found = of(**{"question": ASKED, "expected": SAID, "metadata.answer": OTHER})
    assert found == {"question": "question", "references": "expected"}


def test_the_replies_of_two_systems_are_no_gold_for_each_other() -> None:
    """Only a bare ``answer`` beside a system's is the gold."""
    found = mapped(rows_of({"question": ASKED, "rag_reply": SAID, "direct_reply": OTHER}))
    assert "references" not in found.fields
    assert [way.column for _, way in found.notes if way] == ["direct_reply"]


def test_targets_that_inspect_joins_by_commas() -> None:
    """K27: its data frames do so; whether a comma divides or belongs to the text is asked."""
    columns = dict.fromkeys(("sample_id", "eval_id", "log", "epoch"), "x")
    cells = ("6 euros,a late fee", "8:30", "pier 4")
    assert mapped(rows_of({"input": ASKED, "target": cells, **columns})).split == ","
    assert mapped(rows_of({"input": ASKED, "target": cells})).split == ""


@pytest.mark.parametrize("name", ["must_include", "must_mention"])
def test_checks_that_few_rows_have_are_asked_about(name: str) -> None:
    """K4: rows without them would be skipped, and one of three decide a green run."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, name: (["days"], None, None)}))
    assert not found.has_gold
    assert (
        "is filled in 1 of 3 rows only, and rows without it would be skipped" in found.notes[0][0]
    )


def test_an_answer_beside_checks_may_be_what_a_system_said() -> None:
    """The checks say what is right: a bare answer need not."""
    lists = (["days"], ["fee"], ["shop"])
    assert mapped(rows_of({"question": ASKED, "answer": SAID, "must_include": lists})).doubt


def test_expected_answers_that_are_to_be_avoided_are_asked_about() -> None:
    """K14: TruLens' ``expected_score`` of 0 marks a wrong answer."""
    rows = {"query": ASKED, "expected_response": SAID, "expected_score": (1, 0, 1)}
    found = mapped(rows_of(rows))
    assert found.doubt.startswith("'expected_score' is 0 in 1 of 3 rows")
    assert [way.column for way in found.ways] == ["expected_response"]
    right = mapped(rows_of({**rows, "expected_score": 1}))
    assert right.fields["references"].column == "expected_response"


@pytest.mark.parametrize("column", ["LONG_ANSWER", "shop answer", "edited_answer"])
def test_an_answer_of_unknown_kind_is_asked_about(column: str) -> None:
    """It may be gold, as PubMedQA's long answer is."""
    assert mapped(rows_of({"question": ASKED, column: SAID})).doubt


def test_two_documented_answers_are_asked_about_without_gold() -> None:
    """``response`` beside ``answer``: of two systems, or the gold of one."""
    found = mapped(rows_of({"question": ASKED, "answer": SAID, "response": OTHER}))
    assert {way.column for way in found.ways} == {"answer", "response"}


@pytest.mark.parametrize(
    "column", ["question_url", "expected_source_keywords", "expected.grounding"]
)
def test_names_that_only_mention_a_field(column: str) -> None:
    """An id of a question is no question; keywords of a source, no source."""
    found = of(**{"question": ASKED, "expected": SAID, column: OTHER})
    assert found == {"question": "question", "references": "expected"}
    assert column not in of(**{"expected": SAID, column: OTHER}).values()


def test_contexts_named_after_a_system_were_found_by_it() -> None:
    """Also without answers beside them."""
    found = of(question=ASKED, Hybrid_RAG_Context=SAID)
    assert found == {"question": "question", "contexts": "Hybrid_RAG_Context"}


@pytest.mark.parametrize(
    ("found", "expected", "is_other"),
    [
        ((["d1"], ["d2"], ["d1"]), ("d3", "d2", "d4"), False),
        ((["d1"], ["d2"], ["d1"]), ("g1", "g2", "g3"), True),
        (([11], [12], [11]), (1, 2, 3), True),
        (("d1", "d2", "d1"), (7, 8, 9), True),
        ((["Page 1"], ["Page 2"], ["Page 1"]), ("Question 1", "Question 2", "Question 3"), True),
        ((["a;b"], ["c"], ["d"]), (["g1"], ["g2"], ["g3"]), True),
        (([" d1"], ["d2"], ["d4"]), ("d1", "d7", "d8"), True),
        (([{"id": "d1", "rank": 1}], ["d2"], ["d1"]), (1, 2, 3), True),
        ((["d1"], [], ["d1"]), ("g1", "d7", "g3"), True),
        # In the forms that the reader of ids takes.
        (("d1;d5", "d2; d6", "d1;d7"), ("g1", "d6", "g3"), False),
        (("d1;d5", "d2; d6", "d1;d7"), ("g1;g2", "d7;d6", "g3"), False),
        (("d1;d5", "d2; d6", "d1;d7"), ("g1;g2", "d7;d8", "g3"), True),
        (([{"doc_id": "d1", "text": SAID[0]}], ["d2"], ["d1"]), ("d1", "d7", "d8"), False),
        (([{"source": "d1", "score": 0.5}], ["d2"], ["d1"]), (["d1"], ["d7"], ["d8"]), False),
        (([{"chunk_id": 1, "rank": 9}], ["d2"], ["d1"]), (1, 2, 3), False),
        (([1.0], [2.0], [3.0]), ("1", "7", "8"), False),
        (([0], [0], [0]), (0, 0, 0), False),
        # What stands beside the id in an object is none, nor is a blank.
        (([{"qid": 1, "docid": "d7"}], [{"qid": 2, "docid": "d8"}], None), (1, 2, 3), True),
        (
            ([{"qid": "q1", "docid": "d7"}], [{"qid": "q2", "docid": "d8"}], None),
            ("q1", "q2", "q3"),
            True,
        ),
        (
            ([{"doc_id": "d7", "chunk_id": 1}], [{"doc_id": "d8", "chunk_id": 2}], None),
            (1, 2, 3),
            True,
        ),
        (([{"id": "d7", "source": "a.md"}], ["d8"], ["d9"]), ("a.md", "b", "c"), True),
        (([{"doc_id": "d1"}], ["d2"], ["d1"]), ([{"doc_id": "g1"}], ["g2"], ["g3"]), True),
        (("d1;", "d2;", "d1;"), ("g1;", "g2;", "g3;"), True),
        ((["d1", None], ["d2", ""], ["d1"]), (["g1", None], ["g2", ""], ["g3"]), True),
        # What cannot be read says so when it is read.
        (([{"text": "d1"}],) * 3, ("d1", "d2", "d3"), False),
        ((["d1"], ["d2"], ["d1"]), ([{"d1": 2}],) * 3, False),
        (([1], [2], [3]), ("[{1: 2}]",) * 3, False),
        ((["d1"], ["d2"], ["d1"]), ([{"id": "d1", "grade": 0.5}], "d2", "g3"), False),
        ((["d1"], ["d2"], ["d1"]), ([{"id": "d1", "grade": 0.5}], "g2", "g3"), True),
    ],
)
def test_ids_are_held_against_each_other_as_they_are_read(
    found: Any, expected: Any, is_other: bool
) -> None:
    """What is never found is of something else: ``gold_id`` may be that of the row's gold."""
    rows = {"question": ASKED, "expected": SAID, "retrieved_doc_ids": found}
    assert ("reference_ids" not in of(**rows, gold_id=expected)) == is_other
    documented = mapped(rows_of({**rows, "reference_ids": expected}))
    assert "reference_ids" in documented.fields  # a search that finds nothing
    said = ["no id in 'reference_ids' is ever found in 'retrieved_doc_ids': remove recall@5"]
    assert [why.partition(",")[0] for why, _ in documented.notes] == (said if is_other else [])


def test_checks_in_an_object_of_their_own() -> None:
    """``checks.must_include`` is what its last part says."""
    lists = (["days"], ["fee"], ["shop"])
    assert of(**{"question": ASKED, "checks.must_include": lists})["must_include"] == (
        "checks.must_include"
    )


def test_lists_of_texts_and_numbers_are_no_gold() -> None:
    """They are parts of something: a cell of a table, its place."""
    found = of(
        question=ASKED, target=(["a", [4, 0], "/b"], ["c", [1, 2], "/d"], ["e", [0, 0], "/f"])
    )
    assert found == {"question": "question"}


def test_the_output_of_a_second_system_is_no_gold() -> None:
    """K18: also if the first one is named."""
    rows = rows_of({"question": ASKED, "output_1": SAID, "output_2": OTHER})
    assert mapped(rows).doubt
    assert "references" not in mapped(rows, answer="output_1").fields


def test_a_second_column_of_gold_is_no_answer_if_the_first_is_named() -> None:
    """K18: they differ by their number only."""
    rows = rows_of({"question": ASKED, "answer_1": SAID, "answer_2": OTHER})
    assert "answer" not in mapped(rows, references="answer_1").fields


def test_a_passage_that_is_marked_as_wrong_is_no_gold() -> None:
    """A label of 1 and 0 beside it says which are to be found; one of classes, or grades, not."""
    for marks in ({"label": (0, 1, 2)}, {"relevance": (1, 2, 3)}, {"grade": 0}):
        assert "reference_contexts" in of(query=ASKED, passage=SAID, **marks)
    rows = rows_of({"query": ASKED, "passage": SAID, "label": (1, 0, 1)})
    found = mapped(rows)
    assert "reference_contexts" not in found.fields
    assert "'passage' holds wrong passages, too (see 'label')" in found.notes[0][0]


def test_a_prediction_is_never_gold() -> None:
    """Whatever stands beside it."""
    found = mapped(rows_of({"question": ASKED, "answer": (0, 1, 2), "prediction": SAID}))
    assert found.fields.get("references", found.fields["question"]).column != "prediction"
    assert "references" not in of(question=ASKED, prediction=SAID)


def test_an_unexpected_answer_is_no_gold() -> None:
    """What is not wanted."""
    assert "references" not in of(question=ASKED, reply=SAID, unexpected_answer=OTHER)


def test_the_last_message_beside_gold_is_what_a_system_said() -> None:
    """An assistant wrote it."""
    rows = [
        {
            "chat": [
                {"role": "user", "content": f"Is it {at}?"},
                {"role": "assistant", "content": said},
            ],
            "gold": f"it is {at}",
        }
        for at, said in enumerate(SAID)
    ]
    found = mapped(rows)
    assert found.fields["answer"].column == "chat[-1].content"


def test_answers_of_two_versions_are_asked_about() -> None:
    """``v1 answer`` and ``v2 answer`` beside gold: two systems."""
    found = mapped(
        rows_of({"question": ASKED, "Gold answer": SAID, "v1 answer": ASKED, "v2 answer": OTHER})
    )
    assert found.systems == ("v1 answer", "v2 answer")
