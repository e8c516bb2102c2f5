"""D4, D5: TREC scenarios against trec_eval -c, UltraRAG, ir-measures and published figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import ScenarioResult, UserError, evaluate

Reference = Callable[[str], Any]
SharedData = Callable[[str], Path]
Figures = Mapping[str, float]

KS = (1, 5, 10, 20, 50, 100)
# Our name of each measure by the reference's: "P@5" is "precision@5".
WHOLE = {
    "map": "map",
    "mrr": "mrr",
    "recip_rank": "mrr",
    "Rprec": "rprec",
    "bpref": "bpref",
    "ndcg": "ndcg",
    "set_P": "precision",
    "set_recall": "recall",
    "AP": "map",
    "RR": "mrr",
}
CUT = {
    "P": "precision",
    "recall": "recall",
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "success": "hit_rate",
    "R": "recall",
    "nDCG": "ndcg",
}


def ours(name: str, level: int = 1) -> str | None:
    """Return our name of a measure of the reference, None for one that is not here.

    ``level`` is the least relevant grade; nDCG knows none.
    """
    found = re.fullmatch(r"(.+?)[@_](\d+)", name)
    base, cutoff = (CUT.get(found[1]), f"@{found[2]}") if found else (WHOLE.get(name), "")
    if base is None:
        return None
    return base + (f"(rel={level})" if level > 1 and base != "ndcg" else "") + cutoff


def run_trec(folder: Path, qrels: Path, run: Path, metrics: Iterable[str], **more: Any) -> Any:
    """Return the result of a scenario over two TREC files."""
    scenario = {
        "name": "s",
        "qrels_path": str(qrels),
        "run_path": str(run),
        "metrics": list(metrics),
        **more,
    }
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return evaluate(folder / "s.yaml")


def asked(figures: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(ours, figures))))


def assert_figures(found: Figures, expected: Figures, tolerance: float, where: str) -> None:
    """Compare the figures of the reference, under its names, with ours."""
    assert expected
    for name, figure in expected.items():
        mine = ours(name)
        assert mine is not None, name
        assert found[mine] == pytest.approx(figure, abs=tolerance, rel=0), (where, name)


def means(result: ScenarioResult) -> dict[str, float]:
    return {
        name: summary.mean for name, summary in result.metrics.items() if summary.mean is not None
    }


def by_query(result: ScenarioResult) -> dict[str, dict[str, float]]:
    found = {}
    for sample in result.samples:
        assert None not in sample.scores.values(), sample.sample_id
        found[sample.sample_id] = {name: value or 0.0 for name, value in sample.scores.items()}
    return found


# trec_eval's own test files, with figures of many digits

DATASETS = [
    "qrels.test+results.test",
    "qrels.rel_level+results.test",
    "qrels.test+results.trunc",
]


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_figure_of_trec_evals_own_files(
    reference: Reference, shared_data: SharedData, tmp_path: Path, dataset: str
) -> None:
    """D4: aggregates as ``trec_eval -c``, each query as trec_eval, UltraRAG and ir-measures.

    In results.trunc the second of three topics is missing: 0 everywhere.
    """
    expected = reference("trec_eval_test_data.json")["datasets"][dataset]
    qrels, run = (
        shared_data(f"trec-eval/original/{Path(expected[key]).name}") for key in ("qrels", "run")
    )
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
    reference: Reference, shared_data: SharedData, tmp_path: Path
) -> None:
    """D4: pre-ranking changes no figure."""
    expected = reference("trec_eval_test_data.json")["datasets"]["qrels.test+results.test"]
    figures = expected["ir_measures_default"]["per_query"]
    result = run_trec(
        tmp_path,
        shared_data("trec-eval/original/qrels.test"),
        shared_data("trec-eval/original/results.test"),
        asked(figures["301"]),
    )
    queries = by_query(result)
    for query, row in figures.items():
        for name, figure in row.items():
            assert queries[query][str(ours(name))] == figure, (query, name)


def test_ir_metrics_and_ks_are_the_same_scenario(
    reference: Reference, shared_data: SharedData, tmp_path: Path
) -> None:
    """D4: UltraRAG's keys; ``ks`` has its own default there."""
    expected = reference("trec_eval_test_data.json")["datasets"]["qrels.test+results.test"]
    scenario = {
        "name": "s",
        "qrels_path": str(shared_data("trec-eval/original/qrels.test")),
        "run_path": str(shared_data("trec-eval/original/results.test")),
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
    shared_data: SharedData,
    tmp_path: Path,
    output: str,
    qrels: str,
    run: str,
    level: int,
    more: dict[str, Any],
    measures: int,
) -> None:
    """D4: options -q, -c, -M (``top_k`` here) and -l (``rel`` here), to the printed digits."""
    folder = "trec-eval/original/"
    expected = printed(shared_data(folder + output), level)
    assert len(expected["all"]) == measures
    result = run_trec(
        tmp_path, shared_data(folder + qrels), shared_data(folder + run), expected["all"], **more
    )
    found = {**by_query(result), "all": means(result)}
    for query, figures in expected.items():
        for name, figure in figures.items():
            assert found[query][name] == pytest.approx(figure, abs=5.0001e-5), (query, name)


