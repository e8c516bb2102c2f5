"""UltraRAG's tools: their figures, and the file that a pipeline knows them by."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_rageval.errors import UserError
from pytest_rageval.serving.mcp.ultrarag import _table, build
from pytest_rageval.serving.mcp.ultrarag_figures import compare_runs, score_answers, score_run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two runs: the relevant document has rank 2, and rank 1."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, qrels="q1 0 d1 1\nq2 0 d9 0\n", second="q1 Q0 d2 1 2 t\nq1 Q0 d1 2 1 t\n")
    return put(tmp_path, first="q1 Q0 d1 1 2 t\n")


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_without_metrics_all_eight_are_computed() -> None:
    """D10: null and an empty list, in UltraRAG's order."""
    names = ["acc", "em", "stringem", "coverem", "f1", "rouge-1", "rouge-2", "rouge-l"]
    for metrics in (None, []):
        found = score_answers(["one two"], [["one two"]], metrics).eval_res
        assert list(found) == [*names, *(f"avg_{name}" for name in names)]
        assert found["avg_rouge-2"] == 1.0


def test_tokens_are_words_whatever_the_script() -> None:
    """D10: UltraRAG knows no characters: 北京 is not in the one word 北京市."""
    assert score_answers(["北京市"], [["北京"]], ["f1"]).eval_res["f1"] == [0.0]


def test_rows_without_references_score_0_and_are_named() -> None:
    """D10: the mean is UltraRAG's, the remark ours."""
    found = score_answers(["x"] * 8, [["x"], *[[]] * 7], ["em", "f1"])
    assert found.eval_res["avg_f1"] == 1 / 8
    listed = "gt_ls[1], gt_ls[2], gt_ls[3], gt_ls[4], gt_ls[5] and 2 more"
    assert found.remarks == (f"7 rows without references, scored 0: {listed}",)


def test_an_empty_reference_is_found_in_any_answer_and_named() -> None:
    """D10: by UltraRAG's acc and coverem; it was said to score 0, or nothing was said."""
    found = score_answers(["x"] * 4, [["x"], [""], [[" ", "y"]], ["the"]], ["acc", "coverem", "em"])
    assert (found.eval_res["acc"], found.eval_res["coverem"]) == ([1.0] * 4, [1.0] * 4)
    assert found.eval_res["em"] == [1.0, 0.0, 0.0, 0.0]
    rows, listed = "3 rows with a reference of which normalising leaves nothing", "gt_ls[1], gt_ls["
    (said,) = found.remarks
    assert said.startswith(f"{rows}, found in any answer by acc and coverem: {listed}")
    (said,) = score_answers(["x"] * 4, [["x"], [""], [" "], ["the"]], ["f1"]).remarks
    assert said.startswith(f"{rows}: {listed}")


def test_a_small_p_value_is_not_shown_as_0() -> None:
    compared = {"A_mean": 1.0, "B_mean": 0.5, "p_value": 1.9e-6, "significant": True}
    row = _table({"mrr": compared})[1]
    assert row.split() == ["mrr", "1.0000", "0.5000", "<0.0001", "yes"]


@pytest.mark.parametrize(
    ("rows", "metrics", "message"),
    [
        ((["x"], [["x"], ["y"]]), None, "pred_ls: has 1 row, and gt_ls 2; each answer needs"),
        (([], []), None, "pred_ls: has no rows: there is nothing to evaluate"),
        ((["x"], [["x"]]), ["em", "Rouge2"], r"metrics\[1\]: unknown metric 'rouge2'. Did"),
        ((["x"], [["x"]]), ["ndcg"], r"metrics\[0\]: unknown metric 'ndcg'"),
    ],
)
def test_what_would_give_a_wrong_mean_is_refused(
    rows: tuple[list[str], list[list[str]]], metrics: list[str] | None, message: str
) -> None:
    """D10: UltraRAG cuts the longer list, and writes 0.0 for no rows and for unknown metrics."""
    with pytest.raises(UserError, match=message):
        score_answers(*rows, metrics)


def test_without_metrics_and_cutoffs_ultrarags_are_computed() -> None:
    """D10: map and mrr first, then by cutoff; each cutoff once."""
    ks = (1, 5, 10, 20, 50, 100)
    expected = ["map", "mrr", *(f"{name}@{k}" for k in ks for name in ("ndcg", "P", "recall"))]
    assert list(score_run("first", "qrels", None, None).eval_res) == expected
    assert list(score_run("first", "qrels", ["ndcg"], [3, 3]).eval_res) == ["map", "mrr", "ndcg@3"]


def test_without_cutoffs_the_measures_of_the_whole_ranking_remain() -> None:
    """D10."""
    assert score_run("second", "qrels", None, []).eval_res == {"map": 0.5, "mrr": 0.5}
    with pytest.raises(UserError, match="ks: is empty, and ndcg, recall need a cutoff"):
        score_run("second", "qrels", ["ndcg", "recall"], [])


def test_judged_queries_without_results_do_not_count_and_are_remarked(folder: Path) -> None:
    """D10: as in UltraRAG, q2 is in no mean."""
    found = score_run("second", "qrels", ["mrr"], None)
    assert found.eval_res["mrr"] == 0.5
    assert found.remarks[-1] == "1 of 2 judged queries has no results in second"
    put(folder, all_judged="q1 0 d1 1\n")
    assert score_run("first", "all_judged", ["mrr"], None).remarks == ()


