"""Readers are tested through ``load_dataset``, as a scenario uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.errors import UserError
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

Load = Callable[..., Dataset]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function: write ``content`` to a file of that name, load it with these keys."""

    def load_file(name: str, content: str | bytes, **keys: Any) -> Dataset:
        raw = content if isinstance(content, bytes) else content.encode("utf-8")
        (tmp_path / name).write_bytes(raw)
        return load_dataset(DatasetSpec(path=name, **keys), tmp_path, "s.yaml:2")

    return load_file


@pytest.fixture
def samples(load: Load) -> Callable[..., list[Sample]]:
    """Return a function like ``load`` whose rows must all be samples."""

    def load_samples(name: str, content: str | bytes, **keys: Any) -> list[Sample]:
        cases = load(name, content, **keys).cases
        assert [case for case in cases if not isinstance(case, Sample)] == []
        return [case for case in cases if isinstance(case, Sample)]

    return load_samples


@pytest.fixture
def invalid(load: Load) -> Callable[..., dict[int, InvalidRow]]:
    """Return a function like ``load`` that returns the invalid rows by their number."""

    def load_invalid(name: str, content: str | bytes, **keys: Any) -> dict[int, InvalidRow]:
        cases = load(name, content, **keys).cases
        return {case.row: case for case in cases if isinstance(case, InvalidRow)}

    return load_invalid


@pytest.fixture
def refused(load: Load) -> Callable[..., list[str]]:
    """Return a function like ``load`` for files that cannot be used; returns the problems."""

    def load_refused(name: str, content: str | bytes, **keys: Any) -> list[str]:
        with pytest.raises(UserError) as caught:
            load(name, content, **keys)
        return [str(problem) for problem in caught.value.problems]

    return load_refused


@pytest.fixture
def row(tmp_path: Path) -> Callable[..., Sample | InvalidRow]:
    """Return a function from one inline row to its case."""

    def one_row(fields: Mapping[str, Any], **keys: Any) -> Sample | InvalidRow:
        spec = DatasetSpec(rows=[dict(fields)], **keys)
        return load_dataset(spec, tmp_path, "s.yaml:2").cases[0]

    return one_row
