"""E15: the runs of a scenario over time: lists of the run folders, and the file for charts."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports import history
from pytest_rageval.reports.history import HISTORY, all_runs, record, trend_of
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.results.run_point import point_of, read_point

Ran = Callable[..., Path]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "out"


def made(
    result: Callable[..., ScenarioResult], score: float | None, name: str, **changed: Any
) -> ScenarioResult:
    """Return a result of one sample that f1 scored, and em did not."""
    sample = SampleResult("a", 0, weighted_score=score, scores={"f1": score, "em": None})
    decided = decide_gates(result([sample], gates={"f1": 0.4}), Extent(1, 1, 1))
    return replace(
        decided, info=replace(decided.info, name=name, overridden=("gates.f1",), **changed)
    )


@pytest.fixture
def ran(result: Callable[..., ScenarioResult], base: Path, tmp_path: Path) -> Ran:
    """Return a function that writes a run of one sample and returns its folder."""

    def make(day: int, score: float | None = 0.5, name: str = "s", **changed: Any) -> Path:
        return write_run(made(result, score, name, **changed), run_of(day), tmp_path, base)

    return make


@pytest.fixture
def recorded(
    result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> Callable[..., list[str]]:
    """Return a function that writes a run, adds it to the file, and returns the remarks."""

    def make(day: int, score: float | None = 0.5, name: str = "s", **changed: Any) -> list[str]:
        done = made(result, score, name, **changed)
        return record(done, run_of(day), write_run(done, run_of(day), tmp_path, base))

    return make


def run_of(day: int) -> RunInfo:
    """Return a run on a day of November at noon."""
    return RunInfo(
        f"202611{day:02}T120000-000001",
        f"2026-11-{day:02}T12:00:00.000001+00:00",
        f"2026-11-{day:02}T12:00:09+00:00",
        "0.1.0",
        latency_s={"a": 0.5},
        commit="c0ffee1",
    )


def means(points: Any) -> list[float | None]:
    return [point.weighted_score.mean for point in points]


def rows_of(base: Path) -> list[dict[str, str]]:
    with (base / HISTORY).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def scores_of(base: Path) -> list[tuple[str, str]]:
    """Return folder and weighted score of each run in the file."""
    rows = [row for row in rows_of(base) if row["metric"] == "weighted_score"]
    return [(row["folder"], row["weighted_mean"]) for row in rows]


# One run


def test_a_point_is_the_same_from_the_result_and_from_its_folder(
    result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> None:
    """Counts, figures, gates, what was overridden and the commit; nothing needs the samples."""
    samples = [
        SampleResult("a", 0, weighted_score=0.5, scores={"f1": 0.5, "em": None}),
        SampleResult("b", 1, "failed", weighted_score=0.1, scores={"f1": 0.1, "em": 0.1}),
    ]
    done = result(samples, gates={"f1": 0.9, "weighted_score": 0.1}, overridden=("gates.f1",))
    done = replace(done, info=replace(done.info, doc_weights={"a.pdf": 2.0}))
    done = decide_gates(done, Extent(2, 2, 2))
    folder = write_run(done, run_of(1), tmp_path, base)
    point = read_point(base, f"s/{folder.name}")
    assert point == point_of(done, run_of(1), f"s/{folder.name}")
    assert point is not None
    # (0.5 + 0.1) / 2 = 0.3: f1 fails, weighted_score holds, and so does unscored (0 of 2).
    assert point.weighted_score.mean == pytest.approx(0.3)
    assert (point.gates_passed, point.gates_failed, point.gates_skipped) == (2, 1, 0)
    assert (point.counts.passed, point.counts.failed, point.failed) == (1, 1, True)
    assert (point.overridden, point.commit) == (("gates.f1",), "c0ffee1")
    assert point.doc_weights == {"a.pdf": 2.0}
    assert (point.mean_of("em"), point.mean_of("other")) == (0.1, None)


def test_only_the_head_of_the_file_is_read(ran: Ran, base: Path) -> None:
    """A run of 100,000 samples is listed as fast as one of ten: what follows is not looked at."""
    folder = ran(1)
    path = folder / "results.json"
    head, _, _ = path.read_text("utf-8").partition('"samples": [\n')
    path.write_text(head + '"samples": [\nno JSON at all', "utf-8")
    found = read_point(base, f"s/{folder.name}")
    assert found is not None
    assert found.weighted_score.mean == 0.5


def test_a_file_that_another_program_laid_out_anew_is_read(ran: Ran, base: Path) -> None:
    """As ``jq .`` writes it, and with the line ends and the mark of Windows."""
    folder = ran(1)
    path = folder / "results.json"
    before = read_point(base, f"s/{folder.name}")
    plain = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(plain, indent=2), "utf-8")
    assert read_point(base, f"s/{folder.name}") == before
    path.write_bytes(json.dumps(plain, indent=0).replace("\n", "\r\n").encode("utf-8-sig"))
    assert read_point(base, f"s/{folder.name}") == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"schema": 1', '"schema": 2'),
        ('"schema": 1', '"schema": null'),
        ('"counts": {', '"counts": {}, "other": {'),
        ('"samples": 1', '"samples": "many"'),
        ('"mean": 0.5', '"mean": NaN'),
        ('"mean": 0.5', '"mean": true'),
        ('"mean": 0.5', f'"mean": {10**400}'),
        ('"name": "s"', '"name": 7'),
        ('"gates": [', '"gates": 7, "x": ['),
        ("{", "["),
        ('"run": ', '"ran": '),
        ('"started_at": "', '"started_at": "\\ud800'),
    ],
)
def test_a_file_of_another_kind_is_no_run(ran: Ran, base: Path, old: str, new: str) -> None:
    folder = ran(1)
    path = folder / "results.json"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert read_point(base, f"s/{folder.name}") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"commit": 7}', None])
def test_a_run_without_a_readable_commit_has_none(ran: Ran, base: Path, text: str | None) -> None:
    folder = ran(1)
    (folder / "metadata.json").unlink()
    if text is not None:
        (folder / "metadata.json").write_text(text, "utf-8")
    point = read_point(base, f"s/{folder.name}")
    assert point is not None
    assert point.commit is None


# The trend of a scenario


def test_the_trend_is_the_runs_of_one_scenario_oldest_first(ran: Ran, base: Path) -> None:
    """Whatever the order in which they were written."""
    ran(2, 0.7)
    ran(1, 0.6)
    ran(3, None)
    ran(1, 0.1, name="other")
    points = trend_of(base, "s")
    assert means(points) == [0.6, 0.7, None]
    assert [point.mean_of("f1") for point in points] == [0.6, 0.7, None]
    assert [point.scenario for point in trend_of(base, "other")] == ["other"]
    assert trend_of(base, "no such") == []


def test_a_report_leaves_its_own_run_out(ran: Ran, base: Path) -> None:
    """``before`` is a run id; also a second scenario of that name in the same session goes."""
    for day in (1, 2, 3):
        ran(day, day / 10)
    ran(3, 0.9)
    assert means(trend_of(base, "s", before=run_of(3).id)) == [0.1, 0.2]
    assert means(trend_of(base, "s", before=run_of(3).id, limit=1)) == [0.2]
    assert means(trend_of(base, "s", limit=0)) == []


def test_partial_runs_push_no_complete_run_out_of_a_trend(
    ran: Ran, result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> None:
    """An afternoon of ``-k`` behind two complete runs: the newest complete one stays."""
    ran(1, 0.1)
    ran(2, 0.2)
    write_run(replace(made(result, 0.3, "s"), complete=False), run_of(3), tmp_path, base)
    assert means(trend_of(base, "s", limit=1)) == [0.3]
    assert means(trend_of(base, "s", limit=1, only_complete=True)) == [0.2]


def test_runs_of_another_file_of_the_same_name_are_no_part_of_a_trend(
    ran: Ran, base: Path, tmp_path: Path
) -> None:
    """They are of ``s.yaml``: while it is there by their name, of nothing else; once moved, they
    stay, also where another scenario takes the place, and under a link's name.
    """
    ran(1, 0.1)
    (path,) = {point.path for point in trend_of(base, "s")}
    assert means(trend_of(base, "s", file=(tmp_path, path))) == [0.1]
    moved = (tmp_path, "b/s.yaml")
    assert means(trend_of(base, "s", file=moved, limit=1)) == [0.1]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "s.yaml").write_text("name: s", "utf-8")
    for text, found in [
        ("name: s", []), ("scenario_name: s", []), ("", []), ("name: smoke", [0.1]),
    ]:  # fmt: skip
        (tmp_path / path).write_text(text, "utf-8")
        assert means(trend_of(base, "s", file=moved, limit=1)) == found
    (tmp_path / "link.yaml").symlink_to(path)
    (tmp_path / path).write_text("name: s", "utf-8")
    assert means(trend_of(base, "s", file=(tmp_path, "link.yaml"))) == [0.1]
    assert means(trend_of(base, "s", file=(tmp_path, path))) == [0.1]


def test_names_that_share_a_folder_are_kept_apart(ran: Ran, base: Path) -> None:
    """``a/b`` and ``a:b`` are one folder, on the disk."""
    ran(1, 0.1, name="a/b")
    ran(2, 0.2, name="a:b")
    assert means(trend_of(base, "a/b")) == [0.1]
    assert means(trend_of(base, "a:b")) == [0.2]


# All runs


def test_all_runs_are_those_that_have_folders(ran: Ran, base: Path) -> None:
    """Nothing is written."""
    first = ran(1, 0.1)
    ran(1, 0.2, name="t")
    assert [point.scenario for point in all_runs(base)] == ["s", "t"]
    shutil.rmtree(first)
    ran(2, 0.3)
    assert means(all_runs(base)) == [0.2, 0.3]
    assert not (base / HISTORY).exists()


def test_a_run_is_read_again_only_if_it_changed(
    ran: Ran, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a page that shows a hundred runs would read a hundred files, again and again."""
    read: list[str] = []
    monkeypatch.setattr(history, "read_point", lambda *at: (read.append(at[1]), read_point(*at))[1])
    folders = [f"s/{ran(day).name}" for day in (1, 2)]
    assert means(all_runs(base)) == means(trend_of(base, "s")) == [0.5, 0.5]
    assert read == folders
    path = base / folders[0] / "results.json"
    path.write_text(path.read_text("utf-8").replace('"mean": 0.5', '"mean": 0.9'), "utf-8")
    assert means(all_runs(base)) == [0.9, 0.5]
    assert read == [*folders, folders[0]]


