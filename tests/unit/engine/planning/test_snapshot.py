"""[A21, E10] The scenario as it ran, written down without what may be a secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from pytest_rageval.engine.plan import Plan

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
    }
    assert target_of({"use": "json:dumps", "options": options})["options"] == {
        "index": "postgres://db.test:5/x?a=b",
        "hosts": ["http://one.test/", "two@test"],
        "prompt": "Write to me: a@b.test",
    }
