"""The file ``draws.json``: which samples were drawn for people to label, and from which strata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.model import Draw
from pytest_rageval.results.typed import checked
from pytest_rageval.text.limits import read_json

DRAWS: Final = "draws.json"
"""The name of the file; it belongs beside the file with the labels."""

DRAWS_SCHEMA: Final = 1
"""The version that is written, and the newest that is read."""


@dataclass(frozen=True, slots=True)
class StratumRecord:
    """A stratum of a draw: its number of samples, their share of all weight, and its kind."""

    size: int
    share: float
    kind: str


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """A draw as the file has it: by sample id, ``digests`` of all answers and codes (``of``).

    ``strata`` are by code; where the draw was uniform, ``strata`` and ``of`` are empty.
    """

    run: str
    metric: str
    seed: int
    drawn_at: str
    digests: Mapping[str, str]
    strata: Mapping[str, StratumRecord] = field(default_factory=dict)
    of: Mapping[str, str] = field(default_factory=dict)

    def plain(self) -> Draw:
        """Return what a corrected mean needs of it."""
        return Draw(self.digests, self.of)


def known_records(label_files: Iterable[str], folder: Path) -> list[DrawRecord]:
    """Return the draws beside the label files and in ``folder``, each once, oldest first.

    Others may have drawn and shared theirs. Raises as ``read_records`` does.
    """
    paths = dict.fromkeys([*(Path(name).with_name(DRAWS) for name in label_files), folder / DRAWS])
    found = {
        (one.drawn_at, one.metric, one.run, one.seed): one
        for path in paths
        for one in read_records(path)
    }
    return sorted(found.values(), key=lambda one: one.drawn_at)


def read_records(path: Path) -> list[DrawRecord]:
    """Return all that a file holds, oldest first; [] if there is no such file.

    Raises ScenarioError for a file that this version cannot read.
    """
    try:
        plain = read_json(path.read_text("utf-8-sig"), depth=None)
        schema = plain["schema"]
        if type(schema) is int and schema > DRAWS_SCHEMA:
            raise _refuse(
                path, f"was written by a newer version (schema {schema}). Update pytest-rageval"
            )
        if schema != DRAWS_SCHEMA:
            raise ValueError(f"schema {schema!r}")
        return [_record(one) for one in plain["draws"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"cannot be read ({error!r}). Restore it from version control, or move it away: "
        hint = "without it, labels that were drawn by strata correct no mean"
        raise _refuse(path, message + hint) from error


def draws_chunks(records: Iterable[DrawRecord]) -> Iterator[str]:
    """Yield the text of the file, one draw a line."""
    lines = (json.dumps(asdict(one), ensure_ascii=False, allow_nan=False) for one in records)
    yield f'{{"schema": {DRAWS_SCHEMA}, "draws": [\n'
    yield ",\n".join(lines)
    yield "\n]}\n"


def _refuse(path: Path, message: str) -> ScenarioError:
    return ScenarioError([Problem(str(path), message)])


def _record(plain: Mapping[str, Any]) -> DrawRecord:
    """Return a draw; raises if it lacks something, or has a code of no stratum."""
    strata = {code: StratumRecord(**one) for code, one in plain["strata"].items()}
    found = checked(DrawRecord(**{**plain, "strata": strata}))
    if not set(found.of.values()) <= strata.keys():
        raise ValueError("a sample is in a stratum that is not described")
    return found
