"""Ask the system under test, within its limits and time; every failure has a reason."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_rageval.clients.errors import BudgetError, ClientError
from pytest_rageval.clients.limits.limits import Limits
from pytest_rageval.clients.limits.retry import Patience, Retry
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.clients.threads import in_thread, is_ours
from pytest_rageval.engine.plan import TargetPlan
from pytest_rageval.engine.scoring.answer_cache import AnswerCache, refuse_replay
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.extras import loading
from pytest_rageval.model import BUDGET, NOTHING, Sample
from pytest_rageval.targets.base import Answer, ModelTarget, Target, TargetError, describe_exception

if TYPE_CHECKING:
    from pytest_rageval.clients.clients import Clients


@dataclass(frozen=True, slots=True)
class TargetReply:
    """A sample with what the system under test answered, or the ``error`` why it did not.

    ``latency_s`` is how long the answer took, without waiting for a free slot, None for one from
    the cache; ``extra`` is what else the system returned.
    """

    sample: Sample
    error: str | None = None
    latency_s: float | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


class TargetClient:
    """Asks one system under test; belongs to one event loop.

    ``limits`` may be shared with others that ask it; ``clients`` are for a target that is a model.
    """

    def __init__(
        self, plan: TargetPlan, run: RunSettings, limits: Limits, clients: Callable[[], Clients]
    ) -> None:
        self._plan = plan
        self._run = run
        self._target: Target | None = None
        self._is_loaded = False
        self._clients = clients
        self._limits = limits
        self._cache = AnswerCache(plan, run) if plan.cache_answers else None
        self._hint: str | None = None
        settings = plan.settings
        self._retry = Retry(settings.retries, settings.max_wait_s)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing anything."""
        problem = self._cache.problem if self._cache is not None else None
        return tuple(found for found in (problem, self._hint) if found)

    async def answer(self, sample: Sample, order: int) -> TargetReply:
        """Return the sample with its answer; if slots are few, the lowest ``order`` goes first."""
        try:
            refuse_replay(self._plan, self._run)
            answer = await self._answer(self._plan.asked(sample), order)
        except BudgetError as error:
            return TargetReply(sample, f"{BUDGET}{self._plan.shown}: {error}")
        except (TargetError, ClientError, MissingExtraError) as error:
            return TargetReply(sample, f"{self._plan.shown}: {error}")
        except BaseException as error:  # a target may be user code
            if is_ours(error):
                raise
            return TargetReply(sample, f"{self._plan.shown}: {describe_exception(error)}")
        if answer.contexts is None and sample.contexts is not None:
            self._hint = self._plan.contexts_hint
        latency_s = None if answer.is_kept else answer.latency_s
        plan = self._plan
        shown = filled(sample, answer, plan.top_k, keeps_places=plan.keeps_places)
        return TargetReply(shown, None, latency_s, answer.extra)

    async def aclose(self) -> None:
        """Close the target."""
        if self._cache is not None:
            self._cache.close()
        if self._target is not None:
            await self._target.aclose()

    async def _answer(self, sample: Sample, order: int) -> Answer:
        if self._cache is None:
            return await self._ask(sample, order)
        return await self._cache.answer(sample, lambda: self._ask(sample, order))

    async def _ask(self, sample: Sample, order: int) -> Answer:
        if self._plan.limits_itself:
            return await self._made().answer(sample)
        patience = self._retry.patience()
        return await self._retry.run(lambda: self._attempt(sample, order, patience), patience)

    async def _attempt(self, sample: Sample, order: int, patience: Patience) -> Answer:
        target = self._made()
        if self._plan.preload is not None and not self._is_loaded:
            await in_thread(self._plan.preload)
            self._is_loaded = True
        async with self._limits.slot(order):
            await self._limits.start(0, patience)
            started = time.perf_counter()
            with self._limits.pausing(patience):
                answer = await self._in_time(target, sample)
            return replace(answer, latency_s=time.perf_counter() - started)

    async def _in_time(self, target: Target, sample: Sample) -> Answer:
        timeout_s = self._plan.settings.timeout_s
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await target.answer(sample)
        except TimeoutError as error:
            if not limit.expired():  # the target's own
                raise TargetError(describe_exception(error)) from error
            message = f"did not answer within {timeout_s:g} s (timeout_s)"
            raise TargetError(message) from None

    def _made(self) -> Target:
        """Return the target, made at the first question."""
        if self._target is None:
            if self._plan.make is None:
                raise TargetError("its fixture exists only when pytest runs the scenario")
            with loading():
                self._target = self._plan.make()
            if isinstance(self._target, ModelTarget):
                self._target.use(self._clients())
        return self._target


def filled(
    sample: Sample, answer: Answer, top_k: int | None = None, *, keeps_places: bool = False
) -> Sample:
    """Return the sample with what was answered in place of what the data held.

    Fields that the answer does not have stay: the target may have been shown those contexts.
    """
    if not keeps_places:
        answer = with_texts(answer)
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


def with_texts(answer: Answer) -> Answer:
    """Return the answer without blank contexts, as in a data set: saved answers score the same."""
    contexts, docs = answer.contexts, answer.context_docs
    if contexts is None or all(contexts):
        return answer
    kept = [at for at, text in enumerate(contexts) if text]
    docs = None if docs is None else tuple(docs[at] for at in kept)
    named = docs if docs is None or any(doc is not None for doc in docs) else None
    return replace(answer, contexts=tuple(contexts[at] for at in kept), context_docs=named)
