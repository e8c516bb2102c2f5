"""[E17] Which shards count, which are missing, and which do not go together."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_rows import INFO, write_shard

from pytest_rageval.model import Baseline, MetricColumn
from pytest_rageval.shards.merge import Merged, check_commits, find_shards, merged, sum_usage
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import ShardError


def merge(*paths: Path) -> Merged:
    shards = find_shards(paths)
    check_commits(shards)
    (found,) = merged(shards)
    return found


def refusal(*paths: Path) -> str:
    with pytest.raises(ShardError) as caught:
        list(merge(*paths).rows())
    return str(caught.value)


def indexes(found: Merged) -> list[int]:
    return sorted(row.result.index for _, row in found.rows())


@st.composite
def partitions(draw: st.DrawFn) -> list[Part]:
    """Draw parts that make up a whole: any part may be split again into as many of its own."""
    parts = [Part(1, 1)]
    for _ in range(draw(st.integers(0, 3))):
        part = parts.pop(draw(st.integers(0, len(parts) - 1)))
        by = draw(st.integers(2, 3))
        parts += [Part(part.index + at * part.of, part.of * by) for at in range(by)]
    return draw(st.permutations(parts))


@settings(deadline=None)
@given(partitions())
def test_any_partition_in_any_order_is_the_whole(tmp_path_factory: Any, parts: list[Part]) -> None:
    """Also shards of several divisions: 1/2, 2/4 and 4/4."""
    folder = tmp_path_factory.mktemp("shards")
    paths = [write_shard(folder / str(at), str(part)) for at, part in enumerate(parts)]
    found = merge(*paths)
    assert (indexes(found), found.missing, found.remarks) == ([*range(10)], (), ())


@settings(deadline=None)
@given(partitions().filter(lambda parts: len(parts) > 1))
def test_any_partition_with_a_shard_too_few_says_so(
    tmp_path_factory: Any, parts: list[Part]
) -> None:
    """By some division; unless it had no cases at all: of ten, 11/12 has none."""
    folder = tmp_path_factory.mktemp("shards")
    paths = [write_shard(folder / str(at), str(part)) for at, part in enumerate(parts[1:])]
    found = merge(*paths)
    gone = parts[0]
    is_empty = not any(gone.takes(at) for at in range(10))
    assert found.missing or is_empty


def test_a_missing_shard_of_one_division_is_named_even_if_it_is_empty(tmp_path: Path) -> None:
    """It may have had something to say: a file that cannot be read."""
    paths = [write_shard(tmp_path / str(at), f"{at}/12") for at in range(1, 12)]
    assert merge(*paths).missing == ("shard 12/12 is missing",)


def test_what_is_cut_off_or_unfinished_is_missing(tmp_path: Path) -> None:
    cut = write_shard(tmp_path / "1", "1/3")
    cut.write_bytes(cut.read_bytes()[:-3])
    short = write_shard(tmp_path / "2", "2/3", [1, 4])
    found = merge(cut, short)
    assert found.missing == (
        f"shard 1/3 is cut off ({cut})",
        "shard 2/3 is unfinished, 2 of 3 ran",
        "shard 3/3 is missing",
    )
    assert indexes(found) == [1, 4]


def test_the_later_of_one_part_counts(tmp_path: Path) -> None:
    """Even an unfinished one: an older one may be of another state of the system."""
    old = write_shard(tmp_path / "b", "1/2")
    new = write_shard(tmp_path / "a", "1/2", [0], head={"started_at": "2026-11-23T11:00:00+00:00"})
    other = write_shard(tmp_path / "c", "2/2")
    found = merge(old, new, other)
    assert found.remarks == (f"shard 1/2: {new} counts, not {old}",)
    assert found.missing[0] == "shard 1/2 is unfinished, 1 of 5 ran"


@pytest.mark.parametrize(
    ("old", "new", "is_red"),
    [
        ({}, {}, True),
        ({"end": {"status": 1}}, {}, False),  # a reason to run it again
        ({"positions": [0]}, {}, False),
        ({"head": {"ci_run": "7"}}, {"ci_run": "7"}, False),  # repeated, not another run
    ],
)
def test_one_of_an_earlier_run_takes_no_missing_shards_place(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], is_red: bool
) -> None:
    """Where all copies are in one folder, and the other shards ran again though they were green."""
    first = [write_shard(tmp_path / f"1-{at}", f"{at}/3", **old) for at in (1, 3)]
    left = write_shard(tmp_path / "1-2", "2/3")
    head = {"started_at": "2026-11-24T09:00:00+00:00", **new}
    again = [write_shard(tmp_path / f"2-{at}", f"{at}/3", head=head) for at in (1, 3)]
    said = (
        "shard 2/3 is of 2026-11-23T09:00:00+00:00, before shard 1/3 ran again: did its job start? "
        f"Run it again, or merge from an empty folder; if they are of one run, delete {first[0]}"
    )
    assert merge(*first, left, *again).missing == ((said,) if is_red else ())
    both = write_shard(tmp_path / "2-2", "2/3", head=head)
    assert merge(*first, left, *again, both).missing == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "is_red"),
    [
        ("1 2 3", "1 2", True),  # the third run has none
        ("1 2- 2.5", "1", True),  # red in between, and again
        ("1 2", "1- 1.2", True),  # as many copies, all of the first run
        ("1 25.5", "1- 25", False),  # red yesterday; it begins a little before the others
        ("1 2 3", "1.5 2.5 2.9", False),
        ("1 2 3", "1 3.5", False),  # one of its jobs did not start, and today's did
        ("22 46", "22- 38", True),  # a night's red one, by day again
        ("1 2", "1.9:2.1", True),  # the first run's may have waited for its runner
        ("1 2", "1:2.1", True),  # the first run's still runs
    ],
)
def test_all_copies_tell_whether_a_shard_is_of_an_earlier_run(
    tmp_path: Path, ours: str, theirs: str, is_red: bool
) -> None:
    """Starts in hours, some with an end; "-": red."""
    paths: list[Path] = []
    for part, starts in (("1/2", ours), ("2/2", theirs)):
        for start in starts.split():
            hours = [float(hour) for hour in start.rstrip("-").split(":")]
            began, ended = (
                (datetime(2026, 11, 24, tzinfo=UTC) + timedelta(hours=hour)).isoformat()
                for hour in (hours[0], hours[-1])
            )
            end = {"status": int(start.endswith("-")), "finished_at": ended}
            place = tmp_path / str(len(paths))
            paths.append(write_shard(place, part, head={"started_at": began}, end=end))
    assert bool(merge(*paths).missing) is is_red


def test_a_shard_that_ran_again_for_another_scenario_is_of_one_run(tmp_path: Path) -> None:
    other = replace(INFO, name="b", path="b.rageval.yaml", nodeid="b.rageval.yaml")
    paths: list[Path] = []
    for part, hour, status in (("1/2", 9, 1), ("2/2", 10, 0), ("1/2", 11, 0)):
        head = {"started_at": f"2026-11-23T{hour:02}:00:00+00:00"}
        for info, code in ((INFO, status), (other, 0)):
            place = tmp_path / str(len(paths))
            paths.append(write_shard(place, part, info=info, head=head, end={"status": code}))
    assert [one.missing for one in merged(find_shards(paths))] == [(), ()]


def test_one_that_was_cut_off_counts_if_it_began_later(tmp_path: Path) -> None:
    old = write_shard(tmp_path / "old", "1/1")
    new = write_shard(tmp_path / "new", "1/1", head={"started_at": "2026-11-23T11:00:00+00:00"})
    new.write_bytes(new.read_bytes()[:-1])
    assert merge(old, new).missing == (f"shard 1/1 is cut off ({new})",)


@pytest.mark.parametrize(("one", "two"), [("1/2", "1/4"), ("1/1", "3/3"), ("2/3", "2/6")])
def test_one_sample_in_two_shards_is_refused(tmp_path: Path, one: str, two: str) -> None:
    first, second = write_shard(tmp_path / "a", one), write_shard(tmp_path / "b", two)
    said = refusal(first, second)
    assert "merge shards of one run only" in said
    assert str(first) in said
    assert str(second) in said


def test_one_case_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    assert ", and so has shard 1/2, " in refusal(write_shard(tmp_path, "1/2", [0, 2, 4, 6, 6]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"snapshot": "name: qa\nmetrics: [em]\n"}, "another scenario, or other options"),
        ({"dataset_sha256": "ab", "total": 11}, "other data than"),
        (
            {"metrics": (MetricColumn("em", 2.0), MetricColumn("f1"))},
            "other definitions of the metrics",
        ),
        ({"total": 11}, "another number of rows"),
        ({"selected": 9}, "another selection of cases"),
        ({"baselines": {"main": Baseline("main", ["q1"], {})}}, "another saved run"),
        ({"hooks": ("pytest_rageval_gates of x",)}, "other hooks"),
        ({"thresholds": {}, "bands": (0.9, 0.5)}, "another bands than"),
    ],
)
def test_another_run_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    one = write_shard(tmp_path / "a", "1/2")
    two = write_shard(tmp_path / "b", "2/2", info=replace(INFO, **change))
    found = refusal(one, two)
    assert said in found
    assert "b/shard.jsonl" in found
    assert "a/shard.jsonl" in found


def test_what_differs_between_machines_alone_is_no_other_run(tmp_path: Path) -> None:
    """Nor is NaN another value than NaN."""
    info = replace(INFO, metadata={"x": float("nan")})
    one = write_shard(tmp_path / "a", "1/2", info=info)
    two = write_shard(tmp_path / "b", "2/2", info=replace(info, warnings=("slow disk",)))
    assert merge(one, two).missing == ()


def test_another_version_is_refused(tmp_path: Path) -> None:
    one = write_shard(tmp_path / "a", "1/2")
    assert "version 2 of pytest-rageval wrote it, and version 1" in refusal(
        one, write_shard(tmp_path / "b", "2/2", head={"version": "2"})
    )


@pytest.mark.parametrize(("name", "what"), [("commit", "commit"), ("ci_run", "CI run")])
def test_another_commit_or_ci_run_is_refused(tmp_path: Path, name: str, what: str) -> None:
    """One that names none may be of any."""
    one = write_shard(tmp_path / "a", "1/3", head={name: "aaaaaaa"})
    two = write_shard(tmp_path / "b", "2/3")
    three = write_shard(tmp_path / "c", "3/3", head={name: "bbbbbbb"})
    assert merge(one, two).missing == ("shard 3/3 is missing",)
    said = refusal(one, two, three)
    assert f"of {what} bbbbbbb, and {one} of aaaaaaa" in said
    assert "--rag-merge-commits" in said


def test_a_scenario_of_which_nothing_is_here_is_refused(tmp_path: Path) -> None:
    both = ("other.rageval.yaml", INFO.nodeid)
    said = refusal(write_shard(tmp_path, "1/1", head={"scenarios": both}))
    assert "the same run had the scenario other.rageval.yaml, and no shard of it is here" in said


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path) -> None:
    other = replace(INFO, path="b.rageval.yaml", nodeid="b.rageval.yaml")
    one, two = write_shard(tmp_path / "a", "1/1"), write_shard(tmp_path / "b", "1/1", info=other)
    said = refusal(one, two)
    assert "another scenario of the name 'qa' (b.rageval.yaml)" in said


def test_a_link_to_a_shard_is_the_same_shard(tmp_path: Path) -> None:
    """As ``latest`` is, and a folder that is named twice."""
    write_shard(tmp_path / "runs" / "20261123T093011-123456", "1/1")
    (tmp_path / "runs" / "latest").symlink_to("20261123T093011-123456")
    found = merge(tmp_path, tmp_path / "runs" / "latest", tmp_path / "runs")
    assert (len(found.shards), found.remarks) == (1, ())


class TestFinding:
    def test_no_such_folder(self, tmp_path: Path) -> None:
        assert refusal(tmp_path / "x") == f"{tmp_path / 'x'}: no such folder"

    def test_a_folder_without_shards(self, tmp_path: Path) -> None:
        """A folder of that name is none, nor is a packed file."""
        (tmp_path / "shard.jsonl").mkdir()
        (tmp_path / "shard.jsonl.gz").write_bytes(b"\x1f\x8b")
        assert "no shard.jsonl in it. A run with --rag-shard=I/N writes one" in refusal(tmp_path)

    def test_a_folder_called_as_a_shard_is_searched(self, tmp_path: Path) -> None:
        write_shard(tmp_path / "shard.jsonl", "1/1")
        assert len(merge(tmp_path).shards) == 1

    @pytest.mark.skipif(os.name != "posix", reason="has no such files")
    def test_what_is_no_regular_file(self, tmp_path: Path) -> None:
        """It may stand for a shard, and a pipe would never end."""
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "shard.jsonl").symlink_to("shard.jsonl")
        assert "a/shard.jsonl: is no regular file" in refusal(tmp_path)
        (tmp_path / "a" / "shard.jsonl").unlink()
        os.mkfifo(tmp_path / "a" / "shard.jsonl")
        assert "a/shard.jsonl: is no regular file" in refusal(tmp_path)

    @pytest.mark.skipif(os.name != "posix", reason="links need rights there")
    def test_a_folder_that_is_a_link_is_searched(self, tmp_path: Path) -> None:
        """Once, even if it leads back to where it is."""
        write_shard(tmp_path / "elsewhere", "1/1")
        (tmp_path / "shards" / "deep").mkdir(parents=True)
        (tmp_path / "shards" / "deep" / "one").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "shards" / "deep" / "back").symlink_to(tmp_path / "shards")
        found = merge(tmp_path / "shards")
        assert (len(found.shards), found.missing, found.remarks) == (1, (), ())

    def test_a_packed_file(self, tmp_path: Path) -> None:
        (tmp_path / "shard.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
        assert "is not the file of a shard" in refusal(tmp_path / "shard.jsonl.gz")

    def test_a_folder_or_file_that_may_not_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It may hide a shard. Root may read all, so that the system's refusal is played."""
        path = write_shard(tmp_path / "open", "1/1")
        (tmp_path / "shut").mkdir()
        scan, opened = os.scandir, Path.open

        def refuse(where: Any, *args: Any) -> Any:
            if str(where).endswith(("shut", *refused)):
                raise PermissionError(13, "Permission denied", str(where))
            return opened(where, *args) if args else scan(where)

        refused: list[str] = []
        monkeypatch.setattr(os, "scandir", refuse)
        assert refusal(tmp_path) == f"{tmp_path / 'shut'}: Permission denied"
        (tmp_path / "shut").rmdir()
        refused.append("shard.jsonl")
        monkeypatch.setattr(Path, "open", refuse)
        assert refusal(tmp_path) == f"{path}: Permission denied"


