"""The control rows of a metric, our own and users', and whether a judge tells them apart."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.datasets.load import data_file, reader_of
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.metrics.base import MetricInfo, missing_fields
from pytest_rageval.model import TOLERANCE, InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.text.tokenize import has_cjk

_ROWS_PER_SLIP = 3

RowScore = float | None
"""A score of a control row; None, or what is not finite, where it has none."""

_LARGEST = 1e300
"""Stands for an infinite end of a range: a score must be finite."""


class ControlRule(NamedTuple):
    """What counts as told apart: ``margin`` is a share of ``range``, the metric's range.

    Where the range is infinite there is no share of it: then any difference counts.
    """

    margin: float
    range: tuple[float, float] = (0.0, 1.0)

    def tells_apart(
        self, high: Sequence[RowScore], low: Sequence[RowScore], left: tuple[int, int] = (0, 0)
    ) -> bool | None:
        """Return whether the rows are told apart; None while the rows that are left decide.

        But for some slips, each value of ``high`` must be above each of ``low`` by the margin. A
        row without a score is a slip, and so is a row that must be left out for the others to be
        told apart. ``slips_allowed`` says how many there may be. ``left`` are how many rows are
        still to be asked, high and low ones: True if these may all be slips, False if it is too
        late even if they get the ends of the range. With none left it is never None.
        """
        if not len(high) + left[0] or not len(low) + left[1]:
            return False  # nothing was told apart
        allowed = slips_allowed(len(high) + left[0], len(low) + left[1])
        if self._slips(high, low) + sum(left) <= allowed:
            return True
        at_best = ([*high, *[self._end(1)] * left[0]], [*low, *[self._end(0)] * left[1]])
        return None if sum(left) and self._slips(*at_best) <= allowed else False

    def _end(self, at: int) -> float:
        """Return an end of the range, in a form that counts as a score."""
        return max(-_LARGEST, min(_LARGEST, self.range[at]))

    def _slips(self, high: Sequence[RowScore], low: Sequence[RowScore]) -> int:
        """Return how many rows have no score, or must be left out for the others to be apart."""
        good, bad = sorted(_scored(high)), sorted(_scored(low), reverse=True)
        missing = len(high) + len(low) - len(good) - len(bad)
        # The lowest of the high rows are left out, and as many of the low ones as that takes.
        return missing + min(
            out + sum(not self._apart(good[out], one) for one in bad) if out < len(good) else out
            for out in range(len(good) + 1)
        )

    def _apart(self, high: float, low: float) -> bool:
        width = self.range[1] - self.range[0]
        if 0.0 < self.margin * width < math.inf:
            return high - low >= self.margin * width - TOLERANCE
        return high - low > TOLERANCE


def slips_allowed(high: int, low: int) -> int:
    """Return how many slips so many rows may have: 2 of 6 and 6, a third of the fewer ones.

    >>> slips_allowed(6, 6), slips_allowed(9, 40)
    (2, 3)
    """
    return min(high, low) // _ROWS_PER_SLIP


def _scored(values: Iterable[RowScore]) -> Iterator[float]:
    return (value for value in values if value is not None and math.isfinite(value))


Expect = Literal["high", "low"]
Language = Literal["en", "zh"]

SETS: Final = (1,)
"""The numbers of our own sets, the newest first. A set is never edited: a better one is new."""
OF_A_FILE: Final = 0
"""The number of the set that a user's file is."""
FEWEST: Final = 6
"""Rows of either kind that a user's file must have: with fewer, judges pass by chance."""
SECTION: Final = "judge.controls.file"


@dataclass(frozen=True, slots=True)
class ControlRow:
    """A sample, and whether its score should be high or low: the score, not the answer's worth.

    Where lower scores are better, the good rows are those that should be low. ``place`` is where
    it is in a user's file, ``controls.jsonl:7``, "" for our own.
    """

    metric: str
    expect: Expect
    sample: Sample
    place: str = ""


@dataclass(frozen=True, slots=True)
class ControlSet:
    """The rows of one metric in the order in which they are asked, high and low ones in turn.

    ``number`` is one of ``SETS``, or ``OF_A_FILE``.
    """

    number: int
    rows: tuple[ControlRow, ...] = ()


def built_in_rows(metric: str, language: str, number: int = SETS[0]) -> ControlSet:
    """Return our rows for a metric, by its own name.

    ``language`` begins with ``zh``, or means English. Rubrics and metrics of users, and metrics
    that ask no model, have no rows.
    """
    spoken: Language = "zh" if language.lower().startswith("zh") else "en"
    recipe = _recipes(number).get(metric)
    if recipe is None:
        return ControlSet(number)
    topics = _topics(number, spoken)
    pairs = zip(topics, [*topics[1:], topics[0]], strict=True)
    made = (
        ControlRow(metric, expect, _sample(f"{expect}-{at}", recipe, expect, topic, other))
        for at, (topic, other) in enumerate(pairs, start=1)
        for expect in _EXPECTS
    )
    return ControlSet(number, tuple(made))


def language_of(samples: Iterable[Sample]) -> Language:
    """Return the language of our rows for data: ``zh`` if at least half of the samples have CJK.

    It is looked for in question and answer; samples with neither do not count.
    """
    texts = [(sample.question or "") + (sample.answer or "") for sample in samples]
    written = [text for text in texts if text.strip()]
    return "zh" if written and 2 * sum(map(has_cjk, written)) >= len(written) else "en"


