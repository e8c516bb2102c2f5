"""E22: a promptfoo configuration becomes a scenario and rows; what is not taken is listed."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from promptfoo_files import Read, imported

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported
from pytest_rageval.importing.promptfoo import import_promptfoo
from pytest_rageval.importing.written_files import scenario_text
from pytest_rageval.model import Sample
from pytest_rageval.scenario.yaml.tree import parse_yaml

WHOLE = """\
description: Support bot
prompts: ["{{question}}"]
providers: [openai:chat:gpt-4o-mini]
tests:
"""


def test_a_test_becomes_a_row_and_its_asserts_the_checks(read: Read) -> None:
    """[E22] All asserts of a test have to hold, as in promptfoo."""
    found = read(
        WHOLE
        + """\
  - description: fee
    vars: {question: Is there a fee?, tone: kind}
    assert:
      - {type: contains, value: "no"}
      - {type: llm-rubric, value: is kind}
""",
    )
    assert found.rows == [
        {
            "id": "test-1",
            "description": "fee",
            "question": "Is there a fee?",
            "vars": {"tone": "kind"},
            "answer_checks": [{"contains": "no"}],
            "must_satisfy": ["is kind"],
        }
    ]
    assert found.scenario == {
        "name": "support-bot",
        "description": "Support bot",
        "dataset": "bot.jsonl",
        "target": {"model": "gpt-4o-mini"},
        "metrics": ["answer_checks", "must_satisfy"],
        "thresholds": {"answer_checks": 1.0, "must_satisfy": 1.0},
        "judge": {"model": "gpt-4.1-2025-04-14"},
    }
    assert (found.checks, found.notes) == (2, [])


def test_what_all_tests_share_is_laid_under_each(read: Read) -> None:
    """[E22] Unless a test says that it is not."""
    found = read(
        """\
defaultTest:
  vars: {lang: en}
  assert: [{type: not-contains, value: sorry}]
"""
        + WHOLE
        + """\
  - {vars: {question: a}, assert: [{type: contains, value: "{{lang}}"}]}
  - vars: {question: b, lang: de}
    options: {disableDefaultAsserts: true}
    assert: [{type: equals, value: "{{lang}}"}]
""",
    )
    assert [row["answer_checks"] for row in found.rows] == [
        [{"not-contains": "sorry"}, {"contains": "en"}],
        [{"equals": "de"}],
    ]


def test_lists_of_variables_and_scenarios_multiply_tests(read: Read) -> None:
    """[E22]"""
    found = read(
        """\
prompts: ["To {{lang}}: {{input}}"]
providers: [openai:gpt-4o]
tests: [{vars: {lang: [de, fr], input: hi}, assert: [{type: contains, value: "{{lang}}"}]}]
scenarios:
  - config: [{vars: {lang: es, gold: hola}}, {vars: {lang: it, gold: ciao}}]
    tests: [{vars: {input: hello}, assert: [{type: icontains, value: "{{gold}}"}]}]
""",
    )
    checks = [row["answer_checks"][0] for row in found.rows]
    assert checks == [
        {"contains": "de"},
        {"contains": "fr"},
        {"icontains": "hola"},
        {"icontains": "ciao"},
    ]
    assert found.scenario["target"]["prompt"] == "To {metadata.vars.lang}: {question}"


def test_tests_may_be_in_tables_and_files(read: Read) -> None:
    """[E22] A cell spells an assert; without a kind, the answer has to equal it."""
    table = 'question,__expected1,__expected2\na,"contains-any: x, y",b\nc,similar(0.9):z,\n'
    found = read(
        WHOLE.rstrip() + " [file://t.csv, more.yaml]\n",
        t__csv=table,
        more__yaml="- {vars: {question: d}, assert: [{type: equals, value: e}]}\n",
    )
    assert [row.get("answer_checks") for row in found.rows] == [
        [{"contains-any": ["x", "y"]}, {"equals": "b"}],
        None,
        [{"equals": "e"}],
    ]
    # similar is in one of three tests alone, so it measures none, and its row checks nothing.
    assert "no check of t.csv:3: none could be taken" in found.rows[1]["skip"]
    assert [where for where, _ in found.notes] == ["t.csv:3"]


def test_providers_and_prompts_are_variants(read: Read) -> None:
    """[E22] Each with its own prompt; a provider that runs code is left out and listed."""
    found = read(
        """\
