"""Takes keys and passwords out of a configuration; variables of the environment stand for them.

What stands for one is promptfoo's own ``{{env.NAME}}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_rageval.importing.base import Losses
from pytest_rageval.redaction import (
    host,
    looks_secret,
    names_secret,
    secret_pairs,
    sounds_secret,
)

_URL: Final = re.compile(r"[A-Za-z][\w+.-]*://[^\s\"'<>]+")
_USER: Final = re.compile(r"(?<=://)[^/?#@]+(?=@)")
_QUERY: Final = re.compile(r"(?<=[?&])(?P<name>[^=&#]+)=(?P<value>[^&#]+)")
_PAIR: Final = re.compile(
    r"(?P<name>[\w-]+)(?P<between>[\"']?\s*[:=]\s*[\"']?)(?P<value>\{\{.*?\}\}|[^\s\"'&,;{}]+)"
)
# A step of a path that is long, and neither a word nor the name of a model: a webhook's key.
_STEP: Final = re.compile(r"(?<=/)(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])\w{24,}(?![^/?#])", re.ASCII)
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}|\$\{\w+\}")
_SCHEME: Final = re.compile(r"(?i)\s*(?:bearer|basic|token|digest|apikey)?\s*")

Named = Callable[[str], bool]


def without_secrets(
    value: Any, where: str, losses: Losses, name: str = "", named: Named = names_secret
) -> Any:
    """Return a value of JSON with a variable for each secret in it; each is noted.

    A secret is what has the name of one, what looks like one, and those of URLs.
    """
    if isinstance(value, Mapping):
        return {
            key: without_secrets(part, where, losses, str(key), named)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(part, where, losses, name, named) for part in value]
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if named(name) and not is_variable(text):
        return _secret(text, where, losses, name)
    if not isinstance(value, str):
        return value
    text = _URL.sub(lambda found: _url(found[0], where, losses), text)
    text = secret_pairs(text, lambda own, part: without_secrets(part, where, losses, own))
    return _secret(text, where, losses, name) if looks_secret(text) else text


def body_without_secrets(body: str, where: str, losses: Losses) -> str:
    """Return a text of names and values, such as a form, with a variable for each secret."""

    def kept(pair: re.Match[str]) -> str:
        value = without_secrets(pair["value"], where, losses, pair["name"])
        return f"{pair['name']}{pair['between']}{value}"

    return str(without_secrets(_PAIR.sub(kept, body), where, losses, "body"))


def sounds_secret_in(name: str) -> bool:
    """Return whether a header or a part of a query may be a secret by its name."""
    return sounds_secret(name) or name.lower() == "code"


def is_variable(text: str) -> bool:
    """Return whether a text is nothing but variables, perhaps after the scheme of a header."""
    return _SCHEME.fullmatch(_TEMPLATE.sub("", text)) is not None


def _secret(text: str, where: str, losses: Losses, name: str) -> str:
    """Return the variable of a secret, after the scheme that stands before it."""
    scheme, blank, secret = text.partition(" ")
    if not blank or _SCHEME.fullmatch(scheme) is None:
        scheme, blank, secret = "", "", text
    variable = losses.secret(where, f"secret {name}", secret, name)
    return f"{scheme}{blank}{{{{env.{variable}}}}}"


def _url(url: str, where: str, losses: Losses) -> str:
    def user(found: re.Match[str]) -> str:
        if not _TEMPLATE.sub("", found[0]).strip(":"):
            return found[0]
        name = f"{host(_TEMPLATE.sub('', url))} credentials"
        return _secret(found[0], where, losses, name)

    def pair(found: re.Match[str]) -> str:
        name = found["name"]
        value = without_secrets(found["value"], where, losses, name, sounds_secret_in)
        return f"{name}={value}"

    bare = _USER.sub(user, url)
    path, mark, rest = bare.partition("?")
    path = _STEP.sub(lambda step: _secret(step[0], where, losses, "path"), path)
    return f"{path}{_QUERY.sub(pair, mark + rest)}"
