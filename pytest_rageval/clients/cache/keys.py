"""Cache keys: everything that changes an answer, and, for a key not found, what differs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_rageval.clients.accounting.call_context import Purpose
from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import shorten

KEY_FORMAT = 1
"""Part of every key; a higher number makes all older entries unreachable."""

_MOST_TEXTS = 20


@dataclass(frozen=True, slots=True)
class Key:
    """``material`` is readable, ``text`` is the same as JSON, ``sha256`` names the entry."""

    material: Mapping[str, Any]
    text: str
    sha256: str


def chat_key(
    settings: ClientSettings,
    messages: Sequence[Message],
    schema: ReplySchema | None,
    purpose: Purpose,
) -> Key:
    """Return the key of a reply. No header is in it, and no user, password or query of the URL."""
    return _key(
        {
            "format": KEY_FORMAT,
            **chat_identity(settings),
            "metric": purpose.metric,
            "metric_version": purpose.version,
            "repeat": purpose.repeat,
            "schema": None if schema is None else f"{schema.name} {schema.sha256}",
            "messages": [[message.role, message.content] for message in messages],
        }
    )


def vector_key(settings: ClientSettings, text: str, *, is_local: bool) -> Key:
    """Return the key of a vector."""
    identity = vector_identity(settings, is_local=is_local)
    return _key({"format": KEY_FORMAT, **identity, "text": text})


def answer_key(identity: Mapping[str, Any], sample: Mapping[str, Any]) -> Key:
    """Return the key of a target's answer: which target, and what it is shown of a row."""
    return _key({"format": KEY_FORMAT, **identity, **_shown(sample)})


def _shown(sample: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in sample.items() if name != "question"}
    return {"text": sample.get("question") or "", "row": rest}


def chat_identity(settings: ClientSettings) -> dict[str, Any]:
    """Return what identifies a judge: another identity has other replies in the cache."""
    return {
        "provider": settings.provider,
        "endpoint": settings.endpoint,
        "model": settings.model,
        "parameters": {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
            **_body_digests(settings),
        },
    }


def vector_identity(settings: ClientSettings, *, is_local: bool) -> dict[str, Any]:
    """Return what identifies an embedding model; one in this process has no endpoint."""
    return {
        "provider": settings.provider,
        "endpoint": None if is_local else settings.endpoint,
        "model": settings.model,
        "parameters": _body_digests(settings),
        **({"source": settings.source_sha256} if settings.source_sha256 else {}),
    }


def _body_digests(settings: ClientSettings) -> dict[str, Any]:
    """Return a digest of each value that is added to requests: it may be a secret."""
    digests = {name: digest(value)[:16] for name, value in settings.extra_body.items()}
    return {"extra_body": digests} if digests else {}


def _key(material: dict[str, Any]) -> Key:
    # ASCII, so that a lone surrogate in the user's text is no obstacle.
    text = _json(material)
    return Key(material, text, hashlib.sha256(text.encode("ascii")).hexdigest())


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def digest(value: Any) -> str:
    """Return 64 hexadecimal digits for a value: SHA-256 of its JSON, with sorted keys.

    What JSON does not have counts by its ``repr``.
    """
    return hashlib.sha256(_json(value).encode("ascii")).hexdigest()


def nearest(
    wanted: Mapping[str, Any], found: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the key that differs least from ``wanted``: in the fewest fields, then in its text."""
    by_fields = sorted(found, key=lambda other: len(_differing(wanted, other)))
    # To compare texts takes long, so only the first ones are.
    return min(by_fields[:_MOST_TEXTS], key=lambda other: _rank(wanted, other), default=None)


def _rank(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, int]:
    return len(_differing(wanted, other)), _distance(wanted, other)


def explain_difference(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in words where ``other``, a key in the cache, differs from the one wanted."""
    fields = _differing(wanted, other)
    return "; ".join(_explain(name, wanted.get(name), other.get(name)) for name in fields[:4])


def is_same_text(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two keys are of the same question, whoever was asked it."""
    return _text(wanted) == _text(other)


def _differing(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in wanted if wanted[name] != other.get(name)]


def _text(key: Mapping[str, Any]) -> str:
    messages = key.get("messages") or [["", str(key.get("text", ""))]]
    return "\n".join(content for _, content in messages)


def _distance(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return how many characters of the two texts lie between their common ends."""
    one, two = _text(wanted), _text(other)
    prefix = _common(one, two)
    suffix = _common(one[prefix:][::-1], two[prefix:][::-1])
    return len(one) + len(two) - 2 * (prefix + suffix)


def _common(one: str, two: str) -> int:
    """Return how many characters two texts have in common at their beginning, by bisection."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low


def _explain(name: str, wanted: Any, found: Any) -> str:
    if name == "messages" and isinstance(found, list):
        return _explain_messages(wanted, found)
    if name == "text" and isinstance(found, str):
        return f"the text differs {_explain_text(wanted, found)}"
    if name == "parameters" and isinstance(found, dict):
        names = sorted({*wanted, *found})
        return "; ".join(
            _explain_parameter(part, wanted, found)
            for part in names
            if wanted.get(part) != found.get(part)
        )
    if name == "source" and found:
        return "the function's file has changed"
    if name == "schema" and wanted and found:
        return f"the schema of the reply ({wanted.split()[0]}) has changed"
    return f"{name}: {_brief(wanted)} here, {_brief(found)} in the cache"


def _explain_parameter(name: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    if name != "extra_body":
        return f"{name}: {_plain(wanted, name)} here, {_plain(found, name)} in the cache"
    here, there = wanted.get(name) or {}, found.get(name) or {}
    differing = [part for part in sorted({*here, *there}) if here.get(part) != there.get(part)]
    return f"extra_body differs: {shorten(', '.join(differing), 60)}"


def _explain_messages(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> str:
    if len(wanted) != len(found):
        return f"{len(wanted)} messages here, {len(found)} in the cache"
    for number, (one, two) in enumerate(zip(wanted, found, strict=True), start=1):
        if one[0] != two[0]:
            return f"message {number} is by {one[0]} here, by {two[0]} in the cache"
        if one[1] != two[1]:
            return f"message {number} differs {_explain_text(one[1], two[1])}"
    return "the messages differ"


def _explain_text(wanted: str, found: str) -> str:
    at = _common(wanted, found)
    start = max(at - 12, 0)
    here, there = (shorten(text[start:] or "", 50) for text in (wanted, found))
    return f"from character {at + 1}: {here!r} here, {there!r} in the cache"


def _plain(fields: Mapping[str, Any], name: str) -> str:
    return _brief(fields[name]) if fields.get(name) is not None else "not set"


def _brief(value: Any) -> str:
    return shorten(repr(value), 60)
