"""E22: what a promptfoo configuration asks for is taken as it is meant, or listed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from promptfoo_files import Read

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.written_files import scenario_text

ASKED = 'prompts: ["{{question}}"]\nproviders: [openai:chat:gpt-4o-mini]\n'
ONE = "tests: [{vars: {question: q}, assert: [{type: contains, value: a}]}]\n"


def checks(rows: Any) -> list[Any]:
    return [row.get("answer_checks") for row in rows]


def test_what_stands_after_the_colon_of_a_cell_is_trimmed(read: Read) -> None:
    """[E22] As promptfoo does; ``not-contains`` with a blank before it would always hold."""
    table = """\
question,__expected
a,not-contains: sorry
b, not-regex: ^sorry
c,not-equals: no
d,"not-contains-any: x , y"
e,"contains-all:"
f,grade
"""
    found = read(f"{ASKED}tests: t.csv\n", t__csv=table)
    assert checks(found.rows) == [
        [{"not-contains": "sorry"}],
        [{"not-regex": "^sorry"}],
        [{"not-equals": "no"}],
        [{"not-contains-any": ["x", "y"]}],
        None,
        [{"equals": "grade"}],
    ]
    assert [where for where, _ in found.notes] == ["t.csv:6"]


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ("similar, value: one, threshold: 0.9", "similar, value: two, threshold: 0.1", None),
        ("similar, value: one, threshold: 0.9", "similar, value: one, threshold: 0.1", 0.9),
        ("answer-relevance, threshold: 0.4", "answer-relevance, threshold: 0.9", 0.9),
    ],
)
def test_two_asserts_of_one_metric_are_the_stricter_one_or_listed(
    read: Read, first: str, second: str, taken: float | None
) -> None:
    """[E22] The last one does not replace the others."""
    found = read(
        f"""\
{ASKED}tests:
  - vars: {{question: a}}
    assert:
      - {{type: is-json}}
      - {{type: {first}}}
      - {{type: {second}}}
""",
    )
    thresholds = dict(found.scenario["thresholds"])
    assert thresholds.pop("answer_checks") == 1.0
    assert list(thresholds.values()) == ([] if taken is None else [taken])
    assert [where for where, _ in found.notes] == (["bot.yaml:7, 8"] if taken is None else [])


def test_a_provider_names_prompts_by_their_group_label_or_file(read: Read) -> None:
    """[E22] A name of no prompt is listed, and so is the provider then."""
    found = read(
        """\
prompts: [{label: p1, raw: "A {{q}}"}, {label: "grp:p2", raw: "B {{q}}"}, file://p3.txt]
providers:
  - {id: openai:gpt-4o, prompts: [p1, nope]}
  - {id: openai:gpt-4.1, prompts: [grp]}
  - {id: openai:gpt-5, prompts: ["grp:*"]}
  - {id: openai:o3, prompts: [p3.txt]}
  - {id: openai:o4, prompts: [none]}
tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]
""",
        p3__txt="C {{q}}",
    )
    shown = {name: one["target"]["prompt"] for name, one in found.scenario["variants"].items()}
    assert shown == {
        "gpt-4o": "A {question}",
        "gpt-4-1": "B {question}",
        "gpt-5": "B {question}",
        "o3": "C {question}",
    }
    assert found.notes == [
        ("bot.yaml:3", "provider 'gpt-4o': prompts: no prompt that was taken is called 'nope'"),
        ("bot.yaml:7", "provider 'o4': prompts: no prompt that was taken is called 'none'"),
    ]


def test_the_configs_of_a_scenario_without_tests_are_tests(read: Read) -> None:
    """[E22] One without configs runs nothing there, which is listed; unknown keys are, too."""
    found = read(
        ASKED
        + """\
scenarios:
  - config: [{vars: {question: q1}, assert: [{type: contains, value: a}], provider: x}]
  - tests: [{vars: {question: q2}, assert: [{type: contains, value: b}]}]
  - {config: [{vars: {question: q3}}], tests: []}
