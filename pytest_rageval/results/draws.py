"""The file ``draws.json``: which samples were drawn for people to label, and from which strata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.model import NOTHING, Count, Draw, Figure, Value
from pytest_rageval.text.codec import from_json, to_json

DRAWS: Final = "draws.json"
"""The name of the file; it belongs beside the file with the labels."""

DRAWS_SCHEMA: Final = 1
"""The version that is written, and the newest that is read."""


class StratumRecord(Value, frozen=True):
    """A stratum of a draw: its number of samples, their share of all weight, and its kind."""

    size: Count
    share: Figure
    kind: str


class DrawRecord(Value, frozen=True):
    """A draw as the file has it.

    By sample id, ``digests`` holds those of all answers that could be drawn, and ``of`` the codes
    of their strata; ``strata`` has these by code. A uniform draw has no ``of`` and no ``strata``.
    """

    run: str
    metric: str
    seed: int
    drawn_at: str
    digests: Mapping[str, str]
    strata: Mapping[str, StratumRecord] = NOTHING
    of: Mapping[str, str] = NOTHING

    def __post_init__(self) -> None:
        if not set(self.of.values()) <= self.strata.keys():
            raise ValueError("a sample is in a stratum that is not described")

    def plain(self) -> Draw:
        """Return what a corrected mean needs of it."""
        return Draw(self.digests, self.of)


def known_records(label_files: Iterable[str], folder: Path) -> list[DrawRecord]:
    """Return the draws beside the label files and in ``folder``, each once, oldest first.

    Others may have drawn and shared theirs. Raises as ``read_records`` does.
    """
    paths = dict.fromkeys([*(Path(name).with_name(DRAWS) for name in label_files), folder / DRAWS])
    found = {
        (record.drawn_at, record.metric, record.run, record.seed): record
        for path in paths
        for record in read_records(path)
    }
    return sorted(found.values(), key=lambda one: one.drawn_at)


def read_records(path: Path) -> list[DrawRecord]:
    """Return all that a file holds, in its order; [] if there is no such file.

    Raises ScenarioError for a file that this version cannot read.
    """
    try:
        raw = path.read_bytes()
        schema = from_json(raw, _Version).schema
        if schema > DRAWS_SCHEMA:
            raise _refuse(
                path, f"was written by a newer version (schema {schema}). Update pytest-rageval"
            )
        return from_json(raw, _File).draws
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        message = f"cannot be read ({error}). Restore it from version control, or move it away: "
        hint = "without it, labels that were drawn by strata correct no mean"
        raise _refuse(path, message + hint) from error


class _Version(Value, frozen=True):
    schema: int


class _File(Value, frozen=True):
    schema: Literal[1]
    draws: list[DrawRecord]


def draws_chunks(records: Iterable[DrawRecord]) -> Iterator[str]:
    """Yield the text of the file, one draw a line."""
    yield f'{{"schema": {DRAWS_SCHEMA}, "draws": [\n'
    yield ",\n".join(to_json(record, 0) for record in records)
    yield "\n]}\n"


def _refuse(path: Path, message: str) -> ScenarioError:
    return ScenarioError([Problem(str(path), message)])
