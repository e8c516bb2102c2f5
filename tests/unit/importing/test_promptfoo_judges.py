"""K16: who judges where, how variants are called, and how many are asked at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from promptfoo_files import Read

ASKED = 'prompts: ["{{question}}"]\nproviders: [openai:chat:gpt-4o-mini]\n'
LOCAL: dict[str, Any] = {"id": "openai:chat:q", "config": {"apiBaseUrl": "http://10.0.0.7/v1"}}
BY_HOST: dict[str, Any] = {"id": "openai:chat:q", "config": {"apiHost": "in.example.test"}}


def judged_by(own: Any, kind: str = "llm-rubric", **test: Any) -> str:
    """Return a test with a check and an assert that a grader of its own decides."""
    judged: dict[str, Any] = {"type": kind, "value": "kind", "threshold": 0.8}
    judged |= {} if own is None else {"provider": own}
    asserts = [{"type": "contains", "value": "a"}, judged]
    return f"tests: [{json.dumps({'vars': {'question': 'q'}, 'assert': asserts, **test})}]\n"


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        (LOCAL, "llm-rubric"),
        (BY_HOST, "factuality"),
        ("ollama:chat:q", "llm-rubric"),
        ("file://judge.js", "llm-rubric"),
        ({"text": LOCAL}, "g-eval"),
        ({"openai:chat:q": {"config": LOCAL["config"]}}, "llm-rubric"),
        ("huggingface:sentence-similarity:x", "similar"),
        ({"embedding": LOCAL}, "similar"),
    ],
)
def test_a_judge_on_another_server_is_neither_the_scenarios_nor_replaced(
    read: Read, own: Any, kind: str
) -> None:
    """[K16] Its assert is left out and listed: no text goes to a server that it did not name."""
    found = read(ASKED + judged_by(own, kind))
    assert found.scenario["metrics"] == ["answer_checks"]
    assert not {"judge", "embedding"} & found.scenario.keys()
    ((where, loss),) = found.notes
    assert where == "bot.yaml:3"
    assert f"assert {kind}: it is judged at " in loss
    assert "https://api.openai.com/v1" in loss


def test_a_judge_of_all_asserts_of_a_test_may_be_elsewhere_too(read: Read) -> None:
    """[K16] Under options of the test."""
    found = read(ASKED + judged_by(None, options={"provider": LOCAL}))
    assert found.scenario["metrics"] == ["answer_checks"]
    assert any("judged at http://10.0.0.7/v1" in loss for _, loss in found.notes)


def test_a_judge_on_the_server_of_all_is_taken(read: Read) -> None:
    """[K16] The shared one by its host, the assert's by its URL; its model is listed."""
    shared = json.dumps({"options": {"provider": BY_HOST}})
    own = {"id": "openai:r", "config": {"apiBaseUrl": "https://in.example.test/v1/"}}
    found = read(f"{ASKED}defaultTest: {shared}\n{judged_by(own)}")
    assert found.scenario["judge"] == {"model": "q", "base_url": "https://in.example.test/v1"}
    assert [loss.rpartition(": ")[0] for _, loss in found.notes] == [
        "assert llm-rubric: threshold",
        "assert llm-rubric: provider",
    ]


def test_variants_have_names_that_an_option_can_address(read: Read) -> None:
    """[K16] Each its own; the import says which is which."""
    providers = ["openai:gpt-4.1", "openai:gpt-4-1", "openai:gpt-4.1", {"id": "openai:x"}]
    providers[3] = {"id": "openai:x", "label": "gpt-4-1-2"}
    text = f'prompts: ["{{{{question}}}}"]\nproviders: {json.dumps(providers)}\n'
    test = "tests: [{vars: {question: q}, assert: [{type: contains, value: a}]}]\n"
    found = read(text + test)
    names = list(found.scenario["variants"])
    assert names == ["gpt-4-1", "gpt-4-1-2", "gpt-4-1-3", "gpt-4-1-2-2"]
    assert found.remarks == [
        "variants with names for --rag-set: gpt-4-1 (gpt-4.1), gpt-4-1-2 (gpt-4-1), "
        "gpt-4-1-3 (gpt-4.1), gpt-4-1-2-2 (gpt-4-1-2)"
    ]


def test_how_many_are_asked_at_once_is_taken(read: Read) -> None:
    """[K16] Of the target and of the judge; repeats and the rest are listed with the reason."""
    options = "evaluateOptions: {maxConcurrency: 3, repeat: 2, delay: 5, showProgressBar: false}\n"
    found = read(ASKED + options + judged_by(None))
    assert found.scenario["target"]["concurrency"] == 3
    assert found.scenario["judge"]["concurrency"] == 3
    assert [loss for _, loss in found.notes if "evaluateOptions" in loss] == [
        "evaluateOptions.repeat: each test is asked once; judge.repeats asks the judge alone again",
        "evaluateOptions.delay: has no counterpart here",
    ]


@pytest.mark.parametrize("count", [0, True, 5000, "many"])
def test_a_number_at_once_that_is_none_is_listed(read: Read, count: Any) -> None:
    """[K16]"""
    options = f"commandLineOptions: {json.dumps({'maxConcurrency': count, 'repeat': 1})}\n"
    found = read(ASKED + options + judged_by(None))
    assert "concurrency" not in found.scenario["target"]
    (loss,) = (loss for _, loss in found.notes if "commandLineOptions" in loss)
    assert loss == "commandLineOptions.maxConcurrency: is no whole number from 1 to 1024"
