"""D4, D5: TREC scenarios over odd files and a small collection, against trec_eval -c and others."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from trec_figures import KS, asked, assert_figures, by_query, means, run_trec

from pytest_rageval import UserError, evaluate
from pytest_rageval.serving.mcp.ultrarag_figures import compare_runs, score_run

ROWS = tomllib.loads(Path(__file__).with_name("golden_trec.toml").read_text("utf-8"))

Reference = Callable[[str], Any]

# Odd files


def write_case(folder: Path, case: Mapping[str, Any]) -> tuple[Path, Path]:
    """Write the case's files byte by byte, line ends as they are."""
    (folder / "q").write_bytes(case["qrels"].encode("utf-8"))
    (folder / "r").write_bytes(case["run"].encode("utf-8"))
    return folder / "q", folder / "r"


# D5 accepts what trec_eval does not: a byte order mark (which glues to the first query id there)
# and blank lines. What such files say is what UltraRAG reads where it drops the mark.
ONE_HIT_FIRST = {
    "map": 1.0, "mrr": 1.0, "P@1": 1.0, "P@5": 0.2, "P@10": 0.1, "recall@1": 1.0, "ndcg@10": 1.0,
}  # fmt: skip
REFUSED = {
    "duplicate_qrel": "q:2: document 'd1' is judged twice for query 'q1', first on line 1",
    "qrels_three_columns": (
        "q:1: expected 4 columns (query iteration document grade), found 3: 'q1 d1 1'"
    ),
    "text_score": "r:1: score 'high' is not a number (12.5, 1e-3, inf ...)",
    "nan_score": "r:1: score 'nan' is not a number (12.5, 1e-3, inf ...)",
    "empty_qrels": "q: empty: expected lines with the columns query iteration document grade",
    "doc_id_with_space": (
        "q:1: grade 'doc.pdf' is not a whole number up to 1000; "
        "an id with blanks needs tabs between all columns"
    ),
}
CASES = [
    "plain", "tie_scores", "near_tie_float32", "rank_contradicts_score", "all_scores_zero",
    "extra_query_in_run", "negative_relevance", "graded", "k_beyond_retrieved",
    "run_extra_columns", "scientific", "two_queries_mean", "bom", "blank_lines_tabs_crlf",
]  # fmt: skip


def test_every_odd_file_has_a_test(reference: Reference) -> None:
    """D5."""
    cases = [case["id"] for case in reference("trec_edge_cases.json")["cases"]]
    assert sorted(cases) == sorted([*CASES, *REFUSED])


@pytest.mark.parametrize("name", CASES)
def test_an_odd_file_means_what_trec_eval_or_the_user_says(
    reference: Reference, tmp_path: Path, name: str
) -> None:
    """D5: ties by document id descending, doubles compared as doubles, ranks ignored, and so on."""
    (case,) = (case for case in reference("trec_edge_cases.json")["cases"] if case["id"] == name)
    expected = ONE_HIT_FIRST
    if name not in ("bom", "blank_lines_tabs_crlf"):
        expected = case["trec_eval_-c"]["aggregate"]
        assert len(expected) == 20
    result = run_trec(tmp_path, *write_case(tmp_path, case), asked(expected))
    assert_figures(means(result), expected, 1e-12, name)


@pytest.mark.parametrize("name", REFUSED)
def test_an_odd_file_is_refused_where_it_is_wrong(
    reference: Reference, tmp_path: Path, name: str
) -> None:
    """D5: with file and line."""
    (case,) = (case for case in reference("trec_edge_cases.json")["cases"] if case["id"] == name)
    files = write_case(tmp_path, case)
    with pytest.raises(UserError) as caught:
        run_trec(tmp_path, *files, ["map"])
    shown = [str(problem).replace(str(tmp_path) + "/", "") for problem in caught.value.problems]
    assert REFUSED[name] in shown


# The collection of 24 queries


@pytest.mark.full
def test_the_synthetic_collection(reference: Reference, synth: Path, tmp_path: Path) -> None:
    """D4, D5: ties, grades, -1, a query without relevant documents, one that is not judged."""
    expected = reference("synth/synth.json")["runs"]["run_a"]
    complete = expected["trec_eval_-c"]["aggregate"]
    extra = expected["trec_eval"]["extra"]
    files = (synth / "qrels.txt", synth / "run_a.txt")
    result = run_trec(tmp_path, *files, asked([*complete, *extra]))
    assert_figures(means(result), complete, 1e-12, "all")
    assert_figures(means(result), extra, 1e-12, "all")
    queries = by_query(result)
    assert len(queries) == expected["trec_eval_-c"]["counts"]["num_q"] == 24
    for system in ("trec_eval", "ultrarag", "ir_measures_default"):
        figures = expected[system]["per_query"]
        assert figures.keys() == queries.keys(), system
        for query, row in figures.items():
            assert_figures(queries[query], row, 1e-12, f"{system} {query}")