prompts:
  - {label: short, raw: "{{q}}?"}
  - file://chat.json
providers:
  - {id: openai:gpt-4o, label: big, config: {temperature: 0, max_tokens: 9, apiKey: sk-1}}
  - ollama:chat:llama3:8b
  - file://ask.js
tests: [{vars: {q: a}, assert: [{type: contains, value: b}]}]
""",
        chat__json='[{"role": "system", "content": "Be {kind}."},'
        '{"role": "user", "content": "{{q}}"}]',
    )
    variants = {name: one["target"] for name, one in found.scenario["variants"].items()}
    assert list(variants) == [
        *("big-short", "big-prompt-2", "llama3-8b-short", "llama3-8b-prompt-2"),
    ]
    assert variants["big-short"] == {
        "model": "gpt-4o",
        "temperature": 0,
        "max_tokens": 9,
        "prompt": "{question}?",
    }
    # Braces that would name a field here are doubled.
    assert variants["llama3-8b-prompt-2"] == {
        "model": "llama3:8b",
        "base_url": "http://localhost:11434/v1",
        "system": "Be {{kind}}.",
    }
    assert "sk-1" not in json.dumps(found.scenario)
    assert [where for where, _ in found.notes] == ["bot.yaml:5", "bot.yaml:7"]


@pytest.mark.parametrize("transform", ["json.data[0].text", "(r) => r.data[0].text"])
def test_a_service_over_http_is_a_target(read: Read, transform: str) -> None:
    """[E22]"""
    found = read(
        f"""\
prompts: ["Q: {{{{message}}}}"]
targets:
  - id: https
    config:
      url: http://127.0.0.1:8000/chat
      method: POST
      headers: {{Authorization: "Bearer {{{{env.TOKEN}}}}", X-Api-Key: abc123}}
      body: {{text: "{{{{prompt}}}}", lang: "{{{{lang}}}}"}}
      transformResponse: {json.dumps(transform)}
tests: [{{vars: {{message: a}}, assert: [{{type: contains, value: b}}]}}]
""",
    )
    assert found.scenario["target"] == {
        "url": "http://127.0.0.1:8000/chat",
        "method": "POST",
        "headers": {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "${X_API_KEY}"},
        "body": {"text": "Q: {question}", "lang": "{metadata.vars.lang}"},
        "answer": "data[0].text",
    }
    assert found.rows[0]["vars"] == {"lang": ""}  # promptfoo shows nothing for it
    assert [loss.split(":")[0] for _, loss in found.notes] == ["secret X-Api-Key"]


@pytest.mark.parametrize(
    ("header", "written"),
    [
        ("v1", "v1"),
        ("{{env.USER_ID}}", "${USER_ID}"),
        ("{id}", "{{id}}"),
        ("{{user}}", None),
        ("u-{{user.id}}", None),
        ("{{prompt}}", None),
    ],
)
def test_a_header_that_differs_by_row_is_left_out(
    read: Read, header: str, written: str | None
) -> None:
    """[E22] Headers of a target are the same for all rows: the scenario would be refused."""
    config = json.dumps({"headers": {"X-User": header, "X-B": "b"}, "body": {"q": "{{prompt}}"},
                         "transformResponse": "json.a"})  # fmt: skip
    found = read(
        f"""\
prompts: ["{{{{q}}}}"]
providers: [{{id: "http://127.0.0.1:8000/chat", config: {config}}}]
tests: [{{vars: {{q: a, user: {{id: b}}}}, assert: [{{type: contains, value: b}}]}}]
""",
    )
    kept = {} if written is None else {"X-User": written}
    assert found.scenario["target"]["headers"] == {**kept, "X-B": "b"}
    lost = [f"{what}" for _, what in found.notes]
    assert ["header X-User" in one and "the same for all rows" in one for one in lost] == [True] * (
        written is None
    )


def test_an_assert_that_every_test_has_may_be_a_metric(read: Read) -> None:
    """[E22] With one threshold; here it measures every row."""
    found = read(
        WHOLE
        + """\
  - {vars: {question: a}, assert: [{type: similar, value: x, threshold: 0.8}]}
  - {vars: {question: b}, assert: [{type: similar, value: y, threshold: 0.8}]}
