"""Whether an answer cites sources that exist, everywhere, and the right ones; no judge is asked.

The scenario's ``citations`` says how answers cite. What is cited is counted by occurrence for
``citation_validity``, by sentence for ``citation_coverage``, and once a source for
``source_precision`` and ``source_recall``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from pytest_rageval.errors import listed, shorten
from pytest_rageval.metrics.base import (
    AnswerReading,
    MetricDefinition,
    ScoringContext,
    defined,
)
from pytest_rageval.metrics.refusals import FAILED
from pytest_rageval.model import Sample, Score
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.citation_markers import CitationRule, Source
from pytest_rageval.text.citations import CitedText

_SHOWN = 100
_LISTED = 3


@dataclass(frozen=True)
class Sources:
    """The sources that the answer of a sample could cite: contexts, by place, id and document.

    A cited number counts from 1 here, whatever number the answer writes for the first source.
    ``base`` and ``of`` are those of the reading: the first source's number in fields of the row,
    and what a citation names. Where that is ids, a number is an id, no place, and ``base`` is 1.
    Where it is doc_name, a place or an id is its document, if that is known.
    """

    sample: Sample
    base: int = 1
    of: str = "contexts"

    @cached_property
    def count(self) -> int:
        """How many sources there are: the contexts, else the retrieved ids."""
        contexts = self.sample.contexts
        return len(contexts if contexts is not None else self._retrieved)

    @cached_property
    def documents(self) -> Sequence[str | None]:
        """The document of each place, None where it is not known."""
        return tuple(_name(doc) for doc in self.sample.context_docs or ()) or (None,) * self.count

    @cached_property
    def ids(self) -> Sequence[str | None]:
        """The id of each place, None where it is not known."""
        return tuple(map(_name, self._retrieved)) or (None,) * self.count

    @property
    def _retrieved(self) -> Sequence[str | None]:
        return self.sample.context_ids or self.sample.retrieved_ids or ()

    @property
    def first(self) -> int:
        """The number that the answer writes for the first source; 0 in TREC's form."""
        return self.base if self.sample.cited_sentences is None else 0

    def as_written(self, source: Source) -> str:
        """Return a citation as the answer writes it."""
        return str(source - 1 + self.first if isinstance(source, int) else source)

    def in_words(self, expected: Collection[Source]) -> str:
        """Return expected sources as the row writes them; say so if the answer counts otherwise."""
        written = sorted(str(s - 1 + self.base if isinstance(s, int) else s) for s in expected)
        text = shorten(", ".join(written), _SHOWN)
        if self.first == self.base or not any(isinstance(one, int) for one in expected):
            return text
        return f"{text} (counted from {self.base}, the answer from {self.first})"

    def places(self, source: Source) -> tuple[int, ...]:
        """Return the places, from 1, that a citation points to; () for none."""
        if isinstance(source, int) and self.of != "ids":
            return (source,) if 1 <= source <= self.count else ()
        wanted = _name(self.as_written(source))
        named = [*enumerate(zip_longest(self.ids, self.documents), start=1)]
        found = tuple(at for at, names in named if wanted in names)
        if found or not isinstance(source, int):
            return found
        # "0012" was read as the number 12.
        return tuple(
            at for at, (name, _) in named if name and re.sub("^0+(?=.)", "", name) == wanted
        )

    @cached_property
    def expected(self) -> frozenset[Source] | None:
        """What should be cited, as places and names; None where the row names nothing.

        The first of the row's ``reference_citations``, ``reference_ids`` (grade 1 or more) and
        ``doc_name`` says it.
        """
        sample = self.sample
        if sample.reference_citations is not None:
            return frozenset(map(self._meant, sample.reference_citations)) or None
        if sample.reference_ids is not None:
            ids = (_name(doc) for doc, grade in sample.reference_ids.items() if grade >= 1)
            return frozenset(self._document(name) for name in ids if name) or None
        return None if sample.doc_name is None else frozenset((_name(sample.doc_name) or "",))

    def hits(self, source: Source) -> frozenset[Source]:
        """Return what of ``expected`` a citation hits."""
        names: set[Source | None] = {self.key(source)}
        for place in self.places(source):
            names |= {place, self._at(self.ids, place), self._at(self.documents, place)}
        known = frozenset(name for name in names if name is not None)
        return known & (self.expected or frozenset())

    def key(self, source: Source) -> Source:
        """Return the place or the name of a source: equal ones are one source."""
        is_place = isinstance(source, int) and self.of != "ids"
        return self._document(source if is_place else _name(self.as_written(source)) or "")

    def _meant(self, reference: Source) -> Source:
        """Return the place or the name that the row means by one of its reference_citations."""
        if isinstance(reference, int) and self.of != "ids":
            return self._document(reference + 1 - self.base)
        return self._document(_name(str(reference)) or "")

    def _document(self, source: Source) -> Source:
        """Return the document of a place or an id where citations name documents, else these."""
        places = self.places(source) if self.of == "doc_name" else ()
        # An id of two documents is neither.
        names = {self._at(self.documents, place) for place in places}
        return (names.pop() if len(names) == 1 else None) or source

    @staticmethod
    def _at(names: Sequence[str | None], place: int) -> str | None:
        return names[place - 1] if place <= len(names) else None


