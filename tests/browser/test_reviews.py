"""The page on which people review made questions: verdicts, edits, and what it downloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from chromium import PHONE, violations
from sheet_page import downloaded, opened, records

from pytest_rageval.reports.labels.review_sheet import (
    ReviewRow,
    ReviewSheet,
)
from pytest_rageval.text.printable import csv_text

PASSAGE = "Refunds.\nThey take 5 days. Ask <b>us</b>."
ROWS = (
    ReviewRow(
        *("refunds-1", "How long do refunds take?", "5 days", ("They take 5 days.", "5 days. Ask")),
        *((PASSAGE,), "policies/refunds.md", "Refunds > Times", "single", "x" + "a" * 12),
    ),
    ReviewRow(
        *("=b", "@SUM(1)", "</script>\t一天", ("Not in it.", "五天"), ("需要五天。", "Two.")),
        *("", "", "odd", "x" + "b" * 12),
    ),
    ReviewRow(
        *("退货-3", "退货免费吗？", "文档中没有。", (), ()),
        *("退货.md", "退货", "unanswerable", "x" + "c" * 12),
    ),
)
SHEET = ReviewSheet(
    "bot", "Questions about <refunds>", ROWS, "questions-review-20261121T093011.csv"
)


def test_nuggets_are_shown_to_be_read(open_report: Any) -> None:
    nuggets = (
        {"text": "Refunds take <b>5</b> days.", "importance": "vital"},
        {"text": "They are free.", "importance": "okay"},
    )
    rows = (replace(ROWS[0], nuggets=nuggets), ROWS[1])
    page = opened(open_report, replace(SHEET, rows=rows))
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")  # leaves the field of the name
    row = page.locator(".label-row")
    assert "An answer has to say" in row.inner_text()
    assert "Refunds take <b>5</b> days." in row.inner_text()
    assert "They are free. (not vital)" in row.inner_text()
    page.keyboard.press("ArrowRight")
    assert "An answer has to say" not in row.inner_text()


def test_verdicts_and_edits_outlive_a_reload_and_fill_the_table(open_report: Any) -> None:
    page = opened(open_report, SHEET)
    press, foot, title = page.keyboard.press, page.locator(".label-foot"), page.locator("h2")
    page.keyboard.type("Änn Müller")
    press("Enter")
    press("a")
    assert title.inner_text() == "Question 2 of 3"
    press("e")  # stays here, and leads to the field
    page.keyboard.press("Control+A")
    page.keyboard.type("-2 or\n3?")
    press("Escape")
    assert "2 of 3 reviewed" in foot.inner_text()
    assert page.locator(".label-row textarea").count() == 3  # question, reference, note
    press("ArrowRight")
    press("r")
    assert "All 3 reviewed. Download the file and put it beside" in foot.inner_text()
    page.get_by_label("Note").fill("=it is free")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    open_report.watch.problems.clear()  # a question about leaving what is not downloaded
    name, text = downloaded(page)
    assert name == "questions-review-20261121t093011-ann-muller.csv"
    blank = "".join(SHEET.csv())
    wanted = records(blank)
    for row, verdict in zip(wanted, ("accept", "edit", "reject"), strict=True):
        row |= {"verdict": verdict, "reviewer": "Änn Müller"}
    wanted[1]["question"] = "'-2 or\n3?"
    wanted[2]["note"] = "'=it is free"
    assert text == "\ufeff" + "".join(
        csv_text([wanted[0].keys(), *(row.values() for row in wanted)])
    )
    assert "3 of 3 reviewed · downloaded" in foot.inner_text()


def test_an_edit_is_taken_back_and_a_blank_one_is_not_downloaded(open_report: Any) -> None:
    page = opened(open_report, replace(SHEET, annotator="Bo"))
    press, fields = page.keyboard.press, page.locator("textarea[data-name]")
    page.get_by_role("button", name="Edit").click()
    fields.first.fill(" ")
    press("Escape")
    press("ArrowRight")
    page.get_by_role("button", name="Download").click()
    alert = page.locator(".label-foot").get_by_role("alert")
    assert alert.inner_text() == "An edited question needs a text; to take it out, reject it."
    assert page.locator("#label-title").inner_text() == "Question 1 of 3"
    press("u")
    assert fields.count() == 0
    assert "How long do refunds take?" in page.locator(".label-row").inner_text()
    found = records(downloaded(page)[1])
    assert (found[0]["question"], found[0]["verdict"]) == ("How long do refunds take?", "")


def test_evidence_is_marked_in_its_passage(open_report: Any) -> None:
    """Quotes that overlap are one mark; a quote in no passage stands alone; nothing is parsed."""
    page = opened(open_report, replace(SHEET, annotator="张三"))
    row, press = page.locator(".label-row"), page.keyboard.press
    assert row.locator("mark").all_inner_texts() == ["They take 5 days. Ask"]
    assert row.locator(".text").last.evaluate("box => box.textContent") == PASSAGE
    assert row.locator(".facts").inner_text().split("\n") == [
        *("Document", "policies/refunds.md", "Section", "Refunds > Times"),
        *("Type", "one passage"),
    ]
    press("ArrowRight")
    assert row.locator("mark").all_inner_texts() == ["五天"]
    assert "Not in it." in row.inner_text()
    assert "odd" in row.locator(".facts").inner_text()
    press("ArrowRight")
    assert "the documents should not answer it" in row.inner_text()
    press("a")
    name, _ = downloaded(page)
    assert name.startswith("questions-review-20261121t093011-")
    assert name.isascii()


@pytest.mark.full
def test_the_page_fits_a_phone_and_reads_well(open_report: Any, axe: str) -> None:
    """In the dark, in Chinese, while a question is edited; and light."""
    options = {"bypass_csp": True, "color_scheme": "dark", "locale": "zh-CN", **PHONE}
    page = opened(open_report, SHEET, **options)
    page.evaluate(axe)
    assert page.locator("#label-title").inner_text() == "第 1 个问题，共 3 个"
    assert page.locator("button.label b").all_inner_texts() == ["接受", "拒绝", "修改"]
    page.get_by_role("button", name="修改").tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    page.get_by_label("您的姓名").fill("李")
    page.locator("h2").tap()
    page.get_by_role("button", name="下载").tap()
    page = opened(open_report, SHEET, bypass_csp=True, locale="en-US")
    page.evaluate(axe)
    assert violations(page) == []
