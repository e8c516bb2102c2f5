"""What is looked into for the answer of a question that should have none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from scripted_questions import reply

from pytest_rageval.clients.base import Message, Reply
from pytest_rageval.questions.base import Documents, Passage, Slot
from pytest_rageval.questions.make import MOST_TEXT, NEAREST, WriterAndJudge, make_all
from pytest_rageval.questions.nearest import Nearest

Read = Callable[[dict[str, str]], Documents]
MANY = range(1, NEAREST + 6)


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


def test_what_is_too_short_to_ask_about_is_looked_into_behind_the_passages(read: Read) -> None:
    """It may answer, by the headings above it, too; and it takes the place of no passage."""
    mills = [f"Mill {at} grinds rye and oats for Acme and stands by the river." for at in MANY]
    found = read(
        {
            "a.jsonl": "\n".join(json.dumps({"text": text}) for text in (*mills, "Acme: a mill.")),
            "b.md": "# Who painted the mill of Acme?\n\nAnn did.\n",
            "c.jsonl": json.dumps({"title": "Acme", "doc_name": "d", "text": "漆工是安。"}),
            "e.html": "<p>Ring twice.</p>",
        }
    )
    assert (len(found.passages), len(found.short), found.too_short) == (len(mills), 4, 1)
    own, chat = found.passages[0], Chat()
    search = Nearest(found.passages, found.short)
    models = WriterAndJudge(chat, chat)
    asyncio.run(make_all([Slot("unanswerable", (own,))], models, search, lambda: None))
    [looked] = [prompt for prompt in chat.asked if "<context>" in prompt]
    assert sum(text in looked for text in mills) == NEAREST + 1
    assert "Who painted the mill of Acme?\n\nAnn did." in looked
    assert ("漆工是安" in looked, "Ring" in looked) == (True, False)
    assert max(map(looked.find, mills)) < looked.index("Acme: a mill.")
