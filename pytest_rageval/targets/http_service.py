"""An HTTP service as the system under test: a request from each row, an answer from each reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from pytest_rageval import extras
from pytest_rageval.clients.http import HttpReply, preload
from pytest_rageval.errors import shorten
from pytest_rageval.model import Sample
from pytest_rageval.redaction import shown_url, without_credentials
from pytest_rageval.scenario.fields import WITH_ANSWERS
from pytest_rageval.scenario.spec import Name, Seconds, Text
from pytest_rageval.targets.base import (
    Answer,
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.http_exchange import (
    Exchange,
    RequestMaker,
    filled_in,
    headers_filled_in,
    missing_variables,
)
from pytest_rageval.targets.http_replies import ReplyReader
from pytest_rageval.targets.http_secrets import Secrets
from pytest_rageval.targets.templates import Template
from pytest_rageval.text.json_value import digests, parse_path

_QUESTION = {"question": "{question}"}
_ASKING = frozenset(("q", "query", "question", "prompt", "input", "text", "message"))
_IN_REPLIES = ("answer", "contexts", "context_docs", "retrieved_ids", *WITH_ANSWERS)
"""The options that are paths in a reply."""


class HttpOptions(TargetOptions):
    """The options of ``type: http``.

    Texts of ``url``, ``headers``, ``query`` and ``body`` may say ``${NAME}`` for an environment
    variable; all but headers also ``{question}`` and other fields of the row.
    """

    url: str = Field("", description="http or https; with a fixture, the path below its value")
    fixture: Name | None = Field(None, description="a fixture whose value is the URL of the server")
    method: Literal["POST", "GET", "PUT", "PATCH"] = Field("POST", description="of the request")
    headers: dict[str, Text] = Field({}, description="${NAME} is an environment variable")
    query: dict[str, Any] = Field(
        {},
        description="parameters of the URL; a list is one for each part, null is left out. With"
        " GET {question: '{question}'} unless a field is named",
    )
    body: dict[str, Any] | list[Any] | str | None = Field(
        None,
        description="JSON, or text as it is; when absent {question: '{question}'}, but nothing if"
        " url or query name a field. {{question}} is the text in braces",
    )
    answer: Name | None = Field(
        None,
        description="path of it in the reply, such as data.text, hits[0].text, hits[*].text; "
        "its own name when absent",
    )
    contexts: Name | None = Field(None, description="likewise")
    context_docs: Name | None = Field(
        None, description="likewise, of the documents of the contexts"
    )
    retrieved_ids: Name | None = Field(None, description="likewise, best first")
    citations: Name | None = Field(None, description="likewise, in place of those in its text")
    confidence: Name | None = Field(None, description="likewise")
    events: list[Name] | None = Field(
        None,
        min_length=1,
        description="types of the events of a stream that have parts of the answer; the usual ones "
        "when absent",
    )
    allow_redirects_to: list[Name] = Field(
        [], description="other hosts (name or name:port) that may be redirected to"
    )
    max_mb: Seconds = Field(8.0, description="a longer reply, unpacked, is an error")

    @field_validator("method", mode="before")
    @classmethod
    def _method_in_any_case(cls, method: Any) -> Any:
        return method.upper() if isinstance(method, str) else method

    @field_validator(*_IN_REPLIES)
    @classmethod
    def _paths_are_paths(cls, path: str | None) -> str | None:
        if path is not None:
            parse_path(path)
        return path

    @field_validator("url")
    @classmethod
    def _url_is_one(cls, url: str) -> str:
        """Refuse another scheme; the message never quotes the URL, for it may hold a password.

        What has no scheme may be a path below a fixture's URL, or begin with a variable.
        """
        scheme, is_there, rest = url.partition("://")
        if not is_there or re.search("[/?#]", scheme):  # none, or of a URL in its path or query
            return url
        if scheme.lower() not in ("http", "https"):
            raise ValueError("expected a URL that begins with http:// or https://")
        return f"{scheme.lower()}://{rest}"

    @model_validator(mode="after")
    def _is_somewhere(self) -> HttpOptions:
        if not self.url and self.fixture is None:
            raise ValueError("a target of type 'http' needs 'url', or a 'fixture' with the URL")
        if self.method == "GET" and self.body is not None:
            raise ValueError("a GET request has no body; use 'query', or method: POST")
        return self

    @property
    def shown(self) -> str:
        """How messages name this target: as written, without password and query."""
        place = shown_url(self.url) or f"fixture {self.fixture!r}"
        return f"{self.method} {place}"

    @property
    def pytest_fixture(self) -> str | None:
        """The fixture whose value is the server's URL."""
        return self.fixture

    @property
    def sent_query(self) -> dict[str, Any]:
        """The query parameters of each request; a GET that names no field asks the question."""
        asks = Template([self.url, self.query]).fields
        return {**_QUESTION, **self.query} if self.method == "GET" and not asks else self.query

    @property
    def sent_body(self) -> Any:
        """The body of each request, None for none.

        When absent it asks the question, but not for GET, or if URL or query name a field.
        """
        if self.method == "GET" or self.body is not None:
            return self.body
        return None if Template([self.url, self.query]).fields else _QUESTION

    @property
    def fields(self) -> frozenset[str]:
        """The fields of a row that are sent."""
        return Template([self.url, self.sent_query, self.sent_body]).fields

    @property
    def doubt(self) -> str:
        """What is said where all rows are sent alike, or a field took the question's place, or "".

        A service may be asked by an id, or in a place of its own for each row.
        """
        is_known = not self.fields.isdisjoint(("question", "id"))
        has_place = Template([self.url]).fields or not _ASKING.isdisjoint(self.query)
        if is_known or (self.method == "GET" and has_place):
            return ""
        if self.body is not None:
            is_alike = bool(self.body) and not self.fields
            return "no request holds a field of its row, such as {question}" if is_alike else ""
        how = "query" if self.method == "GET" else "body (or 'body: {}', if it is asked without)"
        return (
            "no request holds {question}: url or query name another field, so it is not added; "
            f"write it into {how}"
        )

    def identity(self) -> dict[str, Any]:
        """Return method, place and paths, and digests of what is sent and may hold a key.

        The value of a variable counts: another tenant or server is another system. The value of a
        secret does not, nor that of a fixture, whose port differs from run to run.
        """
        plain = self.model_dump(mode="json", exclude_none=True)
        plain["headers"] = headers_filled_in(self.headers)
        plain["query"], plain["body"] = filled_in(self.query), filled_in(self.body)
        for name in ("headers", "query", "body"):
            part = plain.pop(name, None)
            if part:
                plain[name] = digests(part if isinstance(part, dict) else {name: part})
        place = shown_url(filled_in(self.url))
        whole = [self.url, filled_in(without_credentials(self.url))]
        return {**plain, "url": place, "whole_url": digests({"url": whole})["url"]}