def by_definition(qrels: Path, run: Path) -> dict[str, dict[str, float]]:
    """Return some measures of each judged query straight from their definitions.

    Precision and recall at k, average precision, reciprocal rank, and nDCG with linear gains and
    log2 discounts; ranked by score, then document, both descending.
    """
    judged: dict[str, dict[str, int]] = {}
    for line in qrels.read_text("utf-8").splitlines():
        query, _, document, grade = line.split()
        judged.setdefault(query, {})[document] = int(grade)
    retrieved: dict[str, list[tuple[float, str]]] = {}
    for line in run.read_text("utf-8").splitlines():
        query, _, document, _, score, _ = line.split()
        retrieved.setdefault(query, []).append((float(score), document))
    found = {}
    for query, grades in judged.items():
        ranking = [name for _, name in sorted(retrieved.get(query, []), reverse=True)]
        relevant = {document for document, grade in grades.items() if grade > 0}
        hits = [document in relevant for document in ranking]
        ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
        gains = [max(grades.get(document, 0), 0) for document in ranking]
        best = sorted((max(grade, 0) for grade in grades.values()), reverse=True)
        row = {
            "mrr": 1 / ranks[0] if ranks else 0.0,
            "map": sum(at / rank for at, rank in enumerate(ranks, 1)) / max(len(relevant), 1),
        }
        for k in KS:
            row[f"P@{k}"] = sum(hits[:k]) / k
            row[f"recall@{k}"] = sum(hits[:k]) / max(len(relevant), 1)
            ideal = _discounted(best[:k])
            row[f"ndcg@{k}"] = _discounted(gains[:k]) / ideal if ideal else 0.0
        found[query] = row
    return found


def _discounted(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def test_the_definitions_give_the_figures_of_trec_eval(reference: Reference, synth: Path) -> None:
    """What the next test compares with is right where trec_eval's figures are known."""
    expected = reference("synth/synth.json")["runs"]["run_a"]["trec_eval"]["per_query"]
    found = by_definition(synth / "qrels.txt", synth / "run_a.txt")
    assert found.keys() == expected.keys()
    for query, row in found.items():
        for name, figure in row.items():
            assert figure == pytest.approx(expected[query][name], abs=1e-12), (query, name)


@pytest.mark.parametrize("run", ["run_a", "run_b", "run_c_missing"])
def test_all_runs_of_the_collection_by_definition(synth: Path, tmp_path: Path, run: str) -> None:
    """D4."""
    qrels, path = synth / "qrels.txt", synth / f"{run}.txt"
    expected = by_definition(qrels, path)
    result = run_trec(tmp_path, qrels, path, asked(expected["q1"]))
    queries = by_query(result)
    assert list(queries) == list(expected)
    for query, row in expected.items():
        assert_figures(queries[query], row, 1e-12, f"{run} {query}")


def test_missing_queries_count_zero_or_not_at_all(
    reference: Reference, synth: Path, tmp_path: Path
) -> None:
    """D5: UltraRAG has both figures for this run, in two tools; here the scenario says which."""
    oddities = reference("trec_parameter_oddities.json")["ultrarag_evaluate_trec_pvalue"]
    expected = oddities["run with 3 missing queries"]
    files = (synth / "qrels.txt", synth / "run_c_missing.txt")
    zero = run_trec(tmp_path, *files, ["map"])
    assert zero.metrics["map"].mean == pytest.approx(
        expected["A_mean_map_in_pvalue"], abs=1e-12, rel=0
    )
    assert (zero.counts.scored, zero.counts.skipped) == (24, 0)
    skip = run_trec(tmp_path, *files, ["map"], missing_queries="skip")
    assert skip.metrics["map"].mean == pytest.approx(
        expected["map_in_evaluate_trec"], abs=1e-12, rel=0
    )
    assert (skip.counts.scored, skip.counts.skipped) == (21, 3)
    error = run_trec(tmp_path, *files, ["map"], missing_queries="error")
    assert (error.counts.scored, error.counts.invalid, error.counts.error) == (21, 3, 3)
    assert error.metrics["map"].mean == skip.metrics["map"].mean


def test_ultrarags_tools_have_its_figures(reference: Reference, synth: Path) -> None:
    """D10: also the zeros for map and mrr, and the two means of a run with missing queries."""
    oddities = reference("trec_parameter_oddities.json")
    a, b, qrels = (str(synth / name) for name in ("run_a.txt", "run_c_missing.txt", "qrels.txt"))
    for metrics in (["ndcg"], ["NDCG", "MRR"]):
        key = f"metrics={metrics}, ks=[5]".replace("', '", "','")
        expected = oddities["ultrarag_evaluate_trec"][key]
        found = score_run(a, qrels, metrics, [5]).eval_res
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, abs=1e-12, rel=0)
    missing = oddities["ultrarag_evaluate_trec_pvalue"]["run with 3 missing queries"]
    compared = compare_runs((b, a), qrels, ["map"], None, 100).eval_res["map"]
    assert compared["A_mean"] == pytest.approx(missing["A_mean_map_in_pvalue"], abs=1e-12, rel=0)
    alone = score_run(b, qrels, ["map"], None).eval_res["map"]
    assert alone == pytest.approx(missing["map_in_evaluate_trec"], abs=1e-12, rel=0)


