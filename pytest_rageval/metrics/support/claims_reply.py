"""Reads the claims that a judge lists, and refuses those that are plainly not the text's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.support.prompts import read_claims
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.prompts import prompts_of
from pytest_rageval.text.refusals import kind_of
from pytest_rageval.text.reply import UnreadableReplyError
from pytest_rageval.text.sentences import counts_as_sentence, split_sentences
from pytest_rageval.text.tokenize import has_cjk, split_characters

_LONG: Final = 10
"""Sentences from which on a text is too long for a claim in five of them."""
_SENTENCES_PER_CLAIM: Final = 5
_LONG_SENTENCE: Final = {False: 25, True: 40}
"""Words; in Chinese characters."""


@dataclass(frozen=True, slots=True)
class ClaimsReply:
    """Reads the claims of ``text``, each once.

    A judge that leaves out most of a long text could leave out what is wrong in it, and one that
    finds nothing in a reference would take its row out of the means. Where ``may_be_empty``, no
    claim at all is a reply: for an answer that is the worst that can be said.
    """

    text: str
    may_be_empty: bool
    question: str = ""

    def __call__(self, reply: str) -> tuple[str, ...]:
        """Return the claims of a reply; raises ValueError."""
        found: dict[str, str] = {}
        for claim in read_claims(reply, f"{self.question}\n{self.text}"):
            self._check(claim)
            # A claim that is told twice in other letters would count twice.
            found.setdefault(claim.casefold().strip(" .。!！\"'“”"), claim)
        self._check_count(list(found.values()))
        return tuple(found.values())

    def _check(self, claim: str) -> None:
        shown = shorten(repr(claim))
        if not any(map(str.isalnum, claim)):
            raise UnreadableReplyError(f"the claim {shown} says nothing")
        if claim.endswith(("?", "？")):
            raise UnreadableReplyError(f"{shown} is a question, and no claim")
        asked = prompts_of(__package__)["claims"].values()
        is_ours = counts_as_sentence(claim) and any(claim in text for text in asked)
        if is_ours and claim not in self.text:
            raise UnreadableReplyError(f"{shown} is not in the text, but in what was asked")

    @property
    def _sentences(self) -> int:
        """How many sentences the text has; as many at least as its length has room for."""
        found = sum(map(counts_as_sentence, split_sentences(self.text)))
        long = _LONG_SENTENCE[has_cjk(self.text)]
        return max(found, len(split_characters(self.text)) // long)

    def _check_count(self, claims: Sequence[str]) -> None:
        count = self._sentences
        fewest = math.ceil(count / _SENTENCES_PER_CLAIM) if count >= _LONG else min(count, 1)
        if len(claims) >= fewest or (self.may_be_empty and not claims):
            return
        if not claims and kind_of(self.text) == "refused":
            return
        listed = "none" if not claims else f"{len(claims)}"
        raise UnreadableReplyError(
            f"it has {listed} of the claims of a text of about {counted(count, 'sentence')}: "
            "leave out no fact"
        )