""",
    )
    assert [row["references"] for row in found.rows] == [["x"], ["y"]]
    assert found.scenario["thresholds"] == {"semantic_similarity": 0.8}
    assert found.scenario["embedding"] == {"model": "text-embedding-3-large"}


def test_what_an_assert_says_besides_is_listed(read: Read) -> None:
    """[E22] Its threshold, weight, grader and name; but not what is used."""
    found = read(
        WHOLE
        + """\
  - vars: {question: a}
    assert:
      - {type: llm-rubric, value: x, threshold: 0.7, weight: 2, provider: openai:gpt-4o, metric: m}
      - {type: latency, threshold: 900, weight: 2}
      - {type: contains, value: b, weight: 3, description: d}
""",
    )
    assert [loss.partition(": ")[2].partition(":")[0] for _, loss in found.notes] == [
        *("threshold", "weight", "provider", "metric"),
    ]
    assert found.rows[0]["answer_checks"] == [
        {"max_latency_s": 0.9, "weight": 2.0},
        {"contains": "b", "weight": 3.0},
    ]


def test_a_python_provider_is_a_function_that_asks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E22] The import does not run it; the function that is written does, as promptfoo would."""
    monkeypatch.setenv("API_KEY", "of the environment")
    provider = """\
async def call_api(prompt, options, context):
    return {"output": f"{prompt} {options['config']} {context['vars']}"}
"""
    found = imported(
        tmp_path,
        """\
prompts: ["Q: {{question}} ({{lang}})"]
providers: [{id: "file://ask.py", label: My RAG, config: {k: 3, apiKey: sk-1}}, python:gone.py]
tests: [{vars: {question: How?, lang: en}, assert: [{type: contains, value: b}]}]
""",
        ask__py="raise SystemExit('never run by the import')",
    )
    assert found.scenario["target"] == {"use": "bot_target:my_rag"}
    assert [loss for _, loss in found.notes] == [
        "secret apiKey: is not copied; put it into the environment variable API_KEY",
        "provider 'python:gone.py': there is no file gone.py in its folder",
    ]
    (tmp_path / "ask.py").write_text(provider, encoding="utf-8")
    module: dict[str, Any] = {"__file__": str(tmp_path / "bot_target.py")}
    exec(found.module, module)
    answer = module["my_rag"](Sample("s", question="How?", metadata={"vars": {"lang": "en"}}))
    config = "{'k': 3, 'apiKey': 'of the environment'}"
    assert answer == f"Q: How? (en) {config} {{'lang': 'en', 'question': 'How?'}}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *[("en", "en"), ("", ""), ("None", "None"), ("问", "问"), (3, "3"), (0, "0"), (4.5, "4.5")],
        *[(True, "true"), (None, ""), (4.0, "4"), (["a", 1], "a,1"), ({"a": "é"}, '{"a":"é"}')],
        *[
            (0.00001, "0.00001"),
            (-2.5e-7, "-2.5e-7"),
            (-0.0, "0"),
            (1.5e20, "150000000000000000000"),
        ],
        *[({"a": [1.0, {}]}, '{"a":[1,{}]}'), ([{"a": 0.00005}], '[{"a":0.00005}]')],
        *[(1e22, "1e+22"), (date(2024, 1, 1), "2024-01-01"), ([date(2024, 1, 1)], "2024-01-01")],
    ],
)
def test_a_python_provider_is_shown_variables_as_promptfoo_writes_them(
    tmp_path: Path, value: object, shown: str
) -> None:
    """[E22] And is given them as they are; no variable is the question here."""
    found = imported(
        tmp_path,
        """\
prompts: ["{{topic}}: {{lang}}"]
providers: [file://ask.py]
tests: [{vars: {topic: How, lang: en}, assert: [{type: python, value: "True"}]}]
""",
        ask__py="def call_api(prompt, options, context):\n"
        "    return {'output': [prompt, [*context['vars']]]}\n",
    )
    module: dict[str, Any] = {"__file__": str(tmp_path / "bot_target.py")}
    exec(found.module, module)
    variables = {"topic": "How", "lang": value}
    answer = module["ask_py"](Sample("s", metadata={"vars": variables}))
    assert json.loads(answer) == [f"How: {shown}", [*variables]]
    body = re.sub("raise NotImplementedError.*", "return len(context['vars']) == 2", found.scripts)
    exec(body, module)
    assert module["python_1"](
        Sample("s", metadata={"vars": variables, "scripts": ["python_1"]})
    ).value


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        *[("", ""), (0, "0"), ([], "[]"), ({"a": [1, 2.0]}, '{"a":[1,2]}')],
        *[(None, RuntimeError), (slice(1), TypeError), ([{"a": slice(1)}], TypeError)],
    ],
)
def test_a_python_provider_without_an_output_gives_no_answer(
    tmp_path: Path, output: object, answer: str | type[Exception]
) -> None:
    """The answer "null", or an object's repr, passed ``not-contains``; it is an error there."""
    found = imported(
        tmp_path,
        "prompts: ['{{q}}']\nproviders: [file://ask.py]\n"
        "tests: [{vars: {q: a}, assert: [{type: not-contains, value: b}]}]\n",
        ask__py=f"def call_api(prompt, options, context):\n    return {{'output': {output!r}}}\n",
    )
    module: dict[str, Any] = {"__file__": str(tmp_path / "bot_target.py")}
    exec(found.module, module)
    if not isinstance(answer, str):
        with pytest.raises(answer, match="the provider gave no output|is not JSON serializable"):
            module["ask_py"](Sample("s", question="a"))
    else:
        assert module["ask_py"](Sample("s", question="a")) == answer


