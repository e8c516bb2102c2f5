"""E15: the runs of a scenario over time, in an index that the run folders can always replace."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    Counts,
    MetricSummary,
    RunInfo,
    SampleResult,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.reports import history
from pytest_rageval.reports.history import (
    DATABASE,
    HistoryError,
    all_runs,
    record,
    trend_of,
)
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.results.run_point import RunPoint, point_of, read_point

Ran = Callable[..., Path]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def ran(result: Callable[..., ScenarioResult], base: Path, tmp_path: Path) -> Ran:
    """Return a function that writes a run of one sample and returns its folder."""

    def make(day: int, score: float | None = 0.5, name: str = "s", **changed: Any) -> Path:
        sample = SampleResult("a", 0, weighted_score=score, scores={"f1": score, "em": None})
        made = decide_gates(result([sample], gates={"f1": 0.4}), Extent(1, 1, 1))
        made = replace(made, info=replace(made.info, name=name, overridden=("gates.f1",)))
        return write_run(replace(made, **changed), run_of(day), tmp_path, base)

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


def rows_of(base: Path) -> list[tuple[str, float]]:
    with closing(sqlite3.connect(base / DATABASE)) as database:
        return database.execute(
            "SELECT folder, weighted_score FROM runs ORDER BY folder"
        ).fetchall()


# One run


def test_a_point_is_the_same_from_the_result_and_from_its_folder(
    result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> None:
    """Counts, figures, gates, what was overridden and the commit; nothing needs the samples."""
    samples = [
        SampleResult("a", 0, weighted_score=0.5, scores={"f1": 0.5, "em": None}),
        SampleResult("b", 1, "failed", weighted_score=0.1, scores={"f1": 0.1, "em": 0.1}),
    ]
    made = result(samples, gates={"f1": 0.9, "weighted_score": 0.1}, overridden=("gates.f1",))
    made = decide_gates(made, Extent(2, 2, 2))
    folder = write_run(made, run_of(1), tmp_path, base)
    point = read_point(base, f"s/{folder.name}")
    assert point == point_of(made, run_of(1), f"s/{folder.name}")
    assert point is not None
    # (0.5 + 0.1) / 2 = 0.3: f1 fails, weighted_score holds, and so does unscored (0 of 2).
    assert point.weighted_score.mean == pytest.approx(0.3)
    assert (point.gates_passed, point.gates_failed, point.gates_skipped) == (2, 1, 0)
    assert (point.counts.passed, point.counts.failed, point.failed) == (1, 1, True)
    assert (point.overridden, point.commit) == (("gates.f1",), "c0ffee1")
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


@pytest.mark.parametrize("state", ["none", "whole", "empty", "behind", "damaged", "newer"])
def test_the_trend_is_the_same_with_and_without_the_file(ran: Ran, base: Path, state: str) -> None:
    """The file makes it faster, nothing else."""
    ran(1, 0.6)
    ran(2, 0.7)
    if state in ("whole", "newer"):
        assert len(all_runs(base)[0]) == 2
    if state == "newer":
        with closing(sqlite3.connect(base / DATABASE)) as database:
            database.execute("PRAGMA user_version = 4")
    if state == "empty":
        (base / DATABASE).touch()
    if state == "behind":
        all_runs(base)
        ran(3, 0.8)
    if state == "damaged":
        (base / DATABASE).write_bytes(b"not a database, but long enough" * 100)
    before = (base / DATABASE).read_bytes() if state != "none" else None
    expected = [0.6, 0.7, 0.8] if state == "behind" else [0.6, 0.7]
    assert means(trend_of(base, "s")) == expected
    after = (base / DATABASE).read_bytes() if (base / DATABASE).exists() else None
    assert after == before


def test_what_the_file_has_is_not_read_again(ran: Ran, base: Path) -> None:
    """Else a hundred runs would be a hundred files to read, for every report."""
    folder = ran(1, 0.6)
    all_runs(base)
    (folder / "results.json").write_text("no longer readable", "utf-8")
    assert means(trend_of(base, "s")) == [0.6]


def test_names_that_share_a_folder_are_kept_apart(ran: Ran, base: Path) -> None:
    """``a/b`` and ``a:b`` are one folder, on the disk."""
    ran(1, 0.1, name="a/b")
    ran(2, 0.2, name="a:b")
    for _ in range(2):
        assert means(trend_of(base, "a/b")) == [0.1]
        assert means(trend_of(base, "a:b")) == [0.2]
        all_runs(base)


@pytest.mark.parametrize("name", ["双源CT", "it's; DROP TABLE runs", "odd \ud800", "nul \x00"])
def test_any_name_can_be_kept(ran: Ran, base: Path, name: str) -> None:
    ran(1, 0.1, name=name)
    assert all_runs(base)[1] == []
    assert means(trend_of(base, name)) == [0.1]
    assert len(rows_of(base)) == 1


# All runs, and the file


def test_all_runs_brings_the_file_up_to_date(ran: Ran, base: Path) -> None:
    """New folders come in, folders that are gone go, and a second look changes nothing."""
    first = ran(1, 0.1)
    ran(1, 0.2, name="t")
    points, remarks = all_runs(base)
    assert ([point.scenario for point in points], remarks) == (["s", "t"], [])
    assert rows_of(base) == [(f"s/{first.name}", 0.1), (f"t/{first.name}", 0.2)]
    shutil.rmtree(first)
    second = ran(2, 0.3)
    assert means(all_runs(base)[0]) == [0.2, 0.3]
    expected = [(f"s/{second.name}", 0.3), (f"t/{first.name}", 0.2)]
    assert rows_of(base) == expected
    changed = (base / DATABASE).stat().st_mtime_ns
    all_runs(base)
    assert (base / DATABASE).stat().st_mtime_ns == changed


def test_deleting_the_file_loses_nothing(ran: Ran, base: Path) -> None:
    for day in (1, 2, 3):
        ran(day, day / 10)
    before = all_runs(base)[0]
    with closing(sqlite3.connect(base / DATABASE)) as database:
        dump = list(database.iterdump())
    (base / DATABASE).unlink()
    assert all_runs(base) == (before, [])
    with closing(sqlite3.connect(base / DATABASE)) as database:
        assert list(database.iterdump()) == dump


def test_what_comes_out_of_the_file_is_what_went_in(ran: Ran, base: Path) -> None:
    ran(1, 0.1)
    ran(2, None)
    from_folders = all_runs(base)[0]
    assert all_runs(base) == (from_folders, [])
    assert all(isinstance(point.metrics["f1"], MetricSummary) for point in from_folders)


def test_other_folders_are_no_runs(ran: Ran, base: Path) -> None:
    """``latest``, baselines, the cache, a folder that a crash left half written."""
    folder = ran(1, 0.1)
    (base / "s" / "baselines").mkdir()
    shutil.copy(folder / "results.json", base / "s" / "baselines" / "main.json")
    (base / ".cache" / "x").mkdir(parents=True)
    shutil.copy(folder / "results.json", base / ".cache" / "x")
    (base / "s" / "20261102T120000-000001").mkdir()
    assert (base / "s" / "latest").is_symlink()
    assert [point.folder for point in all_runs(base)[0]] == [f"s/{folder.name}"]
    assert all_runs(base / "none") == ([], [])
    assert not (base / "none").exists()


def test_a_run_is_recorded_and_can_be_recorded_again(ran: Ran, base: Path) -> None:
    folder = ran(1, 0.1)
    point = read_point(base, f"s/{folder.name}")
    assert point is not None
    record(base, point)
    record(base, replace(point, weighted_score=replace(point.weighted_score, mean=0.2)))
    assert rows_of(base) == [(f"s/{folder.name}", 0.2)]


def test_the_first_record_takes_in_what_is_there(ran: Ran, base: Path) -> None:
    """The file is new, or was deleted: it is never a part of the truth."""
    first, second = ran(1, 0.1), ran(2, 0.2)
    point = read_point(base, f"s/{second.name}")
    assert point is not None
    record(base, point)
    assert rows_of(base) == [(f"s/{first.name}", 0.1), (f"s/{second.name}", 0.2)]


def test_without_the_file_every_folder_is_read_again(ran: Ran, base: Path) -> None:
    folder = ran(1, 0.1)
    all_runs(base)
    path = folder / "results.json"
    path.write_text(path.read_text("utf-8").replace('"mean": 0.1', '"mean": 0.9'), "utf-8")
    assert means(all_runs(base)[0]) == [0.1]
    (base / DATABASE).unlink()
    assert means(all_runs(base)[0]) == [0.9]
    assert rows_of(base) == [(f"s/{folder.name}", 0.9)]


# What can be wrong with the file


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the database as a process does that is writing."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield


def broken(path: Path, how: str) -> str:
    """Make the file one that cannot be used; return a word of what is said about it."""
    if how == "text":
        path.write_bytes(b"these are notes of mine\n" * 200)
        return "is damaged, or no history"
    if how == "folder":
        path.unlink()
        path.mkdir()
        return "cannot be used: unable to open database file"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        if how == "foreign":
            database.executescript("PRAGMA application_id = 7; PRAGMA user_version = 2;")
            return "not a history of pytest-rageval"
        if how == "tables":
            database.executescript("PRAGMA application_id = 0; PRAGMA user_version = 0;")
            return "not a history of pytest-rageval"
        if how == "newer":
            database.execute("PRAGMA user_version = 4")
            return "written by another version (schema 4; this one has 3)"
        assert how == "table gone"
        database.execute("DROP TABLE runs")
        return "cannot be used: no such table: runs"


HOW = ["text", "folder", "foreign", "tables", "newer", "table gone"]


@pytest.mark.parametrize("how", HOW)
def test_a_file_that_cannot_be_used_is_left_alone_and_named(ran: Ran, base: Path, how: str) -> None:
    """The runs are listed all the same, with a remark; adding one is an error in words."""
    folder = ran(1, 0.1)
    all_runs(base)
    path = base / DATABASE
    said = broken(path, how)
    before = path.read_bytes() if path.is_file() else None
    points, (remark,) = all_runs(base)
    assert means(points) == [0.1]
    assert str(path) in remark
    assert said in remark
    point = read_point(base, f"s/{folder.name}")
    assert point is not None
    with pytest.raises(HistoryError) as caught:
        record(base, point)
    assert said in str(caught.value)
    assert means(trend_of(base, "s")) == [0.1]
    assert (path.read_bytes() if path.is_file() else None) == before


def damaged(path: Path, how: str) -> None:
    """Damage the file, which stays a history by what it says of itself."""
    if how == "cut":
        path.write_bytes(path.read_bytes()[:5000])
        return
    if how == "overwritten":
        path.write_bytes(path.read_bytes()[:1000] + b"\xff" * (path.stat().st_size - 1000))
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE runs SET overridden = 'no JSON'")


@pytest.mark.parametrize("how", ["cut", "overwritten", "row"])
def test_a_history_that_is_damaged_is_made_anew(ran: Ran, base: Path, how: str) -> None:
    """With a remark; not by a run that is to be added, which has better to do."""
    folder = ran(1, 0.1)
    all_runs(base)
    path = base / DATABASE
    damaged(path, how)
    before = path.read_bytes()
    assert means(trend_of(base, "s")) == [0.1]
    if how != "row":  # which adding another one need not read
        point = read_point(base, f"s/{folder.name}")
        assert point is not None
        with pytest.raises(HistoryError, match="damaged .* 'pytest --rag-history' makes it anew"):
            record(base, point)
    assert path.read_bytes() == before
    points, remarks = all_runs(base)
    assert means(points) == [0.1]
    assert remarks == [f"{path}: was damaged, and was made anew from the run folders"]
    assert rows_of(base) == [(f"s/{folder.name}", 0.1)]
    assert all_runs(base)[1] == []


def test_a_damaged_history_that_cannot_be_removed_is_named(
    ran: Ran, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another process has it open, on Windows."""
    ran(1, 0.1)
    all_runs(base)
    damaged(base / DATABASE, "cut")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("used by another process")

    monkeypatch.setattr(Path, "unlink", refuse)
    points, (remark,) = all_runs(base)
    assert means(points) == [0.1]
    assert "is damaged" in remark


