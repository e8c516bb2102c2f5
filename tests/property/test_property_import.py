"""E22: whatever a promptfoo configuration asks for, each assert is in its row or listed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported
from pytest_rageval.importing.promptfoo import import_promptfoo

CHECKS = ("contains", "not-icontains", "starts-with", "equals", "regex")
SIMPLE = (*CHECKS, "llm-rubric")
LOST = ("javascript", "not-llm-rubric", "containsAny", "cost", "select-best")
METRICS = {"similar": "semantic_similarity", "answer-relevance": "answer_relevancy"}
KINDS = st.shared(st.sampled_from([CHECKS, (*SIMPLE * 3, *LOST, *METRICS)]), key="kinds")
"""Half of the configurations have nothing but checks, so that their thresholds are taken."""
WEIGHTS = st.sampled_from([None, None, None, 1, 2, 0.5])
THRESHOLDS = st.sampled_from([0.3, 0.8])


@dataclass
class Assert:
    """An assert, or a set of them: what is written, and on which line."""

    written: dict[str, Any]
    parts: list[Assert] | None = None
    line: int = 0

    @property
    def weight(self) -> float:
        return float(self.written.get("weight", 1))

    @property
    def token(self) -> str:
        return str(self.written.get("value"))

    def leaves(self) -> list[Assert]:
        return [self] if self.parts is None else self.parts

    def write(self, lines: list[str], indent: str) -> None:
        """Add its lines, and remember the first."""
        self.line = len(lines) + 1
        if self.parts is None:
            self.written["value"] = f"tok{self.line}tok"
            lines.append(f"{indent}- {json.dumps(self.written)}")
        else:
            lines.append(f"{indent}- type: assert-set")
            rest = {key: value for key, value in self.written.items() if key != "type"}
            lines.extend(f"{indent}  {key}: {value}" for key, value in rest.items())
            lines.append(f"{indent}  assert:")
            for part in self.parts:
                part.write(lines, f"{indent}    ")


@dataclass
class Case:
    """A test of the configuration."""

    keys: dict[str, Any]
    asserts: list[Assert]
    line: int = 0
    of_all: list[Assert] = field(default_factory=list)


@st.composite
def leaves(draw: Any) -> Assert:
    kinds = draw(KINDS)
    kind = draw(st.sampled_from(kinds))
    written: dict[str, Any] = {"type": kind, "value": ""}
    if kind in METRICS:
        written["threshold"] = draw(THRESHOLDS)
    if (weight := draw(WEIGHTS)) is not None:
        written["weight"] = weight
    if kinds is not CHECKS and draw(st.integers(0, 9)) == 0:
        written |= draw(st.sampled_from([{"weight": 0}, {"transform": "x"}, {"metric": "m"}]))
    return Assert(written)


@st.composite
def sets(draw: Any) -> Assert:
    written: dict[str, Any] = {"type": "assert-set"}
    if (weight := draw(WEIGHTS)) is not None:
        written["weight"] = weight
    is_whole = draw(KINDS) is CHECKS
    if not is_whole and draw(st.integers(0, 3)) == 0:
        written["threshold"] = draw(THRESHOLDS)
    return Assert(written, draw(st.lists(leaves(), min_size=int(is_whole), max_size=3)))


ASSERTS = st.lists(leaves() | leaves() | sets(), max_size=4)


@st.composite
def cases(draw: Any, threshold: float | None) -> Case:
    keys: dict[str, Any] = {"vars": {"q": "x"}}
    if threshold is not None:
        keys["threshold"] = draw(st.sampled_from([threshold] * 7 + [0.9]))
    changed = [] if draw(KINDS) is CHECKS else [{"transform": "x"}]
    options = draw(st.sampled_from([{}, {}, {}, {"disableDefaultAsserts": True}, *changed]))
    return Case(keys | ({"options": options} if options else {}), draw(ASSERTS))


def written(shared: list[Assert], tests: list[Case]) -> str:
    """Return the configuration, with the line of everything in it."""
    lines = ["prompts: ['{{q}}']", "providers: [openai:gpt-4o]", "defaultTest:", "  assert:"]
    for one in shared:
        one.write(lines, "    ")
    lines[3] = "  assert:" if shared else "  assert: []"
    lines.append("tests:")
    for test in tests:
        lines.extend(f"    {key}: {json.dumps(value)}" for key, value in test.keys.items())
        at = len(lines) - len(test.keys)
        lines[at] = f"  - {lines[at].strip()}"
        test.line = at + 1
        lines.append("    assert:" if test.asserts else "    assert: []")
        for one in test.asserts:
            one.write(lines, "      ")
        drops = test.keys.get("options", {}).get("disableDefaultAsserts")
        test.of_all = [*([] if drops else shared), *test.asserts]
    return "\n".join(lines) + "\n"


def listed(found: Imported | ScenarioError) -> set[int]:
    """Return the lines of what was not taken."""
    if isinstance(found, ScenarioError):
        places = [line.partition(": ")[0] for line in str(found).splitlines()]
    else:
        places = [where for where, _ in found.notes]
    return {int(number) for place in places for number in re.findall(r"(?<=[: ])\d+", place)}


def is_simple(test: Case, top: Assert, leaf: Assert) -> bool:
    """Return whether an assert has a counterpart without any ifs."""
    return (
        leaf.written["type"] in SIMPLE
        and leaf.weight != 0
        and not {"transform"} & (leaf.written.keys() | test.keys.get("options", {}).keys())
        and (top is leaf or "threshold" not in top.written)
    )


def is_held(leaf: Assert, row: dict[str, Any], thresholds: dict[str, float]) -> bool:
    """Return whether a row, or the metrics of all rows, ask what an assert does."""
    kind = leaf.written["type"]
    if kind in METRICS:
        bound = thresholds.get(METRICS[kind], 0.0)
        gold = kind != "similar" or leaf.token in row.get("references", [])
        return gold and bound >= leaf.written["threshold"]
    asked = [*row.get("answer_checks", []), *row.get("must_satisfy", [])]
    return any(leaf.token in json.dumps(one) for one in asked)


def theirs(asserts: list[Assert], passed: str) -> float:
    """Return promptfoo's score of a test: a set is one part of it."""
    parts = [
        (one.weight, float(one.token == passed) if one.parts is None else theirs(one.parts, passed))
        for one in asserts
    ]
    whole = math.fsum(weight for weight, _ in parts)
    return math.fsum(weight * score for weight, score in parts) / whole if whole else 0.0


