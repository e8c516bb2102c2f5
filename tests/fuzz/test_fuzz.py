"""E12: what nobody should write is answered in the user's words; a small part of ``tests.fuzz``."""

from __future__ import annotations

import json
import time
from pathlib import Path

import fuzz_feed
import pytest
from fuzz_cases import KINDS, Case, make_case
from fuzz_feed import Feeder, HangError, feed_all
from fuzz_seeds import SCENARIOS

COUNT = 280


def test_cases_end_in_a_result_or_in_an_error_of_the_user() -> None:
    """[E12] None else is raised, none hangs, and no run is green for nothing."""
    tally = feed_all(7, range(COUNT))
    assert [shown for _, shown in tally.first.values()] == []
    assert sum(tally.ended.values()) == COUNT
    ended = {name.rpartition(": ")[2] for name in tally.ended}
    assert {"result", "ScenarioError"} <= ended
    assert {name.partition(": ")[0] for name in tally.ended} == set(KINDS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda tree: ",".join([*tree][:3]))
def test_what_is_changed_is_right_before(scenario: dict[str, object], tmp_path: Path) -> None:
    """Else each change would be one of a file that is refused anyway."""
    feeder = Feeder(tmp_path)
    assert (
        feeder.feed(Case("file", {"s.json": json.dumps(scenario).encode()}, "s.json")) == "result"
    )


def test_a_case_is_known_by_its_seed_and_number(tmp_path: Path) -> None:
    base = Feeder(tmp_path).base
    first, again, other = (
        [make_case(seed, at, base).files for at in range(70)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_defect_is_counted_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counting itself: an error that is no user's fault shows."""

    def breaks(*_: object, **__: object) -> None:
        raise TypeError("planted")

    monkeypatch.setattr(fuzz_feed, "results_chunks", breaks)
    with pytest.raises(TypeError, match="planted"):
        feed_all(1, range(1))  # the saved run that all cases start from
    monkeypatch.undo()
    monkeypatch.setattr(fuzz_feed, "_check", breaks)
    tally = feed_all(1, range(7, 60, 7))
    assert sum(tally.defects.values()) == sum(
        count for name, count in tally.ended.items() if name.endswith("defect")
    )
    assert tally.defects
    assert all("planted" in shown for _, shown in tally.first.values())


@pytest.mark.skipif(not hasattr(fuzz_feed.signal, "SIGALRM"), reason="needs an alarm")
def test_a_case_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feeder = Feeder(tmp_path, limit_s=0.05)
    monkeypatch.setattr(fuzz_feed, "_check", lambda _: time.sleep(10))
    case = Case("mapping", mapping={"name": "s", "dataset": "rows.jsonl", "metrics": ["em"]})
    with pytest.raises(HangError):
        feeder.feed(case)
