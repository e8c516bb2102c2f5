"""Exchange a request for a reply with a service over HTTP: redirects, failures in plain words."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlencode, urljoin, urlsplit

from pytest_rageval.clients.errors import (
    AuthError,
    BadRequestError,
    ClientError,
    ConnectionFailed,
    RateLimitError,
    ServerError,
)
from pytest_rageval.clients.http import (
    BodyError,
    Credentials,
    HttpReply,
    Transport,
    UnsendableError,
    is_sendable,
    retry_after,
    unusable_variable,
)
from pytest_rageval.errors import shorten
from pytest_rageval.model import Sample
from pytest_rageval.redaction import (
    host,
    shown_url,
    without_credentials,
)
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.http_secrets import Secrets, find_secrets
from pytest_rageval.targets.templates import HISTORY, Template, outline, places
from pytest_rageval.text.codec import read_json
from pytest_rageval.text.json_value import change_texts

_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 502, 503, 504)
"""Statuses of a service that is down for now. 500, its own failure, is not one of them."""


class Exchange:
    """Sends requests to one service and to where it may redirect. Opens connections when needed.

    Headers with keys go to the host and port that ``url`` names and to no other (80 and 443 are
    one), proxies are used for https only. ``allowed_hosts`` are those that it may redirect to, as a
    name or as ``name:port``: without such headers, but with the body of a 307 or 308.
    """

    def __init__(
        self,
        url: SplitResult,
        secrets: Secrets,
        *,
        allowed_hosts: Sequence[str] = (),
        connect_s: float = 15.0,
        most_mb: float = 8.0,
    ) -> None:
        self._origin = url
        self._secrets = secrets
        self._allowed = {host.lower() for host in allowed_hosts}
        self._transport = Transport(
            "a target of type http", _in_utf_8, most_mb=most_mb, connect_s=connect_s
        )

    async def send(self, request: Request) -> HttpReply:
        """Return the reply of a status 2xx.

        Raises ClientError or TargetError for any other, and without a connection.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            reply = await self._once(request)
            if 200 <= reply.status < 300:
                return reply
            if reply.status not in _REDIRECTS or not reply.headers.get("Location"):
                raise self._failure(request, reply)
            request = self._redirected(request, reply.status, reply.headers["Location"])
        raise BadRequestError(f"{host(request.url)}: redirect loop")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _once(self, request: Request) -> HttpReply:
        where = host(request.url)
        try:
            return await self._transport.send(
                where, request.method, request.url, request.body, request.headers
            )
        except BodyError as error:
            hint = " (target.max_mb)" if error.is_too_long else ""
            raise TargetError(self._secrets.hide(f"{where}: {error}{hint}")) from None
        except TimeoutError:
            message = f"{where}: no connection within {self._transport.connect_s:g} s"
            raise ConnectionFailed(message, is_transient=True) from None
        except UnsendableError:
            raise TargetError(f"{where}: the URL or a header cannot be sent") from None

    def _redirected(self, request: Request, status: int, location: str) -> Request:
        """Return the request that a redirect asks for; raises BadRequestError where it may not."""
        goal = urlsplit(urljoin(request.url, location))
        url = goal.geturl()
        shown = shorten(shown_url(self._secrets.hide(url)), 200)
        where = host(request.url)
        if goal.scheme not in ("http", "https") or not goal.hostname:
            raise BadRequestError(f"{where}: redirects to {shown!r}, which is no http or https URL")
        if self._origin.scheme == "https" and goal.scheme == "http":
            raise BadRequestError(
                f"{where}: redirects from https to {shown}, which anyone can read"
            )
        is_same = _origin(goal) == _origin(self._origin)
        if not is_same and not {goal.hostname.lower(), host(url).lower()} & self._allowed:
            place = host(self._secrets.hide(url))
            hint = f"set url to where it should go, or allow_redirects_to: [{place}]"
            raise BadRequestError(f"{where}: redirects to another host, {shown}; {hint}")
        if status == 301 and request.method == "POST":  # browsers go there without what was posted
            raise BadRequestError(f"{where}: has moved to {shown} (HTTP 301); set url to that")
        # As browsers do it: what was posted is done, and the result is fetched.
        fetches = status == 303 or (status == 302 and request.method == "POST")
        body = b"" if fetches else request.body or b""
        if not is_same and (
            places := self._secrets.sure_places([url, body.decode("utf-8", "replace")])
        ):
            why = f"which must not get a secret of the request ({', '.join(places)})"
            raise BadRequestError(
                f"{where}: redirects to {shown}, {why}; set url to where it should go"
            )
        kept = request.headers if is_same else _without_keys(request.headers)
        url = without_credentials(url)
        if fetches:
            kept = {name: value for name, value in kept.items() if name.lower() != "content-type"}
            return Request("GET", url, kept, None)
        return Request(request.method, url, kept, request.body)

    def _failure(self, request: Request, reply: HttpReply) -> ClientError:
        status, headers, where = reply.status, reply.headers, host(request.url)
        whole = replace(reply, body=self._secrets.scrub(reply.body))  # a beginning may cut a key
        says = shorten(self._secrets.hide(whole.beginning), 300)
        text = f"{where}: HTTP {status}" + (f": {says}" if says else "")
        if status in (401, 403):
            return AuthError(text)
        if status == 429:
            hint = "lower target.concurrency, or set target.rpm"
            wait = retry_after(headers)
            return RateLimitError(f"{text}; {hint}", is_transient=True, retry_after_s=wait)
        if status in _PASSING:
            return ServerError(text, is_transient=True, retry_after_s=retry_after(headers))
        return ServerError(text) if status >= 500 else BadRequestError(text)


