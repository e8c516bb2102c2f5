"""Unpacks gzip, of which several may follow each other in one body (RFC 1952)."""

from __future__ import annotations

import zlib


class Members:
    """Unpacks all members of a gzip, as servers send that pack piece by piece; zlib, too.

    After the first byte that begins no member, all is passed over.
    """

    def __init__(self) -> None:
        self._one = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._is_over = False
        self.unconsumed_tail = b""

    @property
    def eof(self) -> bool:
        """Whether the last one has come to its end."""
        return self._one.eof

    def decompress(self, chunk: bytes, most: int) -> bytes:
        """Return some of what a chunk holds; ``unconsumed_tail`` is what is left of it."""
        self.unconsumed_tail = b""
        if self._one.eof:
            self._is_over |= chunk[:1] not in (b"", b"\x1f")
            if self._is_over or not chunk:
                return b""
            self._one = zlib.decompressobj(zlib.MAX_WBITS | 16)
        part = self._one.decompress(chunk, most)
        self.unconsumed_tail = self._one.unconsumed_tail or self._one.unused_data
        return part
