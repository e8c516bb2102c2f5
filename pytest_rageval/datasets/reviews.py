"""Reads what people say of questions: rejected rows leave the data, edited ones change.

A review that cannot be used is a problem with its line, and all problems are found at once.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row, row_place
from pytest_rageval.datasets.labels import (
    DIGEST,
    cell_text,
    name_key,
    shown_name,
    squeezed,
    with_its_encoding,
)
from pytest_rageval.datasets.load import Dataset, data_file, reader_of
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, listed, shorten
from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.json_value import digest
from pytest_rageval.text.printable import unquoted

SECTION: Final = "dataset.reviews"
PATTERN: Final = "questions-review*.csv"
"""What the files are called that the review page downloads."""

ACCEPT: Final = "accept"
EDIT: Final = "edit"
REJECT: Final = "reject"
VERDICTS: Final = (ACCEPT, EDIT, REJECT)
"""What a person may say of a row; where people differ, what stands last here counts."""

_NEEDED: Final = ("id", "question", "reference", "verdict", "reviewer", "digest")
_LISTED: Final = 5
_BLANK_LINE: Final = re.compile(r"\n\s*\n")


def evidence_of(sample: Sample) -> Sequence[str]:
    """Return the quotes that a question is about, () without any.

    From the column ``evidence``; without it, they are the expected contexts.
    """
    return _texts(sample.metadata.get("evidence", sample.reference_contexts))


def passages_of(sample: Sample) -> Sequence[str]:
    """Return the passages that the quotes are from, () where the row does not hold them."""
    if "evidence" in sample.metadata:
        return sample.reference_contexts or ()
    return _texts(sample.metadata.get("reference_contexts"))


def reference_of(sample: Sample) -> str:
    """Return the expected answer as a person sees it; several of them have a blank line between."""
    return "\n\n".join(sample.references or ())


def review_digest(sample: Sample) -> str:
    """Return the digest of what is reviewed: the question, what is expected, and the evidence.

    An x, so that no spreadsheet takes it for a number, and twelve hexadecimal digits of SHA-256.
    """
    shown = [sample.question or "", list(sample.references or ()), list(evidence_of(sample))]
    return f"x{digest(shown)[:12]}"


def _texts(value: Any) -> Sequence[str]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


@dataclass(frozen=True, slots=True)
class Review:
    """What one person says of a row; the texts are those of an edit."""

    verdict: str
    reviewer: str
    place: str
    digest: str
    """Of the wording that was reviewed: that of the data, or what an edit made of it."""
    question: str = ""
    reference: str = ""

    def says(self) -> Sequence[str]:
        """Return what two reviews of a wording have in common if they agree."""
        return self.verdict, squeezed(self.question), squeezed(self.reference)


def with_reviews(dataset: Dataset, named: Sequence[str], base_dir: Path, where: str) -> Dataset:
    """Return the data without the rows that people rejected, and with their edits.

    ``named`` are paths and patterns relative to ``base_dir``, ``where`` is the place that names
    them. Raises ScenarioError with all reviews that cannot be used, and if no row is left.
    """
    files = review_files(named, base_dir, where)
    found = _Reading({case.id: case for case in dataset.cases})
    for file in files:
        _read_file(file, where, found)
    for name in found.reviews:
        _follow_edits(found, name)
    if found.problems:
        raise ScenarioError(found.problems)
    counting = {
        name: max(reviews, key=lambda review: VERDICTS.index(review.verdict))
        for name, reviews in found.reviews.items()
    }
    rejected = {name for name, review in counting.items() if review.verdict == REJECT}
    kept = [at for at, case in enumerate(dataset.cases) if case.id not in rejected]
    shown = ", ".join(file.shown for file in files)
    if not kept:
        message = f"no rows: people rejected all {len(rejected)} ({SECTION}: {shown})"
        message += "; an empty data set tests nothing"
        raise ScenarioError([Problem(dataset.shown, message)])
    rows = [found.edited.get(dataset.cases[old].id, dataset.cases[old]) for old in kept]
    edited = found.edited.keys() - rejected
    return replace(
        dataset,
        cases=[replace(row, index=at) for at, row in enumerate(rows)],
        lines=[dataset.lines[old] for old in kept],
        sha256=digest_with(dataset.sha256, files),
        warnings=(*dataset.warnings, *found.warnings(shown)),
        remarks=(*dataset.remarks, *found.remarks(shown, rejected, edited, dataset.left_out)),
        reviewed=frozenset(counting.keys() - rejected),
        rejected=frozenset(rejected),
    )


def _follow_edits(found: _Reading, name: str) -> None:
    """Apply the edits of a row, and read the reviews of what they made of it.

    These may be edits in turn. An edit that leads back to an earlier wording is the last.
    """
    row, seen = found.cases[name], set[str]()
    while isinstance(row, Sample) and (digest := review_digest(row)) not in seen:
        seen.add(digest)
        reviews = [review for review in found.reviews[name] if review.digest == digest]
        edit = next((review for review in reviews if review.verdict == EDIT), None)
        if edit is None:
            return
        row = found.edited[name] = _edited(row, edit)
        found.read_those_of(row)


def _edited(row: Sample, edit: Review) -> Sample:
    row = replace(row, question=edit.question)
    if squeezed(edit.reference) == squeezed(reference_of(row)):
        return row
    parts = _references(edit.reference, row)
    assert parts is not None  # else the edit is a problem
    return replace(row, references=parts, reference_groups=None)


def _references(text: str, was: Sample) -> tuple[str, ...] | None:
    """Return the references of an edit; None if it cannot be told where each of them ends.

    A blank line divides two references, or two paragraphs of one. So where one of several has more
    than one paragraph, each must keep its number of them.
    """
    lengths = [len(_paragraphs(reference)) for reference in was.references or ()]
    parts = _paragraphs(text)
    if max(lengths, default=1) == 1:
        return tuple(parts)
    if len(lengths) == 1:
        return (text,)
    left = iter(parts)
    whole = tuple("\n\n".join(islice(left, length)) for length in lengths)
    return whole if len(parts) == sum(lengths) else None


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in _BLANK_LINE.split(text.strip())]


def review_files(named: Sequence[str], base_dir: Path, where: str) -> Sequence[DataFile]:
    """Return the files of reviews, each once, those of a pattern sorted by name.

    Raises ScenarioError, at ``where``, for a path without a file; a pattern may match none.
    """
    found: dict[Path, DataFile] = {}
    problems: list[Problem] = []
    for written in named:
        is_pattern = bool(re.search(r"[*?\[]", written)) and not (base_dir / written).is_file()
        paths = [written]
        if is_pattern:  # Path.glob refuses absolute ones
            paths = sorted(glob(written, root_dir=base_dir, recursive=True))  # noqa: PTH207
        for path in paths:
            try:
                file = data_file(_options(path), base_dir, where, SECTION)
            except ScenarioError as error:
                problems += [Problem(where, f"{one.message}{_HINT}") for one in error.problems]
            else:
                found.setdefault(file.path.resolve(), file)
    if problems:
        raise ScenarioError(problems)
    return list(found.values())


_HINT: Final = (
    f" For files that are yet to come write a pattern, reviews: [{PATTERN}]; "
    "pytest --rag-label=20 writes a page to review questions on"
)


def _options(path: str) -> DatasetSpec:
    """Return how a file is read: as its suffix says if that is .xlsx or .tsv, else as CSV."""
    has_own = Path(path).suffix in (".xlsx", ".tsv")
    return DatasetSpec(path=path, format=None if has_own else "csv")


def digest_with(sha256: str, files: Iterable[DataFile]) -> str:
    """Return a hash of the data and their reviews, ``sha256`` itself without any review file."""
    digests = [file.sha256().hexdigest() for file in files]
    if not digests:
        return sha256
    return hashlib.sha256("\n".join([sha256, *digests]).encode()).hexdigest()


_Said = tuple[str, Mapping[str, str]]
"""Where a review is, and its cells."""


@dataclass
class _Reading:
    """What was read: by row the reviews that count, problems, and what does not count."""

    cases: Mapping[str, Case]
    reviews: dict[str, list[Review]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    others: dict[str, list[_Said]] = field(default_factory=dict)
    """By row, the reviews of a wording that is not that of the data."""
    edited: dict[str, Sample] = field(default_factory=dict)
    """The rows as their edits leave them."""
    unknown: int = 0
    """How many reviews are of rows that the data lack."""
    blank: list[str] = field(default_factory=list)
    """For each file whose rows have no verdict at all, what to do about it."""

    def case(self, written: str, digest: str) -> Case | None:
        """Return the row of an id, however its letters are composed; None if there is none.

        An id may lack the zeros in front that a spreadsheet took; of several rows that it may mean
        then, the one with ``digest`` is returned.
        """
        forms = [unicodedata.normalize(form, written) for form in ("NFC", "NFD")]
        if found := next((self.cases[form] for form in forms if form in self.cases), None):
            return found
        same: Sequence[Case] = self._without_zeros.get(written, ())
        if len(same) > 1:
            same = [row for row in same if isinstance(row, Sample) and review_digest(row) == digest]
        return same[0] if len(same) == 1 else None

    @cached_property
    def _without_zeros(self) -> Mapping[str, Sequence[Case]]:
        """The rows whose ids are numbers that begin with zeros, by the number."""
        found: dict[str, list[Case]] = {}
        for name, case in self.cases.items():
            if name.isdecimal() and name.startswith("0"):
                found.setdefault(name.lstrip("0") or "0", []).append(case)
        return found

    def add(self, name: str, review: Review) -> None:
        """Keep a review; note a problem if it contradicts an earlier one of the same wording.

        Reviews that differ contradict each other if one person gave both, or if both are edits.
        """
        others = self.reviews.setdefault(name, [])
        others.append(review)
        for earlier in others[:-1]:
            differs = earlier.digest == review.digest and earlier.says() != review.says()
            if differs and name_key(earlier.reviewer) == name_key(review.reviewer):
                what = f"{review.reviewer!r} says something else of {shorten(name)!r}"
            elif differs and earlier.verdict == review.verdict == EDIT:
                what = f"{shorten(name)!r} is edited in another way"
            else:
                continue
            self.problems.append(Problem(review.place, f"{what} at {earlier.place}; keep one"))
            return

    def read_those_of(self, row: Sample) -> None:
        """Read the reviews of this wording of a row, which an edit has made."""
        digest, rest = review_digest(row), list[_Said]()
        for place, cells in self.others.pop(row.id, ()):
            if cells["digest"] != digest:
                rest.append((place, cells))
            elif not self.refuse(place, cells, _wrong_texts(cells, row)):
                self.add(row.id, _review(cells, place))
        if rest:
            self.others[row.id] = rest

    def refuse(self, place: str, cells: Mapping[str, str], reasons: Iterable[str]) -> bool:
        """Note a problem if there are reasons for one; return whether there are."""
        why = "; ".join(reasons)
        if why:
            # With its id: where cells have line breaks, the line is not the row of a spreadsheet.
            named = f"{shorten(repr(cells['id']))}: " if cells["id"] else ""
            self.problems.append(Problem(place, f"{named}{why}"))
        return bool(why)

    def is_settled(self, name: str) -> bool:
        """Return whether somebody reviewed the row as it is now, with its edits."""
        row = self.edited.get(name, self.cases[name])
        digest = review_digest(row) if isinstance(row, Sample) else ""
        return any(review.digest == digest for review in self.reviews.get(name, ()))

    def warnings(self, shown: str) -> Iterator[str]:
        """Yield what a reader must know: stale reviews, files without any, cells with errors."""
        yield from (f"{SECTION}: {line}" for line in self.blank)
        stale = [name for name in self.others if not self.is_settled(name)]
        if stale:
            ids = listed(map(shorten, sorted(stale)), _LISTED)
            of = f"reviews of {counted(len(stale), 'row')} are of an earlier wording"
            what = f"{of} and not counted ({ids})"
            yield f"{SECTION}: {what}: review them again (pytest --rag-label {len(stale)}; {shown})"

    def remarks(
        self,
        shown: str,
        rejected: Iterable[str],
        edited: Iterable[str],
        left_out: int | None,
    ) -> Iterator[str]:
        """Yield what the reviews changed, and how many are of other rows."""
        said = [(len([*rejected]), "row", "rejected"), (len([*edited]), "question", "edited")]
        changes = [f"{counted(count, thing)} {what}" for count, thing, what in said if count]
        if changes:
            yield f"{SECTION}: {', '.join(changes)} by people ({shown})"
        if self.unknown:
            lack = "the data lack" if left_out == 0 else "the data lack or dataset.limit leaves out"
            yield f"{SECTION}: {counted(self.unknown, 'review')} of rows that {lack} ({shown})"


def _read_file(file: DataFile, where: str, found: _Reading) -> None:
    try:
        file = with_its_encoding(file)
        rows = list(reader_of(file, where, SECTION).read(file))
    except ScenarioError as error:
        found.problems += error.problems
        return
    first = next((row for row in rows if isinstance(row, Row)), None)
    missing = [] if first is None else [name for name in _NEEDED if name not in first.fields]
    if first is not None and missing:
        known = ", ".join(shorten(name, 40) for name in list(first.fields)[:20])
        message = f"no column {' and no '.join(map(repr, missing))}; it has: {known}. "
        message += "A file of reviews has the columns that --rag-label N writes"
        found.problems.append(Problem(file.shown, message))
        return
    found.blank += file.notes  # that a cell has an error, which is read as blank, for instance
    read = [_read_row(file, row, found) for row in rows]
    if rows and not any(read):
        hint = "if you reviewed in the browser, put the file here that it downloaded"
        count = counted(len(rows), "row")
        found.blank.append(f"none of the {count} of {file.shown} has a verdict; {hint}")


def _read_row(file: DataFile, row: Row | BrokenRow, found: _Reading) -> bool:
    """Read a row; return whether it has a verdict, or is broken, so that nobody knows."""
    place = row_place(file.shown, row.line, row.number)
    if isinstance(row, BrokenRow):
        found.problems.append(Problem(place, row.reason))
        return True
    # Texts are quoted against formulas, by --rag-label and by the page.
    cells = {name: unquoted(cell_text(value)) for name, value in row.fields.items()}
    cells["verdict"], cells["digest"] = cells["verdict"].lower(), cells["digest"].lower()
    if not cells["verdict"]:
        return False
    case = found.case(cells["id"], cells["digest"])
    is_present = isinstance(case, Sample) and review_digest(case) == cells["digest"]
    present = case if isinstance(case, Sample) and is_present else None
    if found.refuse(place, cells, _wrong(cells, present)):
        return True
    if case is None:
        found.unknown += 1
    elif present is None:
        found.others.setdefault(case.id, []).append((place, cells))
    else:
        found.add(case.id, _review(cells, place))
    return True


def _review(cells: Mapping[str, str], place: str) -> Review:
    review = Review(cells["verdict"], shown_name(cells["reviewer"]), place, cells["digest"])
    if review.verdict != EDIT:
        return review
    return replace(review, question=cells["question"], reference=cells["reference"])


def _wrong(cells: Mapping[str, str], present: Sample | None) -> Iterator[str]:
    """Yield what is wrong with a review; ``present`` is its row, None if that has changed."""
    verdict = cells["verdict"]
    if not cells["id"]:
        yield "no 'id'"
    if verdict not in VERDICTS:
        guess = did_you_mean(verdict, VERDICTS)
        yield f"verdict {shorten(verdict)!r}: expected {', '.join(VERDICTS)}.{guess}"
    if not shown_name(cells["reviewer"]):
        yield "no 'reviewer'; write who says so"
    if not cells["digest"]:
        yield "no 'digest': it tells which wording was reviewed, and --rag-label writes it"
    elif not DIGEST.fullmatch(cells["digest"]):
        expected = "an x and 12 hexadecimal digits, as --rag-label writes"
        yield f"digest {shorten(cells['digest'])!r}: expected {expected}"
    if present is not None:
        yield from _wrong_texts(cells, present)


def _wrong_texts(cells: Mapping[str, str], sample: Sample) -> Iterator[str]:
    """Yield why the texts do not go with the verdict: what somebody wrote must not be lost."""
    was = {"question": sample.question or "", "reference": reference_of(sample)}
    if cells["verdict"] == ACCEPT:
        for name, text in was.items():
            if squeezed(cells[name]) != squeezed(text):
                yield f"accept, but {name!r} is not as it was shown; to change it write edit"
    if cells["verdict"] == EDIT:
        for name, text in was.items():
            if text.strip() and not cells[name]:
                yield f"edit, but no {name!r}; to take the row out write reject"
        changes = squeezed(cells["reference"]) not in ("", squeezed(was["reference"]))
        if changes and _references(cells["reference"], sample) is None:
            yield (
                "edit, but it cannot be told where each reference ends: one has paragraphs; keep "
                f"the number of paragraphs ({len(_paragraphs(was['reference']))}), or edit the data"
            )
