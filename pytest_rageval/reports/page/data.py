"""The data of the page of a run: its figures, samples, gates and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from pytest_rageval.gates.base import AS_RUN, Gate, ends_of, metrics_behind
from pytest_rageval.gates.mean import again_of
from pytest_rageval.gates.slices import slice_value
from pytest_rageval.gates.unscored import UnscoredGate, gates_of, needed_scores
from pytest_rageval.model import (
    SUPPORT,
    TARGET,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparison,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.reports.missing import control_remarks
from pytest_rageval.reports.page.assemble import (
    LONGEST,
    MOST_LISTED,
    TextPool,
    cut,
    embedded_json,
    longest_that_fits,
)
from pytest_rageval.reports.page.people import people_data
from pytest_rageval.reports.page.support import has_table, support_data
from pytest_rageval.reports.run_view import ComparedRun, RunView
from pytest_rageval.results.run_point import RunPoint, change_of
from pytest_rageval.stats.caveats import doubtful_figures, remarks_of
from pytest_rageval.stats.comparison import paired_scores
from pytest_rageval.stats.summary import reply_counts
from pytest_rageval.stats.verdict import (
    is_beyond_budget,
    is_judged,
    is_ruled_out,
    passing_of,
    row_rules_out,
    score_of,
    was_not_asked,
)
from pytest_rageval.stats.weights import group_numbers, is_scored
from pytest_rageval.text.printable import one_line


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each gate: what the page decides it from, and under ``run`` its verdict of the run."""
    made = gates_of(result.info) or [UnscoredGate()]
    gates = {gate.name: _for_page(gate, result) for gate in made}
    unknown = {"kind": AS_RUN, "targets": [WEIGHTED_SCORE]}  # added by a hook
    for verdict in result.gates:
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {
            "name": verdict.name,
            **_remark(result, asked := gates.get(verdict.name, unknown)),
            **({"against": verdict.baseline} if len(result.comparisons) > 1 else {}),
            **asked,
            "run": run,
        }


def _for_page(gate: Gate, result: ScenarioResult) -> dict[str, Any]:
    """Return what the page decides a gate from; some keep the verdict of the run, ``AS_RUN``.

    Beside kinds that always do, so do all gates of a sampled run, as the page lacks the scores of
    rows that were not asked, and gates on figures not believed, be it only with other weights.
    """
    if result.info.sample is not None:
        return Gate.for_page(gate)
    doubtful = doubtful_figures(result)
    names = metrics_behind(gate, result.info)
    # On the page, any metric may get a weight.
    is_doubtful = doubtful and not {*doubtful, WEIGHTED_SCORE}.isdisjoint(names)
    return Gate.for_page(gate) if is_doubtful else gate.for_page()


