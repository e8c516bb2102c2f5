"""Many calls to a judge: wall time against the ideal, CPU a call, and a second run from the cache.

The judge is the fake server of the tests, in this process. What a lexical scenario of the same size
takes is not counted: pytest's start, collection, reports and files.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.measure import Command, run
from tests.benchmarks.rows import write_rows

if TYPE_CHECKING:
    from fake_openai import FakeOpenAI

_HERE = Path(__file__).resolve().parent
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
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
    ideal_s: float
    most_in_flight: int

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
    lexical = _timed(place / "lexical")
    server.forget()
    judged = _timed(place / "judged", cache)
    asked, most = len(server.chats), server.most_in_flight
    if asked != _CALLS:
        sys.exit(f"the judge was asked {asked} times, not {_CALLS}")
    ideal_s = sum(map(server._latency, server.chats)) / _CONCURRENCY
    cached = _timed(place / "judged", cache)
    if len(server.chats) != asked:
        sys.exit(f"the second run asked the judge {len(server.chats) - asked} times")
    return _Round(lexical, judged, cached, ideal_s, most)


def _timed(folder: Path, *options: str) -> _Run:
    started = time.perf_counter()
    used = run(Command([*_PYTEST, *options], folder))
    return _Run(time.perf_counter() - started, used.cpu_s)


def _print(name: str, rounds: Sequence[_Round], *, heavy: bool) -> None:
    ideal_s = rounds[0].ideal_s
    ratios = [one.extra_s / one.ideal_s for one in rounds]
    goal = f"at most {1.15 + 1.0 / ideal_s:.2f}: 1.15 x ideal + 1 s" if heavy else "at most 1.2"
    sys.stdout.write(
        f"{f'{_CALLS} calls, {name}, {_CONCURRENCY} in flight':<44} "
        f"median {statistics.median(ratios):.3f}  best {min(ratios):.3f}  ({goal})  "
        f"wall {min(one.extra_s for one in rounds):.2f} s against {ideal_s:.2f} s, "
        f"most in flight {max(one.most_in_flight for one in rounds)}\n"
    )
    cpu = [one.cpu_a_call_ms for one in rounds]
    again = [one.cached.cpu_s / one.lexical.cpu_s for one in rounds]
    sys.stdout.write(
        f"{'':<44} CPU a call median {statistics.median(cpu):.2f} ms  best {min(cpu):.2f} ms  "
        f"(at most 1.5)\n"
        f"{'':<44} again, from the cache: CPU by that of em, median "
        f"{statistics.median(again):.3f}  best {min(again):.3f}  (at most 1.5)\n"
    )
    sys.stdout.flush()
