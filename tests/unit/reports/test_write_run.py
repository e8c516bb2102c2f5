"""What later runs find of earlier ones: leftovers, and a ``latest`` that is no link."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pytest_rageval.reports.base import remove_leftovers
from pytest_rageval.reports.write_run import _point_page

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
