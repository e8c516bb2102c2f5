"""Ask the system under test, or the cache of its answers; every failure has a reason."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from pytest_rageval.clients.cache import Cache, Key, answer_key
from pytest_rageval.clients.deadline import OverdueError, within
from pytest_rageval.clients.errors import BudgetError, ClientError, ReplayMissError
from pytest_rageval.clients.file_locks import run_locks
from pytest_rageval.clients.limits.limits import Limits
from pytest_rageval.clients.limits.retry import Patience, Retry
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.clients.threads import in_thread, is_our_stop
from pytest_rageval.datasets.id_cells import by_rank, fitting
from pytest_rageval.engine.plan import TargetPlan
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.extras import loading
from pytest_rageval.model import BUDGET, NOTHING, Sample, json_plain
from pytest_rageval.scenario.fields import OF_ANSWERS
from pytest_rageval.targets.base import Answer, ModelTarget, Target, TargetError, describe_exception

if TYPE_CHECKING:
    from pytest_rageval.clients.clients import Clients


@dataclass(frozen=True, slots=True)
class TargetReply:
    """A sample with what the system under test answered, or the ``error`` why it did not.

    ``latency_s`` is how long the answer took, without waiting for a free slot, None for an error
    and for an answer from the cache; ``extra`` is what else the system returned.
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
        self._hints: dict[str, str] = {}
        settings = plan.settings
        self._retry = Retry(settings.retries, settings.max_wait_s)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing anything."""
        problem = self._cache.problem if self._cache is not None else None
        doubt = self._plan.doubt and f"{self._plan.shown}: {self._plan.doubt}"
        return (*filter(None, (problem, doubt)), *self._hints.values())

    async def answer(self, sample: Sample, order: int) -> TargetReply:
        """Return the sample with its answer or error; the lowest ``order`` gets a slot first."""
        try:
            refuse_replay(self._plan, self._run)
            answer = await self._answer(self._plan.asked(sample), order)
            shown = filled(sample, answer, self._plan.beside, self._plan.top_k)
        except BudgetError as error:
            return TargetReply(sample, f"{BUDGET}{self._plan.shown}: {error}")
        except (TargetError, ClientError, MissingExtraError) as error:
            return TargetReply(sample, f"{self._plan.shown}: {error}")
        except BaseException as error:  # a target may be user code
            if is_our_stop(error):
                raise
            return TargetReply(sample, f"{self._plan.shown}: {describe_exception(error)}")
        self._note(sample, answer)
        latency_s = None if answer.is_kept else answer.latency_s
        return TargetReply(shown, None, latency_s, answer.extra)

    def _note(self, sample: Sample, answer: Answer) -> None:
        """Note what is to be said of an answer, once for all."""
        if answer.remark:
            self._hints[answer.remark] = f"{self._plan.shown}: {answer.remark}"
        said = {name for name in OF_ANSWERS["citations"] if answer.extra.get(name)}
        if answer.contexts is None:
            said |= _kept(sample, answer)
        self._hints |= {name: hint for name, hint in self._plan.hints.items() if name in said}

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
            return await within(target.answer(sample), timeout_s)
        except TimeoutError as error:  # the target's own
            raise TargetError(describe_exception(error)) from error
        except OverdueError:
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


def _kept(sample: Sample, answer: Answer) -> set[str]:
    """Return the fields of a row that stand in for what was not answered."""
    kept = {"contexts"} if sample.contexts is not None else set[str]()
    if answer.retrieved_ids is None and (kept or sample.retrieved_ids is not None):
        kept.add("retrieved_ids")
    return kept


def filled(
    sample: Sample,
    answer: Answer,
    beside: Mapping[str, tuple[str, ...]],
    top_k: int | None = None,
    *,
    keeps_text: bool = False,
) -> Sample:
    """Return the sample with what was answered in place of what the data held.

    Contexts stay where the answer has none, for the target may have been shown them, and so do ids
    if it has none either. Else both are replaced: ids of earlier contexts do not stay, nor do
    citations and confidence of the earlier text. A system that only searches leaves no text, unless
    that of the data is kept (``keeps_text``).
    ``beside`` is what is read beside a text; if citations are, a blank context keeps its place.
    Raises TargetError for citations and a confidence that cannot be read.
    """
    placed = sample if answer.contexts is None else answer
    ids = by_rank(answer.retrieved_ids, placed.contexts, placed.context_docs)
    if "citations" not in beside:
        answer = with_texts(answer)
    found: dict[str, Any] = {"contexts": answer.contexts, "context_docs": answer.context_docs}
    found |= dict.fromkeys(("retrieved_ids", "context_ids"))
    found = ids if answer.contexts is None else {**found, **ids}
    said = {name: part and part[:top_k] for name, part in found.items()}
    if answer.text is not None or (said and not keeps_text):
        said |= {"answer": answer.text, "cited_sentences": None, **_beside(answer, beside)}
    answered = replace(sample, **said)
    return fitting(answered) if ids else answered


def _beside(answer: Answer, columns: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return what an answer says beside its text, None for what it does not."""
    # Not at the top: most answers say no more than their text.
    from pytest_rageval.datasets.answer_fields import read_returned
    from pytest_rageval.datasets.cells import BadValueError

    try:
        return read_returned(answer.extra, columns)
    except BadValueError as error:
        raise TargetError(f"its {error}") from None


