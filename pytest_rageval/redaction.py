"""What may be shown of URLs and named values: where something is, but no user, password or key."""

from __future__ import annotations

import re
from typing import Final

SHORTEST_SECRET: Final = 8
"""The fewest characters of a secret: "1", "true" or "EMPTY" are words that any message may hold."""

_SECRET_NAME = re.compile(r"(?i)auth|token|key|secret|passw|credential|cookie|signature|session")
# Scheme, authority, all that follows. A query may hold another URL: its "://" and "@" are no marks.
_PARTS = re.compile(r"((?:[^/?#@]*:)?//)?([^/?#]*)(.*)", re.DOTALL)


def sounds_secret(name: str) -> bool:
    """Return whether what goes by this name, that of a header for instance, may be a secret."""
    return _SECRET_NAME.search(name) is not None


def host(url: str) -> str:
    """Return host and port of a URL as they are written, without user and password.

    >>> host("http://user:password@127.0.0.1:8000/ask?next=http://x")
    '127.0.0.1:8000'
    """
    return _parts(url)[1]


def without_credentials(url: str) -> str:
    """Return a URL without user and password; path, query and fragment stay."""
    return "".join(_parts(url))


def shown_url(url: str) -> str:
    """Return a URL as it may be shown: without user, password, query and fragment.

    What is not a whole URL, or has places such as ``${NAME}``, stays as it is written otherwise.

    >>> shown_url("http://user:password@h.test/ask?next=http://x"), shown_url("/ask?key=1")
    ('http://h.test/ask', '/ask')
    """
    scheme, place, rest = _parts(url)
    return f"{scheme}{place}{re.split('[?#]', rest, maxsplit=1)[0]}"


def _parts(url: str) -> tuple[str, str, str]:
    """Return the scheme with its slashes, the host, and path, query and fragment."""
    found = _PARTS.match(url)
    assert found is not None  # each part may be empty
    scheme, authority, rest = found.groups(default="")
    return scheme, authority.rpartition("@")[2], rest
