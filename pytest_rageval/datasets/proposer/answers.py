"""Tells the right answers from what systems said, or leaves it to the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.datasets.proposer.columns import Column
from pytest_rageval.datasets.proposer.draft import (
    AS_SAID,
    DOCUMENTS,
    NUGGETS,
    Draft,
    FoundColumn,
    Way,
)
from pytest_rageval.datasets.proposer.names import (
    CHECK_FIELDS,
    Surely,
    are_labels,
)
from pytest_rageval.scenario.column_names import (
    is_bare_answer,
    kinds_of,
    read_field,
    snake_case,
    words_of,
)
from pytest_rageval.text.tokenize import split_characters

OF_TRACES: Final = "what the trace answered"
_ANSWERED: Final = ("contexts", "retrieved_ids")
_PASSAGE: Final = 300
"""Characters: a longer text may be the passage that holds the answer, and not the answer."""

_FEW: Final = 5
_GOLD_FILES: Final = (
    *("gold", "golden", "ground_truth", "groundtruth"),
    *("标准答案", "标准问答", "标准集"),
)
_FILES_OF_RUNS: Final = frozenset(
    {"result", "results", "output", "outputs", "prediction", "predictions", "preds", "baseline"}
    | {"run", "response", "responses", "answers", "gpt", "llama", "claude", "model", "guess"}
    | {"结果", "输出", "预测", "回答"}
)
_SHORT: Final = 8
"""The most words of a typical answer that is the gold if it stands alone."""

_REPLIES: Final = ("response", "reply", "回复", "答复")
_OUTPUTS: Final = (
    *("output", "outputs", "completion", "prediction", "pred", "predicted", "输出", "响应", "预测"),
)
"""Names of what only a system gives."""

_NO_GOLD: Final = frozenset(
    {"about", "context", "document", "id", "negative", "question", "score"},
)
"""With one of these, a name with a word for gold is of something else: ``gold_document``."""


@dataclass
class Answers(Draft):
    """What may be an answer or the gold."""

    def take_answered(self) -> None:
        """Take the column ``answer`` as what a system said."""
        bare = [name for name in self._of("answer?") if name == "answer"]
        if bare and "answer" not in self.fields:
            self.fields["answer"] = FoundColumn(bare[0], OF_TRACES)

    def take_answer(self) -> None:
        """Take what the system said, unless several columns may be that."""
        if "answer" in self.fields:
            return
        systems = self._systems()
        if not systems:
            return
        different = [
            name for name in systems[1:] if self.table[name].cells != self.table[systems[0]].cells
        ]
        if different:
            self.systems = (systems[0], *different)
            self._ask("answer", self.systems)
        else:
            self.fields["answer"] = FoundColumn(systems[0], self._spoken[systems[0]].surely.why)

    def _systems(self) -> list[str]:
        """Return the columns that may each be what a system said, the best first.

        [] where a blank beside a bare ``answer`` is to be asked about.
        """
        named = sorted(self._of("answer"), key=lambda column: self._rank("answer", column))
        bare = [name for name in self._of("answer?") if snake_case(name) == "answer"]
        if bare and self._blank_of(bare[0]) is not None:
            return []
        if "references" in self.fields and not self._may_be_passage():
            return self._systems_beside_gold(named, bare)
        documented = [name for name in named if self._spoken[name].surely == Surely.DOCUMENTED]
        if bare and documented and "references" not in self.fields:
            return [*documented, *bare]  # ``response`` and ``answer``: of one system, or of two
        return self._with_others(named) or named

    def _systems_beside_gold(self, named: list[str], bare: list[str]) -> list[str]:
        """Return what may be a system's answer where the gold has a column.

        A column ``answer`` is one then, and comes first.
        """
        sure = [name for name in named if self._spoken[name].surely < Surely.WORDS]
        if bare:
            return [*bare, *sure, *self._of_other_tools()]
        likely = [name for name in self._of("answer?") if not self.table[name].is_list]
        twins = [name for name in likely if self._spoken[name].surely == Surely.WORDS]
        is_free = not (named or self._of_other_tools())
        return self._with_others(named) or (twins if is_free else named)

    def _with_others(self, named: list[str]) -> list[str]:
        """Return what is surely a system's, then ``_of_other_tools``; [] unless there are both."""
        sure = [name for name in named if self._spoken[name].surely < Surely.WORDS]
        others = self._of_other_tools()
        return [*sure, *others] if sure and others else []

    def _of_other_tools(self) -> list[str]:
        """Return the columns named as other tools name an answer, which do not say whose it is."""
        return [
            name
            for name in self._of("answer?")
            if snake_case(name) != "answer" and (read_field(name) or "")[:1] == ("answer",)
        ]

    def settle_bare_answer(self, file_stem: str) -> None:
        """Decide whether a column that is only called ``answer`` is the gold or the answer.

        With gold beside it, it is what a system said. Without, it is the gold if it is alone and
        short, if another column is certainly the system's, or if it ``_is_list_of_gold``. With
        contexts, scores or costs and no gold, else only the name of the file can tell. ``Bot
        answer`` and ``reply`` are what a system said.
        """
        fits = self._of("answer?")
        if not fits or self.doubt:
            return
        column = min(fits, key=lambda name: self._rank("answer", name))
        if (blank := self._blank_of(column)) is not None:
            self._leave_open(blank, column)
            return
        has_twin = snake_case(column) != "answer" and len([*filter(is_bare_answer, fits)]) > 1
        why_gold = "" if has_twin else self._why_gold(column, file_stem)
        if "references" in self.fields:
            self._settle_beside_gold(column)
        elif why_gold:
            self.fields["references"] = FoundColumn(column, why_gold)
        elif "answer" in self.fields:
            self._note(f"{column!r} may be what another system said, or gold", "answer", column)
        elif _ends_in_answer(column) and self._spoken[column].surely < Surely.UNSURE:
            self.fields["answer"] = FoundColumn(column, "by its name")
        else:
            self._ask_what_it_is(column)

    def _ask_what_it_is(self, column: str) -> None:
        self.doubt = (
            f"{column!r} may be the right answer, or what a system said: nothing in the file tells"
        )
        self.ways = (
            Way("it is the right answer", "references", column),
            Way("a system said it", "answer", column),
        )

    def _blank_of(self, column: str) -> Column | None:
        """Return a system's column beside a bare ``answer``, with a blank in any row."""
        if {"answer", "references"} & self.given.keys() or self.systems:
            return None
        systems = [
            self.table[name]
            for name, spoken in self._spoken.items()
            if spoken.field == "answer" and name != column and spoken.surely < Surely.WORDS
        ]
        return next((one for one in systems if len(one.filled) < len(one.cells)), None) or (
            self._blank_by_name(column)
        )

    def _blank_by_name(self, column: str) -> Column | None:
        """Return a column of a system's answers that is blank in all rows."""
        names = (other for other in self.table.columns if not other.filled)
        return next((one for one in names if one.name != column and _is_of_system(one.name)), None)

    def _leave_open(self, blank: Column, column: str) -> None:
        count, rows = len(blank.cells) - len(blank.filled), len(blank.cells)
        self.doubt = (
            f"{blank.name!r} is blank in {count} of {rows} rows: {column!r} may be the right "
            "answer, or what a system said"
        )
        other = "answer" if "references" in self.fields else "references"
        is_what = "what a system said" if other == "answer" else "the right answer"
        self.ways = (
            Way(f"{blank.name!r} is what a system said", "answer", blank.name),
            Way(f"{column!r} is {is_what}", other, column),
        )

    def _may_be_passage(self) -> bool:
        """Return whether the gold may be a passage: a ``reference`` beside its page."""
        gold = self.fields["references"].column
        left = {snake_case(name) for name in self._left()}
        is_long = self.table[gold].typical_length > _PASSAGE and bool(left & DOCUMENTS)
        is_asked = gold in self.given.values()
        return snake_case(gold) == "reference" and not is_asked and ("page" in left or is_long)

    def _settle_beside_gold(self, column: str) -> None:
        gold = self.fields["references"].column
        if "answer" in self.fields:
            return
        if self._may_be_passage():
            del self.fields["references"]
            self.doubt = (
                f"{gold!r} may be the right answer, or the passage that it is in "
                "(there is a column with its page)"
            )
            self.ways = (
                Way(
                    f"{gold!r} is a passage, and {column!r} the right answer", "references", column
                ),
                Way(f"{gold!r} is the right answer", "references", gold),
            )
        elif self.table[column].is_list or self._spoken[column].surely == Surely.UNSURE:
            self._note(f"{column!r} may be what a system said, or more gold", "answer", column)
        else:
            self.fields["answer"] = FoundColumn(column, f"by its name, beside {gold!r}")

    def settle_passage(self) -> None:
        """Leave open whether a long ``reference`` beside its document is a passage."""
        if self.doubt or "references" not in self.fields or not self._may_be_passage():
            return
        gold = self.fields.pop("references").column
        self.doubt = f"{gold!r} may be the right answer, or the passage that it is in"
        self.ways = (
            Way("it is the right answer", "references", gold),
            Way("it is the passage to find", "reference_contexts", gold),
        )

    def settle_wrong_gold(self) -> None:
        """Leave open whether gold holds wrong answers: TruLens marks them by a score of 0."""
        gold = self.fields.get("references")
        marks = [one for one in self.table.columns if snake_case(one.name) == "expected_score"]
        if gold is None or gold.why == AS_SAID or not marks or self.doubt:
            return
        wrong = sum(str(cell) in ("0", "0.0") for cell in marks[0].filled)
        if wrong:
            del self.fields["references"]
            self.doubt = (
                f"{marks[0].name!r} is 0 in {wrong} of {len(marks[0].cells)} rows: their "
                f"{gold.column!r} may be a wrong answer, and these rows are to be taken out"
            )
            self.ways = (Way(f"{gold.column!r} is right in all rows", "references", gold.column),)

    def _why_gold(self, column: str, file_stem: str) -> str:
        """Return what says that a bare ``answer`` is the gold, "" if nothing does."""
        is_bare = is_bare_answer(column) and words_of(column)[0] not in (*_REPLIES, *_OUTPUTS)
        if "answer" in self.fields:
            said = self.fields["answer"].column
            return f"the gold, beside the system's {said!r}" if is_bare else ""
        if any(word in snake_case(file_stem) for word in _GOLD_FILES):
            return "the gold, by the name of the file"
        is_of_run = any(kind in words_of(file_stem) for kind in _FILES_OF_RUNS) or any(
            kind in file_stem for kind in _FILES_OF_RUNS if not kind.isascii()
        )
        if self._is_list_of_gold(column) and not is_of_run:
            return "the gold: lists of right answers"
        if is_bare:
            has_others = bool(
                {*_ANSWERED, *CHECK_FIELDS, NUGGETS} & self.fields.keys() or self.notes
            )
            left = [name for name in self._left() if name != column]
            is_alone = not (
                has_others or any(self._is_of_a_run(one) or self._may_be_gold(one) for one in left)
            )
            is_gold = is_alone and self._is_short(column) and not is_of_run
            return "the gold: it is alone, and short" if is_gold else ""
        return ""

    def _is_list_of_gold(self, column: str) -> bool:
        """Return whether cells are lists of right answers: called ``answers``, or of objects."""
        cells = self.table[column]
        return cells.is_list and (snake_case(column).endswith("answers") or _are_objects(cells))

    def _is_short(self, column: str) -> bool:
        """Return whether the typical cell is no sentence, as the gold of a question often is."""
        lengths = sorted(len(split_characters(text)) for text in self.table[column].texts)
        return bool(lengths) and lengths[len(lengths) // 2] <= _SHORT

    def _may_be_gold(self, name: str) -> bool:
        """Return whether texts may say what is right, though their name is that of no field."""
        column, kinds = self.table[name], kinds_of(name)
        is_named = kinds & {"gold", "reference"} or {"fact", "facts"} & {*words_of(name)}
        return bool(is_named) and not kinds & _NO_GOLD and column.is_text and not are_labels(column)

    def _is_of_a_run(self, name: str) -> bool:
        """Return whether a column holds what only runs have: contexts, scores, verdicts, costs."""
        column = self.table[name]
        if not column.filled:
            return False
        kinds = kinds_of(name)
        if ("context" in kinds and column.is_text) or self._field_of(name).startswith("contexts"):
            return True
        is_verdict = column.is_flag or (self._field_of(name) == "references" and column.are_flags)
        if "run" in kinds or (kinds & {"gold", "reference"} and is_verdict):
            return True
        return "score" in kinds and (column.is_number or len(column.distinct) <= _FEW)


def _are_objects(column: Column) -> bool:
    lists = [cell for cell in column.filled if isinstance(cell, list)]
    return all(isinstance(part, Mapping) for cell in lists for part in cell)


def _ends_in_answer(name: str) -> bool:
    """Return whether a name such as ``Bot answer`` or ``reply`` says what a system said."""
    words = snake_case(name).split("_")
    return words != ["answer"] and words[-1] in ("answer", *_REPLIES)


def _is_of_system(name: str) -> bool:
    kinds = kinds_of(name)
    return {"answer", "given"} <= kinds and not kinds & {"score", "about", "gold", "reference"}