def test_other_folders_are_no_runs(ran: Ran, base: Path) -> None:
    """``latest``, baselines, the cache, a folder that a crash left half written."""
    folder = ran(1, 0.1)
    (base / "s" / "baselines").mkdir()
    shutil.copy(folder / "results.json", base / "s" / "baselines" / "main.json")
    (base / ".cache" / "x").mkdir(parents=True)
    shutil.copy(folder / "results.json", base / ".cache" / "x")
    (base / "s" / "20261102T120000-000001").mkdir()
    assert (base / "s" / "latest").is_symlink()
    assert [point.folder for point in all_runs(base)] == [f"s/{folder.name}"]
    assert all_runs(base / "none") == []
    assert not (base / "none").exists()


# The file


def test_a_run_adds_a_line_for_each_figure(recorded: Callable[..., list[str]], base: Path) -> None:
    """With all digits; a figure that there is not is blank, and none is 0 by mistake."""
    assert recorded(1, 1 / 3, variant="dense") == []
    assert recorded(2, None) == []
    f1, em, overall, *second = rows_of(base)
    run = {
        "folder": "s/dense/20261101T120000-000001",
        "run_id": "20261101T120000-000001",
        "scenario": "s",
        "variant": "dense",
        "started_at": "2026-11-01T12:00:00.000001+00:00",
        "complete": "1",
        "commit": "c0ffee1",
        "samples": "1",
        "ran": "1",
        "passed": "1",
        "failed": "0",
        "invalid": "0",
        # f1 < 0.4 fails; unscored holds.
        "gates_passed": "1",
        "gates_failed": "1",
        "gates_skipped": "0",
        "overridden": '["gates.f1"]',
    }
    for row in (f1, em, overall):
        assert run.items() <= row.items()
    figures = ("metric", "weighted_mean", "mean", "n", "unscored", "metric_failed", "ci_low", "std")
    third = "0.3333333333333333"
    assert [f1[name] for name in figures] == ["f1", third, third, "1", "0", "0", "", ""]
    assert [em[name] for name in figures] == ["em", "", "", "0", "1", "0", "", ""]
    assert [overall[name] for name in figures][:4] == ["weighted_score", third, "", "1"]
    assert f1["weight"] == "1.0"
    assert [row["weighted_mean"] for row in second] == ["", "", ""]
    assert {row["variant"] for row in second} == {""}


