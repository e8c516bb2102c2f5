"""How a judge is asked for JSON: by a schema, as an object, or by an example in the prompt."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.errors import BadRequestError, ClientError
from pytest_rageval.clients.settings import ReplyForm

_DEEPEST: Final = 8

_WANTED: Final[Mapping[str, str]] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def instance(schema: ReplySchema, leaf: Callable[[Mapping[str, Any]], Any], items: int) -> Any:
    """Return an object with every property of a schema, and ``items`` entries in each list.

    ``leaf`` gives the value for the schema of a text, a number or a choice.
    """
    definitions = schema.schema.get("$defs", {})

    def made(part: Mapping[str, Any], depth: int) -> Any:
        part = definitions.get(str(part.get("$ref", "")).rpartition("/")[2], part)
        choices = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
        if choices:
            return made({**part, "anyOf": (), **choices[0]}, depth)
        if depth > _DEEPEST:  # a schema may hold itself
            return None
        if "properties" in part:
            return {name: made(one, depth + 1) for name, one in part["properties"].items()}
        if part.get("type") == "array":
            # The description of a list is that of its items.
            item = {**part, "type": "string", **part.get("items", {})}
            return [made(item, depth + 1) for _ in range(items)]
        return {} if part.get("type") == "object" else leaf(part)

    return made(schema.schema, 0)


def shown_example(schema: ReplySchema) -> str:
    """Return the form of a reply as JSON, with what belongs there in place of each value.

    A small model that is shown a JSON Schema gives it back. One that gives this back is noticed
    (``gives_back``): no row holds such texts.
    """
    return json.dumps(instance(schema, _wanted, 1), ensure_ascii=False)


def gives_back(reply: str, schema: ReplySchema) -> bool:
    """Return whether a value of a reply is the text that stands for one in ``shown_example``.

    Case, width, blanks, punctuation, JSON's escapes and the first word do not count.
    """
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), reply)
    text = unicodedata.normalize("NFKC", text).lower()
    if "here" not in text:
        return False
    kinds: list[str] = []
    instance(schema, lambda part: kinds.append(_kind(part)), 1)
    rows = (r"\W+".join(re.findall(r"\w+", f"{kind} here".lower())) for kind in set(kinds))
    # A value begins with it, and a sign follows, no word: "Type your own text here" may be a row's.
    return any(re.search(rf"[\"':]\W*(?:put\W+)?{row}\s*[^\w\s]", text) for row in rows)


_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def _wanted(part: Mapping[str, Any]) -> str:
    about = str(part.get("description") or part.get("title") or "").strip().rstrip(".")
    return f"<put {_kind(part)} here{about and ': '}{about}>"


def _kind(part: Mapping[str, Any]) -> str:
    choices = part.get("enum") or ([part["const"]] if "const" in part else [])
    if choices:
        return f"one of {', '.join(map(str, choices))}"
    return _WANTED.get(str(part.get("type")), "your own text") + _limits(part)


def _limits(part: Mapping[str, Any]) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    return "" if low is None or high is None else f" from {low} to {high}"


_LADDER: Final[tuple[ReplyForm, ...]] = ("json_schema", "json_object", "text")
_NAMES_OF_FORMS: Final = (
    r"response_format|response format|json_schema|json_object|(?<!pro)(?<!dia)grammar"
)
# Not "restricted", "strictly", "strict policy", "unstructured", "misguided" or "schematic", nor
# "programmare" above: a server that refuses a text may say so, or quote it. [a-z] in place of \w:
# Chinese is written next to a name, without a blank.
_ABOUT_FORMS: Final = (
    rf"{_NAMES_OF_FORMS}|schema(?!tic)|structured.?output|(?<![a-z])(?:structured|guided|"
    r"strict(?:mode|(?![a-z])(?! (?:\w+ )?polic)))"
)


_BY_SCHEMA = (
    "in a JSON format that complies with the following schema as specified in JSON Schema:\n"
)
_IN_JSON = "in the JSON format given at the end. "
"""What ragas' prompts say before the schema, and what takes its place."""


