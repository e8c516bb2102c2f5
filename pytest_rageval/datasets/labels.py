"""Reads labels of people from files: each must be about an answer of the data, or it is refused.

A label that cannot be used is a problem with its line, and all problems are found at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row, row_place
from pytest_rageval.datasets.load import data_file, reader_of
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten, unknown_name
from pytest_rageval.model import CHOSEN, RANDOM, Label, value_text
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.stats.labels.cells import CELL, LEVEL_WORDS, parts_of_cell
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.encodings import sure_encoding
from pytest_rageval.text.printable import unquoted

SECTION: Final = "human"

DIGEST: Final = re.compile(r"x[0-9a-f]{12}")
_STRATUM: Final = re.compile(r"s-[0-9a-zA-Z]{1,32}")
_MOST_GUESSED: Final = 5_000
_YES: Final = frozenset(("yes", "y", "true", "pass", "是", "对"))
_NO: Final = frozenset(("no", "n", "false", "fail", "否", "错"))
_OF_WORDS: Final = {word: level for level, word in LEVEL_WORDS.items()}


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer that labels may be about; ``digest`` is None until a target has given it."""

    digest: str | None
    answer: str | None
    contexts: Sequence[str] | None = None
    question: str | None = None


@dataclass(frozen=True)
class LabelScale:
    """What a label of one metric may be.

    ``levels`` ascend. ``has_words``: yes and no are the higher and the lower of two levels, which
    holds unless lower scores are better. ``sees_contexts``: the metric looks at contexts, and so
    must people. ``has_cells``: labels are about the cells of support tables, which are not known
    before the judge has been asked.
    """

    levels: Sequence[float]
    has_words: bool = True
    sees_contexts: bool = False
    has_cells: bool = False


@dataclass(frozen=True)
class LabelRules:
    """What a label may be about, and what it may say.

    ``metrics`` are those that labels are wanted of, ``others`` the scenario's other ones;
    ``answers`` are by sample id. Of ``annotators`` labels count, of everybody if there are none;
    ``drawn`` is how samples were drawn where a label does not say it.
    """

    metrics: Mapping[str, LabelScale]
    others: Collection[str]
    answers: Mapping[str, Labelled]
    annotators: Collection[str] = ()
    drawn: str = CHOSEN
    is_part: bool = False
    """Whether samples were left out, so that labels may be about others."""
    rejected: Collection[str] = ()
    """The rows that people rejected in reviews: their labels have no answer any more."""

    def counts(self, *names: str) -> bool:
        """Return whether labels count of a person who goes by one of these names."""
        known = set(map(name_key, self.annotators))
        return not known or not known.isdisjoint(map(name_key, names))


