"""The body of a reply, read and unpacked within a limit of size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.errors import shorten

if TYPE_CHECKING:
    import aiohttp

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

    No more than ``most_mb`` is read or unpacked: a hundred bytes may be a gigabyte of zeros.
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
    """Return whether a body is as it is, and says that it is short: nearly all are."""
    if "Content-Encoding" in response.headers or "Transfer-Encoding" in response.headers:
        return False
    return response.content_length is not None and response.content_length <= most


def _unpacked(unpacker: Any, chunk: bytes) -> Iterator[bytes]:
    """Yield what a chunk holds, in small parts; the chunk itself if it is not packed."""
    if unpacker is None:
        yield chunk
        return
    is_full = True
    while is_full:
        part = unpacker.decompress(chunk, _CHUNK)
        chunk, is_full = unpacker.unconsumed_tail, len(part) >= _CHUNK
        yield part


def _unpacker(encoding: str, chunk: bytes) -> Any:
    """Return the ``zlib.decompressobj`` for what begins with ``chunk``, None if it is plain."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BodyError(
            f"the reply is packed as {shorten(encoding, 40)!r}, which was not asked for"
        )
    # Some servers leave out the header of zlib, whose first byte says 8 in its lower half.
    is_raw = name == "deflate" and chunk[0] & 0x0F != 8
    return zlib.decompressobj(-zlib.MAX_WBITS if is_raw else zlib.MAX_WBITS | 32)
