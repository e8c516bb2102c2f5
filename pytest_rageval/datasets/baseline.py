"""A saved run, read back to be compared with: the ``results.json`` of an earlier run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rageval.errors import BaselineError, Problem, did_you_mean

RESULTS_SCHEMA = 1
"""The version of ``results.json`` that this version writes, and the newest that it reads."""

_LISTED = 20


@dataclass(frozen=True)
class SavedRun:
    """What a comparison needs of ``results.json``; ``samples`` are as the file has them, by id."""

    name: str
    shown: str
    scenario: str
    definitions: Mapping[str, str]
    judgements_sha256: str
    samples: Mapping[str, Mapping[str, Any]]


def load_baseline(name: str, path: Path, where: str, known: Sequence[str], shown: str) -> SavedRun:
    """Return the saved run in ``path``, which messages call ``shown``.

    ``known`` are the names of the saved runs that there are.

    Raises BaselineError when there is none, or when this version cannot read it.
    """
    try:
        plain = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError as error:
        raise _refuse(where, f"no saved run {name!r} ({shown}).{_known(name, known)}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _refuse(where, f"baseline {shown}: cannot be read: {error}") from error
    schema = plain.get("schema", 0) if isinstance(plain, dict) else 0
    if schema != 0 and (type(schema) is not int or schema > RESULTS_SCHEMA):
        message = (
            f"baseline {shown}: was written by a newer version (schema {schema!r}; this one reads "
            f"{RESULTS_SCHEMA}). Update pytest-rageval, or save the baseline again"
        )
        raise _refuse(where, message)
    if schema != RESULTS_SCHEMA or not _is_saved_run(plain):
        raise _refuse(where, f"baseline {shown}: is no results.json of pytest-rageval")
    scenario = plain["scenario"]
    return SavedRun(
        name,
        shown,
        str(scenario.get("name", "")),
        scenario.get("definitions") or {},
        scenario.get("judgements_sha256") or "",
        {sample["id"]: sample for sample in plain["samples"]},
    )


def _is_saved_run(plain: Any) -> bool:
    """Return whether ``plain`` has the shape that a comparison reads."""
    if not isinstance(plain, dict) or not isinstance(plain.get("samples"), list):
        return False
    scenario = plain.get("scenario")
    if not isinstance(scenario, dict) or not isinstance(scenario.get("definitions", {}), dict):
        return False
    return all(
        isinstance(sample, dict)
        and isinstance(sample.get("id"), str)
        and isinstance(sample.get("scores"), dict)
        and all(_is_score(score) for score in sample["scores"].values())
        and isinstance(sample.get("judged_by", {}), dict)
        for sample in plain["samples"]
    )


def _is_score(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _refuse(where: str, message: str) -> BaselineError:
    return BaselineError([Problem(where, message)])


def _known(name: str, known: Sequence[str]) -> str:
    if not known:
        return " None is saved yet: save one with --rag-save NAME"
    more = ", …" if len(known) > _LISTED else ""
    return f"{did_you_mean(name, known)} Saved: {', '.join(sorted(known)[:_LISTED])}{more}"
