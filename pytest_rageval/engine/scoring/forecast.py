"""What a run would ask, without asking it: calls, tokens and dollars, and what the cache has.

No request is sent, and no code of the user runs: neither the target nor a metric of theirs.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, cycle, islice, product
from typing import Any, Final, cast

from pytest_rageval.clients.accounting import Ledger, Purpose, asking, current_purpose
from pytest_rageval.clients.base import (
    CHAT_REGISTRY,
    EMBEDDING_REGISTRY,
    Accept,
    Message,
    Reply,
    ReplySchema,
    Vector,
)
from pytest_rageval.clients.cache import Cache, Key, chat_key, vector_key
from pytest_rageval.clients.chat import cached_calls, cached_reply, question_kind
from pytest_rageval.clients.embed import cached_vector
from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.reply_form import in_words, instance
from pytest_rageval.clients.score_cache import ScoreCache
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.tokens import Habits
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.scoring.answer_cache import AnswerCache, question_key
from pytest_rageval.engine.scoring.ask_target import filled
from pytest_rageval.engine.scoring.control_rows import rows_needed
from pytest_rageval.engine.scoring.cost import asked_models, texts_of
from pytest_rageval.engine.scoring.judge_sample import asked_metrics
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.metrics.base import JudgedMetric, Models, absent_fields, missing_fields
from pytest_rageval.model import Sample
from pytest_rageval.scenario.fields import ANSWERED_FIELDS

_PROMPTS_OFF: Final = 0.15
"""How far the tokens of prompts may be from the guess."""

_MOST_LEARNED: Final = 400
"""So many replies in the cache, the newest, show how a model counts."""

_ANSWER, _CONTEXT = " so says the answer" * 20, " so says the context" * 40
"""As long as many are, in place of those that only the system under test can give."""

_CONTEXTS: Final = 3


@dataclass
class ModelUse:
    """What a run would ask one model.

    ``requests`` are those that the cache does not answer, of an embedding model the texts, which
    are sent together; ``controls`` of them are for control rows; ``prompt_tokens`` are what they
    hold, about. ``kinds`` counts the requests by what is asked. ``is_least``: there may be more,
    which cannot be known before the replies.
    """

    settings: ClientSettings
    habits: Habits = field(default_factory=Habits)
    requests: int = 0
    cached: int = 0
    prompt_tokens: float = 0.0
    is_least: bool = False
    controls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        """How many calls that takes."""
        is_batched = self.settings.role == "embedding"
        return math.ceil(self.requests / self.settings.batch_size) if is_batched else self.requests

    @property
    def reply_tokens(self) -> tuple[float, float]:
        """The least and the most tokens that the replies would have."""
        return self.habits.completion(self.kinds)

    @property
    def usd(self) -> tuple[float, float] | None:
        """The least and the most that it would cost, None where the scenario has no price of it."""
        price, (least, most) = self.settings.price, self.reply_tokens
        if price is None:
            return None
        return (
            price.cost_usd(self.prompt_tokens * (1 - _PROMPTS_OFF), least),
            price.cost_usd(self.prompt_tokens * (1 + _PROMPTS_OFF), most),
        )

    def ask(self, texts: Iterable[str], kind: str = "") -> None:
        """Count a request with these texts; ``kind`` as in ``Habits``."""
        is_chat = self.settings.role != "embedding"
        self.requests += 1
        self.prompt_tokens += self.habits.prompt(texts, kind, is_chat=is_chat)
        self.kinds[kind] += is_chat


@dataclass
class TargetUse:
    """What a run would ask the system under test; ``calls`` are those that the cache lacks."""

    shown: str
    calls: int = 0
    cached: int = 0


@dataclass(frozen=True)
class Forecast:
    """What a run of one scenario would ask; ``models`` may include a target that is a model."""

    models: Sequence[ModelUse] = ()
    target: TargetUse | None = None


async def forecast(
    plan: Plan, samples: Iterable[Sample], run: RunSettings, asked: set[str] | None = None
) -> Forecast:
    """Return what a run would ask about these samples of a plan.

    Tokens are a guess. Calls are those of a run in which no request fails. What is asked after a
    reply is taken from the cache, else a made-up reply of the right form stands in for it; where
    there is none, and for metrics of users, see ``ModelUse.is_least``. ``asked`` has the questions
    that the run asked for other plans, and gets those of this one: equal ones are asked once.
    """
    found = _Forecaster(plan, run, set() if asked is None else asked)
    try:
        for sample in samples:
            await found.add(sample)
        await found.add_controls()
    finally:
        found.close()
    return Forecast(tuple(found.uses.values()), found.target)


class _Known:
    """What needs not be asked: what the cache has, and what this run has asked."""

    def __init__(self, cache: Cache, asked: set[str], *, is_shared: bool) -> None:
        self.cache = cache
        self._asked = asked
        self._is_shared = is_shared

    def is_asked(self, key: str) -> bool:
        """Return whether a question was asked before; from now on, it was."""
        if not self._is_shared:
            return False
        is_known = key in self._asked
        self._asked.add(key)
        return is_known


class _Forecaster:
    def __init__(self, plan: Plan, run: RunSettings, asked: set[str]) -> None:
        self.target = None if plan.target is None else TargetUse(plan.target.shown)
        self._plan = plan
        mode = run.cache_mode
        # Only read: refresh and off take nothing that is there, and replay explains its misses.
        reads = replace(run, cache_mode="off" if mode in ("off", "refresh") else "read")
        reads = replace(reads, shared_dir=None, processes=1)
        self._cache = Cache(reads)
        self._ledger = Ledger()
        self._reuse = ScoreReuse(plan, ScoreCache(self._cache, self._ledger))
        self._answers = None
        if plan.target is not None and plan.target.cache_answers and plan.target.fixture is None:
            self._answers = AnswerCache(plan.target, reads)
        models = [_canonical(one) for one, times in asked_models(plan) if times]
        self.uses = {model.role: ModelUse(model, _habits(self._cache, model)) for model in models}
        self._known = _Known(self._cache, asked, is_shared=mode != "off")
        judge, embedding = self.uses.get("judge"), self.uses.get("embedding")
        self._models = Models(
            None if judge is None else _Judge(judge, self._known),
            None if embedding is None else _Embedding(embedding, self._known),
            plan.models.language,
        )

    def close(self) -> None:
        """Close the files of the cache."""
        self._cache.close()
        if self._answers is not None:
            self._answers.close()

    async def add(self, sample: Sample) -> None:
        """Count what would be asked about a sample."""
        answered = self._answered(sample)
        metrics = self._likely(sample) if answered is None else asked_metrics(self._plan, answered)
        filled = [metric for metric in metrics if metric.info.fills]
        # Each document is graded once for all of them.
        for metric in (one for one in metrics if one not in filled[1:]):
            for repeat in range(self._plan.repeats if metric.info.asks else 0):
                await self._judge(metric, sample, answered, repeat)

    async def add_controls(self) -> None:
        """Count what would be asked to test the judges: as many rows as a good one needs."""
        before = {role: use.requests for role, use in self.uses.items()}
        for bound in self._plan.judged:
            rows = self._plan.models.controls.get(bound.column.name)
            for row in rows_needed(rows) if rows is not None else ():
                await self._judge(bound, row, row, 0)
        for role, use in self.uses.items():
            use.controls = use.requests - before[role]

    def _likely(self, sample: Sample) -> list[BoundMetric]:
        """Return the metrics that ask, if the answer that is not known yet has what it may have."""
        target = self._plan.target
        given = ANSWERED_FIELDS if target is None else target.provides
        return [
            metric
            for metric in self._plan.judged
            if given.issuperset(absent_fields(sample, metric.info.needs))
            or (
                metric.info.or_needs
                and given.issuperset(absent_fields(sample, metric.info.or_needs))
            )
        ]

    def _answered(self, sample: Sample) -> Sample | None:
        """Return the sample with its answer, None where that is not known yet."""
        plan = self._plan
        if plan.target is None or self.target is None:
            # A test function brings the answer.
            return sample if plan.info.is_of_file else None
        if self._answers is not None:
            key = self._answers.key(sample)
            kept = self._answers.find(key)
            if kept is not None:
                self.target.cached += 1
                return filled(sample, kept, plan.target.top_k)
            if self._known.is_asked(key.sha256):
                self.target.cached += 1
                return None
        self.target.calls += 1
        model = self.uses.get(plan.target.settings.role) if plan.target.limits_itself else None
        if model is not None:
            model.ask(texts_of(replace(sample, answer=None, references=None)))
        return None

    async def _judge(
        self, bound: BoundMetric, sample: Sample, answered: Sample | None, repeat: int
    ) -> None:
        """Count what one metric would ask about a sample, once."""
        roles = [role for role in sorted(bound.info.asks) if role in self.uses]
        if not roles:  # a model in this process
            return
        if answered is not None:
            answered = self._seen(bound, answered)
            if self._has_score(bound, answered, repeat, roles[-1]):
                return
        # Any answer that the cache cannot have shows how often it asks.
        shown = answered or self._seen(bound, self._with_stand_ins(sample))
        before = self._looked_up
        is_whole = bound.is_known and not missing_fields(shown, bound.info)
        if is_whole:
            is_whole = await self._run(
                bound, shown, Purpose(bound.column.name, bound.info.version, repeat, sample.id)
            )
        if self._looked_up == before and not is_whole:
            for role in roles:
                self.uses[role].ask(texts_of(answered or sample))
        for role in roles:
            self.uses[role].is_least |= not is_whole

    def _seen(self, bound: BoundMetric, sample: Sample) -> Sample:
        if self._plan.answers is None:
            return sample
        # Not at the top: most scenarios do not say how answers cite, refuse or follow.
        from pytest_rageval.engine.scoring.answer_rules import seen_by

        return seen_by(self._plan.answers, bound, sample)

    async def _run(self, bound: BoundMetric, sample: Sample, purpose: Purpose) -> bool:
        """Have a metric ask models that only count; return whether it has asked all that it will.

        What else it raises would be the score's error in a real run.
        """
        try:
            with asking(purpose):
                await cast("JudgedMetric", bound.metric).ascore(sample, self._models)
        except NotAskedError:
            return bound.is_ours and not bound.info.keeps_scores  # they ask everything at once
        except Exception:  # noqa: BLE001  (whatever made-up replies lead to)
            return False
        return True

    @property
    def _looked_up(self) -> int:
        return sum(use.requests + use.cached for use in self.uses.values())

    def _with_stand_ins(self, sample: Sample) -> Sample:
        """Return the sample with texts for what the system under test will answer."""
        target, said = self._plan.target, self._stand_in(sample)
        found = replace(sample, answer=said + _ANSWER)
        if target is None or "contexts" not in target.provides or sample.contexts is not None:
            return found
        numbers = range(target.top_k or _CONTEXTS)
        return replace(found, contexts=tuple(f"{said} {number}{_CONTEXT}" for number in numbers))

    def _stand_in(self, sample: Sample) -> str:
        """Return a text for an answer that is not known: another one where another may be given.

        Only equal systems give equal answers; those that keep theirs do so to equal questions.
        """
        target = self._plan.target
        if target is None:
            whose = hashlib.sha256(self._plan.info.nodeid.encode("utf-8", "replace")).hexdigest()
        else:
            whose = question_key(target, sample).sha256
        is_kept = self._answers is not None and self._cache.reads
        return whose[:16] if is_kept else f"{whose[:12]}: {sample.id}"

    def _has_score(self, bound: BoundMetric, sample: Sample, repeat: int, role: str) -> bool:
        """Return whether the cache has the score, and count the replies that it was made of."""
        key = self._reuse.key(bound, sample, repeat) if self._cache.reads else None
        before = self._ledger.usage.cached
        has_score = key is not None and self._reuse.cache.find(key) is not None
        self.uses[role].cached += self._ledger.usage.cached - before
        return has_score


def _canonical(settings: ClientSettings) -> ClientSettings:
    """Return the settings with the provider's own name, as in the keys of the cache."""
    if settings.role == "judge":
        return replace(settings, provider=CHAT_REGISTRY.get(settings.provider).name)
    if settings.role == "embedding":
        return replace(settings, provider=EMBEDDING_REGISTRY.get(settings.provider).name)
    return settings