def test_a_provider_may_be_called_as_what_its_module_uses(tmp_path: Path) -> None:
    """The function json came in place of the module."""
    found = imported(
        tmp_path,
        """\
prompts: ["{{topic}}: {{n}}"]
providers: [{id: file://ask.py, label: json}, {id: file://ask.py, label: str}]
tests: [{vars: {topic: How, n: 1}, assert: [{type: contains, value: a}]}]
""",
        ask__py="def call_api(prompt, options, context):\n    return {'output': prompt}\n",
    )
    module: dict[str, Any] = {"__file__": str(tmp_path / "bot_target.py")}
    exec(found.module, module)
    assert [*found.scenario["variants"]] == ["json", "str"]
    for variant in found.scenario["variants"].values():
        asked = module[variant["target"]["use"].partition(":")[2]]
        assert asked(Sample("s", metadata={"vars": {"topic": "How", "n": 1}})) == "How: 1"


def test_a_configuration_may_be_json(tmp_path: Path) -> None:
    """[E22] With tabs, which YAML has no place for."""
    data = {
        "prompts": ["{{q}}"],
        "providers": ["openai:gpt-4o"],
        "tests": [{"vars": {"q": "a"}, "assert": [{"type": "is-json"}]}],
    }
    path = tmp_path / "bot.json"
    path.write_text(json.dumps(data, indent="\t"), encoding="utf-8")
    assert import_promptfoo(path).rows[0]["answer_checks"] == [{"is-json": True}]


def test_a_metric_with_two_thresholds_is_not_taken(read: Read) -> None:
    """[E22] One of them would be too low."""
    found = read(
        WHOLE
        + """\
  - {vars: {question: a}, assert: [{type: is-json}, {type: similar, value: x, threshold: 0.8}]}
  - {vars: {question: b}, assert: [{type: is-json}, {type: similar, value: y, threshold: 0.9}]}
""",
    )
    assert found.scenario["metrics"] == ["answer_checks"]
    assert [where for where, _ in found.notes] == ["bot.yaml:5, 6"]


