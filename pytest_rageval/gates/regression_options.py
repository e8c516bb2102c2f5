"""The options of ``no_regression`` and ``compare_fail``, read and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import SHARE, GateOptionError, read_number, without_own_keys
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Correction,
    ScenarioInfo,
    SignificanceTest,
    TestName,
)
from pytest_rageval.scenario.json_types import DROP, NUMBER
from pytest_rageval.text.json_shape import misfit

Mode = Literal["significant", "exceeds", "non_inferior", "any"]
Undecided = Literal["fail", "pass"]


@dataclass(frozen=True, slots=True)
class RegressionOptions:
    """``mode`` says what a regression is.

    ``significant``: a significant fall by more than ``max_drop``; ``exceeds``: a fall that is
    significantly larger than ``max_drop``; ``non_inferior``: a fall larger than ``max_drop`` cannot
    be excluded; ``any``: a fall by more than ``max_drop``, even by chance. A ``max_drop`` with a
    percent sign is a share of the baseline's mean.

    ``min_pairs`` is the share of the baseline's samples that must be compared. ``undecided`` is the
    verdict without enough pairs, or if data of this size cannot show anything. ``corrected``: the
    difference that people would see decides.
    """

    baseline: str | None = None
    metrics: Sequence[str] = (WEIGHTED_SCORE,)
    max_drop: float | str = 0.0
    alpha: float | None = None
    test: TestName | None = None
    n_resamples: int | None = None
    seed: int | None = None
    mode: Mode = "significant"
    anyway: bool = False
    correction: Correction | None = None
    min_pairs: float = 0.9
    undecided: Undecided = "fail"
    corrected: bool = False


def read_options(plain: Mapping[str, Any], path: tuple[str, ...]) -> RegressionOptions:
    """Return the options, checked; raises GateOptionError for the first that cannot be used."""
    given = without_own_keys(plain)
    for key, value in given.items():
        if key not in _ALLOWED:
            raise GateOptionError((*path, key), unknown_name("option", key, _ALLOWED))
        if not _fits(key, value):
            message = f"expected {_ALLOWED[key][0]}, found {shorten(repr(value))}"
            raise GateOptionError((*path, key), message)
    for key in ("alpha", "min_pairs"):
        if key in given:
            given[key] = read_number(given[key])
    return RegressionOptions(**given)


_NAME: Final = {"type": "string", "minLength": 1}
_WHOLE: Final = {"type": "integer"}
_FLAG: Final = ("true or false", {"type": "boolean"})


def _one_of(names: Any) -> tuple[str, Mapping[str, Any]]:
    return " or ".join(get_args(names)), {"enum": [*get_args(names)]}


# Not with pydantic: an xdist controller makes gates too, and need not load it.
_ALLOWED: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "baseline": ("the name of a saved run", _NAME),
    "metrics": ("a list of metrics", {"type": "array", "items": _NAME, "minItems": 1}),
    "max_drop": ("a number >= 0, or per cent like 5%", DROP),
    "alpha": ("a number between 0 and 1", SHARE),
    "test": _one_of(TestName),
    "n_resamples": ("a whole number >= 100", {**_WHOLE, "minimum": 100}),
    "seed": ("a whole number >= 0", {**_WHOLE, "minimum": 0}),
    "correction": _one_of(Correction),
    "min_pairs": (
        "a share of the baseline's samples, from 0 to 1",
        {**NUMBER, "minimum": 0, "maximum": 1},
    ),
    "undecided": _one_of(Undecided),
    "mode": _one_of(Mode),
    "anyway": _FLAG,
    "corrected": _FLAG,
}
"""What each option may be, in words and as JSON Schema."""

REGRESSION_KEYS: Final[dict[str, Any]] = {
    key: {**schema, "description": words} for key, (words, schema) in _ALLOWED.items()
}
"""The options and what each may be, for editors."""


def _fits(key: str, value: Any) -> bool:
    """Return whether an option may have this value."""
    schema = _ALLOWED[key][1]
    if key == "max_drop":
        return drop_of(value) is not None
    if "number" in schema.get("type", ()):
        number = read_number(value)
        return number is not None and misfit(number, schema, _search) is None
    if schema.get("type") == "integer" and not isinstance(value, int):
        return False  # JSON Schema takes 100.0 for one
    return misfit(value, schema, _search) is None


def _search(pattern: str, text: str, _: bool) -> bool:
    return re.search(pattern, text) is not None


def baseline_name(options: RegressionOptions, path: tuple[str, ...], info: ScenarioInfo) -> str:
    """Return the run to compare with: the gate's own, or that of the scenario's ``compare``."""
    name = options.baseline or (info.compare.baseline if info.compare is not None else None)
    if name is None:
        known = "give 'baseline', or compare the run (--rag-compare NAME, or 'compare')"
        raise GateOptionError(path, f"needs a run to compare with: {known}")
    return name


def drop_of(value: Any) -> tuple[float, bool] | None:
    """Return the largest allowed fall, and whether it is a share; None for anything else."""
    text = str(value).strip()
    relative = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    if isinstance(value, bool) or not 0.0 <= number < math.inf:
        return None
    return (number / 100.0, True) if relative else (number, False)


def test_of(options: RegressionOptions, info: ScenarioInfo) -> SignificanceTest:
    """Return the significance test: the gate's options, else those of ``compare``."""
    usual = info.compare.test if info.compare is not None else SignificanceTest()
    return SignificanceTest(
        options.test or usual.test,
        options.alpha or usual.alpha,
        options.n_resamples or usual.n_resamples,
        usual.seed if options.seed is None else options.seed,
        options.correction or usual.correction,
    )
