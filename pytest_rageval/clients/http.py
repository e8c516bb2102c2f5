"""Requests over HTTP, within limits of size and time, and the keys that they carry.

Keys are read from the environment when a request needs them, and removed from every text. We take
aiohttp because a call costs a fifth of the CPU time that it costs with httpx, whose pool of
connections is quadratic in the requests in flight.
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import math
import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from string import Template
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_rageval import extras
from pytest_rageval.clients.errors import AuthError, ConnectionFailed
from pytest_rageval.clients.gzip_members import Members
from pytest_rageval.clients.plain_words import is_said
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import hide_keys, shorten
from pytest_rageval.redaction import Redactor, named_secrets, query_secrets

if TYPE_CHECKING:
    import aiohttp


NOT_SET: Final = "is not set"
"""How the message of a missing variable ends; a dry run, which asks nobody, drops such ones."""


class Credentials:
    """The headers that carry keys; ``scrub`` removes the keys from replies, ``hide`` from messages.

    ``plain``, and secrets that stand for no key, such as "none", are removed from messages only: an
    answer may have the name of an app or a team, or such a word.
    """

    def __init__(
        self, headers: Mapping[str, str], secrets: Collection[str], plain: Iterable[str] = ()
    ) -> None:
        self.headers = headers
        keys = (one for one in secrets if not _NO_KEY.fullmatch(one))
        self.redacted: Callable[[str], str] = Redactor(keys)
        self._in_messages = Redactor([*secrets, *plain])

    def scrub(self, raw: bytes, charset: str = "utf-8") -> bytes:
        """Return, in UTF-8, what a server sent, without our keys, which it may repeat.

        Of UTF-8, bytes that are not valid stay as they are; of another charset, they become U+FFFD.
        What is in a charset that Python does not know, or cannot read, is read as UTF-8.
        """
        try:
            charset = codecs.lookup(charset).name
            text = raw.decode(charset, "surrogateescape" if charset == "utf-8" else "replace")
        except (LookupError, UnicodeError):
            charset, text = "utf-8", raw.decode("utf-8", "surrogateescape")
        found = self.redacted(text)
        if found is text and charset == "utf-8":
            return raw
        return found.encode("utf-8", "surrogateescape")

    def hide(self, text: str) -> str:
        """Return ``text`` with asterisks for every key of ours and for what looks like a key."""
        return hide_keys(self._in_messages(text))

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self.headers)})"


_NO_KEY = re.compile(
    r"(?i)(bearer\s+)?(anything|dummy|empty|lm-studio|local|none|not-needed|ollama|test)"
)
"""What the docs of servers that need no key write in its place."""


def read_credentials(settings: ClientSettings) -> Credentials:
    """Return the headers for ``settings``; raise AuthError when a variable is not set."""
    problems = credential_problems(settings)
    if problems:
        raise AuthError(f"{settings.shown}: {'; '.join(problems)}")
    variables = {name: text.strip() for name, text in os.environ.items()}
    headers = {
        name: Template(value).safe_substitute(variables) for name, value in settings.headers.items()
    }
    plain = {name for name, value in settings.headers.items() if is_said(name, value)}
    secrets = [value for name, value in headers.items() if name not in plain]
    secrets += _other_secrets(settings)
    if settings.api_key_env:
        key = os.environ[settings.api_key_env].strip()
        if "authorization" not in map(str.lower, headers):
            headers["Authorization"] = f"Bearer {key}"
        secrets.append(key)
    in_messages = [*(headers[name] for name in plain), *query_secrets(settings.url.query)]
    return Credentials(headers, secrets, in_messages)


def _other_secrets(settings: ClientSettings) -> Iterator[str]:
    """Yield the variables within headers, and what of the URL and the body may be a secret."""
    for value in settings.headers.values():
        yield from (os.environ.get(name, "").strip() for name in Template(value).get_identifiers())
    yield from query_secrets(settings.url.query, with_version=False)
    yield from named_secrets(settings.extra_body)


def credential_problems(settings: ClientSettings) -> list[str]:
    """Return what is wrong with the environment variables that ``settings`` name, never a value."""
    problems = []
    if settings.api_key_env:
        problems += unusable_variable("api_key_env", settings.api_key_env, "key")
    for header, value in settings.headers.items():
        if not is_sendable(value):
            problems.append(f"headers.{header}: holds characters that no header has")
        for name in Template(value).get_identifiers():
            problems += unusable_variable(f"headers.{header}", name, "key")
    return problems


def unusable_variable(where: str, name: str, becomes: str = "") -> list[str]:
    """Return what is wrong with an environment variable that ``becomes`` a key or a header."""
    value = os.environ.get(name, "").strip()
    if not value:
        return [f"{where}: the environment variable {name} {NOT_SET}"]
    if becomes and not is_sendable(value):
        return [f"{where}: the environment variable {name} holds characters that no {becomes} has"]
    return []


def is_sendable(value: str) -> bool:
    """Return whether a header may have these characters."""
    return value.isascii() and value.isprintable()


_CONNECT_S = 15.0
_KEEP_ALIVE_S = 30.0
_BROKEN = {
    "ClientPayloadError": "it broke in the middle of the answer",
    "ServerDisconnectedError": "the server closed it without an answer",
}


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server replied, whatever its status; the body is scrubbed of our keys.

    ``may_be_cut_off``: nothing but the end of the connection marks the end of the body.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    may_be_cut_off: bool = False

    @property
    def content_type(self) -> str:
        """The type of the content, without parameters; where none is named, that of any bytes."""
        kind = self.headers.get("Content-Type", "application/octet-stream")
        return kind.partition(";")[0].strip()

    @property
    def text(self) -> str:
        """The content as text."""
        return self.body.decode("utf-8", "replace").removeprefix("\ufeff")

    @property
    def beginning(self) -> str:
        """What the body begins with, on one line."""
        return " ".join(self.body[:2000].decode("utf-8", "replace").split())


_UNPACKED: Final = ("", "identity")
_BODILESS: Final = (204, 304)


def _marks_its_end(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether a body has an end of its own; what is packed has one, too."""
    is_packed = headers.get("Content-Encoding", "").strip().lower() not in _UNPACKED
    has_end = "Content-Length" in headers or "Transfer-Encoding" in headers
    return is_packed or has_end or status in _BODILESS


