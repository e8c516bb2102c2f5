"""What can be measured by the fields that were found, and what cannot, with the reason."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from pytest_rageval.datasets.cells import BadValueError, parse_contexts
from pytest_rageval.datasets.proposer.columns import Column, Table, texts_in
from pytest_rageval.datasets.proposer.names import CHECK_FIELDS
from pytest_rageval.datasets.proposer.propose import Mapped
from pytest_rageval.first_scenario.answer_columns import NOTHING, OfAnswers, of_answers
from pytest_rageval.text.tokenize import (
    has_cjk,
    normalize_ultrarag,
    normalize_unicode,
    split_characters,
)

_ANSWERS: Final = ("em", "f1", "rouge-l")
"""For answers that should be like a reference."""

_HELD: Final = ("coverem", "acc", "f1", "rouge-l")
"""For sentences that should hold a short reference."""

_COUNTED_IF_HELD: Final = ("coverem", "acc")
"""Those of ``_HELD`` that have a weight: the others are low for right sentences, too."""

_GATED: Final[tuple[str, ...]] = ("coverem", "acc", "stringem")
"""Those that say of an answer whether it is right; without one, ``f1`` does."""

_CHECKS: Final = tuple(name for name in CHECK_FIELDS if name != "must_satisfy")
"""The checks that no model is asked for."""

_NEARLY_ALL: Final = 0.95
_SHORT: Final = 8
"""Tokens of a reference that an answer may be asked to hold to the word."""

_TIMES_LONGER: Final = 3
"""From here on, f1 is at most 0.5 even for an answer that holds the whole reference."""

_TIMES_LONGER_UNEQUAL: Final = 1.5
"""The same where no answer is its reference: em would be 0 for right and wrong ones alike."""

_OF_GROUPS: Final = ("stringem", "rouge-l")
"""For groups of right answers: an answer has to hold one of each group."""

_SEARCH: Final = ("recall@5", "mrr")
_SENTENCE: Final = 60
"""Characters from which on a text is no name or short answer."""

_FEW_LETTERS: Final = 0.01
_MOST_GROUPS: Final = 20
_SHOWN_GROUPS: Final = 3
_LOOKED_AT: Final = 200
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Measures:
    """The metrics, what else the scenario needs for them, and metrics that lack something.

    ``weights`` are () where all count the same. ``later`` are pairs of metrics and what they need.
    ``asks`` are the fields that a target has to give, () if the data hold them.
    """

    metrics: tuple[str, ...]
    later: tuple[tuple[tuple[str, ...], str], ...]
    asks: tuple[str, ...]
    weights: tuple[tuple[str, float], ...] = ()
    match: str = ""
    script: str = ""
    """What in the texts the defaults compare badly: ``cjk``, ``letters``, ``punctuation`` or ""."""
    groups: tuple[str, ...] = ()
    """The columns whose values may be judged apart from each other."""
    bare_rows: int = 0
    """How many rows have nothing in any of the columns that the metrics compare with."""
    lacking: frozenset[str] = frozenset()
    """The metrics other than checks for which some row has nothing to compare."""
    judged: bool = False
    """Whether the metrics are those of a model: nothing else can tell right from wrong here."""
    odd_rows: tuple[int, ...] = ()
    """The rows, from 1, with a reference that no answer can be searched for."""
    are_sentences: bool = False
    """Whether short references are looked for in the answers, which are, or may be, sentences."""
    of_answers: OfAnswers = NOTHING
    """What is written for citations, refusals and conversations."""

    @property
    def gates(self) -> tuple[tuple[str, float], ...]:
        """The metrics to gate, with their least means: 1.0 for checks, which all have to pass.

        Answers and a search have a gate each: a good search would fill up the mean of wrong
        answers. Where rows lack one of the two, they would be errors of its gate, and the weighted
        score has one in its place. ``coverem`` and ``acc``, of which one may take wrong answers for
        right, always have one each.
        """
        if {*self.metrics} <= {*self.of_answers.metrics}:
            return ((self.metrics[0], 0.5),)
        checks = tuple((name, 1.0) for name in self.metrics if name in _CHECKS)
        if len(checks) == len(self.metrics):
            return checks
        compared = [one for one in _GATED if one in self.metrics]
        compared = compared or [one for one in self.metrics if one == "f1"]
        weighted = ["weighted_score"]
        gated = compared if len(compared) > 1 else weighted
        if _SEARCH[0] in self.metrics and (compared or checks):
            of_search = weighted if _SEARCH[0] in self.lacking else [_SEARCH[0]]
            gated = [*(compared if self.lacking.isdisjoint(compared) else gated), *of_search]
        return (*dict.fromkeys((name, 0.5) for name in gated), *checks)

    @property
    def may_hide(self) -> str:
        """What to know where the weighted score has a gate and some rows lack metrics, or ""."""
        is_filled = not {*_SEARCH, *_CHECKS}.isdisjoint(self.metrics) and bool(self.lacking)
        is_hidden = is_filled and "weighted_score" in dict(self.gates)
        return "Not all rows have all metrics: a high one may hide a low one." * is_hidden

    @property
    def about_gates(self) -> tuple[str, ...]:
        """What to know of these gates: lines of a comment."""
        lines = (
            "A gate each: a good search does not make up for wrong answers. Set them a little",
            "below what a whole run gives: right answers in other words have a middling f1.",
        )
        return (self.may_hide,) if self.may_hide else lines * (_SEARCH[0] in dict(self.gates))

    @property
    def gates_of_groups(self) -> dict[str, float]:
        """The same for each value of a column, with lower bounds: a mean of fewer rows varies more.

        Without checks, unless there is nothing else.
        """
        return {name: 0.4 for name, least in self.gates if least < 1} or dict(self.gates[:1])


A_JUDGE: Final = "a model that judges, which first has to tell good rows from bad ones"


def measures_for(table: Table, mapped: Mapped) -> Measures:
    """Return what to measure: by the data alone, else with a target, else by a judge."""
    found = _without_of_answers(table, mapped)
    is_answered = "answer" in mapped.fields or "answer" in found.asks
    more = of_answers(table, mapped, is_answered=is_answered, is_asked=bool(found.asks))
    bare = _bare_rows(table, mapped, found.metrics, more.refused)
    lacking = frozenset(one for one, count in covered(table, mapped, found) if count < table.rows)
    return _with(replace(found, bare_rows=bare, lacking=lacking.difference(CHECK_FIELDS)), more)


def _with(found: Measures, more: OfAnswers) -> Measures:
    """Return the measures with those of refusals and citations, which weigh 0 beside others.

    Where only a judge would measure anything else, that is left for later.
    """
    groups = (*more.groups, *(name for name in found.groups if name not in more.columns))
    found = replace(found, of_answers=more, groups=groups[:_SHOWN_GROUPS])
    if not more.metrics:
        return found
    cites = ("citation_recall",) if "citation_validity" in more.metrics else ()
    if found.judged:
        judged = (*cites, *found.metrics)
        later = (*found.later, *([(judged, A_JUDGE)] if judged else []))
        return replace(found, metrics=more.metrics, later=later, judged=False)
    weights = found.weights or tuple((name, 1.0) for name in found.metrics)
    weights += tuple((name, 0.0) for name in more.metrics)
    later = tuple(
        ((*cites, *names) if needed == A_JUDGE else names, needed) for names, needed in found.later
    )
    return replace(found, metrics=(*found.metrics, *more.metrics), weights=weights, later=later)


def _without_of_answers(table: Table, mapped: Mapped) -> Measures:
    """Return the measures without those that ``answer_columns.of_answers`` finds."""
    has = mapped.fields.keys()
    of_gold = _of_gold(mapped)
    of_search = _SEARCH if has & {"reference_ids", "reference_contexts"} else ()
    answers_now = of_gold if "answer" in has else ()
    search_now = of_search if _has_search(mapped) else ()
    metrics = (*answers_now, *search_now)
    later = [] if answers_now or not metrics else [(of_gold, "answers: in each row, or a target")]
    asks: tuple[str, ...] = ()
    is_judged = not metrics and not _target_suffices(mapped, of_gold, of_search)
    if is_judged:
        metrics, asks = _judged(mapped), () if "answer" in has else ("answer",)
    elif not metrics:
        metrics, asks = _asked(mapped, of_gold, of_search)
    if of_search and not search_now and metrics != of_search:
        later.append((of_search, f"{_needed(mapped)}: in each row, or from a target"))
    if not is_judged:
        later.append((_judged(mapped), A_JUDGE))
    script = _script(table, mapped)
    is_short = _has_short_references(table, mapped)
    # A system that is asked may answer in sentences; a short answer holds the reference, too.
    is_asked = asks == ("answer",)
    are_sentences = is_short and (is_asked or (bool(answers_now) and _are_sentences(table, mapped)))
    if set(metrics) & set(_ANSWERS) and _has_groups(table, mapped):
        are_sentences, metrics = False, (*_OF_GROUPS, *(m for m in metrics if m not in _ANSWERS))
    if are_sentences:
        metrics = (*_of_sentences(script), *(name for name in metrics if name not in _ANSWERS))
    return Measures(
        tuple(metrics),
        tuple((names, why) for names, why in later if names),
        asks,
        weights=_weights(table, mapped, metrics, are_sentences=are_sentences),
        match="contains" if search_now and _lies_inside(table, mapped) else "",
        script=script,
        groups=tuple(_groups(table, mapped))[:_SHOWN_GROUPS],
        judged=is_judged,
        odd_rows=tuple(_odd_rows(table, mapped)) if are_sentences else (),
        are_sentences=are_sentences,
    )


def covered(table: Table, mapped: Mapped, measures: Measures) -> list[tuple[str, int]]:
    """Return for each metric how many rows have all that it needs of the fields of the data."""
    needs: dict[str, tuple[str, ...]] = {name: (name, "answer") for name in CHECK_FIELDS}
    expected = "reference_ids" if "reference_ids" in mapped.fields else "reference_contexts"
    needs |= dict.fromkeys(_SEARCH, (expected, _needed(mapped)))
    needs |= {"faithfulness": ("contexts", "answer"), "context_recall": ("contexts", "references")}
    needs["nugget_recall"] = ("nuggets", "answer")
    counts = []
    needs |= dict.fromkeys(measures.of_answers.metrics, ("answer",))
    for name in measures.metrics:
        fields = [one for one in needs.get(name, ("references", "answer")) if one in mapped.fields]
        cells = [table[mapped.fields[one].column].cells for one in fields]
        if name in _SEARCH and fields[1:]:  # a search that found nothing, [], has its score
            cells[1] = table.given(mapped.fields[fields[1]].column)
        full = sum(all(cell is not None for cell in row) for row in zip(*cells, strict=True))
        counts.append((name, full))
    return counts


def _of_sentences(script: str) -> tuple[str, ...]:
    """Return the metrics of sentences around a reference.

    In Chinese two of them count: ``coverem`` takes characters that are scattered, and ``acc`` finds
    ``5天`` in ``15天``.
    """
    return tuple(name for name in _HELD if name != "acc" or script == "cjk")


def _weights(
    table: Table, mapped: Mapped, metrics: tuple[str, ...], *, are_sentences: bool
) -> tuple[tuple[str, float], ...]:
    """Return how much each metric counts, () where all count the same.

    Checks have gates of their own, and count only if some rows have no reference.
    """
    references = _column(table, mapped, "references")
    if references is None:
        return ()
    left_out: set[str] = set(_CHECKS) if len(references.filled) == table.rows else set()
    if are_sentences:
        left_out |= set(metrics) & set(_HELD) - set(_COUNTED_IF_HELD)
    elif "stringem" in metrics:
        left_out |= set(metrics) & set(_ANSWERS)
    elif references.typical_length > _SENTENCE:
        left_out.add("em")
    weights = tuple((name, float(name not in left_out)) for name in metrics)
    return weights if left_out & set(metrics) else ()


def _has_short_references(table: Table, mapped: Mapped) -> bool:
    """Return whether the typical reference has a few words, and nearly each can be looked for.

    A reference without a word cannot, nor a single letter: an ``a`` is in most sentences.
    """
    references = _column(table, mapped, "references")
    if references is None:
        return False
    if sum(map(_can_be_found, references.texts)) < _NEARLY_ALL * len(references.texts):
        return False
    lengths = [min(tokens) for cell in references.filled if (tokens := _tokens(cell))]
    return bool(lengths) and median(lengths) <= _SHORT


def _are_sentences(table: Table, mapped: Mapped) -> bool:
    """Return whether the typical answer is much longer than its shortest reference.

    Three times as long, or 1.5 times if no answer is its reference.
    """
    answers, references = _column(table, mapped, "answer"), _column(table, mapped, "references")
    if answers is None or references is None:
        return False
    pairs = zip(map(_tokens, answers.cells), map(_tokens, references.cells), strict=True)
    shortest = ((given, min(wanted or [0])) for given, wanted in pairs)
    times = [given[0] / least for given, least in shortest if given and least]
    is_ever_equal = any(map(_equals_one, answers.cells, references.cells))
    return bool(times) and median(times) >= (
        _TIMES_LONGER if is_ever_equal else _TIMES_LONGER_UNEQUAL
    )


def _equals_one(answer: Any, references: Any) -> bool:
    """Return whether an answer is one of its references, but for case and punctuation."""
    wanted = {normalize_ultrarag(text) for text in texts_in(references)}
    return any(normalize_ultrarag(text) in wanted for text in texts_in(answer))


def _has_groups(table: Table, mapped: Mapped) -> bool:
    references = _column(table, mapped, "references")
    return references is not None and references.has_lists_in_lists


def _odd_rows(table: Table, mapped: Mapped) -> Iterable[int]:
    """Yield the rows, from 1, with a reference that cannot be looked for: ``---``."""
    references = _column(table, mapped, "references")
    for number, cell in enumerate(references.cells if references is not None else (), start=1):
        if not all(map(_can_be_found, texts_in(cell))):
            yield number


def _can_be_found(reference: str) -> bool:
    tokens = split_characters(reference)
    is_letter = len(tokens) == 1 and len(tokens[0]) == 1 and tokens[0] in _LETTERS
    return bool(tokens) and bool(normalize_ultrarag(reference)) and not is_letter


def _tokens(cell: Any) -> list[int]:
    """Return the number of words, or of CJK characters, of each text in a cell."""
    return [len(split_characters(text)) for text in texts_in(cell)]


def _bare_rows(
    table: Table, mapped: Mapped, metrics: tuple[str, ...], refused: tuple[int, ...]
) -> int:
    """Return how many rows have nothing to compare with, without those to be ``refused``."""
    compared = {"references", *CHECK_FIELDS} if set(metrics) - set(_SEARCH) else set()
    compared |= {"reference_ids", "reference_contexts"} if "mrr" in metrics else set()
    used = [table[found.column].cells for name, found in mapped.fields.items() if name in compared]
    bare = [all(cell is None for cell in row) for row in zip(*used, strict=True)]
    return sum(bare) - sum(bare[at] for at in refused if bare)


def _of_gold(mapped: Mapped) -> tuple[str, ...]:
    """Return the metrics that hold an answer against what its row says is right."""
    checks = [name for name in _CHECKS if name in mapped.fields]
    return (*(_ANSWERS if "references" in mapped.fields else ()), *checks)


def _has_search(mapped: Mapped) -> bool:
    """Return whether the data hold what was found and, of the same kind, what should be."""
    has = mapped.fields.keys()
    return {"reference_ids", "retrieved_ids"} <= has or {"reference_contexts", "contexts"} <= has


def _target_suffices(mapped: Mapped, of_gold: tuple[str, ...], of_search: tuple[str, ...]) -> bool:
    """Return whether a system that is asked makes something measurable without a model."""
    return bool(of_search or (of_gold and "answer" not in mapped.fields))


def _asked(
    mapped: Mapped, of_gold: tuple[str, ...], of_search: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metrics where a target has to be asked, and the fields that it has to give."""
    if of_gold and "answer" not in mapped.fields:
        return of_gold, ("answer",)
    return of_search, (_needed(mapped),)


