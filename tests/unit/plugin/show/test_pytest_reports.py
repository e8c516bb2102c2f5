"""Scores in the words of -v, and in JUnit XML."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from fake_config import config_of

from pytest_rageval.model import SampleResult
from pytest_rageval.plugin.show.pytest_reports import JunitProperties, ScoreWords, score_properties


@pytest.mark.parametrize(
    ("outcome", "fields", "words"),
    [
        ("passed", {}, "PASSED 0.7500"),
        ("failed", {}, "FAILED 0.7500"),
        ("passed", {"rageval_score": None}, None),
        ("skipped", {}, None),
        ("passed", {"when": "teardown"}, None),
        ("passed", {"wasxfail": "reason"}, None),
    ],
)
def test_a_judged_case_has_its_score_behind_the_outcome(
    outcome: str, fields: dict[str, Any], words: str | None
) -> None:
    """[A11] pytest says all else."""
    known = {"when": "call", "rageval_score": 0.75, **fields}
    known |= {"passed": outcome == "passed", "failed": outcome == "failed"}
    report: Any = SimpleNamespace(**known)
    found = ScoreWords().pytest_report_teststatus(report)
    assert (found and found[2]) == words


SCORED = SampleResult("s", 0, weighted_score=0.5, scores={"em": 0.5}, sample_weight=2.5)
PROPERTIES = [("rageval.em", 0.5), ("rageval.weighted_score", 0.5), ("rageval.sample_weight", 2.5)]


@pytest.mark.parametrize(
    ("scores", "weighted", "found"),
    [
        ({"em": 1.0, "f1": None}, 1.0, {"em": 1.0, "weighted_score": 1.0, "sample_weight": 1.0}),
        ({"em": 0.0, "f1": math.nan}, None, {"em": 0.0, "sample_weight": 1.0}),
        ({"em": None}, None, {}),
        ({}, None, {}),
        # XML has neither a control character nor U+FFFF.
        ({'a\x01\uffff<b>"&\n::c': 1.0}, None, {r'a\x01<b>"& \x3a:c': 1.0, "sample_weight": 1.0}),
    ],
)
def test_what_is_unscored_is_absent(
    scores: dict[str, float | None], weighted: float | None, found: dict[str, float]
) -> None:
    """So is everything of a case that has no score at all."""
    properties = score_properties(SampleResult("s", 0, weighted_score=weighted, scores=scores))
    assert dict(properties) == {f"rageval.{name}": value for name, value in found.items()}


def test_a_score_that_is_no_plain_float_becomes_one() -> None:
    """A numpy scalar would end an xdist run with an internal error."""
    scores: Any = {"em": numpy.float32(0.5)}
    properties = score_properties(SampleResult("s", 0, scores=scores))
    assert {type(value) for _, value in properties} == {float}
    assert json.dumps(properties[0]) == '["rageval.em", 0.5]'


def report(nodeid: str, worker: str | None = None) -> Any:
    """Return as much of a report as is looked at, with a property of someone else's."""
    known = {"worker_id": worker} if worker else {}
    return SimpleNamespace(nodeid=nodeid, user_properties=[("team", "search")], **known)


def test_the_report_that_brings_the_scores_and_the_last_one_have_them() -> None:
    """pytest reads the last one; those of others stay. Two workers may run one node id."""
    noted = JunitProperties()
    for worker in ("gw0", "gw1"):
        call = report("a", worker)
        noted.note(call, SCORED)
        assert call.user_properties == [("team", "search"), *PROPERTIES]
    other = report("b", "gw0")
    noted.close(other)
    assert other.user_properties == [("team", "search")]
    for worker in ("gw0", "gw1"):
        teardown = report("a", worker)
        noted.close(teardown)
        assert teardown.user_properties == [("team", "search"), *PROPERTIES]
    again = report("a", "gw0")
    noted.close(again)
    assert again.user_properties == [("team", "search")]


def test_without_the_xml_nothing_is_noted(tmp_path: Path) -> None:
    """Properties are sent with every report of a case, and kept to the end."""
    assert JunitProperties.wanted(config_of(tmp_path)) is None
    assert JunitProperties.wanted(config_of(tmp_path, xmlpath="junit.xml")) is not None
