"""What scores follow from, fields and other scores: where these differ, runs do not compare."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pytest_rageval.engine.plan import AnswerRules, BoundMetric
from pytest_rageval.engine.scoring.row_digests import HINTS
from pytest_rageval.model import ANSWERABLE


def fields_read(
    rules: AnswerRules | None, metrics: Sequence[BoundMetric]
) -> dict[str, frozenset[str]]:
    """Return by field the names of the metrics that read it, without fields that none reads.

    Questions, references and what every sample has a digest of are not among them.
    """
    readers = {} if rules is None else _by_rules(rules, metrics)
    for field in ("doc_name", "reference_groups"):
        readers[field] = [metric for metric in metrics if _names(metric, field)]
    return {
        name: frozenset(metric.column.name for metric in found)
        for name, found in readers.items()
        if found
    }


def _by_rules(rules: AnswerRules, metrics: Sequence[BoundMetric]) -> dict[str, list[BoundMetric]]:
    # Not at the top: most scenarios do not say how answers cite or refuse.
    from pytest_rageval.engine.scoring.answer_rules import follows_from_answerable, sees_history

    found: dict[str, list[BoundMetric]] = {}
    if rules.refusals is not None:
        found["answerable"] = [
            metric
            for metric in metrics
            if _names(metric, "answerable") or follows_from_answerable(rules, metric)
        ]
        if rules.asks(ANSWERABLE):
            found[HINTS] = [one for one in found["answerable"] if one.info.section != "refusals"]
    if rules.citations is not None:
        name = "reference_citations"
        found[name] = [metric for metric in metrics if _names(metric, name)]
    if rules.turns:
        found["history"] = [metric for metric in metrics if sees_history(rules, metric)]
    return found


def _names(metric: BoundMetric, field: str) -> bool:
    """Return whether a metric says that it reads the field; code that names none may read it."""
    info = metric.info
    if not (metric.is_known or info.needs):
        return True
    return field in info.needs | info.or_needs | info.of_row | info.reads


def with_those_read(metrics: Sequence[BoundMetric], names: Collection[str]) -> set[str]:
    """Return these names of metrics, and those whose scores they are made of."""
    # Not at the top: most scenarios do not say how answers refuse.
    from pytest_rageval.metrics.refusals import CragScore

    named = [metric.metric for metric in metrics if metric.column.name in names]
    return {*names, *(one.options.correct for one in named if isinstance(one, CragScore))}
