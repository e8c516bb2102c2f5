"""E22: tables of promptfoo's tests, as spreadsheets and data frames write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from promptfoo_files import imported

from pytest_rageval.errors import ScenarioError

A = {"id": "test-1", "question": "a", "answer_checks": [{"contains": "b"}]}


def of_table(tmp_path: Path, table: str, prompt: str = "{{question}}") -> Any:
    text = f'prompts: ["{prompt}"]\nproviders: [openai:chat:gpt-4o-mini]\ntests: t.csv\n'
    return imported(tmp_path, text, t__csv=table)


@pytest.mark.parametrize(
    ("table", "more"),
    [
        ("question,__expected\na,contains:b\n", {}),
        ("question,__expected\na,contains:b\n\n\n", {}),
        ("question,__expected,note\na,contains:b,\n", {"vars": {"note": ""}}),
        ("question,__expected,note\na,contains:b,c\n", {"vars": {"note": "c"}}),
        ('question,__expected,note\na,contains:b,"c, d"\n', {"vars": {"note": "c, d"}}),
        ("question,__expected1,__expected2\na,contains:b,\n", {}),
        ("question,__expected,__expected2\na,,contains:b\n", {}),
        ("question,__expected,__metric\na,contains:b,m\n", {}),
        ("question,__expected,0\na,contains:b,c\n", {"vars": {"0": "c"}}),
        (" question , __expected \r\na,contains:b\r\n", {}),
    ],
)
def test_columns_with_names_are_variables_and_asserts(
    tmp_path: Path, table: str, more: Any
) -> None:
    """[E22]"""
    found = of_table(tmp_path, table)
    assert (found.rows, found.notes) == ([{**A, **more}], [])


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (",\na,contains:b\n", "the header names a column twice: ''"),
        (",,\nquestion,__expected,\na,contains:b,\n", "the header names a column twice: ''"),
        ("question,note,note,__expected\na,b,c,d\n", "the header names a column twice: 'note'"),
        ("question,__expected\na,contains:b,\n", "has 3 cells, the header 2; quote a cell"),
        ("question,__expected,\na,contains:b\n", "has 2 cells, the header 3"),
        ("\n\nquestion,__expected\na,contains:b\n", "has 2 cells, the header 0"),
    ],
)
def test_a_table_without_a_sound_header_or_row_is_refused(
    tmp_path: Path, table: str, what: str
) -> None:
    """[E22]"""
    with pytest.raises(ScenarioError, match="every answer would pass") as error:
        of_table(tmp_path, table)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("table", "lost"),
    [
        ("question,__expected,\na,contains:b,\n", []),
        ("question,__expected,,\na,contains:b,, \n", []),
        ("question,,__expected\na,,contains:b\n", []),
        (",question,__expected\n0,a,contains:b\n", []),
        (",question,,__expected,\n12,a,,contains:b,\n", []),
        ("question,__expected,\na,contains:b,c\n", ["t.csv:2"]),
        ("question,__expected,,,\na,contains:b,c,,d\n", ["t.csv:2"]),
        (",question,__expected\nc,a,contains:b\n", ["t.csv:2"]),
    ],
)
def test_a_column_without_a_name_is_no_variable(
    tmp_path: Path, table: str, lost: list[str]
) -> None:
    """[E22] What it says is listed; a blank one says nothing, nor does a count of the rows."""
    found = of_table(tmp_path, table)
    assert found.rows == [A]
    assert [where for where, what in found.notes if "column without a name" in what] == lost
    assert len(found.notes) == len(lost)


def test_the_one_variable_with_a_name_is_the_question(tmp_path: Path) -> None:
    """[E22] Whatever it is called."""
    found = of_table(tmp_path, "ask_me,__expected,\na,contains:b,\n", prompt="{{ask_me}}")
    assert found.rows == [A]
    assert found.scenario["target"] == {"model": "gpt-4o-mini"}


def test_an_assert_below_no_name_is_listed(tmp_path: Path) -> None:
    """[E22] Its row is skipped, not green."""
    found = of_table(tmp_path, "question,__expected,\na,contains:b,\nc,,contains:d\n")
    assert found.rows[1]["skip"] == "no check of t.csv:3: it has none"
    assert [where for where, _ in found.notes] == ["t.csv:3"]