def test_ultrarags_tool_has_all_its_figures_of_a_run(reference: Reference, synth: Path) -> None:
    """D10: the mean over the queries of the run, by UltraRAG's own figures of each query."""
    rows = reference("synth/synth.json")["runs"]["run_a"]["ultrarag"]["per_query"].values()
    found = score_run(str(synth / "run_a.txt"), str(synth / "qrels.txt"), None, None).eval_res
    for name, figure in found.items():
        expected = math.fsum(row[name] for row in rows) / len(rows)
        assert figure == pytest.approx(expected, abs=1e-12, rel=0), name


@pytest.mark.parametrize(
    ("ir_metrics", "ks", "key"),
    [
        (["ndcg"], [5], "metrics=['ndcg'], ks=[5]"),
        (["NDCG", "MRR"], [5], "metrics=['NDCG','MRR'], ks=[5]"),
    ],
)
def test_metrics_in_any_case_and_only_those_asked_for(
    reference: Reference, synth: Path, tmp_path: Path, ir_metrics: list[str], ks: Any, key: str
) -> None:
    """D4: UltraRAG writes map and mrr as 0.0 when nobody asked for them; here they are absent."""
    expected = reference("trec_parameter_oddities.json")["ultrarag_evaluate_trec"][key]
    scenario = {
        "name": "s",
        "qrels_path": str(synth / "qrels.txt"),
        "run_path": str(synth / "run_a.txt"),
        "ir_metrics": ir_metrics,
        "ks": ks,
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    found = means(evaluate(tmp_path / "s.yaml"))
    wanted = {name: value for name, value in expected.items() if value}
    assert found == pytest.approx(wanted, abs=1e-12, rel=0)


@pytest.mark.parametrize(
    ("metric", "message"),
    ROWS["what_aborts_ir_measures_is_refused_before"],
)
def test_what_aborts_ir_measures_is_refused_before(
    synth: Path, tmp_path: Path, metric: Any, message: str
) -> None:
    """D4: a cutoff of 0 ends the whole process there (SIGABRT); this process lives on."""
    with pytest.raises(UserError) as caught:
        run_trec(tmp_path, synth / "qrels.txt", synth / "run_a.txt", [metric])
    (problem,) = caught.value.problems
    assert message in str(problem)


def test_what_ir_measures_cannot_do_is_done_or_refused(synth: Path, tmp_path: Path) -> None:
    """D4, D5: ``P`` without a cutoff is trec_eval's set_P; a grade of 1.5 names its line."""
    result = run_trec(tmp_path, synth / "qrels.txt", synth / "run_a.txt", ["P", "P@30"])
    # Every query of this run has 30 documents, so that all of them are the first 30.
    assert result.metrics["precision"].mean == pytest.approx(
        result.metrics["precision@30"].mean, abs=1e-15
    )
    (tmp_path / "q").write_text("q1 0 d1 1\nq1 0 d2 1.5\n", "utf-8")
    with pytest.raises(UserError, match=r"q:2: grade '1\.5' is not a whole number"):
        run_trec(tmp_path, tmp_path / "q", synth / "run_a.txt", ["P"])
