"""E22: the variables of promptfoo's tests: their names, and what stands for missing ones."""

from __future__ import annotations

import pytest
from promptfoo_files import Read

ASKED = 'prompts: ["{{question}}"]\nproviders: [openai:chat:gpt-4o-mini]\n'
ONE = "tests: [{vars: {question: q}, assert: [{type: contains, value: a}]}]\n"


def test_variables_may_have_names_in_any_script(read: Read) -> None:
    """[E22] In prompts, in checks, and where a test lacks one; 问题 is the question."""
    found = read(
        """\
prompts: ["用{{语气}}回答{{用户.城市}}：{{问题}}"]
providers: [openai:gpt-4o]
tests:
  - vars: {问题: 多久？, 语气: 敬语, 用户: {城市: 北京}, réponse: 三天}
    assert: [{type: contains, value: "{{réponse}}"}]
  - {vars: {问题: 多少？, 用户: {城市: 上海}}, assert: [{type: contains, value: a}]}
""",
    )
    prompt = "用{metadata.vars.语气}回答{metadata.vars.用户.城市}：{question}"
    assert found.scenario["target"]["prompt"] == prompt
    assert [row["question"] for row in found.rows] == ["多久？", "多少？"]
    assert found.rows[1]["vars"] == {"用户": {"城市": "上海"}, "语气": ""}
    assert found.rows[0]["answer_checks"] == [{"contains": "三天"}]
    assert found.notes == []


@pytest.mark.parametrize("tag", ["1st", "a b", "a.1b", "é|upper", "问题()"])
def test_what_is_no_name_is_more_than_a_variable(read: Read, tag: str) -> None:
    """[E22]"""
    found = read(ASKED.replace("{{question}}", f"{{{{{tag}}}}}") + ONE)
    assert f"{{{{{tag}}}}} is more than a variable" in str(found.notes)


def test_a_prompt_shows_an_empty_text_for_what_a_test_lacks(read: Read) -> None:
    """[E22] As promptfoo does, for parts of variables too; values that tests share stay."""
    found = read(
        """\
prompts: ["{{question}} {{user.name.last}} {{user.age}} {{a-b}}"]
providers: [openai:gpt-4o]
defaultTest: {assert: [{type: contains, value: a}]}
tests:
  - vars: {question: q, user: {name: {last: Li}, age: 3}, a-b: c, more: d}
  - vars: {question: [q2, q3], user: {name: {first: An}, age: null}, a-b: ""}
  - vars: {question: q4}
""",
    )
    gap = {"user": {"name": {"last": ""}, "age": ""}, "a-b": ""}
    part = {"user": {"name": {"first": "An", "last": ""}, "age": ""}, "a-b": ""}
    whole = {"user": {"name": {"last": "Li"}, "age": 3}, "a-b": "c", "more": "d"}
    assert [row["vars"] for row in found.rows] == [whole, part, part, gap]


def test_a_part_of_the_question_is_no_empty_text(read: Read) -> None:
    """[E22] A row has the question as a text; that its part is missing is said when asked."""
    text = ASKED.replace("{{question}}", "{{question.text}}")
    found = read(text + ONE.replace("question: q", "question: {text: q}"))
    assert "vars" not in found.rows[0]


def test_a_part_of_a_variable_that_holds_a_key_skips_the_row(read: Read) -> None:
    """[E22] An empty text in its place would be another question."""
    found = read(
        ASKED.replace("{{question}}", "{{question}} {{account.name}}")
        + ONE.replace("question: q", "question: q, account: {name: An, password: hunter2secret}"),
    )
    assert found.rows[0]["skip"].startswith("its variable 'account' looks like a key")


def test_an_echo_shows_nothing_for_a_variable_that_a_test_lacks(read: Read) -> None:
    """[E22] As promptfoo does, for parts of variables too."""
    found = read(
        """\
prompts: ["Hi {{user.name}} {{question}}"]
providers: [echo]
tests:
  - {vars: {question: q, user: {name: Bob}}, assert: [{type: contains, value: Bob}]}
  - {vars: {question: q2}, assert: [{type: contains, value: q2}]}
""",
    )
    assert [row["answer"] for row in found.rows] == ["Hi Bob q", "Hi  q2"]
