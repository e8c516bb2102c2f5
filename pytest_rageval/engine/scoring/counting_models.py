"""Models that only count what they are asked, and reply from the cache or with what stands in."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, cycle, islice, product
from typing import Any, Final

from pytest_rageval.clients.accounting import current_purpose
from pytest_rageval.clients.base import Accept, Message, Reply, ReplySchema, Vector
from pytest_rageval.clients.cache import Cache, chat_key, vector_key
from pytest_rageval.clients.chat import cached_calls, cached_reply, question_kind
from pytest_rageval.clients.embed import cached_vector
from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.reply_form import in_words, instance
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings
from pytest_rageval.clients.tokens import Habits
from pytest_rageval.engine.scoring.stand_ins import Guesses

MOST_LEARNED: Final = 400
"""So many replies in the cache, the newest, show how a model counts."""

_PROMPTS_OFF: Final = 0.15
"""How far the tokens of prompts may be from the guess, as a share of it."""


@dataclass
class ModelUse:
    """What a run would ask one model.

    ``requests`` counts what the cache does not answer, for an embedding model each text, though
    several are sent together; ``cached`` counts the calls that it answers. ``controls`` of the
    requests are for control rows; ``prompt_tokens`` are what they hold, about. ``kinds`` counts the
    requests by what is asked. ``is_least``: there may be more, which cannot be known before the
    replies. ``fewest`` and ``most`` are the ends between which the real use will lie, where these
    can be known.
    """

    settings: ClientSettings
    habits: Habits = field(default_factory=Habits)
    requests: int = 0
    cached: int = 0
    prompt_tokens: float = 0.0
    is_least: bool = False
    controls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    fewest: ModelUse | None = None
    most: ModelUse | None = None

    @property
    def calls(self) -> int:
        """How many calls that takes."""
        is_batched = self.settings.role == "embedding"
        return math.ceil(self.requests / self.settings.batch_size) if is_batched else self.requests

    @property
    def ends(self) -> tuple[ModelUse, ModelUse]:
        """The use with the fewest calls that are possible, and that with the most."""
        return self.fewest or self, self.most or self

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


def only_read(run: RunSettings) -> RunSettings:
    """Return the settings of one process that reads what a run would find in the cache.

    Refresh and off take nothing that is there. In place of replay, which fails at a miss, it reads.
    """
    mode: CacheMode = "off" if run.cache_mode in ("off", "refresh") else "read"
    return replace(run, cache_mode=mode, shared_dir=None, processes=1)


def habits_of(cache: Cache, settings: ClientSettings) -> Habits:
    """Return how a model counts and writes, by its newest replies in the cache."""
    return Habits(islice(cached_calls(cache, settings), MOST_LEARNED), settings.max_tokens)


class Known:
    """What needs not be asked: what the cache has, and what this run has asked.

    A question may follow from a reply that is made up, so ``asked`` notes it together with what is
    ``assumed`` of such replies. ``is_shared``: equal questions are asked once, by the cache.
    """

    def __init__(
        self, cache: Cache, asked: set[str], assumed: Sequence[str], *, is_shared: bool
    ) -> None:
        self.cache = cache
        self._asked = asked
        self._assumed = assumed
        self._is_shared = is_shared
        self._table = ""
        self._times = Counter[str]()

    def begin(self, table: str) -> None:
        """Begin a table, maybe again, "" for none: what was asked for it before is not asked anew.

        That holds with the cache off, too, where each of equal questions is asked otherwise.
        """
        self._table, self._times = table, Counter()

    def is_asked(self, key: str) -> bool:
        """Return whether a question was asked before, so that it is not asked again; note it."""
        if not self._is_shared:
            if not self._table:
                return False
            self._times[key] += 1
            key = f"{self._table} {key} {self._times[key]}"
        keys = {f"{assumed} {key}" for assumed in self._assumed}
        is_known = keys <= self._asked
        self._asked |= keys
        return is_known


class CountingJudge:
    """Counts requests to a judge. Those that the cache does not answer get a made-up reply.

    Raises NotAskedError where no such reply is acceptable, or there is no schema for one.
    ``made_up`` counts the requests without a known reply.
    """

    def __init__(self, use: ModelUse, known: Known, guesses: Guesses) -> None:
        self.made_up = 0
        self._use = use
        self._known = known
        self._guesses = guesses

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        key = chat_key(self._use.settings, messages, schema, current_purpose())
        kept = cached_reply(self._known.cache, key, accept)
        if kept is not None:
            self._use.cached += 1
            return kept
        if self._known.is_asked(key.sha256):
            self._use.cached += 1
        else:
            self._count(messages, schema, question_kind(key.material))
        self.made_up += 1
        text = self._stand_in(messages, schema, accept, key.sha256)
        if text is None:
            raise NotAskedError(self._use.settings.shown)
        return Reply(text)

    def _stand_in(
        self,
        messages: Sequence[Message],
        schema: ReplySchema | None,
        accept: Accept | None,
        seed: str,
    ) -> str | None:
        """Return a reply in place of the real one; equal questions get equal ones."""
        if schema is None:
            return None
        prompt = messages[-1].content
        for text in self._guesses.replies(schema, prompt, seed):
            if _is_acceptable(accept, text):
                return text
        # A text of the prompt stands in for its translation, which is about as long.
        claims = [f"{_CLAIM} {seed[:4]}.{number}" for number in range(_MOST_TEXTS)]
        return _made_up(schema, accept, _listed(prompt), claims)

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
        if _is_acceptable(accept, text):
            return text
    return None


def _is_acceptable(accept: Accept | None, text: str) -> bool:
    try:
        if accept is not None:
            accept(text)
    except ValueError:
        return False
    return True


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


class CountingEmbedding:
    """Counts texts to embed; those that the cache does not have get a made-up vector."""

    def __init__(self, use: ModelUse, known: Known) -> None:
        self._use = use
        self._known = known

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        keys = {text: vector_key(self._use.settings, text, is_local=False) for text in texts}
        found = {text: cached_vector(self._known.cache, key) for text, key in keys.items()}
        vectors = [vector for text in texts if (vector := found[text]) is not None]
        missing = [text for text, vector in found.items() if vector is None]
        fresh = [text for text in missing if not self._known.is_asked(keys[text].sha256)]
        for text in fresh:
            self._use.ask([text])
        self._use.cached += not fresh
        made_up = array("f", [1.0] * (len(vectors[0]) if vectors else 2))
        return [found[text] or made_up for text in texts]
