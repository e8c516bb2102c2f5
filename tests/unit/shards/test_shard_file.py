"""[E17] The file of a shard: any text comes back, and what is cut off is never taken for whole."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shard_rows import INFO, write_shard
from sharded import changed

from pytest_rageval.model import SampleResult
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import (
    CaseRow,
    End,
    Head,
    ShardError,
    case_rows,
    read_shard,
    shard_lines,
)

ROWS = tomllib.loads(Path(__file__).with_name("shard_file.toml").read_text("utf-8"))

TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["\ud800", "\x00", "\u2028\n"]
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RESULTS = st.builds(
    SampleResult,
    TEXTS,
    st.integers(0, 99),
    st.sampled_from(["passed", "failed", "error", "skipped", "xfailed"]),
    sample_weight=st.floats(0, 9),
    weighted_score=st.none() | st.floats(0, 1),
    question=st.none() | TEXTS,
    contexts=st.none() | st.lists(TEXTS, max_size=3),
    metadata=st.dictionaries(TEXTS, PLAIN, max_size=3),
    scores=st.fixed_dictionaries(
        {column.name: st.none() | st.floats(0, 1) for column in INFO.metrics}
    ),
    xfail=st.none() | TEXTS,
)
REPORTS = st.dictionaries(TEXTS, PLAIN, max_size=3)
AT = "2026-11-23T09:00:00+00:00"
HEAD = Head(Part(2, 3), "0.1.0", "c0ffee1", "77", 2, AT, True, ("qa.rageval.yaml",), "ab", INFO)


@pytest.mark.full
@given(
    st.lists(
        st.builds(CaseRow, TEXTS, RESULTS, st.lists(REPORTS, max_size=2).map(tuple)),
        max_size=5,
    ),
    TEXTS,
)
def test_all_comes_back(tmp_path_factory: Any, rows: list[CaseRow], text: str) -> None:
    """Lone surrogates and line separators too."""
    path = tmp_path_factory.mktemp("shard") / "shard.jsonl"
    named = [replace(one, nodeid=INFO.nodeid + one.nodeid) for one in rows]
    named += rows  # of a test function with other parameters
    reports = ({"nodeid": text, "when": "teardown", "longrepr": [text, 1, None]},)
    end = End(AT, len(named), len(named), (text,), reports, 2, 2, {"calls": 1.0, "cost_usd": None})
    path.write_text("".join(shard_lines(HEAD, named, end)), "utf-8")
    shard = read_shard(path)
    assert (shard.head, shard.end) == (HEAD, end)
    assert list(case_rows(shard)) == named


@pytest.mark.full
def test_a_file_cut_at_any_byte_is_not_whole(tmp_path: Path) -> None:
    """Either its head is damaged, or it has no end."""
    path = write_shard(tmp_path, "1/5")
    content = path.read_bytes()
    head = content.index(b"\n") + 1
    for at in [*range(0, head, 97), *range(head - 2, len(content))]:
        path.write_bytes(content[:at])
        if at < head - 1:
            with pytest.raises(ShardError, match="is not the file of a shard, or its first line"):
                read_shard(path)
        else:
            assert read_shard(path).end is None


def test_lines_that_are_gone_from_the_middle_are_missed(tmp_path: Path) -> None:
    path = write_shard(tmp_path, "1/2")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], *lines[3:]]))
    with pytest.raises(ShardError, match="expected 5 cases, as its end says, found 4"):
        list(case_rows(read_shard(path)))


@pytest.mark.parametrize(
    "line", ["[", "null", "3", '["x"]', "{}", '{"nodeid": "x", "result": []}', '{"nodeid": "x"}']
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = write_shard(tmp_path, "1/2")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    with pytest.raises(ShardError, match=r"shard.jsonl:3: the line is damaged"):
        list(case_rows(read_shard(path)))


@pytest.mark.parametrize("scores", ["lost", "of another metric"])
def test_a_case_without_the_score_of_a_metric_is_damaged(tmp_path: Path, scores: str) -> None:
    """Else the gate would be passed by the others. A score that is None is there."""
    path = write_shard(tmp_path, "1/2")
    lines = path.read_text().splitlines()
    row = json.loads(lines[2])
    del row["result"]["scores"]
    if scores != "lost":
        row["result"]["scores"] = {"other": 1.0}
    path.write_text("\n".join([*lines[:2], json.dumps(row), *lines[3:]]) + "\n")
    with pytest.raises(ShardError, match=r"shard.jsonl:3: the line is damaged"):
        list(case_rows(read_shard(path)))


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{}\n", b"[]\n", b"\xff\xfe", b"\x1f\x8b\x08\x00gzip", b"null\n"]
)
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "shard.jsonl"
    path.write_bytes(content)
    with pytest.raises(ShardError, match="is not the file of a shard"):
        read_shard(path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = write_shard(tmp_path, "1/2")
    path.write_text(path.read_text().replace('"schema":3', '"schema":2', 1))
    with pytest.raises(ShardError, match="is of schema 2.*expected schema 3. Use one version"):
        read_shard(path)


def test_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = write_shard(tmp_path, "1/2")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(list(case_rows(read_shard(path)))) == 5


def test_a_long_last_line_is_read_whole(tmp_path: Path) -> None:
    """Longer than the block that is read at a time."""
    names = tuple(f"case {at}" for at in range(20_000))
    shard = read_shard(write_shard(tmp_path, "1/2", end={"lost": names}))
    assert shard.end is not None
    assert shard.end.lost == names


class TestWhatParsesAndIsDamaged:
    """One message, no traceback: exit status 4, and never a figure from it."""

    @pytest.mark.parametrize(
        ("at", "values"),
        [
            (0, {"started_at": 5}),
            (0, {"attempt": "2"}),
            (0, {"scenarios": [None]}),
            (0, {"selection": None}),
            (0, {"info": None}),
            (-1, {"rows": None}),
            (-1, {"finished_at": 0}),
            (-1, {"reports": [["a", "call", None]]}),
            (-1, {"usage": {"calls": "x"}}),
            (-1, {"rows": True}),
        ],
    )
    def test_in_the_first_or_last_line(
        self, tmp_path: Path, at: int, values: dict[str, Any]
    ) -> None:
        path = write_shard(tmp_path, "1/2")
        changed(path, at, **values)
        with pytest.raises(ShardError, match="line is damaged"):
            read_shard(path)

    @pytest.mark.parametrize(
        ("old", "new"),
        ROWS["in_a_case"],
    )
    def test_in_a_case(self, tmp_path: Path, old: str, new: str) -> None:
        path = write_shard(tmp_path, "1/2")
        head, first, second, *others = path.read_text().splitlines()
        assert old in second
        path.write_text("\n".join([head, first, second.replace(old, new, 1), *others]) + "\n")
        with pytest.raises(ShardError, match=r"shard.jsonl:3: the line is damaged"):
            list(case_rows(read_shard(path)))

    def test_brackets_without_end(self, tmp_path: Path) -> None:
        path = write_shard(tmp_path, "1/2")
        head, _, *others = path.read_text().splitlines()
        path.write_text("\n".join([head, "[" * 200_000, *others]) + "\n")
        with pytest.raises(ShardError, match=r"shard.jsonl:2: the line is damaged"):
            list(case_rows(read_shard(path)))
        path.write_text("[" * 200_000 + "\n")
        with pytest.raises(ShardError, match="is not the file of a shard"):
            read_shard(path)