def test_runs_whose_folders_are_gone_stay_in_the_file(
    recorded: Callable[..., list[str]], base: Path
) -> None:
    """E15: ``--rag-keep`` must not shorten a chart."""
    recorded(1, 0.5)
    shutil.rmtree(base / "s")
    recorded(2, 0.6)
    assert [score for _, score in scores_of(base)] == ["0.5", "0.6"]
    assert means(all_runs(base)) == [0.6]


def test_a_new_file_begins_with_the_runs_that_have_folders(
    ran: Ran, recorded: Callable[..., list[str]], base: Path
) -> None:
    """It is new, or somebody deleted it; the oldest run comes first."""
    ran(2, 0.2)
    ran(1, 0.1, name="t")
    assert recorded(3, 0.3) == []
    assert [score for _, score in scores_of(base)] == ["0.1", "0.2", "0.3"]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("双源CT", "双源CT"),
        ('a,b"c', 'a,b"c'),
        ("=1+1", "'=1+1"),
        ("@x", "'@x"),
        ("odd \ud800", "odd \\ud800"),
        ("nul \x00", "nul \x00"),
    ],
)
def test_any_name_can_be_kept(
    recorded: Callable[..., list[str]], base: Path, name: str, cell: str
) -> None:
    """And no spreadsheet takes one for a formula."""
    assert recorded(1, 0.5, name=name) == []
    assert means(trend_of(base, name)) == [0.5]
    assert {row["scenario"] for row in rows_of(base)} == {cell}
    assert not any(row["folder"].startswith(("=", "@")) for row in rows_of(base))


