"""Documents of JSON in a file of traces: wherever one ends, and what becomes of a broken one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow

Load = Callable[..., Dataset]


def trace(number: int, said: str = "Me.", **keys: Any) -> str:
    """Return a trace of one span as JSON."""
    return json.dumps(
        {
            "name": "ask",
            "context": {"trace_id": f"t{number}", "span_id": "s"},
            "parent_id": None,
            "start_time": 1_800_000_000 + number,
            "end_time": 1_800_000_009 + number,
            "attributes": {"input.value": "Who?", "output.value": said},
        },
        **keys,
    )


ONE, TWO, THREE = trace(1), trace(2), trace(3)
LONG = len(ONE)
MANY = [trace(number) for number in range(1, 201)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{ONE}\n{TWO}\n", 2),
        (f"{ONE}{TWO}{THREE}", 3),
        (f"{ONE} {TWO}\n{THREE}", 3),
        (f"\n\n {ONE},\n{TWO},\r\n{THREE}\n\n", 3),
        ("\n".join(trace(number, indent=2) for number in (1, 2, 3)), 3),
        ("\n".join(trace(number, indent=0) for number in (1, 2, 3)), 3),
        (f"[{ONE},{TWO}]\n[{THREE}]", 3),
        (f"[\n{ONE},\n{TWO}\n]", 2),
        (f"[\n[\n{ONE}\n],\n[\n{TWO}\n]\n]", 2),
        (f'{{"data":\n[\n{ONE},\n{TWO}\n]\n}}\n{THREE}', 3),
        ("[\n" + ",\n".join(MANY) + "\n]", 200),
        ('{"data":\n[\n' + ",\n".join(MANY) + "\n]}", 200),
        ("\n".join(MANY), 200),
        (trace(1, 'Write\n{"a": 1}\n[2]') + "\n" + TWO, 2),
        (trace(1, 'Write\n{"a": 1}', indent=1), 1),
        (trace(1, "{\n[\n{ not JSON") + TWO, 2),
    ],
)
def test_a_document_ends_where_its_bracket_does(load: Load, text: str, count: int) -> None:
    cases = load("s.jsonl", text, format="traces").cases
    assert [case.id for case in cases] == [f"t{number}" for number in range(1, count + 1)]
    assert not any(isinstance(case, InvalidRow) for case in cases)


def test_a_string_with_lines_that_begin_with_brackets_is_kept(load: Load) -> None:
    said = 'Write\n{"a": 1}\n[2]'
    assert load("s.jsonl", trace(1, said)).cases[0].answer == said


CUT = '{"name": "ask", "attributes": {"input.value": "Wh'


@pytest.mark.parametrize(
    ("text", "count", "broken"),
    [
        # line of the row; line and column of the place, counted by hand
        (f"{ONE}\n{CUT}\n{TWO}", 2, [(2, "Invalid control character at (line 2, column 50)")]),
        (f"{ONE}\n{CUT}\n", 1, [(2, "Invalid control character at (line 2, column 50)")]),
        (f"{ONE}\n{CUT}", 1, [(2, "Unterminated string starting at (line 2, column 47)")]),
        # an object without its end goes on with the next one
        (f'{ONE}\n{{"a": 1\n{TWO}', 2, [(2, "Expecting ',' delimiter (line 3, column 1)")]),
        (f'{ONE}\n{{"a":\n{TWO}\n{THREE}', 3, [(2, "Expecting ',' delimiter (line 4, column 1)")]),
        (
            f'{ONE}\n{{"a": [1,\n{TWO}',
            2,
            [(2, f"Expecting ',' delimiter (line 3, column {LONG + 1})")],
        ),
        # behind another one on its line
        (
            f'{ONE}\n{TWO} {{"a"}}\n{THREE}',
            3,
            [(2, f"Expecting ':' delimiter (line 2, column {LONG + 6})")],
        ),
        (f"{ONE} x\n{TWO}", 2, [(1, f"Expecting value (line 1, column {LONG + 2})")]),
        # two, the first over several lines
        (
            f'{ONE}\n{{\n"a": 1,\n"b": x}}\n{TWO}\n{{"c"}}\n{THREE}',
            3,
            [
                (2, "Expecting value (line 4, column 6)"),
                (6, "Expecting ':' delimiter (line 6, column 5)"),
            ],
        ),
        # a list of good ones and a broken one: the rows of the others are read
        (
            f'[\n{ONE},\n{{"a"}},\n{TWO}\n',
            2,
            [
                (1, "Expecting ':' delimiter (line 3, column 5)"),
                (3, "Expecting ':' delimiter (line 3, column 5)"),
            ],
        ),
    ],
)
def test_a_broken_document_is_named_with_its_place(
    load: Load, text: str, count: int, broken: list[tuple[int, str]]
) -> None:
    cases = load("s.jsonl", text, format="traces").cases
    lost = [case for case in cases if isinstance(case, InvalidRow)]
    assert len(cases) - len(lost) == count
    assert [case.line for case in lost] == [line for line, _ in broken]
    for case, (_, reason) in zip(lost, broken, strict=True):
        assert f"not valid JSON: {reason}" in case.reason


def test_many_broken_lines_take_as_long_each_as_one(load: Load) -> None:
    """2,000 lines of 4 kB, cut off in a string: 0.2 s, and 14 s where each looks at all lines."""
    cut = '{"name": "' + "x" * 4000 + "\n"
    begun = time.process_time()
    cases = load("s.jsonl", f"{ONE}\n" + cut * 2000, format="traces").cases
    assert time.process_time() - begun < 5
    lost = [case.line for case in cases if isinstance(case, InvalidRow)]
    assert lost == [*range(2, 2002)]