def test_a_variable_that_code_makes_is_not_read_as_a_text(read: Read) -> None:
    """[E22] Its test is left out and listed; a file of text is read."""
    found = read(
        WHOLE
        + """\
  - {vars: {question: file://make.py}, assert: [{type: is-json}]}
  - {vars: {question: file://ask.txt}, assert: [{type: is-json}]}
""",
        make__py="raise SystemExit",
        ask__txt="How?",
    )
    assert [row["question"] for row in found.rows] == ["How?"]
    assert found.notes == [
        (
            "bot.yaml:5",
            "test: its variables cannot be read: make.py is code, which is not run",
        )
    ]


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("[{vars: {question: a}}]", "it has no asserts; without any, every answer would pass"),
        (
            "[{vars: {question: a}, assert: [{type: ruby, value: x}]}]",
            "none of its asserts could be taken",
        ),
        ("tests.js", "it has no tests that could be taken"),
        ("[{vars: {question: a}, options: {transform: x}, assert: [{type: is-json}]}]", "none of"),
    ],
)
def test_a_file_of_which_nothing_checks_is_refused(read: Read, tests: str, reason: str) -> None:
    """[E22] Its scenario would always be green."""
    with pytest.raises(ScenarioError, match=reason) as caught:
        read(f"{WHOLE.rstrip()} {tests}\n")
    assert caught.value.problems[0].where == "bot.yaml"


def test_another_file_is_no_configuration(read: Read) -> None:
    """[E22]"""
    with pytest.raises(ScenarioError, match="no promptfoo configuration: it needs 'tests'"):
        read("name: x\nmetrics: [f1]\n")


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [(0.5, 0.5, True), (0.5, 0.6, False), (0.5, None, False)],
)
def test_a_threshold_of_all_tests_is_that_of_the_checks(
    read: Read, first: Any, second: Any, taken: bool
) -> None:
    """[E22] Others are listed, and all checks have to hold."""
    tests = [
        {"vars": {"question": "a"}, "assert": [{"type": "contains", "value": "b"}], "threshold": t}
        for t in (first, second)
    ]
    found = read(f"{WHOLE.rstrip()} {json.dumps(tests)}\n")
    assert found.scenario["thresholds"] == {"answer_checks": 0.5 if taken else 1.0}
    assert bool(found.notes) is not taken


def test_keys_without_a_counterpart_are_listed_with_their_lines(read: Read) -> None:
    """[E22] Nothing is dropped in silence."""
    found = read(
        "redteam: {purpose: x}\nassert: [{type: contains, value: a}]\n"
        + WHOLE
        + "  - {vars: {question: a}, provider: openai:gpt-4, assert: [{type: is-json}]}\n",
    )
    assert [where for where, _ in found.notes] == ["bot.yaml:2", "bot.yaml:1", "bot.yaml:7"]


def test_the_text_of_the_scenario_reads_back_as_the_same(tmp_path: Path) -> None:
    """[E22] Whatever a prompt holds; and no value can end a comment."""
    scenario = {
        "name": "x: #1",
        "target": {"model": "m", "prompt": "a\n  b: c\n\n# d\ttab \n", "body": {"k": [1, None]}},
        "variants": {"a b": {"target": {"system": " begins with a blank\nx", "n": 1.5}}},
        "thresholds": {"answer_checks": 1.0},
    }
    found = Imported(scenario, [{"id": "a"}], 1, [("f:1", "lost\rname: evil\n")])
    text = scenario_text(found, "bot.yaml", "pytest x")
    assert parse_yaml(text, "").data == scenario
    assert "# - f:1: lost name: evil" in text


def test_a_file_with_a_name_that_none_can_have_is_not_there(read: Read) -> None:
    """[X7] A text of 400 letters after file://."""
    named = f"{{q: 'file://{'y' * 400}'}}"
    text = WHOLE + f"  - {{vars: {named}, assert: [{{type: equals, value: x}}]}}\n"
    with pytest.raises(ScenarioError, match="there is no file"):
        read(text)
