"""Removes users, passwords and keys from URLs and texts, however they are spelled."""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from html.entities import html5
from typing import Final
from urllib.parse import unquote, unquote_plus

SHORTEST_SECRET: Final = 8
"""The fewest characters of a secret: "1", "true" or "EMPTY" may occur in any message."""

HIDDEN: Final = "***"

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
    r"|authorization|cookie|session|signature|sig)_?\d*$|apikey|(?:api_key|secret|password)s$"
)
_SECRET_VALUE = re.compile(
    r"\b(?:(?:sk|rk)-[\w-]{16,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[A-Z\d]{12,}|AIza[\w-]{20,}|(?:gsk|hf)_\w{20,}|eyJ[\w-]{10,}\.[\w.-]{10,})",
    re.ASCII,
)

_AUTHORIZATION = re.compile(r"(?i)\s*(?:bearer|basic)\s+(?![${])\S{8,}\s*")


def names_secret(name: str) -> bool:
    """Return whether a value is taken for a secret by its name alone.

    Stricter than ``sounds_secret``, for keys of a request body, which mean all sorts of things.

    >>> [names_secret(name) for name in ("accessToken", "x-api-key", "max_tokens", "keywords")]
    [True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z\d])(?=[A-Z])|[^A-Za-z\d]+", "_", name)
    return _SECRET_ENDS.search(words) is not None


def looks_secret(text: str) -> bool:
    """Return whether a text holds what looks like a key (``sk-...``), or is ``Bearer ...``.

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
    """Return a text with ``instead(name, value)`` in place of the value of each ``name=secret``.

    The text may be a command line, or the connection string of a database.

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
        replacement = instead(pair["name"], text[pair.start("value") : stop])
        parts += [text[at : pair.start("value")], replacement]
        at = stop
    return "".join([*parts, text[at:]])


def secrets_in(text: str) -> list[str]:
    """Return what looks like keys in a text.

    >>> secrets_in("A=sk-0123456789abcdefgh; B=1")
    ['sk-0123456789abcdefgh']
    """
    return _SECRET_VALUE.findall(text)


def is_clearly_secret(name: str) -> bool:
    """Return whether a name can only be that of a secret; ``token`` may mean something else.

    >>> [is_clearly_secret(name) for name in ("apiKey", "password", "session", "key")]
    [True, True, False, False]
    """
    return _CLEAR_NAME.search(name) is not None


def is_secret_number(name: str, value: object) -> bool:
    """Return whether a number is a secret, by its name: YAML takes a password of digits for one."""
    is_named = is_clearly_secret(name) and names_secret(name)
    return type(value) in (int, float) and is_named and not _COUNT.match(name)


def shown_text(text: str) -> str:
    """Return a text without what looks like a key, or has the name of one.

    >>> shown_text("exec: ./bot --token=abc")
    'exec: ./bot --token=***'
    """
    return _SECRET_VALUE.sub(HIDDEN, secret_pairs(text, lambda name, value: HIDDEN))


_IN_QUERY = re.compile(r"(?<=[?&])(?P<name>[\w.-]+)=(?![{$*])[^\s&#\"'<>)]+")
_COUNT = re.compile(r"(?i)(?:max|min|n|num|count)_")
_CLEAR_NAME = re.compile(r"(?i)(?:api|access)[_-]?key|pass(?:w|phrase)|pwd|secret|credential")
_NO_SECRET = re.compile(
    r"(?i)\*{3}|\$\{|<|(?:in|or|and|is|not)\b|[^\w\s]*(?:none|null|true|false)?[^\w\s]*(?:\s|$)"
)
_RUN = re.compile(r"[\w.~+/%=-]*")
_CODE = re.compile(r"(?:[a-z_]\w*\.)*[a-z_]\w*[\[(]|str\b")
_QUOTED = re.compile(
    r"(?P<quote>[\"'])(?P<name>[\w.-]+)(?P=quote)\s*:\s*(?P<around>[\"'])"
    r"(?P<value>[^\"']+)(?P=around)"
)


def shown_queries(text: str) -> str:
    """Return a text without the keys in the queries of its URLs.

    >>> shown_queries("for url 'http://h/?q=a&api_key=abc'")
    "for url 'http://h/?q=a&api_key=***'"
    """

    def shown(pair: re.Match[str]) -> str:
        return f"{pair['name']}={HIDDEN}" if names_secret(pair["name"]) else pair[0]

    return _IN_QUERY.sub(shown, text)


def shown_message(text: str) -> str:
    """Return an exception's text without secrets, also in dicts; values like words or code stay.

    >>> shown_message("sort_key=date, token=<eos>, api_key=None, token=0f3c9a12, api_key=abc")
    'sort_key=date, token=<eos>, api_key=None, token=***, api_key=***'
    >>> shown_message("{'user': 'svc', 'password': 'hunter2'}, api_key=os.environ['KEY']")
    "{'user': 'svc', 'password': '***'}, api_key=os.environ['KEY']"
    """
    return _SECRET_VALUE.sub(HIDDEN, secret_pairs(_QUOTED.sub(_shown_item, text), _unless_a_word))


def _shown_item(item: re.Match[str]) -> str:
    """Return an item of a dict, or of JSON, without its secret."""
    value = item["value"]
    said = _unless_a_word(item["name"], value) if names_secret(item["name"]) else value
    return item[0] if said == value else item[0].replace(value, said)


def _unless_a_word(name: str, value: str) -> str:
    if _NO_SECRET.match(value) or _CODE.match(value):
        return value
    if is_clearly_secret(name):
        return HIDDEN
    run = _RUN.findall(value)[0]  # it may be empty
    least = 16 if name.lower().endswith("key") else SHORTEST_SECRET  # it may be the id of a row
    parts = re.split(r"[\W_]+", run)  # "refunds_2024" is a name
    is_mixed = any(not (part.isalpha() or part.isdigit()) for part in parts if part)
    is_code = value[len(run) :].startswith(("(", "["))
    is_secret = len(run) >= least and (is_mixed or (max(map(len, parts)) >= 20 and not is_code))
    return HIDDEN + value[len(run) :] if is_secret else value


class Redactor:
    """Removes secrets from texts, even if a server has escaped or encoded them.

    A secret is found verbatim and in any chain of a few encodings: JSON, percent-encoding, HTML, a
    Python repr, blanks as ``+``, line breaks as blanks, in whatever case. Secret and text are
    compared in a normal form, in which all of these are decoded: what was encoded how, and in which
    order, does not matter. Its base64 is found, too, as in ``Authorization: Basic``. A secret that
    is shorter than ``SHORTEST_SECRET`` is removed only behind ``Bearer`` and the like: elsewhere it
    may be a word.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        bare = {_bare(secret) for secret in secrets}
        plain = [secret for secret in bare if len(secret) >= SHORTEST_SECRET]
        short = "|".join(re.escape(one) for one in sorted(bare) if 0 < len(one) < SHORTEST_SECRET)
        behind = rf"(?i)\b((?:bearer|basic|token)\s+)(?:{short})(?!\w)"
        self._short = re.compile(behind) if short else None
        known = {*plain, *(coded for secret in plain for coded in _in_base64(secret))}
        # The longest first: one may contain another.
        ordered = sorted((s for s in known if len(s) >= SHORTEST_SECRET), key=len, reverse=True)
        self._secrets = tuple((one, _normal(one), _plain_run(one)) for one in ordered)

    def __call__(self, text: str) -> str:
        """Return ``text`` with each secret replaced by asterisks.

        >>> Redactor(["open sesame"])("?key=open%2520sesame, {'key': 'open sesame'}")
        "?key=***, {'key': '***'}"
        """
        if self._short is not None:
            text = self._short.sub(rf"\g<1>{HIDDEN}", text)
        for secret, _, _ in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        # The normal form takes time, and nearly no text needs it.
        is_coded = _has_coded_letters(text)
        lower = text.lower()
        suspected = [normal for _, normal, run in self._secrets if is_coded or run in lower]
        if suspected:
            found = _normal(text)
            present = [one for one in suspected if len(one) >= _SHORTEST_NORMAL and one in found]
            if present:
                return _without(text, present)
        return text

    def __repr__(self) -> str:
        return f"Redactor({HIDDEN})"