def test_a_locked_file_is_waited_for_and_then_named(ran: Ran, base: Path) -> None:
    folder = ran(1, 0.1)
    all_runs(base)
    ran(2, 0.2)
    point = read_point(base, f"s/{folder.name}")
    assert point is not None
    with locked(base / DATABASE):
        points, (remark,) = all_runs(base, timeout_s=0.05)
        with pytest.raises(HistoryError, match="another process keeps it locked"):
            record(base, point, timeout_s=0.05)
    assert "another process keeps it locked" in remark
    assert means(points) == [0.1, 0.2]
    record(base, point, timeout_s=0.05)


def test_where_nothing_can_be_written_the_runs_are_listed(
    ran: Ran, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that is mounted read-only (which root could write to)."""
    ran(1, 0.1)

    def refuse(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(history, "_create", refuse)
    points, (remark,) = all_runs(base)
    assert means(points) == [0.1]
    assert "cannot be used: attempt to write a readonly database" in remark


def test_a_python_without_sqlite_says_so(
    ran: Ran, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(1, 0.1)
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    points, (remark,) = all_runs(base)
    assert means(points) == [0.1]
    assert "this Python has no sqlite3" in remark


def test_a_change_happens_whole_or_not_at_all(
    ran: Ran, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(1, 0.1)
    all_runs(base)
    ran(2, 0.2)
    monkeypatch.setattr(history, "_marks", lambda values: "?" + ", ?" * len(values))
    points, (remark,) = all_runs(base)
    assert means(points) == [0.1, 0.2]
    assert "cannot be used" in remark
    assert len(rows_of(base)) == 1


WRITER = """
import sys
from pathlib import Path
from pytest_rageval.reports.history import record
from pytest_rageval.results.run_point import read_point

base, name = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    record(base, read_point(base, f"{name}/{number}"), timeout_s=60)
"""


def test_two_processes_at_once_lose_nothing(ran: Ran, base: Path) -> None:
    """They begin with no file at all, so that both want to make it."""
    folder = ran(1, 0.1)
    for name in ("x", "y"):
        for number in range(20):
            shutil.copytree(folder, base / name / str(number))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(base), name]) for name in ("x", "y")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with closing(sqlite3.connect(base / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(rows_of(base)) == 1 + 2 * 20


def test_a_history_of_an_earlier_version_is_made_anew(ran: Ran, base: Path) -> None:
    """Its tables lack columns; all that was in it is in the run folders."""
    ran(1, 0.1)
    with closing(sqlite3.connect(base / DATABASE)) as database:
        database.executescript("CREATE TABLE runs (x); PRAGMA user_version = 1;")
        database.execute(f"PRAGMA application_id = {0x72616765}")
        database.commit()
    points, remarks = all_runs(base)
    assert ([point.weighted_score.mean for point in points], remarks) == ([0.1], [])
    assert all_runs(base) == (points, [])


def test_the_tables_have_a_column_for_every_figure() -> None:
    """A new field of these records needs a new version of the file."""
    assert [field.name for field in fields(Counts)] == [
        "samples", "ran", "scored", "passed", "failed", "error", "skipped", "xfailed", "invalid",
        "in_figures",
    ]  # fmt: skip
    assert len(fields(WeightedSummary)) == 6
    assert len(fields(MetricSummary)) == 9
    for name in [*(field.name for field in fields(Counts)), "weighted_score_ci_high"]:
        assert f" {name} " in history._TABLES["runs"]
    for field in fields(MetricSummary):
        assert f" {field.name} " in history._TABLES["metrics"]


def test_the_point_of_a_run_without_a_folder_is_one_too(
    result: Callable[..., ScenarioResult],
) -> None:
    """As a report needs that is part of the run."""
    point = point_of(result([SampleResult("a", 0, weighted_score=0.5)]), run_of(1))
    assert isinstance(point, RunPoint)
    assert (point.folder, point.weighted_score.mean, point.failed) == ("", 0.5, False)


def test_runs_of_variants_are_found_a_folder_deeper(
    result: Callable[..., ScenarioResult], base: Path, tmp_path: Path
) -> None:
    """[E20] From the file and without it; no run is forgotten, no variant mixed with another."""
    made = result([SampleResult("a", 0, weighted_score=0.5, scores={"f1": 0.5})])
    for variant in ("bm25", "dense", ""):
        info = replace(made.info, name="s", variant=variant)
        write_run(replace(made, info=info), run_of(1), tmp_path, base)
    id_ = run_of(1).id
    found = [f"s/{id_}", f"s/bm25/{id_}", f"s/dense/{id_}"]
    for _ in range(2):
        assert [point.folder for point in all_runs(base)[0]] == found
        assert [folder for folder, _ in rows_of(base)] == found
        assert [point.folder for point in trend_of(base, "s::dense")] == [f"s/dense/{id_}"]
    (base / DATABASE).unlink()
    assert [point.folder for point in trend_of(base, "s::dense")] == [f"s/dense/{id_}"]


def test_a_run_with_a_count_beyond_64_bits_is_no_run_of_ours(ran: Ran, base: Path) -> None:
    """[X5] SQLite holds no such number, and the history of all other runs is to be made."""
    ran(1)
    odd = ran(2)
    file = odd / "results.json"
    plain = json.loads(file.read_text("utf-8"))
    plain["counts"]["samples"] = 2**63
    file.write_text(json.dumps(plain), "utf-8")
    (base / DATABASE).unlink(missing_ok=True)
    points, remarks = all_runs(base)
    assert (len(points), remarks) == (1, [])


def test_a_history_with_a_text_that_is_none_is_damaged(ran: Ran, base: Path) -> None:
    """[X7] It is made again."""
    run = ran(1)
    point = read_point(base, run.relative_to(base).as_posix())
    assert point is not None
    record(base, point)
    file = base / DATABASE
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE runs", b"CREATE TABLE \xff\xfens"))
    points, remarks = all_runs(base)
    assert len(points) == 1
    assert "was damaged" in remarks[0]
