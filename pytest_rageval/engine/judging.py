"""The judges of a run: for each scenario that asks models, its samples scored ahead.

All scenarios of a process share one event loop, and the clients with their limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.ahead import WINDOW_PER_CALL, Ahead, Judgement
from pytest_rageval.engine.judged import judge_sample
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.runner import Runner
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.clients.stack import Clients


class Judging:
    """Scores the judged metrics of samples; close it when the run ends."""

    def __init__(self, run: RunSettings) -> None:
        self._run = run
        self._problems: tuple[str, ...] = ()
        self._order = count()
        self._start()

    def _start(self) -> None:
        self._runner = Runner()
        self._runner.on_close(self._close_clients)
        self._clients: Clients | None = None
        self._aheads: dict[int, tuple[Plan, Ahead]] = {}

    def feed(self, plan: Plan, samples: Iterable[Sample]) -> None:
        """Have these samples of a scenario scored, in this order."""
        self._ahead(plan).feed(samples)

    def wait(self, plan: Plan, sample: Sample, meanwhile: Callable[[], None]) -> Judgement:
        """Return the scores of a sample, when they are there; see ``Ahead.wait``."""
        return self._ahead(plan).wait(sample, meanwhile)

    @property
    def finished(self) -> int:
        """How many samples have been judged so far."""
        return sum(ahead.finished for _, ahead in self._aheads.values())

    @property
    def usage(self) -> Usage | None:
        """What this process has asked so far, None before it asked anything."""
        return self._clients.usage if self._clients is not None else None

    def window(self, plan: Plan) -> int:
        """Return how many samples of a scenario are worth having in work at once."""
        own = max(1, plan.models.concurrency // max(1, self._run.processes))
        return WINDOW_PER_CALL * own

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing anything, for the summary."""
        return self._problems

    def close(self) -> None:
        """Cancel what is being asked, close connections and the loop.

        What is asked after that starts everything anew: plugins run cases again that failed.
        """
        self._runner.close()
        self._start()

    def _ahead(self, plan: Plan) -> Ahead:
        found = self._aheads.get(id(plan))
        if found is None:

            async def judge(sample: Sample) -> dict[str, Score]:
                # Begun in the order in which the cases run, and so they queue for calls.
                return await judge_sample(plan, sample, self._models(plan), next(self._order))

            found = self._aheads[id(plan)] = (
                plan,
                Ahead(self._runner, judge, self.window(plan)),
            )
        return found[1]

    def _models(self, plan: Plan) -> Models:
        """Return the clients of a scenario; called in the loop, where they belong."""
        if self._clients is None:
            from pytest_rageval.clients.stack import Clients

            self._clients = Clients(self._run)
        judge, embedding = plan.models.judge, plan.models.embedding
        return Models(
            self._clients.chat(judge) if judge is not None else None,
            self._clients.embedding(embedding) if embedding is not None else None,
            plan.models.language,
        )

    async def _close_clients(self) -> None:
        if self._clients is not None:
            await self._clients.aclose()
            self._problems = tuple(dict.fromkeys([*self._problems, *self._clients.problems]))
