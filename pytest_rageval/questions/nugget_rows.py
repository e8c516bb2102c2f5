"""Lists of nuggets in rows: in those of made questions, or in a file of their own beside the data.

That file has one line for each row of the data, joined by its id, and is only added to: a list that
is there stays, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.datasets.answer_fields import NUGGETS_MADE_OF, nuggets_digest
from pytest_rageval.datasets.reviews import passages_of
from pytest_rageval.errors import Problem, UserError
from pytest_rageval.first_scenario.scenario_text import SECOND_FILE, file_stem
from pytest_rageval.model import BY_MODEL, MADE_BY, Case, Sample, is_by_model
from pytest_rageval.questions.base import MadeQuestion, Passage, Slot
from pytest_rageval.questions.make import Outcome
from pytest_rageval.questions.nuggets import Answered, NuggetList
from pytest_rageval.questions.prompts import claimed
from pytest_rageval.questions.rows import NUGGETS, QuestionSet, Row, line_of, rows_in, text_of
from pytest_rageval.questions.scenario_text import judge_line
from pytest_rageval.scenario.yaml.tree import inline_text
from pytest_rageval.stats.wording import counted

# Not MADE_BY: in the joined row that would say that a model made the question.
_LIST_BY: Final = f"{NUGGETS}_{MADE_BY}"
"""The column that says who made a list."""


def answered_in(outcomes: Sequence[Outcome], found: QuestionSet) -> list[Answered]:
    """Return the questions that count and that the documents answer."""
    counting = {row["id"] for row in found.rows}
    return [
        Answered(outcome.slot, outcome.made.question, [outcome.made.answer])
        for outcome in outcomes
        if outcome.made is not None
        and outcome.slot.type != "unanswerable"
        and outcome.slot.id in counting
    ]


def with_nuggets(row: Row, lists: Mapping[str, NuggetList]) -> Row:
    """Return the row of a made question with its list, if there is one."""
    found = lists.get(str(row["id"]))
    if found is None or not found.nuggets:
        return row
    made_of = nuggets_digest(row["question"], row["references"])
    return {**row, NUGGETS: found.column, NUGGETS_MADE_OF: made_of}


def lines_of(lists: Collection[NuggetList], what: str) -> Iterator[str]:
    """Yield how many lists there are, what was dropped, and for how many there is none."""
    having = [made for made in lists if made.nuggets]
    total = sum(len(made.nuggets) for made in having)
    yield f"{counted(len(having), 'list')} of nuggets, with {counted(total, 'nugget')}"
    if dropped := sum(made.unsupported for made in lists):
        yield f"  {counted(dropped, 'nugget')} dropped: not supported in full"
    if dropped := sum(made.repeated for made in lists):
        yield f"  {counted(dropped, 'nugget')} dropped: another one says the same"
    if bare := len(lists) - len(having):
        yield (
            f"  {counted(bare, what)} without nuggets: no reply could be used, or no vital nugget "
            "is left"
        )


def nuggets_beside(data: Path) -> Path:
    """Return the file with the lists for the rows of a data file."""
    return data.with_name(f"{file_stem(data.name)}-{NUGGETS}.jsonl")


@dataclass(frozen=True)
class NuggetFile:
    """The lists for the rows of a data set: ``known`` are the lines that the file has.

    ``rejected`` are the ids of rows that people rejected, which are still joined.
    """

    cases: Sequence[Case]
    known: Sequence[Row] = ()
    rejected: Sequence[str] = ()

    @classmethod
    def of(cls, cases: Sequence[Case], path: Path, rejected: Sequence[str] = ()) -> NuggetFile:
        """Return the lists beside a data set; raises UserError for a broken file."""
        known = rows_in(text_of(path), path.name)
        for number, row in enumerate(known, 1):
            if "id" not in row:
                raise UserError([Problem(f"{path.name}, row {number}", "no 'id' of a data row")])
        return cls(cases, known, rejected)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """The rows that can be used."""
        return [case for case in self.cases if isinstance(case, Sample)]

    @cached_property
    def open(self) -> Sequence[Sample]:
        """The rows that have no list, but a question and references to make one of."""
        having = {str(row["id"]) for row in self.known if row.get(NUGGETS)}
        return [sample for sample in self._askable if sample.id not in having]

    @cached_property
    def _askable(self) -> Sequence[Sample]:
        return [
            sample
            for sample in self.samples
            if sample.nuggets is None
            and sample.answerable is not False
            and sample.question
            and any(text.strip() for text in sample.references or ())
        ]

    @property
    def bare(self) -> int:
        """How many rows have no nuggets of their own, and cannot be given a list."""
        own = sum(sample.nuggets is not None for sample in self.samples)
        return len(self.samples) - own - len(self._askable)

    @property
    def changed(self) -> list[str]:
        """The ids of rows whose question or references changed since their list was made."""
        now = {sample.id: _digest(sample) for sample in self.samples}
        return [
            name
            for row in self.known
            if row.get(NUGGETS_MADE_OF) is not None
            and (name := str(row["id"])) in now
            and row[NUGGETS_MADE_OF] != now[name]
        ]

    @property
    def gone(self) -> list[str]:
        """The ids in the file that no row of the data has."""
        ids = {*self.rejected, *(case.id for case in self.cases)}
        return [name for row in self.known if (name := str(row["id"])) not in ids]

    def text(self, lists: Mapping[str, NuggetList]) -> Iterator[str]:
        """Yield the file: what it has, with new lists by id, then the rows that it lacks.

        An invalid row with an id has a line, too: a missing one would seem to be what is wrong.
        """
        new: dict[str, Row] = {}
        for case in self.cases:
            if isinstance(case, Sample):
                new[case.id] = _row(case, lists.get(case.id))
            elif case.id != f"sample-{case.row}":
                new.setdefault(case.id, {"id": case.id})
        new |= {name: {"id": name} for name in self.rejected}
        for row in self.known:
            made = new.pop(str(row["id"]), {})
            yield line_of({**row, **made, "id": row["id"]})
        yield from map(line_of, new.values())


def answered_of(sample: Sample) -> Answered:
    """Return the question of a row with its references, and what a nugget may rest on.

    A nugget may rest on the passages or expected contexts, and on references, each in a sentence
    that calls it the answer; on those that a model wrote only where there are no such texts.
    """
    question, references = sample.question or "", sample.references or ()
    texts = [*(passages_of(sample) or sample.reference_contexts or ())]
    if not texts or not is_by_model(sample.metadata):
        texts[:0] = [claimed(MadeQuestion(question, text)) for text in references]
    passages = [Passage(sample.id, "", text, number) for number, text in enumerate(texts, 1)]
    return Answered(Slot("single", passages), question, references)


def _digest(sample: Sample) -> str:
    return nuggets_digest(sample.question, sample.references)


def _row(sample: Sample, found: NuggetList | None) -> dict[str, Any]:
    row: dict[str, Any] = {"id": sample.id}
    if found is not None and found.nuggets:
        row |= {NUGGETS: found.column, _LIST_BY: BY_MODEL, NUGGETS_MADE_OF: _digest(sample)}
    return row


_JOINED: Final = """
# What an answer to each row has to say, listed by a model from its references: read the lists.
# Then add to the metrics:  nugget_recall, the share of a row's nuggets that an answer says.
# {judge}
answers: {answers}
"""


def joined_scenario(text: str, lists: str, judge: ClientSettings) -> str:
    """Return the text of a scenario with the file of lists joined to its rows."""
    # Only one file can be joined: the line that offers another one would mislead.
    kept = [line for line in text.splitlines(True) if not line.startswith(SECOND_FILE)]
    answers = inline_text({"path": lists, "key": "id"})
    return "".join(kept) + _JOINED.replace("{judge}", judge_line(judge)).replace(
        "{answers}", answers
    )
