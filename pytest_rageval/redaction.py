"""Removes users, passwords and keys from URLs and texts, however they are spelled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html.entities import codepoint2name
from typing import Final
from urllib.parse import unquote, unquote_plus

SHORTEST_SECRET: Final = 8
"""The fewest characters of a secret: "1", "true" or "EMPTY" may occur in any message."""

HIDDEN: Final = "***"
"""The replacement for a secret."""

_SECRET_NAME = re.compile(r"(?i)auth|token|key|secret|passw|credential|cookie|signature|session")
# Scheme, authority, the rest. A query may contain another URL: its "://" and "@" do not count.
_PARTS = re.compile(r"((?:[^/?#@]*:)?//)?([^/?#]*)(.*)", re.DOTALL)


def sounds_secret(name: str) -> bool:
    """Return whether a value with this name, for instance a header, may be a secret.

    >>> [sounds_secret(name) for name in ("X-Auth-Id", "sig", "pwd", "signal")]
    [True, True, True, False]
    """
    return _SECRET_NAME.search(name) is not None or names_secret(name)


_SECRET_ENDS = re.compile(
    r"(?i)(?:^|_)(?:(?:api)?key|token|secret|password|passwd|passphrase|pwd|pw|credentials?|auth"
    r"|authorization|cookie|session|signature|sig)_?\d*$|apikey"
)
_SECRET_VALUE = re.compile(
    r"\b(?:(?:sk|rk)-[\w-]{16,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[A-Z\d]{12,}|AIza[\w-]{20,}|(?:gsk|hf)_\w{20,}|eyJ[\w-]{10,}\.[\w.-]{10,})",
    re.ASCII,
)

_AUTHORIZATION = re.compile(r"(?i)\s*(?:bearer|basic)\s+(?![${])\S{8,}\s*")


def names_secret(name: str) -> bool:
    """Return whether a value is a secret by its name, whatever it is.

    Clearer than ``sounds_secret``: names of a body mean all sorts of things.

    >>> [names_secret(name) for name in ("accessToken", "x-api-key", "max_tokens", "keywords")]
    [True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z\d])(?=[A-Z])|[^A-Za-z\d]+", "_", name)
    return _SECRET_ENDS.search(words) is not None


def looks_secret(text: str) -> bool:
    """Return whether a text looks like a key, such as ``sk-...``, or holds one.

    >>> looks_secret("Bearer abcdefgh"), looks_secret("the film Basic Instinct")
    (True, False)
    """
    return _SECRET_VALUE.search(text) is not None or _AUTHORIZATION.fullmatch(text) is not None


_PAIR = re.compile(
    r"(?<![\w-])(?P<name>[\w-]+)(?P<equals>\s*=\s*(?P<quote>[\"'])?)"
    r"(?P<value>(?(quote)[^\"']+|(?:\{\{(?:(?!\{\{).)*?\}\}|[^\s\"'&;])+))"
)
_END = re.compile("[\"'&;]")


def secret_pairs(text: str, instead: Callable[[str, str], str]) -> str:
    """Return a text in which ``instead(name, value)`` stands for each ``name=secret``.

    Such as a command line, or what a database is reached by.

    >>> secret_pairs("Server=x;Password=a b;Port=1", lambda name, value: HIDDEN)
    'Server=x;Password=***;Port=1'
    >>> secret_pairs("./bot --api-key=abc --max=2", lambda name, value: HIDDEN)
    './bot --api-key=*** --max=2'
    """
    parts, at, end = [], 0, -1
    for pair in _PAIR.finditer(text):
        if pair.start() < at or not names_secret(pair["name"]):
            continue
        stop = pair.end()
        if not pair["quote"]:  # a value with blanks goes on to a semicolon, if one comes
            if end < stop:  # searched for once, however many pairs come before it
                found = _END.search(text, stop)
                end = len(text) if found is None else found.start()
            stop = end if text[end : end + 1] == ";" else stop
        said = instead(pair["name"], text[pair.start("value") : stop])
        parts += [text[at : pair.start("value")], said]
        at = stop
    return "".join([*parts, text[at:]])