def _habits(cache: Cache, settings: ClientSettings) -> Habits:
    return Habits(islice(cached_calls(cache, settings), _MOST_LEARNED), settings.max_tokens)


class _Judge:
    """Counts requests to a judge. Those that the cache does not answer get a made-up reply.

    They raise NotAskedError where no such reply is acceptable, or there is no schema for one.
    """

    def __init__(self, use: ModelUse, known: _Known) -> None:
        self._use = use
        self._known = known

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        cache = self._known.cache
        key = chat_key(self._use.settings, messages, schema, current_purpose())
        kept = cached_reply(cache, key, accept) if cache.reads else None
        if kept is not None:
            self._use.cached += 1
            return kept
        if self._known.is_asked(key.sha256):
            self._use.cached += 1
        else:
            self._count(messages, schema, question_kind(key.material))
        # What the judge would translate stays as long as it is. Equal questions get equal replies.
        listed = _listed(messages[-1].content)
        claims = [f"{_CLAIM} {key.sha256[:4]}.{number}" for number in range(_MOST_TEXTS)]
        text = None if schema is None else _made_up(schema, accept, listed, claims)
        if text is None:
            raise NotAskedError(self._use.settings.shown)
        return Reply(text)

    def _count(self, messages: Sequence[Message], schema: ReplySchema | None, kind: str) -> None:
        form = self._use.settings.form
        if schema is not None and form != "auto":
            messages = in_words(messages, schema, form)
        self._use.ask([message.content for message in messages], kind)