@dataclass
class LabelReading:
    """What was read: labels by metric and sample id, problems, and what was left out."""

    labels: dict[str, dict[str, list[Label]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    annotators: dict[str, str] = field(default_factory=dict)
    """By ``name_key``, the spelling of each annotator that came first: Anna is anna."""
    blank: list[str] = field(default_factory=list)
    """The files that have rows, and no label in any: what to do about each."""

    def add(self, sample_id: str, metric: str, label: Label) -> None:
        """Keep a label; the second one of the same person about the same answer is a problem.

        If both say the same, and one was ``chosen`` and the other drawn, the drawn one is kept.
        """
        name = self.annotators.setdefault(name_key(label.annotator), shown_name(label.annotator))
        label = replace(label, annotator=name)
        found = self.labels.setdefault(metric, {}).setdefault(sample_id, [])
        mine = (label.annotator, label.digest)
        first = next(
            (earlier for earlier in found if (earlier.annotator, earlier.digest) == mine), None
        )
        if first is None:
            found.append(label)
        elif first.value == label.value and (first.drawn == CHOSEN) != (label.drawn == CHOSEN):
            found[found.index(first)] = label if first.drawn == CHOSEN else first
        else:
            message = f"{label.annotator!r} has labelled {shorten(sample_id)!r} twice"
            message += f" (first at {first.place}); keep one"
            self.problems.append(Problem(label.place, message))

    def leave_out_annotator(self, name: str) -> None:
        """Count a label of a person whose labels do not count."""
        self.left_out[f"by {name}, whom {SECTION}.annotators does not name"] += 1


def read_label_file(
    spec: DatasetSpec,
    base_dir: Path,
    shown: str,
    where: str,
    rules: LabelRules,
    found: LabelReading,
) -> None:
    """Add the labels of the file that ``spec`` names to ``found``; messages call it ``shown``."""
    try:
        file = with_its_encoding(replace(data_file(spec, base_dir, where, SECTION), shown=shown))
        reader = reader_of(file, where, SECTION)
        rows = list(reader.read(file))
    except ScenarioError as error:
        found.problems += error.problems
        return
    first = next((row for row in rows if isinstance(row, Row)), None)
    missing = [] if first is None else [name for name in _NEEDED if name not in first.fields]
    if first is not None and missing:
        hint = reader.hint(tuple(first.fields), spec).replace("dataset.", f"{SECTION}.")
        found.problems.append(Problem(file.shown, _no_columns(missing, first, hint)))
        return
    before = found.left_out[_BLANK]
    for row in rows:
        _read_row(file, row, rules, found)
    if rows and found.left_out[_BLANK] - before == len(rows):
        found.left_out -= Counter({_BLANK: len(rows)})
        hint = "if you labelled in the browser, hand in the file that it downloaded"
        count = counted(len(rows), "row")
        found.blank.append(f"none of the {count} of {shown} has a label; {hint}")


def with_its_encoding(file: DataFile) -> DataFile:
    """Return the file with the encoding that shows in its bytes: people save in different ones."""
    with file.open() as stream:
        sure = sure_encoding(stream.read())
    return replace(file, spec=file.spec.model_copy(update={"encoding": sure})) if sure else file


_BLANK: Final = "without a label"
_NEEDED: Final = ("id", "annotator", "label")


def _no_columns(missing: Sequence[str], row: Row, hint: str) -> str:
    known = ", ".join(shorten(name, 40) for name in list(row.fields)[:20])
    message = f"no column {' and no '.join(map(repr, missing))}; it has: {known}."
    usual = f"A label file has the columns that --rag-label N writes ({SECTION}.delimiter?)"
    return f"{message} {hint or usual}"


def _read_row(file: DataFile, row: Row | BrokenRow, rules: LabelRules, found: LabelReading) -> None:
    place = row_place(file.shown, row.line, row.number)
    if isinstance(row, BrokenRow):
        found.problems.append(Problem(place, row.reason))
        return
    # Texts are quoted against formulas, by --rag-label and by the page.
    cells = dict.fromkeys(_NEEDED, "")
    cells |= {name: unquoted(cell_text(value)) for name, value in row.fields.items()}
    if not cells["label"]:
        found.left_out[_BLANK] += 1
        return
    metric = cells.get("metric") or (next(iter(rules.metrics)) if len(rules.metrics) == 1 else "")
    cells["digest"] = cells.get("digest", "").lower()
    annotator = cells["annotator"] = shown_name(cells["annotator"])
    name = cells["id"] = _meant(cells, rules, metric)
    if rules.rejected and _is_rejected(name, rules, metric):
        found.left_out["of samples that reviews rejected"] += 1
    elif rules.is_part and name and _about(name, rules, metric) is None:
        found.left_out["of samples that this run leaves out"] += 1
    elif metric in rules.others:
        found.left_out[f"of {metric}, which {SECTION}.of does not name"] += 1
    elif annotator and not rules.counts(annotator):
        found.leave_out_annotator(annotator)
    else:
        reasons = list(_wrong(cells, metric, rules))
        if reasons:
            found.problems.append(Problem(place, "; ".join(reasons)))
        else:
            value = level_of(cells["label"], rules.metrics[metric])
            assert value is not None  # else there is a reason
            drawn = cells.get("drawn") or rules.drawn
            about = _about(name, rules, metric)
            digest = cells["digest"] or (about and about.digest) or ""
            label = Label(value, annotator, drawn, digest, place)
            found.add(name, metric, label)


def _is_rejected(name: str, rules: LabelRules, metric: str) -> bool:
    forms = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    return any(_sample_of(form, rules, metric) in rules.rejected for form in forms)


def _about(name: str, rules: LabelRules, metric: str) -> Labelled | None:
    """Return the answer that a label is about, or whose cell it is about."""
    sample = _sample_of(name, rules, metric)
    return None if sample is None else rules.answers.get(sample)


def _sample_of(name: str, rules: LabelRules, metric: str) -> str | None:
    """Return the id of the sample that a label is about; None for what should name a cell."""
    scale = rules.metrics.get(metric)
    if scale is None or not scale.has_cells:
        return name
    parts = parts_of_cell(name)
    return None if parts is None else parts[0]


def _meant(cells: Mapping[str, str], rules: LabelRules, metric: str) -> str:
    """Return the id of the sample, or cell, with letters composed as in the data.

    Also with the zeros that a spreadsheet took from a number, if the digest tells which is meant.
    """
    answers = rules.answers
    forms = (unicodedata.normalize(form, cells["id"]) for form in ("NFC", "NFD"))
    name = next((form for form in forms if _about(form, rules, metric)), cells["id"])
    if name in answers or not name.isdigit():
        return name
    same = [sample_id for sample_id in answers if sample_id.lstrip("0") == name]
    meant = [
        sample_id
        for sample_id in same
        if cells["digest"] and answers[sample_id].digest == cells["digest"]
    ]
    return meant[0] if len(meant) == 1 else name


def cell_text(value: Any) -> str:
    """Return what stands in a cell, without blanks around it."""
    return "" if value is None else value_text(value).strip()


def _wrong(cells: Mapping[str, str], metric: str, rules: LabelRules) -> Iterator[str]:
    """Yield what is wrong with a label; nothing where it can be used."""
    name = cells["id"]
    if not name:
        yield "no 'id'"
    elif _about(name, rules, metric) is None:
        yield _no_sample(name, rules, metric)
    if metric not in rules.metrics:
        yield _wrong_metric(metric, list(rules.metrics))
    elif level_of(cells["label"], rules.metrics[metric]) is None:
        yield f"label {_no_level(cells['label'], rules.metrics[metric])}"
    if not cells["annotator"]:
        yield "no 'annotator'; write who says so"
    drawn = cells.get("drawn") or rules.drawn
    if drawn not in (RANDOM, CHOSEN) and not _STRATUM.fullmatch(drawn):
        yield f"drawn {shorten(drawn)!r}: expected 'random', 'chosen' or the code of a stratum"
    about = _about(name, rules, metric)
    if about is not None and metric in rules.metrics:
        yield from _wrong_answer(cells, about, rules.metrics[metric])


def _no_sample(name: str, rules: LabelRules, metric: str) -> str:
    if metric in rules.metrics and rules.metrics[metric].has_cells:
        parts = parts_of_cell(name)
        if parts is None:
            expected = f"expected sample/statement/source, as in {CELL}"
            return f"id {shorten(name)!r} is none of a cell: {expected}"
        name = parts[0]
    # Of many names, the nearest one takes a second to find.
    guess = did_you_mean(name, rules.answers) if len(rules.answers) <= _MOST_GUESSED else ""
    return f"no sample {shorten(name)!r} in the data.{guess}"


def _no_level(written: Any, scale: LabelScale) -> str:
    words = LEVEL_WORDS if scale.has_cells else dict[float, str]()
    known = ", ".join(words.get(level, f"{level:g}") for level in scale.levels)
    return f"{shorten(repr(written))} is no declared level ({SECTION}.levels: {known})"


def _wrong_answer(cells: Mapping[str, str], sample: Labelled, scale: LabelScale) -> Iterator[str]:
    """Yield why the label is not, or may not be, about the present answer.

    The digest of another answer is no reason here: the label may be of a baseline's answer.
    """
    question = squeezed(cells.get("question", ""))
    if question and sample.question is not None and question != squeezed(sample.question):
        yield "the question has changed since it was labelled"
    digest = cells["digest"]
    if digest and not DIGEST.fullmatch(digest):
        expected = "an x and 12 hexadecimal digits, as --rag-label writes"
        yield f"digest {shorten(digest)!r}: expected {expected}"
    elif not digest:
        yield from _unknown_answer(cells, sample, scale)


def _wrong_metric(metric: str, known: Sequence[str]) -> str:
    if not metric:
        return f"no 'metric', and {SECTION}.of names several: {', '.join(known)}"
    return unknown_name("metric", metric, known)


def _unknown_answer(cells: Mapping[str, str], sample: Labelled, scale: LabelScale) -> Iterator[str]:
    """Yield why it is not known, without a digest, that the label is about the present answer."""
    seen = "\n\n".join(f"[{at}] {text}" for at, text in enumerate(sample.contexts or (), 1))
    if scale.has_cells:
        yield "no 'digest': it tells which statement and which source were labelled"
    elif "answer" not in cells:
        yield "no 'digest' and no 'answer': it is not known which answer was labelled"
    elif sample.digest is None:
        yield "no 'digest': the target gives the answers, and this one may be another"
    elif squeezed(cells["answer"]) != squeezed(sample.answer or ""):
        yield "the answer has changed since it was labelled"
    elif "contexts" in cells and squeezed(cells["contexts"]) != squeezed(seen):
        yield "the contexts have changed since it was labelled"
    elif "contexts" not in cells and seen and scale.sees_contexts:
        yield "no 'digest' and no 'contexts': it is not known which contexts were seen"


def squeezed(text: str) -> str:
    """Return ``text`` as spreadsheets may leave it: line ends and blanks differ."""
    return " ".join(text.split())


def level_of(written: Any, scale: LabelScale) -> float | None:
    """Return the declared level that is written, None if there is none.

    Of two levels, yes and no are the higher and the lower one. A comma may stand for the point.
    The levels of cells are words, and may be written as the numbers that they count.

    >>> level_of("1,0", LabelScale([0.0, 1.0])), level_of("no", LabelScale([0.0, 1.0]))
    (1.0, 0.0)
    """
    word = str(written).strip().lower()
    if len(scale.levels) == 2 and scale.has_words and word in _YES | _NO:
        return scale.levels[word in _YES]
    if scale.has_cells and word in _OF_WORDS:
        return _OF_WORDS[word] if _OF_WORDS[word] in scale.levels else None
    try:
        number = float(word.replace(",", "."))
    except ValueError:
        return None
    return next((level for level in scale.levels if abs(level - number) < 1e-9), None)


def read_columns(
    columns: Sequence[str],
    values: Mapping[str, tuple[str, Sequence[Any]]],
    digests: Mapping[str, str],
    rules: LabelRules,
    found: LabelReading,
) -> None:
    """Add the labels that are in columns of the data to ``found``.

    ``values`` holds by sample id the place of its row and its values of ``columns``; a list is
    several annotators in one column. ``digests`` are those of the answers in the data.
    """
    (metric, scale), *_ = rules.metrics.items()  # labels in columns are of one metric only
    for sample_id, (place, cells) in values.items():
        digest = digests.get(sample_id, "")
        for column, cell in zip(columns, cells, strict=True):
            several = cell if isinstance(cell, list | tuple) else [cell]
            for at, written in enumerate(several):
                if written is None or written == "":
                    continue
                annotator = f"{column}[{at}]" if isinstance(cell, list | tuple) else column
                if not rules.counts(annotator, column):
                    found.leave_out_annotator(annotator)
                    continue
                value = level_of(written, scale)
                if value is None:
                    message = f"{column} {_no_level(written, scale)}"
                    found.problems.append(Problem(place, message))
                    continue
                label = Label(value, annotator, rules.drawn, digest, place)
                found.labels.setdefault(metric, {}).setdefault(sample_id, []).append(label)


# Unicode's Default_Ignorable_Code_Point beyond the category Cf: fillers, variation selectors.
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def shown_name(text: str) -> str:
    r"""Return a name with letters composed (NFC), without invisible characters, blanks squeezed.

    >>> shown_name(" An\u200bna  Li ")
    'Anna Li'
    """
    visible = (letter for letter in _FILLERS.sub("", text) if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFC", "".join(visible)).split())


def name_key(text: str) -> str:
    r"""Return a key that all spellings of one name share; capitals do not count.

    >>> name_key("ANNA") == name_key("anna\ufeff")
    True
    """
    return shown_name(text).casefold()
