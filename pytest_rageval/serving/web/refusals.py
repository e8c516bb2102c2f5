"""What the server refuses whatever the route is: hosts, keys, origins, and bodies.

A page of another site that is open in the same browser may send requests to this server. None of
them may start a run, write a file, or read anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.errors import shorten

if TYPE_CHECKING:
    from aiohttp import web

from pytest_rageval.text.codec import read_json

BODY_S: Final = 60.0
"""How long a client on this machine may take to send a body."""

JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"

_READING: Final = ("GET", "HEAD")
_OWN_ORIGIN: Final = ("same-origin", "none")


class Refused(Exception):  # noqa: N818  (an answer, not a fault)
    """A request gets ``status`` and a sentence, with more keys where they help the page."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.more = more


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Who may come in: who asks for one of ``hosts``, and knows the ``key``."""

    port: int
    key: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of the header Host that a browser on this machine sends."""
        names = ("127.0.0.1", "localhost", "[::1]")
        # Browsers leave out the port of http.
        bare = names if self.port == 80 else ()
        return (*(f"{name}:{self.port}" for name in names), *bare)

    @property
    def cookie(self) -> str:
        """The name of the cookie that holds the key; servers on other ports have their own."""
        return f"rageval-{self.port}"

    def knows(self, key: str | None) -> bool:
        """Return whether ``key`` is right."""
        return key is not None and hmac.compare_digest(
            key.encode("utf-8", "replace"), self.key.encode()
        )

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse a name that another site's DNS may have pointed to this machine."""
        if headers.get("Host", "") not in self.hosts:
            hosts = " or ".join(self.hosts)
            raise Refused(403, f"this server is for this machine alone: open it as {hosts}")

    def check_origin(self, method: str, headers: Mapping[str, str]) -> None:
        """Refuse what a page of another origin sends; a change must say where it comes from."""
        origin = headers.get("Origin")
        if origin is None and method not in _READING:
            raise Refused(403, f"the header Origin is missing; send Origin: http://{self.hosts[0]}")
        is_own = origin is None or origin in [f"http://{host}" for host in self.hosts]
        if not is_own or headers.get("Sec-Fetch-Site", "none") not in _OWN_ORIGIN:
            raise Refused(
                403,
                f"requests of other sites are refused; use the page at http://{self.hosts[0]}",
            )


def check_type(method: str, content_type: str, expected: str = JSON) -> None:
    """Refuse (415) a POST whose body is of another type.

    A form of another site cannot send ``JSON`` or ``BYTES`` without a CORS preflight.
    ``content_type`` is the header, with or without parameters, "" where there is none.
    """
    if method == "POST" and content_type.partition(";")[0].strip().lower() != expected:
        raise Refused(415, f"expected a body of the type {expected}")


async def read_object(request: web.Request, most: int) -> dict[str, Any]:
    """Return the object in the body of a request.

    Refuses what is larger than ``most`` bytes, also once unpacked, what comes too slowly, and what
    is no JSON object.
    """
    async with within_time(request):
        raw = bytearray()
        async for part in parts_of(request, most):
            raw += part
        return json_object(bytes(raw))


@contextlib.asynccontextmanager
async def within_time(request: web.Request) -> AsyncIterator[None]:
    """Refuse a body that comes too slowly, breaks off, or cannot be unpacked."""
    from aiohttp.http_exceptions import BadHttpMessage
    from aiohttp.web_protocol import RequestPayloadError

    try:
        async with asyncio.timeout(BODY_S):
            yield
    except TimeoutError:
        raise Refused(408, f"the body has not come within {BODY_S:g} s") from None
    except ConnectionError:  # nobody is there to read the answer
        raise Refused(400, "the client has left before the end of the body") from None
    except (BadHttpMessage, RequestPayloadError):
        encoding = request.headers.get("Content-Encoding", "identity")
        raise Refused(400, f"the body cannot be read as {shorten(encoding, 40)}") from None


async def parts_of(request: web.Request, most: int) -> AsyncIterator[bytes]:
    """Yield the body; refuses more than ``most`` bytes, also once unpacked."""
    declared, received = request.content_length or 0, 0
    if declared <= most:
        async for part in request.content.iter_any():
            received += len(part)
            if received > most:
                break
            yield part
    if max(declared, received) > most:
        raise Refused(413, f"expected a body of at most {most} bytes")


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the object that a body holds; refuses (400) any other, and the word NaN in it."""
    try:
        found = read_json(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except ValueError as error:
        raise Refused(400, f"the body is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, "expected a JSON object as the body")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
