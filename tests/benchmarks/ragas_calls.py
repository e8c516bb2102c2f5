"""The metrics of ragas through our clients, beside ``ragas.evaluate()`` with its own.

100 samples, four metrics, ten calls a sample, each as long as the fake server says; the server has
a process of its own. ``wall`` is from the end of ragas' import to the end of the session, reports
included; of ``ragas.evaluate()`` it is the time of that call. The ideal is the sum of all latencies
by the calls in flight; ``in turn`` is what the same latencies take when each call begins as soon as
a place is free, and no client knows them before: with a heavy tail a late long one shows.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.benchmarks.judge_server import Asked, JudgeServer
from tests.benchmarks.measure import PYTEST, Command, clean_environment, run, wanted

_HERE = Path(__file__).resolve().parent
_SAMPLES = 100
_CONTEXTS = 4
_METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
# Faithfulness takes two, relevancy three, precision one for each context, recall one.
_CALLS = _SAMPLES * (2 + 3 + _CONTEXTS + 1)
_LATENCY_S = 0.2
_WORDS = (
    "the river returns after a long winter and opens into wide fields where people build small "
    "houses of stone and wood near an old bridge that carries trade from one coast to another"
).split()


@dataclass(frozen=True)
class _Run:
    """What a run of pytest took: all of it, and what came after the import of ragas."""

    cpu_s: float
    after_import_s: float
    cpu_after_import_s: float
    has_ragas: bool
    asked: Asked


@dataclass(frozen=True)
class _Evaluate:
    """What ``ragas.evaluate()`` took."""

    wall_s: float
    cpu_s: float
    asked: Asked


@dataclass(frozen=True)
class _Case:
    """How the judge is asked, and what is good enough."""

    concurrency: int
    sigma: float
    factor: float
    constant_s: float = 0.0

    @property
    def shown(self) -> str:
        how = f"lognormal, sigma {self.sigma:g}" if self.sigma else f"{_LATENCY_S * 1000:g} ms"
        return f"{_CALLS:,} calls, {how}, {self.concurrency} in flight"


_CASES = (_Case(32, 0.0, 1.2), _Case(128, 0.0, 1.5), _Case(32, 1.0, 1.15, 1.0))


def ragas(folder: Path, repeat: int) -> None:
    """Four metrics of ragas, 100 samples, beside ragas.evaluate(); from the cache; ``-n 2``."""
    if find_spec("ragas") is None:
        sys.stdout.write('ragas: skipped: pip install "pytest-rageval[ragas]"\n')
        return
    with JudgeServer(_LATENCY_S) as server:
        for case in _CASES:
            place = folder / f"{case.concurrency}-{case.sigma:g}"
            _write(place, server.base_url, case.concurrency)
            _judged(place, server, "warm")  # compiles; the server makes its replies
            rounds = range(max(1, min(repeat, 3)))
            ours = [_judged(place, server, str(at), sigma=case.sigma) for at in rounds]
            theirs = _evaluate(place, server, case)
            _print(case, ours, theirs)
        place = folder / f"{_CASES[0].concurrency}-0"
        _again(place, server, max(3, repeat))
        _workers(place, server)


def _write(place: Path, base_url: str, concurrency: int) -> None:
    chance = random.Random(7)
    rows = [_row(number, chance) for number in range(_SAMPLES)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    model = {"model": "fake", "base_url": base_url, "concurrency": concurrency}
    asks = {"judge": model, "embedding": model}
    for name, metrics, more in (("judged", _METRICS, asks), ("lexical", ("em",), {})):
        scenario = place / name
        scenario.mkdir(parents=True)
        (scenario / "rows.jsonl").write_text(text, encoding="utf-8")
        if more:
            shutil.copy(_HERE / "ragas_conftest.py", scenario / "conftest.py")
        plain = {
            "name": name,
            "dataset": "rows.jsonl",
            "metrics": list(metrics),
            "gates": {"weighted_score": 0.0},
            **more,
        }
        (scenario / "benchmark.rageval.yaml").write_text(json.dumps(plain), encoding="utf-8")


def _row(number: int, chance: random.Random) -> Mapping[str, Any]:
    def text(sentences: int, words: int) -> str:
        return " ".join(
            " ".join(chance.choices(_WORDS, k=words)).capitalize() + "." for _ in range(sentences)
        )

    return {
        "id": f"made-{number}",
        "question": f"Question {number}: {text(1, 9)}",
        "answer": text(3, 8),
        "references": [text(2, 8)],
        "contexts": [text(5, 12) for _ in range(_CONTEXTS)],
    }


def _judged(
    place: Path, server: JudgeServer, cache: str, *options: str, sigma: float = 0.0
) -> _Run:
    server.begin(sigma, cache)
    folder = place / "judged"
    used = run(Command([*PYTEST, f"--rag-cache-dir=cache-{cache}", *options], folder))
    seen = json.loads((folder / "seen.json").read_text(encoding="ascii"))
    return _Run(
        used.cpu_s,
        seen["after_import_s"],
        seen["cpu_after_import_s"],
        seen["has_ragas"],
        server.asked,
    )


def _evaluate(place: Path, server: JudgeServer, case: _Case) -> _Evaluate:
    server.begin(case.sigma, "evaluate")
    script, rows = str(_HERE / "ragas_evaluate.py"), str(place / "judged" / "rows.jsonl")
    found = subprocess.run(
        [sys.executable, script, rows, server.base_url, str(case.concurrency)],
        env=clean_environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        sys.exit(f"ragas.evaluate() failed:\n{found.stderr[-3000:]}")
    took = json.loads(found.stdout.splitlines()[-1])
    return _Evaluate(took["wall_s"], took["cpu_s"], server.asked)


def _print(case: _Case, ours: Sequence[_Run], theirs: _Evaluate) -> None:
    for one in ours:
        if one.asked.calls != _CALLS:
            sys.exit(f"{case.shown}: the judge was asked {one.asked.calls} times, not {_CALLS}")
    ideal_s = [one.asked.ideal_s(case.concurrency) for one in ours]
    limit = case.factor + case.constant_s / statistics.median(ideal_s)
    plus = f": {case.factor:g} x ideal + {case.constant_s:g} s" if case.constant_s else ""
    wall = [one.after_import_s / ideal for one, ideal in zip(ours, ideal_s, strict=True)]
    span = [one.asked.span_s / ideal for one, ideal in zip(ours, ideal_s, strict=True)]
    in_turn = [
        one.asked.in_turn_s(case.concurrency) / one.asked.ideal_s(case.concurrency) for one in ours
    ]
    cpu = [1000.0 * one.cpu_after_import_s / one.asked.calls for one in ours]
    serving = statistics.median(one.asked.server_cpu_s for one in ours)
    most = max(one.asked.most_in_flight for one in ours)
    their_ideal_s = theirs.asked.ideal_s(case.concurrency)
    goal = wanted(f"{case.shown}: wall", statistics.median(wall), limit)
    _line(case.shown, f"wall by ideal {_figures(wall)}  {goal}{plus}")
    _line("", f"first request to last answer by ideal {_figures(span)}")
    _line("", f"in turn by ideal {_figures(in_turn)}")
    ideal = f"ideal {statistics.median(ideal_s):.2f} s"
    _line("", f"{ideal}, most in flight, embeddings too, {most}; CPU of the server {serving:.1f} s")
    goal = wanted(f"{case.shown}: CPU a call", statistics.median(cpu), 1.5, "ms")
    _line("", f"CPU a call after the import, in ms, {_figures(cpu)}  {goal}")
    _line(
        "",
        f"ragas.evaluate(): wall by ideal {theirs.wall_s / their_ideal_s:.3f} "
        f"({theirs.wall_s:.2f} s by {their_ideal_s:.2f} s), {theirs.asked.calls:,} calls, "
        f"most in flight {theirs.asked.most_in_flight}, "
        f"CPU a call {1000.0 * theirs.cpu_s / max(1, theirs.asked.calls):.2f} ms",
    )


def _again(place: Path, server: JudgeServer, repeat: int) -> None:
    """Print what a second run costs, beside a lexical one in turn."""
    pairs = []
    for _ in range(repeat):
        lexical = run(Command(PYTEST, place / "lexical"))
        pairs.append((_judged(place, server, "warm"), lexical))
    asked = max(cached.asked.calls + cached.asked.embeddings for cached, _ in pairs)
    ratios = [cached.cpu_s / lexical.cpu_s for cached, lexical in pairs]
    imported = any(cached.has_ragas for cached, _ in pairs)
    goal = wanted("ragas again, from the cache, by em", statistics.median(ratios), 1.5)
    _line("again, from the cache", f"CPU by that of em {_figures(ratios)}  {goal}")
    _line(
        "",
        f"CPU {min(cached.cpu_s for cached, _ in pairs):.2f} s against "
        f"{min(lexical.cpu_s for _, lexical in pairs):.2f} s, calls {asked}, "
        f"ragas imported: {'yes' if imported else 'no'}",
    )


def _workers(place: Path, server: JudgeServer) -> None:
    """Print how many calls two workers make."""
    found = _judged(place, server, "workers", "-n", "2")
    _line("two workers", f"calls {found.asked.calls:,} against {_CALLS:,}")


def _line(name: str, text: str) -> None:
    sys.stdout.write(f"{name:<44} {text}\n")
    sys.stdout.flush()


def _figures(values: Sequence[float]) -> str:
    return f"median {statistics.median(values):.3f}  best {min(values):.3f}"