def ours(row: dict[str, Any], passed: str) -> float:
    """Return our score of a row's checks, by their weights."""
    checks = row["answer_checks"]
    weights = [check.get("weight", 1.0) for check in checks]
    held = [passed in json.dumps(check) for check in checks]
    return math.fsum(w for w, is_held in zip(weights, held, strict=True) if is_held) / math.fsum(
        weights
    )


def every(test: Case) -> Iterator[tuple[Assert, Assert]]:
    return ((top, leaf) for top in test.of_all for leaf in top.leaves())


@pytest.mark.full
@given(st.data())
def test_each_assert_is_a_check_or_a_metric_of_its_row_or_listed(
    files: Callable[[Mapping[str, bytes]], Path], data: Any
) -> None:
    """[E22] With a threshold that is taken, each score is promptfoo's, too."""
    threshold = data.draw(st.sampled_from([None, 0.5]))
    shared = data.draw(ASSERTS)
    tests = data.draw(st.lists(cases(threshold), min_size=1, max_size=4))
    path = files({"s.yaml": written(shared, tests).encode()})
    try:
        found = import_promptfoo(path, "s.yaml")
    except ScenarioError as error:
        lost = listed(error)
        assert all(
            {leaf.line, top.line, test.line} & lost for test in tests for top, leaf in every(test)
        )
        assert not any(is_simple(test, top, leaf) for test in tests for top, leaf in every(test))
        return
    lost = listed(found)
    assert len(found.rows) == len(tests)
    thresholds = dict(found.scenario["thresholds"])
    for test, row in zip(tests, found.rows, strict=True):
        for top, leaf in every(test):
            is_taken = is_held(leaf, row, thresholds)
            assert is_taken or {leaf.line, top.line, test.line} & lost, leaf.written
            assert is_taken or not is_simple(test, top, leaf), leaf.written
    if thresholds.get("answer_checks", 1.0) < 1.0:
        for test, row in zip(tests, found.rows, strict=True):
            assert test.keys.get("threshold") == thresholds["answer_checks"]
            # A score is linear in what passes, so one at a time says it all.
            for _, leaf in every(test):
                score = theirs(test.of_all, leaf.token)
                assert ours(row, leaf.token) == pytest.approx(score), leaf.written
