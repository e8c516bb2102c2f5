"""What a judge might reply: an instance of the wanted JSON Schema, made from the prompt itself.

Nothing here depends on time, order or the hash seed, and better data get better verdicts: a
statement is supported when half of its three-letter groups occur in the context beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

_DECODER = json.JSONDecoder()
_INPUT_MARKS = ("input: ", "Input: ", "INPUT: ")
_SCHEMA_MARKS = ("JSON Schema:", "json_schema:", "schema:")
_EVASIVE = re.compile(r"don't know|not sure|it depends|不知道|不清楚")
_VERDICTS = {"verdict", "verdicts", "attributed"}
_OF_A_TABLE = ('"verdicts": [{"n":', '{"claims": [')
_TAGGED = re.compile(
    r"<(question|source|statement)((?:-\d+)?)( n=\"\d+\")?>\n(.*?)\n</\1\2>", re.DOTALL
)


def share(text: str, salt: str = "") -> float:
    """Return a number in [0, 1) that depends on the text alone."""
    digest = hashlib.sha256(f"{salt}\0{text}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return what the messages of a request say up to the first reply.

    A question that is repeated, with a word on what was wrong with the reply, is the same one.
    """
    turns = takewhile(lambda turn: turn.get("role") != "assistant", body.get("messages", ()))
    return "\n".join(str(turn.get("content") or "") for turn in turns)


def wanted_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the JSON Schema that a reply must follow, None for free text.

    It stands in the tools, in ``response_format``, or in the words of the prompt.
    """
    for tool in body.get("tools") or ():
        return dict(tool["function"].get("parameters") or {})
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return dict(form["json_schema"]["schema"])
    prompt = prompt_of(body)
    for mark in _SCHEMA_MARKS:
        for found in re.finditer(re.escape(mark), prompt):
            schema = _object_at(prompt, found.end(), near=20)
            if schema and ("properties" in schema or "$ref" in schema):
                return schema
    return {} if form.get("type") == "json_object" else None


@dataclass(frozen=True)
class Asked:
    """What a prompt of a support table asks: which statements a source supports, or its claims."""

    question: str
    source: str
    statements: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What is asked for: ``claims`` or ``cells``."""
        return "cells" if self.statements else "claims"


def asked_by(prompt: str) -> Asked | None:
    """Return what a prompt asks of a support table, None where it asks something else.

    The parts of a source are put together with a line end between them.
    """
    if not any(shape in prompt for shape in _OF_A_TABLE):
        return None
    texts: dict[str, list[str]] = {"question": [], "source": [], "statement": []}
    for tag, _, _, text in _TAGGED.findall(prompt):
        texts[tag].append(text)
    question, source = ("\n".join(texts[tag]) for tag in ("question", "source"))
    return Asked(question, source, tuple(texts["statement"]))


def verdicts(levels: Sequence[str]) -> dict[str, Any]:
    """Return a reply with the level of each statement."""
    listed = [
        {"n": number, "support": level, "reason": "" if level == "full" else f"it is {level}"}
        for number, level in enumerate(levels, 1)
    ]
    return {"verdicts": listed}


def _by_overlap(asked: Asked) -> dict[str, Any]:
    if asked.kind == "claims":
        return {"claims": sentences(asked.source)}
    shares = [_overlap(statement, asked.source) for statement in asked.statements]
    return verdicts(
        ["full" if part >= 0.5 else "partial" if part >= 0.25 else "none" for part in shares]
    )


def judge(body: Mapping[str, Any]) -> str:
    """Return the reply to a chat request: JSON where a schema is wanted, else a sentence."""
    schema = wanted_schema(body)
    prompt = prompt_of(body)
    asked = asked_by(prompt)
    if asked is not None:
        return json.dumps(_by_overlap(asked), ensure_ascii=False)
    if schema is None:
        return f"Reply {int(share(prompt) * 1e6)}."
    return json.dumps(_Instance(schema, prompt).make(), ensure_ascii=False)


def supported(statement: str, context: str) -> int:
    """Return 1 when at least half of the statement's three-letter groups occur in the context."""
    return int(_overlap(statement, context) >= 0.5)


