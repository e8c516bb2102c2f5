"""A judge that answers the prompts of a support table from a planted truth.

In a test, in a thread of its own::

    truth = PlantedTruth(
        claims={"Paris is big. It is old.": ["Paris is big.", "Paris is old."]},
        levels={("Paris is big.", "Paris has two million people."): "full"},
    )
    with SupportJudge(truth) as server:
        server.faults[("Paris is old.", "Paris is a city.")] = "odd_level"
        ...server.base_url...
        assert server.counts == {"claims": 1, "cells": 2}

Without a server ``truth.reply`` is what a ``ScriptedJudge`` says to ``claims`` and to ``support``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fake_judge import Asked, asked_by, judge, prompt_of, verdicts
from fake_openai import FakeOpenAI, Seen

Cell = tuple[str, str]
"""The text of a statement and of a source; of a source in several parts, these in lines."""

WORTH = ("none", "partial", "full")

SUPPORT_FAULTS = {
    "lacking": "the reply lacks its last statement; of claims, the list",
    "twice": "the reply has its first statement twice",
    "odd_level": "a level that is none",
}
"""Faults of a reply, besides those of ``fake_openai``: "500", "length", "prose", "not_json" ..."""


@dataclass
class PlantedTruth:
    """What is true: the claims of texts, and how far a source supports a statement.

    A text without planted claims makes none. A cell that is not planted has the level ``default``;
    one whose source has several parts, the highest that one of the parts has.
    """

    claims: dict[str, list[str]] = field(default_factory=dict)
    levels: dict[Cell, str] = field(default_factory=dict)
    default: str = "none"

    def level(self, statement: str, source: str) -> str:
        """Return how far a source supports a statement."""
        whole = self.levels.get((statement, source))
        if whole is not None:
            return whole
        parts = (
            level
            for (known, part), level in self.levels.items()
            if known == statement and f"\n{part}\n" in f"\n{source}\n"
        )
        return max(parts, key=WORTH.index, default=self.default)

    def reply(self, prompt: str) -> dict[str, Any]:
        """Return the true reply to a prompt of a support table."""
        asked = asked_by(prompt)
        assert asked is not None, f"no prompt of a support table: {prompt}"
        return self._said(asked)

    def _said(self, asked: Asked) -> dict[str, Any]:
        if asked.kind == "claims":
            return {"claims": self.claims.get(asked.source, [])}
        return verdicts([self.level(one, asked.source) for one in asked.statements])


class SupportJudge(FakeOpenAI):
    """A fake server whose verdicts are the planted truth; other prompts get what is usual.

    ``faults`` says what happens whenever it is asked about this cell or for the claims of this
    text; "once 500" happens at the first time only.
    """

    def __init__(self, truth: PlantedTruth, **options: Any) -> None:
        super().__init__(answer=self._said, **options)
        self.truth = truth
        self.faults: dict[Cell | str, str] = {}

    @property
    def asked(self) -> list[Asked]:
        """What it was asked of support tables, in the order in which it came."""
        found = (asked_by(prompt_of(seen.body)) for seen in self.chats)
        return [asked for asked in found if asked is not None]

    @property
    def counts(self) -> Counter[str]:
        """How many calls were for ``claims`` and for ``cells``, and for something else."""
        counts = Counter(asked.kind for asked in self.asked)
        others = len(self.chats) - counts.total()
        return counts + Counter(others=others)

    @property
    def cells(self) -> Counter[Cell]:
        """How often each statement was held against each source."""
        return Counter(
            (statement, asked.source) for asked in self.asked for statement in asked.statements
        )

    @property
    def texts(self) -> Counter[str]:
        """How often it was asked for the claims of each text."""
        return Counter(asked.source for asked in self.asked if asked.kind == "claims")

    def _said(self, body: Mapping[str, Any]) -> str:
        prompt = prompt_of(body)
        if asked_by(prompt) is None:
            return judge(body)
        return json.dumps(self.truth.reply(prompt), ensure_ascii=False)

    def _drawn(self, seen: Seen) -> str:
        asked = asked_by(prompt_of(seen.body))
        keys: list[Cell | str] = []
        if asked is not None:
            keys = [(one, asked.source) for one in asked.statements] or [asked.source]
        fault = next((self.faults[key] for key in keys if key in self.faults), "")
        if not fault.startswith("once "):
            return fault or super()._drawn(seen)
        prompt = prompt_of(seen.body)
        self._attempts[prompt] += 1
        return "ok" if self._attempts[prompt] > 1 else fault.removeprefix("once ")

    def _chat(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        status, headers, answer = super()._chat(seen, fault)
        if fault in SUPPORT_FAULTS:
            message = answer["choices"][0]["message"]
            message["content"] = _spoiled(json.loads(message["content"]), fault)
        return status, headers, answer


def _spoiled(reply: dict[str, Any], fault: str) -> str:
    if "claims" in reply:
        return json.dumps({"claims": [{}]} if fault == "odd_level" else {})
    listed = reply["verdicts"]
    if fault == "lacking":
        listed.pop()
    elif fault == "twice":
        listed.append(listed[0])
    else:
        listed[-1]["support"] = "mostly"
    return json.dumps(reply)
