"""Runs are written to folders, and old ones removed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.base import remove_leftovers
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.write_run import (
    _point_page,
    ci_attempt,
    ci_commit,
    remove_old_runs,
    write_run,
)

DAYS_AGO = time.time() - 2 * 24 * 3600
HEX = "0123456789abcdef"


def old(path: Path) -> Path:
    path.write_text("x", encoding="utf-8")
    os.utime(path, (DAYS_AGO, DAYS_AGO))
    return path


def test_temporary_files_of_killed_runs_go_after_a_day(tmp_path: Path) -> None:
    """[R9] And nothing else does."""
    ours = [old(tmp_path / f".results.json.{HEX}"), old(tmp_path / f".latest.{HEX}")]
    link = tmp_path / ".latest-20260101T000000-000001"
    link.symlink_to("gone")
    os.utime(link, (DAYS_AGO, DAYS_AGO), follow_symlinks=False)
    young = tmp_path / f".results.json.{HEX[::-1]}"
    young.write_text("x", encoding="utf-8")
    others = [old(tmp_path / name) for name in (".gitignore", f"x.{HEX}", f".x.{HEX}0", ".env.abc")]
    remove_leftovers(tmp_path)
    assert not any(path.exists() for path in ours)
    assert not link.is_symlink()
    assert young.exists()
    assert all(path.exists() for path in others)


def test_in_a_folder_of_others_only_those_of_the_file_go(tmp_path: Path) -> None:
    """[R9] ``--rag-save ./main.json`` and ``--rag-save-answers`` write into any folder."""
    ours, other = old(tmp_path / f".main.json.{HEX}"), old(tmp_path / f".cache.{HEX}")
    remove_leftovers(tmp_path, "main.json")
    assert not ours.exists()
    assert other.exists()
    remove_leftovers(tmp_path / "none")


def test_a_page_is_copied_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[U2] As ``latest`` is a text file there; the next one takes its place."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    for run in ("1", "2"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "report.html").write_bytes(f"<p>页 {run}\r\n</p>\n".encode())
        _point_page(tmp_path, run)
        assert (tmp_path / "report.html").read_bytes() == f"<p>页 {run}\r\n</p>\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "report.html"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"GITHUB_SHA": "C0FFEE" + "0" * 34}, "c0ffee" + "0" * 34),
        ({"CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "", "CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "main; rm -rf"}, None),
        ({"GIT_COMMIT": "7654321"}, "7654321"),
        ({"MY_COMMIT": "1234567"}, None),
    ],
)
def test_the_commit_is_what_the_service_names(
    environ: dict[str, str], expected: str | None
) -> None:
    """E15."""
    assert ci_commit(environ) == expected


@pytest.mark.parametrize(("said", "expected"), [("2", 2), ("", 0), ("x", 0), ("²", 0)])
def test_the_attempt_is_what_github_counts(said: str, expected: int) -> None:
    assert ci_attempt({"GITHUB_RUN_ATTEMPT": said}) == expected
    assert ci_attempt({}) == 0


Ran = Callable[..., Path]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def ran(result: Callable[..., ScenarioResult], base: Path, tmp_path: Path) -> Ran:
    """Return a function that writes the run of a day."""

    def make(day: int, name: str = "s", variant: str = "") -> Path:
        made = decide_gates(result([SampleResult("a", 0, scores={"f1": 1.0})]), Extent(2, 1, 1))
        made = replace(made, info=replace(made.info, name=name, variant=variant))
        started = f"2026-11-{day:02}T12:00:00.000001+00:00"
        run = RunInfo(f"202611{day:02}T120000-000001", started, started, "0.1.0")
        return write_run(made, run, tmp_path, base)

    return make


def listed(base: Path) -> list[str]:
    """Return the folders that the trend has."""
    return [point.folder for point in trend_of(base, "s")]


def test_the_newest_stay(ran: Ran, base: Path) -> None:
    """[E22] Of five partial runs the last two; the trend has no others, and one line says so."""
    folders = [ran(day) for day in range(1, 6)]
    said = list(remove_old_runs(folders[-1], "s", 2))
    assert said == ["keep 2: 3 older runs removed: 20261101T120000-000001 to " + folders[2].name]
    assert [folder.is_dir() for folder in folders] == [False, False, False, True, True]
    assert listed(base) == [f"s/{folder.name}" for folder in folders[3:]]
    assert list(remove_old_runs(folders[-1], "s", 2)) == []


def test_only_runs_of_this_scenario_are_removed(ran: Ran, base: Path) -> None:
    """[E22] Neither another's, nor a variant's, saved runs, labels or files of the user."""
    old = ran(1)
    others = [ran(1, "s2"), ran(1, "s", "dense"), ran(2, "s", "dense")]
    for name in ("baselines", "labels", "20261101T120000", "20261101T120000-000009x"):
        (base / "s" / name).mkdir()
        shutil.copy(old / "results.json", base / "s" / name / "results.json")
    (base / "s" / "20261101T110000-000001").mkdir()
    kept = [*others, *(path for path in (base / "s").iterdir() if path.is_dir() and path != old)]
    kept = [path for path in kept if not path.is_symlink()]
    new = ran(3)
    list(remove_old_runs(new, "s", 1))
    assert not old.exists()
    assert all(path.is_dir() for path in [*kept, new])
    list(remove_old_runs(others[2], "s::dense", 1))
    assert [path.is_dir() for path in others] == [True, False, True]


def test_what_is_not_ours_stays(ran: Ran, base: Path) -> None:
    """[E22] A damaged or foreign results.json, and one whose file is a link."""
    damaged, foreign, linked, last = (ran(day) for day in range(1, 5))
    (damaged / "results.json").write_text("{")
    (foreign / "results.json").write_text('{"accuracy": 1}')
    (linked / "results.json").rename(linked / "own.json")
    (linked / "results.json").symlink_to("own.json")
    assert list(remove_old_runs(last, "s", 1)) == []
    assert all(one.is_dir() for one in (damaged, foreign, linked))


def test_a_run_with_a_file_of_the_users_stays_and_is_named(ran: Ran, base: Path) -> None:
    """[E22] Notes, labels, answers, a saved run; what a killed run leaves behind goes."""
    old = [ran(day) for day in range(1, 8)]
    for folder, name in zip(
        old[:4], ("notes.txt", "labels.csv", "mine.json", "b.jsonl"), strict=True
    ):
        (folder / name).touch()
    (old[4] / "summary.md").unlink()
    (old[4] / "summary.md").symlink_to("../../../wiki.md")
    (old[5] / ".results.json.0123456789abcdef").touch()
    new = ran(9)
    removed, stay = remove_old_runs(new, "s", 1)
    assert removed == f"keep 1: 2 older runs removed: {old[5].name} to {old[6].name}"
    assert stay == (
        "keep 1: 5 older runs not removed, for files that no run writes: "
        f"{old[0].name}/notes.txt, {old[1].name}/labels.csv, {old[2].name}/mine.json and 2 more"
    )
    assert [one.is_dir() for one in old] == [True] * 5 + [False] * 2
    assert f"s/{old[0].name}" in listed(base)


def test_runs_of_another_file_with_the_same_name_stay(ran: Ran) -> None:
    """[E22] They are not counted, either: two copies of a scenario share a folder."""
    ours, others = ran(1), [ran(day) for day in (2, 3)]
    for one in others:
        text = (one / "results.json").read_text("utf-8")
        assert text.count('"path": "s.yaml"') == 1
        (one / "results.json").write_text(text.replace('"s.yaml"', '"sub/s.yaml"'), "utf-8")
    new = ran(4)
    assert list(remove_old_runs(new, "s", 2)) == []
    list(remove_old_runs(new, "s", 1))
    assert [one.is_dir() for one in (ours, *others, new)] == [False, True, True, True]


def test_a_run_that_a_scenario_names_stays(ran: Ran) -> None:
    """[E22] As its data set, its labels, or the baseline of another scenario."""
    named, other, new = (ran(day) for day in (1, 2, 3))
    texts = ["dataset: qa.jsonl", f"baseline: .rageval/s/{named.name}/results.json"]
    list(remove_old_runs(new, "s", 1, texts=texts))
    assert [one.is_dir() for one in (named, other)] == [True, False]


def test_what_a_link_leads_to_stays(ran: Ran, base: Path, tmp_path: Path) -> None:
    """[E22] Also by a text in place of the link, and by a link above; a linked run is no run."""
    folders = [ran(day) for day in range(1, 7)]
    (base / "s" / "report.html").symlink_to(f"{folders[0].name}/report.html")
    (base / "best").symlink_to(f"s/{folders[1].name}")
    (base / "s" / "loop").symlink_to("loop")
    (base / "s" / "latest").unlink()
    (base / "s" / "latest").write_text(f"{folders[2].name}\n")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folders[0], elsewhere)
    (base / "s" / "20261031T120000-000001").symlink_to(elsewhere, target_is_directory=True)
    said = list(remove_old_runs(folders[5], "s", 1, spared=[folders[3] / "results.json"]))
    assert said[:3] == [
        f"keep 1: {folders[0].name} stays: report.html leads to it",
        f"keep 1: {folders[1].name} stays: best leads to it",
        f"keep 1: {folders[2].name} stays: latest leads to it",
    ]
    assert [folder.is_dir() for folder in folders] == [True, True, True, True, False, True]
    assert (elsewhere / "results.json").is_file()


def test_this_run_stays_whatever_the_clock_says(ran: Ran) -> None:
    """[E22] Its clock was set back; two runs of one session, which share the name, both stay."""
    late, early = ran(5), ran(1)
    list(remove_old_runs(early, "s", 1))
    assert early.is_dir()
    assert not late.is_dir()
    twin = ran(1)
    assert twin.name == f"{early.name}-2"
    assert list(remove_old_runs(twin, "s", 1)) == []
    assert early.is_dir()


@pytest.mark.parametrize(("variant", "place"), [("", "s"), ("x", "s"), ("x", "s/x"), ("", ".")])
def test_runs_that_a_link_leads_to_are_left_alone(
    ran: Ran, base: Path, variant: str, place: str
) -> None:
    """[E22] The link may be above the folder of a variant's runs, or that of all runs."""
    old, new = ran(1, "s", variant), ran(2, "s", variant)
    (base / place).rename(base.parent / "moved")
    (base / place).symlink_to(base.parent / "moved", target_is_directory=True)
    (said,) = remove_old_runs(new, "s::x" if variant else "s", 1)
    assert said.endswith(f"nothing removed: {base / place} is a link")
    assert old.is_dir()


def test_what_cannot_be_removed_is_said(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """[E22] It ends nothing, and the trend still has it."""
    old, new = ran(1), ran(2)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    (said,) = remove_old_runs(new, "s", 1)
    assert said.startswith("keep 1: not all older runs removed: ")
    assert old.name in said
    assert len(trend_of(new.parents[1], "s")) == 2