""",
    )
    assert checks(found.rows) == [[{"contains": "a"}]]
    assert [where for where, _ in found.notes] == ["bot.yaml:4", "bot.yaml:5"]
    assert "scenario: config: provider" in found.notes[0][1]


def test_sets_and_shared_keys_that_are_not_read_are_listed(read: Read) -> None:
    """[E22] With their lines; also a set in a set, which promptfoo does not know."""
    found = read(
        ASKED
        + """\
defaultTest:
  asserts: [{type: contains, value: lost}]
  assertScoringFunction: file://x.js
  metadata: {team: a}
tests:
  - vars: {question: q0}
    assert:
      - {type: contains, value: a}
      - {type: assert-set, asserts: [{type: contains, value: lost}]}
      - {type: assert-set, threshold: 0.5, assert: [{type: contains, value: lost}]}
      - {type: assert-set, assert: []}
      - {type: assert-set, metric: m, assert: [{type: contains, value: b}]}
      - type: assert-set
        assert:
          - {type: assert-set, assert: [{type: contains, value: lost}]}
""",
    )
    assert checks(found.rows) == [[{"contains": "a"}, {"contains": "b"}]]
    assert found.rows[0]["metadata"] == {"team": "a"}
    assert [where for where, _ in found.notes] == [
        *(f"bot.yaml:{line}" for line in (5, 4, 11, 12, 13, 14, 17)),
    ]


def test_answers_and_metadata_that_cannot_be_taken_are_listed(read: Read) -> None:
    """Answers are taken where all tests have one: else a target would answer some of them."""
    found = read(
        ASKED
        + """\
tests:
  - {vars: {question: q0}, providerOutput: yes, assert: [{type: contains, value: a}]}
  - {vars: {question: q1}, metadata: red, assert: [{type: contains, value: a}]}
""",
    )
    assert [row.get("answer") for row in found.rows] == [None, None]
    assert found.notes == [
        ("bot.yaml:5", "metadata: is no mapping: 'red'"),
        ("bot.yaml:4", "providerOutput: others have none; all are asked"),
    ]


@pytest.mark.parametrize("given", ["[{vars: {question: x}}]", "text.yaml"])
def test_a_default_test_that_is_no_mapping_is_listed(read: Read, given: str) -> None:
    """[E22] In the file or in one of its own."""
    found = read(f"{ASKED}defaultTest: {given}\n{ONE}", text__yaml="- a\n")
    assert [what.partition(":")[0] for _, what in found.notes] == ["defaultTest"]


def test_a_set_is_one_part_of_a_score(read: Read) -> None:
    """[E22] Its asserts share its weight, where a threshold of the test decides.

    By hand: with weight 0.3 and parts 1, 2 and 0 (which decides nothing) they are 0.1 and 0.2.
    """
    text = """\
tests:
  - vars: {question: a}
    threshold: 0.5
    assert:
      - {type: contains, value: must}
      - type: assert-set
        weight: 0.3
        assert:
          - {type: contains, value: x}
          - {type: contains, value: y, weight: 2}
