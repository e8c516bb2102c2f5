"""The options of ``no_regression`` and ``compare_fail``, read and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import GateOptionError, read_number, without_own_keys
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Correction,
    ScenarioInfo,
    SignificanceTest,
    TestName,
)

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
        expected, allowed = _ALLOWED[key]
        if not allowed(value):
            message = f"expected {expected}, found {shorten(repr(value))}"
            raise GateOptionError((*path, key), message)
    for key in ("alpha", "min_pairs"):
        if key in given:
            given[key] = read_number(given[key])
    return RegressionOptions(**given)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_drop(value: Any) -> bool:
    return drop_of(value) is not None


# Not with pydantic: an xdist controller makes gates too, and need not load it.
_ALLOWED: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "baseline": ("the name of a saved run", _is_text),
    "metrics": (
        "a list of metrics",
        lambda value: isinstance(value, list) and bool(value) and all(map(_is_text, value)),
    ),
    "max_drop": ("a number >= 0, or per cent like 5%", _is_drop),
    "alpha": (
        "a number between 0 and 1",
        lambda value: (number := read_number(value)) is not None and 0.0 < number < 1.0,
    ),
    "test": (" or ".join(get_args(TestName)), lambda value: value in get_args(TestName)),
    "n_resamples": ("a whole number >= 100", lambda value: _is_whole(value, 100)),
    "seed": ("a whole number >= 0", lambda value: _is_whole(value, 0)),
    "correction": (
        " or ".join(get_args(Correction)),
        lambda value: value in get_args(Correction),
    ),
    "min_pairs": (
        "a share of the baseline's samples, from 0 to 1",
        lambda value: (number := read_number(value)) is not None and 0.0 <= number <= 1.0,
    ),
    "undecided": (" or ".join(get_args(Undecided)), lambda value: value in get_args(Undecided)),
    "mode": (" or ".join(get_args(Mode)), lambda value: value in get_args(Mode)),
    "anyway": ("true or false", lambda value: isinstance(value, bool)),
    "corrected": ("true or false", lambda value: isinstance(value, bool)),
}

REGRESSION_KEYS: Final = MappingProxyType(
    {key: expected for key, (expected, _) in _ALLOWED.items()}
)
"""The options and what each may be, for editors."""


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
