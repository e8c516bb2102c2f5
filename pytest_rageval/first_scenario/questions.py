"""What only the user can say of the data, with the options that say it; each was tried before."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pytest_rageval.datasets.proposer.answers import OF_TRACES
from pytest_rageval.datasets.proposer.columns import Column, Table
from pytest_rageval.datasets.proposer.draft import AS_SAID, Way
from pytest_rageval.datasets.proposer.names import holds_joined_ids, holds_joined_texts
from pytest_rageval.datasets.proposer.propose import Mapped, could_be
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.first_scenario.answer_columns import of_answers
from pytest_rageval.scenario.column_names import kinds_of, snake_case

_SHOWN: Final = 20
_OFFERED: Final = 4
_TRIED: Final = 8
_QUESTION_MARKS: Final = ("?", "？")
_SYSTEMS: Final = frozenset(
    {"model", "model_name", "system", "variant", "provider", "run", "version", "method", "模型"}
)
"""Columns that say whose answer a row has."""

_OF_JUDGEMENTS: Final = frozenset(
    {"qid", "query_id", "topic", "iter", "iteration", "docid", "doc_id", "docno", "corpus_id"}
    | {"passage_id", "pid", "rel", "relevance", "grade", "score", "label"}
)
_OF_MESSAGES: Final = frozenset({"message_id", "role", "content"})
_PLAIN: Final = re.compile(r"[\w./@-]*\w")
_GOLD_NAMES: Final = (
    "'reference' (the right answer), 'relevant_ids' (the documents to find) or "
    "'reference_contexts' (the passages to find)"
)
_IN_QUOTES: Final = '"$`\\!'
"""Characters that mean something else to a shell in double quotes."""

Works = Callable[[Way], bool]
"""Tells whether taking a way works: the data can be read, or the next question comes up."""


@dataclass(frozen=True)
class Choice:
    """One way to decide what is open: in the ``case`` described, ``propose`` is given ``keys``.

    ``line`` says so to the user of the command, with its option.
    """

    case: str
    keys: Mapping[str, Any]
    line: str


class UndecidedError(ScenarioError):
    """The data leave something open; the message has the options that decide it.

    ``said`` is the message without these, ``choices`` has them. ``table`` and ``mapped`` are what
    was found in the data, None where they could not be read.
    """

    said: str = ""
    choices: tuple[Choice, ...] = ()
    table: Table | None = None
    mapped: Mapped | None = None


def undecided(shown: str, what: str, *more: str, choices: Iterable[Choice] = ()) -> UndecidedError:
    """Return the error about the file ``shown``: ``what``, a sentence for each choice, ``more``."""
    offered = tuple(choices)
    sentences = [what, *(choice.line for choice in offered), *more]
    error = UndecidedError([Problem(shown, ". ".join(filter(None, sentences)))])
    error.said, error.choices = what, offered
    return error


def ask_if_open(
    table: Table, mapped: Mapped, shown: str, works: Works, *, can_be_variants: bool
) -> None:
    """Raise UndecidedError if a column is in doubt, or a header, questions or any measure missing.

    It offers the ways that work and, with ``can_be_variants``, the systems as variants. ``shown``
    is the name of the file.
    """
    listed = ", ".join(repr(column.name) for column in table.columns[:_SHOWN])
    columns = f"Columns: {listed}"
    if data_line := _without_header(table):
        raise undecided(shown, data_line)
    if mapped.doubt:
        ways = [*_choices(filter(works, mapped.ways))]
        ways += [*_of_variants(mapped)] if can_be_variants else []
        raise undecided(shown, mapped.doubt, columns, choices=ways)
    if "question" not in mapped.fields and not {"answer", "references"} <= mapped.fields.keys():
        other = _of_judgements(table, shown) or _of_messages(table)
        asked = [(why, way) for why, way in mapped.notes if way and way.field == "question"]
        ways = [_noted(why, way) for why, way in asked if works(way)]
        ways = [] if other else [*ways, *_offers(table, mapped, "question", "the question", works)]
        raise undecided(shown, other or "no column looks like questions", columns, choices=ways)
    has_both = {"answer", "contexts"} <= mapped.fields.keys()
    if not mapped.has_gold and not has_both and not _needs_no_gold(table, mapped):
        if "answer" in mapped.fields and mapped.fields["answer"].why == OF_TRACES:
            message = (
                "these traces have answers, but neither what a search found nor what is right: "
                "export the spans of the search, too"
            )
            raise undecided(shown, message, columns)
        what = "no gold: no column says what is right, so nothing can be measured"
        notes = (_noted(why, way) for why, way in mapped.notes if way and works(way))
        offers = [
            *_choices(filter(works, _answer_as_gold(mapped))),
            *notes,
            *_offers(table, mapped, "references", "the right answer", works),
            *_offers(table, mapped, "reference_ids", "the document to find", works),
            *_choices(filter(works, _checks(table, mapped))),
        ]
        raise undecided(
            shown,
            ". ".join([what, *joined_cells(table.columns)]),
            f"{'Or add' if offers else 'Add'} a column {_GOLD_NAMES}",
            f"Found: {_found(mapped)}",
            columns,
            choices=offers,
        )


def _needs_no_gold(table: Table, mapped: Mapped) -> bool:
    """Return whether answers can be measured without gold, by their refusals or citations."""
    is_answered = "answer" in mapped.fields
    return bool(of_answers(table, mapped, is_answered=is_answered).metrics)


def open_lines(table: Table, mapped: Mapped, works: Works, *, asks_answer: bool) -> Iterator[str]:
    """Yield what was left out or not decided, with the option that takes it where there is one."""
    for why, way in mapped.notes:
        if way is None or works(way):
            yield why if way is None else f"{why}: {option(way)}"
    yield from _remarks(table, mapped, works)
    if asks_answer:
        for choice in _offers(table, mapped, "answer", "what your system said", works):
            yield f"the data seem to have no answers. {choice.line}"
    yield from joined_cells(column for column in table.columns if column.name not in mapped.served)


def _remarks(table: Table, mapped: Mapped, works: Works) -> Iterator[str]:
    """Yield what the user may mean differently in the fields that were found."""
    if name := _of_several_systems(table, mapped):
        values = ", ".join(table[name].examples)
        yield (
            f"each question is there for several values of {name!r} ({values}): a mean is of all; "
            f"judge each by gates: {{by: {{{name}: ...}}}}, or one by --rag-where {name}=VALUE"
        )
    if mapped.split:
        yield (
            f"{mapped.split!r} in {mapped.fields['references'].column!r} may divide several right "
            f"answers; if so, add \"--rag-set=dataset.split.references='{mapped.split}'\""
        )
    gold = mapped.fields.get("references")
    if gold is not None and table[gold.column].has_lists_in_lists:
        flat = Way("", "references", f"{gold.column}[*][*]")
        if works(flat):
            yield (
                f"{gold.column!r} holds lists of lists: an answer needs a text of each; if all are "
                f"alternatives, add {option(flat)}"
            )


def _of_several_systems(table: Table, mapped: Mapped) -> str:
    """Return the column that names systems; "" without, or below two rows a question on average."""
    asked = mapped.fields.get("question")
    if asked is None or len(table[asked.column].distinct) * 2 > table.rows:
        return ""
    names = (one.name for one in table.columns if one.name not in mapped.served and one.repeats)
    return next((name for name in names if snake_case(name) in _SYSTEMS), "")


def _choices(ways: Iterable[Way]) -> Iterator[Choice]:
    for way in ways:
        yield Choice(way.case, _keys(way), f"If {way.case}, add {option(way)}")


def _noted(why: str, way: Way) -> Choice:
    return Choice(why, _keys(way), f"{why}: {option(way)}")


def _keys(way: Way) -> dict[str, Any]:
    return {"key_map": {way.field: way.column}}


def _offers(table: Table, mapped: Mapped, field: str, what: str, works: Works) -> Iterator[Choice]:
    """Yield up to _OFFERED choices: of the likeliest columns for a field, those that work."""
    served = mapped.served | {way.column for _, way in mapped.notes if way is not None}
    other = {"keyword", "negative"} if field == "references" else set()
    free = (  # a column that is served as the document's name may be the document to find
        column
        for column in could_be(table, field)
        if (column not in served or field == "reference_ids") and not kinds_of(column) & other
    )
    ways = (Way(f"{column!r} is {what}", field, column) for column in islice(free, _TRIED))
    yield from _choices(islice(filter(works, ways), _OFFERED))


def _checks(table: Table, mapped: Mapped) -> Iterator[Way]:
    """Yield the columns whose words an answer may have to hold, or may not hold."""
    for column in table.columns:
        kinds = kinds_of(column.name)
        if column.name in mapped.served or not kinds & {"keyword", "negative"} or column.is_number:
            continue
        field = "must_not_include" if "negative" in kinds else "must_include"
        what = "none" if "negative" in kinds else "each"
        yield Way(
            f"an answer has to hold {what} of the texts in {column.name!r}", field, column.name
        )


def _answer_as_gold(mapped: Mapped) -> Iterator[Way]:
    """Yield the way to take what is named like an answer as the gold."""
    found = mapped.fields.get("answer")
    if found is not None and found.why not in (AS_SAID, OF_TRACES):
        case = f"{found.column!r} is the right answer, and no system said it"
        yield Way(case, "references", found.column)


def _of_variants(mapped: Mapped) -> Iterator[Choice]:
    """Yield the choice that takes answers of several systems as variants, if it can be typed."""
    if len(mapped.systems) < 2:
        return
    if any(set(name) & {*_IN_QUOTES, ","} for name in mapped.systems):
        return
    names = ",".join(mapped.systems)
    is_plain = all(_PLAIN.fullmatch(name) for name in mapped.systems)
    line = f"--rag-set=variants={names}" if is_plain else f'"--rag-set=variants={names}"'
    case = "To compare the systems side by side, as variants"
    yield Choice(case, {"variants": [*mapped.systems]}, f"{case}, add {line}")


def _without_header(table: Table) -> str:
    """Return what to do if the first row of a table is no header, "" if it may be one.

    A question as a name may have answers below it, as in a survey; above questions it is data.
    """
    for column in table.columns:
        asked = sum(text.rstrip().endswith(_QUESTION_MARKS) for text in column.texts)
        if column.name.endswith(_QUESTION_MARKS) and asked * 2 > len(column.texts):
            return (
                f"the first line looks like data: {shorten(column.name, 60)!r}. Put a line above "
                "it that names the columns, for instance question,answer"
            )
    return ""


def _of_judgements(table: Table, shown: str) -> str:
    """Return what to do with judgements of documents (qrels), with a header or without; "" if none.

    Without one, the first judgement is taken for the header: ``q1 0 d1 2``.
    """
    names = [snake_case(column.name) for column in table.columns]
    has_header = set(names) <= _OF_JUDGEMENTS
    if len(names) not in (3, 4) or not (has_header or names[-1].isdigit()):
        return ""
    return (
        "these look like judgements of documents, which judge what a search found. "
        f"Write, in a scenario, dataset: {{qrels_path: {shown}, run_path: YOUR_RUN}} "
        "and metrics: [nDCG@10]"
    )


def _of_messages(table: Table) -> str:
    """Return what to do with the messages of conversations, one a row; "" for other tables."""
    names = {column.name for column in table.columns}
    if not names >= _OF_MESSAGES:
        return ""
    is_of_inspect = names >= {"sample_id", "eval_id"}
    return "each row is a message of a conversation; a row needs a question and its answer" + (
        ". Read the log of inspect_ai: inspect log dump FILE > log.json" if is_of_inspect else ""
    )


def joined_cells(columns: Iterable[Column]) -> Iterator[str]:
    """Yield what to do about columns whose cells may hold several items, which nobody divides."""
    for column in columns:
        if holds_joined_ids(column):
            yield (
                f"{column.name!r} seems to hold several ids in a cell: divide them by ';', "
                'or write a list, ["a", "b"]'
            )
        elif holds_joined_texts(column):
            yield (
                f"{column.name!r} is not read, as a cell may be one text or several: write "
                'lists, ["first", "second"], and one text as ["first, second"]'
            )


def option(way: Way) -> str:
    """Return the option that gives a column to a field, as a shell takes it."""
    if _PLAIN.fullmatch(way.column):
        return f"--rag-set=dataset.key_map.{way.field}={way.column}"
    return quoted_option(f"key_map.{way.field}", way.column)


def quoted_option(key: str, value: str) -> str:
    """Return the option that sets a key of ``dataset``, in the quotes that a shell takes."""
    if set(value) & set(_IN_QUOTES):
        return shlex.quote(f"--rag-set=dataset.{key}={json.dumps(value, ensure_ascii=False)}")
    named = value.replace("'", "''")
    return f"\"--rag-set=dataset.{key}='{named}'\""


def _found(mapped: Mapped) -> str:
    found = (f"{name} ({found.column!r})" for name, found in mapped.fields.items())
    return ", ".join(found) or "nothing"
