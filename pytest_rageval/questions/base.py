"""What questions are made of and made into: passages, slots to fill, rows, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from pytest_rageval.model import BY_MODEL, MADE_BY
from pytest_rageval.text.json_value import digest

QuestionType = Literal["single", "comparison", "paraphrase", "unanswerable"]

SHARES: Final[Mapping[QuestionType, float]] = {
    "single": 0.5,
    "comparison": 0.2,
    "paraphrase": 0.2,
    "unanswerable": 0.1,
}
"""The share of each type in the questions; they add up to 1."""

PASSAGES: Final = "passages"
"""The column with the digests of the passages that a question is about."""

REASONS: Final[Mapping[str, str]] = {
    "unreadable": "the model gave no reply that could be used",
    "no_quote": "the quote does not stand in the passage",
    "not_alone": "the question cannot be understood without the passage",
    "duplicate": "another question is nearly the same",
    "not_supported": "the passage alone does not give the answer",
    "answerable": "the documents answer it",
    "rejected_before": "the same question was rejected before",
}
"""Why a made question is rejected, by a short name."""


@dataclass(frozen=True)
class Passage:
    """A part of a document that a question can be about, as it stands there.

    ``doc_name`` is the path of the file seen from the folder, with ``/``, or the document that a
    row of a data file names; ``section_path`` the headings above it, joined by `` > ``, "" without
    any; ``number`` counts the passages of a document from 1.
    """

    doc_name: str
    section_path: str
    text: str
    number: int

    @property
    def with_headings(self) -> str:
        """The text below its headings, which may name what it is about."""
        return f"{self.section_path}\n\n{self.text}" if self.section_path else self.text

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits for the document's name and the text."""
        return digest([self.doc_name, self.text])[:12]


@dataclass(frozen=True)
class LeftOut:
    """A file that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Documents:
    """The passages of a folder, by document in the order of their names; what was not read.

    A document has equal passages once.
    """

    passages: Sequence[Passage]
    left_out: Sequence[LeftOut] = ()
    read: Mapping[str, int] = field(default_factory=dict)
    """How many documents were read, by the name of their format."""
    too_short: int = 0
    """How many parts of the files with passages are too short to ask about, and in no passage."""
    short: Sequence[Passage] = ()
    """Such parts, also of files without passages, equal ones of a document once.

    They may still hold an answer.
    """


@dataclass(frozen=True)
class Slot:
    """A question to be made: of which type, about which passages.

    ``part`` is the sentence of the first passage that it is to be about, "" for any.
    """

    type: QuestionType
    passages: Sequence[Passage]
    part: str = ""

    @cached_property
    def id(self) -> str:
        """The id of the row: the document's stem, and digits for all that the slot holds."""
        stem = self.passages[0].doc_name.rpartition("/")[2].partition(".")[0] or "question"
        held = [self.type, [passage.digest for passage in self.passages], self.part]
        return f"{stem}-{digest(held)[:10]}"


@dataclass(frozen=True)
class MadeQuestion:
    """A question that the model wrote for a slot; ``evidence`` has a quote from each passage.

    An unanswerable one has none.
    """

    question: str
    answer: str = ""
    evidence: Sequence[str] = ()


def question_row(slot: Slot, made: MadeQuestion, *, common_knowledge: bool) -> dict[str, Any]:
    """Return the row of an accepted question, with all its columns in their order."""
    first = slot.passages[0]
    is_answerable = slot.type != "unanswerable"
    return {
        "id": slot.id,
        "question": made.question,
        "references": [made.answer],
        "reference_contexts": [passage.text for passage in slot.passages] if is_answerable else [],
        "evidence": list(made.evidence),
        "doc_name": first.doc_name,
        "section_path": first.section_path,
        PASSAGES: [passage.digest for passage in slot.passages],
        "question_type": slot.type,
        "answerable": is_answerable,
        "common_knowledge": common_knowledge,
        MADE_BY: BY_MODEL,
    }
