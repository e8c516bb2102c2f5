"""A12, A19, D8: the files of a run."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import Diagnosis, MetricColumn, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.base import RunFolder, write_atomically
from pytest_rageval.reports.run_data import csv_lines
from pytest_rageval.reports.write_run import run_id, save_baseline, write_run
from pytest_rageval.run_paths import folder_name, plain_folder_name

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


@pytest.fixture
def ran(result: Callable[..., ScenarioResult]) -> ScenarioResult:
    """A run with a scored, an unscored, a broken and a skipped sample and a failing gate."""
    samples = [
        SampleResult(
            "a",
            0,
            weighted_score=0.5,
            sample_weight=2.0,
            doc_name="d.pdf",
            question="q?",
            answer="an answer",
            contexts=("c",),
            references=("r",),
            metadata={"level": 1},
            scores={"f1": 0.5, "em": 0.5},
        ),
        SampleResult(
            "b",
            1,
            "error",
            scores={"f1": None, "em": None},
            errors={"f1": "ValueError: boom"},
            reasons={"em": "no claims"},
            details={"em": {"claims": [1]}},
        ),
        SampleResult(
            "c",
            2,
            "error",
            invalid="no answer",
            row=3,
            line=4,
            raw="{}",
            errors={"row": "no answer"},
        ),
        SampleResult("d", 3, "skipped"),
    ]
    made = result(
        samples,
        gates={"f1": 0.9},
        snapshot="name: s\n",
        snapshot_sha256="abc",
        dataset_sha256="def",
        overridden=("gates.f1",),
        metadata_columns=("level",),
        warnings=("careful",),
    )
    return decide_gates(made, Extent(4, 4, 4))


@pytest.fixture
def folder(ran: ScenarioResult, tmp_path: Path) -> Path:
    return write_run(ran, RUN, tmp_path, tmp_path / "out")


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))


def test_a_run_has_all_its_files(folder: Path, tmp_path: Path) -> None:
    """A12. The one list by hand; behaviour under pytest is held against the registry."""
    assert folder == tmp_path / "out" / "s" / RUN.id
    assert sorted(path.name for path in folder.iterdir()) == [
        "invalid.csv",
        "metadata.json",
        "results.json",
        "scenario.snapshot.yaml",
        "scores.csv",
        "summary.md",
    ]
    assert (tmp_path / "out" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "out" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172")


def test_a_folder_with_other_files_is_not_hidden_from_git_and_backups(
    ran: ScenarioResult, tmp_path: Path
) -> None:
    """A12: the scenario's own folder below it is, be it the first run or the second."""
    (tmp_path / "paper.tex").write_text("mine")
    for name in ("first", "second"):
        write_run(ran, replace(RUN, id=name), tmp_path, tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["paper.tex", "s"]
        assert (tmp_path / "s" / ".gitignore").read_text() == "*\n"
        assert (tmp_path / "s" / "CACHEDIR.TAG").exists()
    save_baseline(ran, RUN, tmp_path / "eval" / "main.json", tmp_path)
    assert [path.name for path in (tmp_path / "eval").iterdir()] == ["main.json"]
    assert not (tmp_path / ".gitignore").exists()


def test_no_folder_of_the_users_is_hidden_that_has_the_scenarios_name(
    ran: ScenarioResult, tmp_path: Path
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "code.py").write_text("mine")
    folder = write_run(ran, RUN, tmp_path, tmp_path)
    assert sorted(path.name for path in folder.parent.iterdir()) == [RUN.id, "code.py", "latest"]


@pytest.mark.parametrize("first", ["", ".cache/x", "history.csv", ".gitignore", "CACHEDIR.TAG"])
def test_a_folder_with_nothing_but_our_own_is_marked(
    ran: ScenarioResult, tmp_path: Path, first: str
) -> None:
    """A12: replies are kept before the run is written; an older folder is one already."""
    output = tmp_path / "out"
    if first == "CACHEDIR.TAG":
        write_run(ran, RUN, tmp_path, output)
        (output / ".gitignore").unlink()
    elif first:
        (output / first).parent.mkdir(parents=True)
        (output / first).write_text("*\n")
    else:
        output.mkdir()
    folder = write_run(ran, RUN, tmp_path, output)
    assert (output / ".gitignore").read_text() == "*\n"
    assert (output / "CACHEDIR.TAG").exists()
    assert not (folder.parent / ".gitignore").exists()


def test_results_json_has_the_keys_of_the_contract(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text("utf-8"))
    assert list(found) == [
        "schema",
        "scenario",
        "run",
        "complete",
        "counts",
        "metrics",
        "weighted_score",
        "avg",
        "gates",
        "comparison",
        "comparisons",
        "samples",
    ]
    assert found["schema"] == 1
    assert found["scenario"] == {
        "name": "s",
        "path": "s.yaml",
        "test": "",
        "snapshot_sha256": "abc",
        "dataset_sha256": "def",
        "overridden": ["gates.f1"],
        "judgements_sha256": "",
        "measured": {},
        "definitions": {"f1": "", "em": ""},
        "scales": {
            name: {"range": [0.0, 1.0], "higher_is_better": True, "as_is": False}
            for name in ("f1", "em")
        },
        "thresholds": {},
        "doc_weights": {},
        "bands": [0.8, 0.6],
    }
    assert set(found["run"]) == {
        "id",
        "started_at",
        "finished_at",
        "version",
        "workers",
        "latency_s",
        "answer_latency_s",
        "usage",
    }
    assert found["counts"] == {
        "samples": 4,
        "ran": 4,
        "scored": 1,
        "passed": 1,
        "failed": 0,
        "error": 2,
        "skipped": 1,
        "xfailed": 0,
        "invalid": 1,
        "in_figures": 1,
        "not_run": 0,
    }
    assert set(found["metrics"]["f1"]) == {
        "failed",
        "mean",
        "weighted_mean",
        "weight",
        "n",
        "unscored",
        "std",
        "ci_low",
        "ci_high",
    }
    assert set(found["weighted_score"]) == {"mean", "n", "unscored", "failed", "ci_low", "ci_high"}
    assert found["avg"] == {"avg_f1": 0.5, "avg_em": 0.5}
    usual = {"name", "outcome", "observed", "bound", "message"}
    assert [set(gate) for gate in found["gates"]] == [usual | {"metric"}, usual]
    assert found["comparison"] is None
    assert found["comparisons"] == []


def test_results_json_has_every_sample_in_order(folder: Path) -> None:
    """A20: unscored is null, the error text stands beside it."""
    found = json.loads((folder / "results.json").read_text("utf-8"))["samples"]
    assert [sample["id"] for sample in found] == ["a", "b", "c", "d"]
    contract = {
        "id",
        "index",
        "doc_name",
        "sample_weight",
        "weighted_score",
        "outcome",
        "question",
        "answer",
        "contexts",
        "references",
        "scores",
        "reasons",
        "details",
        "errors",
    }
    assert all(contract <= set(sample) for sample in found)
    assert found[0]["scores"] == {"f1": 0.5, "em": 0.5}
    assert (found[1]["scores"], found[1]["weighted_score"]) == ({"f1": None, "em": None}, None)
    assert found[1]["errors"] == {"f1": "ValueError: boom"}
    assert found[1]["details"] == {"em": {"claims": [1]}}


def test_two_runs_differ_in_run_alone(ran: ScenarioResult, tmp_path: Path) -> None:
    """E2: byte for byte."""
    later = replace(RUN, id="later", started_at="x", workers=4, latency_s={"a": 0.5})
    first = write_run(ran, RUN, tmp_path, tmp_path / "out")
    second = write_run(ran, later, tmp_path, tmp_path / "out")
    for name in ("scores.csv", "invalid.csv", "scenario.snapshot.yaml"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    lines = [(folder / "results.json").read_text().splitlines() for folder in (first, second)]
    changed = [a for a, b in zip(*lines, strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0].startswith('"run": ')


def test_scores_csv_has_metadata_metrics_and_errors(folder: Path) -> None:
    """A12, A20: an unscored metric is a blank cell."""
    found = rows(folder / "scores.csv")
    assert list(found[0]) == [
        "sample_id",
        "question",
        "answer",
        "doc_name",
        "level",
        "f1",
        "em",
        "weighted_score",
        "sample_weight",
        "outcome",
        "error",
    ]
    assert (found[0]["level"], found[0]["f1"], found[0]["sample_weight"]) == ("1", "0.5", "2.0")
    assert (found[1]["f1"], found[1]["em"]) == ("", "")
    assert found[1]["error"] == "f1: ValueError: boom; em: no claims"
    assert (found[2]["outcome"], found[2]["error"]) == ("error", "row: no answer")


def test_invalid_csv_says_why(folder: Path) -> None:
    """A19."""
    assert rows(folder / "invalid.csv") == [
        {"sample_id": "c", "row": "3", "line": "4", "reason": "no answer", "raw": "{}"}
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_that_a_spreadsheet_would_run_is_escaped(start: str) -> None:
    """A12: in rows and in the header."""
    text = "".join(
        csv_lines(["x", f"{start}1+1"], [["a", f"{start}cmd|' /C calc'!A0"], [-1.5, -2]])
    )
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found[0][1] == f"'{start}1+1"
    assert found[1] == ["a", f"'{start}cmd|' /C calc'!A0"]
    assert found[2] == ["-1.5", "-2"]


def test_cells_of_lists_and_objects_are_json() -> None:
    text = "".join(csv_lines(["a", "b", "c"], [[["é", 1], {"k": None}, None]]))
    assert list(csv.reader(io.StringIO(text)))[1] == ['["é", 1]', '{"k": null}', ""]


def test_metadata_that_has_the_name_of_a_column_is_kept_apart(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    sample = SampleResult("a", 0, metadata={"f1": "meta"}, scores={"f1": 0.5, "em": 0.5})
    made = result([sample], metadata_columns=("f1",))
    (found,) = rows(write_run(made, RUN, tmp_path, tmp_path) / "scores.csv")
    assert (found["metadata.f1"], found["f1"]) == ("meta", "0.5")


def test_no_column_of_scores_csv_is_there_twice(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    """Metrics of one's own may be called as a column, and columns of the data as the cause."""
    scores = {"answer": 0.5, "outcome": 0.25}
    sample = SampleResult("a", 0, answer="42", metadata={"cause": "x", "error": "y"}, scores=scores)
    made = result([sample], *map(MetricColumn, scores), metadata_columns=("cause", "error"))
    made = replace(made, info=replace(made.info, diagnose=Diagnosis()))
    path = write_run(made, RUN, tmp_path, tmp_path) / "scores.csv"
    header = path.read_text("utf-8").partition("\n")[0].strip().split(",")
    assert len(set(header)) == len(header)
    (found,) = rows(path)
    assert (found["answer"], found["score.answer"], found["score.outcome"]) == (
        "42",
        "0.5",
        "0.25",
    )
    assert (found["metadata.cause"], found["metadata.error"]) == ("x", "y")


def test_summary_md_has_means_gates_and_the_worst_samples(folder: Path) -> None:
    """A12."""
    text = (folder / "summary.md").read_text("utf-8")
    assert text.startswith("# s\n")
    assert "## Metric Means (weighted)" in text
    assert "| f1 | 0.5000 | - | 1 | 1/3  2 failed (2 unscored) |" in text
    assert "| **weighted_score** | **0.5000** | - | | 1/3  2 failed (2 unscored) |" in text
    assert "| f1.mean | **FAILED** | 0.5000 &#60; 0.9000" in text
    assert "- overridden: `gates.f1`" in text
    assert "| a | 0.5000 | passed |  | q? |" in text


def test_summary_md_of_a_partial_run_says_so(ran: ScenarioResult, tmp_path: Path) -> None:
    folder = write_run(replace(ran, complete=False), RUN, tmp_path, tmp_path)
    assert "**partial run**" in (folder / "summary.md").read_text()


def test_text_of_the_data_cannot_break_the_tables_of_summary_md(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    sample = SampleResult("x|y", 0, weighted_score=0.5, question="a|b\n| c <script>", scores={})
    text = (write_run(result([sample]), RUN, tmp_path, tmp_path) / "summary.md").read_text()
    (line,) = [line for line in text.splitlines() if "script" in line]
    assert line.count("|") == 6
    assert "<script>" not in line


def test_the_snapshot_names_what_was_overridden(folder: Path) -> None:
    """A12, A14."""
    text = (folder / "scenario.snapshot.yaml").read_text("utf-8")
    assert text == "# overridden: gates.f1\nname: s\n"


def test_metadata_json_counts_and_warns(folder: Path) -> None:
    """A12."""
    found = json.loads((folder / "metadata.json").read_text("utf-8"))
    assert (found["run_id"], found["scenario_name"]) == (RUN.id, "s")
    assert (found["valid_samples"], found["invalid_samples"]) == (3, 1)
    assert (found["warnings"], found["overridden"]) == (["careful"], ["gates.f1"])


def test_save_path_writes_ultrarags_file(ran: ScenarioResult, tmp_path: Path) -> None:
    """D8: per-sample lists and ``avg_<metric>``, relative to the rootdir; unscored is null."""
    made = replace(ran, info=replace(ran.info, save_path="deep/results.json"))
    write_run(made, RUN, tmp_path, tmp_path / "out")
    found = json.loads((tmp_path / "deep" / "results.json").read_text("utf-8"))
    assert found == {
        "f1": [0.5, None, None, None],
        "em": [0.5, None, None, None],
        "avg_f1": 0.5,
        "avg_em": 0.5,
    }
    assert list(found) == ["f1", "em", "avg_f1", "avg_em"], "F1: the order of UltraRAG's"


def test_save_path_of_trec_files_has_plain_means(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    """F1: ``map`` and ``P@10``, as evaluate_trec of UltraRAG. (0.5 + 1) / 2 = 0.75."""
    samples = [
        SampleResult("q1", 0, scores={"map": 0.5, "precision@10": 0.1}),
        SampleResult("q2", 1, scores={"map": 1.0, "precision@10": 0.3}),
    ]
    columns = (MetricColumn("map"), MetricColumn("precision@10"))
    made = result(samples, *columns, judgements_sha256="x", save_path="o.json")
    write_run(made, RUN, tmp_path, tmp_path / "out")
    assert json.loads((tmp_path / "o.json").read_text("utf-8")) == {"map": 0.75, "P@10": 0.2}


def test_without_save_path_no_such_file_is_written(folder: Path, tmp_path: Path) -> None:
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_lone_surrogates_are_written_in_words(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    r"""JSON may hold "\ud800"; no UTF-8 file can."""
    sample = SampleResult(
        "\ud800", 0, answer="\udfff", metadata={"k": "\ud801"}, scores={"f1": 1.0, "em": 1.0}
    )
    made = result([sample], metadata_columns=("k",), description="\ud800")
    folder = write_run(made, RUN, tmp_path, tmp_path)
    for path in folder.iterdir():
        path.read_bytes().decode("utf-8")
    found = json.loads((folder / "results.json").read_text("utf-8"))
    assert found["samples"][0]["answer"] == "\udfff"
    assert rows(folder / "scores.csv")[0]["sample_id"] == "\\ud800"


def test_numbers_that_json_cannot_say_do_not_end_the_writing(
    result: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    """NaN and infinity never occur in JSON; details are anyone's."""
    sample = SampleResult(
        "a",
        0,
        scores={"f1": 1.0, "em": 1.0},
        details={"f1": {"p": float("nan"), "deep": [float("inf"), 1.0]}},
    )
    folder = write_run(result([sample]), RUN, tmp_path, tmp_path)

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    text = (folder / "results.json").read_text("utf-8")
    found = json.loads(text, parse_constant=refuse)
    assert found["samples"][0]["details"]["f1"]["deep"][1] == 1.0


# Writing


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """A chunk that raises leaves what was there before, and nothing half-written."""
    path = tmp_path / "sub" / "x.txt"
    write_atomically(path, ["a", "b\r\n"])
    assert path.read_bytes() == b"ab\r\n"

    def chunks() -> Iterator[str]:
        yield "half"
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        write_atomically(path, chunks())
    with pytest.raises(RuntimeError, match="boom"):
        write_atomically(tmp_path / "sub" / "y.txt", chunks())
    assert path.read_bytes() == b"ab\r\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["x.txt"]


def test_a_file_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "full").write_text("")
    with pytest.raises(OSError, match="x"):
        write_atomically(tmp_path / "x", ["a"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_the_umask_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[R7] It is the whole process's: what other threads write meanwhile would be open to all."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is touched"))
    write_atomically(tmp_path / "x", ["a"])
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_files_may_be_read_by_whom_the_umask_says(tmp_path: Path) -> None:

    before = os.umask(0o027)
    try:
        path = write_atomically(tmp_path / "x", ["a"])
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_run_folder_puts_files_into_itself(tmp_path: Path) -> None:
    path = RunFolder(tmp_path / "r", tmp_path).put("x.md", ["a"])
    assert (path, path.read_text()) == (tmp_path / "r" / "x.md", "a")


def test_a_run_is_named_after_its_start() -> None:
    started = datetime(2026, 11, 21, 9, 30, 11, 123456, tzinfo=UTC)
    assert run_id(started) == "20261121T093011-123456"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("support-bot", "support-bot"),
        ("bots/支持: v2", "bots_支持_ v2"),
        ("../..", "_"),
        ("..", "scenario"),
        (" . ", "scenario"),
        ("a\x00b\nc", "a_b_c"),
        ('a<b>"c"|d?e*', "a_b__c__d_e_"),
        ("C:\\x", "C__x"),
        ("e\u0301", "é"),
    ],
)
def test_a_scenarios_name_is_one_folder_on_any_system(name: str, expected: str) -> None:
    """G11: one that had to be changed ends in a digest, so that no other name has its folder."""
    assert plain_folder_name(name) == expected
    assert folder_name(name).startswith(expected)


@pytest.mark.parametrize(
    "name", ["x" * 300, "支" * 300, "😀" * 300, "a" * 79 + " b" * 40, "a" * 200 + "." * 20 + "b"]
)
def test_a_long_name_is_cut_to_what_file_systems_hold(name: str, tmp_path: Path) -> None:
    found = folder_name(name)
    assert 40 <= len(found.encode()) <= 255
    assert found == found.strip(" .")
    assert name.startswith(plain_folder_name(name))
    (tmp_path / found).mkdir()


def test_latest_leads_to_the_last_run(ran: ScenarioResult, tmp_path: Path) -> None:
    first = write_run(ran, RUN, tmp_path, tmp_path)
    latest = tmp_path / "s" / "latest"
    assert latest.resolve() == first.resolve()
    second = write_run(ran, replace(RUN, id="later"), tmp_path, tmp_path)
    assert latest.is_symlink()
    assert latest.resolve() == second.resolve()
    assert sorted(entry.name for entry in latest.parent.iterdir()) == [RUN.id, "later", "latest"]


def test_where_links_are_not_possible_latest_is_a_text(
    ran: ScenarioResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*arguments: Any, **keywords: Any) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", no_links)
    write_run(ran, RUN, tmp_path, tmp_path)
    assert (tmp_path / "s" / "latest").read_text() == RUN.id + "\n"


def test_latest_stays_where_it_was_when_a_report_fails(
    ran: ScenarioResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_run(ran, RUN, tmp_path, tmp_path)
    from pytest_rageval.reports import summary_md

    def fails(*arguments: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(summary_md, "summary_text", fails)
    with pytest.raises(OSError, match="disk full"):
        write_run(ran, replace(RUN, id="later"), tmp_path, tmp_path)
    assert (tmp_path / "s" / "latest").resolve() == first.resolve()


def test_two_scenarios_of_one_name_in_one_session_do_not_mix(
    ran: ScenarioResult, tmp_path: Path
) -> None:
    first = write_run(ran, RUN, tmp_path, tmp_path)
    second = write_run(ran, RUN, tmp_path, tmp_path)
    assert (first.name, second.name) == (RUN.id, f"{RUN.id}-2")
