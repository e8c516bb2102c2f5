"""Lists of what an answer has to say: what is asked, what is dropped, and when there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from scripted_nuggets import listing, nugget, texts_in

from pytest_rageval.clients.base import Accept, Message, Reply, ReplySchema
from pytest_rageval.clients.errors import ClientError, InvalidOutputError, ServerError
from pytest_rageval.questions.base import Passage, Slot
from pytest_rageval.questions.make import WriterAndJudge
from pytest_rageval.questions.nuggets import (
    Answered,
    NuggetList,
    checked_prompt,
    make_lists,
    read_nuggets,
    written_prompt,
)
from pytest_rageval.text.reply import UnreadableReplyError

PASSAGE = Passage("returns.md", "Returns", "Items go back within 30 days, in their box.", 1)
ANSWERED = Answered(Slot("single", [PASSAGE]), "How may items go back?", ["Within 30 days."])


@dataclass
class Model:
    """Replies as it is told, and refuses as a client does what is not accepted."""

    answer: Callable[[Any], str]
    failure: ClientError | None = None
    asked: list[str] = field(default_factory=list)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        prompt = messages[0].content
        self.asked.append(prompt)
        if self.failure is not None:
            raise self.failure
        text = self.answer({"messages": [{"content": prompt}]})
        try:
            assert accept is not None
            accept(text)
        except ValueError as error:
            raise InvalidOutputError(str(error)) from error
        return Reply(text)


def made(model: Model, answered: Answered = ANSWERED) -> NuggetList:
    (found,) = asyncio.run(make_lists([answered], WriterAndJudge(model, model), lambda: None))
    return found


def test_a_list_has_its_vital_nuggets_first() -> None:
    listed = [nugget("In the box.", "okay"), nugget("Within 30 days.")]
    model = Model(listing(lambda _: listed))
    assert made(model).column == [nugget("Within 30 days."), nugget("In the box.", "okay")]
    assert len(model.asked) == 2  # one to list them, one to check them all
    assert texts_in(model.asked[1], "statement") == ["Within 30 days.", "In the box."]
    assert texts_in(model.asked[1], "source") == ["Returns\n\n" + PASSAGE.text]


def test_what_is_not_supported_in_full_is_dropped() -> None:
    listed = [nugget("Within 30 days."), nugget("Free of charge.")]
    found = made(Model(listing(lambda _: listed, unsupported=["Free of charge."])))
    assert found.column == [nugget("Within 30 days.")]
    assert (found.unsupported, found.repeated) == (1, 0)


def test_what_says_the_same_counts_once_and_stays_vital() -> None:
    listed = [nugget("within 30  days", "okay"), nugget("Within 30 days.")]
    found = made(Model(listing(lambda _: listed)))
    assert found.column == [nugget("Within 30 days.")]
    assert (found.unsupported, found.repeated) == (0, 1)


def test_without_a_vital_nugget_there_is_no_list() -> None:
    listed = [nugget("Within 30 days."), nugget("In the box.", "okay")]
    found = made(Model(listing(lambda _: listed, unsupported=["Within 30 days."])))
    assert found.column == []
    assert found.unsupported == 1


def test_a_reply_that_cannot_be_used_makes_no_list_and_is_no_failure() -> None:
    found = made(Model(listing(lambda _: "I would rather not.")))
    assert (found.column, found.failure) == ([], None)


def test_a_call_that_fails_leaves_the_list_open() -> None:
    error = ServerError("m: HTTP 500")
    assert made(Model(listing(), failure=error)).failure is error


def test_each_answer_stands_by_itself() -> None:
    several = ANSWERED._replace(answers=["30 days", "thirty days"])
    assert texts_in(written_prompt(several), "answer") == ["30 days", "thirty days"]


def test_chinese_passages_are_asked_about_in_chinese() -> None:
    passage = Passage("保修.md", "", "保修期为两年，从购买之日算起。", 1)
    answered = Answered(Slot("single", [passage]), "保修期多长？", ["两年"])
    assert written_prompt(answered).startswith("请列出")
    assert checked_prompt(answered, ["保修期为两年。"]).startswith("请判断")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("no", '"nuggets"'),
        ({"nuggets": []}, "1 to 8"),
        ({"nuggets": [nugget(f"Fact {number}.") for number in range(9)]}, "1 to 8"),
        ({"nuggets": ["Within 30 days."]}, "objects"),
        ({"nuggets": [nugget("Within 30 days.", "high")]}, "vital or okay"),
        ({"nuggets": [nugget(" - ")]}, '"text"'),
    ],
)
def test_what_is_no_list_is_refused(said: object, why: str) -> None:
    with pytest.raises(UnreadableReplyError, match=why):
        read_nuggets(json.dumps(said))


def test_the_last_list_of_a_reply_counts() -> None:
    texts = [json.dumps({"nuggets": [nugget(text)]}) for text in ("Soon.", "Within 30 days.")]
    assert [one.text for one in read_nuggets(" No: ".join(texts))] == ["Within 30 days."]
