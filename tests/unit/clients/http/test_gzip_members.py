"""Members of a gzip, however the network cuts them."""

from __future__ import annotations

import gzip
import zlib

import pytest

from pytest_rageval.clients.gzip_members import Members

ONE = gzip.compress(b"Paris", mtime=0)  # the same in each worker


def unpacked(body: bytes, size: int) -> bytes:
    members, found = Members(), b""
    for at in range(0, len(body), size):
        chunk = body[at : at + size]
        while chunk:
            found += members.decompress(chunk, 3)
            chunk = members.unconsumed_tail
        found += members.decompress(b"", 3)  # what is unpacked already
    assert members.eof
    return found


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (ONE, b"Paris"),
        (ONE + ONE, b"ParisParis"),
        (ONE + b"\0\0", b"Paris"),
        (ONE + b"\0" + ONE, b"Paris"),  # after a byte that begins no member
        (zlib.compress(b"Paris") + b"xx" + ONE, b"Paris"),
    ],
)
def test_all_members_are_unpacked_and_nothing_behind_them(
    body: bytes, text: bytes, size: int
) -> None:
    assert unpacked(body, size) == text
