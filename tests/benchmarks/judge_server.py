"""The fake server of the tests in a process of its own, so that no client waits for its work."""

from __future__ import annotations

import json
import math
import multiprocessing
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapreplace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from fake_openai import FakeOpenAI

_FAKES = Path(__file__).resolve().parents[1] / "fakes"


@dataclass(frozen=True)
class Asked:
    """The requests for chat completions that a server got, and the time that they took."""

    calls: int
    embeddings: int
    latencies_s: tuple[float, ...]
    span_s: float
    """From the first request to the end of the last answer."""
    most_in_flight: int
    server_cpu_s: float

    def ideal_s(self, concurrency: int) -> float:
        """Return how long the calls take if no place is ever empty."""
        return math.fsum(self.latencies_s) / concurrency

    def in_turn_s(self, concurrency: int) -> float:
        """Return how long they take if each begins, in its turn, as soon as a place is free."""
        free = [0.0] * concurrency
        for latency_s in self.latencies_s:
            heapreplace(free, free[0] + latency_s)
        return max(free)


class JudgeServer:
    """Starts the server for a ``with`` block and tells it what to do.

    Each request has a latency of its own: ``latency_s``, or lognormal around it with ``sigma``.
    Replies are made once for each prompt: they are the model's work, not the server's.
    """

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self.base_url = ""

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._latency_s), daemon=True)
        self._process.start()
        self.base_url = self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self._process.join(10.0)

    def begin(self, sigma: float, salt: str) -> None:
        """Forget what was asked; other salts draw other latencies."""
        self._pipe.send({"sigma": sigma, "salt": salt})
        self._pipe.recv()

    @property
    def asked(self) -> Asked:
        """What was asked since ``begin``."""
        self._pipe.send({})
        found: Asked = self._pipe.recv()
        return found


def _serve(pipe: Connection, latency_s: float) -> None:
    import time

    sys.path.insert(0, str(_FAKES))
    import fake_openai
    from fake_judge import judge, share

    replies: dict[str, str] = {}

    def answer(body: Mapping[str, Any]) -> str:
        asked = json.dumps([body["messages"], body.get("response_format")])
        if asked not in replies:
            replies[asked] = judge(body)
        return replies[asked]

    class Server(fake_openai.FakeOpenAI):
        salt = ""

        def _latency(self, seen: fake_openai.Seen) -> float:
            if seen.path.endswith("/embeddings"):
                return 0.0
            latency_s = self.options.latency_s
            if self.options.sigma:
                first = fake_openai._first_words(seen.body)
                drawn = share(f"{first} {self._attempts[first]}", self.salt)
                normal = statistics.NormalDist().inv_cdf(min(max(drawn, 1e-9), 1.0 - 1e-9))
                latency_s *= math.exp(self.options.sigma * normal)
            taken.append((seen.at, latency_s))
            return latency_s

    taken: list[tuple[float, float]] = []
    started = 0.0
    with Server(latency_s=latency_s, answer=answer) as server:
        pipe.send(server.base_url)
        while (told := pipe.recv()) is not None:
            if told:
                server.forget()
                server.options.sigma, server.salt = told["sigma"], told["salt"]
                taken.clear()
                started = time.process_time()
                pipe.send(None)
            else:
                pipe.send(_asked(server, taken, time.process_time() - started))


def _asked(server: FakeOpenAI, taken: list[tuple[float, float]], cpu_s: float) -> Asked:
    return Asked(
        calls=len(server.chats),
        embeddings=sum(len(seen.body["input"]) for seen in server.embeddings),
        latencies_s=tuple(latency_s for _, latency_s in taken),
        span_s=max((at + took for at, took in taken), default=0.0)
        - min((at for at, _ in taken), default=0.0),
        most_in_flight=server.most_in_flight,
        server_cpu_s=cpu_s,
    )
