"""API keys: read from the environment when a request needs them, and removed from every text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from string import Template
from typing import Final

from pytest_rageval.clients.errors import AuthError
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.redaction import Redactor, named_secrets, query_secrets

NOT_SET: Final = "is not set"
"""How the problem of a missing variable ends; who asks nobody needs none."""

_LOOKS_LIKE_A_KEY = re.compile(r"(?i)\b(bearer\s+)\S+|\b(sk-)[\w*.\-]{4,}")


class Credentials:
    """The headers that carry keys; ``hide`` removes the keys from texts of others."""

    def __init__(self, headers: Mapping[str, str], secrets: Iterable[str]) -> None:
        self.headers = headers
        self._redacted = Redactor(secrets)

    def scrub(self, raw: bytes, charset: str = "utf-8") -> bytes:
        """Return what a server sent as UTF-8, without our keys, which it may repeat.

        Bytes that are not valid UTF-8 stay as they are. A charset that Python does not know is read
        as UTF-8.
        """
        try:
            text = raw.decode(charset, "surrogateescape" if charset == "utf-8" else "replace")
        except LookupError:
            charset, text = "utf-8", raw.decode("utf-8", "surrogateescape")
        found = self._redacted(text)
        if found is text and charset == "utf-8":
            return raw
        return found.encode("utf-8", "surrogateescape")

    def hide(self, text: str) -> str:
        """Return ``text`` with asterisks for every key of ours and for what looks like a key."""
        text = self._redacted(text)
        return _LOOKS_LIKE_A_KEY.sub(lambda found: f"{found[1] or found[2]}***", text)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self.headers)})"


def read_credentials(settings: ClientSettings) -> Credentials:
    """Return the headers for ``settings``; raise AuthError when a variable is not set."""
    problems = missing_credentials(settings)
    if problems:
        raise AuthError(f"{settings.shown}: {'; '.join(problems)}")
    headers = {name: _expand(value) for name, value in settings.headers.items()}
    secrets = [*headers.values(), *_of_requests(settings)]
    if settings.api_key_env:
        key = os.environ[settings.api_key_env].strip()
        headers.setdefault("Authorization", f"Bearer {key}")
        secrets.append(key)
    return Credentials(headers, secrets)


def _of_requests(settings: ClientSettings) -> Iterator[str]:
    """Yield what requests hold in addition to headers and may be a secret."""
    for value in settings.headers.values():
        yield from (os.environ.get(name, "").strip() for name in Template(value).get_identifiers())
    yield from query_secrets(settings.url.query)
    yield from named_secrets(settings.extra_body)


def missing_credentials(settings: ClientSettings) -> list[str]:
    """Return what is wrong with the environment variables that ``settings`` name, never a value."""
    problems = []
    if settings.api_key_env:
        problems += _check(settings.api_key_env, "api_key_env")
    for header, value in settings.headers.items():
        if not _is_sendable(value):
            problems.append(f"headers.{header}: holds characters that no header has")
        for name in Template(value).get_identifiers():
            problems += _check(name, f"headers.{header}")
    return problems


def _check(name: str, where: str) -> list[str]:
    value = os.environ.get(name, "").strip()
    if not value:
        return [f"{where}: the environment variable {name} {NOT_SET}"]
    if not _is_sendable(value):
        return [f"{where}: the environment variable {name} holds characters that no key has"]
    return []


def _is_sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _expand(value: str) -> str:
    return Template(value).safe_substitute(
        {name: text.strip() for name, text in os.environ.items()}
    )
