"""What the tools for agents answer about saved runs: their samples, one of these, two runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import SUPPORT, WEIGHTED_SCORE, Cause, SampleResult
from pytest_rageval.reports.page.support import has_table, table_of
from pytest_rageval.serving.mcp.answers import (
    METRICS,
    MOST_TOKENS,
    NAME,
    REMARKS,
    Arguments,
    cause_of,
    cut,
    fitted,
    paged,
    rounded,
    row_of,
    significant,
    why,
)
from pytest_rageval.serving.project import pick
from pytest_rageval.serving.saved_runs import StoredRun, compare_saved, read_run, row_place
from pytest_rageval.stats.verdict import badness, score_of
from pytest_rageval.stats.weights import is_scored

# How many of each an answer shows; it says how many more there are.
_PAGE: Final = 20
_TEXTS: Final = 5
_STATEMENTS: Final = 12
_SOURCES: Final = 6

_FULL_TOKENS: Final = 8000
"""How long an answer to ``full: true`` may be."""
_WHY: Final = 150
"""How many characters a sample in a list has to say why it failed."""

_RUN = Field(
    description="scenario/run; run may be an id, its beginning, latest, previous, or a baseline"
)


class SamplesArguments(Arguments):
    """Which samples to list."""

    run: str = _RUN
    outcome: Literal["passed", "failed", "error", "skipped", "xfailed"] | None = None
    cause: Cause | None = Field(None, description="why the answer is low")
    metric: str | None = Field(None, description="order by this metric")
    offset: int = Field(0, ge=0)
    limit: int = Field(_PAGE, ge=1, le=100)


class ExplainArguments(Arguments):
    """Which sample to explain."""

    run: str = _RUN
    id: str = Field(description="id of the sample, or its beginning")
    full: bool = Field(False, description="texts up to four times as long")


class CompareArguments(Arguments):
    """Which runs to compare."""

    a: str = _RUN
    b: str = Field(description="the older run; as a, the scenario may be left out")


def listed_samples(path: Path, shown: str, request: SamplesArguments) -> str:
    """Return a page of the samples of a run, the worst first; ``shown`` is the run's name."""
    run = read_run(path)
    if request.cause is not None and run.head.causes is None:
        hint = "write 'diagnose: true' into its scenario, and run it again"
        raise UserError([Problem("cause", f"{shown} has no causes: {hint}")])
    samples = [
        sample
        for sample in run.samples
        if request.outcome in (None, sample.outcome) and request.cause in (None, sample.cause)
    ]
    samples.sort(key=_by_metric(run, request.metric) if request.metric else badness)
    page = samples[request.offset : request.offset + request.limit]
    rows = [row_of(sample, run.view, _WHY) for sample in page]
    if request.metric is not None:
        for row, sample in zip(rows, page, strict=True):
            row["scores"] = {request.metric: rounded(score_of(sample, request.metric))}
    return paged({"run": shown}, "samples", rows, request.offset, len(samples))


def _by_metric(run: StoredRun, metric: str) -> Callable[[SampleResult], tuple[bool, float, int]]:
    """Return a key that sorts samples by a metric, the worst first, those without a score last."""
    columns = {column.name: column for column in run.plan.info.metrics}
    pick("metric", metric, [*columns, WEIGHTED_SCORE])

    def key(sample: SampleResult) -> tuple[bool, float, int]:
        score = score_of(sample, metric)
        if not is_scored(score):
            return True, 0.0, sample.index
        return False, columns[metric].to_unit(score) if metric in columns else score, sample.index

    return key


def explained_sample(root: Path, path: Path, shown: str, request: ExplainArguments) -> str:
    """Return what is known of a sample; the place of its row is relative to ``root``."""
    run = read_run(path)
    samples = {sample.sample_id: sample for sample in run.samples}
    # An id out of a list may be cut: "its beginning… (12 more)".
    wanted = request.id if request.id in samples else request.id.rpartition("… (")[0] or request.id
    sample = samples[pick("sample", wanted, list(samples), begins=True)]
    place = row_place(root, path, run.head.scenario, sample.sample_id)
    head = {"run": shown, "id": sample.sample_id, "row": place}
    wrong = why(sample, run.view)
    most, times = (_FULL_TOKENS, 4) if request.full else (MOST_TOKENS, 1)
    return fitted(lambda width: _explanation(head, sample, wrong, width * times), most)


def _explanation(
    head: Mapping[str, Any], sample: SampleResult, wrong: list[str], width: int
) -> dict[str, Any]:
    scores = {name: rounded(score) for name, score in sample.scores.items()}
    return {
        **head,
        "id": cut(head["id"], width),
        "outcome": sample.outcome,
        "weighted_score": rounded(sample.weighted_score),
        "why": _texts(wrong, width),
        "scores": dict(list(scores.items())[:METRICS]),
        "more_scores": max(0, len(scores) - METRICS) or None,
        "question": cut(sample.question, width),
        "answer": cut(sample.answer, width),
        "references": _texts(sample.references, width),
        "contexts": _texts(sample.contexts, width),
        "reasons": _cut_values(sample.reasons, width) or None,
        "support": _supported(sample, width),
        "details": _cut_values(_details(sample), width) or None,
        "doc_name": cut(sample.doc_name, width),
        "weight": sample.sample_weight,
        "metadata": _cut_values(sample.metadata, width) or None,
        **cause_of(sample, width),
    }


