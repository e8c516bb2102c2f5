"""What a judge is asked for a support table, and how its reply is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.support.table import Cell, Level
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.prompts import Language, filled, free_mark, prompts_of, tagged
from pytest_rageval.text.refusals import kind_of
from pytest_rageval.text.reply import (
    UnreadableReplyError,
    find_objects,
    is_cut_off,
    refuse_additions,
)
from pytest_rageval.text.reply_text import objects_in
from pytest_rageval.text.sentences import counts_as_sentence, split_sentences
from pytest_rageval.text.tokenize import has_cjk, split_characters

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema

MOST_STATEMENTS: Final = 10
"""In one call."""
MOST_CLAIMS: Final = 50
"""Of one text."""
_REASON_WIDTH: Final = 300

_TAGS: Final = ("question", "source", "statement")


def cells_prompt(
    language: Language, question: str, sources: Sequence[str], statements: Sequence[str]
) -> str:
    """Return the question which of ``statements``, numbered from 1, the parts of a source support.

    What stays the same comes first, so that servers can keep it: the levels, then the source.
    """
    mark = free_mark([question, *sources, *statements], _TAGS)
    numbered = "\n".join(
        f'<statement{mark} n="{number}">\n{text}\n</statement{mark}>'
        for number, text in enumerate(statements, 1)
    )
    parts = {**_parts(question, sources, mark), "statements": numbered}
    return filled(prompts_of(__package__)["cells"][language], parts)


def claims_prompt(language: Language, question: str, text: str) -> str:
    """Return the question which claims a text makes."""
    mark = free_mark([question, text], _TAGS)
    return filled(prompts_of(__package__)["claims"][language], _parts(question, [text], mark))


def asked_in(prompt: str) -> tuple[list[str], int]:
    """Return the parts of the source in a prompt, and how many statements it asks about."""
    last = re.search(r"</(?:source|statement)(-\d+)?>\s*\Z", prompt)
    mark = "" if last is None else last[1] or ""
    sources = re.findall(rf"<source{mark}>\n(.*?)\n</source{mark}>", prompt, re.DOTALL)
    return sources, prompt.count(f"</statement{mark}>")


def _parts(question: str, sources: Sequence[str], mark: str) -> dict[str, str]:
    asked = tagged("question" + mark, question) + "\n\n" if question.strip() else ""
    texts = "\n".join(tagged("source" + mark, text) for text in sources)
    return {"question": asked, "source": texts}


@dataclass(frozen=True, slots=True)
class CellsReply:
    """Reads the verdicts on ``count`` statements, and refuses a reply that lacks one.

    ``shown`` is the material between the tags: verdicts that stand in it are not the judge's.
    """

    count: int
    shown: str = ""

    def __call__(self, reply: str) -> tuple[Cell, ...]:
        """Return a cell for each statement, in their order; raises ValueError."""
        found: dict[int, Cell] = {}
        for verdict in _listed(reply, "verdicts", self.shown):
            number, cell = _verdict(verdict)
            if number in found:
                raise UnreadableReplyError(f"it has two verdicts on statement {number}")
            found[number] = cell
        if sorted(found) != list(range(1, self.count + 1)):
            numbers = ", ".join(map(str, sorted(found))) or "none"
            raise UnreadableReplyError(
                f"it must have one verdict on each statement from 1 to {self.count}, "
                f"it has those on {numbers}"
            )
        return tuple(found[number] for number in range(1, self.count + 1))


def read_claims(reply: str, shown: str = "") -> tuple[str, ...]:
    """Return the claims of a reply, each once; raises ValueError.

    A list that stands in ``shown``, the material between the tags, is not the judge's.
    """
    claims = _listed(reply, "claims", shown)
    if not all(isinstance(claim, str) for claim in claims):
        raise UnreadableReplyError('the entries of "claims" must be texts')
    return tuple(dict.fromkeys(claim.strip() for claim in claims if claim.strip()))


def _plain(claim: str) -> str:
    return claim.casefold().strip(" .。!！\"'“”")


def _listed(reply: str, name: str, shown: str) -> list[Any]:
    """Return the one list of the judge; raises UnreadableReplyError for none, or if several differ.

    Nobody can know whether a second one corrects the first, goes on with it, or is quoted.
    """
    objects = find_objects(reply)
    lists = _lists(objects, name)
    planted = objects_in(shown) if name in shown else ()
    quoted = _lists((found.value for found in planted), name)
    own = [listed for listed in lists if listed not in quoted]
    if lists and not own:
        # A judge that repeats the prompt must not reply with what a document has planted in it.
        raise UnreadableReplyError(f'its list "{name}" is the one that stands in the material')
    if not lists:
        raise UnreadableReplyError(f'it has no list "{name}"')
    if is_cut_off(reply):
        raise UnreadableReplyError("its last JSON has no end")
    if not _lists(objects[-1:], name):
        raise UnreadableReplyError(f'its last JSON has no list "{name}"')
    refuse_additions(reply)
    # ["..."] is the form of a reply, repeated from the prompt: it lists nothing.
    listed, *others = [one for one in own if one != ["..."]] or own
    if any(other != listed for other in others):
        raise UnreadableReplyError(f'it has several lists "{name}", which differ: write one')
    return listed


def _lists(objects: Iterable[Mapping[str, Any]], name: str) -> list[list[Any]]:
    return [found[name] for found in objects if isinstance(found.get(name), list)]


_WORDS: Final[Mapping[str, Level]] = {
    "full": "full",
    "fully": "full",
    "partial": "partial",
    "partially": "partial",
    "none": "none",
    "not": "none",
}


def _verdict(verdict: Any) -> tuple[int, Cell]:
    if not isinstance(verdict, Mapping):
        raise UnreadableReplyError('the entries of "verdicts" must be objects')
    number, said = verdict.get("n"), verdict.get("support")
    # Only a text has a word: str() would make "none", a level, of null, a missing verdict.
    word = said.lower().strip(" .").removesuffix(" supported") if isinstance(said, str) else ""
    level = _WORDS.get(word)
    if isinstance(number, str) and number.strip().isdecimal():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnreadableReplyError(f'"n" must be the number of a statement, found {number!r}')
    if level is None:
        shown = shorten(repr(said))
        raise UnreadableReplyError(f'"support" must be full, partial or none, found {shown}')
    reason = verdict.get("reason")
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    if level == "full" and re.search(_DENIES, text.lower()):
        raise UnreadableReplyError(f'"support" is full, and its reason {shorten(repr(text))}')
    if level == "full" or not any(map(str.isalnum, text)):
        text = ""
    return number, Cell(level, shorten(text, _REASON_WIDTH))


_DENIES: Final = (
    r"\b(?:contradict\w*|(?:not|n['’]t) (?:\w+ )?(?:support|stat|mention|sa[yi]|nam|cover|hold)\w*)"
    r"|矛盾|[没未不]有?(?:支持|提[到及]|说明)"
    # "The warranty doesn't cover it" may be a statement's words, "the source doesn't say it" not.
    r"|^(?:(?:the|this) )?(?:source|context|passage|document|text|excerpt)s?(?: \[?\d+\]?)?"
    r" (?:do|does|did)n['’]t (?:(?!just|only|merely)\w+ )?(?:support|state|mention|say)"
    r" (?:it|so|this|that|(?:(?:this|that|the) )?(?:claim|statement|sentence))\W*$"
)
"""What a reason beside full support must not say; the prompt asks for no reason there."""


@cache
def cells_schema() -> ReplySchema:
    """Return the JSON Schema of verdicts."""
    from pytest_rageval.clients.base import ReplySchema, object_schema

    verdict = object_schema(
        n={"type": "integer"},
        support={"type": "string", "enum": ["full", "partial", "none"]},
        reason={"type": "string"},
    )
    return ReplySchema.of("support", verdicts={"type": "array", "items": verdict})


@cache
def claims_schema() -> ReplySchema:
    """Return the JSON Schema of claims."""
    from pytest_rageval.clients.base import ReplySchema

    return ReplySchema.of("claims", claims={"type": "array", "items": {"type": "string"}})


_LONG: Final = 10
"""From so many sentences on, a text has a claim in at least every fifth of them."""
_SENTENCES_PER_CLAIM: Final = 5
_LONG_SENTENCE: Final = {False: 25, True: 40}
"""How long a long sentence is: in words, or (True) in the characters of a CJK text."""


_ENDS_IN_A_TITLE: Final = (
    r"(?i:\A(?!(?:who|what|when|where|why|which|whose|whom|how|is|are|was|were|am|do|does|did|can|could"
    r"|will|would|should|shall|may|might|must|has|have|had)\b)[a-z]+\b)"
    r"(?=.*\s[A-Z][\w'’-]*\?\Z)"
)
"""A statement that ends in a title with a question mark: She wrote Who Moved My Cheese?"""


@dataclass(frozen=True, slots=True)
class ClaimsReply:
    """Reads the claims of ``text``, each once, and refuses too few.

    A judge that leaves out most of a long text could leave out what is wrong in it, and one that
    finds nothing in a reference would take its row out of the means. A reply without any claim
    counts for a text that refuses or has no sentence (of three words, or four characters of
    Chinese), and where ``may_be_empty``: of an answer it is the worst to say.
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
            found.setdefault(_plain(claim), claim)
        self._check_count(list(found.values()))
        return tuple(found.values())

    def _check(self, claim: str) -> None:
        shown = shorten(repr(claim))
        if not any(map(str.isalnum, claim)):
            raise UnreadableReplyError(f"the claim {shown} says nothing")
        if claim.endswith(("?", "？")) and not re.search(_ENDS_IN_A_TITLE, claim):
            raise UnreadableReplyError(f"{shown} is a question, and no claim")
        asked = prompts_of(__package__)["claims"].values()
        is_ours = counts_as_sentence(claim) and any(claim in text for text in asked)
        if is_ours and claim not in self.text:
            raise UnreadableReplyError(f"{shown} is not in the text, but in what was asked")

    @property
    def _sentences(self) -> int:
        """How many sentences the text has; at least as many as long ones would fill it."""
        found = sum(map(counts_as_sentence, split_sentences(self.text)))
        long = _LONG_SENTENCE[has_cjk(self.text)]
        return max(found, len(split_characters(self.text)) // long)

    def _check_count(self, claims: Sequence[str]) -> None:
        count = self._sentences
        fewest = math.ceil(count / _SENTENCES_PER_CLAIM) if count >= _LONG else min(count, 1)
        if len(claims) >= fewest:
            return
        if not claims and (self.may_be_empty or kind_of(self.text) == "refused"):
            return
        raise UnreadableReplyError(
            f"it has {len(claims) or 'none'} of the claims of a text of about "
            f"{counted(count, 'sentence')}: leave out no fact"
        )
