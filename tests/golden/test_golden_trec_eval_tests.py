"""D4: every figure of trec_eval's own tests, against trec_eval, UltraRAG and ir-measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from others_data import others_data
from trec_figures import KS, asked, assert_figures, by_query, means, ours, run_trec

from pytest_rageval import evaluate

FILES = others_data("data/trec-eval/original")

FIGURES = json.loads(others_data("reference/trec_eval_test_data.json").read_text("utf-8"))[
    "datasets"
]
DATASETS = [
    "qrels.test+results.test",
    "qrels.rel_level+results.test",
    "qrels.test+results.trunc",
]


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_figure_of_trec_evals_own_files(tmp_path: Path, dataset: str) -> None:
    """D4: aggregates as ``trec_eval -c``, each query as trec_eval, UltraRAG and ir-measures.

    In results.trunc the second of three topics is missing: 0 everywhere.
    """
    expected = FIGURES[dataset]
    qrels, run = (FILES / Path(expected[key]).name for key in ("qrels", "run"))
    complete = expected["trec_eval_-c"]["aggregate"]
    extra = expected["trec_eval"].get("extra", {})
    result = run_trec(tmp_path, qrels, run, asked([*complete, *extra]))
    assert len(complete) == 20
    assert_figures(means(result), complete, 1e-12, dataset)
    assert result.counts.scored == expected["trec_eval_-c"]["counts"]["num_q"] == 3
    if extra:
        assert_figures(means(result), extra, 1e-12, dataset)
    queries = by_query(result)
    assert list(queries) == ["301", "302", "303"]
    compared = set()
    for system in ("trec_eval", "ultrarag", "ir_measures_default"):
        for query, figures in expected[system].get("per_query", {}).items():
            assert_figures(queries[query], figures, 1e-12, f"{system} {query}")
            compared.add(query)
    for query in queries.keys() - compared:
        assert set(queries[query].values()) == {0.0}, query


def test_full_digits_are_those_of_ir_measures_to_the_last_bit(
    tmp_path: Path,
) -> None:
    """D4: pre-ranking changes no figure."""
    expected = FIGURES["qrels.test+results.test"]
    figures = expected["ir_measures_default"]["per_query"]
    result = run_trec(
        tmp_path,
        FILES / "qrels.test",
        FILES / "results.test",
        asked(figures["301"]),
    )
    queries = by_query(result)
    for query, row in figures.items():
        for name, figure in row.items():
            assert queries[query][str(ours(name))] == figure, (query, name)


def test_ir_metrics_and_ks_are_the_same_scenario(
    tmp_path: Path,
) -> None:
    """D4: UltraRAG's keys; ``ks`` has its own default there."""
    expected = FIGURES["qrels.test+results.test"]
    scenario = {
        "name": "s",
        "qrels_path": str(FILES / "qrels.test"),
        "run_path": str(FILES / "results.test"),
        "ir_metrics": ["mrr", "map", "recall", "ndcg", "precision"],
    }
    for ks in ({}, {"ks": list(KS)}):
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario | ks), "utf-8")
        result = evaluate(tmp_path / "s.yaml")
        assert len(result.metrics) == 20
        assert_figures(means(result), expected["ultrarag"]["aggregate"], 1e-12, str(ks))


# What trec_eval printed, four digits


def printed(path: Path, level: int = 1) -> dict[str, dict[str, float]]:
    """Return the figures of each query, and of ``all``, that have a counterpart here."""
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text("utf-8").splitlines():
        measure, query, figure = line.split("\t")
        name = ours(measure.strip(), level)
        if name is not None:
            found.setdefault(query, {})[name] = float(figure)
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    ("output", "qrels", "run", "level", "more", "measures"),
    [
        # map, recip_rank, Rprec, bpref, P at nine cutoffs
        ("out.test", "qrels.test", "results.test", 1, {}, 13),
        # and recall, ndcg, map_cut at nine each, ndcg, success at three, set_P, set_recall
        ("out.test.a", "qrels.test", "results.test", 1, {}, 46),
        ("out.test.aq", "qrels.test", "results.test", 1, {}, 46),
        ("out.test.aqc", "qrels.test", "results.trunc", 1, {}, 46),
        ("out.test.aqcM", "qrels.test", "results.trunc", 1, {"top_k": 100}, 46),
        ("out.test.aql", "qrels.rel_level", "results.test", 2, {}, 46),
    ],
)
def test_what_trec_eval_printed(
    tmp_path: Path,
    output: str,
    qrels: str,
    run: str,
    level: int,
    more: dict[str, Any],
    measures: int,
) -> None:
    """D4: options -q, -c, -M (``top_k`` here) and -l (``rel`` here), to the printed digits."""
    expected = printed(FILES / output, level)
    assert len(expected["all"]) == measures
    result = run_trec(tmp_path, FILES / qrels, FILES / run, expected["all"], **more)
    found = {**by_query(result), "all": means(result)}
    for query, figures in expected.items():
        for name, figure in figures.items():
            assert found[query][name] == pytest.approx(figure, abs=5.0001e-5), (query, name)


def test_what_trec_eval_printed_with_parameters(tmp_path: Path) -> None:
    """D4: cutoffs at the user's choice, and gains: ndcg_1=3,2=9 is ``gains: {1: 3, 2: 9}``."""
    expected = printed(FILES / "out.test.meas_params")
    gains = {}
    for line in (FILES / "out.test.meas_params").read_text("utf-8").splitlines():
        measure, query, figure = line.split("\t")
        if measure.strip() == "ndcg_1=3,2=9,4=4.5":
            gains[query] = float(figure)
    metrics = [*expected["all"], {"ndcg": {"gains": {1: 3, 2: 9}, "name": "gained"}}]
    assert len(metrics) == 3 + 2 + 3 + 3 + 1
    files = (FILES / name for name in ("qrels.test", "results.test"))
    result = run_trec(tmp_path, *files, metrics)
    found = {**by_query(result), "all": means(result)}
    for query, figures in expected.items():
        for name, figure in {**figures, "gained": gains[query]}.items():
            assert found[query][name] == pytest.approx(figure, abs=5.0001e-5), (query, name)


def test_one_topic_alone_has_its_figures(tmp_path: Path) -> None:
    """D4: the files of topic 302 only; one query has no interval."""
    expected = printed(FILES / "out.test.aq")["302"]
    files = (FILES / name for name in ("qrels-302.test", "results-302.test"))
    result = run_trec(tmp_path, *files, expected)
    assert list(by_query(result)) == ["302"]
    for name, figure in expected.items():
        assert means(result)[name] == pytest.approx(figure, abs=5.0001e-5), name
        assert result.metrics[name].ci_low is None
