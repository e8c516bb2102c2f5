"""Turn a row into a request: its URL, headers and body, and which texts are secret."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from pytest_rageval import redaction
from pytest_rageval.model import Sample
from pytest_rageval.redaction import (
    host,
    named_secrets,
    query_secrets,
    sounds_secret,
    without_credentials,
)
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.templates import Template, outline, places
from pytest_rageval.text.json_value import change_texts
from pytest_rageval.text.limits import read_json


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Secrets:
    """``always`` is taken out of whatever the service replies, ``in_messages`` of messages only.

    The plain words of a literal header may be in any answer: that is no leak.
    """

    always: tuple[str, ...]
    in_messages: tuple[str, ...]


class RequestMaker:
    """Makes the requests of one target; reads the environment once.

    Raises TargetError for a URL that cannot be used.
    """

    def __init__(
        self, *, method: str, url: str, headers: Mapping[str, str], query: Any, body: Any
    ) -> None:
        self._method = method
        self._variables = environment([url, dict(headers), query, body])
        self._is_text = isinstance(body, str)
        structure = _structure(body) if isinstance(body, str) else None
        if structure is not None:
            body, self._is_text = structure, False
        self._query, self._body = Template(query), Template(body)
        self._has_body = body is not None
        self.url = _split(outline(url, self._variables))
        self._url = Template(url)
        self._headers = {
            name: str(Template(value).fill(Sample(""), self._variables)).strip()
            for name, value in headers.items()
        }
        literal = [text for name, text in self._headers.items() if name.lower() not in _PLAIN]
        self._add_headers()
        self.secrets = self._find_secrets(url, Template([dict(headers), query, body]), literal)

    def make(self, sample: Sample) -> Request:
        """Return the request for a sample; raises TargetError where the row lacks what it needs."""
        filled = self._url.fill(sample, self._variables, lambda text: quote(text, safe=""))
        url = without_credentials(str(filled))
        pairs = [
            (name, _query_text(part))
            for name, value in self._query.fill(sample, self._variables).items()
            for part in (value if isinstance(value, list) else [value])
            if part is not None
        ]
        if pairs:
            joint = "&" if urlsplit(url).query else "?"
            url = f"{url.partition('#')[0]}{joint}{urlencode(pairs, quote_via=quote)}"
        return Request(self._method, url, self._headers, self._filled_body(sample))

    def _filled_body(self, sample: Sample) -> bytes | None:
        if not self._has_body:
            return None
        filled = self._body.fill(sample, self._variables)
        if self._is_text:
            return str(filled).encode("utf-8", "replace")
        return json.dumps(filled).encode("ascii")

    def _add_headers(self) -> None:
        names = {name.lower() for name in self._headers}
        if self._has_body and "content-type" not in names:
            kind = "text/plain; charset=utf-8" if self._is_text else "application/json"
            self._headers["Content-Type"] = kind
        if self.url.username is not None and "authorization" not in names:
            user, password = (unquote(self.url.username), unquote(self.url.password or ""))
            pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            self._headers["Authorization"] = f"Basic {pair}"

    def _find_secrets(self, url: str, rest: Template, literal: Sequence[str]) -> Secrets:
        hidden = [unquote(self.url.password or ""), unquote(self.url.username or "")]
        place = f"{self.url.scheme}://{host(self.url.geturl())}"
        hidden += [self._variables[name] for name in rest.variables]
        # The place of the service may be shown, even if a variable holds it.
        of_url = (self._variables[name].strip("/") for name in Template(url).variables)
        hidden += [value for value in of_url if "://" not in value and value not in place]
        hidden += [value for name, value in self._headers.items() if sounds_secret(name)]
        hidden += [value for value in literal if not _WORDS.fullmatch(value)]
        hidden += query_secrets(self.url.query)
        hidden += [text for text in named_secrets(rest.value) if not list(places(text))]
        return Secrets(tuple(hidden), (*hidden, *literal))


_WORDS = re.compile(r"[A-Za-z .,;:/_-]*|[0-9 .,;:/_-]*")
_PLAIN = ("accept", "accept-language", "content-type", "user-agent")


def environment(value: Any) -> dict[str, str]:
    """Return the environment's values of the variables that a value names, "" for unset ones."""
    return {name: os.environ.get(name, "").strip() for name in Template(value).variables}


def filled_in(value: Any) -> Any:
    """Return a value of JSON with the environment's values, but for those that are secrets.

    A variable whose name says that it is a secret stays as written: a new key is not a new system,
    and a replay works without it.
    """
    return change_texts(value, lambda text: _VARIABLE.sub(_value_of, text))


def headers_filled_in(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers as ``filled_in`` does; those that hold a secret by their name as written."""
    return {
        name: value if _is_secret(name) else filled_in(value) for name, value in headers.items()
    }


def _value_of(place: re.Match[str]) -> str:
    return place[0] if _is_secret(place[1]) else os.environ.get(place[1], "").strip()


def _is_secret(name: str) -> bool:
    return _SECRET_WORD.search(name) is not None


_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Whole words, unlike for redaction: the values of 'keywords' or 'max_tokens' must count.
_SECRET_WORD = re.compile(
    r"(?i)(?:^|api|[-_])(?:authorization|auth|key|token|secret|password|passwd|pwd|credentials?"
    r"|cookie)(?:[-_]|$)"
)


def missing_variables(where: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with the variables that a value names; never their values."""
    for name in sorted(Template(value).variables):
        found = os.environ.get(name, "").strip()
        if not found:
            yield f"{where}: the environment variable {name} is not set"
        elif where.startswith("headers") and not (found.isascii() and found.isprintable()):
            yield f"{where}: the environment variable {name} holds characters that no header has"
    if where.startswith("headers") and not (value.isascii() and value.isprintable()):
        yield f"{where}: holds characters that no header has"


def shown_url(url: str, variables: Mapping[str, str] | None = None) -> str:
    """Return a URL with the values of ``variables``, without user, password and query."""
    if variables is not None:
        url = _VARIABLE.sub(lambda found: variables.get(found[1], ""), url)
    return redaction.shown_url(url)


def _split(url: str) -> SplitResult:
    try:
        found = urlsplit(url)
        sound = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise TargetError("url: expected one like http://127.0.0.1:8000/ask")
    return found


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _structure(text: str) -> Any:
    """Return the JSON object or list that a body spells as text; None for any other text."""
    try:
        found = read_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None
