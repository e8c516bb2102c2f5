"""Answers of a target in the cache, if its scenario has ``cache_answers``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from pytest_rageval.clients.cache import Cache, Key, answer_key
from pytest_rageval.clients.errors import ReplayMissError
from pytest_rageval.clients.file_locks import ByteLocks, open_locks
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import TargetPlan
from pytest_rageval.model import Sample, json_plain
from pytest_rageval.targets.base import Answer

_NOT_SHOWN = frozenset({"index", "row", "tags", "skip", "xfail"})


class AnswerCache:
    """The answers of one target in the cache of a run, used as its mode says; see ``Cache``.

    An answer belongs to the target's identity and to the fields that it was shown. Equal questions
    at the same time are asked once, over all processes of a run.
    """

    def __init__(self, plan: TargetPlan, run: RunSettings) -> None:
        self._plan = plan
        self._cache = Cache(run)
        self._claims = _claims(plan, run) if self._cache.writes else None
        self._flights: SingleFlight[Answer] = SingleFlight(self._claims)

    @property
    def problem(self) -> str | None:
        """Why answers could not be cached, None if they could."""
        return self._cache.problem

    async def answer(self, sample: Sample, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the cached answer, else what ``ask`` returns, which is cached.

        An answer without a latency is not of this run. Raises ReplayMissError if the mode is replay
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
            key.sha256, lambda: self.find(key), lambda: self._asked(key, sample, ask), _shared
        )

    def key(self, sample: Sample) -> Key:
        """Return what equal questions to this target have in common."""
        return question_key(self._plan, sample)

    def find(self, key: Key) -> Answer | None:
        """Return the cached answer, None where the mode reads none, or there is none."""
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


def _claims(plan: TargetPlan, run: RunSettings) -> ByteLocks | None:
    if run.processes == 1:
        return None
    name = answer_key(plan.identity, {}).sha256[:16]
    return open_locks(run.shared_dir, f"answers-{name}")


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


def _shared(answer: Answer) -> Answer:
    return answer


def _to_entry(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "contexts": answer.contexts,
        "context_docs": answer.context_docs,
        "retrieved_ids": answer.retrieved_ids,
        "extra": dict(answer.extra),
    }


def _from_entry(plain: Mapping[str, Any] | None) -> Answer | None:
    """Return a cached answer, None for a missing or damaged entry."""
    if plain is None:
        return None
    text, extra = plain.get("text"), plain.get("extra")
    lists = [plain.get(name) for name in ("contexts", "context_docs", "retrieved_ids")]
    if not isinstance(text, str | None) or not isinstance(extra, dict):
        return None
    if not all(isinstance(found, list | None) for found in lists):
        return None
    contexts, docs, ids = (None if found is None else tuple(found) for found in lists)
    return Answer(text, contexts, docs, ids, extra, is_kept=True)
