"""Plain Nunjucks templates, ``{{name}}``: filled in, or rewritten with our places.

Conditions, loops, filters and calls are not followed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import NotTakenError

Path = tuple[str, ...]
Piece = str | Path
"""A text as it is, or the path of a variable."""

_LITERAL = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TAG: Final = re.compile(
    rf"\{{\{{-?\s*(?P<literal>{_LITERAL})\s*-?\}}\}}"
    r"|\{\{-?\s*(?P<name>.*?)\s*-?\}\}"
    r"|\{%.*?%\}|\{#.*?#\}",
    re.DOTALL,
)
_NAME: Final = re.compile(r"(?:[^\W\d]|\$)[\w$-]*(?:\.(?:[^\W\d]|\$)[\w$]*)*")
_MOST: Final = 2**22
_OUR_PLACE: Final = re.compile(r"\{([A-Za-z_]\w*(?:\.[^{}]+)?)\}")


def pieces(text: str) -> Iterator[Piece]:
    """Yield the parts of a template, no comments; NotTakenError for tags beyond a variable."""
    at = 0
    for tag in _TAG.finditer(text):
        if tag.start() > at:
            yield text[at : tag.start()]
        at = tag.end()
        if tag["literal"] is not None:
            yield re.sub(r"\\(.)", r"\1", tag["literal"][1:-1])
        elif tag["name"] is not None and _NAME.fullmatch(tag["name"]):
            yield tuple(tag["name"].split("."))
        elif not tag[0].startswith("{#"):
            raise NotTakenError(f"{shorten(tag[0], 60)} is more than a variable")
    if at < len(text):
        yield text[at:]


def is_template(text: str) -> bool:
    """Return whether a text has promptfoo's ``{{`` or ``{%``, or our ``${NAME}``."""
    return bool(re.search(r"\{\{|\{%|\$\{\w+\}", text))


def fill(text: str, variables: Mapping[str, Any], *, blank: bool = False) -> str:
    """Return a template filled in.

    Raises NotTakenError as ``pieces``, for a result of over four million characters, and for an
    unknown variable; with ``blank``, that is an empty text, as in promptfoo.
    """
    parts = [
        piece if isinstance(piece, str) else as_text(_value(piece, variables, blank=blank))
        for piece in pieces(text)
    ]
    if sum(map(len, parts)) > _MOST:
        raise NotTakenError(f"filled in, it has more than {_MOST} characters")
    return "".join(parts)


def names_in(text: str) -> list[Path]:
    """Return the variables of a template; raises NotTakenError as ``pieces``."""
    return [piece for piece in pieces(text) if not isinstance(piece, str)]


def rewritten(text: str, places: Mapping[Path, str]) -> str:
    """Return a template with a text of ours for each variable, from ``places`` or its name.

    Braces that mean something here are doubled. ``env.NAME`` becomes ``${NAME}``. Raises
    NotTakenError as ``pieces``, and for a text that has ``${NAME}`` itself.
    """
    return "".join(
        _escaped(piece) if isinstance(piece, str) else _place(piece, places)
        for piece in pieces(text)
    )


def env_name(piece: Piece) -> str | None:
    """Return the variable of the environment that a part of a template is; None for another."""
    is_env = not isinstance(piece, str) and len(piece) == 2 and piece[0] == "env"
    return piece[1] if is_env else None


def _place(path: Path, places: Mapping[Path, str]) -> str:
    if path in places:
        return places[path]
    if (name := env_name(path)) is not None:
        return f"${{{name}}}"
    return f"{{metadata.vars.{'.'.join(path)}}}"


def _escaped(text: str) -> str:
    if re.search(r"\$\{\w+\}", text):
        raise NotTakenError("${...} would be a variable of the environment here")
    return _OUR_PLACE.sub(r"{{\1}}", text)


def _value(path: Path, variables: Mapping[str, Any], *, blank: bool) -> Any:
    found: Any = variables
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            if blank:
                return None
            raise NotTakenError(f"no variable {'.'.join(path)!r}")
        found = found[step]
    return found


def as_text(value: Any) -> str:
    """Return a value as JavaScript writes it into a text: ``4``, ``a,1``, ``{"a":1}``.

    An object, and a list that holds objects or lists, is written as JSON.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and not any(isinstance(part, list | Mapping) for part in value):
        return ",".join(map(as_text, value))
    if isinstance(value, bool | int | float | list | Mapping):
        return as_json_text(value)
    return str(value)


def as_json_text(value: Any) -> str:
    """Return a value as JSON, as JavaScript writes it: no blanks, numbers in its form.

    Raises TypeError for what JSON has not, as promptfoo does.
    """
    if isinstance(value, Mapping):
        pairs = (f"{as_json_text(str(key))}:{as_json_text(part)}" for key, part in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(as_json_text, value))}]"
    if isinstance(value, float) and math.isfinite(value):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a number as JavaScript writes it: ``4``, ``0.00001``, ``1e-7``, ``1e+21``."""
    if value and not 1e-6 <= abs(value) < 1e21:
        return re.sub(r"(?<=e[+-])0", "", repr(value))
    return format(Decimal(repr(value or 0)), "f").removesuffix(".0")


def as_json(value: Any) -> Any:
    """Return a value as JavaScript hands it over in JSON: a number without an end is null."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
