"""Nuggets list what an answer has to say: the share that it has, or that the contexts have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, Literal

from msgspec.structs import replace
from pydantic import Field

from pytest_rageval.errors import listed, shorten
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import (
    ANSWER,
    WORTH,
    Key,
    Measure,
    Source,
    Statement,
    SupportTable,
    context,
)
from pytest_rageval.model import Score
from pytest_rageval.stats.wording import counted

Of = Literal["vital", "all", "weighted"]

_WEIGHT_OF_OKAY: Final = Fraction(1, 2)
_SHOWN: Final = 3
_SHOWN_TEXT: Final = 80


class NuggetOptions(NoOptions):
    """Which nuggets count, how much, and where they are looked for."""

    of: Of = Field(
        "vital",
        description="which nuggets count: the vital ones, all alike, or weighted (okay half)",
    )
    strict: bool = Field(
        True, description="whether a nugget that is there in part counts nothing, else half"
    )
    source: Literal["answer", "contexts"] = Field(
        "answer",
        alias="in",
        description="where they are looked for: in the answer, or in all contexts together, which "
        "is what retrieval could have given",
    )

    def label(self, name: str) -> str:
        """Return the name of the scores: that of contexts is another figure."""
        return name if self.source == "answer" else f"{name}.{self.source}"

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with what the options need: vital or any nuggets, answer or contexts."""
        wanted = "vital_nuggets" if self.of == "vital" else "nuggets"
        needs = frozenset({wanted, self.source})
        return replace(info, needs=needs, of_row=frozenset({"nuggets", wanted}))


def _source(options: NuggetOptions, table: SupportTable) -> Source | None:
    """Return where nuggets are looked for; None where nothing was retrieved."""
    if options.source == "answer":
        return ANSWER
    places = range(1, len(table.row.sample.contexts or ()) + 1)
    return context(*places) if places else None


def _wants(options: NuggetOptions, table: SupportTable) -> Iterator[Key]:
    """Yield the cells of all nuggets, also of those that do not count.

    Otherwise the judge would see other lists for other options, and may decide otherwise.
    """
    source = _source(options, table)
    if source is not None:
        yield from ((nugget, source) for nugget in table.of("nugget"))


def _recall(options: NuggetOptions, name: str, table: SupportTable) -> Score:
    nuggets = [
        nugget
        for nugget in table.of("nugget")
        if options.of != "vital" or nugget.importance == "vital"
    ]
    source = _source(options, table)
    if not nuggets:
        kind = "vital nugget" if options.of == "vital" else "nugget"
        return Score(name, None, f"the row has no {kind}", left_out="label")
    if source is None:
        return Score(name, 0.0, "nothing was retrieved")
    weights = [_weight(options, nugget) for nugget in nuggets]
    worth = [_worth(options, table, nugget, source) for nugget in nuggets]
    value = sum(w * v for w, v in zip(weights, worth, strict=True)) / sum(weights)
    return Score(name, float(value), _reason(options, table, nuggets, source))


def _weight(options: NuggetOptions, nugget: Statement) -> Fraction:
    is_half = options.of == "weighted" and nugget.importance == "okay"
    return _WEIGHT_OF_OKAY if is_half else Fraction(1)


def _worth(
    options: NuggetOptions, table: SupportTable, nugget: Statement, source: Source
) -> Fraction:
    level = table.level(nugget, source) or "none"
    return Fraction(level == "full") if options.strict else Fraction(WORTH[level])


def _reason(
    options: NuggetOptions, table: SupportTable, nuggets: Sequence[Statement], source: Source
) -> str | None:
    """Return which nuggets are missing, and which are there in part; None for none."""
    missing = [nugget for nugget in nuggets if table.level(nugget, source) == "none"]
    partly = [nugget for nugget in nuggets if table.level(nugget, source) == "partial"]
    of = counted(len(nuggets), "vital nugget" if options.of == "vital" else "nugget")
    worth = "nothing" if options.strict else "half"
    said = [
        f"{len(some)} of {of} {words}: {_quoted(some)}"
        for words, some in (("missing", missing), (f"in part, which counts {worth}", partly))
        if some
    ]
    return "; ".join(said) or None


def _quoted(nuggets: Sequence[Statement]) -> str:
    return listed((f'"{shorten(one.text, _SHOWN_TEXT)}"' for one in nuggets), _SHOWN)


def _metric(name: str, options: NuggetOptions) -> SupportMetric:
    wants, recall = partial(_wants, options), partial(_recall, options)
    return SupportMetric(name, Measure(frozenset({"nugget"}), wants, recall))


_INFO: Final = MetricInfo(
    "nugget_recall",
    frozenset({"nuggets", "answer"}),
    of_row=frozenset({"nuggets"}),
    asks=frozenset({"judge"}),
    empty_is_worst=True,
    of_table=True,
    summary="the share of the row's nuggets, what an answer has to say, that the answer has",
)


def _of_trec(name: str, summary: str, of: Of, *, strict: bool) -> MetricDefinition:
    """Return a metric of the name that nuggetizer gives to these options."""
    options = NuggetOptions(of=of, strict=strict)
    info = options.adapt(replace(_INFO, name=name, summary=summary))
    return MetricDefinition(info, lambda shown, _: _metric(shown, options))


METRICS = (
    MetricDefinition(_INFO, _metric, NuggetOptions),
    _of_trec(
        "strict_vital_score",
        "nugget_recall as it is: vital nuggets that are there in full",
        "vital",
        strict=True,
    ),
    _of_trec("vital_score", "nugget_recall {strict: false}", "vital", strict=False),
    _of_trec("strict_all_score", "nugget_recall {of: all}", "all", strict=True),
    _of_trec("all_score", "nugget_recall {of: all, strict: false}", "all", strict=False),
    _of_trec("strict_weighted_score", "nugget_recall {of: weighted}", "weighted", strict=True),
)
