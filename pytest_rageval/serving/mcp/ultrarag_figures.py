"""The figures of UltraRAG's three evaluation tools, by our own metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.trec import load_trec
from pytest_rageval.errors import Problem, UserError, listed, unknown_name
from pytest_rageval.metrics import lexical, ranking, rouge
from pytest_rageval.metrics.base import ScoringContext
from pytest_rageval.metrics.ranking import RankingMetric, score_rankings
from pytest_rageval.model import Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.dialects.ultrarag import KS, OF_RUNS
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.tokenize import normalize_ultrarag

OF_ANSWERS: Final = ("acc", "em", "stringem", "coverem", "f1", "rouge-1", "rouge-2", "rouge-l")
N_RESAMPLES: Final = 10_000

_WHOLE: Final = ("map", "mrr")
_CUT: Final = ("ndcg", "precision", "recall")
_ALPHA: Final = 0.05
_SEED: Final = 42
_LISTED: Final = 5

_DEFINITIONS: Final = {
    definition.name: definition
    for definition in (*lexical.METRICS, *rouge.METRICS, *ranking.METRICS)
}


_FIND_NOTHING: Final = frozenset({"acc", "coverem"})
"""UltraRAG's find a reference of which normalising leaves nothing in any answer; ours do not.

``score_answers`` does as UltraRAG's, unless nothing is left of the answer either.
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a tool found: ``eval_res`` in UltraRAG's layout, and remarks for people."""

    eval_res: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


def score_answers(
    answers: Sequence[str],
    references: Sequence[Sequence[str | Sequence[str]]],
    metrics: Sequence[str] | None,
) -> Figures:
    """Return a list of scores for each metric, then their means as ``avg_<metric>``.

    Nested references are ALCE's answer groups for stringem, and flat for all else, as in data. As
    in UltraRAG, an answer without references scores 0, and one with an empty reference has 1.0 by
    acc and coverem. Raises UserError for rows that are no pairs, for no rows, and for unknown
    metrics.
    """
    if not answers or len(answers) != len(references):
        raise UserError([Problem("pred_ls", _unpaired(len(answers), len(references)))])
    made = {name: _metric(name, tokenizer="word") for name in _chosen(metrics, OF_ANSWERS)}
    lists: dict[str, list[float]] = {name: [] for name in made}
    for answer, wanted in zip(answers, references, strict=True):
        groups = _groups(wanted)
        is_nested = any(not isinstance(part, str) for part in wanted)
        flat = tuple(chain(*groups))
        sample = Sample(
            "", answer=answer, references=flat, reference_groups=groups if is_nested else None
        )
        context = ScoringContext()
        is_found = bool(normalize_ultrarag(answer)) and not all(map(normalize_ultrarag, flat))
        for name, metric in made.items():
            value = 1.0 if is_found and name in _FIND_NOTHING else None
            value = metric.score(sample, context).value if flat and value is None else value
            lists[name].append(value or 0.0)
    means = {f"avg_{name}": _mean(scores) for name, scores in lists.items()}
    return Figures(lists | means, tuple(_odd_references(references, made)))


def score_run(
    run_path: str, qrels_path: str, metrics: Sequence[str] | None, ks: Sequence[int] | None
) -> Figures:
    """Return the means over the judged queries that the run has results for.

    First ``map`` and ``mrr``, 0.0 where they were not asked for; then ``ndcg@k``, ``P@k`` and
    ``recall@k`` for each k. Raises UserError for files that cannot be used as they are, and for
    unknown metrics.
    """
    asked = _ranking_metrics(metrics, ks)
    scores, remarks = _by_query(asked, qrels_path, run_path, "run_path")
    means = {label: _mean([row[at] for row in scores.values()]) for at, label in enumerate(asked)}
    labels = [*_WHOLE, *(_label(name, k) for k in _cutoffs(ks) for name in _CUT)]
    return Figures(
        {name: means.get(name, 0.0) for name in labels if name in means or name in _WHOLE}, remarks
    )


