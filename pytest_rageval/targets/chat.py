"""A language model as the system under test: a row becomes a prompt, the reply is the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from pytest_rageval.clients.http import preload
from pytest_rageval.clients.settings import ClientSettings, client_settings
from pytest_rageval.extras import installed, require
from pytest_rageval.model import Sample
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.fields import FIELD_OF
from pytest_rageval.scenario.model_specs import ModelSpec
from pytest_rageval.scenario.spec import Amount, Count, Whole
from pytest_rageval.targets.base import (
    Answer,
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.templates import HISTORY, Template

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Message
    from pytest_rageval.clients.chat import DirectChat
    from pytest_rageval.clients.clients import Clients


class ChatOptions(ModelSpec, TargetOptions):
    """The options of ``type: chat``: a model's own, and the prompts.

    ``concurrency``, ``retries`` and what else every target has are not among them.
    """

    temperature: Amount | None = Field(None, description="left to the server when absent")
    max_tokens: Count | None = Field(None, description="an answer that is cut off counts as it is")
    seed: Whole | None = Field(None, description="for servers that know it")
    system: str | None = Field(None, description="the system message, filled in like prompt")
    prompt: str = Field(
        "{question}",
        description="the user message; {contexts} and other fields are filled in, lists of "
        "texts with blank lines between their parts, other lists as JSON",
    )

    @property
    def provides(self) -> frozenset[str]:
        """The answer; contexts are those that the data hold."""
        return frozenset({"answer"})

    @property
    def shown(self) -> str:
        return f"chat {self.model!r}"

    @property
    def fields(self) -> frozenset[str]:
        """The fields of a row that the model is shown."""
        return Template([self.system, self.prompt]).fields | {HISTORY}

    @property
    def doubt(self) -> str:
        """What is said where all rows ask alike, or "". Messages before the question may differ."""
        if Template([self.system, self.prompt]).fields:
            return ""
        return "neither prompt nor system names a field of the row, such as {question}"

    def priced(self, limits: ClientSettings) -> ClientSettings:
        """Return the limits with the price of the model, and the most tokens of an answer."""
        own = self.settings(limits)
        return replace(limits, price=own.price, max_tokens=own.max_tokens)

    def settings(self, limits: ClientSettings) -> ClientSettings:
        """Return how the model is asked, within the limits of the target."""
        return client_settings(
            "target",
            self,
            concurrency=limits.concurrency,
            rpm=limits.rpm,
            timeout_s=limits.timeout_s,
            retries=limits.retries,
            max_wait_s=limits.max_wait_s,
        )

    def identity(self) -> Mapping[str, Any]:
        """Return model, parameters and prompts; of headers and ``extra_body`` only digests."""
        from pytest_rageval.clients.cache import chat_identity

        own = chat_identity(self.settings(ClientSettings(self.model)))
        return {**own, "system": self.system, "prompt": self.prompt}


class ChatTarget:
    """Asks a model by the run's clients. The answer is judged by the contexts of the row.

    Messages before the question are sent as such, unless a prompt says where they stand.
    """

    def __init__(self, options: ChatOptions, settings: ClientSettings) -> None:
        self._settings = settings
        parts = [("system", options.system), ("user", options.prompt)]
        self._turns = [(role, Template(text)) for role, text in parts if text]
        self._chat: DirectChat | None = None

    def use(self, clients: Clients) -> None:
        self._chat = clients.direct_chat(self._settings)

    async def answer(self, sample: Sample) -> Answer:
        """Return what the model replies.

        Raises ClientError where it fails, TargetError if ``max_tokens`` left nothing of the reply.
        """
        assert self._chat is not None, "use() comes first"
        reply = await self._chat.complete(self._messages(sample))
        if not reply.text.strip() and reply.finish_reason == "length":
            raise TargetError(f"{self._settings.shown}: replied nothing: it ends at max_tokens")
        extra: dict[str, Any] = {"model": reply.model}
        if reply.finish_reason == "length":
            extra |= {"finish_reason": "length", "max_tokens": self._settings.max_tokens}
        if reply.usage.cost_usd is not None:
            extra["cost_usd"] = reply.usage.cost_usd
        return Answer(reply.text, extra=extra, latency_s=reply.latency_s)

    async def aclose(self) -> None:
        """The connections are those of the run's clients, which close them."""
        self._chat = None

    def _messages(self, sample: Sample) -> list[Message]:
        from pytest_rageval.clients.base import Message

        is_placed = any(HISTORY in template.fields for _, template in self._turns)
        earlier = [
            Message(_ROLES.get(message["role"], "user"), message["content"])
            for message in (() if is_placed else sample.history or ())
        ]
        asked = [
            Message("system" if role == "system" else "user", template.fill_text(sample, {}))
            for role, template in self._turns
        ]
        return [*asked[:-1], *earlier, *asked[-1:]]


_ROLES: Final[Mapping[str, Literal["system", "user", "assistant"]]] = {
    "system": "system",
    "assistant": "assistant",
}
"""What a model is told of who said a message; anyone else is the user."""


def _make(options: ChatOptions, context: TargetContext) -> Target:
    from pytest_rageval.clients.clients import check_chat

    for name in sorted(Template([options.system, options.prompt]).variables):
        is_field = name in (HISTORY, *FIELD_OF)
        hint = f"write {{{name}}}" if is_field else f"${{{{{name}}}}} is this text itself"
        raise TargetError(f"${{{name}}}: prompts take no variables of the environment; {hint}")
    settings = options.settings(context.settings)
    if not context.asks_nobody and not installed("aiohttp"):
        require("aiohttp", extra="judge", purpose="a target of type chat")
    try:
        problems = check_chat(settings, context.run)
    except UnknownNameError as error:
        problems = [f"provider: {error}"]
    if problems:
        raise TargetError("; ".join(problems))
    return ChatTarget(options, settings)


TARGETS = (
    TargetDefinition(
        "chat",
        _make,
        ChatOptions,
        ("openai", "model"),
        repeats=4,
        is_remote=True,
        limits_itself=True,
        preload=preload,
    ),
)