_CLAIM: Final = "What the judge finds in the text that it is asked about, which is claim"
"""As long as a claim or a reason often is."""

_ITEMS, _MOST_ITEMS, _MOST_TEXTS = 3, 40, 200
"""How many claims a text has, if any number may be; how many are tried; texts in a reply."""


def _made_up(
    schema: ReplySchema, accept: Accept | None, listed: Sequence[str], claims: Sequence[str]
) -> str | None:
    """Return a reply that a metric can go on with, None where none is acceptable."""
    sizes = [len(listed) or _ITEMS, *range(1, _MOST_ITEMS)]
    for texts, number, items in chain(
        product([[*listed, *claims]], [1], sizes),
        product([claims], [0, 2, 3, 4, 5], [_ITEMS]),  # another scale of marks
        product([["1"]], [1], sizes),  # verdicts that are texts
    ):
        text = json.dumps(instance(schema, _leaf(number, cycle(texts)), items))
        try:
            if accept is not None:
                accept(text)
        except ValueError:
            continue
        return text
    return None


def _listed(prompt: str) -> list[str]:
    """Return the texts in the JSON list that a prompt ends with, none without one."""
    try:
        found = json.loads(prompt[prompt.rindex("\n[") :])
    except ValueError:
        return []
    return found if all(isinstance(one, str) for one in found) else []


