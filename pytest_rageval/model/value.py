"""What the values share: their base class, names that several layers use, and plain JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, make_dataclass
from datetime import timedelta
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, ClassVar, Final, Literal, NoReturn, get_args

from msgspec import Meta, Struct

# Scores and bounds are compared with this tolerance: a perfect context_precision of ragas is
# 0.9999999999, and sums of weights round.
TOLERANCE: Final = 1e-9

WEIGHTED_SCORE: Final = "weighted_score"
"""The name under which thresholds, gates and files speak of the weighted score."""

TARGET: Final = "target"
"""The name under which errors and details of a sample speak of the system under test."""

RETRIEVAL: Final = "retrieval"
"""The name under which the details of a sample speak of its search result."""

SUPPORT: Final = "support"
"""The name of the support table in the details of a sample, and of its cells as one metric."""

SUPPORT_LEVELS: Final[Mapping[str, float]] = {
    "none": 0.0,
    "partial": 0.5,
    "full": 1.0,
}
"""How far a source supports a statement: the words, and the worth of each with half credit."""

FILLED: Final = "filled"
"""The name under which the details of a sample hold a judge's grades of its holes."""

ANSWER_KIND: Final = "answer_kind"
"""The name under which the details of a sample say that its answer refuses, in whole or in part."""

ANSWERABLE: Final = "answerable"
"""The field that says whether the documents hold an answer; also names the judge's question."""

MADE_BY: Final = "made_by"
"""The column that says who wrote a question."""

BY_MODEL: Final = "model"
"""What that column says of questions that a model wrote."""


def is_by_model(fields: Mapping[str, Any]) -> bool:
    """Return whether a row says that a model wrote its question, in whatever case."""
    said = fields.get(MADE_BY)
    return isinstance(said, str) and said.strip().casefold() == BY_MODEL


MAX_GRADE: Final = 1000
"""The largest grade of relevance; more is a score that strayed into the judgements."""

BUDGET: Final = "budget: "
"""How the error of a score begins that was not asked for because the budget is spent."""

REPLAY: Final = "replay: "
"""How the error of a score begins that the cache should have had, and has not."""

NOT_ASKED: Final = "not asked: "
"""How the error of a score begins that was not asked for because no reply could be used so far.

Also the reason, where the verdict was certain without it (``stop``).
"""

NOT_RUN: Final = "not run: skipped by a conftest.py, a fixture or a plugin, not by the scenario"
"""The reason of a sample that pytest skipped, though its row says nothing of it."""

NOT_DRAWN: Final = "not in the sample"
"""Why a row is skipped where only some of the rows are asked."""

CONTROLS: Final = "controls:"
"""How a gate's name begins that says whether a judge can be trusted."""

FAILED_CONTROLS: Final = "control rows: "
"""How the error of a score begins that was not asked for: its judge failed the control rows."""

EMPTY_ANSWER: Final = "empty answer"
"""The reason of a score that was given to an empty answer without asking a model."""

NO_IDS_FOUND: Final = "ids are expected, and none were retrieved"
"""The reason of a score of contexts whose metric compares ids first."""

REPEATS: Final = "repeats"
"""The name under which the details of a score hold the values of every repeat."""

PASSING: Final = "passing"
"""The name under which the details of a score say whether its metric lets the sample pass."""

USABLE: Final = "usable"
"""The name under which a judge's replies that could be used are counted, beside ``FAULTS``."""

FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "example": "repeats the prompt's example",
        "cut_off": "cut off",
        "shape": "not the shape asked for",
        "verdicts": "verdicts that cannot be",
        "declined": "refused to answer",
        "late": "not in time, alone in flight",
    }
)
"""Why a judge's reply cannot be used: the names in counts, and in words."""

CAUSE: Final = "cause"
"""The field of a sample under which slices find why its answer is low."""

Cause = Literal["retrieval", "generation", "unfaithful", "unknown"]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)

LeftOut = Literal["row", "label", "run", "answer"]
"""What decides that a metric does not apply to a sample.

``row``: what the row says, as ``answerable: false``. It has no score, which is no error. ``label``:
a field that the row lacks; ``run``: what the search, the judge or the form of the answer made of
it. These are no error either, but a group of such rows alone is not known to be in order.
``answer``: what the answer is (it refuses, it cites nothing). That is counted as the worst score:
else an answer would leave a mean by saying less.
"""

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed"]
GateOutcome = Literal["passed", "failed", "skipped"]
Band = Literal["good", "warn", "bad"]
TestName = Literal["permutation", "t", "wilcoxon", "bootstrap"]
Correction = Literal["max-t", "holm", "none"]
"""How p-values of several metrics are adjusted for being several."""


