"""E22: no key or password of a promptfoo configuration gets into what the import writes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from promptfoo_files import Read, imported

from pytest_rageval.importing.base import ImportNotes, body_without_secrets, without_secrets
from pytest_rageval.importing.written_files import scenario_text

ROWS = tomllib.loads(Path(__file__).with_name("secrets.toml").read_text("utf-8"))

TESTS = "tests: [{vars: {q: a}, assert: [{type: contains, value: b}]}]\n"


def shown(value: Any, name: str = "") -> Any:
    return without_secrets(value, "f:1", ImportNotes(), name)


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
        (
            "http://h.test/?sv=1&sig=p&pwd=q",
            "http://h.test/?sv=1&sig={{env.SIG}}&pwd={{env.RAG_PWD}}",
        ),
        ("http://h.test/T0/aB3" + "x" * 21, "http://h.test/T0/{{env.PATH_KEY}}"),
        ("{{env.A}}/T0/aB3" + "x" * 21, "{{env.A}}/T0/{{env.PATH_KEY}}"),
        ("http://h.test/gpt-4o-mini-2024-07-18/chat", "http://h.test/gpt-4o-mini-2024-07-18/chat"),
        ({"pw": "abc"}, {"pw": "{{env.PW}}"}),
        ("Server=x;Password=a b;Port=1", "Server=x;Password={{env.PASSWORD}};Port=1"),
        ("Server=x; Password = '{{ p }}'", "Server=x; Password = '{{ p }}'"),
        ("Server=x;Password={{ p }};Port=1", "Server=x;Password={{ p }};Port=1"),
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
    assert body_without_secrets(body, "f:1", ImportNotes()) == kept


def test_no_secret_is_written(read: Read) -> None:
    """[E22] Neither into the scenario, its comments and the names in it, nor into the module."""
    found = read(
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
    assert not re.findall(r"HIDDEN\S*", f"{text}{found.module}{found.notes}{found.rows}")
    assert "{'api_key': os.environ['API_KEY_3']}, 'url': os.environ['HOST'] + '/a'" in found.module
    http = found.scenario["variants"]["https-example-test-chat"]["target"]
    assert http == {
        "url": "https://example.test/chat?api_key=${API_KEY}",
        "method": "POST",
        "headers": {"Authorization": "Bearer ${AUTHORIZATION}", "X-Custom": "${X_CUSTOM_KEY}"},
        "body": {"q": "{question}", "api_key": "${API_KEY_2}", "auth": {"token": "${TOKEN}"}},
        "query": {"access_token": "${ACCESS_TOKEN}"},
    }
    lost = [what for _, what in found.notes if "environment variable" in what]
    assert len(lost) == 9


@pytest.mark.parametrize("key", ["${MY_KEY}", "{{ env.MY_KEY }}", " {{env.MY_KEY}} "])
def test_a_key_from_a_variable_stays_there(read: Read, key: str) -> None:
    """[E22] Nothing is lost, so nothing is listed."""
    provider = f"{{id: openai:gpt-4o, config: {{apiKey: '{key}'}}}}"
    found = read(f'prompts: ["{{{{q}}}}"]\nproviders: [{provider}]\n{TESTS}')
    assert found.scenario["target"]["api_key_env"] == "MY_KEY"
    assert found.notes == []


def test_a_variable_that_the_file_reads_itself_is_another_one(read: Read) -> None:
    """[E22] One secret is not sent in place of the other."""
    found = read(
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


KEY = "sk-" + "a1" * 12


def of_test(
    tmp_path: Path, test: str, provider: str = "openai:gpt-4o", prompt: str = "{{question}}"
) -> Any:
    text = f"prompts: ['{prompt}']\nproviders: ['{provider}']\ntests: [{test}]\n"
    return imported(tmp_path, text, ask__py="")


NOT = "assert: [{{type: not-contains, value: '{}'}}]"
CHECK = "assert: [{type: contains, value: b}]"


@pytest.mark.parametrize(
    "held",
    [
        f"t: {KEY}",
        "api_key: hunter2secret",
        "nested: {api_key: hunter2secret}",
        "token: [abcdefgh1]",
    ],
)
def test_a_key_in_a_variable_of_a_test_stays_out(tmp_path: Path, held: str) -> None:
    """[E22] By its look or its name; the row still runs, as no prompt shows the variable."""
    name = held.partition(":")[0]
    found = of_test(tmp_path, f"{{vars: {{question: a, {held}}}, metadata: {{{held}}}, {CHECK}}}")
    assert found.rows == [{"id": "test-1", "question": "a", "answer_checks": [{"contains": "b"}]}]
    assert [what for _, what in found.notes] == [
        f"vars: {name}: looks like a key; it is not copied",
        f"metadata: {name}: looks like a key; it is not copied",
    ]


@pytest.mark.parametrize("held", ["key: C major", "token: word", "session: '{{question}}'", "n: 5"])
def test_a_variable_that_is_no_key_is_copied(tmp_path: Path, held: str) -> None:
    """[E22]"""
    found = of_test(tmp_path, f"{{vars: {{question: a, {held}}}, {CHECK}}}")
    assert set(found.rows[0]["vars"]) == {held.partition(":")[0]}
    assert not found.notes


@pytest.mark.parametrize(
    "more", [{"prompt": "{{question}} {{t}}"}, {"provider": "python:ask.py"},
             {"prompt": "{{question}} {{t}}", "provider": "echo"}],
)  # fmt: skip
def test_a_row_that_would_ask_something_else_is_skipped(tmp_path: Path, more: Any) -> None:
    """[E22] Without its variable, an answer would be to another question."""
    (row,) = of_test(tmp_path, f"{{vars: {{question: a, t: {KEY}}}, {CHECK}}}", **more).rows
    assert row["skip"].startswith("its variable 't' looks like a key, and is not copied; write it")
    assert KEY not in str(row)


@pytest.mark.parametrize(
    "test",
    [
        f"{{vars: {{question: a, t: {KEY}}}, {NOT.format('{{t}}')}}}",
        f"{{vars: {{question: 'is {KEY} mine?'}}, {CHECK}}}",
        f"{{vars: {{question: a, pwd: hunter2secret}}, {NOT.format('hunter2secret')}}}",
    ],
)
def test_of_a_row_that_says_a_key_nothing_is_left(tmp_path: Path, test: str) -> None:
    """[E22] A check without it would be another check."""
    whole = f"{test}, {{vars: {{question: a}}, {CHECK}}}"
    found = of_test(tmp_path, whole)
    assert found.rows[0] == {
        "id": "test-1", "skip": "no check of bot.yaml:3: its texts hold a key"
    }  # fmt: skip
    assert found.checks == 1
    assert "test: its texts hold what looks like a key; none is copied" in str(found.notes)


def test_of_a_command_line_the_program_alone_is_shown(read: Read) -> None:
    """[E22]"""
    found = read(
        "prompts: ['{{q}}']\nproviders: ['exec: ./bot --api-key=HIDDEN', 'exec:a -p HIDDEN']\n"
        f"{TESTS}",
    )
    assert "HIDDEN" not in scenario_text(found, "bot.yaml", "pytest x")
    assert "provider 'exec: ./bot ...'" in str(found.notes)


@pytest.mark.parametrize(
    ("held", "said"),
    ROWS["a_word_that_is_called_a_key_stays_elsewhere"],
)
def test_a_word_that_is_called_a_key_stays_elsewhere(tmp_path: Path, held: str, said: str) -> None:
    """[E22] In other variables, in what was answered, and in other rows it is a word."""
    other = f"{{vars: {{question: '{said}?'}}, providerOutput: '{said}', {CHECK}}}"
    test = f"vars: {{question: a, {held}, z: 'of {said}'}}, metadata: {{m: '{said}'}}"
    output = f"providerOutput: 'b {said}'"
    found = of_test(tmp_path, f"{{{test}, {output}, {CHECK}}}, {other}")
    first, second = found.rows
    assert (first["vars"]["z"], first["metadata"], first["answer"]) == (
        f"of {said}",
        {"m": said},
        f"b {said}",
    )
    assert second == {
        "id": "test-2", "question": f"{said}?", "answer_checks": [{"contains": "b"}],
        "answer": said,
    }  # fmt: skip
    assert found.checks == 2


def test_a_word_of_a_provider_stays_in_the_rows(read: Read) -> None:
    """[E22]"""
    provider = "https://h.test/"
    text = (
        f"prompts: ['{{{{question}}}}']\nproviders: [{{id: '{provider}', config: {{body: "
        "{q: '{{prompt}}', session: default-session, key: section_2024, token: '{{env.T}}'}}}]\n"
        f"tests: [{{vars: {{question: section_2024, a: default-session}}, {CHECK}}}]\n"
    )
    (row,) = read(text).rows
    assert (row["question"], row["vars"]) == ("section_2024", {"a": "default-session"})


def test_an_answer_that_shows_a_key_of_its_own_stays(tmp_path: Path) -> None:
    """[E22] Such as an example in code: no variable holds it."""
    test = f"{{vars: {{question: a}}, providerOutput: 'b export A={KEY}', {CHECK}}}"
    assert of_test(tmp_path, test).rows[0]["answer"] == f"b export A={KEY}"


SECRET = "hunter2secret"


@pytest.mark.parametrize(
    "held",
    [
        f"api_key: {SECRET}",
        f"auth: Bearer {SECRET}",
        "a: {b: [{pwd: hunter2secret}]}",
    ],
)
@pytest.mark.parametrize("said", [f"'http://h.test/?k={SECRET}'", f"{{y: [z, {{x: {SECRET}}}]}}"])
def test_a_key_stays_out_wherever_it_stands(tmp_path: Path, held: str, said: str) -> None:
    """[E22] In variables and metadata of other names, too, of each test."""
    first = f"vars: {{question: a, {held}, url: {said}, n: 5}}, metadata: {{m: {said}, k: v}}"
    found = of_test(
        tmp_path, f"{{{first}, {CHECK}}}, {{vars: {{question: a, z: {said}}}, {CHECK}}}"
    )
    rest = {"question": "a", "answer_checks": [{"contains": "b"}]}
    assert found.rows == [
        {"id": "test-1", **rest, "vars": {"n": 5}, "metadata": {"k": "v"}},
        {"id": "test-2", **rest},
    ]
    lost = [what.removesuffix(": looks like a key; it is not copied") for _, what in found.notes]
    name = held.partition(":")[0]
    assert lost == [f"vars: {name}", "vars: url", "metadata: m", "vars: z"]


def test_a_row_whose_other_variable_held_a_key_is_skipped(tmp_path: Path) -> None:
    """[E22] Its prompt shows that variable."""
    test = f"{{vars: {{question: a, pwd: {SECRET}, url: 'h?{SECRET}'}}, {CHECK}}}"
    (row,) = of_test(tmp_path, test, prompt="{{question}} {{url}}").rows
    assert row["skip"].startswith("its variable 'url' looks like a key, and is not copied; write")


@pytest.mark.parametrize("said", [f"question: is {SECRET} mine", f"question: {SECRET}"])
def test_of_another_row_that_says_a_key_nothing_is_left(tmp_path: Path, said: str) -> None:
    """[E22]"""
    test = f"{{vars: {{question: a, pwd: {SECRET}}}, {CHECK}}}, {{vars: {{{said}}}, {CHECK}}}"
    found = of_test(tmp_path, test)
    assert found.rows[1] == {
        "id": "test-2", "skip": "no check of bot.yaml:3: its texts hold a key"
    }  # fmt: skip
    assert found.checks == 1


def test_an_answer_that_says_a_key_is_not_written(tmp_path: Path) -> None:
    """[E22] The others are still the answers; none is asked for again."""
    tests = [f"{{vars: {{question: a, pwd: {SECRET}}}, providerOutput: fine b, {CHECK}}}",
             f"{{vars: {{question: a}}, providerOutput: 'b {SECRET}', {CHECK}}}"]  # fmt: skip
    found = of_test(tmp_path, ", ".join(tests))
    assert [row.get("answer") for row in found.rows] == ["fine b", None]
    assert found.rows[1]["skip"] == "no check of bot.yaml:3: its texts hold a key"
    assert "target" not in found.scenario
    assert found.checks == 1


def test_no_key_is_in_what_a_model_is_told(read: Read) -> None:
    """Prompts, a description and a response_format; a word that is called a password stays."""
    form = f"{{type: json_schema, json_schema: {{description: 'as {KEY}'}}}}"
    text = (
        f"description: Bot of {KEY}\n"
        f"prompts: ['{{{{q}}}} by {SECRET}', '{KEY} {{{{q}}}}', '{{{{q}}}}, password: {{{{x}}}}']\n"
        f"providers: [{{id: openai:g, config: {{apiKey: {SECRET}, response_format: {form}}}}}]\n"
    )
    found = read(text + TESTS)
    written = f"{found.scenario}{found.rows}{found.notes}"
    assert SECRET not in written
    assert KEY not in written
    prompt = "{question}, password: {metadata.vars.x}"
    assert found.scenario["target"]["prompt"] == prompt
    assert found.scenario["name"] == "bot"
    assert [what.partition(":")[0] for _, what in found.notes][:3] == [
        "description", "prompt 1", "prompt 2",
    ]  # fmt: skip


def test_no_label_with_a_key_is_the_name_of_a_variant(read: Read) -> None:
    """A label, of a provider or a prompt; the name of a model is none."""
    providers = f"[{{id: openai:g, label: 'Bot {KEY}'}}, {{id: openai:ft:{KEY}}}]"
    found = read(f"prompts: ['{{{{q}}}}']\nproviders: {providers}\n{TESTS}")
    assert [*found.scenario["variants"]] == ["asked", f"ft-{KEY}"]
    assert ("bot.yaml:2", "label: holds what looks like a key; it is not copied") in found.notes


def test_a_key_of_a_provider_is_in_no_row(read: Read) -> None:
    """[E22]"""
    provider = f"{{id: openai:gpt-4o, config: {{apiKey: {SECRET}}}}}"
    text = (
        f"prompts: ['{{{{question}}}}']\nproviders: [{provider}]\n"
        f"tests: [{{vars: {{question: a, z: 'k {SECRET}'}}, {CHECK}}}]\n"
    )
    assert "vars" not in read(text).rows[0]
