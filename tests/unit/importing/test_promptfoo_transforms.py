"""K16: transforms of an output that a check does not see, or can say itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from promptfoo_files import Read, imported

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.importing.files import Folder
from pytest_rageval.importing.promptfoo_asserts import Measured, seen_through, take
from pytest_rageval.text.row_checks import checks_of

ASKED = 'prompts: ["{{question}}"]\nproviders: [openai:chat:gpt-4o-mini]\n'
TRIM, LOWER = "output.trim()", "output.toLowerCase()"


def check_of(kind: str, value: Any, transform: str) -> Any:
    folder = Folder(Path("nowhere"), Path("nowhere"))
    return seen_through(take({"type": kind, "value": value}, {}, folder), transform)


@pytest.mark.parametrize(
    ("kind", "value", "transform", "check"),
    [
        ("contains", "a b", TRIM, {"contains": "a b"}),
        ("not-icontains", "A", "return output?.trim().toLowerCase();", {"not-icontains": "A"}),
        ("contains-any", ["a", "b"], LOWER, {"icontains-any": ["a", "b"]}),
        ("is-json", None, TRIM, {"is-json": True}),
        ("regex", r"ACCT-\d{6}", TRIM, {"regex": r"(?a)ACCT-\d{6}"}),
        ("regex", "3[0-9] days", TRIM, {"regex": "3[0-9] days"}),
        ("llm-rubric", "is kind", TRIM, ["is kind"]),
    ],
)
def test_what_does_not_see_a_transform_is_taken(
    kind: str, value: Any, transform: str, check: Any
) -> None:
    """[K16] As it is, or without the case of letters."""
    assert check_of(kind, value, transform) == check


@pytest.mark.parametrize(
    ("kind", "value", "transform"),
    [
        ("contains", "a", "output.split('a')[0]"),
        ("contains", "a", "output.trim().length"),
        ("contains", "a", "file://t.js"),
        ("contains", " a", TRIM),
        ("contains", "A", LOWER),
        ("is-json", None, LOWER),
        ("regex", " b", TRIM),
        ("regex", "a? b", TRIM),
        ("regex", "b*(?!a)", TRIM),
        ("regex", "a b*", TRIM),
        ("regex", "a (b|c)", TRIM),
        ("regex", "^a|b$", TRIM),
        ("regex", r"a\s", TRIM),
        ("regex", "[^a]", TRIM),
        ("regex", "a", LOWER),
        ("llm-rubric", "is kind", LOWER),
    ],
)
def test_what_would_see_it_is_not_taken(kind: str, value: Any, transform: str) -> None:
    """[K16]"""
    with pytest.raises(NotTakenError, match=re.escape("changes the answer that it is about")):
        check_of(kind, value, transform)


def test_a_metric_sees_no_blanks_at_the_ends_but_the_case_of_letters() -> None:
    """[K16]"""
    metric = Measured("answer-relevance", 0.5)
    assert seen_through(metric, TRIM) is metric
    with pytest.raises(NotTakenError):
        seen_through(metric, LOWER)
    assert seen_through({"max_latency_s": 1}, "anything(output)") == {"max_latency_s": 1}


TEXTS = st.text("abA \n", max_size=4)
KINDS = ("contains", "icontains", "equals", "starts-with", "regex", "contains-all")
PATTERNS = st.lists(
    st.sampled_from(
        ["^", "a", "b*", "[ab]", "(a)", "|", "$", r"\w", r"\b", "A?", " ", ".", "a+", r"\s*"]
    ),
    min_size=1,
    max_size=5,
).map("".join)


@given(
    st.sampled_from(KINDS), st.booleans(), TEXTS | PATTERNS, TEXTS, st.sampled_from([TRIM, LOWER])
)
def test_a_check_before_a_transform_is_the_check_after_it(
    kind: str, is_not: bool, value: str, output: str, transform: str
) -> None:
    """[K16] Whatever is taken has the verdict that the assert has of the transformed output."""
    name = f"not-{kind}" if is_not else kind
    folder = Folder(Path("nowhere"), Path("nowhere"))
    try:
        check = take({"type": name, "value": value}, {}, folder)
        before = seen_through(check, transform)
    except NotTakenError:
        return
    after = output.strip() if transform == TRIM else output.lower()

    def passes(of: Any, text: str) -> bool | None:
        (only,) = checks_of([of])
        return only.passes(
            text,
            lambda pattern, searched, ignores: (
                re.search(pattern, searched, re.IGNORECASE if ignores else 0) is not None
            ),
        )

    assert passes(before, output) == passes(check, after), (before, after)


def test_a_transform_of_all_tests_loses_only_what_sees_it(read: Read) -> None:
    """[K16] Its own transform of an assert, too; what is lost is listed with its line."""
    tests = """\