def compare_runs(
    paths: tuple[str, str],
    qrels_path: str,
    metrics: Sequence[str] | None,
    ks: Sequence[int] | None,
    n_resamples: int,
) -> Figures:
    """Return for each metric the means of two runs (new, old), their difference and its p-value.

    All are over the judged queries that either run has results for; a run scores 0 on a query that
    it has no results for. The p-values, of a paired sign-flip test, are two-sided and not adjusted.
    Raises UserError as ``score_run`` does.
    """
    from pytest_rageval.stats.permutation import paired_permutation_test

    asked = _ranking_metrics(metrics, ks)
    new, remarks = _by_query(asked, qrels_path, paths[0], "run_new_path")
    old, more = _by_query(asked, qrels_path, paths[1], "run_old_path")
    queries, nothing = sorted(new.keys() | old.keys()), [0.0] * len(asked)
    found = {}
    for at, label in enumerate(asked):
        a = [new.get(query, nothing)[at] for query in queries]
        b = [old.get(query, nothing)[at] for query in queries]
        tested = paired_permutation_test(a, b, n_resamples=n_resamples, seed=_SEED)
        found[label] = {
            "A_mean": _mean(a),
            "B_mean": _mean(b),
            "diff": _mean([x - y for x, y in zip(a, b, strict=True)]),
            "p_value": tested.p_value,
            "significant": tested.p_value < _ALPHA,
        }
    return Figures(found, tuple(dict.fromkeys((*remarks, *more))))


def _groups(wanted: Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple((part,) if isinstance(part, str) else tuple(part) for part in wanted)


def _odd_references(
    references: Sequence[Sequence[str | Sequence[str]]], metrics: Iterable[str]
) -> Iterator[str]:
    """Yield which rows have no references, and which have some of which normalising leaves none."""
    flat = {f"gt_ls[{at}]": [*chain(*_groups(wanted))] for at, wanted in enumerate(references)}
    none = [row for row, texts in flat.items() if not texts]
    empty = [row for row, texts in flat.items() if not all(map(normalize_ultrarag, texts))]
    if none:
        yield f"{counted(len(none), 'row')} without references, scored 0: {listed(none, _LISTED)}"
    if empty:
        rows = f"{counted(len(empty), 'row')} with a reference of which normalising leaves nothing"
        if finding := [name for name in metrics if name in _FIND_NOTHING]:
            rows += f", found in any answer by {' and '.join(finding)}"
        yield f"{rows}: {listed(empty, _LISTED)}"


def _unpaired(answers: int, references: int) -> str:
    if answers == references:
        return "has no rows: there is nothing to evaluate"
    return (
        f"has {counted(answers, 'row')}, and gt_ls {references}; each answer needs its references "
        "in the same row"
    )


def _chosen(given: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Return the asked metrics in lower case, each once; all ``known`` ones where none is named."""
    names = [name.lower() for name in given or known]
    problems = [
        Problem(f"metrics[{at}]", unknown_name("metric", name, known))
        for at, name in enumerate(names)
        if name not in known
    ]
    if problems:
        raise UserError(problems)
    return list(dict.fromkeys(names))


def _metric(name: str, **options: Any) -> Any:
    definition = _DEFINITIONS[name]
    return definition.make(name, definition.options.model_validate(options))


def _ranking_metrics(
    metrics: Sequence[str] | None, ks: Sequence[int] | None
) -> dict[str, RankingMetric]:
    """Return the measures by UltraRAG's names, in the order of ``metrics``, then ``ks``."""
    names = _chosen(metrics, OF_RUNS)
    wanted = [(name, k) for name in names for k in ([None] if name in _WHOLE else _cutoffs(ks))]
    if not wanted:
        raise UserError([Problem("ks", f"is empty, and {', '.join(names)} need a cutoff")])
    return {_label(name, k): _metric(name, k=k) for name, k in wanted}


def _cutoffs(ks: Sequence[int] | None) -> Sequence[int]:
    return KS if ks is None else list(dict.fromkeys(ks))


def _label(name: str, k: int | None) -> str:
    """Return UltraRAG's name of a measure.

    >>> _label("precision", 10), _label("map", None)
    ('P@10', 'map')
    """
    return name if k is None else f"{'P' if name == 'precision' else name}@{k}"


def _by_query(
    asked: Mapping[str, RankingMetric], qrels_path: str, run_path: str, run_key: str
) -> tuple[dict[str, list[float]], tuple[str, ...]]:
    """Return the scores of each judged query that has results, and remarks on the files."""
    spec = DatasetSpec(qrels_path=qrels_path, run_path=run_path, missing_queries="skip")
    # As pytrec_eval, which UltraRAG asks: it compares scores as 32-bit numbers, with more ties.
    dataset = load_trec(spec, Path.cwd(), lambda _key: "", run_key, scores_as="f")
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    answered = [sample for sample in samples if sample.skip is None]
    lists = score_rankings(list(asked.values()), answered)
    rows = zip(*([score.value or 0.0 for score in scores] for scores in lists), strict=True)
    remarks = list(dataset.warnings)
    if len(answered) < len(samples):
        missing = len(samples) - len(answered)
        have = "has" if missing == 1 else "have"
        share = f"{missing} of {len(samples)} judged queries"
        remarks.append(f"{share} {have} no results in {dataset.shown}")
    return dict(zip((sample.id for sample in answered), map(list, rows), strict=True)), tuple(
        remarks
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
