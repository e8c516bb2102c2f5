"""D4: TREC files at the top of a scenario, and UltraRAG's ``ir_metrics`` and ``ks``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario, inspect_tree
from pytest_rageval.scenario.yaml.tree import YamlTree

BASE = "name: s\nqrels_path: q.txt\nrun_path: r.txt\n"


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[[str], LoadedScenario]:
    return lambda text: load_scenario(write(text), shown="s.yaml")


@pytest.fixture
def refused(load: Callable[[str], LoadedScenario]) -> Callable[[str], list[str]]:
    def find(text: str) -> list[str]:
        with pytest.raises(ScenarioError) as caught:
            load(text)
        return [str(problem) for problem in caught.value.problems]

    return find


def metrics(loaded: LoadedScenario) -> list[Any]:
    return [
        {spec.metric: dict(spec.options)} if spec.options else spec.metric
        for spec in loaded.scenario.metrics
    ]


def test_trec_files_at_the_top_are_the_data_set(load: Callable[[str], LoadedScenario]) -> None:
    dataset = load(BASE + "missing_queries: skip\nmetrics: [mrr]\n").scenario.dataset
    assert (dataset.qrels_path, dataset.run_path) == ("q.txt", "r.txt")
    assert dataset.missing_queries == "skip"
    assert (dataset.path, dataset.rows) == (None, None)


def test_they_may_stand_under_dataset_with_its_other_keys(
    load: Callable[[str], LoadedScenario],
) -> None:
    inside = "name: s\nmetrics: [mrr]\ndataset: {qrels_path: q.txt, run_path: r.txt, limit: 3}\n"
    beside = BASE + "metrics: [mrr]\ndataset: {limit: 3}\n"
    assert load(inside).scenario.dataset == load(beside).scenario.dataset


def test_metrics_with_and_without_cutoffs(load: Callable[[str], LoadedScenario]) -> None:
    """D4: mrr, map, rprec and bpref look at the whole ranking, in any case."""
    text = BASE + "ir_metrics: [mrr, MAP, recall, ndcg, precision, bpref, Rprec]\nks: [1, 5]\n"
    assert metrics(load(text)) == [
        "mrr", "map", "recall@1", "recall@5", "ndcg@1", "ndcg@5", "precision@1", "precision@5",
        "bpref", "rprec",
    ]  # fmt: skip


def test_the_default_cutoffs_are_ultrarags(load: Callable[[str], LoadedScenario]) -> None:
    loaded = load(BASE + "ir_metrics: [ndcg]\n")
    assert metrics(loaded) == [f"ndcg@{k}" for k in (1, 5, 10, 20, 50, 100)]


def test_a_single_value_is_a_list_of_one(load: Callable[[str], LoadedScenario]) -> None:
    assert metrics(load(BASE + "ir_metrics: recall\nks: 5\n")) == ["recall@5"]


def test_a_cutoff_that_is_named_twice_counts_once(load: Callable[[str], LoadedScenario]) -> None:
    assert metrics(load(BASE + "ir_metrics: [ndcg]\nks: [5, 1, 5]\n")) == ["ndcg@5", "ndcg@1"]


def test_a_metric_with_a_cutoff_of_its_own_keeps_it(load: Callable[[str], LoadedScenario]) -> None:
    text = BASE + "ir_metrics: [ndcg@3, 'P(rel=2)', {map: {k: 7}}]\nks: [1]\n"
    assert metrics(load(text)) == ["ndcg@3", "p(rel=2)@1", {"map": {"k": 7}}]


def test_they_come_behind_the_metrics_of_the_scenario(
    load: Callable[[str], LoadedScenario],
) -> None:
    assert metrics(load(BASE + "ir_metrics: [mrr]\nmetrics: [rprec]\n")) == ["rprec", "mrr"]


def test_every_bad_cutoff_is_named_on_its_line(refused: Callable[[str], list[str]]) -> None:
    """D4, E12: whole numbers from 1, and nothing that looks like them."""
    text = BASE + "ir_metrics:\n- ndcg\nks:\n- 1\n- 0\n- five\n- true\n- 1.0\n- -3\n- null\n"
    found = ["0", "'five'", "True", "1.0", "-3", "None"]
    assert refused(text) == [
        f"s.yaml:{at + 8}: ks[{at + 1}]: expected a whole number >= 1, found {value}"
        for at, value in enumerate(found)
    ]


def test_cutoffs_without_metrics_are_refused(refused: Callable[[str], list[str]]) -> None:
    assert refused(BASE + "metrics: [mrr]\nks: [1]\n") == [
        "s.yaml:5: ks: needs 'ir_metrics', to which it gives cutoffs"
    ]


def test_no_cutoffs_at_all_are_refused(refused: Callable[[str], list[str]]) -> None:
    """D4: UltraRAG leaves the metric out without a word."""
    assert "s.yaml:5: ks: must not be empty" in refused(BASE + "ir_metrics: [ndcg, mrr]\nks: []\n")


def test_metrics_of_a_scenario_must_be_a_list_here_too(refused: Callable[[str], list[str]]) -> None:
    found = refused(BASE + "metrics: mrr\nir_metrics: [map]\n")
    assert "s.yaml:4: metrics: expected a list, found 'mrr'" in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: s\nqrels_path: q.txt\nmetrics: [mrr]\n", "'qrels_path' and 'run_path' go together"),
        ("name: s\nrun_path: r.txt\nmetrics: [mrr]\n", "'qrels_path' and 'run_path' go together"),
        (BASE + "metrics: [mrr]\ndataset: rows.jsonl\n", "give either 'path' or 'rows', or"),
        (BASE + "metrics: [mrr]\ndataset: [{a: 1}]\n", "give either 'path' or 'rows', or"),
        (BASE + "metrics: [mrr]\nmissing_queries: ignore\n", "expected 'zero', 'skip' or 'error'"),
        (BASE + "metrics: [mrr]\ntop_k: 0\n", "top_k: expected a number >= 1, found 0"),
        (BASE + "metrics: [mrr]\ntop_k: true\n", "top_k: expected a number, found true"),
        (BASE + "metrics: [mrr]\nmatch: fuzzy\n", "match: expected 'exact', 'normalized', "),
        (BASE + "metrics: [mrr]\ncompare: {test: t}\n", "'baseline' or 'run_old_path'"),
        (
            BASE + "metrics: [mrr]\ncompare: {baseline: a, run_old_path: b}\n",
            "give either 'baseline' or 'run_old_path'",
        ),
        (
            "name: s\nmetrics: [em]\ndataset: [{a: 1}]\ncompare: {run_old_path: b}\n",
            "compare.run_old_path needs 'qrels_path' and 'run_path'",
        ),
        (
            BASE + "metrics: [mrr]\ncompare: {baseline: a, test: chi2}\n",
            "compare.test: expected 'permutation', 't', 'wilcoxon' or 'bootstrap', found 'chi2'",
        ),
        (
            BASE + "metrics: [mrr]\ncompare: {baseline: a, alpha: 0}\n",
            "expected a number between 0 and 1, found 0",
        ),
        (BASE + "metrics: [mrr]\ncompare: {baseline: a, n_resamples: 0}\n", "a number >= 100"),
    ],
)
def test_what_cannot_be_is_refused(
    refused: Callable[[str], list[str]], text: str, message: str
) -> None:
    """D4, D5, D6: UltraRAG takes n_resamples 0 for 10,000."""
    (problem,) = refused(text)
    assert problem.startswith("s.yaml:")
    assert message in problem


def test_a_comparison_is_a_name_or_a_mapping(load: Callable[[str], LoadedScenario]) -> None:
    """D6, E15: the defaults are UltraRAG's 10,000 resamples, seed 42."""
    (short,) = load(BASE + "metrics: [mrr]\ncompare: main\n").scenario.compare or ()
    assert (short.baseline, short.test, short.alpha) == ("main", "permutation", 0.05)
    assert (short.n_resamples, short.seed, short.anyway) == (10_000, 42, False)
    text = "compare: {run_old_path: b.txt, n_resamples: 500, seed: 1, test: t, alpha: 0.1}\n"
    (long,) = load(BASE + "metrics: [mrr]\n" + text).scenario.compare or ()
    assert (long.run_old_path, long.n_resamples, long.seed) == ("b.txt", 500, 1)
    assert (long.test, long.alpha) == ("t", 0.1)


def test_one_list_may_be_both() -> None:
    """As a mapping in memory may have it; it does not grow while it is read."""
    both = ["mrr"]
    data = {"name": "s", "qrels_path": "q", "run_path": "r", "metrics": both, "ir_metrics": both}
    loaded, problems = inspect_tree(YamlTree(data, "s.yaml"), Path("s.yaml"))
    assert problems == []
    assert loaded is not None
    assert metrics(loaded) == ["mrr", "mrr"]
