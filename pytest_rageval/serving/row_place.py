"""Finds the row of a saved run's sample: file and line, if the data are still those of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.errors import RagevalError
from pytest_rageval.results.layout import SavedScenario
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec
from pytest_rageval.scenario.yaml.tree import parse_yaml


def row_place(root: Path, run: Path, about: SavedScenario, sample_id: str) -> str:
    """Return ``file:line``, relative to ``root``, or ``""`` where it is not known.

    ``run`` is the run's folder and ``about`` what its ``results.json`` says of the scenario. Not
    known: rows of a file outside of ``root``, of one that has changed since, of a format without
    lines, or made by a hook; and those of a baseline, which does not say where its data were.
    """
    try:
        file, line = _place(root.resolve(), run, about, sample_id)
    except (OSError, ValueError, LookupError, TypeError, RagevalError):
        return ""
    return f"{file.relative_to(root.resolve()).as_posix()}:{line}" if line else ""


def _place(root: Path, run: Path, about: SavedScenario, sample_id: str) -> tuple[Path, int | None]:
    """Return the file and the line; raises one of many errors where they cannot be found."""
    snapshot = (run / "scenario.snapshot.yaml").read_text("utf-8")
    keys = parse_yaml(snapshot, "scenario.snapshot.yaml").data
    spec = DatasetSpec.model_validate(keys["dataset"])
    joined = keys.get("answers")
    answers = None if joined is None else AnswersSpec.model_validate(joined)
    scenario = root / about.path
    file = (scenario if spec.rows is not None else scenario.parent / str(spec.path)).resolve()
    if not file.is_relative_to(root):
        raise ValueError("outside of the root")
    row_lines = None if spec.rows is None else _lines_of(file, spec.rows)
    dataset = load_dataset(spec, scenario.parent, about.path, row_lines, answers=answers)
    if dataset.sha256 != about.dataset_sha256:
        raise ValueError("the data have changed")
    at = [case.id for case in dataset.cases].index(sample_id)
    return file, dataset.lines[at]


def _lines_of(scenario: Path, rows: Sequence[Any]) -> list[int | None]:
    """Return the lines of rows that are written in the scenario file."""
    tree = parse_yaml(scenario.read_text("utf-8-sig"), scenario.name)
    prefix: tuple[str, ...] = ("dataset",)
    found = tree.data["dataset"]
    if isinstance(found, dict):
        found, prefix = found["rows"], ("dataset", "rows")
    if found != rows:
        raise ValueError("the data have changed")
    return [tree.lines.get((*prefix, at)) for at in range(len(rows))]
