"""The sheet of made questions to review: as CSV, and as a page; which questions are on it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from page_data import data_of

from pytest_rageval.datasets.reviews import review_digest
from pytest_rageval.model import Sample, ScenarioInfo
from pytest_rageval.reports.labels.review_sheet import (
    ReviewRow,
    ReviewSheet,
    ToReview,
    draw_reviews,
)
from pytest_rageval.reports.page import assemble
from pytest_rageval.run_paths import RunPaths, folder_name

HOSTILE = "</script><script>x()</script>\u2028<!-- {{policy}} {{data}}"
SAMPLE = Sample(
    "refunds-1",
    question="=How long?",
    references=("5 days",),
    reference_contexts=("They take 5 days.", "五天"),
    doc_name="refunds.md",
    metadata={
        "section_path": "Refunds > Times",
        "question_type": "comparison",
        "reference_contexts": [HOSTILE, "需要五天。"],
    },
)
SHEET = ReviewSheet("bot", "", [ReviewRow.of(SAMPLE)], "questions-review-20261121T093011.csv")
NOW = datetime(2026, 11, 21, 9, 30, 11, 5, tzinfo=UTC)


def test_a_table_has_a_blank_verdict_for_each_question() -> None:
    """Two quotes have a blank line between; no cell is a formula."""
    text = "".join(SHEET.csv())
    assert text == (
        "\ufeffid,question,reference,evidence,doc_name,section_path,question_type,verdict,reviewer,"
        "note,digest\r\n"
        'refunds-1,\'=How long?,5 days,"They take 5 days.\n\n五天",refunds.md,Refunds > Times,'
        f"comparison,,,,{review_digest(SAMPLE)}\r\n"
    )
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    assert re.fullmatch(r"x[0-9a-f]{12}", row["digest"])


def test_the_page_has_the_passages_and_no_script_of_theirs() -> None:
    page = "".join(SHEET.page())
    assert page.count("<script>") == 1
    data = data_of(page)
    assert data["rows"][0]["passages"] == [HOSTILE, "需要五天。"]
    assert data["levels"] == ["accept", "reject", "edit"]
    assert "<title>bot · rageval</title>" in page
    assert "此页面需要 JavaScript" in page
    other = replace(SHEET, rows=[replace(SHEET.rows[0], digest="x" + "0" * 12)])
    assert data_of("".join(other.page()))["key"] != data["key"]


def test_the_words_of_the_page_are_there_in_both_languages() -> None:
    words = assemble.asset("review_words.js")
    english, chinese = (
        re.findall(r"^    (\w+):", part, re.MULTILINE) for part in words.split("zh:")
    )
    assert english == chinese
    used = set(re.findall(r'say\("(review_\w+)"', assemble.asset("review_sheet.js")))
    assert used <= set(english)


def test_questions_are_drawn_at_random_and_none_twice(tmp_path: Path) -> None:
    """Each of five is drawn in two of five draws; the seed decides, and all are drawn if few."""
    samples = [replace(SAMPLE, id=f"q{at}") for at in range(5)]
    info = ScenarioInfo("bot: v2", "bot.rageval.yaml", "bot.rageval.yaml", (), variant="dense")
    waiting, paths = ToReview(info, 9, 0, samples), RunPaths(tmp_path)
    counts = dict.fromkeys((sample.id for sample in samples), 0)
    for seed in range(500):
        drawn = draw_reviews(waiting, paths, 2, seed=seed, now=NOW)
        found = [row.sample_id for row in drawn.sheet.rows]
        assert len({*found}) == 2
        for name in found:
            counts[name] += 1
    # Binomial, n 500, p 2/5: standard deviation 11.
    assert all(150 < count < 250 for count in counts.values())
    assert draw_reviews(waiting, paths, 2, seed=499, now=NOW) == drawn
    whole = draw_reviews(waiting, paths, 6, seed=1, now=NOW)
    assert sorted(row.sample_id for row in whole.sheet.rows) == sorted(counts)
    table, page = whole.write()
    assert table.parent == tmp_path / ".rageval" / folder_name("bot: v2") / "reviews"
    assert (table.name, page.name) == (
        "questions-review-20261121T093011-000005.csv",
        "questions-review-20261121T093011-000005.html",
    )