def _remark(result: ScenarioResult, asked: Mapping[str, Any]) -> dict[str, str]:
    """Return what a gate says beside its mean, except of how many samples that is."""
    if asked["kind"] != "mean":
        return {}
    target, mean = asked["target"], result.mean_of(asked["target"])
    parts = list(remarks_of(result, target))
    again = again_of(result.info, result.samples, target)
    if again is not None and mean is not None:
        parts.append(again.said(mean, Bound(*asked["ends"])))
    return {"remark": text} if (text := "; ".join(filter(None, parts))) else {}


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the scores that a threshold or a gate needs; ``_unjudged`` has who may lack them."""
    return needed_scores(info, gates_of(info))


_BYTES_A_THOUSAND: Final = 980_000
_MOST_THOUSANDS: Final = 10
_LEAST_BYTES_A_SAMPLE: Final = 200
_WIDTH: Final = 300
_DOC_WIDTH: Final = 2_000
_LISTED_IDS: Final = 20


def page_data(
    result: ScenarioResult, run: RunInfo, trend: Sequence[RunPoint], taken: int = 0
) -> dict[str, Any]:
    """Return the data as JSON types; ``taken`` bytes of the page are used already.

    ``trend`` are the newest complete runs of the scenario, oldest first; if complete, this is last.
    Texts are cut so that a page of 1,000 samples stays below 1 MB, and larger ones grow in
    proportion up to 10,000; scores are never left out.
    """
    plain = {
        **run_data(result),
        "run": _run(run, trend),
        "comparisons": [_comparison(result, found) for found in result.comparisons],
        "missing": _missing(result),
        **people_data(result),
    }
    (texts,), pool = texts_that_fit([result], plain, taken)
    return {**plain, **texts, "texts": pool}


def _missing(result: ScenarioResult) -> list[tuple[str, str, bool]]:
    """Return what is missing in the figures: a text, the reason, and whether something failed.

    Without what ``_scenario`` has among the warnings.
    """
    warned = set(map(str, control_remarks(result)))
    return [
        (cut(part.text, _WIDTH), cut(part.reason, _WIDTH), part.is_error)
        for part in RunView(result).missing
        if str(part) not in warned
    ]


def run_data(result: ScenarioResult) -> dict[str, Any]:
    """Return what a run is weighed by: its scores, its figures, its gates; no long texts."""
    return {
        "scenario": _scenario(result),
        "metrics": [_metric(column, result) for column in result.info.metrics],
        # Python's figures with the weights of the run: the page checks its own against them.
        "as_run": {
            **{name: asdict(summary) for name, summary in result.metrics.items()},
            WEIGHTED_SCORE: asdict(result.weighted_score),
        },
        "gates": list(plain_gates(result)),
        "samples": _columns(result),
    }


def texts_that_fit(
    results: Sequence[ScenarioResult], plain: Any, taken: int
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the long fields of each result's samples, and the texts that these are positions in.

    ``plain`` is what else the page holds, beside ``taken`` bytes of scripts and style. Tables of
    support have a size of their own.
    """
    n = sum(len(result.samples) for result in results)
    thousands = min(max(n / 1000, 1.0), _MOST_THOUSANDS)
    pool = TextPool(LONGEST)
    used = len(embedded_json([plain, [_texts(result, pool) for result in results]]).encode())
    room = int(_BYTES_A_THOUSAND * thousands) - taken - used
    pool = TextPool(longest_that_fits(pool.added, max(room, _LEAST_BYTES_A_SAMPLE * n)))
    texts = [_texts(result, pool) for result in results]
    tables = [support_data(result, len(results)) for result in results]
    return [
        {**found, "support": table} for found, table in zip(texts, tables, strict=True)
    ], pool.texts


def _scenario(result: ScenarioResult) -> dict[str, Any]:
    info = result.info
    good, warn = info.bands
    return {
        "name": cut(one_line(info.title), _WIDTH),
        "path": cut(info.path, _WIDTH),
        "description": cut(info.description, _DOC_WIDTH),
        "overridden": [cut(path, _WIDTH) for path in info.overridden],
        "warnings": [
            *(cut(warning, _WIDTH) for warning in (*info.warnings, *info.unlike)),
            *map(str, control_remarks(result)),  # whole: what not to trust stands at the end
        ],
        "thresholds": [[name, *ends_of(bound)] for name, bound in info.thresholds.items()],
        "bands": [good, warn],
        **_doubtful(result),
        **_sampled(result),
        "group_by": None if info.group_by is None else cut(info.group_by, _WIDTH),
        "tolerate": info.tolerates_shortfalls,
        "expects_failures": info.expects_failures,
        "guards_itself": not info.gates,
        "is_judged": is_judged(result),
        "is_of_file": info.is_of_file,
        "may_be_missing": list(info.tolerated),
        "judges_weighted": WEIGHTED_SCORE in required_names(info) or not required_names(info),
        "diagnoses": info.diagnose is not None,
        "complete": result.complete,
        "not_asked": result.counts.not_asked,
        "not_run": result.counts.not_run,
        "total": result.counts.samples,
        "beyond_budget": sum(is_beyond_budget(sample) for sample in result.samples),
        "doc_weights": [
            [cut(name, _DOC_WIDTH), weight] for name, weight in info.doc_weights.items()
        ],
    }


def _doubtful(result: ScenarioResult) -> dict[str, list[str]]:
    """Return the figures to show in grey: they count grades of a judge that is not believed."""
    names = doubtful_figures(result)
    return {"doubtful": sorted(names)} if names else {}


def _sampled(result: ScenarioResult) -> dict[str, Any]:
    """Return how many rows were asked and the means estimated over all, {} if all were asked."""
    sample = result.info.sample
    if sample is None:
        return {}
    counts = {"asked": len(sample.drawn), "rows": sample.rows, "seed": sample.seed}
    means = [
        [name, found.mean, found.beyond_low, found.beyond_high]
        for name, found in result.estimates.items()
    ]
    return {"sampled": {**counts, "against": cut(sample.against, _WIDTH), "means": means}}


