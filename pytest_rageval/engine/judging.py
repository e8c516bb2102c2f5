"""Whom a run asks: for each scenario with a target or judges, its samples asked about ahead.

A sample is answered by the system under test, where there is one, and then judged; others are
answered meanwhile. All scenarios of a process share one event loop, and the clients with their
limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING

from pytest_rageval.clients.limits import Limits, open_limits
from pytest_rageval.clients.purpose import Purpose, asking
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.ahead import WINDOW_PER_CALL, Ahead, Judgement, waited_for
from pytest_rageval.engine.answering import Answering
from pytest_rageval.engine.bind_target import TargetPlan, with_value
from pytest_rageval.engine.judged import judge_sample
from pytest_rageval.engine.kept import Kept
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.runner import Runner
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import Sample

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.clients.stack import Clients

# Of metrics that wait for something of the user's own, which nobody says how much of it bears.
_WITHOUT_MODELS = 8

_SAMPLE: ContextVar[Sample | None] = ContextVar("sample", default=None)


def sample_being_judged() -> Sample | None:
    """Return the sample about which the calling code asks ahead, in whichever thread, or None."""
    return _SAMPLE.get()


class Judging:
    """Scores the judged metrics of samples; close it when the run ends."""

    def __init__(self, run: RunSettings) -> None:
        self._run = run
        self._problems: tuple[str, ...] = ()
        self._order = count()
        self._targets: dict[int, tuple[Plan, TargetPlan, object]] = {}
        self._shared: set[int] = set()
        self._start()

    def _start(self) -> None:
        self._runner = Runner()
        self._runner.on_close(self._close_clients)
        self._clients: Clients | None = None
        self._aheads: dict[int, tuple[Plan, Ahead]] = {}
        self._known: dict[int, tuple[Models, Kept | None]] = {}
        self._answerings: dict[int, Answering] = {}
        self._limits: list[tuple[ClientSettings, Limits]] = []

    def use_target(self, plan: Plan, function: object, *, is_shared: bool) -> None:
        """Say what ``function`` the scenario's target is, where only pytest knows it: a fixture.

        ``is_shared`` says that samples behind the present one may be asked about with it, too.
        Raises TargetError for a value that cannot be one.
        """
        assert plan.target is not None
        self._shared.discard(id(plan))
        known = self._targets.get(id(plan))
        if known is None or known[2] is not function:
            self._replace_target(plan, plan.target, function)
        if is_shared:
            self._shared.add(id(plan))

    def _replace_target(self, plan: Plan, target: TargetPlan, function: object) -> None:
        self._targets[id(plan)] = (plan, with_value(target, function), function)
        outdated = self._answerings.pop(id(plan), None)
        if outdated is not None:
            self._runner.submit(outdated.aclose())

    def is_ready(self, plan: Plan) -> bool:
        """Return whether samples of a scenario can be asked about ahead.

        Those whose target is a fixture can when it is there, and not made for one case alone.
        """
        target = plan.target
        return target is None or target.make is not None or id(plan) in self._shared

    def feed(self, plan: Plan, samples: Iterable[Sample]) -> None:
        """Have these samples of a scenario asked about, in this order."""
        self._ahead(plan).feed(samples)

    def wait(self, plan: Plan, sample: Sample, meanwhile: Callable[[], None]) -> Judgement:
        """Return what was asked about a sample, when it is there; see ``Ahead.wait``."""
        return self._ahead(plan).wait(sample, meanwhile)

    def now(self, plan: Plan, sample: Sample, meanwhile: Callable[[], None]) -> Judgement:
        """Return what is asked about a sample now, ahead of all others; see ``Ahead.wait``."""
        return waited_for(self._runner.submit(self._timed(plan, sample)), meanwhile)

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
        asked = plan.models.concurrency if plan.judged else 0
        if any(metric.info.is_async and not metric.info.asks for metric in plan.judged):
            asked = max(asked, _WITHOUT_MODELS)
        if plan.target is not None:
            asked += plan.target.settings.concurrency
        return WINDOW_PER_CALL * max(1, asked // max(1, self._run.processes))

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

            async def ask(sample: Sample) -> Judgement:
                _SAMPLE.set(sample)  # in the context of this task, and of those that it starts
                # Begun in the order in which the cases run, and so they queue for calls.
                return await self._ask(plan, sample, next(self._order))

            found = self._aheads[id(plan)] = (plan, Ahead(self._runner, ask, self.window(plan)))
        return found[1]

    async def _timed(self, plan: Plan, sample: Sample) -> Judgement:
        started = time.perf_counter()
        judgement = await self._ask(plan, sample, -1)
        judgement.latency_s = time.perf_counter() - started
        return judgement

    async def _ask(self, plan: Plan, sample: Sample, order: int) -> Judgement:
        answered = None
        if plan.target is not None:
            with asking(Purpose(sample=sample.id, order=order, scenario=plan.info.nodeid)):
                answered = await self._answering(plan, plan.target).answer(sample, order)
            if answered.error is not None:
                return Judgement(answered=answered)
            sample = answered.sample
        if not plan.judged:
            return Judgement(answered=answered)
        models, kept = self._models(plan)
        scores = await judge_sample(plan, sample, models, order, kept)
        return Judgement(scores, answered=answered)

    def _answering(self, plan: Plan, target: TargetPlan) -> Answering:
        """Return what asks the system under test; called in the loop, where it belongs."""
        found = self._answerings.get(id(plan))
        if found is None:
            given = self._targets.get(id(plan))
            target = target if given is None else given[1]
            limits = self._limits_of(target.settings)
            found = Answering(target, self._run, limits, self._run_clients)
            self._answerings[id(plan)] = found
        return found

    def _limits_of(self, settings: ClientSettings) -> Limits:
        """Return the limits of a target, the same for all scenarios that ask it alike."""
        for one, limits in self._limits:
            if one == settings:
                return limits
        self._limits.append((settings, open_limits(settings, self._run)))
        return self._limits[-1][1]

    def _run_clients(self) -> Clients:
        """Return the clients of this process; called in the loop, where they belong."""
        if self._clients is None:
            from pytest_rageval.clients.stack import Clients

            self._clients = Clients(self._run)
        return self._clients

    def _models(self, plan: Plan) -> tuple[Models, Kept | None]:
        """Return clients and kept scores of a scenario; called in the loop, where they belong."""
        known = self._known.get(id(plan))
        if known is None:
            known = self._known[id(plan)] = self._open(plan)
        return known

    def _open(self, plan: Plan) -> tuple[Models, Kept | None]:
        if plan.models.judge is None and plan.models.embedding is None:
            return Models(language=plan.models.language), None
        clients = self._run_clients()
        judge, embedding = plan.models.judge, plan.models.embedding
        models = Models(
            clients.chat(judge) if judge is not None else None,
            clients.embedding(embedding) if embedding is not None else None,
            plan.models.language,
        )
        return models, Kept(plan, clients.scores)

    async def _close_clients(self) -> None:
        for answering in self._answerings.values():
            await answering.aclose()
            self._note(answering.problems)
        for _, limits in self._limits:
            limits.close()
        if self._clients is not None:
            await self._clients.aclose()
            self._note(self._clients.problems)

    def _note(self, problems: Iterable[str]) -> None:
        self._problems = tuple(dict.fromkeys([*self._problems, *problems]))
