"""What a judge is asked for a support table, and how its reply is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.support.table import Cell, Level
from pytest_rageval.text.prompts import Language, filled, free_mark, prompts_of, tagged
from pytest_rageval.text.reply import UnreadableReplyError, find_objects
from pytest_rageval.text.reply_text import objects_in

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


def _listed(reply: str, name: str, shown: str) -> list[Any]:
    lists = _lists(find_objects(reply), name)
    planted = objects_in(shown) if name in shown else ()
    quoted = _lists((found.value for found in planted), name)
    own = [listed for listed in lists if listed not in quoted]
    if lists and not own:
        # Who repeats the prompt would else reply with what an answer or a document has planted.
        raise UnreadableReplyError(f'its list "{name}" is the one that stands in the material')
    if not lists:
        raise UnreadableReplyError(f'it has no list "{name}"')
    # A model that thinks aloud corrects itself: its last word counts.
    return own[-1]


def _lists(objects: Iterable[Mapping[str, Any]], name: str) -> list[list[Any]]:
    return [found[name] for found in objects if isinstance(found.get(name), list)]


_WORDS: Final[Mapping[str, Level]] = {
    "full": "full",
    "fully": "full",
    "partial": "partial",
    "partially": "partial",
    "none": "none",
}


def _verdict(verdict: Any) -> tuple[int, Cell]:
    if not isinstance(verdict, Mapping):
        raise UnreadableReplyError('the entries of "verdicts" must be objects')
    number, level = verdict.get("n"), _WORDS.get(str(verdict.get("support")).strip().lower())
    if isinstance(number, str) and number.strip().isdecimal():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnreadableReplyError(f'"n" must be the number of a statement, found {number!r}')
    if level is None:
        said = shorten(repr(verdict.get("support")))
        raise UnreadableReplyError(f'"support" must be full, partial or none, found {said}')
    reason = verdict.get("reason") if level != "full" else ""
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    if text and not any(map(str.isalnum, text)):
        text = ""
    return number, Cell(level, shorten(text, _REASON_WIDTH))


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
