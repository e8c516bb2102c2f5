"""Settings and credentials: what is shown of them, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.clients.errors import AuthError
from pytest_rageval.clients.http import credential_problems, read_credentials
from pytest_rageval.clients.settings import CACHE_MODES, ClientSettings, Price, RunSettings
from pytest_rageval.errors import OptionError

KEY = "sk-live-0123456789abcdef"


def test_a_price_is_for_a_million_tokens() -> None:
    """1,000 at 0.15 and 500 at 0.6 USD: (150 + 300) / 1e6."""
    assert Price(0.15, 0.6).cost_usd(1000, 500) == pytest.approx(0.00045, abs=1e-15)


@pytest.mark.parametrize(
    ("base_url", "endpoint"),
    [
        (None, "https://api.openai.com/v1"),
        ("http://127.0.0.1:8099/v1/", "http://127.0.0.1:8099/v1"),
        ("https://user:pass@host/v1?key=secret#x", "https://host/v1"),
    ],
)
def test_an_endpoint_is_shown_without_user_password_and_query(
    base_url: str | None, endpoint: str
) -> None:
    assert ClientSettings("m", base_url=base_url).endpoint == endpoint


def test_headers_do_not_appear_in_the_text_of_settings() -> None:
    assert KEY not in repr(ClientSettings("m", headers={"api-key": KEY}))


def test_the_key_comes_from_the_variable_that_is_named() -> None:
    credentials = read_credentials(ClientSettings("m", api_key_env="JUDGE_KEY"))
    assert credentials.headers == {"Authorization": f"Bearer {KEY}"}
    assert KEY not in repr(credentials)


def test_a_header_of_the_users_own_takes_the_place_of_the_key() -> None:
    """However it is spelled: a request with two was refused. The key is hidden all the same."""
    headers = {"authorization": "Basic ${JUDGE_KEY}"}
    credentials = read_credentials(ClientSettings("m", api_key_env="JUDGE_KEY", headers=headers))
    assert credentials.headers == {"authorization": f"Basic {KEY}"}
    assert credentials.scrub(KEY.encode()) == b"***"


def test_without_a_named_variable_no_key_is_sent() -> None:
    assert read_credentials(ClientSettings("m")).headers == {}


def test_headers_may_take_their_values_from_the_environment() -> None:
    headers = {"api-key": "${JUDGE_KEY}", "X-Title": "tests"}
    credentials = read_credentials(ClientSettings("m", headers=headers))
    assert credentials.headers == {"api-key": KEY, "X-Title": "tests"}


@pytest.mark.parametrize(
    ("key", "reply"),
    [
        ("anything", "You can return anything."),
        ("test", "It is a basic test."),
        ("EMPTY", "The token empty ends it."),
    ],
)
def test_what_stands_for_no_key_stays_in_replies_alone(
    key: str, reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", key)
    for settings in (
        ClientSettings("m", api_key_env="JUDGE_KEY"),
        ClientSettings("m", headers={"Authorization": "Bearer ${JUDGE_KEY}"}),
    ):
        credentials = read_credentials(settings)
        assert credentials.scrub(reply.encode()) == reply.encode()
        assert credentials.hide(f"sent Bearer {key}") == "sent Bearer ***"
    monkeypatch.setenv("JUDGE_KEY", "anything-else")
    credentials = read_credentials(ClientSettings("m", api_key_env="JUDGE_KEY"))
    assert credentials.scrub(b"Bearer anything-else") == b"Bearer ***"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "api_key_env: the environment variable JUDGE_KEY is not set"),
        ("  ", "api_key_env: the environment variable JUDGE_KEY is not set"),
        ("sk-\nx", "api_key_env: the environment variable JUDGE_KEY holds characters that no"),
        ("sk-密钥", "api_key_env: the environment variable JUDGE_KEY holds characters that no"),
    ],
)
def test_a_key_that_cannot_be_used_is_named_but_not_shown(
    value: str | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv("JUDGE_KEY")
    else:
        monkeypatch.setenv("JUDGE_KEY", value)
    settings = ClientSettings("m", api_key_env="JUDGE_KEY")
    (found,) = credential_problems(settings)
    assert found.startswith(problem)
    with pytest.raises(AuthError, match="JUDGE_KEY"):
        read_credentials(settings)


def test_a_literal_header_that_no_server_takes_is_refused() -> None:
    settings = ClientSettings("m", headers={"X-Title": "a\nb"})
    assert credential_problems(settings) == ["headers.X-Title: holds characters that no header has"]


def test_a_key_that_is_a_word_is_left_in_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in one's own house take any key, "x" for instance."""
    monkeypatch.setenv("JUDGE_KEY", "x")
    credentials = read_credentials(ClientSettings("m", api_key_env="JUDGE_KEY"))
    assert credentials.hide("the text, Bearer x") == "the text, Bearer ***"
    assert credentials.scrub(b"the text") == b"the text"


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", "idna", "undefined", "hex", "no-such"])
def test_a_charset_that_cannot_be_read_is_utf_8(
    monkeypatch: pytest.MonkeyPatch, charset: str
) -> None:
    """The bytes stay, also those that are no UTF-8."""
    monkeypatch.setenv("JUDGE_KEY", KEY)
    credentials = read_credentials(ClientSettings("m", api_key_env="JUDGE_KEY"))
    assert credentials.scrub(b"caf\xc3\xa9 \xff", charset) == b"caf\xc3\xa9 \xff"
    assert credentials.scrub(f"\xe9 {KEY} ".encode() + b"\xff", charset) == b"\xc3\xa9 *** \xff"


