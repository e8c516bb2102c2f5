"""What is read of replies with questions, and of those without a passage."""

from __future__ import annotations

import pytest

from pytest_rageval.questions.base import MadeQuestion, QuestionType
from pytest_rageval.questions.prompts import Alone, question_schema, read_alone, read_question
from pytest_rageval.text.reply import UnreadableReplyError

WHO = '"question": "Who leads the Halvik society?"'


@pytest.mark.parametrize(
    ("kind", "reply", "made"),
    [
        (
            "single",
            f'{{{WHO}, "answer": "Ada", "quote": "Ada  leads it."}}',
            MadeQuestion("Who leads the Halvik society?", "Ada", ("Ada  leads it.",)),
        ),
        (
            "comparison",
            f'{{{WHO}, "answer": "Ada", "quotes": ["Ada leads it.", "So she does."]}}',
            MadeQuestion("Who leads the Halvik society?", "Ada", ("Ada leads it.", "So she does.")),
        ),
        ("unanswerable", f"{{{WHO}}}", MadeQuestion("Who leads the Halvik society?")),
        (
            "paraphrase",
            '<think>{"question": "Eh?", "answer": "x", "quote": "y"}</think>\n```json\n'
            '{"question": "谁领导\\n协会？", "answer": "王芳", "quote": "会长是王芳。"}\n```',
            MadeQuestion("谁领导 协会？", "王芳", ("会长是王芳。",)),
        ),
    ],
)
def test_a_question_is_read_with_its_parts(
    kind: QuestionType, reply: str, made: MadeQuestion
) -> None:
    assert read_question(kind, reply) == made


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("single", {"question", "answer", "quote"}),
        ("paraphrase", {"question", "answer", "quote"}),
        ("comparison", {"question", "answer", "quotes"}),
        ("unanswerable", {"question"}),
    ],
)
def test_a_server_is_told_the_parts_that_are_read(kind: QuestionType, parts: set[str]) -> None:
    schema = question_schema(kind).schema
    assert set(schema["properties"]) == set(schema["required"]) == parts


@pytest.mark.parametrize(
    ("kind", "reply", "why"),
    [
        ("single", "I would rather not.", "no object with"),
        ("single", f"{{{WHO}}}", '"answer" must be a text'),
        ("single", f'{{{WHO}, "answer": "Ada"}}', '"quote" must be a text'),
        ("single", f'{{{WHO}, "answer": 7, "quote": "Ada leads it."}}', '"answer" must be'),
        ("single", '{"question": "...", "answer": "...", "quote": "..."}', '"question" must be'),
        ("single", f'{{"question": "{"why " * 300}"}}', "at most 1000"),
        ("comparison", f'{{{WHO}, "answer": "Ada", "quotes": ["Ada leads it."]}}', "two texts"),
        ("comparison", f'{{{WHO}, "answer": "Ada", "quotes": "Ada leads it."}}', "two texts"),
    ],
)
def test_a_reply_without_its_parts_is_refused(kind: QuestionType, reply: str, why: str) -> None:
    with pytest.raises(UnreadableReplyError, match=why):
        read_question(kind, reply)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"clear": true, "answer": "In 1901."}', Alone(True, "In 1901.")),
        ('{"clear": "False", "answer": ""}', Alone(False, "")),
        ('{"clear": true}', Alone(True, "")),
        ('{"clear": true, "answer": "..."}', Alone(True, "")),
        ('{"clear": true, "answer": "I do not know."}', Alone(True, "")),
        ('{"clear": true, "answer": "我不知道。"}', Alone(True, "")),
        ('{"clear": true, "answer": null}', Alone(True, "")),
        ('{"clear": true, "answer": false}', Alone(True, "")),
        ('{"clear": true, "answer": []}', Alone(True, "")),
        ('{"clear": true, "answer": {"year": 1901}}', Alone(True, "")),
        ('{"clear": false, "answer": "0"}', Alone(False, "0")),
        ('{"clear": true, "answer": 1901}', Alone(True, "1901")),
        ('{"clear": true, "answer": 0.5}', Alone(True, "0.5")),
    ],
)
def test_what_is_known_without_a_passage(reply: str, said: Alone) -> None:
    assert read_alone(reply) == said


@pytest.mark.parametrize(
    "reply", ['{"clear": true or false, "answer": "..."}', '{"answer": "1901"}', '{"clear": 1}', ""]
)
def test_who_does_not_say_whether_a_question_is_clear_says_nothing(reply: str) -> None:
    with pytest.raises(UnreadableReplyError):
        read_alone(reply)