class HttpTarget:
    """Asks a service over HTTP. Opens connections at the first question.

    ``read`` turns a reply into an answer; by default the paths of the options do. ``secrets`` hides
    those of its requests.
    """

    def __init__(
        self,
        options: HttpOptions,
        context: TargetContext,
        base_url: str = "",
        read: Callable[[HttpReply], Answer] | None = None,
    ) -> None:
        self._maker = RequestMaker(
            method=options.method,
            url=_joined(base_url, options.url),
            headers=options.headers,
            query=options.sent_query,
            body=options.sent_body,
        )
        self.secrets: Secrets = self._maker.secrets
        self._exchange = Exchange(
            self._maker.url,
            self.secrets,
            allowed_hosts=options.allow_redirects_to,
            connect_s=context.timeout_s,
            most_mb=options.max_mb,
        )
        paths = {
            name: parse_path(path)
            for name in _IN_REPLIES
            if (path := getattr(options, name)) is not None
        }
        self._read = read or ReplyReader(paths, options.events or ()).read

    async def answer(self, sample: Sample) -> Answer:
        """Return what the service answers to the sample.

        Raises ClientError where it cannot be reached or fails, TargetError for any other reply that
        is no answer, or whose answer holds a secret: without it, another answer would be scored.
        """
        reply = await self._exchange.send(self._maker.make(sample))
        try:
            found = self._read(reply)
        except TargetError:
            raise TargetError(self._why_none(reply)) from None
        return self.secrets.without(found)

    def _why_none(self, reply: HttpReply) -> str:
        """Return why a reply is no answer; read again without secrets: no half of one is quoted."""
        hide = self.secrets.hide
        clean = replace(reply, body=self.secrets.scrub(reply.body))
        began = f"; the reply begins {shorten(hide(clean.beginning), 200)!r}" if reply.body else ""
        try:
            self._read(clean)
        except TargetError as error:
            return f"{hide(str(error))}{began}"
        return f"its reply is no answer{began}"

    async def aclose(self) -> None:
        await self._exchange.aclose()


def _joined(base_url: str, path: str) -> str:
    if not base_url or not path:
        return base_url or path
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}"


def _make(options: HttpOptions, context: TargetContext) -> Target:
    check(options, context)
    return HttpTarget(options, context)


def _from_value(options: HttpOptions, context: TargetContext, value: object) -> Target:
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        found = "text" if isinstance(value, str) else f"{shorten(repr(value))}"
        kind = type(value).__name__
        raise TargetError(f"is {found} ({kind}), expected the URL of a server")
    check(options, context)
    return HttpTarget(options, context, value)


def check(options: HttpOptions, context: TargetContext) -> None:
    """Raise TargetError, MissingExtraError for what is wrong; a replay needs only valid fields."""
    _ = options.fields  # raises for a place that is no field
    if context.asks_nobody:
        return
    if not extras.installed("aiohttp"):
        extras.require("aiohttp", extra="judge", purpose="a target of type http")
    parts = {"url": options.url, "query": options.query, "body": options.body}
    parts |= {f"headers.{name}": value for name, value in options.headers.items()}
    problems = [
        problem for name, part in parts.items() for problem in missing_variables(name, part)
    ]
    if problems:
        raise TargetError("; ".join(problems))


TARGETS = (
    TargetDefinition(
        "http",
        _make,
        HttpOptions,
        ("https", "http_service", "rest"),
        from_value=_from_value,
        repeats=2,
        is_remote=True,
        preload=preload,
    ),
)
