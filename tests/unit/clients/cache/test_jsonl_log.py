"""Files of lines that several writers keep for each other: what a reader may come upon."""

from __future__ import annotations

import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rageval.clients.jsonl_log import JsonlLog

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64


def line(sha256: str, value: int) -> str:
    return f'{{"sha256": "{sha256}", "value": {value}}}\n'


def value(segments: JsonlLog, sha256: str = ONE) -> int | None:
    found = segments.find(sha256)
    return None if found is None else found["value"]


def open_segments(folder: Path, name: str = "9-run-me", peers: str = "-run-") -> JsonlLog:
    return JsonlLog(folder, "k", name, peers, only_peers=False)


def test_the_newest_file_counts_in_whatever_order_they_are_found(tmp_path: Path) -> None:
    names = list(range(100, 140))
    random.Random(3).shuffle(names)
    for name in names:
        (tmp_path / f"{name}.k.jsonl").write_text(line(ONE, name))
    assert value(open_segments(tmp_path)) == 139


def test_a_line_is_taken_when_its_end_has_come(tmp_path: Path) -> None:
    """A reader may look while another process is in the middle of writing."""
    segments, peer = open_segments(tmp_path), tmp_path / "1-run-x.k.jsonl"
    whole = line(ONE, 1) + line(TWO, 2)
    peer.write_text(whole[:30])
    assert value(segments) is None
    peer.write_text(whole[:-10])
    assert (value(segments), value(segments, TWO)) == (1, None)
    peer.write_text(whole)
    assert value(segments, TWO) == 2


def test_a_file_made_within_the_resolution_of_the_clock_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of peers, and a folder whose time does not tell that there is a second one.

    Whatever that time is: the machine's may be set. Once it is known for long, none is looked for.
    """
    clock = [5]
    stands = SimpleNamespace(monotonic_ns=lambda: clock[0])
    monkeypatch.setattr("pytest_rageval.clients.jsonl_log.time", stands)
    segments = open_segments(tmp_path)

    def add(peer: str, sha256: str, number: int) -> None:
        (tmp_path / f"1-run-{peer}.k.jsonl").write_text(line(sha256, number))
        os.utime(tmp_path, ns=(10**18, 10**18))

    add("x", ONE, 1)
    assert (value(segments), value(segments, TWO)) == (1, None)
    add("y", TWO, 2)
    assert value(segments, TWO) == 2
    clock[0] += 200_000_000
    assert value(segments, THREE) is None
    add("z", THREE, 3)
    assert value(segments, THREE) is None


def test_files_of_other_runs_are_read_once_at_the_beginning(tmp_path: Path) -> None:
    other = tmp_path / "1-other-x.k.jsonl"
    other.write_text(line(ONE, 1))
    segments = open_segments(tmp_path)
    assert value(segments) == 1
    other.write_text(line(ONE, 1) + line(TWO, 2))
    assert value(segments, TWO) is None


def test_a_file_that_was_changed_meanwhile_gives_no_wrong_line(tmp_path: Path) -> None:
    file = tmp_path / "1.k.jsonl"
    file.write_text(line(ONE, 1))
    segments = open_segments(tmp_path)
    assert value(segments) == 1
    file.write_text(line(TWO, 2))
    assert value(segments) is None


def test_a_folder_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert value(open_segments(tmp_path / "absent")) is None
