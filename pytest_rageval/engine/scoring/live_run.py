"""A run while it asks targets and judges: one event loop, the clients, one object per scenario.

A sample is answered by the system under test, if there is one, and then judged, while others are
being answered. All scenarios of a process share the event loop and the clients with their limits.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from contextvars import Context, ContextVar
from functools import partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.limits.limits import Limits, open_limits
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.plan import Plan, TargetPlan
from pytest_rageval.engine.scoring.ask_target import TargetClient, TargetReply
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.engine.scoring.window import (
    WINDOW_PER_CALL,
    BlockedError,
    EventLoop,
    Judgement,
    SampleWindow,
    waited_for,
)
from pytest_rageval.extras import loading, timed_from
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import FAILED_CONTROLS, NOTHING, ControlVerdict, Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.clients.clients import Clients

# For metrics that wait for user code: no setting says how many calls at once that bears.
_WITHOUT_MODELS = 8

_NONE_YET = object()

_SAMPLE: ContextVar[Sample | None] = ContextVar("sample", default=None)


def sample_being_judged() -> Sample | None:
    """Return the sample that the calling code judges ahead, in any thread, or None."""
    return _SAMPLE.get()


class LiveRun:
    """The event loop, clients and limits of a run; close it when the run ends."""

    def __init__(self, run: RunSettings) -> None:
        self.settings = run
        self._problems: tuple[str, ...] = ()
        self._order = count()
        self._scenarios: dict[int, LiveScenario] = {}
        self._start()

    def _start(self) -> None:
        self.loop = EventLoop()
        self.loop.on_close(self._close_clients)
        self.opened: Clients | None = None
        """The clients, None before a model is asked."""
        self._limits: list[tuple[ClientSettings, Limits]] = []
        self._verdicts: dict[str, asyncio.Task[ControlVerdict]] = {}

    def scenario(self, plan: Plan) -> LiveScenario:
        """Return the live scenario of a plan, the same until the run is closed."""
        found = self._scenarios.get(id(plan))
        if found is None:
            found = self._scenarios[id(plan)] = LiveScenario(plan, self)
        return found

    @property
    def finished(self) -> int:
        """How many samples have been judged since the last start."""
        return sum(scenario.window.finished for scenario in self._scenarios.values())

    @property
    def usage(self) -> Usage | None:
        """What this process has asked models since the last start; None without clients."""
        return self.opened.usage if self.opened is not None else None

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing a sample, for the summary."""
        return self._problems

    def settle(self, meanwhile: Callable[[], None]) -> None:
        """Wait for control rows.

        Does nothing where several processes share a budget: ``settle_last`` waits there.
        """
        if self.settings.budget_usd is None or self.settings.processes == 1:
            for scenario in self._scenarios.values():
                scenario.settle(meanwhile)

    def settle_last(self, plans: Iterable[Plan], meanwhile: Callable[[], None]) -> None:
        """Wait for the control rows that are left when this process has no samples any more.

        With a budget, samples come first: the last of several processes asks the rows of all
        ``plans`` whose judges any of them has asked. Scenarios of test functions, which only this
        process knows, do not wait for the others.
        """
        self.settle(meanwhile)
        run = self.settings
        if run.budget_usd is None or run.processes == 1 or run.shared_dir is None:
            return
        plans = list(plans)
        for one in self._scenarios.values():
            if one.nodeid not in {plan.info.nodeid for plan in plans}:  # of test functions
                one.settle(meanwhile)
        asked = {scenario.nodeid for scenario in self._scenarios.values() if scenario.is_judged}
        run.shared_dir.mkdir(parents=True, exist_ok=True)
        mark = run.shared_dir / f"settled-{os.getpid()}"
        mark.with_suffix(".part").write_text(json.dumps(sorted(asked)), "ascii")
        mark.with_suffix(".part").replace(mark.with_suffix(".json"))
        marks = [*run.shared_dir.glob("settled-*.json")]
        if len(marks) >= run.processes:
            asked = {name for one in marks for name in json.loads(one.read_text("ascii"))}
            for plan in plans:
                if plan.info.nodeid in asked:
                    self.scenario(plan).is_judged = True
                    self.scenario(plan).settle(meanwhile)

    def known_verdict(self, digest: str) -> ControlVerdict | None:
        """Return what control rows say, None where they have no verdict here."""
        task = self._verdicts.get(digest)
        return task.result() if task is not None and task.done() else None

    async def verdict(
        self, digest: str, ask: Callable[[], Coroutine[Any, Any, ControlVerdict]]
    ) -> ControlVerdict:
        """Return what control rows say; scenarios with the same ones ask them once."""
        if digest not in self._verdicts:
            from pytest_rageval.engine.scoring.control_rows import once_a_run

            asked = once_a_run(digest, self.settings, ask)
            # Not in the context of the sample that waits for it, nor cancelled with it.
            task = asyncio.get_running_loop().create_task(asked, context=Context())
            self._verdicts[digest] = task
        return await asyncio.shield(self._verdicts[digest])

    def close(self) -> None:
        """Cancel what is being asked, close connections and the loop.

        The next question starts everything anew: some plugins run failed cases again.
        """
        self.loop.close()
        self._start()
        for scenario in self._scenarios.values():
            scenario.restart()

    def next_order(self) -> int:
        """Return a place in the queue for calls: samples queue in the order they are begun."""
        return next(self._order)

    def limits_of(self, settings: ClientSettings) -> Limits:
        """Return the limits of a target, the same for all scenarios that ask it alike."""
        for one, limits in self._limits:
            if one == settings:
                return limits
        self._limits.append((settings, open_limits(settings, self.settings)))
        return self._limits[-1][1]

    def clients(self) -> Clients:
        """Return the clients of this process; call it in the loop, where they belong."""
        if self.opened is None:
            with loading():
                from pytest_rageval.clients.clients import Clients

                self.opened = Clients(self.settings)
        return self.opened

    async def _close_clients(self) -> None:
        for scenario in self._scenarios.values():
            self._note(await scenario.close_target())
        for _, limits in self._limits:
            limits.close()
        if self.opened is not None:
            self._note(self.opened.problems)  # of limits, while their locks are open
            await self.opened.aclose()
            self._note(self.opened.problems)

    def _note(self, problems: Iterable[str]) -> None:
        self._problems = tuple(dict.fromkeys([*self._problems, *problems]))