def shown_text(text: str) -> str:
    """Return a text without what looks like a key, or has the name of one.

    >>> shown_text("exec: ./bot --token=abc")
    'exec: ./bot --token=***'
    """
    return _SECRET_VALUE.sub(HIDDEN, secret_pairs(text, lambda name, value: HIDDEN))


def shown_option(name: str, value: object) -> object:
    """Return the option of a metric with secrets hidden, nested ones included.

    Needs a clearer name than ``sounds_secret``: ``tokenizer`` or ``max_tokens`` is no secret.
    """
    if isinstance(value, dict):
        return {key: shown_option(str(key), part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(shown_option(name, part) for part in value)
    is_hidden = isinstance(value, str) and value and names_secret(name)
    return HIDDEN if is_hidden else value


class Redactor:
    """Removes secrets from texts, even if a server has escaped or encoded them.

    A secret is found verbatim, in JSON, in JSON within JSON (three deep), percent-encoded (once to
    three times), in HTML, in a Python repr, and in most combinations of these, even if only some of
    its characters are encoded. Texts shorter than ``SHORTEST_SECRET`` are not removed.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {_bare(secret) for secret in secrets}
        # The longest first: one may contain another.
        ordered = sorted((one for one in known if len(one) >= SHORTEST_SECRET), key=len)[::-1]
        self._secrets = tuple((one, *_marks(one)) for one in ordered)

    def __call__(self, text: str) -> str:
        """Return ``text`` with each secret replaced by asterisks.

        >>> Redactor(["open sesame"])("?key=open%20sesame, {'key': 'open sesame'}")
        "?key=***, {'key': '***'}"
        """
        codes = [code for code in _CODES if code[0] in text and code in text]
        for secret, plain, encoded in self._secrets:
            # The pattern is slow. A search for a part of the secret nearly always avoids it.
            if plain in text or any(mark in text for code in codes for mark in encoded[code]):
                text = _spelled(secret).sub(HIDDEN, text)
        return text

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"


_SCHEMES = ("bearer", "basic", "token")


def _bare(secret: str) -> str:
    """Return a secret without surrounding blanks and the scheme of an Authorization header."""
    scheme, _, rest = secret.partition(" ")
    return (rest if scheme.lower() in _SCHEMES else secret).strip()


def query_secrets(query: str) -> Iterator[str]:
    """Yield the values of a URL's query: any of them may be a key."""
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        yield from (unquote(value), unquote_plus(value)) if equals else (unquote(name),)


def named_secrets(value: object) -> Iterator[str]:
    """Yield the texts in a tree of JSON whose keys sound like secrets."""
    if isinstance(value, dict):
        for name, part in value.items():
            if isinstance(part, str) and sounds_secret(str(name)):
                yield part
            else:
                yield from named_secrets(part)
    elif isinstance(value, list):
        for part in value:
            yield from named_secrets(part)


# How character codes begin in URLs, JSON, Python and HTML, and how they continue.
_CODES = {"%": "{0}%", "\\u": "u00{0}", "\\x": "x{0}\\", "&#": "#{1};", "&#x": "#x{0};"}


def _marks(secret: str) -> tuple[str, dict[str, set[str]]]:
    """Return a plain part of the secret, and codes; every text with the secret has one of them.

    A secret without two plain characters in a row has no such part, and is searched for anyway.
    """
    run = max(re.findall(r"[A-Za-z0-9]{2,}", secret), key=len, default="")
    if not run:
        return "", {code: set() for code in _CODES}
    codes = (f"{ord(run[0]):02x}", f"{ord(run[0]):02X}")
    marks = {
        begins: {goes_on.format(code, ord(run[0])) for code in codes}
        for begins, goes_on in _CODES.items()
    }
    return run, marks


_DEEPEST = 8  # A backslash is doubled by each level of JSON: three of them.
_ESCAPED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", '"': '"', "'": "'", "/": "/"}


@cache
def _spelled(secret: str) -> re.Pattern[str]:
    """Return a pattern for all spellings of a secret.

    All repeats in it are bounded and possessive, so hostile texts cannot make it slow.
    """
    parts, prefix = [], _BACKSLASHES
    for run in re.finditer(r"\\+|\s+|[^\\\s]", secret):
        text, count = run[0], len(run[0])
        if text.isspace():  # a run of blanks may have become one
            kinds = dict.fromkeys(f"{text} ")
            each = "|".join(_spelled_character(kind, prefix) for kind in kinds)
            parts.append(rf"(?:{each}|\+){{1,{count}}}+")
        elif text[0] == "\\":
            plain, code = _encoded(text[0]), _code(text[0], prefix)
            most = _DEEPEST * (count + 1)
            parts.append(f"(?:(?:{code}){{{count}}}(?:{prefix})?+|(?:{plain}){{{count},{most}}}+)")
        else:
            parts.append(f"(?:{_spelled_character(text, prefix)})")
        # After a backslash, the next character's backslashes have been matched already.
        prefix = "" if text[0] == "\\" else _BACKSLASHES
    return re.compile("".join(parts), re.IGNORECASE)


def _spelled_character(character: str, prefix: str) -> str:
    """Return a pattern for the spellings of one character; ``prefix`` matches backslashes."""
    short = _ESCAPED.get(character)
    escaped = [f"{prefix}(?:{_encoded(short)})"] if short else []
    return "|".join([_encoded(character), *escaped, _code(character, prefix)])


def _encoded(character: str) -> str:
    """Return a pattern for a character in plain text, in a URL and in HTML."""
    code = ord(character)
    percent = "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in character.encode("utf-8", "replace"))
    name = codepoint2name.get(code, "apos" if character == "'" else "")
    entities = "|".join(filter(None, (f"#0?{code}", f"#x0?{code:x}", name)))
    return f"{percent}|&(?:amp;){{0,2}}(?:{entities});|{re.escape(character)}"


_BACKSLASHES = f"(?:{_encoded(chr(92))}){{1,{_DEEPEST}}}+"


def _code(character: str, prefix: str) -> str:
    """Return a pattern for the code of a character in JSON and in a Python repr."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    low = f"{_BACKSLASHES}u{units[4:]}" if units[4:] else ""
    python = f"x{ord(character):02x}" if ord(character) < 256 else f"U{ord(character):08x}"
    return f"{prefix}u{units[:4]}{low}|{prefix}{python}"


def host(url: str) -> str:
    """Return host and port of a URL as written, without user and password.

    >>> host("http://user:password@127.0.0.1:8000/ask?next=http://x")
    '127.0.0.1:8000'
    """
    return _parts(url)[1]


def without_credentials(url: str) -> str:
    """Return a URL without user and password; path, query and fragment stay."""
    return "".join(_parts(url))


def shown_url(url: str) -> str:
    """Return a URL without user, password, query and fragment, safe to show.

    Partial URLs and variables such as ``${NAME}`` are kept as written.

    >>> shown_url("http://user:password@h.test/ask?next=http://x"), shown_url("/ask?key=1")
    ('http://h.test/ask', '/ask')
    """
    scheme, place, rest = _parts(url)
    return f"{scheme}{place}{re.split('[?#]', rest, maxsplit=1)[0]}"


def _parts(url: str) -> tuple[str, str, str]:
    """Return the scheme with its slashes, the host, and path, query and fragment."""
    found = _PARTS.match(url)
    assert found is not None  # each part may be empty
    scheme, authority, rest = found.groups(default="")
    return scheme, authority.rpartition("@")[2], rest