class UnsendableError(ValueError):
    """A URL or a header that no request can have."""


class Transport:
    """Sends requests to any server. Opens connections at the first request.

    Redirects are not followed and proxies are used for https only, so that a key goes to no other
    host than the one named. ``purpose`` says what needs aiohttp, in the error if that is missing.
    ``scrub`` gets the body of a reply and the charset that its Content-Type names, and removes the
    keys: a traceback that shows local variables must not show them. ``total_s`` bounds a request,
    ``connect_s`` (15 at most) its connecting, and ``most_mb`` a reply.
    """

    def __init__(
        self,
        purpose: str,
        scrub: Callable[[bytes, str], bytes],
        *,
        most_mb: float,
        connect_s: float = _CONNECT_S,
        total_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._purpose = purpose
        self._scrub = scrub
        self._most_mb = most_mb
        self.connect_s = min(_CONNECT_S, connect_s)
        self._total_s = total_s
        self._headers = {**(headers or {}), "Accept-Encoding": ACCEPT_ENCODING}
        self._session: aiohttp.ClientSession | None = None
        self._has_replied = False
        self._hopeless = ""  # why no request can succeed

    async def send(
        self,
        where: str,
        method: str,
        url: str,
        data: bytes | None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """Return the reply of the server; errors call it ``where``.

        Raises ConnectionFailed, TimeoutError, UnsendableError, or BodyError.
        """
        if self._hopeless:
            raise ConnectionFailed(self._hopeless)
        http = self._aiohttp()
        session = self._session = self._session or self._open()
        # "from None": the frames and texts of aiohttp's own errors hold headers and URLs.
        try:
            async with session.request(
                method,
                url,
                data=data,
                headers=headers,
                allow_redirects=False,
                proxy=proxy_for(url),
            ) as response:
                self._has_replied = True
                body = await read_body(response, self._most_mb)
                body = self._scrub(body, response.charset or "utf-8")
                may_be_cut_off = not _marks_its_end(response.status, response.headers)
                return HttpReply(response.status, response.headers, body, may_be_cut_off)
        except http.ConnectionTimeoutError:
            raise await self._unconnected(where, url) from None
        except TimeoutError:
            raise TimeoutError from None
        except http.ClientConnectorCertificateError:
            hint = "its certificate is not trusted (SSL_CERT_FILE names a file of certificates)"
            raise ConnectionFailed(f"{where}: {hint}") from None
        except (http.InvalidURL, ValueError):
            raise UnsendableError from None
        except http.ClientConnectorSSLError:
            message = f"{where}: TLS failed; does the server speak https? Else write http://"
            raise ConnectionFailed(message) from None
        except (http.ClientError, OSError) as error:
            is_closed = type(error).__name__ == "ServerDisconnectedError"
            may_speak_https = is_closed and not self._has_replied and url.startswith("http:")
            hint = "; does it speak https?" if may_speak_https else ""
            message = f"{where}: the connection failed ({reason_of(error)}{hint})"
            failed = ConnectionFailed(message, is_transient=True)
            cause = getattr(error, "os_error", error)
            failed.may_be_starting = getattr(cause, "errno", None) == errno.ECONNREFUSED
            raise failed from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _unconnected(self, where: str, url: str) -> ConnectionFailed:
        """Return the error of a connection that did not come about in time.

        Where a port takes connections and TLS does not begin, no other request will fare better.
        """
        text = f"{where}: could not connect in {self.connect_s:g} s"
        if not url.startswith("https:") or self._has_replied or not await _takes_connections(url):
            return ConnectionFailed(text, is_transient=True)
        self._hopeless = f"{text} (TLS; does the server speak https? Else write http://)"
        return ConnectionFailed(self._hopeless)

    def _open(self) -> aiohttp.ClientSession:
        http = self._aiohttp()
        # The limits are ours (see limits/limits.py); aiohttp's own would be a second queue.
        connector = http.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ttl_dns_cache=300)
        session: aiohttp.ClientSession = http.ClientSession(
            connector=connector,
            timeout=http.ClientTimeout(total=self._total_s, sock_connect=self.connect_s),
            headers=self._headers,
            cookie_jar=http.DummyCookieJar(),
            auto_decompress=False,
        )
        return session

    def _aiohttp(self) -> Any:
        return extras.require("aiohttp", extra="judge", purpose=self._purpose)


async def _takes_connections(url: str) -> bool:
    """Return whether a connection, without TLS, comes about within two seconds."""
    parts = urlsplit(url)
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(2.0):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 443)
        writer.close()
        return True
    return False


