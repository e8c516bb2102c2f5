"""promptfoo's graders as the judge and the embedding of a scenario, each on its own server.

Answers and contexts go to no server that the configuration does not name for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import ImportNotes, NotTakenError
from pytest_rageval.importing.files import Part, shown_name
from pytest_rageval.importing.promptfoo_providers import chat_target, with_id
from pytest_rageval.scenario.yaml.tree import YamlTree

_ROLES: Final = frozenset({"text", "embedding"})
_USUAL: Final = {"text": "gpt-4.1-2025-04-14", "embedding": "text-embedding-3-large"}
_OPENAI: Final = "https://api.openai.com/v1"


def models_of(
    part: Part, roles: Collection[str], concurrency: int | None, notes: ImportNotes
) -> dict[str, Any]:
    """Return the models, "judge" for the role "text" and "embedding" for its own, of ``roles``.

    ``part`` is the grader that the tests share. A grader that cannot be asked here is noted and
    left out: the texts are not sent to another one instead. ``concurrency`` is for the judge.
    """
    given = part.value
    if isinstance(given, dict) and given.keys() & _ROLES:
        for key in sorted(map(str, given.keys() - _ROLES)):
            notes.add(part.of(key).where, f"options.provider.{key}", "has no counterpart here")
    models = {}
    for role, key in (("text", "judge"), ("embedding", "embedding")):
        model = _model(part, role, key, notes) if role in roles else None
        if model is not None:
            models[key] = model
    if concurrency is not None and "judge" in models:
        models["judge"]["concurrency"] = concurrency
    return models


def _model(part: Part, role: str, key: str, notes: ImportNotes) -> dict[str, Any] | None:
    name, options = _grader(part.value, role)
    if name is None:
        return {"model": _USUAL[role]}
    try:
        model = chat_target(_bare(name), options, part, notes)
    except NotTakenError as error:
        why = f"{error}; write {key} into the scenario yourself"
        notes.add(part.where, f"{key} {shorten(shown_name(name), 60)}", why)
        return None
    return {name: value for name, value in model.items() if name != "temperature" or key == "judge"}


def _bare(name: str) -> str:
    """Return a grader's name, that of an embedding as of a chat model, for ``chat_target``."""
    return re.sub(r":embeddings?:", ":", name)


def _grader(given: Any, role: str) -> tuple[str | None, Mapping[str, Any]]:
    """Return the name and the config of the grader with this role; None for promptfoo's own."""
    if isinstance(given, dict) and given.keys() & _ROLES:
        return _named(given.get(role))
    name, options = _named(given)
    is_of_role = (":embedding" in str(name)) == (role == "embedding")
    return (name, options) if is_of_role else (None, {})


def _named(given: Any) -> tuple[str | None, Mapping[str, Any]]:
    provider = with_id(given)
    name, config = provider.get("id"), provider.get("config")
    return (None if name is None else str(name)), config if isinstance(config, dict) else {}


def check_server(own: Any, shared: Any, role: str) -> None:
    """Raise NotTakenError if a test's own grader is on another server than the shared one."""
    of_roles = isinstance(own, dict) and bool(own.keys() & _ROLES)
    given = own.get(role) if of_roles else own
    if given is None or own == shared:
        return
    theirs, ours = _server(*_named(given)), _server(*_grader(shared, role))
    if theirs != ours:
        raise NotTakenError(
            f"it is judged at {theirs}, the scenario's judge is at {ours}; "
            "a scenario has one, and nothing is sent to another server"
        )


def _server(name: str | None, options: Mapping[str, Any]) -> str:
    """Return where a grader is asked; for one that cannot be asked here, its name."""
    if name is None:
        return _OPENAI
    part = Part(name, YamlTree(name, "", {}))
    try:
        target = chat_target(_bare(name), options, part, ImportNotes())
    except NotTakenError:
        return shorten(shown_name(name), 60)
    return str(target.get("base_url", _OPENAI)).rstrip("/")
