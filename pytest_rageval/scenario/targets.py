"""Short forms of ``target``: what a bare text means, and the type of one that does not say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_TYPE_BY_KEY: Final = {
    "use": "python",
    "url": "http",
    "fixture": "fixture",
    "model": "chat",
    "profile": "chat",
}
_OF_JUDGES: Final = ("form", "reasks", "language", "repeats", "batch_size")
"""What a profile of a model may say that is not for a target."""


def named_target(text: str) -> dict[str, Any]:
    """Return the keys of a target that is only a text.

    >>> named_target("my_app.rag:answer")
    {'type': 'python', 'use': 'my_app.rag:answer'}
    >>> named_target("http://127.0.0.1:8000/ask")
    {'type': 'http', 'url': 'http://127.0.0.1:8000/ask'}
    >>> named_target("fixture")
    {'type': 'fixture'}
    """
    if "://" in text:
        return {"type": "http", "url": text}
    if ":" in text or "." in text:
        return {"type": "python", "use": text}
    return {"type": text}


def type_of_target(keys: Iterable[str]) -> str | None:
    """Return the type of a target by a key that only this type has, None where there is none."""
    given = set(keys)
    return next((name for key, name in _TYPE_BY_KEY.items() if key in given), None)


def names_profile(target: Any, profiles: Iterable[str]) -> bool:
    """Return whether a target is a model that stands under ``models``, or says so."""
    if isinstance(target, str):
        return target in set(profiles)
    if not isinstance(target, dict) or target.get("type", "chat") != "chat":
        return False
    model = target.get("model")
    return "profile" in target or (isinstance(model, str) and model in set(profiles))


def chat_target(target: str | dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a target that is a model; a bare text is a profile."""
    return {"profile": target} if isinstance(target, str) else target


def target_of(filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a target from those of a model, what only judges have left out."""
    return {
        "type": "chat",
        **{name: value for name, value in filled.items() if name not in _OF_JUDGES},
    }
