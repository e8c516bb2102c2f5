"""What all requests over HTTP have in common: proxies, waits that a server asks for, reasons."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult
from urllib.request import getproxies, proxy_bypass

from pytest_rageval.errors import shorten

_BROKEN = {
    "ClientPayloadError": "it broke in the middle of the answer",
    "ServerDisconnectedError": "the server closed it without an answer",
}


def reason_of(error: Exception) -> str:
    """Return why a connection failed: the system's words, ours, else the name of the error."""
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number)
    words = getattr(cause, "strerror", None)  # a name that cannot be resolved, for instance
    name = type(error).__name__
    return shorten(str(words or _BROKEN.get(name, name)), 100)


def proxy_for(url: SplitResult) -> str | None:
    """Return the environment's proxy for https; plain http would show it the key."""
    host = url.hostname or ""
    if url.scheme != "https" or proxy_bypass(host):
        return None
    return getproxies().get("https")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks to wait, from any of three forms, or None."""
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
