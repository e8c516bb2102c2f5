"""The control rows of a scenario's judged metrics: our own, and those of the user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_rageval.clients.score_cache import define
from pytest_rageval.controls import (
    ControlRule,
    ControlSet,
    built_in_rows,
    language_of,
    read_rows,
    row_problems,
)
from pytest_rageval.engine.plan import BoundMetric, Controlled, ModelPlan
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import ScenarioError, unknown_name
from pytest_rageval.metrics.base import MetricInfo, missing_fields
from pytest_rageval.model import SUPPORT, Case, MetricColumn, Sample

_TELLS: Final = {
    "faithfulness": "supported answers from invented ones",
    "response_groundedness": "supported answers from invented ones",
    "answer_correctness": "right answers from wrong ones",
    "factual_correctness": "right answers from wrong ones",
    "answer_accuracy": "right answers from wrong ones",
    "must_satisfy": "answers that meet a criterion from others",
    "answer_relevancy": "answers from talk of something else",
    "llm_answer_relevancy": "answers from talk of something else",
    "semantic_similarity": "equal meanings from different ones",
    "context_precision": "passages that help from others",
    "context_utilization": "passages that help from others",
    "context_relevance": "passages that help from others",
    "context_recall": "complete passages from others",
    SUPPORT: "supported statements from others",
}
_TELLS_ELSE: Final = "good rows from bad ones"


def bind_controls(
    binding: Binding, metrics: Sequence[BoundMetric], models: ModelPlan, cases: Sequence[Case]
) -> dict[str, Controlled]:
    """Return what the judge of each metric is tested with, by the metric's name.

    Rows of the user's file take the place of our own; what is wrong with them is a problem. Metrics
    without rows are left out, and those whose rows lack what they need.
    """
    asked = {metric.column.name: metric for metric in metrics if metric.info.asks}
    table = _of_table() if any(metric.info.of_table for metric in asked.values()) else None
    given = _of_file(binding, asked if table is None else {**asked, SUPPORT: table})
    language = language_of(case for case in cases if isinstance(case, Sample))
    # The prompt of a support table is tested once for all metrics that read it.
    tested = {
        name: table if table is not None and metric.info.of_table and name not in given else metric
        for name, metric in asked.items()
    }
    found = {}
    for name, metric in {metric.column.name: metric for metric in tested.values()}.items():
        rows = given.get(name) or built_in_rows(metric.info.name, language)
        if name in given:
            binding.problems += row_problems(rows.rows, metric.info)
        # Options may make a metric need what our rows have not.
        if rows.rows and not any(missing_fields(row.sample, metric.info) for row in rows.rows):
            found[name] = _controlled(metric, rows, models)
    names = {name: metric.column.name for name, metric in tested.items()}
    return {name: found[of] for name, of in names.items() if of in found}


def _of_table() -> BoundMetric:
    """Return what stands for all metrics that read the support table of a sample."""
    # Not at the top: most scenarios have no metric of a support table.
    from pytest_rageval.engine.scoring.shared_scores import TABLE_VERSION
    from pytest_rageval.metrics.support.metric import SUPPORT_ITSELF

    info = MetricInfo(
        SUPPORT,
        frozenset({"answer", "contexts"}),
        version=TABLE_VERSION,
        asks=frozenset({"judge"}),
        empty_is_worst=True,
        of_table=True,
    )
    return BoundMetric(MetricColumn(SUPPORT, version=TABLE_VERSION), info, SUPPORT_ITSELF)


def _of_file(binding: Binding, asked: Mapping[str, BoundMetric]) -> Mapping[str, ControlSet]:
    judge = binding.scenario.judge
    if judge is None or judge.controls.file is None:
        return {}
    where = binding.loaded.where("judge", "controls", "file")
    try:
        rows = read_rows(judge.controls.file, binding.loaded.path.parent, where)
    except ScenarioError as error:
        binding.problems += error.problems
        return {}
    for name, found in rows.items():
        if name not in asked:
            message = unknown_name("metric that asks a model", name, tuple(asked))
            binding.problem(f"{found.rows[0].place}: {message}", "judge", "controls", "file")
    return rows


def _controlled(metric: BoundMetric, rows: ControlSet, models: ModelPlan) -> Controlled:
    info = metric.info
    high = tuple(row.sample for row in rows.rows if row.expect == "high")
    low = tuple(row.sample for row in rows.rows if row.expect == "low")
    parts = {
        "metric": [metric.column.name, info.name, info.version, metric.column.definition],
        "language": models.language,
        "high": list(map(repr, high)),
        "low": list(map(repr, low)),
    }
    judge = models.judge if "judge" in info.asks else None
    if judge is not None:  # no part of a definition, but of what the judge is asked here
        parts["asked"] = [judge.form, judge.reasks]
    embedding = models.embedding if "embedding" in info.asks else None
    rule = ControlRule(info.margin, metric.column.range)
    tells = _TELLS.get(info.name, _TELLS_ELSE)
    digest = define(parts, judge, embedding)
    return Controlled(high, low, rule, rows.number, digest, tells, metric)
