"""What is looked into for the answer of a question that should have none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from scripted_questions import reply

from pytest_rageval.clients.base import Message, Reply
from pytest_rageval.questions.base import Passage, Slot
from pytest_rageval.questions.make import MOST_TEXT, WriterAndJudge, make_all
from pytest_rageval.questions.nearest import Nearest


class Chat:
    """Replies as a model does that makes no mistake; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        self.asked.append(messages[0].content)
        return Reply(reply({"messages": [{"content": messages[0].content}]}))


def test_a_long_passage_keeps_none_of_the_short_ones_behind_it_out() -> None:
    own = Passage("a.md", "", "The mill grinds rye and oats for Acme.", 1)
    long = Passage("b.md", "", "The mill grinds rye and oats for Acme. " * 2_000, 1)
    short = Passage("c.md", "", "Acme painted the mill, which grinds rye and oats.", 1)
    chat = Chat()
    (outcome,) = asyncio.run(
        make_all(
            [Slot("unanswerable", (own,))],
            WriterAndJudge(chat, chat),
            Nearest([own, long, short]),
            lambda: None,
        )
    )
    assert outcome.reason == ""
    [looked] = [prompt for prompt in chat.asked if "<context>" in prompt]
    assert len(looked) < MOST_TEXT
    assert own.text in looked
    assert short.text in looked
    assert json.loads(reply({"messages": [{"content": looked}]}))["score"] == 0
