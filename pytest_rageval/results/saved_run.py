"""Reads a saved run as a baseline: the ``results.json`` of an earlier run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import BaselineError, NoBaselineError, Problem, did_you_mean, shorten
from pytest_rageval.model import TOLERANCE, WEIGHTED_SCORE, MetricColumn, SampleResult
from pytest_rageval.model.measured import CODE
from pytest_rageval.results.layout import DEEPEST, RESULTS_SCHEMA
from pytest_rageval.results.typed import field_checks
from pytest_rageval.text.limits import read_json

LARGEST: Final = 1e100
"""The largest score, so that sums of scores stay finite."""

_LISTED = 20
_SAMPLE: Final = {
    field.name: check
    for field, check in zip(fields(SampleResult), field_checks(SampleResult), strict=True)
    if field.name != "scores"  # their message names the metric
}
_DAMAGED: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Turn what a damaged file of a run raises into a BaselineError; messages call it ``shown``."""
    try:
        yield
    except _DAMAGED as error:
        raise _refuse("", f"run {shown}: its results.json cannot be read: {error!r}") from error


@dataclass(frozen=True)
class SavedRun:
    """What a comparison needs of ``results.json``; ``samples`` are in its layout, by id."""

    name: str
    shown: str
    scenario: str
    definitions: Mapping[str, str]
    judgements_sha256: str
    weights: Mapping[str, float]
    measured: Mapping[str, Any]
    """As ``ScenarioInfo`` has it; an earlier version put nothing on record."""
    samples: Mapping[str, Mapping[str, Any]]


def is_saved_run(path: Path) -> bool:
    """Return whether the file is a ``results.json`` of this or another version."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            if not stream.read(1).startswith("{"):  # another file may be larger than memory
                return False
            plain = read_json("{" + stream.read(), depth=None)
    except (OSError, ValueError):
        return False
    kinds = {"schema": int, "scenario": dict, "samples": list}
    return all(isinstance(plain.get(key), kind) for key, kind in kinds.items())


def load_baseline(name: str, path: Path, where: str, known: Sequence[str], shown: str) -> SavedRun:
    """Return the saved run in ``path``, which messages call ``shown``.

    ``known`` are the names of all saved runs. Raises NoBaselineError if the file is missing, and
    BaselineError if this version cannot read it.
    """
    try:
        plain = read_json(path.read_text("utf-8-sig"), depth=DEEPEST)
    except FileNotFoundError as error:
        message = f"no saved run {name!r} ({shown}).{_known(name, known)}"
        raise NoBaselineError([Problem(where, message)]) from error
    except (OSError, ValueError) as error:
        raise _refuse(where, f"baseline {shown}: cannot be read: {error}") from error
    schema = plain.get("schema", 0) if isinstance(plain, dict) else 0
    if schema != 0 and (type(schema) is not int or schema > RESULTS_SCHEMA):
        message = (
            f"baseline {shown}: was written by a newer version (schema {schema!r}; this one reads "
            f"{RESULTS_SCHEMA}). Update pytest-rageval, or save the baseline again"
        )
        raise _refuse(where, message)
    if schema != RESULTS_SCHEMA or not _is_saved_run(plain):
        raise _refuse(where, f"baseline {shown}: is not a results.json of pytest-rageval")
    for sample in plain["samples"]:
        scores = {WEIGHTED_SCORE: sample.get(WEIGHTED_SCORE), **sample["scores"]}
        for metric, value in scores.items():
            if value is not None and not abs(value) <= LARGEST:
                raise _refuse(where, f"baseline {shown}: {_odd(sample['id'], metric, value)}")
    scenario = plain["scenario"]
    return SavedRun(
        name,
        shown,
        str(scenario.get("name", "")),
        scenario.get("definitions") or {},
        scenario.get("judgements_sha256") or "",
        _weights(plain.get("metrics")),
        scenario.get("measured") or {},
        {sample["id"]: sample for sample in plain["samples"]},
    )


def out_of_range(saved: SavedRun, columns: Iterable[MetricColumn]) -> str:
    """Return the message for the first score outside its metric's range, '' if there is none."""
    ranges = {column.name: column.range for column in columns}
    for sample_id, sample in saved.samples.items():
        for metric, value in sample["scores"].items():
            if value is None or metric not in ranges:
                continue
            low, high = ranges[metric]
            if not low - TOLERANCE <= value <= high + TOLERANCE:
                found = _odd(sample_id, metric, value)
                return f"{found}: it must be in {low:g}..{high:g}"
    return ""


def _odd(sample_id: str, metric: str, value: float) -> str:
    return f"sample {shorten(repr(sample_id))}: {metric} {shorten(str(value))} is not a valid score"


def _is_saved_run(plain: Any) -> bool:
    """Return whether ``plain`` has the shape that a comparison reads."""
    if not isinstance(plain, dict) or not isinstance(plain.get("samples"), list):
        return False
    scenario = plain.get("scenario")
    if not isinstance(scenario, dict) or not isinstance(scenario.get("definitions", {}), dict):
        return False
    if not isinstance(scenario.get("judgements_sha256") or "", str):
        return False
    if not _is_measured(scenario.get("measured") or {}):
        return False
    return all(
        isinstance(sample, dict)
        and isinstance(sample.get("id"), str)
        and isinstance(sample.get("scores"), dict)
        and all(_is_score(score) for score in sample["scores"].values())
        and all(
            check(sample[name]) for name, check in _SAMPLE.items() if sample.get(name) is not None
        )
        for sample in plain["samples"]
    )


def _weights(metrics: Any) -> dict[str, float]:
    """Return the weights of the metrics; of what is damaged there, none: they are only shown."""
    known = metrics if isinstance(metrics, dict) else {}
    found = {name: one.get("weight") for name, one in known.items() if isinstance(one, dict)}
    return {
        name: weight for name, weight in found.items() if weight is not None and _is_score(weight)
    }


def _is_measured(plain: Any) -> bool:
    """Return whether ``plain`` has the shape of ``ScenarioInfo.measured``."""
    code = plain.get(CODE, {}) if isinstance(plain, dict) else None
    return isinstance(code, dict) and all(
        isinstance(modules, dict) and all(isinstance(one, str) for one in modules.values())
        for modules in code.values()
    )


def _is_score(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _refuse(where: str, message: str) -> BaselineError:
    return BaselineError([Problem(where, message)])


def _known(name: str, known: Sequence[str]) -> str:
    if not known:
        return (
            f" None is saved yet: save it with --rag-save {name}, or --rag-save-failed {name} if "
            "the run is red"
        )
    more = ", …" if len(known) > _LISTED else ""
    return f"{did_you_mean(name, known)} Saved: {', '.join(sorted(known)[:_LISTED])}{more}"