def _run(run: RunInfo, trend: Sequence[RunPoint]) -> dict[str, Any]:
    return {
        "id": run.id,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "version": run.version,
        "usage": dict(run.usage) if run.usage is not None else None,
        "commit": run.commit,
        "trend": [
            {
                "id": cut(point.run_id, _WIDTH),
                "means": {
                    WEIGHTED_SCORE: point.weighted_score.mean,
                    **{name: point.mean_of(name) for name in point.metrics},
                },
                **_changed(before, point),
            }
            for before, point in zip([None, *trend], trend, strict=False)
        ],
    }


def _changed(before: RunPoint | None, point: RunPoint) -> dict[str, Any]:
    """Return which figures are not the same measure as in the run before, and why."""
    if before is None:
        return {}
    whys = {name: change_of(name, before, point) for name in (WEIGHTED_SCORE, *point.metrics)}
    found = {name: cut(why, _WIDTH) for name, why in whys.items() if why}
    return {"changed": found} if found else {}


def _metric(column: MetricColumn, result: ScenarioResult) -> dict[str, Any]:
    low, high = column.range
    return {
        "name": column.name,
        "weight": column.weight,
        "is_required": column.name in required_names(result.info),
        "low": low if abs(low) != float("inf") else None,
        "high": high if abs(high) != float("inf") else None,
        "higher_is_better": column.higher_is_better,
        "as_is": column.as_is,
        "definition": cut(column.definition, _WIDTH),
        "scores": [_number(sample.scores.get(column.name)) for sample in result.samples],
        "failed": [
            at
            for at, sample in enumerate(result.samples)
            if column.name in sample.errors and not is_scored(sample.scores.get(column.name))
        ],
        "ruled_out": _places(result, column, is_ruled_out),
        "of_row": _places(result, column, row_rules_out),
        "unasked": _places(result, column, partial(row_rules_out, or_lacks=True)),
        "refused": _places(result, column, lambda one, name: passing_of(one, name) is False),
        **({"replies": counts} if (counts := reply_counts(result.samples, column.name)) else {}),
    }


def _places(
    result: ScenarioResult, column: MetricColumn, holds: Callable[[SampleResult, str], bool]
) -> list[int]:
    return [at for at, sample in enumerate(result.samples) if holds(sample, column.name)]


def _number(value: float | None) -> float | None:
    return value if is_scored(value) else None


def _comparison(result: ScenarioResult, found: Comparison) -> dict[str, Any]:
    baseline = result.info.baselines[found.baseline]
    pairs = {name: _pairs(result, baseline, name) for name in found.metrics}
    return {
        "baseline": found.baseline,
        "test": found.test,
        "alpha": found.alpha,
        "looks": found.looks,
        "correction": found.correction,
        "metrics": {name: asdict(metric) for name, metric in found.metrics.items()},
        "needed_rows": ComparedRun(result, found).needed_rows,
        "then": {name: pairs[name][1] for name in pairs},
        "now": {name: pairs[name][0] for name in pairs},
        "only_a": _counted(found.only_a),
        "only_b": _counted(found.only_b),
    }


def _counted(ids: Sequence[str]) -> dict[str, Any]:
    return {"n": len(ids), "first": [cut(name, _WIDTH) for name in ids[:_LISTED_IDS]]}


def _pairs(
    result: ScenarioResult, baseline: Baseline, metric: str
) -> tuple[dict[int, float], list[float | None]]:
    """Return this run's scores as they are compared, by position, and all of the baseline.

    The former only where they differ from those that the page has: a weighted score is compared
    over the metrics that both runs have.
    """
    pairs = [paired_scores(result.info, sample, baseline, metric) for sample in result.samples]
    now = {
        at: ours
        for at, ((ours, _), sample) in enumerate(zip(pairs, result.samples, strict=True))
        if is_scored(ours) and ours != score_of(sample, metric)
    }
    return now, [_number(theirs) for _, theirs in pairs]