_SCHEMES = ("bearer", "basic", "token")


def _bare(secret: str) -> str:
    """Return a secret without surrounding blanks and the scheme of an Authorization header."""
    scheme, _, rest = secret.partition(" ")
    return (rest if scheme.lower() in _SCHEMES else secret).strip()


def _in_base64(secret: str) -> Iterator[str]:
    """Yield the letters that stand for a secret in base64, wherever it begins among other bytes.

    Letters that share bits with a neighbour are left out.
    """
    raw = secret.encode("utf-8", "surrogatepass")
    for before in range(3):
        coded = b64encode(bytes(before) + raw).decode()
        letters = coded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield letters
        yield letters.replace("+", "-").replace("/", "_")


_PLAIN_NAME = re.compile(r"(?i)accept(-language)?|content-type|(http-)?referer|user-agent|x-title")
# A variable, a query, a user, a fragment, a pair; letters and digits mixed as in a key.
_NOT_PLAIN = re.compile(r"(?i)[$?@#=]|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{12}")
_VERSION = re.compile(r"(?i)api[-_]version=[\w.-]+")


def is_plain_header(name: str, value: str) -> bool:
    """Return whether a header, as written, is no secret: by its name, and with nothing like one.

    >>> [is_plain_header("Referer", f"https://acme.example{rest}") for rest in ("", "?key=abc")]
    [True, False]
    """
    has_secret = looks_secret(value) or _NOT_PLAIN.search(value) is not None
    return _PLAIN_NAME.fullmatch(name) is not None and not has_secret


