"""One exchange with a service over HTTP: limits of size and time, redirects, failures in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit

from pytest_rageval import extras
from pytest_rageval.clients.credentials import Credentials
from pytest_rageval.clients.errors import (
    AuthError,
    BadRequestError,
    ClientError,
    ConnectionFailed,
    RateLimitError,
    ServerError,
)
from pytest_rageval.clients.wire import proxy_for, reason_of, retry_after
from pytest_rageval.errors import shorten
from pytest_rageval.redaction import host, shown_url, without_credentials
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.http_request import Request, Secrets
from pytest_rageval.targets.threads import in_thread

if TYPE_CHECKING:
    import aiohttp

_CONNECT_S = 15.0
_KEEP_ALIVE_S = 30.0
_CHUNK: Final = 2**16
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 502, 503, 504)
"""Statuses of a service that is not there just now. 500 is its own failure, and is none of them."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a service replied: the type of its content in lower case, its charset, and the bytes.

    A charset that Python does not know is read as UTF-8.
    """

    content_type: str
    charset: str
    body: bytes

    @property
    def text(self) -> str:
        """The content as text."""
        try:
            return self.body.decode(self.charset, "replace").removeprefix("\ufeff")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    @property
    def beginning(self) -> str:
        """What it begins with, in one line."""
        return _flat(self.body)


class Exchange:
    """Sends requests to one service and to where it may redirect. Opens connections when it must.

    Keys go to the host that ``url`` names and to no other, proxies are used for https only.
    """

    def __init__(
        self,
        url: SplitResult,
        secrets: Secrets,
        *,
        allowed_hosts: Sequence[str] = (),
        connect_s: float = _CONNECT_S,
        most_bytes: int = 2**23,
    ) -> None:
        self._origin = url
        self._replies = Credentials({}, secrets.always)
        self._messages = Credentials({}, secrets.in_messages)
        self._allowed = {host.lower() for host in allowed_hosts}
        self._connect_s = min(_CONNECT_S, connect_s)
        self._most_bytes = most_bytes
        self._session: aiohttp.ClientSession | None = None
        self._is_loaded = False

    async def load(self) -> None:
        """Import aiohttp, which takes a while, in a thread."""
        if not self._is_loaded:
            await in_thread(_aiohttp)
            self._is_loaded = True

    async def send(self, request: Request) -> HttpReply:
        """Return the reply of a status 2xx; raises ClientError or TargetError for any other."""
        for _ in range(_MOST_REDIRECTS + 1):
            status, headers, reply = await self._once(request)
            if 200 <= status < 300:
                return reply
            if status not in _REDIRECTS or not headers.get("Location"):
                raise self._failure(request, status, headers, reply)
            request = self._redirected(request, status, headers["Location"])
        raise BadRequestError(f"{host(request.url)}: redirects in a circle")

    def hide(self, text: str) -> str:
        """Return ``text`` with asterisks for keys."""
        return self._messages.hide(text)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _once(self, request: Request) -> tuple[int, Mapping[str, str], HttpReply]:
        http = _aiohttp()
        session = self._session = self._session or self._open()
        where = host(request.url)
        # "from None": the frames and texts of aiohttp's own errors hold headers and URLs.
        try:
            async with session.request(
                request.method,
                request.url,
                data=request.body,
                headers=request.headers,
                allow_redirects=False,
                proxy=proxy_for(urlsplit(request.url)),
            ) as response:
                body = self._replies.scrub(await self._read(response))
                charset = response.charset or "utf-8"
                reply = HttpReply(response.content_type.lower(), charset, body)
                return response.status, response.headers, reply
        except TimeoutError:
            message = f"{where}: no connection within {self._connect_s:g} s"
            raise ConnectionFailed(message, is_transient=True) from None
        except http.ClientConnectorCertificateError:
            hint = "its certificate is not trusted (SSL_CERT_FILE names a file of certificates)"
            raise ConnectionFailed(f"{where}: {hint}") from None
        except (http.InvalidURL, ValueError):
            raise TargetError(f"{where}: the URL or a header cannot be sent") from None
        except (http.ClientError, OSError) as error:
            message = f"{where}: the connection failed ({reason_of(error)})"
            raise ConnectionFailed(message, is_transient=True) from None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the content; nothing is read beyond what is allowed."""
        parts, size = [], 0
        async for part in response.content.iter_chunked(_CHUNK):
            size += len(part)
            if size > self._most_bytes:
                response.close()
                most = f"{self._most_bytes / 2**20:g} MB"
                raise TargetError(f"{host(str(response.url))}: replies more than {most}")
            parts.append(part)
        return b"".join(parts)

    def _open(self) -> aiohttp.ClientSession:
        http = _aiohttp()
        # Limits and times are those of whoever asks; aiohttp's own would be a second queue.
        connector = http.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ttl_dns_cache=300)
        session: aiohttp.ClientSession = http.ClientSession(
            connector=connector,
            timeout=http.ClientTimeout(total=None, sock_connect=self._connect_s),
            cookie_jar=http.DummyCookieJar(),
        )
        return session

    def _redirected(self, request: Request, status: int, location: str) -> Request:
        """Return the request that a redirect asks for; raises BadRequestError where it may not."""
        goal = urlsplit(urljoin(request.url, location))
        url = goal.geturl()
        shown = shorten(shown_url(url), 200)
        where = host(request.url)
        if goal.scheme not in ("http", "https") or not goal.hostname:
            raise BadRequestError(f"{where}: redirects to {shown!r}, which is no http or https URL")
        if self._origin.scheme == "https" and goal.scheme == "http":
            raise BadRequestError(
                f"{where}: redirects from https to {shown}, which anyone can read"
            )
        is_same = _origin(goal) == _origin(self._origin)
        if not is_same and not {goal.hostname.lower(), host(url).lower()} & self._allowed:
            hint = f"set url to where it should go, or allow_redirects_to: [{host(url)}]"
            raise BadRequestError(f"{where}: redirects to another host, {shown}; {hint}")
        # As browsers do it: what was posted is done, and the result is fetched.
        fetches = status == 303 or (status in (301, 302) and request.method == "POST")
        kept = request.headers if is_same else _without_keys(request.headers)
        url = without_credentials(url)
        if fetches:
            return Request("GET", url, _without_body(kept), None)
        return Request(request.method, url, kept, request.body)

    def _failure(
        self, request: Request, status: int, headers: Mapping[str, str], reply: HttpReply
    ) -> ClientError:
        where = host(request.url)
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


def _aiohttp() -> Any:
    return extras.require("aiohttp", extra="judge", purpose="a target of type http")


def _origin(url: SplitResult) -> tuple[str, int]:
    """Return host and port; the default ports of http and https count as one."""
    port = url.port or (443 if url.scheme == "https" else 80)
    return (url.hostname or "").lower(), 443 if port == 80 else port


def _without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that say what the content is; any other may hold a key."""
    kept = ("accept", "accept-language", "content-type")
    return {name: value for name, value in headers.items() if name.lower() in kept}


def _without_body(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "content-type"}


def _flat(body: bytes) -> str:
    return " ".join(body[:2000].decode("utf-8", "replace").split())
