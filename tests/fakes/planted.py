"""Secrets that are hard to find again, and the ways in which servers spell them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

# In each, a word that occurs nowhere else shows where it got to. Keys and headers are ASCII.
HEADERS = {
    "key": 'sk-planted01"\\x',
    "quotes": '"planted02" \'and\' "more"',
    "backslashes": '\\planted03\\\\server\\"x',
    "percent": "planted04%40%2Fword%",
    "slashes": "planted05/+/==//x",
    "markup": "<planted06>&amp;&lt;'",
    "braces": '{planted07}, ["a": 1]',
    "scheme": "Bearer planted08-\\u0041",
}
TEXTS = {
    "lines": "planted09\nsecond\r\n\tthird",
    "escapes": 'planted10\\n\\t\\"',
    "accents": 'planted11 pässwörd "ß"',
    "chinese": 'planted12 密码\\是“秘密”"',
    "emoji": 'planted13 \U0001f511/"\U0001f511"',
    "blanks": "  planted14  two   three ",
    "plus": "planted15+a b&c=d;e",
    "control": "planted16\x01\x7f\x80 end",
}
ALL = {**HEADERS, **TEXTS}
WORDS = tuple(f"planted{number:02d}" for number in range(1, 17))


ENCODINGS: dict[str, Callable[[str], str]] = {
    "JSON": json.dumps,
    "JSON, not ASCII": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "URL": lambda text: quote(text, safe=""),
    "path of a URL": quote,
    "form": quote_plus,
    "URL, each character": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "HTML": html.escape,
    "Python": repr,
    "one line": lambda text: " ".join(text.split()),
}
"""The ways in which a text is encoded, to be chained."""


def spellings(secret: str) -> dict[str, str]:
    """Return how a server may spell a secret that it repeats."""
    once = json.dumps(secret)
    twice = json.dumps({"headers": once})
    return {
        "as it is": secret,
        "JSON": once,
        "JSON, not ASCII": json.dumps(secret, ensure_ascii=False),
        "JSON of PHP": once.replace("/", "\\/"),
        "JSON in JSON": twice,
        "JSON in JSON in JSON": json.dumps(twice),
        "URL": quote(secret, safe=""),
        "path of a URL": quote(secret),
        "form": quote_plus(secret),
        "URL in a URL": quote(quote(secret, safe=""), safe=""),
        "URL, each character": "".join(f"%{byte:02x}" for byte in secret.encode()),
        "JSON in a URL": quote(once),
        "URL in JSON": json.dumps({"url": f"?q={quote(secret)}"}),
        "HTML": html.escape(secret),
        "JSON in HTML": html.escape(once),
        "Python": repr(secret),
        "one line": " ".join(secret.split()),
    }
