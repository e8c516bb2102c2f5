"""[A21, E10] What is shown of URLs and of values with names."""

from __future__ import annotations

import json
import re
import tomllib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from planted import ALL, ENCODINGS, spellings
from within_a_minute import within_a_minute

from pytest_rageval.engine.planning.snapshot import shown_option
from pytest_rageval.redaction import (
    Redactor,
    host,
    named_secrets,
    query_secrets,
    shown_message,
    shown_queries,
    shown_text,
    shown_url,
    sounds_secret,
    without_credentials,
)

ROWS = tomllib.loads(Path(__file__).with_name("redaction.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("url", "shown", "sent"),
    [
        ("http://h.test", "http://h.test", "http://h.test"),
        ("https://h.test:8443/v1/ask", "https://h.test:8443/v1/ask", "https://h.test:8443/v1/ask"),
        ("http://u:p@h.test/ask?k=v#f", "http://h.test/ask", "http://h.test/ask?k=v#f"),
        ("http://u@h.test?k=v", "http://h.test", "http://h.test?k=v"),
        # A query with a URL of its own, and one with an @.
        ("http://u:p@h/ask?next=http://x", "http://h/ask", "http://h/ask?next=http://x"),
        ("http://u:p@h?next=http://v:w@x/y", "http://h", "http://h?next=http://v:w@x/y"),
        ("http://h?mail=a@b.test/c", "http://h", "http://h?mail=a@b.test/c"),
        ("http://h#a@b", "http://h", "http://h#a@b"),
        # An @ in the path is part of the place, one in the password part of the password.
        ("http://h/@user/ask", "http://h/@user/ask", "http://h/@user/ask"),
        ("http://u:p@ss@h/ask", "http://h/ask", "http://h/ask"),
        ("http://u:p@[::1]:8000/ask", "http://[::1]:8000/ask", "http://[::1]:8000/ask"),
        # As a scenario writes it.
        ("http://${U}:${P}@${HOST}/ask/{question}", "http://${HOST}/ask/{question}", None),
        ("${BASE}/ask?key=${KEY}", "${BASE}/ask", None),
        ("${SCHEME}://u:p@h/ask", "${SCHEME}://h/ask", None),
        # What is no whole URL.
        ("u:p@h/ask?next=http://x", "h/ask", "h/ask?next=http://x"),
        ("//u:p@h/ask", "//h/ask", "//h/ask"),
        ("/ask?key=v", "/ask", "/ask?key=v"),
        ("", "", ""),
    ],
)
def test_users_and_passwords_are_left_out_and_of_what_is_shown_the_query(
    url: str, shown: str, sent: str | None
) -> None:
    assert shown_url(url) == shown
    if sent is not None:
        assert without_credentials(url) == sent


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://h.test/ask", "h.test"),
        ("http://u:p@h.test:80?next=http://x", "h.test:80"),
        ("/ask", ""),
    ],
)
def test_the_host_is_as_it_is_written(url: str, found: str) -> None:
    assert host(url) == found


@pytest.mark.parametrize(
    "name",
    "Authorization X-API-Key token client_secret PASSWORD passwd Cookie credentials X-Signature "
    "session_id".split(),
)
def test_names_of_secrets_sound_like_it(name: str) -> None:
    assert sounds_secret(name)


@pytest.mark.parametrize("name", ["Accept", "question", "top_k", "lang", "X-Request-Id", ""])
def test_other_names_do_not(name: str) -> None:
    assert not sounds_secret(name)


@pytest.mark.parametrize("name", ALL)
def test_a_secret_is_taken_out_however_it_is_spelled(name: str) -> None:
    """[R5] No two letters or digits in a row are left of it, and nothing of what is around it."""
    secret = ALL[name]
    redacted = Redactor([secret])
    for kind, spelled in spellings(secret).items():
        found = redacted(f"before:{spelled}:after")
        assert found.startswith("before:"), kind
        assert found.endswith(":after"), kind
        assert "***" in found, kind
        assert "planted" not in found, kind
        assert "%70%6c" not in found, kind


