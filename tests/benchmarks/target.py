"""Answers of a system under test: wall time against the ideal, alone and with judges behind it.

What a run takes longer than an offline one over the same rows, which has the same start, reports
and files, is compared with the sum of all latencies by the questions in work, or with what the
slower of target and judges takes alone; ``asking`` is the same from the first question to the last
answer, which other load disturbs less.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

_HERE = Path(__file__).resolve().parent
_CONCURRENCY = 32
_SAMPLES, _LATENCY_S = 200, 0.1
_FEWER, _LONGER_S, _JUDGE_S = 100, 0.5, 0.12
_JUDGED = ("asked-1", "asked-2", "asked-3", "asked-4")
_APP = """\
import asyncio
import atexit
import json
import time

TIMES = []
atexit.register(lambda: json.dump(TIMES, open("times.json", "w")))


async def answer(question):
    TIMES.append(time.monotonic())
    await asyncio.sleep({latency_s})
    TIMES.append(time.monotonic())
    return question[:40]


def blocking(question):
    TIMES.append(time.monotonic())
    time.sleep({latency_s})
    TIMES.append(time.monotonic())
    return question[:40]
"""


def target(folder: Path, repeat: int) -> None:
    """200 answers of 100 ms, 32 in work; then 100 of 500 ms with four judge metrics behind."""
    sys.path.insert(0, str(_HERE.parent / "fakes"))
    _alone(folder / "alone", max(1, repeat))
    _with_judges(folder / "judged", max(1, repeat))


def _alone(folder: Path, repeat: int) -> None:
    from fake_app import FakeApp

    ideal_s = _SAMPLES * _LATENCY_S / _CONCURRENCY
    with FakeApp(latency_s=_LATENCY_S, answer=lambda asked: asked.question[:40]) as app:
        kinds: Mapping[str, Any] = {
            "async function": "app:answer",
            "function": "app:blocking",
            "http": {"url": app.url()},
        }
        metrics = ["em", "f1", "rouge-l"]
        for kind, spec in kinds.items():
            _write(folder / kind, _SAMPLES, _LATENCY_S, metrics, {"target": spec})
        _write(folder / "offline", _SAMPLES, _LATENCY_S, metrics, {})
        walls: dict[str, list[float]] = {kind: [] for kind in kinds}
        spans: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(repeat):
            offline_s = _timed(folder / "offline")
            for kind in kinds:
                app.seen.clear()
                walls[kind].append((_timed(folder / kind) - offline_s) / ideal_s)
                asked = [one.at for one in app.seen]
                span_s = max(asked) + _LATENCY_S - min(asked) if asked else _span(folder / kind)
                spans[kind].append(span_s / ideal_s)
    for kind in kinds:
        name = f"{_SAMPLES} answers of {_LATENCY_S:g} s by {kind}"
        _print(name, "wall by ideal", walls[kind], 1.35, f"ideal {ideal_s:.3f} s")
        _print(name, "asking by ideal", spans[kind], 1.35)


def _with_judges(folder: Path, repeat: int) -> None:
    from fake_openai import FakeOpenAI

    with FakeOpenAI(latency_s=_JUDGE_S) as server:
        judge = {"model": "fake", "base_url": server.base_url, "concurrency": _CONCURRENCY}
        judged = {"judge": judge}
        both = {"judge": judge, "target": "app:answer"}
        _write(folder / "offline", _FEWER, _LONGER_S, ["em"], {})
        _write(folder / "target", _FEWER, _LONGER_S, ["em"], {"target": "app:answer"})
        _write(folder / "judges", _FEWER, _LONGER_S, _JUDGED, judged)
        _write(folder / "both", _FEWER, _LONGER_S, _JUDGED, both)
        ratios, spans = [], []
        for number in range(repeat):
            os.environ["JUDGE_ROUND"] = str(number)
            offline_s = _timed(folder / "offline", "--rag-cache=off")
            walls, asking = [], []
            for name in ("target", "judges", "both"):
                server.forget()
                walls.append(_timed(folder / name, "--rag-cache=off") - offline_s)
                times = [at + wait for one in server.chats for at, wait in _around(one.at)]
                times += _times(folder / name) if name != "judges" else []
                asking.append(max(times) - min(times))
            target_s, judges_s, both_s = walls
            ratios.append(both_s / max(target_s, judges_s))
            spans.append(asking[2] / max(asking[:2]))
            alone = f"target alone {target_s:.2f} s, judges {judges_s:.2f} s, both {both_s:.2f} s"
    name = f"{_FEWER} answers of {_LONGER_S:g} s, 4 judge metrics"
    _print(name, "wall by the slower alone", ratios, 1.2, alone)
    _print(name, "asking by the slower alone", spans, 1.2)


def _around(at: float) -> Sequence[tuple[float, float]]:
    """Return when a request came, and when it was answered."""
    return (at, 0.0), (at, _JUDGE_S)


def _span(folder: Path) -> float:
    times = _times(folder)
    return max(times) - min(times)


def _times(folder: Path) -> list[float]:
    found: list[float] = json.loads((folder / "times.json").read_text("utf-8"))
    return found


def _write(
    place: Path, count: int, latency_s: float, metrics: Sequence[str], more: Mapping[str, Any]
) -> None:
    place.mkdir(parents=True)
    write_rows(count, place / "rows.jsonl")
    (place / "app.py").write_text(_APP.format(latency_s=latency_s), encoding="utf-8")
    if "judge" in more:
        shutil.copy(_HERE / "judge_conftest.py", place / "conftest.py")
    plain = {
        "name": place.name,
        "dataset": "rows.jsonl",
        "metrics": list(metrics),
        "gates": {"unscored": 0.0},
        **more,
    }
    (place / "benchmark.rageval.yaml").write_text(json.dumps(plain), encoding="utf-8")


def _timed(folder: Path, *options: str) -> float:
    started = time.perf_counter()
    run(Command([*PYTEST, *options], folder))
    return time.perf_counter() - started


def _print(name: str, what: str, ratios: Sequence[float], at_most: float, remark: str = "") -> None:
    median = statistics.median(ratios)
    goal = wanted(f"{name}: {what.partition(' ')[0]}", median, at_most)
    figures = f"median {median:.3f}  best {min(ratios):.3f}"
    sys.stdout.write(f"{name:<44} {what} {figures}  {goal}  {remark}\n")
    sys.stdout.flush()
