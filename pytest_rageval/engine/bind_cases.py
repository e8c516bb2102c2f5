"""The data of a scenario: its cases, checked against what the metrics need."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.engine.binding import Binding, BoundMetric
from pytest_rageval.engine.marks import mark_cases
from pytest_rageval.errors import (
    MissingExtraError,
    Problem,
    ScenarioError,
    nearest,
    shorten,
    unknown_name,
)
from pytest_rageval.metrics.base import MetricInfo
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.stats.weights import resolve_weight


def bind_dataset(binding: Binding) -> Dataset | None:
    """Return the data set, or None when it cannot be used."""
    spec = binding.scenario.dataset
    if spec.rows == [] and not binding.is_sound:
        return None  # what stands in for a data set that was refused
    row_lines = None
    if spec.rows is not None:
        lines = binding.loaded.tree.lines
        prefix = ("dataset", "rows") if ("dataset", "rows") in lines else ("dataset",)
        row_lines = [lines.get((*prefix, at)) for at in range(len(spec.rows))]
    try:
        return load_dataset(
            spec, binding.loaded.path.parent, binding.loaded.where("dataset"), row_lines
        )
    except ScenarioError as error:
        binding.problems += error.problems
    except MissingExtraError as error:
        binding.problem(f"dataset: {error}", "dataset")
    return None


def bind_cases(
    binding: Binding, dataset: Dataset, metrics: Sequence[BoundMetric]
) -> Sequence[Case]:
    """Return the cases in dataset order: marked, and invalid where no metric can score them."""
    _check_columns(binding, dataset, metrics)
    cases = [
        _checked(case, line, metrics)
        for case, line in zip(dataset.cases, dataset.lines, strict=True)
    ]
    invalid = [case for case in cases if isinstance(case, InvalidRow)]
    if invalid and len(invalid) == len(cases) and not binding.problems:
        binding.problems += _all_invalid(invalid, dataset.shown)
    _check_marks(binding, dataset)
    _check_doc_weights(binding, cases)
    return mark_cases(cases, binding.scenario.skip, binding.scenario.xfail)


def _checked(case: Case, line: int | None, metrics: Sequence[BoundMetric]) -> Case:
    """Return ``case``, or an invalid row when no metric has the fields that it needs."""
    if isinstance(case, InvalidRow) or not metrics:
        return case
    lacking = []
    for metric in metrics:
        missing = missing_fields(case, metric.info)
        if not missing:
            return case
        lacking.append(missing)
    fields = sorted({field for missing in lacking for field in missing})
    reason = f"no {' and no '.join(fields)}, without which no metric can score it"
    known = {
        name: value
        for name in ("question", "answer", "references", "doc_name")
        if (value := getattr(case, name)) is not None
    }
    return InvalidRow(case.id, case.index, case.row, line, reason, shorten(repr(known), 500))


def missing_fields(sample: Sample, info: MetricInfo) -> list[str]:
    """Return the fields that the metric needs and the sample lacks, sorted."""
    for need in info.needs:
        if getattr(sample, need) is None:
            return sorted(need for need in info.needs if getattr(sample, need) is None)
    return []


def _check_marks(binding: Binding, dataset: Dataset) -> None:
    fields = {"id", "doc_name", *dataset.metadata_columns}
    for section, specs in (("skip", binding.scenario.skip), ("xfail", binding.scenario.xfail)):
        for number, spec in enumerate(specs):
            at = binding.loaded.position(section, number)
            for name in spec.where:
                if name not in fields:
                    message = unknown_name("field", name, fields)
                    binding.problem(f"{section}[{at}].where: {message}", section, at)


def _check_columns(binding: Binding, dataset: Dataset, metrics: Sequence[BoundMetric]) -> None:
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if not samples:
        return
    for metric in metrics:
        for need in sorted(metric.info.needs):
            if all(getattr(sample, need) is None for sample in samples):
                lacking = _lacking(need, binding.scenario.dataset.key_map, dataset)
                message = f"metric {metric.column.name!r} needs {need!r}; {lacking}"
                binding.problem(message, "metrics", metric.position)


def _lacking(need: str, key_map: Mapping[str, str], dataset: Dataset) -> str:
    """Return what is the matter with a field that no valid row has."""
    sources = [key_map[need]] if need in key_map else FIELD_ALIASES.get(need, (need,))
    present = [column for column in sources if column in dataset.columns]
    if present:
        return f"no valid row of {dataset.shown} has anything in its column {present[0]!r}"
    guess = nearest(need, dataset.columns)
    hint = f"; did you mean the column {guess!r}?" if guess else ""
    columns = ", ".join(dataset.columns[:20])
    return f"{dataset.shown} has no such field (key_map?){hint} Columns: {columns}"


def _all_invalid(invalid: Sequence[InvalidRow], shown: str) -> Iterator[Problem]:
    yield Problem(shown, f"none of {len(invalid)} rows is valid")
    for row in invalid[:5]:
        yield Problem(f"{shown}:{row.line}" if row.line else f"{shown}: row {row.row}", row.reason)


def _check_doc_weights(binding: Binding, cases: Sequence[Case]) -> None:
    weights = binding.scenario.doc_weights
    if not weights:
        return
    names = [case.doc_name for case in cases if isinstance(case, Sample)]
    present = {unicodedata.normalize("NFC", name) for name in names if name is not None}
    unused = [name for name in weights if unicodedata.normalize("NFC", name) not in present]
    if unused:
        listed = ", ".join(shorten(name) for name in unused)
        binding.warnings.append(f"doc_weights names documents that no row has: {listed}")
    if names and all(resolve_weight(name, weights) == 0.0 for name in names):
        message = "doc_weights: every row weighs 0; at least one document must count"
        binding.problem(message, "doc_weights")
