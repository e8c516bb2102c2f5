"""[A21, E10] The scenario as it ran, written down without what may be a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError

MakePlan = Callable[..., Plan]

BASE = "name: s\nmetrics: [f1]\ndataset: [{question: q, references: [x]}]\n"


@pytest.fixture
def target_of(plan: MakePlan) -> Callable[..., Any]:
    """Return a function from a target to what the snapshot shows of it."""

    def shown(target: dict[str, Any]) -> Any:
        text = f"{BASE}target: {yaml.safe_dump(target, default_flow_style=True, width=999)}"
        return yaml.safe_load(plan(text).info.snapshot)["target"]

    return shown


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2secret@h.test/ask?next=http://x",
        "http://user:hunter2secret@h.test/ask#http://x",
        "http://user:hunter2secret@h.test/ask",
        "http://h.test/ask?token=hunter2secret",
    ],
)
def test_of_a_url_is_shown_where_it_leads(url: str, target_of: Callable[..., Any]) -> None:
    pytest.importorskip("aiohttp")
    assert target_of({"type": "http", "url": url})["url"] == "http://h.test/ask"


def test_a_value_whose_name_sounds_secret_is_masked(target_of: Callable[..., Any]) -> None:
    """At any depth; a reference to the environment is none, and neither is a number."""
    options = {
        "api_key": "one", "signature": "two", "index": {"session": "three", "name": "main"},
        "token": "${TOKEN}", "key_env": "TOKEN", "max_tokens": 5,
    }  # fmt: skip
    shown = target_of({"use": "json:dumps", "options": options})["options"]
    assert shown == {
        "api_key": "***", "signature": "***", "index": {"session": "***", "name": "main"},
        "token": "${TOKEN}", "key_env": "TOKEN", "max_tokens": 5,
    }  # fmt: skip


def test_of_a_models_url_is_shown_where_it_leads(plan: MakePlan) -> None:
    judge = "{model: m, base_url: 'http://h.test/v1?key=hunter2secret&next=http://x'}"
    made = plan(f"{BASE.replace('question: q', 'answer: y')}judge: {judge}\n")
    assert yaml.safe_load(made.info.snapshot)["judge"]["base_url"] == "http://h.test/v1"


def test_an_option_that_is_a_url_is_shown_without_its_password(
    target_of: Callable[..., Any],
) -> None:
    """In a list, too; a text that only looks a little like one stays."""
    options = {
        "index": "postgres://user:hunter2secret@db.test:5/x?a=b",
        "hosts": ["http://user:hunter2secret@one.test/", "two@test"],
        "prompt": "Write to me: a@b.test",
        "dsn": "Server=db;Password=hunter2secret",
        "args": ["--token={question}", "--api-key=hunter2secret", "--lang=de"],
        "headers": ["Authorization: Bearer hunter2secret"],
    }
    shown = json.dumps(target_of({"use": "json:dumps", "options": options})["options"])
    # Four digits of a hash tell another password.
    assert json.loads(re.sub(r"\*#[0-9a-f]{4}\b", "*#", shown)) == {
        "index": "postgres://db.test:5/x?a=b",
        "hosts": ["http://one.test/", "two@test"],
        "prompt": "Write to me: a@b.test",
        "dsn": "Server=db;Password=***#",
        "args": ["--token={question}", "--api-key=***#", "--lang=de"],
        "headers": ["***#"],
    }
    other = options | {"dsn": "Server=db;Password=another"}
    assert json.dumps(target_of({"use": "json:dumps", "options": other})["options"]) != shown


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("empty_answer: null\n", {"empty_answer": None}),
        ("top_k: null\ntolerate: null\n", {"top_k": None, "tolerate": None, "stop": None}),
        ("judge: {model: m, temperature: null}\n", {"judge.temperature": None}),
        ("judge: {model: m, max_failures: null}\n", {"judge.max_failures": None}),
        ("judge: m\n", {"judge.temperature": 0.0, "judge.max_failures": 20}),
    ],
)
def test_null_is_a_value(plan: MakePlan, keys: str, expected: dict[str, Any]) -> None:
    """V9: without the key, another value would be taken; a model is not asked about ''."""
    text = f"{BASE.replace('question: q', 'answer: y')}{keys}"
    made = plan(text)
    shown = yaml.safe_load(made.info.snapshot)
    for path, value in expected.items():
        section, _, key = path.rpartition(".")
        found = shown[section] if section else shown
        assert (key in found, found[key]) == (True, value)
    again = plan(made.info.snapshot)
    assert (again.empty_answer, again.models) == (made.empty_answer, made.models)
    assert again.info.snapshot == made.info.snapshot


def test_what_null_and_absence_say_alike_is_no_section(plan: MakePlan) -> None:
    """A snapshot names all sections: one that is null asks no system, and gives no fields."""
    text = "name: s\nmetrics: [f1]\ndataset: [{question: q, references: [x]}]\n"
    with pytest.raises(ScenarioError) as absent:
        plan(text)
    with pytest.raises(ScenarioError) as null:
        plan(text + "target: null\njudge: null\n")
    assert str(null.value) == str(absent.value)
    judged = text.replace(
        "[f1]", "[{rubric: {prompt: 'Is {answer} right? {query} {context}'}}]"
    ).replace("question: q", "answer: y")
    with pytest.raises(ScenarioError, match="asks a model: name it under 'judge'"):
        plan(judged + "judge: null\n")


def test_a_variants_snapshot_stands_alone(plan: MakePlan, tmp_path: Path) -> None:
    """It has no variants, and so no 'best' that compares them: that alone was an error."""
    text = f"{BASE.replace('question: q', 'answer: y')}variants: {{a: {{}}, b: {{top_k: 3}}}}\n"
    (tmp_path / "s.yaml").write_text(f"{text}best: a\n", "utf-8")
    made = make_plan(tmp_path / "s.yaml", shown="s.yaml", variant="b")
    assert plan(made.info.snapshot).top_k == 3