def _needed(mapped: Mapped) -> str:
    return "retrieved_ids" if "reference_ids" in mapped.fields else "contexts"


_BY_ITS_FIELD: Final = {"must_satisfy": "must_satisfy", "nugget_recall": "nuggets"}


def _judged(mapped: Mapped) -> tuple[str, ...]:
    """Return the metrics that a judge can give, by the fields and what a target would add."""
    has = mapped.fields.keys()
    # Without contexts only for a target, which may give some, and if no field has its own metric.
    is_grounded = "contexts" in has or not has & {"answer", "must_satisfy", "nuggets"}
    names = ["faithfulness"] if is_grounded else []
    names += ["context_recall"] if {"contexts", "references"} <= has else []
    names += [name for name, field in _BY_ITS_FIELD.items() if field in has]
    return (*names, "answer_correctness") if "references" in has else tuple(names)


def extra_for(names: Iterable[str]) -> str:
    """Return the optional packages that metrics which ask a model need."""
    is_own = {*names} <= {*_BY_ITS_FIELD, "citation_recall"}
    return f"pytest-rageval[{'judge' if is_own else 'ragas'}]"


def _column(table: Table, mapped: Mapped, field: str) -> Column | None:
    found = mapped.fields.get(field)
    return table[found.column] if found is not None else None