class _Nothing(dict[str, Any]):
    """The empty mapping, for good: pickled and copied, it is still the same one.

    A dict, because a mappingproxy can be neither pickled nor copied.
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("NOTHING stays empty")

    __setitem__ = setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Final[Mapping[str, Any]] = _Nothing()
"""The one empty mapping that all values without entries share: 100,000 samples are many dicts."""


def own(value: Any) -> Any:
    """Return a copy of nested mappings and lists, which users' code may change.

    Any other value, such as an object of a hook, is the same one.
    """
    kind = type(value)
    if kind in (list, tuple):
        is_flat = _NESTED.isdisjoint(map(type, value))
        return value[:] if is_flat else kind(map(own, value))
    if kind in _NESTED:
        return {name: own(one) for name, one in value.items()}
    return value


_NESTED: Final = frozenset({list, tuple, dict, MappingProxyType, _Nothing})


_CELLS: Final = frozenset([str, bool, int, type(None)])


def plain_cell(value: Any) -> Any:
    """Return a value of a table as JSON can say it, but for infinities, which stay.

    NaN, NaT and NA become None, numpy's values and arrays those of Python, times ISO 8601, sets
    sorted lists, bytes their UTF-8 text, decimals and all else text.
    """
    if type(value) in _CELLS or (type(value) is float and value == value):  # noqa: PLR0124
        return value
    if is_no_value(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain_cell(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return [plain_cell(part) for part in value]
    if isinstance(value, bytes):  # how Spark and Hive write text
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    is_numpy = hasattr(value, "tolist") and type(value).__name__ not in _NUMPY_TIMES
    return plain_cell(value.tolist()) if is_numpy else _as_text(value)


def _as_text(value: Any) -> str:
    return duration_text(value) if isinstance(value, timedelta) else str(value)


_NUMPY_TIMES: Final = ("datetime64", "timedelta64")
"""Their text is taken: with nanoseconds, ``tolist`` would make bare numbers of them."""


def duration_text(span: timedelta) -> str:
    """Return a duration as workbooks show it: hours, minutes and seconds, without days.

    >>> duration_text(timedelta(days=1, hours=2)), duration_text(-timedelta(minutes=90.5))
    ('26:00:00', '-01:30:30')
    """
    minutes, seconds = divmod(abs(span), timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    sign = "-" if span < timedelta() else ""
    return f"{sign}{hours:02}:{minutes:02}:{str(seconds).rpartition(':')[2]}"


def is_no_value(value: Any) -> bool:
    """Return whether a value is NaN, NaT (which equal nothing), or pandas' NA."""
    if type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError):  # of an array there are several answers
        return False


class Decimal(float):
    """A float that keeps the text it was written as: as a text, 3.10 is not 3.1.

    >>> Decimal("3.10") == 3.1, value_text(Decimal("3.10"))
    (True, '3.10')
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class Whole(int):
    """An int that keeps the text it was written as: as a text, the id 2024_01 is not 202401."""

    text = ""

    def __repr__(self) -> str:
        return self.text or str(int(self))


def as_written(value: Any, text: str) -> Any:
    """Return a value that was read from ``text``; a number keeps the text where it may matter.

    It may for a number with decimals other than 0, and an int not written as plain digits or 1_000.

    >>> as_written(31, "0x1F"), as_written(31, "+31"), as_written(3.1, "3.10")
    (0x1F, 31, 3.10)
    """
    if type(value) is int and not re.fullmatch(r"[-+]?(?:\d+|\d{1,3}(?:_\d{3})+)", text):
        value = Whole(value)
        value.text = text
        return value
    return Decimal(text) if re.fullmatch(r"[-+]?\d*\.\d*[1-9]\d*", text) else value


def value_text(value: Any) -> str:
    """Return a plain value as text without blanks around it; 2024.0 is "2024", as the int is.

    Data frames turn whole numbers into floats where one of them is missing: the text must not
    depend on the other rows. Nor on a blank that nobody sees: one group would be shown as two.

    >>> value_text(2024.0), value_text(2024), value_text(2.5), value_text("1.0 ")
    ('2024', '2024', '2.5', '1.0')
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return str(int(value) if is_whole else value).strip()


_LARGEST_WHOLE: Final = 2.0**63
"""Integers of data frames have 64 bits: a float from here on was none of them."""


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(part)


def json_plain(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """Return a value as JSON can say it.

    NaN and infinities become None, keys text, sets sorted lists, numpy's booleans Python's, and any
    ``other`` object its text: most numbers of numpy, too.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_plain(part, other) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_plain(part, other) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((json_plain(part, other) for part in value), key=repr)
    if type(value).__name__ in ("bool_", "bool"):  # numpy's: its text would count as true
        return bool(value)
    return other(value)


def plain_details(details: Any) -> Any:
    """Return the details of a score as JSON can say them, with numpy's numbers as numbers."""
    return json_plain(details, _number_or_text)


def _number_or_text(value: Any) -> Any:
    # numpy's functions and descriptions of types have no such shape. A duration is of kind m.
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    kind = value.dtype.kind if is_scalar else ""
    if kind == "f":  # as it is shown: float32 has 0.87, not 0.8700000047683716
        return json_plain(float(str(value)))
    return value.item() if kind in ("i", "u") else str(value)


Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A number of samples or the like; what is read from a file is within 64 bits."""

Figure = Annotated[float, Meta(ge=-1e100, le=1e100)]
"""A score, which is small enough that sums of scores stay finite."""


class _Fields:
    """The fields as ``dataclasses`` knows them, made for those who ask: see ``Value``."""

    def __get__(self, _: object, kind: type[Struct]) -> dict[str, Field[Any]]:
        return _fields_of(kind)


@cache
def _fields_of(kind: type[Struct]) -> dict[str, Field[Any]]:
    # With a docstring: else one is made of the signature, which takes ten times as long.
    spared: dict[str, Any] = {"init": False, "repr": False, "eq": False}
    made = make_dataclass("Made", kind.__struct_fields__, namespace={"__doc__": "Made"}, **spared)
    fields: dict[str, Field[Any]] = vars(made)["__dataclass_fields__"]
    return fields


class Value(Struct, frozen=True, gc=False):
    """A frozen struct that ``dataclasses.replace``, ``fields`` and ``asdict`` take, too.

    Users call these with results. ``gc=False``: a value is in no cycle, so that Python's garbage
    collector need not look at it.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = _Fields()  # type: ignore[assignment]
    # pytest asks before it shows two values that differ.
    __dataclass_params__: ClassVar[SimpleNamespace] = SimpleNamespace(repr=False)