@pytest.mark.parametrize("name", ALL)
def test_a_secret_is_taken_out_after_any_two_encodings(name: str) -> None:
    """[X9] All hundred chains of two, and each encoding six times over."""
    redacted = Redactor([ALL[name]])
    chains = [
        *product(ENCODINGS, repeat=2),
        *((kind,) * 6 for kind in ENCODINGS if "J" not in kind),
    ]
    for chain in chains:
        spelled = ALL[name]
        for kind in chain:
            spelled = ENCODINGS[kind](spelled)
        found = redacted(f"before:{spelled}:after")
        assert found.startswith("before:"), chain
        assert found.endswith(":after"), chain
        assert "***" in found, chain
        assert not re.search("planted|%70%6c", found), chain


def test_a_secret_is_found_in_whatever_case() -> None:
    """[X9]"""
    redacted = Redactor(["sk-Planted&more"])
    for text in ("SK-PLANTED&MORE", "sk-planted&amp;more"):
        assert redacted(f"key {text}.") == "key ***."


def test_a_text_that_is_like_a_secret_and_no_secret_stays() -> None:
    """[X9] The normal form leaves out blanks and backslashes, and tells all else apart."""
    redacted = Redactor(["planted-key&more"])
    for text in ("planted_key&more", "planted-key&mor", "planted-key%more", "plantedkey&more"):
        assert redacted(text) == text
    assert redacted("a planted-key&amp;more\\n b %20 &eacute;") == "a ***\\n b %20 &eacute;"


@pytest.mark.parametrize("scheme", ["Bearer", "basic", "Token"])
def test_a_key_is_found_without_its_scheme(scheme: str) -> None:
    """[R5] A server may repeat the key alone; the scheme is no secret."""
    redacted = Redactor([f"{scheme} planted-key"])
    assert redacted(f"{scheme} planted-key, planted-key") == f"{scheme} ***, ***"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "user名:"])
def test_a_secret_is_taken_out_of_base64(before: str, encode: Callable[[bytes], bytes]) -> None:
    """[R5] A server that repeats ``Authorization: Basic``: no byte of the key is left whole."""
    secret = "planted>>>key???4711"
    coded = encode(f"{before}{secret}:x".encode()).decode()
    found = Redactor([secret])(f"401 for Basic {coded}, sorry")
    assert found.startswith("401 for Basic ")
    assert found.endswith(", sorry")
    left = found.removeprefix("401 for Basic ").removesuffix(", sorry").split("***")
    assert len(left) == 2
    assert sum(map(len, left)) <= len(coded) - 26


def test_what_is_around_a_secret_and_what_is_short_stays() -> None:
    """[R5] JSON stays JSON; seven characters are a word."""
    redacted = Redactor(['planted "key"', "1234567", ""])
    text = json.dumps({"said": 'your planted "key" is 1234567 characters'})
    assert json.loads(redacted(text)) == {"said": "your *** is 1234567 characters"}


def test_a_short_secret_is_taken_out_behind_its_scheme() -> None:
    """[R5] ``--api-key abc123`` of a server on one's own machine; elsewhere it may be a word."""
    redacted = Redactor(["abc123", "true"])
    text = "Authorization: Bearer abc123, bearer TRUE; abc123 is true; Bearer abc1234"
    wanted = "Authorization: Bearer ***, bearer ***; abc123 is true; Bearer abc1234"
    assert redacted(text) == wanted


def test_of_two_secrets_the_longer_one_is_taken_first() -> None:
    assert Redactor(["planted-key", "planted-key-2"])("planted-key-2 planted-key") == "*** ***"


def test_a_secret_without_any_letter_is_found() -> None:
    """[R5]"""
    assert Redactor(['%%%\\\\""%%%'])(json.dumps('%%%\\\\""%%%')) == '"***"'