def query_secrets(query: str, *, with_version: bool = True) -> Iterator[str]:
    """Yield a query's values (or bare names), which may be keys; an API's version if asked to."""
    for pair in query.split("&"):
        if not with_version and _VERSION.fullmatch(pair):
            continue
        name, equals, value = pair.partition("=")
        yield from (unquote(value), unquote_plus(value)) if equals else (unquote(name),)


def named_secrets(
    value: object, named: Callable[[str], bool] = sounds_secret, name: str = ""
) -> Iterator[str]:
    """Yield the texts in a tree of JSON whose keys are ``named`` like secrets; lists if clearly."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from named_secrets(part, named, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from named_secrets(part, named, name if names_secret(name) else "")
    elif (isinstance(value, str) and named(name)) or is_secret_number(name, value):
        yield str(value)


_SHORTEST_NORMAL = 4  # of a secret that is all blanks and backslashes, little is left
_MOST_PASSES = 12  # each takes one encoding off a text
_HEX = r"[\da-fA-F]"
_CODES = (
    re.compile(
        rf"%(?P<byte>[0-7]{_HEX})|(?P<utf8>(?:%[89a-fA-F]{_HEX})+)"
        rf"|&(?:\#(?P<decimal>\d{{1,7}})|\#[xX](?P<hex>{_HEX}{{1,6}})|(?P<name>[a-zA-Z]\w{{1,30}}));"
    ),
    # With all backslashes before it. The first is a surrogate pair, as of an emoji.
    re.compile(
        rf"\\+(?:u(?P<pair>[dD][89abAB]{_HEX}{{2}}\\+u[dD][c-fC-F]{_HEX}{{2}})"
        rf"|u(?P<four>{_HEX}{{4}})|U(?P<eight>{_HEX}{{8}})|x(?P<two>{_HEX}{{2}})|(?P<escaped>.))?",
        re.DOTALL,
    ),
)
"""Codes of characters. Backslashes are looked at when nothing else is left to decode."""

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# What encodings may add, lose or exchange: blanks of all kinds, their plus, and backslashes.
_DROPPED = dict.fromkeys(
    [ord("+"), ord("\\"), *(code for code in range(0x3001) if chr(code).isspace())]
)
_LETTER = r"(?:3\d|[46][1-9a-fA-F]|[57][\daA])"
_DECIMAL = r"0?(?:4[89]|5[0-7]|6[5-9]|[78]\d|9[07-9]|1[01]\d|12[0-2])"
_CODED_LETTERS = {
    "%": re.compile(rf"%(?:25)*(?:{_LETTER}|23{_DECIMAL})"),
    "u00": re.compile(f"u00{_LETTER}"),
    "U0": re.compile(f"U0{{6}}{_LETTER}"),
    "x": re.compile(f"x0?{_LETTER}"),
    "#": re.compile(f"#{_DECIMAL}"),
}
"""How codes of ASCII letters and digits look, even if the signs around them are encoded again."""


def _plain_run(secret: str) -> str:
    """Return what every text with a secret has in lower case, unless its letters are encoded."""
    return max(re.findall(r"[a-z0-9]{2,}", secret.lower()), key=len, default="")


def _has_coded_letters(text: str) -> bool:
    """Return whether a letter or digit may be written as a code, which hardly any server does."""
    return any(
        begin in text and coded.search(text) is not None for begin, coded in _CODED_LETTERS.items()
    )


def _normal(text: str) -> str:
    r"""Return the normal form of a text: decoded, without blanks and backslashes, in one case.

    >>> _normal(r"A%26amp%3Bb \\u0022c"), _normal('a&b\n"C')
    ('a&b"c', 'a&b"c')
    """
    for _ in range(_MOST_PASSES):
        _, decoded = _pass(text)
        if decoded == text:
            break
        text = decoded
    return text.translate(_DROPPED).casefold()


def _pass(text: str) -> tuple[re.Pattern[str], str]:
    """Return the codes that a text has, and the text without one layer of them."""
    decoded = text
    for codes in _CODES:
        decoded = codes.sub(_decoded, text)
        if decoded != text:
            break
    return codes, decoded


def _decoded(code: re.Match[str]) -> str:
    kind = code.lastgroup
    found = code[kind] if kind else ""
    if kind is None or kind == "escaped":
        return _ESCAPED.get(found, found)
    if kind == "name":
        return html5.get(f"{found};", code[0])
    if kind == "utf8":
        return bytes.fromhex(found.replace("%", "")).decode("utf-8", "replace")
    if kind == "pair":
        return bytes.fromhex(found[:4] + found[-4:]).decode("utf-16-be")
    number = int(found, 10 if kind == "decimal" else 16)
    return chr(number) if number < 0x110000 else code[0]


def _without(text: str, normals: Iterable[str]) -> str:
    """Return a text with asterisks for whatever has one of these normal forms."""
    found, starts, ends = _placed(text)
    parts, end = [], 0
    for secret in re.finditer("|".join(map(re.escape, normals)), found):
        start = starts[secret.start()]
        if start >= end:
            parts += [text[end:start], HIDDEN]
            end = ends[secret.end() - 1]
    return "".join([*parts, text[end:]])


def _placed(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the normal form of a text, and where in the text each of its characters is from."""
    starts, ends = array("q", range(len(text))), array("q", range(1, len(text) + 1))
    for _ in range(_MOST_PASSES):
        codes, decoded = _pass(text)
        if decoded == text:
            break
        begin, stop, at = array("q"), array("q"), 0
        for code in codes.finditer(text):
            first, length = code.start(), len(_decoded(code))
            if at < first:
                begin += starts[at:first]
                stop += ends[at:first]
            at = code.end()
            begin.extend([starts[first]] * length)
            stop.extend([ends[at - 1]] * length)
        text, starts, ends = decoded, begin + starts[at:], stop + ends[at:]
    normal = [character.translate(_DROPPED).casefold() for character in text]
    spread = [at for at, one in enumerate(normal) for _ in one]
    return "".join(normal), [starts[at] for at in spread], [ends[at] for at in spread]


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