def _origin(url: SplitResult) -> tuple[str, int]:
    """Return host and port; the default ports of http and https count as one."""
    port = url.port or (443 if url.scheme == "https" else 80)
    return (url.hostname or "").lower(), 443 if port == 80 else port


def _without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that say what the content is; any other may hold a key."""
    kept = ("accept", "accept-language", "content-type")
    return {name: value for name, value in headers.items() if name.lower() in kept}


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


_in_utf_8 = Credentials({}, ()).scrub


class RequestMaker:
    """Makes the requests of one target; reads the environment once.

    A text as ``body`` that is an object or a list in JSON is sent as JSON. Raises TargetError for a
    URL that cannot be used, and for a place that names no field.
    """

    def __init__(
        self, *, method: str, url: str, headers: Mapping[str, str], query: Any, body: Any
    ) -> None:
        self._method = method
        self._variables = environment([url, dict(headers), query, body])
        self._is_text = isinstance(body, str)
        structure = _structure(body) if isinstance(body, str) else None
        if structure is not None:
            body, self._is_text = structure, False
        self._query, self._body = Template(query), Template(body)
        self._has_body = body is not None
        self.url = _split(outline(url, self._variables))
        self._url = Template(url)
        self._headers = {
            name: str(Template(value).fill(Sample(""), self._variables)).strip()
            for name, value in headers.items()
        }
        self._add_headers()
        rest = Template([dict(headers), query, body])
        self.secrets = find_secrets(url, rest, self.url, self._headers, self._variables)

    def make(self, sample: Sample) -> Request:
        """Return the request for a sample; raises TargetError where the row lacks what it needs."""
        filled = self._url.fill(sample, self._variables, lambda text: quote(text, safe=""))
        url = without_credentials(str(filled))
        pairs = [
            (name, _query_text(part))
            for name, value in self._query.fill(sample, self._variables).items()
            for part in (value if isinstance(value, list) else [value])
            if part is not None
        ]
        if pairs:
            joint = "&" if urlsplit(url).query else "?"
            url = f"{url.partition('#')[0]}{joint}{urlencode(pairs, quote_via=quote)}"
        return Request(self._method, url, self._headers, self._filled_body(sample))

    def _filled_body(self, sample: Sample) -> bytes | None:
        if not self._has_body:
            return None
        if self._is_text:
            text = self._body.fill_text(sample, self._variables)
            if not text and HISTORY not in self._body.fields:  # an empty list is "[]"
                text = "[]" if self._body.fill(sample, self._variables) == [] else text
            return text.encode("utf-8", "replace")
        return json.dumps(self._body.fill(sample, self._variables)).encode("ascii")

    def _add_headers(self) -> None:
        names = {name.lower() for name in self._headers}
        if self._has_body and "content-type" not in names:
            kind = "text/plain; charset=utf-8" if self._is_text else "application/json"
            self._headers["Content-Type"] = kind
        if self.url.username is not None and "authorization" not in names:
            user, password = (unquote(self.url.username), unquote(self.url.password or ""))
            pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            self._headers["Authorization"] = f"Basic {pair}"


def environment(value: Any) -> dict[str, str]:
    """Return the environment's values of the variables that a value names, "" for unset ones."""
    return {name: os.environ.get(name, "").strip() for name in Template(value).variables}


def filled_in(value: Any) -> Any:
    """Return a value of JSON with the environment's values, but for those that are secrets.

    A variable whose name says that it is a secret stays as written: a new key is not a new system,
    and a replay works without it.
    """
    return change_texts(value, lambda text: _VARIABLE.sub(_value_of, text))


def headers_filled_in(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers as ``filled_in`` does; those that hold a secret by their name as written."""
    return {
        name: value if _is_secret(name) else filled_in(value) for name, value in headers.items()
    }


def _value_of(place: re.Match[str]) -> str:
    return place[0] if _is_secret(place[1]) else os.environ.get(place[1], "").strip()


def _is_secret(name: str) -> bool:
    return _SECRET_WORD.search(name) is not None


_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Whole words, unlike for redaction: the values of 'keywords' or 'max_tokens' must count.
_SECRET_WORD = re.compile(
    r"(?i)(?:^|api|[-_])(?:authorization|auth|key|token|secret|password|passwd|pwd|credentials?"
    r"|cookie)(?:[-_]|$)"
)


def missing_variables(where: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with what a value names; never the values of variables.

    A header must not name a field: it is the same for all rows.
    """
    becomes = "header" if where.startswith("headers") else ""
    for name in sorted(Template(value).variables):
        yield from unusable_variable(where, name, becomes)
    for place in places(value) if becomes else ():
        if place["name"]:
            why = f"{place[0]} is a field of the row, and headers are the same for all"
            hint = f"name it in body, query or url; {{{place[0]}}} is the text itself"
            yield f"{where}: {why}; {hint}"
    if becomes and not is_sendable(value):
        yield f"{where}: holds characters that no header has"


def _split(url: str) -> SplitResult:
    try:
        found = urlsplit(url)
        sound = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise TargetError("url: expected one like http://127.0.0.1:8000/ask")
    return found


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _structure(text: str) -> Any:
    """Return the JSON object or list that a body spells as text; None for any other text."""
    try:
        found = read_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None