def read_rows(written: str, base_dir: Path, where: str) -> dict[str, ControlSet]:
    """Return the control rows in a user's file by what they call their metric.

    Any format and field of a data set will do; each row also has ``metric`` and ``expect``.
    ``written`` is the path, relative to ``base_dir``, ``where`` the place in the scenario that
    names it. Raises ScenarioError with all wrong rows; without any, with metrics of too few.
    """
    file = data_file(DatasetSpec(path=written), base_dir, where, SECTION)
    key_map, problems = KeyMap({}), []
    rows: dict[str, list[ControlRow]] = {}
    for index, row in enumerate(reader_of(file, where, SECTION).read(file)):
        place = row_place(file.shown, row.line, row.number)
        case = key_map.case(row, index)
        wrong = case.reason if isinstance(case, InvalidRow) else _wrong_in(case)
        if wrong:
            problems.append(Problem(place, wrong))
        elif isinstance(case, Sample):
            metric, expect = str(case.metadata["metric"]).strip(), case.metadata["expect"]
            rows.setdefault(metric, []).append(ControlRow(metric, expect, case, place))
    if not rows and not problems:
        problems.append(Problem(file.shown, f"no rows; {_WANTED}"))
    if not problems:
        problems = [Problem(file.shown, one) for one in chain(*map(_too_few, rows.values()))]
        problems += chain(*map(_contradicted, rows.values()))
    if problems:
        raise ScenarioError(problems)
    return {metric: ControlSet(OF_A_FILE, _in_turn(given)) for metric, given in rows.items()}


def row_problems(rows: Iterable[ControlRow], info: MetricInfo) -> Iterator[Problem]:
    """Yield a problem for each row that lacks what its metric needs, or has an empty answer."""
    for row in rows:
        if info.empty_is_worst and row.sample.answer is not None and not row.sample.answer.strip():
            yield Problem(
                row.place, "an empty answer is scored without the judge, and tests nothing"
            )
        if missing := missing_fields(row.sample, info):
            needed = " and ".join(map(repr, missing))
            message = f"metric {row.metric!r} needs {needed}; this row lacks them"
            yield Problem(row.place, message)


_EXPECTS: Final[tuple[Expect, ...]] = get_args(Expect)
_OF_ROWS: Final = frozenset({"metric", "expect"})
_WANTED: Final = (
    f"a metric needs {FEWEST} rows or more with expect: high, and as many with expect: low"
)


def _wrong_in(sample: Sample) -> str | None:
    metric, expect = sample.metadata.get("metric"), sample.metadata.get("expect")
    if not isinstance(metric, str) or not metric.strip():
        found = "there is none" if metric is None else f"found {shorten(repr(metric))}"
        return f"metric: expected the name of a metric of the scenario, {found}"
    if expect not in _EXPECTS:
        found = "there is none" if expect is None else f"found {shorten(repr(expect))}"
        return f"expect: expected high or low, what the metric's score should be, {found}"
    if sample.skip is not None:
        return "skip: every control row is asked; take the row away, or its skip"
    return None


def _too_few(rows: list[ControlRow]) -> Iterator[str]:
    # The same row twice is one question to the judge.
    different = {(row.expect, repr(_content(row.sample))) for row in rows}
    counts = Counter(expect for expect, _ in different)
    if min(counts[expect] for expect in _EXPECTS) < FEWEST:
        found = " and ".join(f"{counts[expect]} different {expect}" for expect in _EXPECTS)
        yield (
            f"metric {shorten(rows[0].metric)!r} has {found}; {_WANTED}: with fewer, a judge that "
            "guesses passes too often"
        )


def _contradicted(rows: list[ControlRow]) -> Iterator[Problem]:
    """Yield a problem for each row of which an equal one before it expects the opposite."""
    before: dict[str, ControlRow] = {}
    for row in rows:
        # A metric of one's own may read tags, and fields that are none of a sample.
        fields = {name: row.sample.metadata[name] for name in row.sample.metadata.keys() - _OF_ROWS}
        own = dict(sorted(fields.items()))
        equal = replace(_content(row.sample), metadata=own, tags=row.sample.tags)
        first = before.setdefault(repr(equal), row)
        if first.expect != row.expect:
            message = f"this row is expected {row.expect}, and {first.expect} in {first.place}"
            yield Problem(row.place, message)


def _content(sample: Sample) -> Sample:
    return replace(sample, id="", index=0, row=0, metadata={}, tags=())


def _in_turn(rows: list[ControlRow]) -> tuple[ControlRow, ...]:
    """Return the rows that differ, high and low ones in turn: one that repeats tells nothing."""
    once = {(row.expect, repr(_content(row.sample))): row for row in reversed(rows)}
    different = list(reversed(once.values()))
    kinds = ([row for row in different if row.expect == expect] for expect in _EXPECTS)
    return tuple(row for pair in zip_longest(*kinds) for row in pair if row is not None)


Recipe = Mapping[str, Mapping[str, Any]]
"""What rows are made of: for ``both`` kinds, for ``high`` and for ``low`` the fields of Sample.

Each field has the name of a topic's text, or a list of such names. ``next.answer`` is the answer of
the next topic, which has nothing to do with this one.
"""


def _sample(
    name: str, recipe: Recipe, expect: Expect, topic: Mapping[str, str], other: Mapping[str, str]
) -> Sample:
    texts = {**topic, **{f"next.{key}": text for key, text in other.items()}}
    fields: dict[str, Any] = {
        field: tuple(texts[one] for one in key) if isinstance(key, list) else texts[key]
        for field, key in {**recipe["both"], **recipe[expect]}.items()
    }
    return Sample(name, **fields)


@cache
def _recipes(number: int) -> Mapping[str, Recipe]:
    return dict(json.loads(_text(number, "metrics.json")))


@cache
def _topics(number: int, language: Language) -> tuple[Mapping[str, str], ...]:
    return tuple(map(json.loads, _text(number, f"{language}.jsonl").splitlines()))


def _text(number: int, name: str) -> str:
    return files(__package__).joinpath(f"set_{number}", name).read_text(encoding="utf-8")