def test_what_trec_eval_printed_with_parameters(shared_data: SharedData, tmp_path: Path) -> None:
    """D4: cutoffs at the user's choice, and gains: ndcg_1=3,2=9 is ``gains: {1: 3, 2: 9}``."""
    folder = "trec-eval/original/"
    expected = printed(shared_data(folder + "out.test.meas_params"))
    gains = {}
    for line in shared_data(folder + "out.test.meas_params").read_text("utf-8").splitlines():
        measure, query, figure = line.split("\t")
        if measure.strip() == "ndcg_1=3,2=9,4=4.5":
            gains[query] = float(figure)
    metrics = [*expected["all"], {"ndcg": {"gains": {1: 3, 2: 9}, "name": "gained"}}]
    assert len(metrics) == 3 + 2 + 3 + 3 + 1
    files = (shared_data(folder + name) for name in ("qrels.test", "results.test"))
    result = run_trec(tmp_path, *files, metrics)
    found = {**by_query(result), "all": means(result)}
    for query, figures in expected.items():
        for name, figure in {**figures, "gained": gains[query]}.items():
            assert found[query][name] == pytest.approx(figure, abs=5.0001e-5), (query, name)


def test_one_topic_alone_has_its_figures(shared_data: SharedData, tmp_path: Path) -> None:
    """D4: the files of topic 302 only; one query has no interval."""
    folder = "trec-eval/original/"
    expected = printed(shared_data(folder + "out.test.aq"))["302"]
    files = (shared_data(folder + name) for name in ("qrels-302.test", "results-302.test"))
    result = run_trec(tmp_path, *files, expected)
    assert list(by_query(result)) == ["302"]
    for name, figure in expected.items():
        assert means(result)[name] == pytest.approx(figure, abs=5.0001e-5), name
        assert result.metrics[name].ci_low is None


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


@pytest.fixture
def synth(reference_file: SharedData) -> Callable[[str], Path]:
    """Return a function from a name to a file of the collection."""
    return lambda name: reference_file(f"synth/{name}")


def test_the_synthetic_collection(reference: Reference, synth: Any, tmp_path: Path) -> None:
    """D4, D5: ties, grades, -1, a query without relevant documents, one that is not judged."""
    expected = reference("synth/synth.json")["runs"]["run_a"]
    complete = expected["trec_eval_-c"]["aggregate"]
    extra = expected["trec_eval"]["extra"]
    files = (synth("qrels.txt"), synth("run_a.txt"))
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


def test_the_definitions_give_the_figures_of_trec_eval(reference: Reference, synth: Any) -> None:
    """What the next test compares with is right where trec_eval's figures are known."""
    expected = reference("synth/synth.json")["runs"]["run_a"]["trec_eval"]["per_query"]
    found = by_definition(synth("qrels.txt"), synth("run_a.txt"))
    assert found.keys() == expected.keys()
    for query, row in found.items():
        for name, figure in row.items():
            assert figure == pytest.approx(expected[query][name], abs=1e-12), (query, name)


@pytest.mark.parametrize("run", ["run_a", "run_b", "run_c_missing"])
def test_all_runs_of_the_collection_by_definition(synth: Any, tmp_path: Path, run: str) -> None:
    """D4."""
    qrels, path = synth("qrels.txt"), synth(f"{run}.txt")
    expected = by_definition(qrels, path)
    result = run_trec(tmp_path, qrels, path, asked(expected["q1"]))
    queries = by_query(result)
    assert list(queries) == list(expected)
    for query, row in expected.items():
        assert_figures(queries[query], row, 1e-12, f"{run} {query}")


def test_missing_queries_count_zero_or_not_at_all(
    reference: Reference, synth: Any, tmp_path: Path
) -> None:
    """D5: UltraRAG has both figures for this run, in two tools; here the scenario says which."""
    oddities = reference("trec_parameter_oddities.json")["ultrarag_evaluate_trec_pvalue"]
    expected = oddities["run with 3 missing queries"]
    files = (synth("qrels.txt"), synth("run_c_missing.txt"))
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