class LiveScenario:
    """Asks the target and the judges of one scenario; its ``window`` has samples asked ahead."""

    def __init__(self, plan: Plan, run: LiveRun) -> None:
        self._plan = plan
        self._run = run
        self._target = plan.target
        self._value: object = _NONE_YET
        self._is_shared = False
        self._is_settled = False
        self.is_judged = False
        """Whether its judges were asked about samples, by this process or another."""
        self.restart()

    @property
    def nodeid(self) -> str:
        """The scenario's node id."""
        return self._plan.info.nodeid

    def restart(self) -> None:
        """Forget what belonged to an event loop that is closed; a fixture's value stays."""
        self.window = SampleWindow(self._run.loop, self._ask_ahead, self._size, self._failed)
        self._target_client: TargetClient | None = None
        self._judges: tuple[Models, ScoreReuse | None] | None = None
        self._testing: asyncio.Task[Mapping[str, ControlVerdict]] | None = None

    def use_target(self, function: object, *, is_shared: bool) -> None:
        """Set the ``function`` that is the target, if it is a fixture, which only pytest has.

        ``is_shared``: the samples after the present one may be asked about with it too.
        Raises TargetError for a value that cannot be one.
        """
        assert self._plan.target is not None
        self._is_shared = False
        if function is not self._value:
            self._target = self._plan.target.of_fixture(function)
            self._value = function
            outdated, self._target_client = self._target_client, None
            if outdated is not None:
                self._run.loop.submit(outdated.aclose())
        self._is_shared = is_shared

    @property
    def is_ready(self) -> bool:
        """Whether samples can be asked about ahead.

        If the target is a fixture, it must exist, and not for one case alone.
        """
        target = self._plan.target
        return target is None or target.make is not None or self._is_shared

    @property
    def _size(self) -> int:
        """How many samples are worth having in flight at once."""
        plan = self._plan
        asked = plan.models.concurrency if plan.judged else 0
        if any(metric.info.is_async and not metric.info.asks for metric in plan.judged):
            asked = max(asked, _WITHOUT_MODELS)
        if plan.target is not None:
            asked += plan.target.settings.concurrency
        return WINDOW_PER_CALL * max(1, asked // max(1, self._run.settings.processes))

    def now(self, sample: Sample, meanwhile: Callable[[], None]) -> Judgement:
        """Judge a sample now, before all others; see ``SampleWindow.wait``."""
        loop = self._run.loop
        try:
            return waited_for(loop.submit(self._timed(sample)), meanwhile, loop)
        except BlockedError as error:
            return self._failed(sample, str(error))

    def _failed(self, sample: Sample, why: str) -> Judgement:
        """Return the judgement of a sample that could not be asked about."""
        if self._target is not None:
            return Judgement(answered=TargetReply(sample, why))
        names = [metric.column.name for metric in self._plan.judged]
        return Judgement({name: Score(name, None, error=why) for name in names})

    async def close_target(self) -> tuple[str, ...]:
        """Close the target; return what went wrong without failing a sample."""
        if self._target_client is None:
            return ()
        await self._target_client.aclose()
        return self._target_client.problems

    async def _ask_ahead(self, sample: Sample) -> Judgement:
        _SAMPLE.set(sample)  # in the context of this task, and of those that it starts
        return await self._ask(sample, self._run.next_order())

    async def _timed(self, sample: Sample) -> Judgement:
        started = time.perf_counter()
        judgement = await self._ask(sample, -1)
        judgement.latency_s = time.perf_counter() - timed_from(started)
        return judgement

    async def _ask(self, sample: Sample, order: int) -> Judgement:
        plan, reply = self._plan, None
        if self._target is not None:
            with asking(Purpose(sample=sample.id, order=order, scenario=plan.info.nodeid)):
                reply = await self._opened_target(self._target).answer(sample, order)
            if reply.error is not None:
                return Judgement(answered=reply)
            sample = reply.sample
        if not plan.judged:
            return Judgement(answered=reply)
        self.is_judged = True
        models, reuse = self._loaded_judges()
        refused = await self._refused() if plan.models.controls else NOTHING
        scores = await judge_sample(plan, sample, models, order, reuse, refused)
        return Judgement(scores, answered=reply)

    def settle(self, meanwhile: Callable[[], None]) -> None:
        """Wait for the control rows, if a judge was asked about samples."""
        if self.is_judged and self._plan.models.controls and not self._is_settled:
            loop = self._run.loop
            with suppress(BlockedError):  # its samples have failed, and say why
                waited_for(loop.submit(self._control_verdicts()), meanwhile, loop)
            self._is_settled = True

    async def _refused(self) -> Mapping[str, str]:
        """Return the metrics that must not be asked about samples, and why.

        Where control rows only warn, they are asked beside the samples; with a budget, which must
        suffice for the samples, after them.
        """
        if self._plan.info.requires_controls:
            found = await self._control_verdicts()
            return {
                name: f"{FAILED_CONTROLS}{verdict.reason}"
                for name, verdict in found.items()
                if not verdict.passed
            }
        if self._testing is None and self._run.settings.budget_usd is None:
            work = self._control_verdicts()
            self._testing = asyncio.get_running_loop().create_task(work, context=Context())
        return NOTHING

    async def _control_verdicts(self) -> Mapping[str, ControlVerdict]:
        from pytest_rageval.engine.scoring.control_rows import FIRST, LAST, ask_controls

        (models, reuse), plan = self._loaded_judges(), self._plan
        order = FIRST if plan.info.requires_controls else LAST
        tested = [one for one in plan.judged if one.column.name in plan.models.controls]
        verdicts = await asyncio.gather(
            *(
                self._run.verdict(
                    plan.models.controls[bound.column.name].digest,
                    partial(ask_controls, plan, bound, models, reuse, order),
                )
                for bound in tested
            )
        )
        return {one.column.name: found for one, found in zip(tested, verdicts, strict=True)}

    def _opened_target(self, target: TargetPlan) -> TargetClient:
        if self._target_client is None:
            limits = self._run.limits_of(target.settings)
            self._target_client = TargetClient(
                target, self._run.settings, limits, self._run.clients
            )
        return self._target_client

    def _loaded_judges(self) -> tuple[Models, ScoreReuse | None]:
        if self._judges is None:
            with loading():
                self._judges = self._opened_judges()
        return self._judges

    def _opened_judges(self) -> tuple[Models, ScoreReuse | None]:
        """Return the clients and the cached scores; call it in the loop, where they belong."""
        judge, embedding = self._plan.models.judge, self._plan.models.embedding
        if judge is None and embedding is None:
            return Models(language=self._plan.models.language), None
        if judge is not None:
            import_module("pytest_rageval.text.reply")  # the first reply would wait for it
        clients = self._run.clients()
        models = Models(
            clients.chat(judge) if judge is not None else None,
            clients.embedding(embedding) if embedding is not None else None,
            self._plan.models.language,
        )
        return models, ScoreReuse(self._plan, clients.scores)