def _lies_inside(table: Table, mapped: Mapped) -> bool:
    """Return whether in some row a passage lies inside another, and none equals another.

    Of the two, one is expected and the other found.
    """
    found, gold = _column(table, mapped, "contexts"), _column(table, mapped, "reference_contexts")
    if found is None or gold is None or "reference_ids" in mapped.fields:
        return False
    pairs = list(zip(found.cells, gold.cells, strict=True))[:_LOOKED_AT]
    inside = equal = 0
    for given, other in pairs:
        texts, expected = _normal(given), _normal(other)
        equal += bool(texts & expected)
        inside += any(text in part or part in text for text in texts for part in expected)
    return inside > equal


def _normal(cell: Any) -> set[str]:
    try:
        texts = parse_contexts(cell or [])
    except BadValueError:  # an invalid row, as the reader will say
        return set()
    return {normal for text in texts if (normal := normalize_unicode(text))}


def _script(table: Table, mapped: Mapped) -> str:
    found = (_column(table, mapped, name) for name in ("references", "answer", "must_include"))
    columns = [column for column in found if column is not None]
    text = "".join(text for column in columns for text in column.texts[:_LOOKED_AT])
    letters = [character for character in text if character.isalpha()]
    if sum(not letter.isascii() for letter in letters) > _FEW_LETTERS * len(letters):
        return "cjk" if has_cjk(text) else "letters"
    # In all texts: a single “quoted” word makes a right answer wrong.
    used = frozenset().union(*(text for column in columns for text in column.texts))
    return "punctuation" if any(map(_is_kept_punctuation, used)) else ""


def _is_kept_punctuation(character: str) -> bool:
    """Return whether it is a mark that the default normaliser takes for a part of a word."""
    is_mark = not character.isascii() and unicodedata.category(character)[0] == "P"
    return is_mark and bool(normalize_ultrarag(character))


def _groups(table: Table, mapped: Mapped) -> Iterable[str]:
    """Yield the columns with few values that repeat: of documents (``doc_name``) and metadata."""
    taken = {found.column: name for name, found in mapped.fields.items()}
    for column in table.columns:
        few = 2 <= len(column.distinct) <= min(_MOST_GROUPS, len(column.filled) / 2)
        is_name = not column.is_list and column.typical_length < _SENTENCE
        is_fraction = any("." in text for text in column.texts) and column.is_number
        if (
            column.name != mapped.human
            and few
            and is_name
            and not is_fraction
            and taken.get(column.name, "doc_name") == "doc_name"
        ):
            yield taken.get(column.name, column.name)