@pytest.mark.parametrize("how", ["notes", "more columns", "semicolons", "folder"])
def test_a_file_that_is_not_ours_is_left_alone(
    recorded: Callable[..., list[str]], base: Path, how: str
) -> None:
    """The run is written all the same; a remark says what to do."""
    recorded(1)
    path = base / HISTORY
    content = path.read_bytes()
    if how == "folder":
        path.unlink()
        path.mkdir()
    else:
        changed = {
            "notes": b"notes of mine\n",
            "more columns": content.replace(b",definition\r", b",definition,other\r", 1),
            "semicolons": content.replace(b",", b";"),
        }
        content = changed[how]
        path.write_bytes(content)
    (remark,) = recorded(2)
    assert remark.startswith(f"this run is not in {path}: ")
    assert ("Move the file away" in remark) == (how != "folder")
    assert path.is_dir() or path.read_bytes() == content
    assert len(all_runs(base)) == 2


@pytest.mark.parametrize("how", ["another program", "no line end", "damaged"])
def test_lines_that_others_wrote_stay(
    recorded: Callable[..., list[str]], base: Path, how: str
) -> None:
    """A run is never added to the end of a line."""
    recorded(1, 0.5)
    path = base / HISTORY
    content = path.read_bytes()
    if how == "another program":
        content = b"\xef\xbb\xbf" + content.replace(b"\r\n", b"\n")
    elif how == "no line end":
        content = content.removesuffix(b"\r\n")
    else:
        content += b"\xff\x00;;\r\n" + content[-40:-30]
    path.write_bytes(content)
    assert recorded(2, 0.6) == []
    assert path.read_bytes().startswith(content)
    added = path.read_bytes().removeprefix(content).strip().split(b"\r\n")
    assert [line.split(b",")[0] for line in added] == [b"s/20261102T120000-000001"] * 3


