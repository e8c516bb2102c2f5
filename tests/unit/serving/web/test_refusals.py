"""What is refused of a request before any route answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.serving.web.refusals import AccessPolicy, Refused, read_object
from pytest_rageval.text.codec import MAX_REQUEST_BYTES


class Leaving:
    """A body whose sender leaves after half of it."""

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield b'{"a": '
        raise ConnectionResetError("Connection lost")


def test_a_client_that_leaves_within_its_body_is_no_fault_of_the_app() -> None:
    """[X1] Else each half request leaves a traceback in the terminal of the app."""
    request: Any = SimpleNamespace(content_length=9, headers={}, content=Leaving())
    with pytest.raises(Refused, match="left before the end"):
        asyncio.run(read_object(request, MAX_REQUEST_BYTES))


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "the header Origin is missing; send Origin: http://127.0.0.1:8600"),
        (
            {"Origin": "http://evil.example"},
            "requests of other sites are refused; use the page at http://127.0.0.1:8600",
        ),
        (
            {"Origin": "http://localhost:8600", "Sec-Fetch-Site": "cross-site"},
            "requests of other sites are refused; use the page at http://127.0.0.1:8600",
        ),
    ],
)
def test_a_refused_origin_is_told_what_to_send(headers: dict[str, str], message: str) -> None:
    with pytest.raises(Refused) as refused:
        AccessPolicy(8600, "key").check_origin("POST", headers)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"Origin": "http://localhost:8600", "Sec-Fetch-Site": "same-origin"}),
        ("POST", {"Origin": "http://[::1]:8600"}),
        ("GET", {"Sec-Fetch-Site": "none"}),
        ("GET", {}),
    ],
)
def test_the_own_page_is_not_refused(method: str, headers: dict[str, str]) -> None:
    AccessPolicy(8600, "key").check_origin(method, headers)


def test_browsers_leave_out_the_port_80() -> None:
    """Of another port it is part of the name."""
    AccessPolicy(80, "key").check_host({"Host": "localhost"})
    AccessPolicy(80, "key").check_origin("POST", {"Origin": "http://127.0.0.1"})
    with pytest.raises(Refused, match="open it as 127.0.0.1:8600 or"):
        AccessPolicy(8600, "key").check_host({"Host": "localhost"})
