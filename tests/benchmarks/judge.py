"""Many calls to a judge: wall time against the ideal, CPU a call, and a second run from the cache.

The judge is the fake server of the tests, in this process. ``wall`` is what the run takes longer
than a lexical scenario of the same size, which has the same start, reports and files; ``calls`` is
the time from the first request to the last answer, without the import of the HTTP client. The ideal
is the sum of all latencies by the calls in flight; ``in turn`` is what the same latencies take when
each call begins as soon as one before it ends: with a heavy tail, a late long one shows.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

if TYPE_CHECKING:
    from fake_openai import FakeOpenAI

_HERE = Path(__file__).resolve().parent
_SAMPLES = 200
_METRICS = ("asked-1", "asked-2", "asked-3", "asked-4")
_CALLS = _SAMPLES * len(_METRICS)
_CONCURRENCY = 64
_LATENCY_S = 0.1
_SIGMA = 1.0


@dataclass(frozen=True)
class _Run:
    """What one run took."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class _Round:
    """The same samples three times: by em, by a judge, and by what the judge said before."""

    lexical: _Run
    judged: _Run
    cached: _Run
    latencies_s: Sequence[float]
    calls_s: float
    most_in_flight: int

    @property
    def ideal_s(self) -> float:
        """The time that the calls would take if no place were ever empty."""
        return math.fsum(self.latencies_s) / _CONCURRENCY

    @property
    def in_turn_s(self) -> float:
        """The time that they take one after the other, as places become free."""
        free = [0.0] * _CONCURRENCY
        for latency_s in self.latencies_s:
            heapreplace(free, free[0] + latency_s)
        return max(free)

    @property
    def extra_s(self) -> float:
        """The wall time that the judge costs."""
        return self.judged.wall_s - self.lexical.wall_s

    @property
    def cpu_a_call_ms(self) -> float:
        """The CPU time that a call costs, the import of the HTTP client included."""
        return 1000.0 * (self.judged.cpu_s - self.lexical.cpu_s) / _CALLS


def judge(folder: Path, repeat: int) -> None:
    """200 samples of 4 judge calls of 100 ms, 64 in flight; then with a heavy tail."""
    sys.path.insert(0, str(_HERE.parent / "fakes"))
    from fake_openai import FakeOpenAI

    for name, sigma in (("100 ms", 0.0), (f"lognormal, sigma {_SIGMA:g}", _SIGMA)):
        with FakeOpenAI(latency_s=_LATENCY_S, sigma=sigma) as server:
            place = folder / f"sigma-{sigma:g}"
            _write(place, server)
            rounds = [_round(place, server, at) for at in range(max(1, repeat))]
        _print(name, rounds, heavy=sigma > 0.0)


def _write(place: Path, server: FakeOpenAI) -> None:
    for name, metrics in (("judged", _METRICS), ("lexical", ("em",))):
        scenario = place / name
        scenario.mkdir(parents=True)
        write_rows(_SAMPLES, scenario / "rows.jsonl")
        plain: dict[str, Any] = {
            "name": name,
            "dataset": "rows.jsonl",
            "metrics": list(metrics),
            "gates": {"weighted_score": 0.0},
        }
        if name == "judged":
            shutil.copy(_HERE / "judge_conftest.py", scenario / "conftest.py")
            plain["judge"] = {
                "model": "fake",
                "base_url": server.base_url,
                "concurrency": _CONCURRENCY,
            }
        (scenario / "benchmark.rageval.yaml").write_text(json.dumps(plain), encoding="utf-8")


def _round(place: Path, server: FakeOpenAI, number: int) -> _Round:
    cache = f"--rag-cache-dir=cache-{number}"
    os.environ["JUDGE_ROUND"] = str(number)
    lexical = _timed(place / "lexical")
    server.forget()
    judged = _timed(place / "judged", cache)
    chats, most = server.chats, server.most_in_flight
    if len(chats) != _CALLS:
        sys.exit(f"the judge was asked {len(chats)} times, not {_CALLS}")
    latencies_s = [server._latency(seen) for seen in chats]
    ends = (seen.at + latency_s for seen, latency_s in zip(chats, latencies_s, strict=True))
    calls_s = max(ends) - chats[0].at
    cached = _timed(place / "judged", cache)
    if len(server.chats) != _CALLS:
        sys.exit(f"the second run asked the judge {len(server.chats) - _CALLS} times")
    return _Round(lexical, judged, cached, latencies_s, calls_s, most)


def _timed(folder: Path, *options: str) -> _Run:
    started = time.perf_counter()
    used = run(Command([*PYTEST, *options], folder))
    return _Run(time.perf_counter() - started, used.cpu_s)


def _print(name: str, rounds: Sequence[_Round], *, heavy: bool) -> None:
    ideal_s = statistics.median(one.ideal_s for one in rounds)
    limit = 1.15 + 1.0 / ideal_s if heavy else 1.2
    wall = [one.extra_s / one.ideal_s for one in rounds]
    calls = [one.calls_s / one.ideal_s for one in rounds]
    in_turn = [one.in_turn_s / one.ideal_s for one in rounds]
    cpu = [one.cpu_a_call_ms for one in rounds]
    again = [one.cached.cpu_s / one.lexical.cpu_s for one in rounds]
    head = f"{_CALLS} calls, {name}, {_CONCURRENCY} in flight"
    wall_goal = wanted(f"{head}: wall", statistics.median(wall), limit)
    cpu_goal = wanted(f"{head}: CPU a call", statistics.median(cpu), 1.5, "ms")
    again_goal = wanted(f"{head}: again, by that of em", statistics.median(again), 1.5)
    most = max(one.most_in_flight for one in rounds)
    sys.stdout.write(
        f"{head:<44} wall by ideal {_figures(wall)}  {wall_goal}\n"
        f"{'':<44} calls by ideal {_figures(calls)}\n"
        f"{'':<44} in turn by ideal {_figures(in_turn)}\n"
        f"{'':<44} ideal {ideal_s:.2f} s, most in flight {most}\n"
        f"{'':<44} CPU a call, in ms, {_figures(cpu)}  {cpu_goal}\n"
        f"{'':<44} again, from the cache: CPU by that of em {_figures(again)}  {again_goal}\n"
    )
    sys.stdout.flush()


def _figures(values: Sequence[float]) -> str:
    return f"median {statistics.median(values):.3f}  best {min(values):.3f}"
