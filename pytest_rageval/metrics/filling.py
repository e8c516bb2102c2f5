"""Fills holes of a ranking: a judge grades the documents that nobody judged, from 0 to 3.

The figures that count such grades are metrics of their own, whose names end in ``+filled``. The
judge grades some judged documents, too: how well it agrees with people decides whether they count.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_rageval.clients.accounting import asking, current_purpose
from pytest_rageval.clients.errors import InvalidOutputError
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import Metric, Models, ScoringContext
from pytest_rageval.metrics.holes import hole_ranks
from pytest_rageval.model import FILLED, Sample, Score
from pytest_rageval.text.prompts import (
    Language,
    filled,
    free_mark,
    prompt_language,
    prompts_of,
    tagged,
)
from pytest_rageval.text.reply import (
    UnreadableReplyError,
    find_objects,
    read_reason,
    read_score,
)
from pytest_rageval.text.reply_text import to_lines

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema

VERSION: Final = 1
"""Of the prompts, and of how a reply is read: another one asks everything anew."""

BEST: Final = 3
"""The highest grade of the judge; 0 is the lowest."""

_REASON_WIDTH: Final = 300
_ON: Final = {1: (0, 0, 1, 1), 2: (0, 0, 1, 2), 3: (0, 1, 2, 3)}


def usual_grades(highest: int) -> tuple[int, ...] | None:
    """Return what the judge's grades 0 to 3 are where people's go up to ``highest``.

    The judge's 1 means related, but no answer: it is 0 unless people have four grades, too.
    None for other scales.

    >>> usual_grades(1), usual_grades(3)
    ((0, 0, 1, 1), (0, 1, 2, 3))
    """
    return _ON.get(highest)


@dataclass(frozen=True)
class Filling:
    """What a judge is to grade: holes among the first ``k``, and some judged documents.

    ``texts`` are those of documents by id, ``checked`` the judged documents by sample id;
    ``grades`` are what the judge's grades 0 to 3 become beside those of people.
    """

    k: int
    grades: Sequence[int]
    texts: Mapping[str, str] = field(repr=False)
    checked: Mapping[str, Sequence[str]] = field(repr=False)

    def text_of(self, sample: Sample, name: str) -> str:
        """Return the text of a document: of the corpus, else the context in its place; or ""."""
        known = self.texts.get(name, "")
        ids, contexts = sample.context_ids or sample.retrieved_ids or (), sample.contexts or ()
        if known or len(ids) != len(contexts) or name not in ids:
            return known
        return contexts[ids.index(name)]


class Grade(NamedTuple):
    """What the judge says of a document, on people's scale; None: no reply could be read."""

    value: int | None
    reason: str = ""


@dataclass(frozen=True)
class Graded:
    """What the judge says of the documents of a sample: of holes, and of judged ones.

    ``no_text`` are holes that it could not be shown.
    """

    holes: Mapping[str, Grade] = field(default_factory=dict)
    checked: Mapping[str, Grade] = field(default_factory=dict)
    no_text: Sequence[str] = ()

    @classmethod
    def middle(cls, repeats: Sequence[Graded]) -> Graded:
        """Return for each document the middle one of its readable grades, the lower one of two."""
        first = repeats[0]
        holes = {name: _middle(one.holes[name] for one in repeats) for name in first.holes}
        checked = {name: _middle(one.checked[name] for one in repeats) for name in first.checked}
        return replace(first, holes=holes, checked=checked)

    @property
    def grades(self) -> dict[str, int]:
        """The grades of the holes that are filled."""
        return {name: one.value for name, one in self.holes.items() if one.value is not None}

    def details(self, sample: Sample) -> dict[str, Any]:
        """Return what results keep; ``checked``: name, people's grade, the judge's grade."""
        judged = sample.reference_ids or {}
        rows = [[name, judged[name], one.value] for name, one in self.checked.items()]
        return {
            "grades": {
                name: [one.value, one.reason]
                for name, one in self.holes.items()
                if one.value is not None
            },
            "unread": [name for name, one in self.holes.items() if one.value is None],
            "no_text": list(self.no_text),
            "checked": rows,
        }