def test_a_run_is_in_the_file_once(
    result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> None:
    """Another process that began the file may have found the folder first."""
    done = made(result, 0.5, "s")
    folder = write_run(done, run_of(1), tmp_path, base)
    for _ in range(2):
        assert record(done, run_of(1), folder) == []
    assert len(scores_of(base)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_a_file_that_is_locked_for_long_is_a_remark(
    recorded: Callable[..., list[str]], base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    recorded(1)
    monkeypatch.setattr(history, "_BUSY_S", 0.05)
    with (base / HISTORY).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        (remark,) = recorded(2)
        assert "another process has kept it locked for 0.05 s" in remark
    assert len(scores_of(base)) == 1
    assert recorded(3) == []
    assert len(scores_of(base)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_full_disk_leaves_no_half_of_a_run(
    recorded: Callable[..., list[str]], base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for files of this process; it ends within the second run's lines."""
    import resource

    recorded(1)
    content = (base / HISTORY).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(*args: Any) -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 100, hard))
        try:
            return append(*args)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    append = history._append
    monkeypatch.setattr(history, "_append", limited)
    (remark,) = recorded(2)
    assert "no room" in remark
    assert (base / HISTORY).read_bytes() == content


WRITER = """
import sys
from pytest_rageval import evaluate

for number in range(10):
    rows = [{"answer": "a", "references": ["a"]}]
    evaluate({"name": sys.argv[2], "metrics": ["em"], "dataset": rows}, write_to=sys.argv[1])
"""


@pytest.mark.full
def test_two_processes_at_once_lose_nothing(base: Path) -> None:
    """They begin with no file at all, so that both want to make it."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(base), name]) for name in ("x", "y")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    folders = [folder for folder, _ in scores_of(base)]
    assert sorted(folders) == sorted(point.folder for point in all_runs(base))
    assert len(folders) == 2 * 10
    assert len(rows_of(base)) == 2 * 2 * 10


# The database of an earlier version

RUNS_COLUMNS = (
    "folder TEXT PRIMARY KEY, run_id TEXT, scenario TEXT, started_at TEXT, complete INTEGER, "
    "samples INTEGER, ran INTEGER, scored INTEGER, passed INTEGER, failed INTEGER, error INTEGER, "
    "skipped INTEGER, xfailed INTEGER, invalid INTEGER, in_figures INTEGER, weighted_score REAL, "
    "weighted_score_n INTEGER, weighted_score_unscored INTEGER, weighted_score_ci_low REAL, "
    "weighted_score_ci_high REAL, weighted_score_failed INTEGER, gates_passed INTEGER, "
    "gates_failed INTEGER, gates_skipped INTEGER, overridden TEXT, commit_sha TEXT"
)
METRICS_COLUMNS = (
    "folder TEXT, name TEXT, position INTEGER, mean REAL, weighted_mean REAL, weight REAL, "
    "n INTEGER, unscored INTEGER, std REAL, ci_low REAL, ci_high REAL, failed INTEGER"
)


def old_database(base: Path, folder: str) -> Path:
    """Write a database as version 0.1.0 did, with one run of two metrics."""
    base.mkdir(exist_ok=True)
    path = base / "history.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE runs ({RUNS_COLUMNS})")
        database.execute(f"CREATE TABLE metrics ({METRICS_COLUMNS})")
        counts = (10, 9, 8, 7, 2, 0, 0, 0, 1, 8)
        figures = (0.1 + 0.2, 8, 1, 0.2, 0.4, 1)
        run = (folder, "r", "s::=x", "2026-10-01", 0, *counts, *figures, 3, 2, 1, "[]", "c0ffee")
        database.execute(f"INSERT INTO runs VALUES ({','.join('?' * len(run))})", run)
        for position, name in enumerate(["f1", "em"]):
            metric = (folder, name, position, 0.5, 0.75, 2.0, 8, 1, None, 0.7, 0.8, 1)
            database.execute(f"INSERT INTO metrics VALUES ({','.join('?' * 12)})", metric)
    return path


def test_what_an_old_database_has_is_carried_over_once(
    ran: Ran, recorded: Callable[..., list[str]], base: Path
) -> None:
    """[E15] Also runs whose folders are gone; the database is left as it is, for good."""
    path = old_database(base, "s/gone")
    before = path.read_bytes()
    assert recorded(1, 0.5) == [
        f"{path}: was carried over into history.csv; it is no longer used, and can be deleted"
    ]
    assert recorded(2, 0.6) == []
    f1, em, overall, *_ = rows_of(base)
    shared = {"folder": "s/gone", "run_id": "r", "scenario": "s", "variant": "'=x"}
    shared |= {"started_at": "2026-10-01", "complete": "0", "commit": "c0ffee"}
    shared |= {"samples": "10", "ran": "9", "scored": "8", "passed": "7", "failed": "2"}
    shared |= {"gates_passed": "3", "gates_failed": "2", "gates_skipped": "1", "overridden": "[]"}
    of_metric = {"mean": "0.5", "weighted_mean": "0.75", "weight": "2.0", "n": "8", "std": ""}
    of_metric |= {"ci_low": "0.7", "ci_high": "0.8", "unscored": "1", "metric_failed": "1"}
    assert {**shared, **of_metric, "metric": "f1"}.items() <= f1.items()
    assert {**shared, **of_metric, "metric": "em"}.items() <= em.items()
    score = {"metric": "weighted_score", "weighted_mean": "0.30000000000000004", "mean": ""}
    score |= {"n": "8", "unscored": "1", "ci_low": "0.2", "ci_high": "0.4", "metric_failed": "1"}
    assert {**shared, **score}.items() <= overall.items()
    assert [value for _, value in scores_of(base)] == ["0.30000000000000004", "0.5", "0.6"]
    assert path.read_bytes() == before


def test_a_run_with_a_folder_is_not_taken_from_the_database(
    ran: Ran, recorded: Callable[..., list[str]], base: Path
) -> None:
    """Its folder has all of its figures, and the definitions of its metrics, too."""
    old_database(base, f"s/{ran(1, 0.5).name}")
    recorded(2, 0.6)
    assert [score for _, score in scores_of(base)] == ["0.5", "0.6"]


@pytest.mark.parametrize("how", ["cut", "text", "foreign", "no sqlite3"])
def test_a_database_that_cannot_be_read_is_said_once(
    ran: Ran,
    recorded: Callable[..., list[str]],
    base: Path,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The runs that have folders are in the new file all the same."""
    path = old_database(base, "s/gone")
    ran(1, 0.5)
    if how == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "text":
        path.write_bytes(b"these are notes of mine\n" * 200)
    elif how == "foreign":
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE runs")
    else:
        monkeypatch.setitem(sys.modules, "sqlite3", None)
    (remark,) = recorded(2, 0.6)
    assert remark.startswith(f"{path}: was not carried over into history.csv: ")
    assert [score for _, score in scores_of(base)] == ["0.5", "0.6"]
    assert recorded(3, 0.7) == []