"""
    found = read(ASKED + text)
    assert [one["answer_checks"] for one in found.rows] == [
        [
            {"contains": "must"},
            {"contains": "x", "weight": pytest.approx(0.1)},
            {"contains": "y", "weight": pytest.approx(0.2)},
        ]
    ]
    assert found.scenario["thresholds"] == {"answer_checks": 0.5}
    # Without a threshold all of them have to hold, and weights mean nothing.
    whole = read(ASKED + text.replace("    threshold: 0.5\n", ""))
    assert whole.rows[0]["answer_checks"][1] == {"contains": "x"}
    # What is lost of a score is not made up for by the rest.
    lost = read(ASKED + text.replace("value: y", "value: y, threshold: 1, x: 1"))
    assert lost.scenario["thresholds"] == {"answer_checks": 1.0}
    assert [what.split(":")[0] for _, what in lost.notes] == ["assert contains", "threshold"]
    other = "  - {vars: {question: b}, threshold: 0.5, assert: [{type: similar, value: c}]}\n"
    measured = read(ASKED + text + other)
    assert measured.scenario["thresholds"] == {"answer_checks": 1.0}


@pytest.mark.parametrize(
    ("prompts", "what"),
    [('["A {{q}}", "B {{q}}"]', "2 prompts"), ("[file://chat.json]", "the messages of a chat")],
)
def test_an_echo_of_more_than_one_text_is_listed(read: Read, prompts: str, what: str) -> None:
    """[E22] A row has one answer; until something can be asked, the import says so."""
    found = read(
        f"prompts: {prompts}\nproviders: [echo]\n"
        "tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]\n",
        chat__json='[{"role": "system", "content": "x"}, {"role": "user", "content": "{{q}}"}]',
    )
    assert "answer" not in found.rows[0]
    ((where, said),) = found.notes
    assert (where, said.partition(";")[0]) == ("bot.yaml:2", f"provider 'echo': gives back {what}")
    assert found.remarks == ["nothing can be asked yet: give the scenario a 'target'"]


@pytest.mark.parametrize(
    ("variables", "questions"),
    [
        ("{lang: [en, fr], question: 'In {{lang}}'}", ["In en", "In fr"]),
        ("{name: Bob, question: ['Hi {{name}}', 'Bye {{name}}']}", ["Hi Bob", "Bye Bob"]),
        ("{question: '{{b}}', b: '{{c}}', c: deep}", ["deep"]),
        ("{question: 'file://v*.txt'}", ["one", "two"]),
        ("{question: 'file://v*.yaml'}", ['{"a":1}', '["b"]']),
        ("{question: [file://v1.txt, other]}", ["one", "other"]),
        # Only a list whose first part is a text makes several tests there.
        ("{question: [1, 2]}", ["1,2"]),
        ("{question: 'a {{question}}'}", ["a " * 32 + "{{question}}"]),
    ],
)
def test_variables_are_filled_in_for_each_of_their_values(
    read: Read, variables: str, questions: list[str]
) -> None:
    """[E22] Lists and patterns of files make a test of each value, as in promptfoo."""
    found = read(
        f"{ASKED}tests: [{{vars: {variables}, assert: [{{type: contains, value: a}}]}}]\n",
        v1__txt="one\n",
        v2__txt="two",
        v1__yaml="a: 1\n",
        v2__yaml="- b\n",
    )
    assert [row["question"] for row in found.rows] == questions
    assert found.notes == []


@pytest.mark.full
def test_variables_that_grow_without_end_stay_as_they_are(read: Read) -> None:
    """[E22] They do not fill the memory."""
    grown = {f"v{at}": f"{{{{v{at + 1}}}}}" * 99 for at in range(6)}
    tests = [{"vars": {"question": "q", **grown, "v6": "y" * 99}, "assert": [{"type": "is-json"}]}]
    found = read(f"{ASKED}tests: {json.dumps(tests)}\n")
    assert max(len(value) for value in found.rows[0]["vars"].values()) < 2**23


@pytest.mark.parametrize(
    ("table", "where", "what"),
    [
        ("question,__expected\na,contains-all: x,y\n", "t.csv:2", "quote a cell that has commas"),
        ("question,__expected\na\n", "t.csv:2", "has 1 cells, the header 2"),
        ("question,__expected,__expected\na,b,c\n", "bot.yaml:3", "twice: '__expected'"),
        ("question;__expected\na;b\n", "bot.yaml:3", "separated by ';'; write it with commas"),
        ('question,__expected\na,"b\nc,d\n', "bot.yaml:3", "not readable as CSV"),
    ],
)
def test_a_table_that_is_not_whole_is_listed(read: Read, table: str, where: str, what: str) -> None:
    """[E22] A row is not shifted or cut, a column not replaced by another."""
    tests = "[{vars: {question: z}, assert: [{type: is-json}]}, t.csv]"
    found = read(f"{ASKED}tests: {tests}\n", t__csv=table)
    assert [row["question"] for row in found.rows] == ["z"]
    assert [(place, what in said) for place, said in found.notes] == [(where, True)]


def test_a_row_that_keeps_only_shared_checks_is_listed(read: Read) -> None:
    """[E22] It may become green for nothing; the other rows are not."""
    found = read(
        ASKED
        + """\
