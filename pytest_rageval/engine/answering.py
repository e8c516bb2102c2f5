"""Asking the system under test: within its limits, in time, and every failure with its reason."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_rageval.clients.errors import BudgetError, ClientError, RateLimitError
from pytest_rageval.clients.foreign import is_ours
from pytest_rageval.clients.limits import Limits
from pytest_rageval.clients.retry import Retry, RetryPolicy
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.bind_target import TargetPlan
from pytest_rageval.engine.kept_answers import KeptAnswers, refuse_replay
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.model import BUDGET, NOTHING, Sample
from pytest_rageval.targets.base import Answer, ModelTarget, SlowToLoad, Target, TargetError
from pytest_rageval.targets.frames import told

if TYPE_CHECKING:
    from pytest_rageval.clients.stack import Clients


@dataclass(frozen=True, slots=True)
class Answered:
    """A sample with what the system under test answered, or the ``error`` why it did not.

    ``latency_s`` is how long the answer took, without waiting for a free place, None for one from
    the cache; ``extra`` is what else the system returned.
    """

    sample: Sample
    error: str | None = None
    latency_s: float | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


class Answering:
    """Asks one system under test; belongs to one event loop.

    ``limits`` may be shared with others that ask it; ``clients`` are for a target that is a model.
    """

    def __init__(
        self, plan: TargetPlan, run: RunSettings, limits: Limits, clients: Callable[[], Clients]
    ) -> None:
        self._plan = plan
        self._run = run
        self._target: Target | None = None
        self._clients = clients
        self._limits = limits
        self._kept = KeptAnswers(plan, run) if plan.cache_answers else None
        settings = plan.settings
        self._retry = Retry(RetryPolicy(retries=settings.retries, max_wait_s=settings.max_wait_s))

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing anything."""
        problem = self._kept.problem if self._kept is not None else None
        return () if problem is None else (problem,)

    async def answer(self, sample: Sample, order: int) -> Answered:
        """Return the sample as answered; where places are few, the lowest ``order`` goes first."""
        try:
            refuse_replay(self._plan, self._run)
            answer = await self._answer(sample, order)
        except BudgetError as error:
            return Answered(sample, f"{BUDGET}{self._plan.shown}: {error}")
        except (TargetError, ClientError, MissingExtraError) as error:
            return Answered(sample, f"{self._plan.shown}: {error}")
        except BaseException as error:  # a target may be anyone's code
            if is_ours(error):
                raise
            return Answered(sample, f"{self._plan.shown}: {told(error)}")
        latency_s = None if answer.is_kept else answer.latency_s
        return Answered(filled(sample, answer, self._plan.top_k), None, latency_s, answer.extra)

    async def aclose(self) -> None:
        """Close the target."""
        if self._kept is not None:
            self._kept.close()
        if self._target is not None:
            await self._target.aclose()

    async def _answer(self, sample: Sample, order: int) -> Answer:
        if self._kept is None:
            return await self._ask(sample, order)
        return await self._kept.answer(sample, lambda: self._ask(sample, order))

    async def _ask(self, sample: Sample, order: int) -> Answer:
        if self._plan.limits_itself:
            return await self._made().answer(sample)
        return await self._retry.run(lambda: self._attempt(sample, order))

    async def _attempt(self, sample: Sample, order: int) -> Answer:
        target = self._made()
        if isinstance(target, SlowToLoad):
            await target.load()
        async with self._limits.slot(order):
            await self._limits.start(0)
            started = time.perf_counter()
            try:
                answer = await self._in_time(target, sample)
            except RateLimitError as error:
                if error.retry_after_s and error.retry_after_s <= self._retry.max_wait_s:
                    self._limits.pause(error.retry_after_s)
                raise
            return replace(answer, latency_s=time.perf_counter() - started)

    async def _in_time(self, target: Target, sample: Sample) -> Answer:
        timeout_s = self._plan.settings.timeout_s
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await target.answer(sample)
        except TimeoutError as error:
            if not limit.expired():  # the target's own
                raise TargetError(told(error)) from error
            message = f"did not answer within {timeout_s:g} s (timeout_s)"
            raise TargetError(message) from None

    def _made(self) -> Target:
        """Return the target, made at the first question."""
        if self._target is None:
            if self._plan.make is None:
                raise TargetError("its fixture is there when pytest runs the scenario only")
            self._target = self._plan.make()
            if isinstance(self._target, ModelTarget):
                self._target.use(self._clients())
        return self._target


def filled(sample: Sample, answer: Answer, top_k: int | None = None) -> Sample:
    """Return the sample with what was answered in place of what the data held.

    What the answer says nothing about stays: whoever gave it may have been shown those contexts.
    """
    said: dict[str, Any] = {
        name: found[:top_k]
        for name in ("contexts", "context_docs", "retrieved_ids")
        if (found := getattr(answer, name)) is not None
    }
    if "contexts" in said:
        said.setdefault("context_docs", None)  # those of the data belong to other contexts
    if answer.text is not None:
        said["answer"] = answer.text
    return replace(sample, **said)