def test_usage_is_summed_and_unknown_where_a_part_is_unknown() -> None:
    assert sum_usage([None, None]) is None
    assert sum_usage([{"calls": 1.0, "cost_usd": None}, None, {"calls": 2.0, "cost_usd": 0.5}]) == {
        "calls": 3.0,
        "cost_usd": None,
    }
    none_has_a_price = {"calls": 1, "cost_usd": None, "unpriced": 1}
    all_have_one = {"calls": 2, "cost_usd": 0.5, "unpriced": 0}
    both = {"calls": 3, "cost_usd": 0.5, "unpriced": 1}
    assert sum_usage([none_has_a_price, all_have_one]) == both
    assert sum_usage([none_has_a_price, none_has_a_price])["cost_usd"] is None


def test_as_many_cases_and_others_are_refused(tmp_path: Path) -> None:
    one = write_shard(tmp_path / "a", "1/2", head={"selection": "ab"})
    two = write_shard(tmp_path / "b", "2/2", head={"selection": "cd"})
    assert "another selection of cases" in refusal(one, two)


def test_an_older_attempt_of_the_same_run_of_ci_is_told(tmp_path: Path) -> None:
    """Its job did not run again, or what it wrote the second time was lost."""
    one = write_shard(tmp_path / "a", "1/3", head={"ci_run": "7", "attempt": 2})
    two = write_shard(tmp_path / "b", "2/3", head={"ci_run": "7", "attempt": 1})
    three = write_shard(tmp_path / "c", "3/3")
    found = merge(one, two, three)
    assert found.missing == ()
    assert found.remarks == (
        "shard 2/3 is of attempt 1 of the CI run, and others of 2: if it ran again, what it wrote "
        "is not here",
    )


def test_of_two_attempts_of_a_run_of_ci_the_second_counts_whatever_the_clocks_say(
    tmp_path: Path,
) -> None:
    first = {"ci_run": "7", "attempt": 1, "started_at": "2026-11-23T09:05:00+00:00"}
    one = write_shard(tmp_path / "a", "1/1", head=first)
    two = write_shard(tmp_path / "b", "1/1", head={"ci_run": "7", "attempt": 2})
    found = merge(one, two)
    assert [shard.path for shard in found.shards] == [two]
    assert found.remarks == (f"shard 1/1: {two} counts, not {one}",)


@pytest.mark.parametrize("damaged", ["yesterday", "2026-11-23T09:00:00"])
def test_a_time_that_is_none_is_damage(tmp_path: Path, damaged: str) -> None:
    path = write_shard(tmp_path / "1", "1/1", head={"started_at": damaged})
    assert "its first line is damaged" in refusal(path)
    path = write_shard(tmp_path / "2", "1/1", end={"finished_at": damaged})
    assert "its last line is damaged" in refusal(path)