def _overlap(statement: str, context: str) -> float:
    known, groups = set(_groups(context)), _groups(statement)
    return sum(group in known for group in groups) / len(groups)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, English or Chinese."""
    parts = re.split(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+", text)
    return [part.strip() for part in parts if part.strip()]


def _groups(text: str) -> list[str]:
    flat = " ".join(text.lower().split())
    return [flat[at : at + 3] for at in range(max(1, len(flat) - 2))]


def _object_at(text: str, start: int, near: int) -> dict[str, Any] | None:
    """Return the JSON object that begins within ``near`` characters, or None."""
    brace = text.find("{", start, start + near)
    if brace < 0:
        return None
    try:
        found, _ = _DECODER.raw_decode(text, brace)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _input_of(prompt: str) -> dict[str, Any]:
    """Return the last JSON object of the prompt that is announced as its input."""
    for at in sorted((prompt.rfind(mark) for mark in _INPUT_MARKS), reverse=True):
        found = _object_at(prompt, at, near=20) if at >= 0 else None
        if found:
            return found
    return {}


class _Instance:
    """Builds one instance of a schema from what the prompt says."""

    def __init__(self, schema: Mapping[str, Any], prompt: str) -> None:
        self._schema = schema
        self._prompt = prompt
        self._input = _input_of(prompt)
        self._definitions = schema.get("$defs") or schema.get("definitions") or {}

    def make(self) -> Any:
        return self._value(self._schema, "", None)

    def _value(self, part: Mapping[str, Any], name: str, item: str | None) -> Any:
        part = self._resolved(part)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return part["enum"][0]
        kind = part.get("type", "object" if "properties" in part else "string")
        if isinstance(kind, list):
            kind = next(one for one in kind if one != "null")
        if kind == "object":
            fields = part.get("properties", {})
            return {field: self._value(inner, field, item) for field, inner in fields.items()}
        if kind == "array":
            return self._array(self._resolved(part.get("items", {})), name)
        if kind == "boolean":
            return share(self._prompt, name) < 0.5
        if kind in ("integer", "number"):
            return self._number(part, name, item)
        return self._string(name, item)

    def _resolved(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in part:
            part = self._definitions[part["$ref"].rpartition("/")[2]]
        for name in ("anyOf", "oneOf", "allOf"):
            if name in part:
                choices = [one for one in part[name] if one.get("type") != "null"]
                return self._resolved(choices[0])
        return part

    def _array(self, inner: Mapping[str, Any], name: str) -> list[Any]:
        return [self._value(inner, name, str(item)) for item in self._items(name)]

    def _items(self, name: str) -> Sequence[Any]:
        """Return what a list in the reply goes through: statements, sentences, names."""
        if name in ("TP", "FP", "FN"):
            return self._classified(name)
        if name == "entities":
            found = re.findall(r"[A-Z][a-z]+|\d{2,}|[\u4e00-\u9fff]{2,4}", self._text())
            return list(dict.fromkeys(found))
        given = self._input.get("statements") or self._input.get("claims")
        return (
            given if isinstance(given, list) and given else sentences(self._text()) or ["nothing"]
        )

    def _classified(self, name: str) -> list[str]:
        answer = list(self._input.get("answer") or ())
        truth = list(self._input.get("ground_truth") or ())
        if name == "FN":
            return [one for one in truth if not supported(one, " ".join(answer))]
        return [one for one in answer if supported(one, " ".join(truth)) == (name == "TP")]

    def _number(self, part: Mapping[str, Any], name: str, item: str | None) -> int | float:
        if name == "noncommittal":
            return int(_EVASIVE.search(self._text()) is not None)
        if name in _VERDICTS:
            return supported(item or self._text(), self._context())
        low, high = int(part.get("minimum", 0)), int(part.get("maximum", 1))
        if part.get("type") == "integer":
            return low + int(share(self._prompt, name) * (high - low + 1))
        return round(low + share(self._prompt, name) * (high - low), 3)

    def _string(self, name: str, item: str | None) -> str:
        if name == "question":
            return f"What about: {self._text()[:80]}?"
        if name in ("statement", "claim", "text") or not name:
            return item or self._text()
        if item is not None and name in ("TP", "FP", "FN", "statements", "claims", "entities"):
            return item
        return "because of the text"

    def _text(self) -> str:
        for name in ("answer", "response", "text", "statement", "reference", "question"):
            if isinstance(self._input.get(name), str):
                return str(self._input[name])
        return ""

    def _context(self) -> str:
        for name in ("context", "contexts", "retrieved_contexts", "reference"):
            found = self._input.get(name)
            if found:
                return "\n".join(map(str, found)) if isinstance(found, list) else str(found)
        return self._prompt
