"""Exchange a request for a reply with a service over HTTP: redirects, failures in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urljoin, urlsplit

from pytest_rageval.clients.credentials import Credentials
from pytest_rageval.clients.errors import (
    AuthError,
    BadRequestError,
    ClientError,
    ConnectionFailed,
    RateLimitError,
    ServerError,
)
from pytest_rageval.clients.http.bodies import BodyError
from pytest_rageval.clients.http.transport import (
    HttpReply,
    Transport,
    UnsendableError,
    retry_after,
)
from pytest_rageval.errors import shorten
from pytest_rageval.redaction import host, shown_url, without_credentials
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.http_request import Request, Secrets

_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 502, 503, 504)
"""Statuses of a service that is down for now. 500, its own failure, is not one of them."""


class Exchange:
    """Sends requests to one service and to where it may redirect. Opens connections when needed.

    Keys go to the host that ``url`` names and to no other, proxies are used for https only.
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
        self._replies = Credentials({}, secrets.always)
        self._messages = Credentials({}, secrets.in_messages)
        self._allowed = {host.lower() for host in allowed_hosts}
        self._transport = Transport(
            "a target of type http", self._replies.scrub, most_mb=most_mb, connect_s=connect_s
        )

    async def send(self, request: Request) -> HttpReply:
        """Return the reply of a status 2xx; raises ClientError or TargetError for any other."""
        for _ in range(_MOST_REDIRECTS + 1):
            reply = await self._once(request)
            if 200 <= reply.status < 300:
                return reply
            if reply.status not in _REDIRECTS or not reply.headers.get("Location"):
                raise self._failure(request, reply)
            request = self._redirected(request, reply.status, reply.headers["Location"])
        raise BadRequestError(f"{host(request.url)}: redirect loop")

    def hide(self, text: str) -> str:
        """Return ``text`` with asterisks for keys."""
        return self._messages.hide(text)

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
            raise TargetError(self.hide(f"{where}: {error}{hint}")) from None
        except TimeoutError:
            message = f"{where}: no connection within {self._transport.connect_s:g} s"
            raise ConnectionFailed(message, is_transient=True) from None
        except UnsendableError:
            raise TargetError(f"{where}: the URL or a header cannot be sent") from None

    def _redirected(self, request: Request, status: int, location: str) -> Request:
        """Return the request that a redirect asks for; raises BadRequestError where it may not."""
        goal = urlsplit(urljoin(request.url, location))
        url = goal.geturl()
        shown = shorten(shown_url(self.hide(url)), 200)
        where = host(request.url)
        if goal.scheme not in ("http", "https") or not goal.hostname:
            raise BadRequestError(f"{where}: redirects to {shown!r}, which is no http or https URL")
        if self._origin.scheme == "https" and goal.scheme == "http":
            raise BadRequestError(
                f"{where}: redirects from https to {shown}, which anyone can read"
            )
        is_same = _origin(goal) == _origin(self._origin)
        if not is_same and not {goal.hostname.lower(), host(url).lower()} & self._allowed:
            place = host(self.hide(url))
            hint = f"set url to where it should go, or allow_redirects_to: [{place}]"
            raise BadRequestError(f"{where}: redirects to another host, {shown}; {hint}")
        # As browsers do it: what was posted is done, and the result is fetched.
        fetches = status == 303 or (status in (301, 302) and request.method == "POST")
        kept = request.headers if is_same else _without_keys(request.headers)
        url = without_credentials(url)
        if fetches:
            kept = {name: value for name, value in kept.items() if name.lower() != "content-type"}
            return Request("GET", url, kept, None)
        return Request(request.method, url, kept, request.body)

    def _failure(self, request: Request, reply: HttpReply) -> ClientError:
        status, headers, where = reply.status, reply.headers, host(request.url)
        says = shorten(self.hide(reply.beginning), 300)
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
