"""JSON over HTTP to one server: connections that are kept, time limits, errors in plain words.

aiohttp, because it costs a fifth of the CPU time a call of what httpx does, and httpx's pool of
connections is quadratic in the requests in flight.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_rageval import extras
from pytest_rageval.clients.checks import missing_package
from pytest_rageval.clients.credentials import Credentials, read_credentials
from pytest_rageval.clients.errors import (
    AuthError,
    BadRequestError,
    CallTimeoutError,
    ClientError,
    ConnectionFailed,
    QuotaError,
    RateLimitError,
    RefusedError,
    ServerError,
)
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.clients.wire import proxy_for, reason_of, retry_after
from pytest_rageval.errors import shorten
from pytest_rageval.redaction import shown_url

if TYPE_CHECKING:
    import aiohttp

_CONNECT_S = 15.0
_KEEP_ALIVE_S = 30.0
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit", "insufficient balance", "credit balance")
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy", "data_inspection_failed")


def preload() -> None:
    """Begin to import what requests need, in a thread: in the event loop, all calls would wait."""
    if "aiohttp" not in sys.modules:
        threading.Thread(target=_import, name="rageval-aiohttp", daemon=True).start()


class JsonEndpoint:
    """Posts JSON below the base URL of ``settings``. Opens connections at the first request.

    Redirects are not followed and proxies are used for https only, so that the key goes to no
    other host than the one named.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._credentials: Credentials | None = None
        self._session: aiohttp.ClientSession | None = None
        self._where = f"{settings.shown} at {settings.endpoint}"
        # The query, of some gateways a key, goes along with every request and is never shown.
        self._query = f"?{settings.url.query}" if settings.url.query else ""
        self._base = settings.url._replace(query="", fragment="").geturl().rstrip("/")
        self._proxy = proxy_for(settings.url)

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the JSON object that the server answers, and after how many seconds.

        Raises ClientError for anything else.
        """
        self._credentials = self._credentials or read_credentials(self._settings)
        began = time.perf_counter()
        status, headers, raw = await self._exchange(path, json.dumps(body).encode("ascii"))
        latency_s = time.perf_counter() - began
        if 200 <= status < 300:
            return self._parse(raw, headers), latency_s
        raise self._failure(status, headers, self._says(raw))

    def odd_answer(self, found: str) -> ServerError:
        """Return the error of an answer that is not what was asked for, but ``found``."""
        return ServerError(f"{self._where}: answered {found}", is_transient=True)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, path: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        http = _aiohttp()
        session = self._session = self._session or self._open()
        url = f"{self._base}/{path}{self._query}"
        # "from None": the frames and texts of aiohttp's own errors hold headers and URLs.
        try:
            async with session.post(
                url, data=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                raw = self._scrub(await response.read())
                return response.status, response.headers, raw
        except TimeoutError:
            raise self._timeout() from None
        except http.ClientConnectorCertificateError:
            hint = "its certificate is not trusted (SSL_CERT_FILE names a file of certificates)"
            raise ConnectionFailed(f"{self._where}: {hint}") from None
        except http.InvalidURL:
            raise BadRequestError(f"{self._where}: base_url is no URL that can be used") from None
        except (http.ClientError, OSError) as error:
            raise self._unreachable(error) from None

    def _open(self) -> aiohttp.ClientSession:
        http = _aiohttp()
        assert self._credentials is not None
        # The limits are ours (see limits.py); aiohttp's own would be a second queue.
        connector = http.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ttl_dns_cache=300)
        connect_s = min(_CONNECT_S, self._settings.timeout_s)
        session: aiohttp.ClientSession = http.ClientSession(
            connector=connector,
            timeout=http.ClientTimeout(total=self._settings.timeout_s, sock_connect=connect_s),
            headers={"Content-Type": "application/json", **self._credentials.headers},
            cookie_jar=http.DummyCookieJar(),
        )
        return session

    def _parse(self, raw: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            kind = shorten(headers.get("Content-Type", "no content type"), 40)
            raise self.odd_answer(f"{len(raw)} bytes of {kind}, which are no JSON object")
        error = answer.get("error")
        if error:  # a gateway that says 200 and means the status inside
            code = error.get("code") if isinstance(error, dict) else None
            raise self._failure(code if isinstance(code, int) else 500, headers, self._says(raw))
        return answer

    def _scrub(self, raw: bytes) -> bytes:
        return self._credentials.scrub(raw) if self._credentials else raw

    def _says(self, raw: bytes) -> str:
        return self._credentials.hide(_server_says(raw)) if self._credentials else ""

    def _failure(self, status: int, headers: Mapping[str, str], says: str) -> ClientError:
        text = f"HTTP {status}: {shorten(says, 300)}" if says else f"HTTP {status}"
        names = says.lower()
        if status in (401, 403):
            return AuthError(f"{self._where}: the key is not accepted ({text})")
        if status == 402 or (status == 429 and any(word in names for word in _NO_CREDIT)):
            return QuotaError(f"{self._where}: the account has no credit left ({text})")
        if status == 429:
            hint = f"lower {self._settings.role}.concurrency, or set rpm or tpm"
            return RateLimitError(
                f"{self._where}: rate limit ({text}); {hint}",
                is_transient=True,
                retry_after_s=retry_after(headers),
            )
        if status in (408, 409) or status >= 500:
            return ServerError(
                f"{self._where}: the server failed ({text})",
                is_transient=True,
                retry_after_s=retry_after(headers),
            )
        if 300 <= status < 400:
            return BadRequestError(self._redirected(headers))
        if status == 400 and any(word in names for word in _FILTERED):
            return RefusedError(f"{self._where}: a content filter stopped the request ({text})")
        hint = self._hint(status, names)
        return BadRequestError(f"{self._where}: the request was not accepted ({text}){hint}", says)

    def _hint(self, status: int, names: str) -> str:
        if status == 404:
            return "; is the model's name right, and does base_url end in /v1?"
        if "temperature" in names and self._settings.temperature is not None:
            return f"; {self._settings.role}.temperature: null leaves it out"
        return ""

    def _redirected(self, headers: Mapping[str, str]) -> str:
        goal = shown_url(headers.get("Location", "")) or "nowhere"
        return (
            f"{self._where}: redirects to {shorten(goal, 200)}; set base_url to where it should go"
        )

    def _timeout(self) -> CallTimeoutError:
        limit = f"timeout_s is {self._settings.timeout_s:g}"
        return CallTimeoutError(f"{self._where}: no answer in time ({limit})", is_transient=True)

    def _unreachable(self, error: Exception) -> ConnectionFailed:
        text = f"{self._where}: the connection failed ({reason_of(error)})"
        return ConnectionFailed(text, is_transient=True)


def check_endpoint(settings: ClientSettings) -> list[str]:
    """Return what is wrong with a base URL, or missing for HTTP at all, without a request."""
    problems = missing_package("aiohttp", "judge", settings)
    url = settings.url
    if url.scheme not in ("http", "https") or not url.hostname:
        problems.append(f"base_url: {settings.endpoint!r} is no http or https URL")
    elif "@" in url.netloc:
        problems.append(
            "base_url: must not hold a user or password; name an environment variable in "
            "api_key_env, or use ${NAME} in headers"
        )
    return problems


def _aiohttp() -> Any:
    return extras.require("aiohttp", extra="judge", purpose="asking a model over HTTP")


def _import() -> None:
    with suppress(Exception):  # whoever needs it meets the same, and says so
        _aiohttp()


def _server_says(raw: bytes) -> str:
    """Return the message of an error answer, with its code, on one line; "" for a page of HTML."""
    try:
        answer = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw[:2000].decode("utf-8", "replace")
        return "" if text.lstrip().startswith("<") else " ".join(text.split())
    words = _words(answer)
    return " ".join(" ".join(words).split()) if words else ""


def _words(answer: Any) -> list[str]:
    if isinstance(answer, str | int):
        return [str(answer)]
    if isinstance(answer, list):  # FastAPI lists what it finds wrong
        return [word for part in answer[:3] for word in _words(part)]
    if not isinstance(answer, dict):
        return []
    names = ("error", "message", "msg", "detail", "errors", "code", "type", "param")
    return [word for name in names if name in answer for word in _words(answer[name])]