def test_scores_that_32_bits_cannot_tell_apart_are_a_tie(folder: Path) -> None:
    """D10: as in pytrec_eval, which UltraRAG asks: by document id, descending, d2 comes first."""
    put(folder, near="q1 Q0 d1 1 1.00000001 t\nq1 Q0 d2 2 1.0 t\n")
    assert score_run("near", "qrels", ["mrr"], None).eval_res["mrr"] == 0.5


def test_two_runs_are_compared_by_query() -> None:
    """D10: a single query that differs proves nothing, p = 1."""
    found = compare_runs(("first", "second"), "qrels", ["precision", "mrr"], [1], 100)
    assert list(found.eval_res) == ["P@1", "mrr"]
    assert found.eval_res["P@1"] == {
        "A_mean": 1.0,
        "B_mean": 0.0,
        "diff": 1.0,
        "p_value": 1.0,
        "significant": False,
    }


def test_p_values_are_not_adjusted(folder: Path) -> None:
    """D10: six queries that all differ by one sign: p = 2/2⁶ for each of three measures."""
    numbers = range(6)
    put(
        folder,
        qrels="".join(f"q{n} 0 d 1\n" for n in numbers),
        first="".join(f"q{n} Q0 d 1 1 t\n" for n in numbers),
        second="".join(f"q{n} Q0 e 1 1 t\n" for n in numbers),
    )
    found = compare_runs(("first", "second"), "qrels", ["mrr", "map", "recall"], [1], 100)
    assert {row["p_value"] for row in found.eval_res.values()} == {2 / 2**6}
    assert all(row["significant"] for row in found.eval_res.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 d1 1 2\n", "bad:1: expected 6 columns"),
        ("q1 Q0 d1 1 high t\n", "bad:1: score 'high' is not a number"),
        ("q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n", "bad:2: document 'd1' is retrieved twice"),
        ("q7 Q0 d1 1 2 t\n", "bad: no query of this run is judged in qrels"),
    ],
)
def test_a_broken_run_is_refused_where_it_is_wrong(folder: Path, text: str, message: str) -> None:
    """D10: UltraRAG leaves short lines out, and takes a text for the score 0.0."""
    put(folder, bad=text)
    with pytest.raises(UserError, match=message):
        score_run("bad", "qrels", None, None)
    with pytest.raises(UserError, match=message):
        compare_runs(("first", "bad"), "qrels", None, None, 100)


SIGNATURES = {"score": (("texts", "measures", "to"), "txt,$m,save->out,$ks")}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Return the folder of a server, 服务, whose code is where UltraRAG looks for it."""
    folder = tmp_path / "服务"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "服务.py").touch()
    return folder


def written(folder: Path) -> dict[str, object]:
    path = build(str(folder / "parameter.yaml"), SIGNATURES)
    assert path == folder / "server.yaml"
    found: dict[str, object] = yaml.safe_load(path.read_text("utf-8"))
    return found


def test_without_a_parameter_file_no_variable_is_set(server: Path) -> None:
    """D10."""
    found = written(server)
    assert found["path"] == str(server / "src" / "服务.py")
    assert found["tools"] == {
        "score": {
            "input": {"texts": "txt", "measures": "$m", "to": "save"},
            "output": ["out", "$ks"],
        }
    }


def test_variables_of_the_parameter_file_get_a_dollar(server: Path) -> None:
    """D10: results too, as in UltraRAG; an empty file sets none."""
    (server / "parameter.yaml").write_text("save: x.json\nout: null\n", "utf-8")
    assert written(server)["tools"] == {
        "score": {
            "input": {"texts": "txt", "measures": "$m", "to": "$save"},
            "output": ["$out", "$ks"],
        }
    }
    (server / "parameter.yaml").write_text("", "utf-8")
    assert "$save" not in str(written(server))


def test_the_parameter_file_may_name_the_code(server: Path) -> None:
    """D10."""
    (server / "mine.py").touch()
    (server / "parameter.yaml").write_text(f"path: {server / 'mine.py'}\n", "utf-8")
    assert written(server)["path"] == str(server / "mine.py")


def test_a_folder_may_be_the_working_directory(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D10: its name is known then, too."""
    monkeypatch.chdir(server)
    assert build("parameter.yaml", SIGNATURES) == Path("server.yaml")
    assert "path: src/服务.py\n" in Path("server.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[a, b]", "must be a mapping"),
        (b"a: [", "parameter.yaml:2: not valid YAML"),
        (b"a: 1\na: 2\n", "parameter.yaml:2: "),
        (b"a: \xff", "not UTF-8"),
        (b"path: http://127.0.0.1/", "no server code at 'http://127.0.0.1/'"),
    ],
)
def test_a_parameter_file_that_cannot_be_used_is_refused(
    server: Path, text: bytes, message: str
) -> None:
    """D10: with file and line."""
    (server / "parameter.yaml").write_bytes(text)
    with pytest.raises(UserError, match=message):
        build(str(server / "parameter.yaml"), SIGNATURES)
    assert not (server / "server.yaml").exists()