defaultTest: {options: {transform: output.trim()}}
tests:
  - vars: {question: a}
    assert:
      - {type: equals, value: "Yes."}
      - {type: contains, value: x, transform: output.toLowerCase()}
      - {type: contains, value: y, transform: "output.slice(1)"}
  - vars: {question: b}
    options: {transform: "output.split('x')[0]"}
    assert: [{type: contains, value: z}]
"""
    found = read(ASKED + tests)
    assert found.rows[0]["answer_checks"] == [
        {"regex": r"\A\s*Yes\.\s*\Z"},
        {"icontains": "x"},
    ]
    assert "none could be taken" in found.rows[1]["skip"]
    assert [where for where, _ in found.notes] == ["bot.yaml:9", "bot.yaml:12"]


def test_scripts_under_a_transform_say_it(read: Read) -> None:
    """[K16] They are written by people, who see what the script was given."""
    test = {
        "vars": {"question": "a"},
        "options": {"transform": "f(output)"},
        "assert": [{"type": "not-javascript", "value": "output > 1\nexit()", "threshold": 0.5}],
    }
    found = read(f"{ASKED}tests: {json.dumps([test])}\n")
    assert found.rows[0]["scripts"] == ["javascript_1"]
    comment = found.scripts.partition("def javascript_1(output, context):\n")[2].splitlines()
    assert comment[:5] == [
        "    # options.transform: f(output)",
        "    # type: not-javascript",
        "    # threshold: 0.5",
        "    # output > 1",
        "    # exit()",
    ]
    assert found.scenario["metrics"] == [{"use": "bot_asserts:javascript_1", "needs": ["answer"]}]
    assert found.scenario["thresholds"] == {"weighted_score": 0.0}


def test_one_script_is_one_function_and_holds_no_key(read: Read) -> None:
    """[K16] Nothing in a script can end its comment."""
    key = "sk-" + "a1B2" * 8
    scripts = [f"call('{key}')\r\x0bimport os", "output", "output"]
    tests = [
        {"vars": {"question": "a"}, "assert": [{"type": "javascript", "value": script}]}
        for script in scripts
    ]
    found = read(f"{ASKED}tests: {json.dumps(tests)}\n")
    assert [row["scripts"] for row in found.rows] == [
        ["javascript_1"],
        ["javascript_2"],
        ["javascript_2"],
    ]
    assert key not in found.scripts
    assert "    # import os" in found.scripts
    compile(found.scripts, "bot_asserts.py", "exec")


def test_a_key_of_a_test_is_in_no_script(read: Read) -> None:
    """[K16] Neither a variable that is one, nor a grader's, in another test's script."""
    scripts = [
        {"type": "javascript", "value": "const apiKey = 'hid-8'; output == 'plainword123'"},
        {"type": "python", "value": "x", "provider": {"id": "a", "config": {"apiKey": "hid-9"}}},
    ]
    tests = [
        {"vars": {"question": "a", "password": "plainword123"}, "assert": scripts[:1]},
        {"vars": {"question": "b"}, "assert": scripts},
    ]
    found = read(f"{ASKED}tests: {json.dumps(tests)}\n")
    assert found.rows[1]["scripts"] == ["javascript_1", "python_1"]
    assert "plainword123" not in found.scripts
    assert "hid-" not in found.scripts
    assert "# const apiKey = '***'; output == '***'" in found.scripts


def test_a_script_may_be_a_function_of_a_file(read: Read) -> None:
    """[K16] Which one, its configuration and the whole file are in the comment."""
    test = {
        "vars": {"question": "a"},
        "assert": [{"type": "javascript", "value": "file://s.js:checks.one", "config": {"max": 3}}],
    }
    text = f"{ASKED}tests: {json.dumps([test])}\n"
    found = read(text, s__js="".join(f"line {at}\n" for at in range(130)))
    for line in ("value: file://s.js:checks.one", 'config: {"max": 3}', "line 99"):
        assert f"    # {line}\n" in found.scripts
    assert "    # ... and 30 more lines\n" in found.scripts


def test_a_script_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    """[K16]"""
    (tmp_path / "secret.js").write_text("PRIVATE", "utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    test = "{vars: {question: a}, assert: [{type: javascript, value: file://../secret.js}]}"
    with pytest.raises(ScenarioError, match="lies outside of"):
        imported(inner, f"{ASKED}tests: [{test}]\n")