@pytest.mark.full
@pytest.mark.parametrize("text", ["\\", "%25", "25", '\\"', "\\u00", "sk-", "&amp;", "amp;", " "])
def test_a_hostile_text_takes_no_long(text: str) -> None:
    """[R5, X9] All passes are linear; what is not takes minutes for 500 KB."""
    redacted = Redactor(['sk-\\\\""%%&& x', '\\\\\\\\""""'])
    with within_a_minute():
        redacted("sk-%70&" + text * (500_000 // len(text)))


def test_what_a_query_and_a_tree_hold_is_found_by_value_and_by_name() -> None:
    """[R5] Of a tree, the names decide; of a query, any value may be a key."""
    assert set(query_secrets("v=1&key=a%2Bb+c&flag")) == {"1", "a+b+c", "a+b c", "flag"}
    tree = {"model": "m", "api_key": "k", "deep": [{"Password": "p", "token": 3}, "secret"]}
    assert list(named_secrets(tree)) == ["k", "p"]


def test_a_redactor_shows_no_secret() -> None:
    assert repr(Redactor(["planted-key"])) == "Redactor(***)"


def test_options_of_metrics_are_shown_without_keys() -> None:
    """[R5] In the snapshot, in results.json, in a baseline; a tokenizer is no token."""
    options = {
        "api_key": "k1",
        "tokenizer": "jieba",
        "max_tokens": 5,
        "levels": ("a", "b"),
        "login": {"password": "k2", "user": "me"},
        "secret": 4829,
        "max_secrets": 2,
        "token": ["k3", ""],
    }
    assert shown_option("", options) == {
        "api_key": "***",
        "tokenizer": "jieba",
        "max_tokens": 5,
        "levels": ("a", "b"),
        "login": {"password": "***", "user": "me"},
        "secret": "***",
        "max_secrets": 2,
        "token": ["***", ""],
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://me:hunter2@h.test/x?api_key=abc&k=1", "https://h.test/x?api_key=***&k=1"),
        ("postgres://svc:pw@db:5432/docs", "postgres://db:5432/docs"),
        ("Server=db;Password=a b;Port=1", "Server=db;Password=***;Port=1"),
        ("host=db user=svc password=hunter2", "host=db user=svc password=***"),
        ("--api-key=0f3c9a12", "--api-key=***"),
        ("sk-0123456789abcdef0123", "***"),
        ("Bearer 0f3c9a12", "***"),
        ("Authorization: Bearer abcdefgh", "***"),
        ('{"password": "hunter2"}', '{"password": "***"}'),
    ],
)
def test_an_option_is_shown_without_what_it_says_to_be_a_secret(value: str, shown: str) -> None:
    """[R5] Whatever its name."""
    assert shown_option("endpoint", value) == shown
    assert shown_option("args", [value, 5]) == [shown, 5]


@pytest.mark.parametrize(
    "value",
    ROWS["an_option_without_a_secret_is_shown_as_it_is"],
)
def test_an_option_without_a_secret_is_shown_as_it_is(value: str) -> None:
    """[R5] Another text would be another definition, and a saved run would be refused."""
    assert shown_option("endpoint", value) == value
    assert shown_option("levels", (value, None, True)) == (value, None, True)


@pytest.mark.full
@pytest.mark.parametrize("text", ["x", "a=1 ", "token=1 ", "token={{", "x=", "?a&", "'a':'", "a.a"])
def test_long_texts_take_linear_time(text: str) -> None:
    """100,000 characters took up to 37 seconds."""
    long = text * (300_000 // len(text))
    with within_a_minute():
        shown_text(long)
        shown_message(shown_queries(long))


def test_a_value_with_blanks_hides_no_secret_after_it() -> None:
    assert shown_text("Server=my host Password=a b;Port=1") == "Server=my host Password=***;Port=1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("url: /s?q=a&api_key=abc (Caused by", "url: /s?q=a&api_key=*** (Caused by"),
        ("for url 'http://h/?key=a%2Fb&x=1'; y", "for url 'http://h/?key=***&x=1'; y"),
        ("host=db password=x; Port=1", "host=db password=***; Port=1"),
        ("Client(api_key='a b', n=2)", "Client(api_key='***', n=2)"),
        ("session=3f2a9c1b-aaaa expired", "session=*** expired"),
        ("sig=AKIA1234567890ABCD, ghp_12345678901234567890", "sig=***, ***"),
        ("cache_key=0123456789abcdef0123, x", "cache_key=***, x"),
        ("{'host': 'db', 'password': 'hunter2'}", "{'host': 'db', 'password': '***'}"),
        ('{"x-api-key": "0f3c9a12bb34"}', '{"x-api-key": "***"}'),
        *((text, text) for text in ROWS["an_exception_that_names_no_key_is_shown_as_it_is"]),
    ],
)
def test_an_exception_names_no_key(text: str, shown: str) -> None:
    assert shown_message(shown_queries(text)) == shown