def with_texts(answer: Answer) -> Answer:
    """Return the answer without blank contexts, as in a data set: saved answers score the same."""
    contexts, docs = answer.contexts, answer.context_docs
    if contexts is None or all(contexts):
        return answer
    kept = [at for at, text in enumerate(contexts) if text]
    docs = None if docs is None else tuple(docs[at] for at in kept)
    named = docs if docs is None or any(doc is not None for doc in docs) else None
    return replace(answer, contexts=tuple(contexts[at] for at in kept), context_docs=named)


_NOT_SHOWN = frozenset({"index", "row", "tags", "skip", "xfail"})


class AnswerCache:
    """The answers of one target in the cache of a run, used as its mode says; see ``Cache``.

    An answer belongs to the target's identity and to the fields that it was shown. Equal questions
    at the same time are asked once: by all processes of a run if it keeps answers, by each process
    if it only reads them. With the cache off, each question is asked.
    """

    def __init__(self, plan: TargetPlan, run: RunSettings) -> None:
        self._plan = plan
        self._cache = Cache(run)
        name = f"answers-{answer_key(plan.identity, {}).sha256[:16]}"
        self._claims = run_locks(run, name) if self._cache.writes else None
        self._flights: SingleFlight[Answer] = SingleFlight(self._claims)

    @property
    def problem(self) -> str | None:
        """Why answers could not be cached, None if they could."""
        return self._cache.problem

    async def answer(self, sample: Sample, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the cached answer, else what ``ask`` returns; it is cached if the mode writes.

        A cached answer says that it ``is_kept``. Raises ReplayMissError if the mode is replay
        and the cache has none.
        """
        if not self._cache.reads:
            return await ask()
        key = self.key(sample)
        found = self.find(key)
        if found is None and self._cache.mode == "replay":
            raise self._miss(key, sample)
        if found is not None:
            return found
        return await self._flights.run(
            key.sha256,
            lambda: self.find(key),
            lambda: self._asked(key, sample, ask),
            lambda answer: answer,
        )

    def key(self, sample: Sample) -> Key:
        """Return what equal questions to this target have in common."""
        return question_key(self._plan, sample)

    def find(self, key: Key) -> Answer | None:
        """Return the cached answer; None if the mode reads none, or there is no sound one."""
        return _from_entry(self._cache.get("answer", key.sha256)) if self._cache.reads else None

    def close(self) -> None:
        """Close the files."""
        self._cache.close()
        if self._claims is not None:
            self._claims.close()

    async def _asked(
        self, key: Key, sample: Sample, ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        answer = await ask()
        if self._cache.writes:
            self._cache.put("answer", key, _to_entry(answer), sample.id)
        return answer

    def _miss(self, key: Key, sample: Sample) -> ReplayMissError:
        why = self._cache.explain_miss("answer", key, sample.id)
        return ReplayMissError(f"no answer in the cache (replay sends no requests); {why}")


def question_key(plan: TargetPlan, sample: Sample) -> Key:
    """Return what equal questions to equal systems have in common."""
    return answer_key(plan.identity, _shown(plan.asked(sample), plan.fields))


def refuse_replay(plan: TargetPlan, run: RunSettings) -> None:
    """Raise ReplayMissError in replay for a service whose answers are not cached.

    A function in this process is called in replay too: it is part of what is tested.
    """
    if run.cache_mode == "replay" and plan.is_remote and not plan.cache_answers:
        hint = "this target keeps no answers: cache_answers: true, or save them to a file"
        raise ReplayMissError(f"replay sends no requests, and {hint}")


def _shown(sample: Sample, shown: frozenset[str] | None) -> Mapping[str, Any]:
    """Return the fields of a row that a target is shown; all of them if ``shown`` is None."""
    if shown is None:
        shown = frozenset(found.name for found in fields(Sample)) - _NOT_SHOWN
    known = {name: json_plain(_field(sample, name)) for name in sorted(shown)}
    return {name: value for name, value in known.items() if value is not None}


def _field(sample: Sample, name: str) -> Any:
    _, dot, column = name.partition(".")
    if not dot:
        return getattr(sample, name) or None
    if column in sample.metadata:
        return sample.metadata[column]
    return sample.metadata.get(column.partition(".")[0])


_KEPT = ("text", "contexts", "context_docs", "retrieved_ids", "extra", "remark")
"""What an entry of the cache has of an answer."""


def _to_entry(answer: Answer) -> dict[str, Any]:
    return {**{name: getattr(answer, name) for name in _KEPT}, "extra": dict(answer.extra)}


def _from_entry(plain: Mapping[str, Any] | None) -> Answer | None:
    """Return a cached answer, None for a missing or damaged entry."""
    if plain is None:
        return None
    with suppress(ValidationError):
        kept = convert({name: plain.get(name) for name in _KEPT}, Answer)
        return replace(kept, is_kept=True)
    return None