def _details(sample: SampleResult) -> Mapping[str, Any]:
    """Return the details but for the support table, which ``support`` shows."""
    shown = sample.details.items()
    return {name: value for name, value in shown if name != SUPPORT or not has_table(sample)}


def _supported(sample: SampleResult, width: int) -> list[Any] | None:
    """Return the first statements of a support table, and how many more there are.

    Those come first that cite something unknown, or that a source which was asked does not support
    in full. Beside each, what the sources say of it. None without a table.
    """
    table = table_of(sample)
    if table is None:
        return None
    names = [_source_name(source, width) for source in table["sources"]]
    rows = list(zip(table["statements"], table["cells"], strict=False))
    rows.sort(key=lambda row: not row[0]["lost"] and all(map(_is_full, filter(None, row[1]))))
    shown: list[Any] = [_statement(*row, names, width) for row in rows[:_STATEMENTS]]
    more = len(rows) - _STATEMENTS
    return [*shown, f"… {more} more"] if more > 0 else shown


def _statement(
    statement: Mapping[str, Any], cells: Sequence[Any], names: Sequence[str], width: int
) -> dict[str, Any]:
    """Return a statement of a support table, with what the sources (``names``) say of it."""
    said = [(name, cell) for name, cell in zip(names, cells, strict=False) if cell is not None]
    said.sort(key=lambda one: not _is_full(one[1]))  # what supports it is told first
    return {
        "of": f"{statement['of']} {statement['number']}",
        "text": cut(statement["text"], width),
        "cites": statement["cites"] or None,
        "cites_nothing_by": statement["lost"] or None,
        **{name: cut(": ".join(filter(None, cell)), width) for name, cell in said[:_SOURCES]},
        "more": len(said[_SOURCES:]) or None,
    }


def _is_full(cell: Sequence[str]) -> bool:
    return cell[0] == "full"


def _source_name(source: Mapping[str, Any], width: int) -> str:
    """Return what answers call a source, such as ``contexts[1, 3]``, with its documents."""
    name = f"{source['kind']}[{', '.join(map(str, source['index']))}]".removesuffix("[]")
    docs = ", ".join(dict.fromkeys(filter(None, source.get("docs", ()))))
    return f"{name} {cut(docs, width)}" if docs else name


def _texts(texts: Sequence[str] | None, width: int) -> list[str | None] | None:
    """Return the first texts, and how many more there are; None without any."""
    if not texts:
        return None
    more = len(texts) - _TEXTS
    listed: list[str | None] = [cut(text, width) for text in texts[:_TEXTS]]
    return [*listed, f"… {more} more"] if more > 0 else listed


def _cut_values(values: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Return the first values, whole or cut as JSON, and how many more there are."""
    shown: dict[str, Any] = {}
    for name, value in list(values.items())[:METRICS]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown[cut(name, NAME)] = value if len(text) <= width else cut(text, width)
    if len(values) > METRICS:
        shown["…"] = f"{len(values) - METRICS} more"
    return shown


def compared_runs(a: Path, b: Path, names: Mapping[str, str]) -> str:
    """Return the answer of compare_runs; ``names`` has what ``a`` and ``b`` are called."""
    found = compare_saved(a, b)
    return fitted(lambda width: _comparison(names, found, width))


def _comparison(names: Mapping[str, str], found: Mapping[str, Any], width: int) -> dict[str, Any]:
    metrics = {
        cut(name, NAME): {
            "a": rounded(row["A_mean"]),
            "b": rounded(row["B_mean"]),
            "diff": rounded(row["diff"]),
            "ci": [rounded(row["ci_low"]), rounded(row["ci_high"])],
            "p_adjusted": significant(row["p_adjusted"]),
            "verdict": row["verdict"],
            "smallest_detectable": rounded(row["smallest_detectable"]),
        }
        for name, row in list(found["metrics"].items())[:METRICS]
    }
    worse = [
        {
            "id": cut(row["id"], NAME),
            "a": rounded(row["a"]),
            "b": rounded(row["b"]),
            "question": cut(row["question"], width),
            "cause": row["cause"],
            "cause_reason": cut(row["cause_reason"], width) or None,
        }
        for row in found["worse"]
    ]
    return {
        **names,
        "n": found["n"],
        "metrics": metrics,
        "more_metrics": len(found["metrics"]) - len(metrics) or None,
        "worse": worse,
        "more_worse": (found["fell"] or 0) - len(worse) or None,
        "better": found["better"],
        "remarks": [cut(remark, width) for remark in found["remarks"][:REMARKS]],
        "more_remarks": len(found["remarks"][REMARKS:]) or None,
    }