def preload() -> None:
    """Import what requests need; call it in a thread, for the import takes a while."""
    with extras.loading(), suppress(Exception):  # the first request meets the same and says so
        extras.require("aiohttp", extra="judge", purpose="HTTP")


def reason_of(error: Exception) -> str:
    """Return why a connection failed: the system's words, ours, else the name of the error."""
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number)
    words = getattr(cause, "strerror", None)  # a name that cannot be resolved, for instance
    name = type(error).__name__
    return shorten(str(words or _BROKEN.get(name, name)), 100)


def proxy_for(url: str) -> str | None:
    """Return the environment's proxy for https; plain http would show it the key."""
    parts = urlsplit(url)
    if parts.scheme != "https" or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get("https")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds to wait, as a server asks in ms, in seconds or by a date; or None."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    text = headers.get("Retry-After")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None


ACCEPT_ENCODING: Final = "gzip, deflate"
"""What ``read_body`` can unpack."""

_CHUNK = 2**16


class BodyError(Exception):
    """A body that cannot be read; the text says why. ``is_too_long``: it exceeds the limit."""

    def __init__(self, message: str, *, is_too_long: bool = False) -> None:
        super().__init__(message)
        self.is_too_long = is_too_long


async def read_body(response: aiohttp.ClientResponse, most_mb: float) -> bytes:
    """Return the body of a response whose session does not unpack; raises BodyError.

    No more than ``most_mb`` is read or unpacked: a megabyte may be a gigabyte of zeros.
    """
    left = int(most_mb * 2**20)
    if _is_plain_and_short(response, left):
        return await response.read()
    parts: list[bytes] = []
    unpacker: Any = None
    try:
        async for chunk in response.content.iter_chunked(_CHUNK):
            unpacker = unpacker or _unpacker(response.headers.get("Content-Encoding", ""), chunk)
            for part in _unpacked(unpacker, chunk):
                left -= len(part)
                if left < 0:
                    raise BodyError(f"the reply is larger than {most_mb:g} MB", is_too_long=True)
                parts.append(part)
    except zlib.error:
        raise BodyError("the reply cannot be unpacked") from None
    finally:
        if left < 0:
            response.close()
    if unpacker is not None and not unpacker.eof:
        raise BodyError("the reply is packed, and its end is missing")
    return b"".join(parts)


def _is_plain_and_short(response: aiohttp.ClientResponse, most: int) -> bool:
    """Return whether a body is neither packed nor chunked, and states a length within ``most``."""
    if "Content-Encoding" in response.headers or "Transfer-Encoding" in response.headers:
        return False
    return response.content_length is not None and response.content_length <= most


def _unpacked(unpacker: Any, chunk: bytes) -> Iterator[bytes]:
    """Yield what a chunk holds, in small parts; the chunk itself if it is not packed."""
    if unpacker is None:
        yield chunk
        return
    is_full = True
    while is_full or chunk:
        part = unpacker.decompress(chunk, _CHUNK)
        chunk, is_full = unpacker.unconsumed_tail, len(part) >= _CHUNK
        yield part


def _unpacker(encoding: str, chunk: bytes) -> Any:
    """Return what unpacks a body that begins with ``chunk``, None if it is plain."""
    name = encoding.strip().lower()
    if name in _UNPACKED:
        return None
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BodyError(
            f"the reply is packed as {shorten(encoding, 40)!r}, which was not asked for"
        )
    # Some servers leave out the header of zlib, whose first byte says 8 in its lower half.
    is_raw = name == "deflate" and chunk[0] & 0x0F != 8
    return zlib.decompressobj(-zlib.MAX_WBITS) if is_raw else Members()
