"""The samples of a data set as hooks leave them: fewer, changed, in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.model import Case, InvalidRow, Sample, ScenarioView


def bind_samples(binding: Binding, dataset: Dataset, view: ScenarioView) -> Dataset:
    """Return the data with the samples that run: metrics, gates and saved runs see only those."""
    samples = tuple(case for case in dataset.cases if isinstance(case, Sample))
    left, remarks = binding.change_samples(view, samples)
    binding.remarks += remarks
    if left is samples:
        return dataset
    binding.is_part = len(left) < len(samples)
    return _with_samples(dataset, left)


def _with_samples(dataset: Dataset, samples: Sequence[Sample]) -> Dataset:
    invalid = [case for case in dataset.cases if isinstance(case, InvalidRow)]
    cases: list[Case] = [*samples, *invalid]
    if all(one.index < other.index for one, other in pairwise(samples)):
        cases.sort(key=lambda case: case.index)  # else a hook has chosen the order
    columns = [*dataset.metadata_columns, *(name for one in samples for name in one.metadata)]
    return replace(
        dataset,
        cases=[replace(case, index=at) for at, case in enumerate(cases)],
        lines=[_line(dataset, case) for case in cases],
        metadata_columns=tuple(dict.fromkeys(columns)),
    )


def _line(dataset: Dataset, case: Case) -> int | None:
    """Return the line of a case that was in the data, None for one that was made anew."""
    known = 0 <= case.index < len(dataset.cases) and dataset.cases[case.index].id == case.id
    return dataset.lines[case.index] if known else None