def rule_of(sample: Sample, rule: CitationRule) -> CitationRule:
    """Return the rule by which an answer is read, with the names of its sample's sources.

    Where citations are ids, also with the ids that are numbers. Those of more than four digits are
    left out: no style of ours reads such numbers.
    """
    ids = (*(sample.retrieved_ids or ()), *(sample.reference_ids or ()))
    named = (*ids, *(sample.context_ids or ()), *(sample.context_docs or ()), sample.doc_name)
    named += tuple(map(str, sample.reference_citations or ()))
    rule = replace(rule, names=frozenset(filter(None, map(_name, named))))
    if rule.of != "ids":
        return rule
    return replace(rule, ids=frozenset(int(n) for n in ids if re.fullmatch(r"\d{1,4}", n)))


def _name(text: str | None) -> str | None:
    return None if text is None else unicodedata.normalize("NFC", str(text)).strip()


class CitationMetric:
    """Counts something about the citations of an answer: ``count(name, sources, cited)``."""

    def __init__(self, name: str, count: Callable[[str, Sources, CitedText], Score]) -> None:
        self._name = name
        self._count = count

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return a share, 0..1; 0.0 for an empty answer, None where there is nothing to count.

        None with an error where the judge did not say whether the answer refuses.
        """
        reading = context.reading
        assert reading is not None
        assert reading.cited is not None
        is_validity = self._name == "citation_validity"
        if reading.kind == "refused" and not (is_validity and reading.cited.citations):
            return self._not_applicable("refused")
        if _is_empty(sample, reading):
            return Score(self._name, 0.0, "empty answer")
        if not reading.cited.sentences:
            return self._not_applicable("no sentence")
        if sample.contexts is None and sample.retrieved_ids is None:
            return Score(self._name, None, "the row has no contexts and no retrieved_ids")
        found = self._count(self._name, Sources(sample, reading.base, reading.of), reading.cited)
        # It matters whether the answer refuses, unless no judge could be asked (no question), or
        # citations were counted as valid or not, which goes for a refusal, too.
        is_open = reading.kind == "failed" and sample.question is not None and not is_validity
        if is_open and found.left_out in (None, "answer"):
            return Score(self._name, None, error=FAILED)
        return found

    def _not_applicable(self, reason: str) -> Score:
        return Score(self._name, None, reason, left_out="answer")


def _is_empty(sample: Sample, reading: AnswerReading) -> bool:
    return reading.kind == "empty" or not (sample.answer or "").strip()


def _no_citation(name: str) -> Score:
    return Score(name, None, "no citation", left_out="answer")


def _validity(name: str, sources: Sources, cited: CitedText) -> Score:
    if not cited.citations:
        return _no_citation(name)
    lost = [source for source in cited.citations if not sources.places(source)]
    if not lost:
        return Score(name, 1.0)
    points = f"{_listed(sources, lost)} {'points' if len(set(lost)) == 1 else 'point'} to nothing"
    there = counted(sources.count, "context") + (", from [0]" if sources.first == 0 else "")
    reason = f"{points} ({there}){_sentence_with(cited, lost[0])}"
    value = 1.0 - len(lost) / len(cited.citations)
    return Score(name, value, reason, {"invalid": [*map(sources.as_written, lost)]})


def _coverage(name: str, sources: Sources, cited: CitedText) -> Score:
    to_cite = [sentence for sentence in cited.sentences if sentence.is_counted]
    # An answer of two words may have its citation all the same: "Paris [1]".
    to_cite = to_cite or [sentence for sentence in cited.sentences if sentence.citations]
    if not to_cite:
        return Score(name, None, "no sentence to cite for", left_out="answer")
    if sources.sample.citations and sources.sample.cited_sentences is None:
        reason = "citations are given for the answer as a whole, not by sentence"
        return Score(name, None, reason, left_out="run")
    bare = [
        sentence
        for sentence in to_cite
        if not any(sources.places(source) for source in sentence.citations)
    ]
    if not bare:
        return Score(name, 1.0)
    texts = "; ".join(f'"{shorten(sentence.text, _SHOWN)}"' for sentence in bare[:_LISTED])
    reason = (
        f"{len(bare)} of {len(to_cite)} sentences cite nothing, or nothing that exists: {texts}"
    )
    return Score(name, 1.0 - len(bare) / len(to_cite), reason)


def _distinct(sources: Sources, cited: CitedText) -> Mapping[Source, frozenset[Source]]:
    """Return the distinct sources that are cited, each with what it hits of what is expected."""
    found: dict[Source, frozenset[Source]] = {}
    for source in dict.fromkeys(cited.citations):
        key = sources.key(source)
        found[key] = found.get(key, frozenset()) | sources.hits(source)
    return found


def _precision(name: str, sources: Sources, cited: CitedText) -> Score:
    if sources.expected is None:
        return _none_expected(name)
    distinct = _distinct(sources, cited)
    if not distinct:
        return _no_citation(name)
    wrong = [source for source, hit in distinct.items() if not hit]
    if not wrong:
        return Score(name, 1.0)
    verb = "is" if len(wrong) == 1 else "are"
    reason = f"{_listed(sources, wrong)} {verb} not among the expected sources: "
    reason += f"{sources.in_words(sources.expected)}{_documents(sources, wrong[0])}"
    return Score(name, 1.0 - len(wrong) / len(distinct), reason)


def _recall(name: str, sources: Sources, cited: CitedText) -> Score:
    expected = sources.expected
    if expected is None:
        return _none_expected(name)
    hit = frozenset[Source]().union(*_distinct(sources, cited).values())
    if hit == expected:
        return Score(name, 1.0)
    reason = f"not cited: {sources.in_words(expected - hit)}"
    return Score(name, len(hit) / len(expected), reason)


def _none_expected(name: str) -> Score:
    reason = "the row names no reference_citations, reference_ids or doc_name"
    return Score(name, None, reason, left_out="label")


def _listed(sources: Sources, cited: Sequence[Source]) -> str:
    return listed(dict.fromkeys(f"[{sources.as_written(one)}]" for one in cited), _LISTED)


def _sentence_with(cited: CitedText, source: Source) -> str:
    for sentence in cited.sentences:
        if source in sentence.citations:
            return f': "{shorten(sentence.text, _SHOWN)}"'
    return ""


def _documents(sources: Sources, source: Source) -> str:
    """Return in words which document a cited source is from; "" where that is not known."""
    places = sources.places(source)
    # The search may have returned more ids than the row has contexts, or documents of them.
    known = dict(enumerate(sources.documents, start=1))
    document = known.get(places[0]) if places else None
    if document in (None, source):
        return ""
    return f" ([{sources.as_written(source)}] is from {document})"


def _definition(
    name: str,
    count: Callable[[str, Sources, CitedText], Score],
    *,
    summary: str,
    reads: frozenset[str] = frozenset(),
) -> MetricDefinition:
    return defined(
        name,
        "answer",
        summary,
        lambda shown, _: CitationMetric(shown, count),
        section="citations",
        reads=reads,
    )


_EXPECTED = frozenset({"reference_citations", "reference_ids", "doc_name"})
"""The fields that say what should be cited."""

METRICS = (
    _definition(
        "citation_validity",
        _validity,
        summary="the share of citations, by occurrence, that point to something",
    ),
    _definition(
        "citation_coverage",
        _coverage,
        summary="the share of sentences with a citation that points to something",
    ),
    _definition(
        "source_precision",
        _precision,
        summary="the share of the sources cited that are gold",
        reads=_EXPECTED,
    ),
    _definition(
        "source_recall",
        _recall,
        summary="the share of the gold sources that are cited",
        reads=_EXPECTED,
    ),
)
