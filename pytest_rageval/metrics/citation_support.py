"""Whether what an answer cites supports it, sentence by sentence; a judge reads the sources.

``citation_recall`` and ``citation_precision`` are those of ALCE (Gao et al. 2023), and
``support_precision`` and ``support_recall`` those of the RAG track of TREC. One citation is one
source: the context that it points to, or all contexts of the document that it names, together.
Unlike there, a citation that points to nothing counts as one that does not support, those of a
sentence that point to the same contexts are one, all citations are read, and an answer without
any has no precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, Literal, TypeAlias

from pydantic import Field

from pytest_rageval.errors import listed, shorten
from pytest_rageval.metrics.base import MetricDefinition, NoOptions, defined
from pytest_rageval.metrics.citations import Sources
from pytest_rageval.metrics.refusals import FAILED
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import (
    HISTORY,
    WORTH,
    Citation,
    Key,
    Measure,
    Source,
    Statement,
    SupportTable,
    context,
)
from pytest_rageval.model import EMPTY_ANSWER, Score
from pytest_rageval.stats.wording import counted

_SHOWN: Final = 60
_LISTED: Final = 3
Cites: TypeAlias = Sequence[Citation]


class CitationOptions(NoOptions):
    """How many citations of a sentence are read."""

    max_citations: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="only the first citations of a sentence count, at most so many (ALCE: 3)",
    )


class SupportOptions(NoOptions):
    """What partial support is worth, and which citations of a sentence count."""

    strict: bool = Field(False, description="partial support is worth 0, not 0.5")
    cites: Literal["all", "first"] = Field(
        "all",
        description="whether all citations of a sentence count, or the first one alone (TREC's "
        "official figure: runs sort them by support)",
    )

    @property
    def most(self) -> int | None:
        """How many citations of a sentence count, None for all."""
        return 1 if self.cites == "first" else None


def _measure(
    wants: Callable[[SupportTable, Statement], Iterable[Key]],
    score: Callable[[str, SupportTable], Score],
) -> Measure:
    """Return a measure that asks for no cell where ``_ruled`` has the score without a judge."""

    def wanted(table: SupportTable) -> Iterator[Key]:
        if _ruled("", table) is None:
            for sentence in table.of("sentence"):
                yield from wants(table, sentence)

    def scored(name: str, table: SupportTable) -> Score:
        return _ruled(name, table) or score(name, table)

    return Measure(frozenset({"sentence"}), wanted, scored)


def _ruled(name: str, table: SupportTable) -> Score | None:
    """Return the score that needs no judge of support, None where one is needed."""
    sample, reading = table.row.sample, table.row.reading
    # Without a question no judge could be asked whether the answer refuses.
    if reading is not None and reading.kind == "failed" and sample.question is not None:
        return Score(name, None, error=FAILED)
    if reading is not None and reading.kind == "refused":
        return Score(name, None, "refused", left_out="answer")
    if reading is not None and reading.kind == "empty":
        return Score(name, 0.0, EMPTY_ANSWER)
    if not table.of("sentence"):
        return Score(name, None, "no sentence to cite for", left_out="answer")
    if sample.citations and sample.cited_sentences is None:
        reason = "citations are given for the answer as a whole, not by sentence"
        return Score(name, None, reason, left_out="run")
    return None


def _together(cites: Cites) -> Source:
    """Return what citations point to, as one source."""
    return context(*(at for cited in cites for at in cited.places))


def _rest(cites: Cites, cited: Citation) -> Source:
    return _together([other for other in cites if other != cited])


def _points(cites: Cites) -> bool:
    """Return whether there are citations, and each points to something."""
    return bool(cites) and all(cited.places for cited in cites)


# Called again as cells fill: a level is None until its cell was asked. HISTORY is asked for the
# explanation only.
def _wants_recall(most: int | None, table: SupportTable, sentence: Statement) -> Iterator[Key]:
    cites = sentence.cites[:most]
    if not _points(cites):
        return
    key = sentence, _together(cites)
    yield key
    if table.row.history and table.level(*key) in ("none", "partial"):
        yield sentence, HISTORY


def _wants_precision(most: int | None, table: SupportTable, sentence: Statement) -> Iterator[Key]:
    yield from _wants_recall(most, table, sentence)
    cites = sentence.cites[:most]
    if not _points(cites):
        return
    for cited in cites:
        yield sentence, context(*cited.places)
    if table.is_full(sentence, _together(cites)):
        for cited in cites:
            if table.level(sentence, context(*cited.places)) in ("none", "partial"):
                yield sentence, _rest(cites, cited)


def _is_supported(table: SupportTable, sentence: Statement, cites: Cites) -> bool:
    return _points(cites) and table.is_full(sentence, _together(cites))


def _is_needed(table: SupportTable, sentence: Statement, cites: Cites, cited: Citation) -> bool:
    """Return whether a citation of a supported sentence is one that it needs."""
    alone = context(*cited.places)
    return table.is_full(sentence, alone) or not table.is_full(sentence, _rest(cites, cited))


def _recall(most: int | None, name: str, table: SupportTable) -> Score:
    sentences = table.of("sentence")
    texts = [
        _why_unsupported(table, sentence, sentence.cites[:most])
        for sentence in sentences
        if not _is_supported(table, sentence, sentence.cites[:most])
    ]
    return Score(name, (len(sentences) - len(texts)) / len(sentences), _listed(texts))


def _precision(most: int | None, name: str, table: SupportTable) -> Score:
    total, wasted, texts = 0, 0, []
    for sentence in table.of("sentence"):
        cites = sentence.cites[:most]
        total += len(cites)
        if not _is_supported(table, sentence, cites):
            wasted += len(cites)
            if cites:
                texts.append(_why_unsupported(table, sentence, cites))
            continue
        needless = [cited for cited in cites if not _is_needed(table, sentence, cites, cited)]
        wasted += len(needless)
        texts += [_why_needless(table, sentence, cites, cited) for cited in needless]
    if not total:
        return Score(name, None, "no citation", left_out="answer")
    return Score(name, (total - wasted) / total, _listed(texts))


def _wants_support(
    options: SupportOptions, table: SupportTable, sentence: Statement
) -> Iterator[Key]:
    sources = [context(*cited.places) for cited in sentence.cites[: options.most] if cited.places]
    levels = [table.level(sentence, source) for source in sources]
    yield from ((sentence, source) for source in sources)
    if table.row.history and levels and all(level in ("none", "partial") for level in levels):
        yield sentence, HISTORY


def _worth(options: SupportOptions, table: SupportTable, sentence: Statement) -> Fraction:
    """Return the mean of what the citations of a sentence are worth, 0 without any."""
    cites = sentence.cites[: options.most]
    sources = [context(*cited.places) for cited in cites if cited.places]
    levels = [table.level(sentence, source) or "none" for source in sources]
    counting = [level for level in levels if level == "full" or not options.strict]
    return sum((Fraction(WORTH[level]) for level in counting), Fraction()) / max(len(cites), 1)


def _support(options: SupportOptions, of_all: bool, name: str, table: SupportTable) -> Score:
    sentences = [sentence for sentence in table.of("sentence") if of_all or sentence.cites]
    if not sentences:
        return Score(name, None, "no citation", left_out="answer")
    worths = [_worth(options, table, sentence) for sentence in sentences]
    texts = [
        _why_unsupported(table, sentence, cites)
        for sentence in sentences
        for cites in [[cited] for cited in sentence.cites[: options.most]] or [[]]
        if not _is_supported(table, sentence, cites)
    ]
    return Score(name, float(sum(worths, Fraction()) / len(worths)), _listed(texts))


def _listed(texts: Sequence[str]) -> str | None:
    return listed(texts, _LISTED, "; ") or None


def _why_unsupported(table: SupportTable, sentence: Statement, cites: Cites) -> str:
    """Say what is wrong with a sentence that its citations do not support fully."""
    text = _quoted(sentence)
    if not cites:
        return f"{text} cites nothing"
    lost = [cited for cited in cites if not cited.places]
    if lost:
        there = counted(len(table.row.sample.contexts or ()), "context")
        points = "points" if len(lost) == 1 else "point"
        return f"{text} cites {_named(table, lost)}, which {points} to nothing ({there})"
    source = _together(cites)
    is_part = table.level(sentence, source) == "partial"
    if len(cites) == 1:
        which = "which supports only a part of it" if is_part else "which does not support it"
    else:
        which = "which together " + (
            "support only a part of it" if is_part else "do not support it"
        )
    reason, other = _reason(table, sentence, source), _what_else_supports(table, sentence)
    return f"{text} cites {_named(table, cites)}, {which}{reason}{other}"


def _why_needless(table: SupportTable, sentence: Statement, cites: Cites, cited: Citation) -> str:
    """Say that ``cited`` is not needed, and which citations support the sentence without it."""
    rest = [other for other in cites if other != cited]
    support = "supports it" if len(rest) == 1 else "together support it"
    reason = _reason(table, sentence, context(*cited.places))
    return (
        f"{_quoted(sentence)} does not need {_named(table, [cited])}: {_named(table, rest)} "
        f"{support}, and {_mark(cited)} alone does not{reason}"
    )


def _what_else_supports(table: SupportTable, sentence: Statement) -> str:
    """Say what else is known to support a sentence, in words to add; "" for nothing."""
    own = {context(*cited.places): cited for cited in sentence.cites if cited.places}
    every = dict.fromkeys([*own, *table.row.contexts])
    full = [source for source in every if table.is_full(sentence, source)]
    if full:
        names = [
            _with_document(table, _mark(own[source]) if source in own else source.name, source.at)
            for source in full
        ]
        return f"; {_and(names)} {'supports' if len(names) == 1 else 'support'} it"
    return "; only the history supports it" if table.is_full(sentence, HISTORY) else ""


def _reason(table: SupportTable, sentence: Statement, source: Source) -> str:
    reason = table.reason(sentence, source).rstrip(" .。")
    return f": {reason}" if reason else ""


def _quoted(sentence: Statement) -> str:
    return f'"{shorten(sentence.text.rstrip(" .。"), _SHOWN)}"'


def _named(table: SupportTable, cites: Cites) -> str:
    return _and([_with_document(table, _mark(cited), cited.places) for cited in cites])


def _mark(cited: Citation) -> str:
    return f"[{shorten(cited.text, _SHOWN)}]"


def _with_document(table: SupportTable, name: str, places: Sequence[int]) -> str:
    """Return what a source is called, with the name of its document where that says more."""
    documents = Sources(table.row.sample).documents
    document = documents[places[0] - 1] if places else None
    is_said = document is None or document in name
    return name if is_said else f"{name} ({shorten(document or '', _SHOWN)})"


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _definition(
    name: str,
    options: type[NoOptions],
    measure: Callable[..., Measure],
    summary: str,
) -> MetricDefinition:
    return defined(
        name,
        "answer contexts",
        summary,
        lambda shown, chosen: SupportMetric(shown, measure(chosen)),
        options,
        asks=frozenset({"judge"}),
        section="citations",
        empty_is_worst=True,
        of_table=True,
    )


def recall_measure(options: CitationOptions) -> Measure:
    """Return the measure: supported sentences divided by sentences."""
    most = options.max_citations
    return _measure(partial(_wants_recall, most), partial(_recall, most))


def precision_measure(options: CitationOptions) -> Measure:
    """Return the measure: needed citations divided by citations.

    A citation is needed where its sentence is supported, and either the citation alone supports
    the sentence or the rest without it does not.
    """
    most = options.max_citations
    return _measure(partial(_wants_precision, most), partial(_precision, most))


def support_measure(options: SupportOptions, *, of_all: bool) -> Measure:
    """Return the mean worth of citations by sentence, over all or only over those that cite."""
    return _measure(partial(_wants_support, options), partial(_support, options, of_all))


METRICS = (
    _definition(
        "citation_recall",
        CitationOptions,
        recall_measure,
        "the share of sentences that what they cite supports in full",
    ),
    _definition(
        "citation_precision",
        CitationOptions,
        precision_measure,
        "the share of citations that support their sentence and are not superfluous",
    ),
    _definition(
        "support_precision",
        SupportOptions,
        partial(support_measure, of_all=False),
        "how far citations support their sentences, over the sentences that cite",
    ),
    _definition(
        "support_recall",
        SupportOptions,
        partial(support_measure, of_all=True),
        "how far citations support their sentences, over all sentences",
    ),
)