@pytest.mark.parametrize(
    ("ir_metrics", "ks", "key"),
    [
        (["ndcg"], [5], "metrics=['ndcg'], ks=[5]"),
        (["NDCG", "MRR"], [5], "metrics=['NDCG','MRR'], ks=[5]"),
    ],
)
def test_metrics_in_any_case_and_only_those_asked_for(
    reference: Reference, synth: Any, tmp_path: Path, ir_metrics: list[str], ks: Any, key: str
) -> None:
    """D4: UltraRAG writes map and mrr as 0.0 when nobody asked for them; here they are absent."""
    expected = reference("trec_parameter_oddities.json")["ultrarag_evaluate_trec"][key]
    scenario = {
        "name": "s",
        "qrels_path": str(synth("qrels.txt")),
        "run_path": str(synth("run_a.txt")),
        "ir_metrics": ir_metrics,
        "ks": ks,
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    found = means(evaluate(tmp_path / "s.yaml"))
    wanted = {name: value for name, value in expected.items() if value}
    wanted.pop("_note", None)
    assert found == pytest.approx(wanted, abs=1e-12, rel=0)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("P@0", "metrics[0]: 'P@0': the cutoff must be a whole number >= 1, found '@0'"),
        ("nDCG@0", "found '@0'"),
        ("R@0", "found '@0'"),
        ("AP@0", "found '@0'"),
        ("Success@0", "found '@0'"),
        ("RR@0", "found '@0'"),
        ("P@-1", "found '@-1'"),
        ("P@1.5", "found '@1.5'"),
        ({"precision": {"k": 0}}, "metrics[0].precision.k: expected"),
        ({"ndcg": {"k": -5}}, "metrics[0].ndcg.k: expected"),
        ({"map": {"k": 1.5}}, "metrics[0].map.k: expected"),
        ({"recall": {"k": True}}, "metrics[0].recall.k: expected"),
    ],
)
def test_what_aborts_ir_measures_is_refused_before(
    synth: Any, tmp_path: Path, metric: Any, message: str
) -> None:
    """D4: a cutoff of 0 ends the whole process there (SIGABRT); this process lives on."""
    with pytest.raises(UserError) as caught:
        run_trec(tmp_path, synth("qrels.txt"), synth("run_a.txt"), [metric])
    (problem,) = caught.value.problems
    assert message in str(problem)


def test_what_ir_measures_cannot_do_is_done_or_refused(synth: Any, tmp_path: Path) -> None:
    """D4, D5: ``P`` without a cutoff is trec_eval's set_P; a grade of 1.5 names its line."""
    result = run_trec(tmp_path, synth("qrels.txt"), synth("run_a.txt"), ["P", "P@30"])
    # Every query of this run has 30 documents, so that all of them are the first 30.
    assert result.metrics["precision"].mean == pytest.approx(
        result.metrics["precision@30"].mean, abs=1e-15
    )
    (tmp_path / "q").write_text("q1 0 d1 1\nq1 0 d2 1.5\n", "utf-8")
    with pytest.raises(UserError, match=r"q:2: grade '1\.5' is not a whole number"):
        run_trec(tmp_path, tmp_path / "q", synth("run_a.txt"), ["P"])


# TREC 2003 Robust

ROBUST = {
    ("aplrob03a", "robust03"): {
        "nDCG@10": 0.4409, "AP": 0.2998, "P@10": 0.451, "RR": 0.6859, "R@1000": 0.8226,
    },
    ("uic0301", "robust03"): {
        "nDCG@10": 0.3914, "AP": 0.2404, "P@10": 0.39, "RR": 0.6466, "R@1000": 0.7548,
    },
    ("NLPR03vb10", "robust03"): {
        "nDCG@10": 0.3944, "AP": 0.1055, "P@10": 0.397, "RR": 0.6552, "R@1000": 0.1398,
    },
    ("uic0301", "robust03_cs"): {
        "R@10": 0.1314, "R@5": 0.0858, "R@20": 0.1968, "AP": 0.2396, "R@15": 0.1686,
        "R@100": 0.4243, "RR": 0.6466, "P@1000": 0.0371, "R@200": 0.5323, "R@1000": 0.7518,
        "R@30": 0.253, "R@500": 0.6569,
    },
}  # fmt: skip


@pytest.mark.parametrize(("run", "qrels"), ROBUST)
def test_runs_of_trec_2003_robust(
    shared_data: SharedData, tmp_path: Path, run: str, qrels: str
) -> None:
    """D4, D5: 100 topics, 100,000 lines, gzip; ranks that start at 0, 1 or 2 decide nothing."""
    expected = ROBUST[run, qrels]
    result = run_trec(
        tmp_path,
        shared_data(f"robust03/original/{qrels}_qrels.txt.gz"),
        shared_data(f"robust03/original/input.{run}.gz"),
        asked(expected),
    )
    assert result.counts.scored == 100
    assert_figures(means(result), expected, 5.0001e-5, run)


def test_the_figures_of_robust_are_those_of_the_readme(shared_data: SharedData) -> None:
    text = shared_data("robust03/README.md").read_text("utf-8")
    for (run, qrels), figures in ROBUST.items():
        block = text.split(f"\n{qrels} {run}\n")[1].split("}")[0]
        assert yaml.safe_load(block.split("```json")[1] + "}") == figures


def test_ten_other_judgements_change_one_topic(shared_data: SharedData, tmp_path: Path) -> None:
    """D4: the two qrels differ in 10 lines of topic 303, and so do the scores of that topic."""
    run = shared_data("robust03/original/input.uic0301.gz")
    both = [
        by_query(
            run_trec(tmp_path, shared_data(f"robust03/original/{name}_qrels.txt.gz"), run, ["map"])
        )
        for name in ("robust03", "robust03_cs")
    ]
    assert {query for query in both[0] if both[0][query] != both[1][query]} == {"303"}