defaultTest: {assert: [{type: not-contains, value: sorry}]}
tests:
  - {vars: {question: a}, assert: [{type: contains, value: b}]}
  - {vars: {question: c}, assert: [{type: ruby, value: x}]}
  - {vars: {question: d}, assert: [{type: assert-set, threshold: 1, assert: [{type: is-json}]}]}
  - {vars: {question: e}}
""",
    )
    said = "test: keeps only the checks of defaultTest"
    assert [where for where, what in found.notes if what == said] == ["bot.yaml:6, 7"]
    assert (
        "2 rows keep only the checks of defaultTest, and may be green for nothing; see below"
        in found.remarks
    )


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("Support bot - fees & terms", "support-bot-fees-terms"),
        ("support bot " * 5 + "fees", "support-bot-" * 4 + "support-bot"),
        ("退款 助手", "退款-助手"),
        ("!", None),
        ("x" * 99, "x" * 60),
    ],
)
def test_the_name_is_the_description_or_the_folders(
    read: Read, description: str, name: str | None
) -> None:
    """[E22]"""
    text = f"description: {json.dumps(description)}\n{ASKED}{ONE}"
    assert read(text).scenario["name"] == (name or "bot")


def test_values_in_files_end_without_a_line_end(read: Read) -> None:
    """[E22] As in promptfoo; ``not-contains`` of a text with one would always hold."""
    found = read(
        ASKED
        + """\
