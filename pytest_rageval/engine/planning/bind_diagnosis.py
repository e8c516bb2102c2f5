"""What a scenario finds causes of low answers by: metrics of its own, or columns of its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.planning.binding import Binding, resolve_metric
from pytest_rageval.errors import unknown_name
from pytest_rageval.model import CAUSE, Bound, Diagnosis, Sample

_SECTION: Final = "diagnose"
_OBVIOUS: Final = {"retrieval": "context_recall", "generation": "faithfulness"}


def bind_diagnosis(
    binding: Binding, metrics: Sequence[BoundMetric], thresholds: dict[str, Bound]
) -> Diagnosis | None:
    """Return the metrics that tell causes apart; None where the scenario asks for no causes."""
    spec = binding.scenario.diagnose
    if spec is None:
        return None
    known = {metric.column.name: metric for metric in metrics}
    found: dict[str, str | None] = {}
    for key, written in (("retrieval", spec.retrieval), ("generation", spec.generation)):
        name = resolve_metric(written or _OBVIOUS[key], list(known), binding.known_metrics)
        if name is not None:
            problem = _misfit(key, known[name], thresholds)
            if problem and written is not None:
                binding.problem(f"{_SECTION}.{key}: {problem}", _SECTION, key)
            name = None if problem else name
        elif written is not None and not binding.is_unmade(written):
            message = unknown_name("metric", written, list(known))
            binding.problem(f"{_SECTION}.{key}: {message}", _SECTION, key)
        found[key] = name
    return Diagnosis(found["retrieval"], found["generation"])


def _misfit(key: str, metric: BoundMetric, thresholds: dict[str, Bound]) -> str:
    """Return why a metric cannot tell what ``key`` is about, "" if it can."""
    name, needs = metric.column.name, metric.info.needs | metric.info.or_needs
    if key == "retrieval" and "answer" in needs:
        return f"{name!r} looks at the answer; name a metric of the contexts alone"
    if key == "generation" and needs and not {"answer", "contexts"} <= needs:
        return f"{name!r} does not compare the answer with the contexts; name one that does"
    if name not in thresholds and metric.column.middle is None:
        return f"{name!r} has no middle of its range to tell low scores by; give it a threshold"
    return ""


def check_diagnosed(
    binding: Binding, diagnosis: Diagnosis, dataset: Dataset, provided: frozenset[str]
) -> None:
    """Note what the data lack for causes to be found, or what stands in the way.

    ``provided`` are the fields that a system under test fills in later.
    """
    if CAUSE in dataset.metadata_columns:
        message = f"{dataset.shown} has a column {CAUSE!r}, as the causes are called; rename it"
        binding.problem(f"{_SECTION}: {message}", _SECTION)
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if diagnosis.retrieval is not None or not samples:
        return
    for fields in (("contexts",), ("references", "reference_contexts")):
        if provided.isdisjoint(fields) and not any(
            getattr(sample, field) for sample in samples for field in fields
        ):
            needed = " or ".join(map(repr, fields))
            binding.problem(
                f"{_SECTION}: needs {needed}, and no row of {dataset.shown} has any; name the "
                f"column in dataset.key_map, or a metric of the contexts in {_SECTION}.retrieval",
                _SECTION,
            )