def _middle(grades: Iterable[Grade]) -> Grade:
    known = sorted((one for one in grades if one.value is not None), key=lambda one: one.value or 0)
    return known[(len(known) - 1) // 2] if known else Grade(None)


class FilledMetric:
    """A measure of a ranking whose holes a judge has graded."""

    def __init__(self, name: str, measure: Metric, filling: Filling) -> None:
        self.name = name
        self.filling = filling
        self._measure = measure

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the score, with grades for it alone: a run grades once for all filled metrics.

        Raises ClientError.
        """
        return self.score_of(sample, await grade_documents(sample, self.filling, models))

    def score_of(self, sample: Sample, graded: Graded) -> Score:
        """Return the score with these grades, and whose judgements it counts."""
        if not sample.reference_ids:
            return self._measure.score(sample, ScoringContext())
        grades = graded.grades
        graded_sample = replace(sample, reference_ids={**sample.reference_ids, **grades})
        score = self._measure.score(graded_sample, ScoringContext())
        first = (sample.retrieved_ids or ())[: self._cutoff]
        by_judge = sum(name in grades for name in first)
        counts = {"judgements": len(first) - len(hole_ranks(graded_sample, self._cutoff))}
        return replace(score, details={**(score.details or {}), **counts, "by_judge": by_judge})

    @property
    def _cutoff(self) -> int | None:
        k: int | None = getattr(getattr(self._measure, "options", None), "k", None)
        return k


async def grade_documents(sample: Sample, filling: Filling, models: Models) -> Graded:
    """Return the grades of the holes and of the judged documents to check, each asked for once.

    A reply that cannot be read, also when asked again, leaves a hole. Raises ClientError for any
    other call that fails.
    """
    if not sample.reference_ids:  # without any judgement by people there is nothing to complete
        return Graded()
    retrieved = sample.retrieved_ids or ()
    holes = dict.fromkeys(retrieved[rank - 1] for rank in hole_ranks(sample, filling.k))
    known, checked = (
        {name: text for name in names if (text := filling.text_of(sample, name).strip())}
        for names in (holes, filling.checked.get(sample.id, ()))
    )
    grades = await _grade_each(sample, {**known, **checked}, filling, models)
    return Graded(
        {name: grades[name] for name in known},
        {name: grades[name] for name in checked},
        [name for name in holes if name not in known],
    )


async def _grade_each(
    sample: Sample, texts: Mapping[str, str], filling: Filling, models: Models
) -> dict[str, Grade]:
    """Return the grade of each text by its name; raises the first failure, in their order.

    All are asked before that.
    """
    purpose = replace(current_purpose(), metric=FILLED, version=VERSION)
    with asking(purpose) as tally:
        replies = await asyncio.gather(
            *(_grade(sample, text, filling, models) for text in texts.values()),
            return_exceptions=True,
        )
        await tally.settle()
    grades = {}
    for name, reply in zip(texts, replies, strict=True):
        if isinstance(reply, BaseException):
            raise reply
        grades[name] = reply
    return grades


async def _grade(sample: Sample, text: str, filling: Filling, models: Models) -> Grade:
    query = sample.question or ""
    prompt = grade_prompt(prompt_language(models.language, query), query, text)
    try:
        reply = await models.ask(prompt, read_grade, grade_schema())
    except InvalidOutputError:
        return Grade(None)
    reason = shorten(" ".join(read_reason(reply).split()), _REASON_WIDTH)
    return Grade(filling.grades[read_grade(reply)], reason)


def read_grade(reply: str) -> int:
    """Return the whole number from 0 to 3 that a reply states; raises UnreadableReplyError.

    Besides JSON, a line that holds only a grade is read, also UMBRELA's ``O: 2``.

    >>> read_grade('{"grade": 2, "reason": "in part"}'), read_grade("##final score: 3.0")
    (2, 3)
    """
    value = read_score(_without_aspects(reply), 0.0, float(BEST))
    if not value.is_integer():
        raise UnreadableReplyError(f"its grade {value:g} is none of 0, 1, 2, 3")
    return int(value)


_OVERALL: Final = re.compile(r"(?m)^(?:o|overall)\s*[:=]\s*(?=[-\d])")
_ASPECT: Final = re.compile(r"(?m)^[mt]\s*[:=].*$")
_OVERALL_KEY: Final = re.compile(r"(?i)([\"'])o\1(?=\s*:)")


def _without_aspects(reply: str) -> str:
    """Return a reply with UMBRELA's lines ``M: 3``, ``T: 2``, ``O: 2`` as the overall grade."""
    if find_objects(reply):
        return _OVERALL_KEY.sub(r"\1score\1", reply)
    return _ASPECT.sub("", _OVERALL.sub("score: ", to_lines(reply)))


def grade_prompt(language: Language, query: str, document: str) -> str:
    """Return the question how well a document answers a query."""
    texts = {"query": query, "document": document}
    mark = free_mark(texts.values(), texts)
    parts = {name: tagged(name + mark, text) for name, text in texts.items()}
    return filled(prompts_of(__package__)["grade"][language], parts)


@cache
def grade_schema() -> ReplySchema:
    """Return the JSON Schema of a reply."""
    from pytest_rageval.clients.base import ReplySchema

    grade = {"type": "integer", "minimum": 0, "maximum": BEST}
    return ReplySchema.of("relevance_grade", grade=grade, reason={"type": "string"})
