"""A running DB-GPT as the system under test: a knowledge space that retrieves, or an app."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from pytest_rageval.clients.http import HttpReply, preload
from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import Sample
from pytest_rageval.scenario.model_specs import KeyVariable
from pytest_rageval.scenario.spec import Count, Name, Seconds
from pytest_rageval.targets.base import (
    Answer,
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
    answer_of,
)
from pytest_rageval.targets.ends import Ending, failure_in, refuse
from pytest_rageval.targets.events import events_of
from pytest_rageval.targets.http_replies import json_of
from pytest_rageval.targets.http_service import HttpOptions, HttpTarget, check
from pytest_rageval.text.codec import read_json
from pytest_rageval.text.json_value import LostPathError, parse_path

_SPACES = "/api/v2/serve/knowledge/spaces"
_MOST_SPACES = 1000


class DbgptOptions(TargetOptions):
    """The options of ``type: dbgpt``: where it runs, and its space or app."""

    dbgpt: Name = Field(description="URL of the server; may say ${NAME} of the environment")
    space: Name | None = Field(
        None,
        description="id or name of the knowledge space that retrieves contexts; give either this "
        "or app",
    )
    top_k: Count | None = Field(
        None, description="how many chunks a space is asked for; DB-GPT's own when absent"
    )
    app: Name | None = Field(None, description="code of the app that answers")
    model: Name | None = Field(None, description="of the app; required with it")
    api_key_env: KeyVariable | None = Field(
        None, description="the environment variable that holds the key"
    )
    max_mb: Seconds = Field(8.0, description="a longer reply is an error")

    @field_validator("dbgpt")
    @classmethod
    def _is_a_url(cls, url: str) -> str:
        """Refuse what is no URL; the message never quotes it, for it may hold a password."""
        if not url.startswith(("http://", "https://", "${")):
            raise ValueError("expected a URL such as http://localhost:5670")
        return url

    @field_validator("space", mode="before")
    @classmethod
    def _id_is_a_text(cls, space: Any) -> Any:
        return str(space) if isinstance(space, int) and not isinstance(space, bool) else space

    @model_validator(mode="after")
    def _asks_one_of_both(self) -> DbgptOptions:
        if (self.space is None) == (self.app is None):
            raise ValueError("give either 'space' (what it retrieves) or 'app' (what it answers)")
        if self.app is not None and self.model is None:
            raise ValueError("DB-GPT wants the 'model' of an app, too")
        if self.app is not None and self.top_k is not None:
            raise ValueError("'top_k' is of a space; an app has its own")
        if self.space is not None and self.model is not None:
            raise ValueError("'model' is of an app; a space asks none")
        return self

    @property
    def provides(self) -> frozenset[str]:
        """Contexts of a space; the answer of an app, whose contexts are not told."""
        found = {"answer"} if self.space is None else {"contexts", "context_docs", "retrieved_ids"}
        return frozenset(found)

    @property
    def shown(self) -> str:
        return f"DB-GPT's {'app' if self.space is None else 'space'} {self.app or self.space!r}"

    @property
    def fields(self) -> frozenset[str]:
        """The fields of a row that are sent."""
        return self.request.fields

    @property
    def is_looked_up(self) -> bool:
        """Whether DB-GPT has to be asked for the space's id."""
        return self.space is not None and not (self.space.isascii() and self.space.isdecimal())

    @property
    def request(self) -> HttpOptions:
        """What is sent for each question, with the space as written."""
        return self.asking(self.space and quote(self.space, safe=""))

    def asking(self, space_id: str | None) -> HttpOptions:
        """Return the request to the space of this id; without one, to the app."""
        if space_id is not None:
            body = {"query": "{question}", "top_k": self.top_k}
            sent = {key: value for key, value in body.items() if value is not None}
            return HttpOptions(**self._common(f"{_SPACES}/{space_id}/retrieve"), body=sent)
        # DB-GPT refuses to answer for an app in one piece (stream: false).
        asked = {"messages": "{question}", "model": self.model, "stream": True}
        mode = {"chat_mode": "chat_app", "chat_param": self.app}
        return HttpOptions(**self._common("/api/v2/chat/completions"), body={**asked, **mode})

    def listing(self) -> HttpOptions:
        """Return the request for the list of spaces."""
        query = {"page": 1, "page_size": _MOST_SPACES}
        return _ListOptions(**self._common(_SPACES), method="GET", query=query)

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of the request; it holds no key."""
        return self.request.identity()

    def _common(self, path: str) -> dict[str, Any]:
        key = {"Authorization": f"Bearer ${{{self.api_key_env}}}"} if self.api_key_env else {}
        url = f"{self.dbgpt.rstrip('/').removesuffix('/api/v2')}{path}"
        return {"url": url, "headers": key, "max_mb": self.max_mb}


class _ListOptions(HttpOptions):
    """A request in which the question has no part."""

    @property
    def sent_query(self) -> dict[str, Any]:
        return self.query


class DbgptTarget:
    """Asks a space or an app. The name of a space is looked up once, at the first question."""

    def __init__(self, options: DbgptOptions, context: TargetContext) -> None:
        self._options = options
        self._context = context
        self._ids: dict[str, str] = {}
        self._listing = HttpTarget(options.listing(), context, read=self._note_ids)
        self._target = None if options.is_looked_up else self._asking(options.space)
        self._looking_up = asyncio.Lock()

    async def answer(self, sample: Sample) -> Answer:
        """Return what the space retrieves, or the app answers.

        Raises as an HttpTarget; TargetError also for a reply that reports a failure, and for a
        space that there is not.
        """
        async with self._looking_up:
            if self._target is None:
                self._target = self._asking(await self._look_up(str(self._options.space)))
        return await self._target.answer(sample)

    async def aclose(self) -> None:
        for target in (self._listing, self._target):
            if target is not None:
                await target.aclose()
        self._looking_up = asyncio.Lock()  # another loop may ask next

    def _asking(self, space_id: str | None) -> HttpTarget:
        read = read_answer if space_id is None else read_chunks
        return HttpTarget(self._options.asking(space_id), self._context, read=read)

    async def _look_up(self, space: str) -> str:
        await self._listing.answer(Sample("spaces"))
        if space not in self._ids:
            unknown = unknown_name("space", space, self._ids)
            raise TargetError(f"{self._listing.secrets.hide(unknown)}; or give its id")
        return self._ids[space]

    def _note_ids(self, reply: HttpReply) -> Answer:
        self._ids = read_spaces(reply)
        return Answer()


def read_chunks(reply: HttpReply) -> Answer:
    """Return the chunks that a space retrieved as contexts; TargetError for any other reply."""
    chunks = _data(reply)
    if not isinstance(chunks, list):
        raise TargetError(f"'data' of its reply is {shorten(repr(chunks))}, expected a list")
    return answer_of({"contexts": chunks})


def read_spaces(reply: HttpReply) -> dict[str, str]:
    """Return the ids of the spaces by their names; TargetError for any other reply."""
    try:
        spaces = parse_path("items").pick(_data(reply))
        return {str(space["name"]): str(int(space["id"])) for space in spaces}
    except (LostPathError, LookupError, TypeError, ValueError, OverflowError):  # int(1e400)
        raise TargetError("its list of spaces has no 'data.items' with ids and names") from None


def read_answer(reply: HttpReply) -> Answer:
    """Return what an app answers in the end; TargetError for any other reply.

    Each event of the stream has the whole view of the conversation so far: the last one counts.
    """
    if reply.content_type.lower() != "text/event-stream":
        return answer_of(_picked("choices[0].message.content", _checked(reply)))
    view: Any = None
    ending = Ending()
    for event in events_of(reply.text):
        refuse(failure_in(event))
        now: Any = None
        with suppress(LostPathError):
            now = _DELTA.pick(event.data)
        view = now or view
        ending.add(event, has_text=bool(now))
    if not isinstance(view, str) or not view.strip():
        raise TargetError("replied a stream without an answer: the app failed")
    ending.check(may_be_cut_off=reply.may_be_cut_off)
    return answer_of(last_message(view))


_DELTA = parse_path("choices[0].delta.content")
_BLOCK = re.compile(r"^```agent-(?:plans|messages)\n(.+)\n```[ \t]*$", re.MULTILINE)
_THOUGHTS = re.compile(r"^``````vis-thinking\n.*?\n``````[ \t]*$", re.MULTILINE | re.DOTALL)


def last_message(view: str) -> str:
    r"""Return the last message in a view of DB-GPT's agents, without thoughts.

    A view is Markdown with blocks of JSON for plans and messages, which hold Markdown in turn.

    >>> last_message('```agent-messages\n[{"sender": "QA", "markdown": "Paris"}]\n```')
    'Paris'
    """
    text = _THOUGHTS.sub("", view).strip()
    blocks = list(_BLOCK.finditer(text))
    after = text[blocks[-1].end() :].strip() if blocks else text
    if after or not blocks:
        return after
    try:
        last = read_json(blocks[-1][1])[-1]
        markdown, sender = last["markdown"], last.get("sender")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise TargetError("its reply has a block of messages that cannot be read") from None
    if sender == "Human" or not isinstance(markdown, str):
        raise TargetError("the app failed: no agent has answered")
    return last_message(markdown)


def _data(reply: HttpReply) -> Any:
    """Return what the envelope of a reply holds."""
    return _picked("data", _checked(reply))


def _checked(reply: HttpReply) -> Any:
    """Return the JSON of a reply; raise TargetError where it reports a failure."""
    value = json_of(reply)
    if isinstance(value, dict) and value.get("success") is False:
        message = shorten(str(value.get("err_msg")), 300)
        raise TargetError(f"failed: {value.get('err_code') or 'no err_code'}: {message}")
    return value


def _picked(path: str, value: Any) -> Any:
    try:
        return parse_path(path).pick(value)
    except LostPathError as error:
        raise TargetError(f"its reply has {error}") from None


def _make(options: DbgptOptions, context: TargetContext) -> Target:
    check(options.request, context)
    return DbgptTarget(options, context)


TARGETS = (
    TargetDefinition("dbgpt", _make, DbgptOptions, repeats=2, is_remote=True, preload=preload),
)
