"""E22: no key or password of a promptfoo configuration gets into what the import writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from promptfoo_files import imported

from pytest_rageval.importing.base import Losses
from pytest_rageval.importing.scenario_text import scenario_text
from pytest_rageval.importing.secrets import body_without_secrets, without_secrets

TESTS = "tests: [{vars: {q: a}, assert: [{type: contains, value: b}]}]\n"


def shown(value: Any, name: str = "") -> Any:
    return without_secrets(value, "f:1", Losses(), name)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"api_key": "abc"}, {"api_key": "{{env.API_KEY}}"}),
        ({"a": [{"accessToken": "abc"}]}, {"a": [{"accessToken": "{{env.ACCESS_TOKEN}}"}]}),
        ({"password": 1234}, {"password": "{{env.PASSWORD}}"}),
        ({"max_tokens": 5, "keywords": "a"}, {"max_tokens": 5, "keywords": "a"}),
        (
            {"token": "{{t}}", "secret": "", "auth": None},
            {"token": "{{t}}", "secret": "", "auth": None},
        ),
        ({"authorization": "Bearer {{env.T}}"}, {"authorization": "Bearer {{env.T}}"}),
        ({"authorization": "Bearer abc{{x}}"}, {"authorization": "Bearer {{env.AUTHORIZATION}}"}),
        ({"X-Id": "sk-0123456789abcdefgh"}, {"X-Id": "{{env.X_ID_KEY}}"}),
        ({"X-Id": "Bearer abcdefgh"}, {"X-Id": "Bearer {{env.X_ID_KEY}}"}),
        ({"text": "a basic introduction"}, {"text": "a basic introduction"}),
        ("http://u:p@h.test/a?x=1", "http://{{env.H_TEST_CREDENTIALS}}@h.test/a?x=1"),
        ("see http://h.test/?api_key=p&x=1#k", "see http://h.test/?api_key={{env.API_KEY}}&x=1#k"),
        ("http://h.test/?code=p", "http://h.test/?code={{env.CODE_KEY}}"),
        ("http://{{env.U}}:{{env.P}}@h.test/", "http://{{env.U}}:{{env.P}}@h.test/"),
        # Equal names of two secrets are two variables, one secret is one.
        (
            [{"key": "a"}, {"key": "b"}, {"key": "a"}],
            [{"key": "{{env.KEY}}"}, {"key": "{{env.KEY_2}}"}, {"key": "{{env.KEY}}"}],
        ),
    ],
)
def test_a_variable_stands_for_each_secret(value: Any, kept: Any) -> None:
    """[E22] By its name or its look; templates, and what is none, stay."""
    assert shown(value) == kept


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("q={{prompt}}&token=abc", "q={{prompt}}&token={{env.TOKEN}}"),
        ('{"q": {{prompt}}, "apiKey": "abc"}', '{"q": {{prompt}}, "apiKey": "{{env.API_KEY}}"}'),
        ("token={{t}}", "token={{t}}"),
    ],
)
def test_a_body_that_is_text_has_none_either(body: str, kept: str) -> None:
    """[E22]"""
    assert body_without_secrets(body, "f:1", Losses()) == kept


def test_no_secret_is_written(tmp_path: Path) -> None:
    """[E22] Neither into the scenario, its comments and the names in it, nor into the module."""
    found = imported(
        tmp_path,
        """\
prompts: ["{{q}}"]
providers:
  - id: https
    config:
      url: https://example.test/chat?api_key=HIDDEN-1
      method: POST
      headers: {Authorization: "Bearer HIDDEN-2 {{x}}", X-Custom: sk-HIDDEN-34567890abcdef}
      body: {q: "{{prompt}}", api_key: HIDDEN-4, auth: {token: HIDDEN-5}}
      queryParams: {access_token: HIDDEN-6}
  - {id: "https://user:HIDDEN-7@example.test/chat", config: {body: {q: "{{prompt}}"}}}
  - {id: openai:gpt-4o, config: {apiBaseUrl: "https://user:HIDDEN-8@x.test/v1"}}
  - {id: "python:ask.py", config: {nested: {api_key: HIDDEN-9}, url: "{{env.HOST}}/a"}}
  - {id: "https://user:HIDDEN-10@example.test/no", config: {transformResponse: "f(x)"}}
  - {id: openai:gpt-5, config: {apiKey: HIDDEN-11, apiKeyEnvar: sk-HIDDEN-12}}
"""
        + f"{TESTS[:-2]}, https://example.test/t.csv?token=HIDDEN-13]\n",
        ask__py="",
    )
    text = scenario_text(found, "bot.yaml", "pytest x")
    assert not re.findall(r"HIDDEN\S*", f"{text}{found.module}{found.losses}{found.rows}")
    assert "{'api_key': os.environ['API_KEY_3']}, 'url': os.environ['HOST'] + '/a'" in found.module
    http = found.scenario["variants"]["https-example.test-chat"]["target"]
    assert http == {
        "url": "https://example.test/chat?api_key=${API_KEY}",
        "method": "POST",
        "headers": {"Authorization": "Bearer ${AUTHORIZATION}", "X-Custom": "${X_CUSTOM_KEY}"},
        "body": {"q": "{question}", "api_key": "${API_KEY_2}", "auth": {"token": "${TOKEN}"}},
        "query": {"access_token": "${ACCESS_TOKEN}"},
    }
    lost = [what for _, what in found.losses if "environment variable" in what]
    assert len(lost) == 9


def test_a_variable_that_the_file_reads_itself_is_another_one(tmp_path: Path) -> None:
    """[E22] One secret is not sent in place of the other."""
    found = imported(
        tmp_path,
        """\
prompts: ["{{q}}"]
providers:
  - id: https://example.test/
    config: {body: {q: "{{prompt}}", api_key: a}, headers: {A: "{{env.API_KEY}}"}}
"""
        + TESTS,
    )
    assert found.scenario["target"]["body"]["api_key"] == "${API_KEY_2}"
    assert found.scenario["target"]["headers"] == {"A": "${API_KEY}"}


def test_a_key_in_a_variable_of_a_test_is_listed(tmp_path: Path) -> None:
    """[E22] Rows are data; a check may be about it."""
    key = "sk-" + "a1" * 12
    tests = f"[{{vars: {{q: a, t: {key}}}, assert: [{{type: contains, value: b}}]}}]"
    found = imported(
        tmp_path, f"prompts: ['{{{{q}}}}']\nproviders: [openai:gpt-4o]\ntests: {tests}\n"
    )
    assert [what.partition(";")[0] for _, what in found.losses] == [
        "vars: t: looks like a key, and stands in the rows"
    ]
