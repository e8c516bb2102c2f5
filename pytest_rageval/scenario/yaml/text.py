"""Plain values as YAML text: what the parser of scenario files reads back as the same values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.yaml.tree import parse_yaml

_PLAIN = re.compile(r"[\w./][\w .@/+()-]*")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def inline_text(value: Any, quote: str = "") -> str:
    r"""Return ``value`` in one line, for a block or a flow.

    ``quote`` is put around every text; without one, around those only that need it.

    >>> inline_text({"f1": 0.4, "a: b": ["x", None, True]})
    '{f1: 0.4, "a: b": [x, null, true]}'
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(pair_text(name, part, quote) for name, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(inline_text(part, quote) for part in value)}]"
    return _quoted(value, quote) if isinstance(value, str) else _bare(value)


def pair_text(name: str, value: Any, quote: str = "") -> str:
    """Return ``name: value`` in one line."""
    return f"{_quoted(name, quote)}: {inline_text(value, quote)}"


def _bare(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return str(value)
    # YAML 1.1 takes 1e-05 for text: a number with an exponent needs its point.
    mantissa, sign, exponent = repr(float(value)).partition("e")
    return f"{mantissa}{'' if '.' in mantissa or not sign else '.0'}{sign}{exponent}"


def _quoted(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if not quote and _is_plain(text):
        return text
    return f'"{"".join(_escaped(text))}"'


def _is_plain(text: str) -> bool:
    """Return whether ``text`` needs no quotes; the parser decides, so that both agree."""
    if not _PLAIN.fullmatch(text):
        return False
    try:
        return bool(parse_yaml(f"[{text}]", "").data == [text])
    except ScenarioError:
        return False


def _escaped(text: str) -> Iterator[str]:
    for character in text:
        if character in _NAMED:
            yield _NAMED[character]
        elif character.isprintable() or character == "\u3000" or character > "\uffff":
            yield character
        else:  # as JSON has it, too
            yield f"\\u{ord(character):04x}"