tests:
  - vars: {question: a, gold: "x\\n"}
    assert:
      - {type: not-contains, value: file://bad.txt}
      - {type: not-contains, value: "{{gold}}"}
""",
        bad__txt="sorry\n",
    )
    assert checks(found.rows) == [[{"not-contains": "sorry"}, {"not-contains": "x"}]]


def test_a_file_whose_sets_are_all_lost_is_refused_with_their_lines(read: Read) -> None:
    """[E22] It does have asserts."""
    tests = "[{vars: {question: a}, assert: [{type: assert-set, asserts: []}]}]"
    with pytest.raises(ScenarioError) as found:
        read(f"{ASKED}tests: {tests}\n")
    assert "none of its asserts could be taken" in str(found.value)
    assert "bot.yaml:3: assert-set: its asserts has no counterpart here" in str(found.value)


@pytest.mark.parametrize(
    ("default", "models", "lost"),
    [
        ("{options: {provider: openai:embedding:small}}", ("gpt-4.1-2025-04-14", "small"), []),
        ("{options: {provider: {openai:chat:g5: {}}}}", ("g5", "text-embedding-3-large"), []),
        ("file://d.yaml", ("g6", "e6"), ["d.yaml:5: options.provider.moderation"]),
        (
            "{options: {provider: 'https://u:pw@h.test/x?k=pw'}}",
            (None, "text-embedding-3-large"),
            ["bot.yaml:3: judge https://h.test/x"],
        ),
    ],
)
def test_the_graders_of_all_tests_are_taken(
    read: Read, default: str, models: tuple[str | None, str], lost: list[str]
) -> None:
    """[E22] However they are written, and from the file of defaultTest, too."""
    asserts = "[{type: llm-rubric, value: a}, {type: similar, value: b, threshold: 0.8}]"
    found = read(
        f"{ASKED}defaultTest: {default}\ntests: [{{vars: {{question: q}}, assert: {asserts}}}]\n",
        d__yaml="""\
options:
  provider:
    text: openai:g6
    embedding: {id: "openai:embeddings:e6"}
    moderation: x
""",
    )
    judge = found.scenario.get("judge", {}).get("model")  # without one, the scenario asks for it
    assert (judge, found.scenario["embedding"]["model"]) == models
    assert [f"{where}: {what}".rpartition(": ")[0] for where, what in found.notes] == lost


def test_only_a_text_file_is_several_prompts(read: Read) -> None:
    """[E22] Lines of Markdown separate none; tables of prompts and keys of one are listed.

    So is one prompt of a file that cannot be taken, alone; the others keep their numbers.
    """
    found = read(
        """\
prompts:
  - file://two.txt
  - {id: file://one.md, config: {max_tokens: 1}}
  - file://table.csv
  - rows.jsonl
  - more/*
providers: [openai:gpt-4o]
tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]
""",
        two__txt="A {{q}}\n---\n{% if q %}X{% endif %}\n---\nB {{q}}\n",
        one__md="C\n---\n{{q}}\n",
        table__csv="prompt\nD {{q}}\n",
        rows__jsonl='{"prompt": "E {{q}}"}\n',
    )
    shown = [one["target"]["prompt"] for one in found.scenario["variants"].values()]
    assert shown == ["A {question}", "B {question}", "C\n---\n{question}"]
    assert [name.rpartition("-")[2] for name in found.scenario["variants"]] == ["1", "3", "4"]
    assert [where for where, _ in found.notes] == [f"bot.yaml:{line}" for line in range(2, 7)]
    assert found.notes[0][1].startswith("prompt '{% if q %}X{% endif %}': {% if q %} is more than")


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        ("file://more.yaml", "is a file of providers, which is not read"),
        ("file://ask.js", "runs code"),
        ("openai:embedding:small", "is none that can be asked here"),
        ("ollama:embeddings:small", "is none that can be asked here"),
        ("openai:chatkit:wf_1", "is none that can be asked here"),
        ({"openai:m": {"config": {"baseURL": "{{env.X}}"}}}, "its baseURL is made of variables"),
        ({"openai:m": {"config": {"apiHost": "{{env.X}}"}}}, "its apiHost is made of variables"),
        ({"https": {"config": {"method": "POST"}}}, "its config has no url"),
        (
            {"https": {"config": {"url": "/chat?to=http://a.org"}}},
            "its url begins neither with http://",
        ),
        ({"https": {"config": {"url": "{{env.API_URL}}/chat?q={{q}}"}}}, None),
        ({"https": {"config": {"url": "{{env.F}}?code=Zx9Q"}}}, "its url begins neither with"),
    ],
)
def test_a_provider_that_cannot_be_asked_is_listed_with_what_is_wrong(
    read: Read, provider: Any, why: str | None
) -> None:
    given = json.dumps([provider, "openai:g"])
    found = read(f'prompts: ["{{{{q}}}}"]\nproviders: {given}\n{ONE}')
    notes = [said.partition(": ")[2] for _, said in found.notes if "no transformR" not in said]
    assert [note[: len(why or "")] for note in notes] == ([why] if why else [])
    assert ("${API_URL}/chat?q={metadata.vars.q}" in json.dumps(found.scenario)) is (why is None)


@pytest.mark.parametrize(
    ("provider", "output", "lost"),
    [
        ({"id": "echo", "transform": "output.trim()"}, "", ["transform"]),
        ({"id": "echo", "config": {"prefix": "x"}, "label": "e"}, "", ["prefix"]),
        ({"id": "openai:g", "transform": "output.trim()"}, "providerOutput: a, ", ["transform"]),
        ({"openai:g": {"config": {"top_p": 1}, "delay": 9}}, "providerOutput: a, ", ["delay"]),
    ],
)
def test_keys_of_a_provider_that_is_not_asked_are_listed(
    read: Read, provider: Any, output: str, lost: list[str]
) -> None:
    """A ``transform`` changes a recorded answer, too."""
    text = ONE.replace("{vars", "{" + output + "vars")
    found = read(f'prompts: ["{{{{q}}}}"]\nproviders: [{json.dumps(provider)}]\n{text}')
    assert "answer" in found.rows[0]
    name = provider.get("id", "openai:g")
    said = [f"provider '{name}': {key}: has no counterpart here" for key in lost]
    assert [what for _, what in found.notes] == said


def test_options_and_files_of_tests_lose_nothing_in_silence(read: Read) -> None:
    """Options that are no mapping, and what is handed to a file of tests."""
    test = "{vars: {question: q}, options: x, assert: [{type: contains, value: a}]}"
    found = read(
        f"{ASKED}tests: [{test}, {{path: t.jsonl, config: {{n: 2}}}}]\n",
        t__jsonl='{"vars": {"question": "r"}, "assert": [{"type": "contains", "value": "a"}]}\n',
    )
    assert len(found.rows) == 2
    assert found.notes == [
        ("bot.yaml:3", "options: is no mapping: 'x'"),
        ("bot.yaml:3", "tests: config: has no counterpart here"),
    ]


def test_a_weight_that_counts_for_nothing_is_listed(read: Read) -> None:
    """The run would refuse the row: here, all asserts of such a test have to hold."""
    tiny = "{type: contains, value: a}, {type: contains, value: b, weight: 1.0e-9}"
    found = read(f"{ASKED}tests: [{{vars: {{question: q}}, threshold: 0.5, assert: [{tiny}]}}]\n")
    assert checks(found.rows) == [[{"contains": "a"}, {"contains": "b"}]]
    assert found.scenario["thresholds"] == {"answer_checks": 1.0}
    assert [said.partition(";")[0] for _, said in found.notes] == [
        "test: asserts: a weight of 1e-09 of 1 counts for nothing",
        "threshold: 0.5 is not taken: all checks of the test have to hold",
    ]


def test_keys_of_a_table_that_are_unknown_have_its_lines(read: Read) -> None:
    """[E22]"""
    table = "question,__expected,__prefix\na,b,Say\n"
    found = read(f"{ASKED}tests: t.csv\n", t__csv=table)
    assert found.notes == [("t.csv:2", "test: __prefix: has no counterpart here")]


@pytest.mark.parametrize(
    ("config", "lost"),
    [
        ({"headers": "X-A: b"}, ["headers: is no mapping of names to texts"]),
        ({"queryParams": [{"a": 1}]}, ["queryParams: is no mapping of names to texts"]),
        ({"body": {"q": 1}, "method": "get"}, ["body: is not sent with GET; write method: POST"]),
        ({"request": "POST / HTTP/1.1"}, ["request: has no counterpart here"]),
        (
            {"transformResponse": None},
            ["no transformResponse: of a JSON reply the field 'answer' is the answer here; there"],
        ),
        ({"headers": {"X-A": "b"}, "queryParams": {"a": 1}, "body": {"q": 1}}, []),
        ({"headers": None, "queryParams": {}, "body": None, "method": "GET"}, []),
        ({"headers": [], "body": "", "method": "GET"}, []),
        ({"body": "q=1", "method": "PUT"}, []),
        ({"body": [1]}, []),
    ],
)
def test_what_a_request_cannot_send_is_listed(
    read: Read, config: dict[str, Any], lost: list[str]
) -> None:
    """[E22] No part of a provider goes in silence."""
    config = {"transformResponse": "json.a", **config}
    provider = json.dumps({"id": "https://a.org/ask", "config": config})
    found = read(f'prompts: ["{{{{q}}}}"]\nproviders: [{provider}]\n{ONE}')
    said = [what.removeprefix("provider 'https://a.org/ask': ") for _, what in found.notes]
    assert [one[: len(part)] for one, part in zip(said, lost, strict=True)] == lost


@pytest.mark.parametrize(
    ("asked", "threshold", "why"),
    [
        ("type: similar, value: a, threshold: 0.8", 0.8, ""),
        ("type: similar, value: a", 0.75, ""),
        ("type: similar, value: a, threshold: 1", 1.0, ""),
        ("type: similar, value: a, threshold: '0.5'", 0.5, ""),
        ("type: answer-relevance, threshold: 1.0", 1.0, ""),
        ("type: similar, value: a, threshold: .nan", None, "no score reaches its threshold nan"),
        ("type: similar, value: a, threshold: 5", None, "no score reaches its threshold 5"),
        ("type: similar, value: a, threshold: .inf", None, "no score reaches its threshold inf"),
        ("type: similar, value: a, threshold: -.inf", None, "without a threshold it decides"),
        ("type: similar, value: a, threshold: x", None, "its threshold: expected a number"),
        ("type: latency", None, "its threshold: expected a number, found None"),
        ("type: latency, threshold: 0", None, "its threshold: expected milliseconds above 0"),
        ("type: latency, threshold: .nan", None, "its threshold: expected milliseconds above 0"),
    ],
)
def test_a_threshold_that_no_answer_reaches_is_listed(
    read: Read, asked: str, threshold: float | None, why: str
) -> None:
    """[E22] The scenario would be refused."""
    asserts = f"[{{type: contains, value: a}}, {{{asked}}}]"
    found = read(f"{ASKED}tests: [{{vars: {{question: q}}, assert: {asserts}}}]\n")
    thresholds = dict(found.scenario["thresholds"])
    assert thresholds.pop("answer_checks") == 1.0
    assert [*thresholds.values()] == ([] if threshold is None else [threshold])
    assert [why in what for _, what in found.notes] == ([] if threshold else [True])


def test_a_number_without_an_end_is_null_where_javascript_writes_json(read: Read) -> None:
    """[E22] In a text it is a word; the written module did not know the name inf."""
    found = read(
        """\
prompts: ["{{q}}"]
providers:
  - {id: "file://ask.py", label: p, config: {a: .inf, b: [-.inf, .nan, 1, x]}}
  - {id: "https://a.org/ask", label: h, config: {body: {t: .inf, u: 1.5, v: inf}}}
tests: [{vars: {q: .inf}, assert: [{type: equals, value: .inf}]}]
""",
        ask__py="",
    )
    assert "'ask.py', 'call_api', {'a': None, 'b': [None, None, 1, 'x']}" in found.module
    body = found.scenario["variants"]["h"]["target"]["body"]
    assert body == {"t": None, "u": 1.5, "v": "inf"}
    assert checks(found.rows) == [[{"equals": "Infinity"}]]


@pytest.mark.parametrize(
    ("test", "comments"),
    [
        (
            "assert: [{type: contains, value: a}, {type: llm-rubric, value: b}]",
            [
                "A row is a test. Its checks are under answer_checks and must_satisfy.",
                "answer_checks and must_satisfy: the share of a row's checks that hold.",
            ],
        ),
        (
            "assert: [{type: contains, value: a}]",
            [
                "A row is a test. Its checks are under answer_checks.",
                "answer_checks: the share of a row's checks that hold.",
            ],
        ),
        ("assert: [{type: similar, value: a}]", ["A row is a test."]),
    ],
)
def test_comments_are_true_of_the_scenario_that_is_written(
    read: Read, test: str, comments: list[str]
) -> None:
    """[E22] They named checks that no row had, and called each metric a share of checks."""
    found = read(f"{ASKED}tests: [{{vars: {{question: q}}, {test}}}]\n")
    lines = scenario_text(found, "bot.yaml", "pytest bot").splitlines()
    said = [line[2:] for line in lines if re.match("# (A row|answer|must|Each)", line)]
    assert said == comments
    assert "# A test passes when each of its scores reaches its threshold." in lines


def test_a_key_of_echo_is_listed_once(read: Read) -> None:
    """As not copied; it was also a key without a counterpart."""
    found = read(
        "prompts: ['{{q}}']\nproviders: [{id: echo, config: {apiKey: sk-1}}]\n"
        "tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]\n"
    )
    assert [what.split(";")[0] for _, what in found.notes] == [
        "provider 'echo': apiKey: is not copied"
    ]
