"""The sheet of answers to label: as CSV, and as a page that knows nothing of the judge."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from page_data import data_of

from pytest_rageval.reports.labels.label_sheet import (
    LabelRow,
    LabelSheet,
)
from pytest_rageval.reports.labels.review_sheet import ReviewSheet
from pytest_rageval.reports.labels.sheet import Sheet
from pytest_rageval.reports.page import assemble
from pytest_rageval.text.printable import unquoted

HOSTILE = "</script><script>x()</script>\u2028<!-- {{policy}} {{data}}"
ROWS = (
    LabelRow("a", "How long?", ("Five days.", "Two,\nor three."), "Five.", "d" * 12, "random"),
    LabelRow("=b", "-1?", (), HOSTILE, "e" * 12, "s-0123abcd"),
)
SHEET = LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS, "20261121T093011.csv", "@ann")


def test_a_sheet_has_a_blank_label_for_each_row() -> None:
    """Excel takes UTF-8 for what it is by the mark; lines end as RFC 4180 has them."""
    text = "".join(SHEET.csv())
    assert text.startswith(
        "\ufeffquestion,contexts,answer,id,metric,asked,annotator,label,note,drawn,digest\r\n"
        'How long?,"[1] Five days.\n\n[2] Two,\nor three.",Five.,a,faithfulness,'
        "Is this answer right? (faithfulness) 0: no; 1: yes,'@ann,,,random,dddddddddddd\r\n"
    )
    assert text.endswith(",s-0123abcd,eeeeeeeeeeee\r\n")


@pytest.mark.parametrize(
    ("levels", "said", "wanted"),
    [
        ((0.0, 1.0), {"question": "Is it\n  polite?"}, "Is it polite? 0: no; 1: yes"),
        ((0.0, 1.0), {"higher_is_better": False}, "Is this answer right? (tone) 0: yes; 1: no"),
        (
            (0.0, 1.0),
            {"higher_is_better": False, "question": "Is it rude?"},
            "Is it rude? 0: no; 1: yes",
        ),
        ((1.0, 2.5, 5.0), {}, "Is this answer right? (tone) 1; 2.5; 5"),
        (
            (0.0, 1.0),
            {"meanings": ("rude", "polite")},
            "Which of these fits the answer? (tone) 0: rude; 1: polite",
        ),
    ],
)
def test_each_row_of_a_table_has_what_is_asked_and_the_words_of_the_levels(
    levels: tuple[float, ...], said: dict[str, Any], wanted: str
) -> None:
    """In one line: a spreadsheet shows no header of a page."""
    sheet = LabelSheet("bot", "tone", levels, ROWS, "tone.csv", **said)
    text = "".join(sheet.csv()).removeprefix("\ufeff")
    assert {row["asked"] for row in csv.DictReader(io.StringIO(text, newline=""))} == {wanted}


def test_a_sheet_of_cells_asks_about_statement_and_source() -> None:
    """A source of one part has no number; nobody looks for a context [1] that is not the first."""
    rows = (
        LabelRow("q/claim-1/contexts[2]", "Q?", ("two",), "=it is", "d" * 12, "random"),
        LabelRow("q/claim-1/contexts[1, 2]", "Q?", ("one", "two"), "it is", "e" * 12, "random"),
    )
    sheet = LabelSheet("bot", "support", (0.0, 0.5, 1.0), rows, "s.csv", has_cells=True)
    text = "".join(sheet.csv()).removeprefix("\ufeff")
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert (first["contexts"], second["contexts"]) == ("two", "[1] one\n\n[2] two")
    assert (unquoted(first["answer"]), first["id"]) == ("=it is", "q/claim-1/contexts[2]")
    assert first["asked"] == (
        "How far does the source (contexts) support the statement (answer)? none: the source says "
        "nothing of it, or contradicts it; partial: the source says one part of it, and does not "
        "say another; full: the source says all that the statement says, or it follows from the "
        "source alone"
    )
    own = LabelSheet(
        "bot", "support", (0.0, 1.0), rows, "s.csv", question="So?", has_cells=True
    ).asked
    assert own.startswith("So? none: the source says nothing of it")
    assert "partial" not in own
    assert data_of("".join(sheet.page()))["names"] == ["none", "partial", "full"]


def test_no_cell_of_a_sheet_is_a_formula() -> None:
    text = "".join(SHEET.csv()).removeprefix("\ufeff")
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert not [cell for cell in (*first.values(), *second.values()) if cell[:1] in set("=+-@\t\r")]
    assert [unquoted(second[name]) for name in ("id", "question", "answer")] == [
        "=b",
        "-1?",
        HOSTILE,
    ]


def test_the_page_has_the_rows_and_nothing_of_a_judge() -> None:
    page = "".join(SHEET.page())
    assert page.count("<script>") == 1
    data = data_of(page)
    assert data.keys() == {*LabelSheet.__dataclass_fields__, "names", "key"}
    assert [row.keys() for row in data["rows"]] == [LabelRow.__dataclass_fields__.keys()] * 2
    assert data["rows"][1]["answer"] == HOSTILE
    assert "<title>bot: faithfulness · rageval</title>" in page
    assert "此页面需要 JavaScript" in page


@pytest.mark.parametrize(
    "other",
    [
        LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS, "later.csv"),
        LabelSheet("bot", "helpfulness", (0.0, 1.0), ROWS, SHEET.file_name),
        LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS[:1], SHEET.file_name),
    ],
)
def test_another_sheet_keeps_its_labels_elsewhere(other: LabelSheet) -> None:
    first, second = (data_of("".join(sheet.page())) for sheet in (SHEET, other))
    assert first["key"] != second["key"]


@pytest.mark.parametrize("sheet", [LabelSheet, ReviewSheet])
def test_the_page_takes_no_script_that_needs_another(sheet: type[Sheet]) -> None:
    """The report's other scripts are not there, and a call of theirs would fail."""
    rest = "\n".join(map(assemble.asset, set(assemble.SCRIPTS) - set(sheet.scripts)))
    foreign = set(re.findall(r"^(?:async )?function (\w+)", rest, re.MULTILINE))
    own = "".join(map(assemble.asset, sheet.scripts[-3:]))
    assert set(re.findall(r"(?<![.\w])(\w+)\(", own)) & foreign == set()
