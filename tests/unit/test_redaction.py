"""[A21, E10] What is shown of URLs and of values with names."""

from __future__ import annotations

import pytest

from pytest_rageval.redaction import host, shown_url, sounds_secret, without_credentials


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
