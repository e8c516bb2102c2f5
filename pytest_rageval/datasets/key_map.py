"""Makes a Sample of a row: finds the column of each field and reads its value."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.cells import (
    BadValueError,
    contexts_and_docs,
    is_filled,
    is_missing,
    is_nan_text,
    list_in_text,
    parse_contexts,
    plain_text,
    read_mark,
    value_in_cell,
    value_in_text,
)
from pytest_rageval.datasets.id_cells import by_rank, raw_ids, reference_ids
from pytest_rageval.datasets.references import read_references, with_aliases
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOTHING, Case, InvalidRow, Sample, json_plain
from pytest_rageval.scenario.data_specs import ALIASES
from pytest_rageval.scenario.fields import CHECK_FIELDS, FIELD_ALIASES, FIELD_OF, OF_ANSWERS
from pytest_rageval.text.json_value import EVERY, LostPathError, head_of, json_text, path_in

_OTHER_TURN = re.compile(r"^(?:system|assistant|tool):$|(?<=\n)user:$", re.MULTILINE)
_SPELT_LIST = re.compile(r"""\s*\[\s*['"]""")
_CONTEXTS = ("contexts", "reference_contexts")
_TEXTS = frozenset({"must_include", "must_not_include"})
_LISTS = frozenset(
    {*_CONTEXTS, "references", ALIASES, "retrieved_ids", "reference_ids"}
    | {*_TEXTS, "must_match", "answer_checks", "must_satisfy"}
)
"""The fields with lists, which a table can only spell as text."""
_LISTS_OF_TEXTS = frozenset({*_TEXTS, "must_satisfy"})
"""The fields whose text may spell a list in a row of JSON, too: no answer would hold that text."""
_DEEPEVAL = frozenset({"actual_output", "expected_output"})
_DEEPEVAL_LISTS = frozenset({"context", "retrieval_context"})
"""In a table that deepeval saved, with ``input`` and one of the above, ``|`` separates contexts."""
_INSPECT = frozenset({"sample_id", "eval_id", "epoch", "input"})
"""Columns of inspect_ai's data frame of samples, where the question is a turn of the user."""
_OF_INVALID_ROWS = frozenset({"question", "doc_name", "tags", "skip", "xfail"})
"""The fields that invalid rows also have."""


class KeyMap:
    """Reads rows as samples; ``columns`` collects the columns of all rows.

    ``fallbacks`` names a second column for some fields, from which a row without a value takes it;
    "" is a value. That column then belongs to no other field of the row. ``likely`` are columns of
    fields that ``key_map`` does not name; like the ``kept`` ones, they are also metadata by their
    own names. ``split`` are the marks that divide texts, by field; ``of_answers`` are the fields
    that are read only where a scenario asks for that.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (each is a part of how rows are read)
        self,
        key_map: Mapping[str, str],
        blank_answer: Literal["missing", "empty"] = "missing",
        fallbacks: Mapping[str, str] = NOTHING,
        likely: Mapping[str, str] = NOTHING,
        kept: frozenset[str] = frozenset(),
        split: Mapping[str, str] = NOTHING,
        of_answers: frozenset[str] = frozenset(),
    ) -> None:
        self._split = split
        self._of_answers = of_answers | (key_map.keys() & OF_ANSWERS.keys())
        self._kept_columns = kept | frozenset(likely.values())
        self._key_map = {**likely, **key_map}
        self._likely = frozenset(likely.values())
        self._fallbacks = {
            name: column for name, column in fallbacks.items() if name not in key_map
        }
        self._own = {
            column: FIELD_OF[column]
            for column in self._fallbacks.values()
            if FIELD_OF.get(column, "") in FIELD_ALIASES and FIELD_OF[column] not in key_map
        }
        """The field that the name of a fallback column means by itself."""
        self._blank_is_empty = blank_answer == "empty"
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self.columns: dict[str, None] = {}
        self.lost: dict[str, str] = {
            column: "" for column in key_map.values() if path_in(column) is not None
        }
        """The paths of the ``key_map`` that led nowhere in all rows, and what was found instead."""
        self.clashes: Counter[tuple[str, str, str]] = Counter()
        """How many rows have different values in two columns of a field: field, used, unused."""
        self.turns_in_doubt: Counter[str] = Counter()  # how many rows leave each doubt, in words
        self._metadata_columns: dict[str, None] = {}
        self._emptied: set[str] = set()
        self._kept: set[str] = set()

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        """The columns that are metadata, except objects whose parts all became fields."""
        emptied = self._emptied - self._kept
        return tuple(column for column in self._metadata_columns if column not in emptied)

    def case(self, row: Row | BrokenRow, index: int) -> Case:
        """Return the sample in ``row``, or an invalid row with the reason."""
        sample_id = f"sample-{row.number}"
        if isinstance(row, BrokenRow):
            return InvalidRow(sample_id, index, row.number, row.line, row.reason, row.raw)
        layout = self._layout(tuple(row.fields))
        values, flaw = self._values(layout, row.fields)
        self._fall_back(values, row.fields)
        if self._blank_is_empty and row.tabular and layout.has_answer_column:
            values.setdefault("answer", "")
        metadata = _metadata(layout, row.fields)
        if layout.parts and not flaw:
            self._kept.update(layout.parts.keys() & metadata.keys())
        try:
            if "id" in values:
                sample_id = plain_text("id", values.pop("id")).strip() or sample_id
            if layout.has_inspect_turns and isinstance(values.get("question"), str):
                values["question"] = _without_role(values["question"])
            if flaw:
                raise BadValueError(flaw)
            layout.read_cells(values, self._split, tabular=row.tabular)
            values = self._with_answers(values, layout, row)
            keeps_places = "citations" in self._of_answers
            return _sample(sample_id, index, row, values, metadata, keeps_places=keeps_places)
        except BadValueError as error:
            return _invalid(sample_id, index, row, values, metadata, str(error))

    def _with_answers(self, values: dict[str, Any], layout: _Layout, row: Row) -> dict[str, Any]:
        if not (names := self._of_answers):
            return values
        # Not at the top: most scenarios do not say how answers cite, refuse or follow.
        from pytest_rageval.datasets.answer_fields import read_answer_fields

        columns = layout.columns_of(names, row.fields)
        return read_answer_fields(values, names, columns, self.turns_in_doubt)

    def _values(self, layout: _Layout, fields: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the values of the fields that are neither absent, null nor NaN; and a flaw or "".

        Of several columns the first that is filled counts; ``clashes`` counts rows where another
        one has a different value. A path that finds a value is removed from ``lost``; for others,
        ``lost`` says what was found instead. It is a flaw if an item of a list lacks a path, or a
        cell is nested too deep.
        """
        values, flaw = dict[str, Any](), ""
        for name, column in layout.plain:
            if not is_missing(value := fields[column]):
                values[name] = value
        if self.lost:
            for _, column in layout.plain:
                self.lost.pop(column, None)
        for name, columns in layout.sources:
            try:
                read = [(column, self._value(layout, fields, name, column)) for column in columns]
            except BadValueError as error:
                flaw = flaw or str(error)
                continue
            known = [(column, value) for column, value in read if not is_missing(value)]
            filled = [(column, value) for column, value in known if is_filled(value)]
            if known:
                values[name] = (filled or known)[0][1]
            self.clashes.update(
                (name, filled[0][0], column)
                for column, value in filled[1:]
                if str(value) != str(values[name])
            )
        return values, flaw

    def _value(self, layout: _Layout, fields: Mapping[str, Any], name: str, column: str) -> Any:
        if column in fields:
            self.lost.pop(column, None)
            return fields[column]
        path = layout.paths.get(column)
        if path is None:
            return None
        cell = fields.get(root := path.root or "")
        if isinstance(cell, str) and (spelled := value_in_text(cell, root)) is not None:
            fields = {**fields, root: spelled}  # JSON in a cell, or in a text of JSON
        try:
            value = path.pick(fields)
        except LostPathError as error:
            if error.in_list:
                raise BadValueError(f"{name}: {error} (key_map)") from None
            if column in self.lost:
                self.lost[column] = str(error)
            return None
        self.lost.pop(column, None)
        return value

    def _fall_back(self, values: dict[str, Any], fields: Mapping[str, Any]) -> None:
        """Fill fields without a value from their fallback columns."""
        for name, column in self._fallbacks.items():
            value, own = fields.get(column), self._own.get(column, "")
            if name in values or is_missing(value):
                continue
            if values.get(own) is value:
                del values[own]
            values[name] = value

    def _layout(self, columns: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(columns)
        if layout is None:
            layout = self._layouts[columns] = _Layout(
                columns,
                self._key_map,
                self._fallbacks,
                self._likely,
                self._kept_columns,
                self._of_answers,
            )
            self.columns.update(dict.fromkeys(columns))
            self._metadata_columns.update(dict.fromkeys(layout.metadata))
            self._emptied.update(layout.parts)
        return layout


class _Layout:
    """Which column holds which field, for rows with these columns; the rest is metadata."""

    def __init__(
        self,
        columns: tuple[str, ...],
        key_map: Mapping[str, str],
        fallbacks: Mapping[str, str],
        likely: frozenset[str],
        kept: frozenset[str],
        of_answers: frozenset[str] = frozenset(),
    ) -> None:
        present = set(columns)
        found: dict[str, list[str]] = {}
        taken = {head_of(column) for column in key_map.values()} | set(key_map.values())
        optional = {name: OF_ANSWERS[name] for name in OF_ANSWERS if name in of_answers}
        for name, aliases in (FIELD_ALIASES | optional).items():
            if name in key_map:
                found[name] = [key_map[name]]
            else:
                free = [alias for alias in aliases if alias in present and alias not in taken]
                if free:
                    found[name] = free
        if ALIASES in key_map:
            found[ALIASES] = [key_map[ALIASES]]
        self._found = found
        self.has_answer_column = not present.isdisjoint(found.get("answer", ()))
        self._lists = tuple(name for name in found if name in _LISTS)
        self._separated = frozenset(
            name
            for name in _CONTEXTS
            if "input" in present
            and not _DEEPEVAL.isdisjoint(present)
            and not _DEEPEVAL_LISTS.isdisjoint(found.get(name, ()))
        )
        self.has_inspect_turns = present >= _INSPECT and found.get("question") == ["input"]
        used = {column for candidates in found.values() for column in candidates}
        used |= present & set(fallbacks.values())
        self.metadata = tuple(column for column in columns if column not in used or column in kept)
        self.paths = {column: path_in(column) for column in used - present - likely}
        self.parts: dict[str, list[tuple[str | int, ...]]] = {}
        """By metadata column, the paths in it that became fields: for ``meta.source``, source."""
        for path in self.paths.values():
            if path is not None and path.root in self.metadata:
                self.parts.setdefault(path.root, []).append(path.steps[1:])
        self.plain = [
            (name, candidates[0])
            for name, candidates in found.items()
            if len(candidates) == 1 and candidates[0] in present
        ]
        """Fields with one column, which is present: nearly all fields."""
        plain = {name for name, _ in self.plain}
        self.sources = [(name, many) for name, many in found.items() if name not in plain]

    def columns_of(self, names: frozenset[str], fields: Mapping[str, Any]) -> Mapping[str, str]:
        """Return, by field, the first of its columns that a row fills, else its first column."""
        return {
            name: next((c for c in self._found[name] if is_filled(fields.get(c))), column)
            for name in names
            if name in self._found
            for column in self._found[name][:1]
        }

    def read_cells(
        self, values: dict[str, Any], split: Mapping[str, str], *, tabular: bool
    ) -> None:
        """Replace cells that spell a list by that list, in fields that hold lists.

        In rows that are no table, only ``_LISTS_OF_TEXTS`` are read so. In any row, a mark of
        ``split`` divides texts, and ``|`` contexts that deepeval joins. Raises as ``read_cell``.
        """
        for name in self._lists:
            value = values.get(name)
            if isinstance(value, str):
                values[name] = read_cell(name, value, split.get(name, ""), tabular=tabular)
                if name in self._separated and values[name] is value:
                    values[name] = value.split("|")


def read_cell(name: str, text: str, mark: str = "", *, tabular: bool) -> Any:
    """Return the list that the text of a field with lists spells; else the text.

    A text that spells no list is divided at the ``mark``, if there is one. Raises BadValueError for
    a list that cannot be read, and for a table's cell that may be one or several texts.
    """
    if tabular or (name in _LISTS_OF_TEXTS and _SPELT_LIST.match(text)):
        spelled = value_in_cell(name, text)
        if spelled is not None:
            return spelled
    if mark:
        return [part.strip() for part in text.split(mark) if part.strip()]
    if tabular and name in _TEXTS:
        # Not at the top: the rows of most data sets have no checks of their own.
        from pytest_rageval.text.row_checks import separator_in

        if found := separator_in(name, text):
            raise BadValueError(
                f"{name}: one text with {found!r}, or several? {shorten(repr(text))}; "
                'write texts as JSON, ["first", "second"], and one text as ["first, second"]'
            )
    return text


def _without_role(text: str) -> str:
    """Return a text without the line ``user:`` that begins it; one with further turns as it is."""
    is_single = text.startswith("user:\n") and not _OTHER_TURN.search(text)
    return text.removeprefix("user:\n").strip("\n") if is_single else text


def _sample(
    sample_id: str,
    index: int,
    row: Row,
    values: dict[str, Any],
    metadata: Mapping[str, Any],
    *,
    keeps_places: bool,
) -> Sample:
    if row.flaw:
        raise BadValueError(row.flaw)
    found: dict[str, Any] = {}
    aliases = values.pop(ALIASES, None)
    for name, value in values.items():
        if name in _CONTEXTS and is_nan_text(value):
            continue
        if name == "contexts":
            texts, docs = contexts_and_docs(value, keeps_places=keeps_places)
            found["contexts"], found["context_docs"] = texts, docs
        elif name == "references":
            found["references"], found["reference_groups"] = read_references(value)
        elif name in _READ:
            found[name] = _READ[name](name, value)
        else:
            found[name] = value  # read already
    contexts = found.get("contexts") if keeps_places else None
    found |= by_rank(found.get("retrieved_ids"), contexts, found.get("context_docs"))
    if aliases is not None:
        found["references"] = with_aliases(
            found.get("references"), found.get("reference_groups"), aliases
        )
    return Sample(sample_id, index, row.number, metadata=metadata, **found)


def _invalid(
    row_id: str,
    index: int,
    row: Row,
    values: Mapping[str, Any],
    metadata: Mapping[str, Any],
    reason: str,
) -> InvalidRow:
    """Return an invalid row with its question, document, tags and marks, if any."""
    found: dict[str, Any] = {}
    for name in _OF_INVALID_ROWS & values.keys():
        with suppress(BadValueError):
            found[name] = _READ[name](name, values[name])
    raw = json_text(dict(row.fields))
    return InvalidRow(row_id, index, row.number, row.line, reason, raw, metadata=metadata, **found)


def _metadata(layout: _Layout, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not layout.metadata:
        return NOTHING
    plain = {column: json_plain(fields[column]) for column in layout.metadata}
    for column, parts in layout.parts.items():
        plain[column] = _rest(plain[column], parts)
    return {column: value for column, value in plain.items() if value is not None} or NOTHING


def _rest(value: Any, parts: Sequence[tuple[str | int, ...]]) -> Any:
    """Return an object without the values at the paths ``parts``; None if nothing is left.

    A list is kept whole unless each path leads into all of its items.
    """
    if () in parts:
        return None
    if isinstance(value, list) and all(part[0] == EVERY for part in parts):
        items = [_rest(item, [part[1:] for part in parts]) for item in value]
        return items if any(item is not None for item in items) else None
    if not isinstance(value, Mapping):
        return value
    rest = {}
    for key, inner in value.items():
        inside = [part[1:] for part in parts if part[:1] == (key,)]
        kept = _rest(inner, inside) if inside else inner
        if kept is not None or not inside:
            rest[key] = kept
    return rest or None


def _tags(_name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        spelled = list_in_text(value)
        value = value.replace(";", ",").split(",") if spelled is None else spelled
    parts = value if isinstance(value, list | tuple) else [value]
    texts = (plain_text("a tag", part).strip() for part in parts if not is_missing(part))
    return tuple(dict.fromkeys(text for text in texts if text))


def _check(name: str, value: Any) -> Any:
    """Return a check of a row: what is wrong with it is a bad value of the row."""
    # Not at the top: the rows of most data sets have no checks of their own.
    from pytest_rageval.text.row_checks import CHECK_READERS

    try:
        return CHECK_READERS[name](name, value)
    except ValueError as error:
        raise BadValueError(str(error)) from None


_READ: Mapping[str, Callable[[str, Any], Any]] = {
    "question": plain_text,
    "answer": plain_text,
    "reference_contexts": lambda _name, value: parse_contexts(value),
    "retrieved_ids": lambda _name, value: raw_ids(value),
    "reference_ids": lambda _name, value: reference_ids(value),
    "doc_name": lambda name, value: unicodedata.normalize("NFC", plain_text(name, value)).strip(),
    **dict.fromkeys(CHECK_FIELDS, _check),
    "tags": _tags,
    "skip": read_mark,
    "xfail": read_mark,
}