@pytest.mark.parametrize(
    ("fields", "secret"),
    [
        *[({"api_key_env": "JUDGE_KEY"}, KEY), ({"headers": {"X-Gate": "team ${JUDGE_KEY}"}}, KEY)],
        *[({"headers": {name: "swordfish"}}, "swordfish") for name in ("X-Api-Key", "X-Pass")],
        ({"headers": {"Authorization": "Basic opensesame"}}, "opensesame"),
        ({"headers": {"Cookie": "sid=opensesame"}}, "sid=opensesame"),
        *[({"headers": {name: "4711081512"}}, "4711081512") for name in ("X-PIN", "X-Gate")],
        ({"headers": {"X-Title": "acme-support", "X-Gate-Key": "acme-support"}}, "acme-support"),
        ({"headers": {"X-Title": "${JUDGE_KEY}"}}, KEY),
        *[
            ({"headers": {"Referer": value}}, value)
            for value in ("http://h/s/0123456789abcdef", "http://h/#token", "bot; token=x")
        ],
        ({"headers": {"User-Agent": KEY}, "api_key_env": "JUDGE_KEY"}, KEY),
        ({"headers": {"Referer": "https://svc:opensesame@h"}}, "https://svc:opensesame@h"),
        ({"headers": {"HTTP-Referer": "https://h?pass=opensesame"}}, "https://h?pass=opensesame"),
        ({"base_url": "http://h/v1?user=svc&pass=correct-horse-battery"}, "correct-horse-battery"),
        ({"base_url": "http://h/v1?key=2024-10-21&api-version=2024-10-21"}, "2024-10-21"),
        ({"base_url": "http://h/v1?api-version=1;key=opensesame"}, "1;key=opensesame"),
        *[({"base_url": f"http://h/v1?{query}opensesame"}, "opensesame") for query in ("", "v=")],
        ({"headers": {"X-Team": "research", "X-Gate": "${TEAM}"}}, "research"),
        *[
            ({"headers": {"X-Gate": text}, "base_url": f"http://h/v1?gate={text}"}, text)
            for text in ("opensesame7", "open=sesame", "qwertyuiopasdfghjklzxcvb", "svc:opensesame")
        ],
        ({"headers": {"X-Gate": "Token opensesame"}}, "opensesame"),
        ({"extra_body": {"password": "swordfish"}}, "swordfish"),
    ],
)
def test_what_may_be_a_secret_is_in_no_reply(
    fields: dict[str, Any], secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setenv("TEAM", "research")
    credentials = read_credentials(ClientSettings("m", **fields))
    assert credentials.scrub(f"it is {secret}.".encode()) == b"it is ***."
    assert credentials.hide(f"it is {secret}.") == "it is ***."


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        *[({"headers": {name: "Acme Support"}}, "Acme Support") for name in ("X-Title", "x-title")],
        ({"headers": {"HTTP-Referer": "http://localhost:3000"}}, "http://localhost:3000"),
        ({"headers": {"Referer": "https://acme.example/help"}}, "https://acme.example/help"),
        ({"headers": {"User-Agent": "acme-bot/1.0"}}, "acme-bot/1.0"),
        ({"headers": {"Accept": "application/json"}}, "application/json"),
        ({"base_url": "http://h/v1?api-version=2024-10-21"}, "2024-10-21"),
        ({"base_url": "http://h/v1?a=b&API_VERSION=2024-12-01-preview"}, "2024-12-01-preview"),
        ({"headers": {"X-Team": "research"}}, "research"),
        ({"headers": {"X-App": "statements"}}, "statements"),
        ({"headers": {"X-Cost-Centre": "4711 0815"}}, "4711 0815"),
    ],
)
def test_what_is_no_secret_by_its_name_stays_in_replies(fields: dict[str, Any], value: str) -> None:
    """An answer may be about it: with asterisks in its place, a right one would be wrong."""
    credentials = read_credentials(ClientSettings("m", **fields))
    assert credentials.scrub(f"it is {value}.".encode()) == f"it is {value}.".encode()
    assert credentials.hide(f"it is {value}.") == "it is ***."


def test_keys_are_taken_out_of_what_a_server_says() -> None:
    settings = ClientSettings(
        "m", api_key_env="JUDGE_KEY", headers={"api-key": "another-secret", "X-Retry": "1"}
    )
    hide = read_credentials(settings).hide
    assert hide(f"bad key {KEY}!") == "bad key ***!"
    assert hide("Bearer abc.def and another-secret") == "Bearer *** and ***"
    assert (
        hide("Incorrect API key provided: sk-liv***cdef.") == "Incorrect API key provided: sk-***"
    )
    assert hide("attempt 1 of 2") == "attempt 1 of 2"


def test_a_mode_of_the_cache_that_does_not_exist_is_refused() -> None:
    """With a slip of the pen in its place, replay would ask."""
    with pytest.raises(OptionError) as caught:
        RunSettings(cache_mode="replya")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "cache_mode: unknown mode of the cache 'replya'. Did you mean 'replay'? "
        "Known: off, read, readwrite, refresh, replay"
    )
    assert [RunSettings(cache_mode=mode).cache_mode for mode in CACHE_MODES] == [*CACHE_MODES]