class ReplyFormats:
    """Which form this server takes: steps down when the server refuses one, and remembers it."""

    def __init__(self, form: ReplyForm) -> None:
        self._may_step = form == "auto"
        self._level = 0 if form == "auto" else _LADDER.index(form)
        self._has_worked = False

    @property
    def form(self) -> ReplyForm:
        """The form that requests are sent in."""
        return _LADDER[self._level]

    def works(self) -> None:
        """Note that the server has replied in the present form."""
        self._has_worked = True

    def steps_down(self, tried: ReplyForm, error: ClientError) -> bool:
        """Step down from the form ``tried`` if the server refuses it; return whether to ask again.

        Many requests may be refused at the same time: only the first of them takes the step.
        """
        return is_about_forms(error) and self._step(tried)

    def last_resort(self, tried: ReplyForm) -> bool:
        """Return whether a request that failed to the end is worth sending in another form.

        Only until the first reply: a server that has given one knows the form, and is broken now.
        When no form helps, the first one is as good as any.
        """
        if self._has_worked or not self._may_step:
            return False
        if tried == "text":
            self._level = 0
        return self._step(tried)

    def _step(self, tried: ReplyForm) -> bool:
        if not self._may_step or tried == "text":
            return False
        self._level = max(self._level, _LADDER.index(tried) + 1)
        return True


def is_about_forms(error: ClientError) -> bool:
    """Return whether an error is about the form; one that is no BadRequestError has to name it."""
    words = _ABOUT_FORMS if isinstance(error, BadRequestError) else _NAMES_OF_FORMS
    return re.search(words, error.said) is not None


def response_format(schema: ReplySchema, form: ReplyForm) -> dict[str, Any] | None:
    """Return the API's ``response_format``, or None if the prompt has to ask for it."""
    if form == "json_object":
        return {"type": "json_object"}
    if form == "text":
        return None
    return {"type": "json_schema", "json_schema": _json_schema(schema)}


def in_words(
    messages: Sequence[Message], schema: ReplySchema, form: ReplyForm
) -> Sequence[Message]:
    """Return the messages with an example of a reply, unless the form carries the schema.

    The example takes the place of the JSON Schema that ragas writes into its prompts.
    """
    if form == "json_schema":
        return messages
    example = shown_example(schema)
    wish = (
        "Reply with one JSON object in this form, and with nothing else. Lists may have more or "
        f"fewer entries. Replace all that is in <>.\n{example}"
    )
    *before, last = messages
    return [*before, Message(last.role, f"{_without_schema(last.content)}\n\n{wish}")]


def _without_schema(prompt: str) -> str:
    """Return a prompt without the JSON Schema that ragas has put into it; any other unchanged."""
    before, mark, rest = prompt.partition(_BY_SCHEMA)
    try:
        _, end = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return prompt
    return f"{before}{_IN_JSON}{rest[end:]}" if mark else prompt


@lru_cache(maxsize=256)
def _json_schema(schema: ReplySchema) -> dict[str, Any]:
    name = "".join(letter if letter.isalnum() else "_" for letter in schema.name)[:64] or "reply"
    return {"name": name, "schema": _strict(schema.schema), "strict": True}


def _strict(part: Any) -> Any:
    """Return a schema for strict decoding: every property required, no others, no defaults.

    Servers refuse schemas without that, and pydantic's have defaults and allow other properties.
    """
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    strict = {
        name: _strict_properties(value) if name in ("properties", "$defs") else _strict(value)
        for name, value in part.items()
        if name != "default"
    }
    if isinstance(part.get("properties"), Mapping):
        strict["required"] = list(part["properties"])
        strict["additionalProperties"] = False
    return strict


def _strict_properties(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of named parts; a part may be called "default" like any other."""
    return {name: _strict(value) for name, value in parts.items()}