def _leaf(number: int, texts: Iterator[str]) -> Callable[[Mapping[str, Any]], Any]:
    def value(part: Mapping[str, Any]) -> Any:
        if part.get("enum") or "const" in part:
            return part["enum"][0] if part.get("enum") else part["const"]
        kind = part.get("type")
        return (
            number if kind in ("integer", "number") else True if kind == "boolean" else next(texts)
        )

    return value


class _Embedding:
    """Counts texts to embed; those that the cache does not have get a made-up vector."""

    def __init__(self, use: ModelUse, known: _Known) -> None:
        self._use = use
        self._known = known

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        keys = {text: vector_key(self._use.settings, text, is_local=False) for text in texts}
        found = {text: self._kept(key) for text, key in keys.items()}
        vectors = [vector for text in texts if (vector := found[text]) is not None]
        missing = [text for text, vector in found.items() if vector is None]
        fresh = [text for text in missing if not self._known.is_asked(keys[text].sha256)]
        for text in fresh:
            self._use.ask([text])
        self._use.cached += not fresh
        made_up = array("f", [1.0] * (len(vectors[0]) if vectors else 2))
        return [found[text] or made_up for text in texts]

    def _kept(self, key: Key) -> Vector | None:
        return cached_vector(self._known.cache, key) if self._known.cache.reads else None
