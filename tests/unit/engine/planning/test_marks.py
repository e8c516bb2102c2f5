"""E7: which rows the conditions under skip and xfail meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan

MakePlan = Callable[..., Plan]

CSV = "id,answer,references,active,level,doc_name\n"
SCENARIO = "name: s\ndataset: rows.csv\nmetrics: [em]\n"


def skipped(made: Plan) -> list[str]:
    return [case.id for case in made.cases if case.skip is not None]


def of_table(plan: MakePlan, cell: str, where: str) -> Plan:
    """Return the plan of a CSV file whose row ``b`` alone has ``cell`` under ``active``."""
    rows = f"a,x,x,,1,a.pdf\nb,x,x,{cell},2,b.pdf\n"
    return plan(SCENARIO + f"skip: [{{where: {where}}}]\n", {"rows.csv": CSV + rows})


@pytest.mark.parametrize("cell", ["true", "TRUE", "True"])
def test_a_boolean_meets_the_text_of_a_table_in_any_case(plan: MakePlan, cell: str) -> None:
    """E7: a spreadsheet writes TRUE, JSON true, Python True."""
    made = of_table(plan, cell, "{active: true}")
    assert skipped(made) == ["b"]
    assert made.info.warnings == ()


@pytest.mark.parametrize(
    ("value", "where", "are_equal"),
    [
        ("2024_01", "2024_01", True),
        ("202401", "2024_01", False),
        ("3.10", "3.10", True),
        ("3.1", "3.10", False),
        ("0x1F", "[0x1F, 7]", True),
    ],
)
@pytest.mark.parametrize("name", ["id", "doc_name", "active"])
def test_numbers_meet_each_other_however_they_are_written(
    plan: MakePlan, name: str, value: str, where: str, are_equal: bool
) -> None:
    """E7: as a column of the row they are numbers; of an id or a document, the text counts."""
    row = "answer: x, references: [x]"
    rows = f"dataset: [{{{row}, {name}: {value}}}, {{{row}}}]\n"
    text = f"name: s\n{rows}metrics: [em]\nskip: [{{where: {{{name}: {where}}}}}]\n"
    assert len(skipped(plan(text))) == (are_equal or name == "active")


@pytest.mark.parametrize(
    ("cell", "where", "found"),
    [
        *(("3.10", "3.10", ["b"]), ("3.1", "3.10", []), ("3.10", "3.1", [])),
        *(("2024_01", "2024_01", ["b"]), ("202401", "2024_01", []), ("2", "2.0", ["b"])),
    ],
)
def test_a_text_meets_a_number_only_as_it_is_written(
    plan: MakePlan, cell: str, where: str, found: list[str]
) -> None:
    """E7: version 3.1 was skipped with 3.10."""
    assert skipped(of_table(plan, cell, f"{{active: {where}}}")) == found


@pytest.mark.parametrize(
    ("value", "where", "found"),
    [
        *(("true", "TRUE", ["b"]), ("true", "'true'", ["b"]), ("false", "false", ["b"])),
        *(("2", "2.0", ["b"]), ("'2'", "2", ["b"])),
        *(("true", "false", []), ("true", "1", []), ("1", "true", []), ("yes", "YES", [])),
        ("null", "'None'", []),
    ],
)
def test_values_meet_their_texts(plan: MakePlan, value: str, where: str, found: list[str]) -> None:
    """E7: only of booleans does the case of letters mean nothing."""
    rows = f"dataset: [{{id: b, answer: x, references: [x], active: {value}}}]\n"
    made = plan(f"name: s\n{rows}metrics: [em]\nskip: [{{where: {{active: {where}}}}}]\n")
    assert skipped(made) == found


@pytest.mark.parametrize(
    ("given", "wanted"), [("u\u0308", "\u00fc"), ("\u00fc", "u\u0308")], ids=["NFC", "NFD"]
)
@pytest.mark.parametrize("where", ["Pr{}fung.pdf", "[x.pdf, Pr{}fung.pdf]"])
def test_a_document_is_found_in_either_unicode_form(
    plan: MakePlan, given: str, wanted: str, where: str
) -> None:
    """E7: file names from macOS are in NFD, what is typed elsewhere in NFC."""
    rows = f"a,x,x,,1,Pr{given}fung.pdf\nb,x,x,,2,b.pdf\n"
    text = f"skip: [{{where: {{doc_name: {where.format(wanted)}}}}}]\n"
    made = plan(SCENARIO + text, {"rows.csv": CSV + rows})
    assert skipped(made) == ["a"]
    assert made.info.warnings == ()


@pytest.mark.parametrize("where", ["active: fr", "active: [de, 'fr ']", "doc_name: a.pdf"])
def test_a_blank_around_a_value_is_no_other_value(plan: MakePlan, where: str) -> None:
    """E7: nobody sees it in a table."""
    rows = "a,x,x,fr ,1,a.pdf\u00a0\nb,x,x,it,2,b.pdf\n"
    made = plan(SCENARIO + f"skip: [{{where: {{{where}}}}}]\n", {"rows.csv": CSV + rows})
    assert skipped(made) == ["a"]
    assert made.info.warnings == ()
    assert made.cases[0].metadata["active"] == "fr "


def test_a_condition_that_no_row_meets_is_a_warning(plan: MakePlan) -> None:
    """E7, E12: ``level: 3`` of three conditions; the second is met by a row of another reason."""
    text = (
        SCENARIO
        + "skip: [{where: {level: [1, 2]}}, {where: {id: a}}]\n"
        + "xfail: [{where: {level: 2}}, {where: {level: 3, doc_name: b.pdf}}]\n"
    )
    made = plan(text, {"rows.csv": CSV + "a,x,x,,1,a.pdf\nb,x,x,,2,b.pdf\n"})
    assert skipped(made) == ["a", "b"]
    assert made.info.warnings == ("s.yaml: xfail[1].where: no row has level 3, doc_name 'b.pdf'",)


def test_a_field_that_no_row_has_is_a_problem_and_no_warning_besides(problems: Any) -> None:
    (problem,) = problems(
        "name: s\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n"
        "skip: [{where: {levle: 1}}]\n"
    )
    assert "unknown field 'levle'" in problem
