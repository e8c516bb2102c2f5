"""promptfoo's prompts: texts, and chats of a system's and a user's message."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.importing.base import ImportNotes, NotTakenError
from pytest_rageval.importing.files import Folder, Part, is_code, read_text
from pytest_rageval.importing.templates import names_in
from pytest_rageval.redaction import looks_secret
from pytest_rageval.scenario.yaml.tree import parse_yaml

_PROMPT_KEYS: Final = frozenset({"raw", "label", "id", "display"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: the message of the user and, in a chat, of the system.

    A provider may name it by its label, by one of ``names``, or by what stands before a colon in
    one of these: ``group`` or ``group:*``.
    """

    label: str
    user: str
    system: str | None = None
    where: str = ""
    names: tuple[str, ...] = ()

    def is_named(self, name: str) -> bool:
        """Return whether a provider that names ``name`` is asked with this prompt."""
        group = name.removesuffix(":*") + ":"
        return any(own == name or own.startswith(group) for own in (self.label, *self.names))


def prompts_of(
    config: Part, folder: Folder, notes: ImportNotes, keys: Collection[str] = ()
) -> list[Prompt]:
    """Return the prompts, ``{{prompt}}`` if the file has none; what cannot be used is noted.

    ``keys`` are secrets that none may say.
    """
    value = config.of("prompts").value
    if value is None:
        return [Prompt("prompt", "{{prompt}}")]
    if isinstance(value, dict):
        value = {"prompts": [{"raw": raw, "label": label} for raw, label in value.items()]}
        config = Part(value, config.tree)
    found: list[Prompt] = []
    numbers = count(1)  # of all texts, taken or not
    for part in config.of("prompts").parts():
        try:
            found += _prompts(part, folder, numbers, notes, keys)
            for key in (
                sorted(part.value.keys() - _PROMPT_KEYS) if isinstance(part.value, dict) else ()
            ):
                notes.add(part.where, f"prompt: {key}", "has no counterpart here")
        except (NotTakenError, ScenarioError) as error:
            notes.add(part.where, f"prompt {shorten(repr(part.value), 60)}", error)
    return found


def _prompts(
    part: Part,
    folder: Folder,
    numbers: Iterator[int],
    notes: ImportNotes,
    keys: Collection[str],
) -> Iterator[Prompt]:
    value = part.value
    given = value if isinstance(value, dict) else {}
    raw = given.get("raw", given.get("id", "")) if given else str(value)
    label = str(given.get("label") or (given.get("id") if "raw" in given else "") or "")
    file = re.sub(r"^(?:file://)?(?:\./)?", "", str(raw))
    names = tuple(str(name) for name in (label, given.get("id"), raw, file) if name)
    texts = list(_texts(str(raw), folder))
    for text, at in zip(texts, numbers, strict=False):
        if says_key(text, keys):  # not quoted
            why = (
                "its text holds what looks like a key; it is not copied: "
                "write another word in its place"
            )
            notes.add(part.where, f"prompt {at}", why)
            continue
        try:
            system, user = _turns(text)
            for turn in (system or "", user):
                names_in(turn)  # raises NotTakenError for what is more than variables
        except NotTakenError as error:
            shown = value if len(texts) == 1 else text
            notes.add(part.where, f"prompt {shorten(repr(shown), 60)}", error)
            continue
        numbered = label if len(texts) == 1 else f"{label}-{at}" if label else ""
        yield Prompt(numbered or f"prompt-{at}", user, system, part.where, names)


def says_key(text: str, keys: Collection[str]) -> bool:
    """Return whether a text holds what looks like a key, or one of ``keys``."""
    return looks_secret(text) or any(key in text for key in keys)


def _texts(raw: str, folder: Folder) -> Iterator[str]:
    """Yield the prompts that a text or a file holds; a line of ``---`` separates them in a .txt."""
    is_file = raw.startswith("file://") or is_code(raw) or _is_file_name(raw)
    if not is_file:
        yield raw
        return
    for file in folder.named(raw):
        text = read_text(file)
        if file.suffix.lower() in (".yaml", ".yml", ".json"):
            yield json.dumps(parse_yaml(text, file.name).data, ensure_ascii=False)
        elif file.suffix.lower() == ".txt":
            parts = re.split(r"^---\s*$", text, flags=re.MULTILINE)
            yield from (part.strip() for part in parts if part.strip())
        elif file.suffix.lower() in (".csv", ".jsonl") or is_code(file.name):
            raise NotTakenError(f"prompts in {file.name} are not read; write them into text files")
        else:
            yield text.strip()


def _is_file_name(raw: str) -> bool:
    is_short = "\n" not in raw and "{{" not in raw and len(raw) < 200
    return is_short and bool(re.search(r"\.(txt|md|jsonl?|ya?ml|j2|csv)$|^\S+/\*+$", raw))


def _turns(text: str) -> tuple[str | None, str]:
    """Return the system's and the user's message of a prompt that may be a chat, in JSON or YAML.

    Raises NotTakenError for a chat with other messages.
    """
    messages = _messages(text)
    if messages is None:
        return None, text
    roles = [message.get("role") for message in messages]
    contents = [message.get("content") for message in messages]
    if roles not in (["user"], ["system", "user"]) or not all(
        isinstance(content, str) for content in contents
    ):
        raise NotTakenError("only a system message and a user message can be sent")
    return (contents[0] if len(roles) > 1 else None), str(contents[-1])


def _messages(text: str) -> list[dict[str, Any]] | None:
    if not text.lstrip().startswith(("[", "- role")):
        return None
    try:
        found = parse_yaml(text, "").data
    except ScenarioError:
        return None
    is_chat = isinstance(found, list) and found and all(isinstance(m, dict) for m in found)
    return found if is_chat else None