def _columns(result: ScenarioResult) -> dict[str, Any]:
    """Return the short fields of the samples, in dataset order; of a yes or no, where it is yes."""
    samples = result.samples
    docs = sorted({sample.doc_name for sample in samples if sample.doc_name is not None})
    number = {name: at for at, name in enumerate(docs)}
    return {
        "id": [cut(sample.sample_id, _DOC_WIDTH) for sample in samples],
        "outcome": [sample.outcome for sample in samples],
        "docs": [cut(name, _DOC_WIDTH) for name in docs],
        "doc": [-1 if s.doc_name is None else number[s.doc_name] for s in samples],
        "group": group_numbers(result.info, samples),
        "invalid": [at for at, sample in enumerate(samples) if sample.invalid is not None],
        "unanswered": [at for at, sample in enumerate(samples) if TARGET in sample.errors],
        "not_asked": [
            at
            for at, sample in enumerate(samples)
            if any(was_not_asked(sample, name) for name in sample.errors)
        ],
        "unjudged": _unjudged(result),
        "xfail": [at for at, sample in enumerate(samples) if sample.xfail is not None],
    }


def _unjudged(result: ScenarioResult) -> list[int]:
    """Return the positions of errors with any weights: a score that the sample needs is missing.

    Because there is no answer, it was not asked for, or a threshold or gate needs it and it is
    neither ruled out nor tolerated.
    """
    required = required_names(result.info) - {WEIGHTED_SCORE} - set(result.info.tolerated)
    return [
        at
        for at, sample in enumerate(result.samples)
        if TARGET in sample.errors
        or any(
            not is_scored(score_of(sample, name))
            and (
                (name in required and not is_ruled_out(sample, name)) or was_not_asked(sample, name)
            )
            for name in sample.scores
        )
    ]


def _texts(result: ScenarioResult, pool: TextPool) -> dict[str, Any]:
    """Return the long fields of the samples, as positions in ``pool.texts``."""
    samples = result.samples
    names = _remark_names(result)
    number = {name: at for at, name in enumerate(names)}
    return {
        "question": [pool.add(sample.question) for sample in samples],
        "answer": [pool.add(sample.answer) for sample in samples],
        "contexts": [_listed(pool, sample.contexts, 2) for sample in samples],
        "references": [_listed(pool, sample.references, 1) for sample in samples],
        "remarks": [
            [at, KINDS.index(kind), number[name], pool.add(text, _SHARES[kind])]
            for at, sample in enumerate(samples)
            for kind, name, text in _remarks(sample)
        ],
        "remark_names": [cut(name, _WIDTH) for name in names],
        "fields": [_field(pool, name, samples) for name in result.info.fields],
    }


KINDS: Final = ("error", "reason", "details", "raw", "cause")
_SHARES: Final = {"error": 1, "reason": 2, "details": 2, "raw": 2, "cause": 2}


def _remark_names(result: ScenarioResult) -> list[str]:
    """Return the metrics, rows and causes that remarks are about, each once, sorted."""
    return sorted({name for sample in result.samples for _, name, _ in _remarks(sample)})


def _listed(pool: TextPool, texts: Sequence[str] | None, share: int) -> list[int] | None:
    """Return the positions of the first texts; if there are more, minus their number is last."""
    if texts is None:
        return None
    more = len(texts) - MOST_LISTED
    return [pool.add(text, share) for text in texts[:MOST_LISTED]] + ([-more] if more > 0 else [])


def _remarks(sample: SampleResult) -> Iterator[tuple[str, str, str]]:
    """Yield the remarks on a sample: kind, metric or row or cause, and text."""
    for name, text in sample.errors.items():
        yield "error", name, text
    for name, text in sample.reasons.items():
        yield "reason", name, text
    for name, found in sample.details.items():
        if name == SUPPORT and has_table(sample):
            continue  # it is shown as a table
        yield "details", name, json.dumps(json_plain(found), ensure_ascii=False)
    if sample.invalid is not None:
        place = f"row {sample.row}" + (f", line {sample.line}" if sample.line is not None else "")
        yield "raw", place, sample.raw
    if sample.cause is not None:
        yield "cause", sample.cause, sample.cause_reason


def _field(pool: TextPool, name: str, samples: Sequence[SampleResult]) -> dict[str, Any]:
    """Return a field for slices: its values, sorted, and the position of each sample's value."""
    found = [slice_value(sample, name) for sample in samples]
    values = sorted(set(found))
    number = {value: at for at, value in enumerate(values)}
    return {
        "name": name,
        "values": [pool.add(value, 2) for value in values],
        "at": [number[value] for value in found],
    }
