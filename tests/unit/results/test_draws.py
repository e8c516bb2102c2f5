"""The file of draws: written and read back, found beside the labels, refused where damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Draw
from pytest_rageval.results.draws import (
    DrawRecord,
    StratumRecord,
    draws_chunks,
    known_records,
    read_records,
)

UNIFORM = DrawRecord("r1", "f1", 7, "2026-11-21T09:30:11+00:00", {"a": "d1", "双": "d2"})
BY_STRATA = DrawRecord(
    "r2",
    "em",
    8,
    "2026-11-22T09:30:11+00:00",
    {"a": "d1", "b": "d3"},
    {"s-1": StratumRecord(1, 0.25, "changed"), "s-2": StratumRecord(1, 0.75, "low")},
    {"a": "s-1", "b": "s-2"},
)


def written(path: Path, plain: Any) -> Path:
    path.write_text(plain if isinstance(plain, str) else json.dumps(plain), "utf-8")
    return path


def test_draws_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A corrected mean needs digests and strata of them."""
    path = written(tmp_path / "draws.json", "".join(draws_chunks([UNIFORM, BY_STRATA])))
    assert read_records(path) == [UNIFORM, BY_STRATA]
    assert BY_STRATA.plain() == Draw({"a": "d1", "b": "d3"}, {"a": "s-1", "b": "s-2"})
    assert json.loads(path.read_text("utf-8"))["draws"][1]["strata"]["s-1"] == {
        "size": 1,
        "share": 0.25,
        "kind": "changed",
    }


def test_without_a_file_there_are_no_draws(tmp_path: Path) -> None:
    """Labels of chosen samples need none."""
    assert read_records(tmp_path / "draws.json") == []


def test_draws_of_two_places_are_put_together(tmp_path: Path) -> None:
    """Each counts once, the oldest first, wherever it is."""
    (tmp_path / "out").mkdir()
    written(tmp_path / "draws.json", "".join(draws_chunks([BY_STRATA])))
    written(tmp_path / "out" / "draws.json", "".join(draws_chunks([UNIFORM, BY_STRATA])))
    labels = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert known_records(labels, tmp_path / "out") == [UNIFORM, BY_STRATA]
    assert known_records([], tmp_path / "out") == [UNIFORM, BY_STRATA]
    assert known_records(labels, tmp_path / "none") == [BY_STRATA]


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"schema": 2, "draws": []}, "was written by a newer version (schema 2)"),
        ("", "cannot be read (Expecting value"),
        ([], "cannot be read"),
        (
            {"schema": "1", "draws": []},
            "cannot be read (Expected `int`, got `str` - at `$.schema`)",
        ),
        (
            {"schema": 1, "draws": [{"run": "r"}]},
            "missing required field `metric` - at `$.draws[0]`",
        ),
        ({"schema": 0, "draws": []}, "cannot be read (Invalid enum value 0 - at `$.schema`)"),
        (
            "".join(draws_chunks([BY_STRATA])).replace('"b": "s-2"', '"b": "s-3"'),
            "a sample is in a stratum that is not described - at `$.draws[0]`",
        ),
        (
            "".join(draws_chunks([UNIFORM])).replace('"d1"', "[1]"),
            "Expected `str`, got `array` - at `$.draws[0].digests[...]`",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, plain: Any, message: str) -> None:
    """With its path and the reason; it may hold what cannot be drawn again."""
    path = written(tmp_path / "draws.json", plain)
    with pytest.raises(ScenarioError) as caught:
        read_records(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
