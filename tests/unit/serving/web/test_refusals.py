"""What is refused of a request before any route answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.serving.web.refusals import Refused, read_object
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
