"""What a result is after its way from a worker to the controller."""

from __future__ import annotations

from dataclasses import fields
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import execnet
from decided_result import decided

from pytest_rageval.model import SampleResult
from pytest_rageval.plugin.run.transport import Message
from pytest_rageval.text.codec import from_json, to_json


def received(result: SampleResult) -> SampleResult:
    sent = execnet.dumps(to_json(Message("qa", result)))
    return from_json(execnet.loads(sent), Message).result


def _same(result: SampleResult, other: SampleResult, name: str) -> bool:
    return bool(getattr(result, name) == getattr(other, name))


def test_a_result_arrives_as_it_was_sent() -> None:
    """E2: all of its fields; a missing score is none, and a lone surrogate is no error."""
    result = SampleResult(
        "odd \ud800 id",
        7,
        "error",
        sample_weight=0.3,
        weighted_score=0.1 + 0.2,
        doc_name="甲.pdf",
        question="q",
        answer="a",
        contexts=["c"],
        references=["r"],
        metadata={"level": 3},
        scores={"em": None, "f1": 1.0},
        reasons={"f1": "because"},
        details={"f1": {"seen": [1, "two", None]}},
        errors={"em": "the judge is away"},
        replies={"f1": {"usable": 2, "cut_off": 1}},
        invalid="no sample",
        row=8,
        line=9,
        raw="{",
        latency_s=0.5,
        answer_latency_s=0.25,
        dataset_row={"q": "q"},
        xfail="",
        is_kept=True,
        judged_by={"references": "abc"},
        expected=["e"],
        cause="unknown",
        cause_reason="no contexts",
        left_out={"em": "row"},
        confidence=0.75,
    )
    default = SampleResult("", 0)
    assert [one.name for one in fields(result) if _same(result, default, one.name)] == []
    assert received(result) == result


def test_what_json_does_not_know_arrives_as_a_mapping_or_as_its_text() -> None:
    """A metric puts what it likes into its details."""
    details: Any = {"own": {"seen": MappingProxyType({"a": 1}), "at": PurePosixPath("a/b")}}
    found = received(SampleResult("a", 0, details=details)).details
    assert found == {"own": {"seen": {"a": 1}, "at": "a/b"}}


def test_the_scenarios_arrive_with_the_first_result() -> None:
    """With their gates and the runs that they are compared with: the controller reads no file."""
    info = decided({"f1": [1.0, 0.5]}, {"f1": 0.5}, before={"f1": [0.5, 0.5]}).info
    sent = to_json(Message("qa", SampleResult("a", 0), [info]))
    (found,) = from_json(sent, Message).scenarios
    assert found == info
    assert dict(found.gates) == {"f1": 0.5}
    assert found.baselines["main"].scores["f1"] == {"s0": 0.5, "s1": 0.5}
