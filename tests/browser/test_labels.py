"""Labels of people: given blind, kept, downloaded; and the judge held against them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from chromium import PHONE, violations
from labelled_result import CELLS, CORRECTED, FAITHFULNESS, REASONS, TEXTS, labelled_result
from sheet_page import downloaded, opened, records

from pytest_rageval.model import CHOSEN, WEIGHTED_SCORE, Corrected, GateResult, answer_digest
from pytest_rageval.reports.labels.label_sheet import (
    LabelRow,
    LabelSheet,
)
from pytest_rageval.text.printable import csv_text

ROWS = (
    LabelRow(
        "a", "How long?", ("Five days.", 'A "quoted",\nlong one.'), "Five.", "d" * 12, "random"
    ),
    LabelRow("=b", "@SUM(1)", (), "-1 day\r\n", "e" * 12, "s-0123abcd"),
    LabelRow("c", "退货要多久？", ("</script><b>五天</b>",), "\t五天\u2028", "f" * 12, "random"),
)


def test_labels_given_by_keys_outlive_a_reload_and_fill_the_sheet(open_report: Any) -> None:
    page = opened(open_report, LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS, "bot.csv"))
    press, title = page.keyboard.press, page.locator("#label-title")
    foot = page.locator(".label-foot")
    assert page.evaluate("document.activeElement === document.querySelector('.top input')")
    press("Escape")
    for key in ("1", "n", "u"):  # the second one is taken back
        press(key)
    assert title.inner_text() == "Sample 2 of 3"
    assert "1 of 3 labelled" in foot.inner_text()
    press("y")
    assert title.inner_text() == "Sample 3 of 3"
    press("ArrowLeft")
    page.get_by_label("Note").fill("=0, or 1?")
    press("Escape")
    press("0")
    # The reload is warned of: these labels are not downloaded.
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    assert open_report.watch.problems == ["dialog: "]
    open_report.watch.problems.clear()
    assert title.inner_text() == "Sample 3 of 3"  # the first without a label
    assert "2 of 3 labelled" in foot.inner_text()

    page.get_by_role("button", name="Download").click()
    assert foot.get_by_role("alert").inner_text() == "Enter your name first: labels need one."
    page.keyboard.type("Ann")
    name, content = downloaded(page)
    signed = LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS, "bot.csv", "Ann")
    blank = "".join(signed.csv())
    wanted = records(blank)
    wanted[0]["label"] = "1"
    wanted[1] |= {"label": "0", "note": "'=0, or 1?"}
    assert name == "bot-Ann.csv"
    assert content == "\ufeff" + "".join(
        csv_text([wanted[0].keys(), *(row.values() for row in wanted)])
    )
    page.reload()  # without a warning now
    assert "2 of 3 labelled · downloaded, to hand in with --rag-labels" in foot.inner_text()


def test_each_name_has_labels_of_its_own(open_report: Any) -> None:
    """A new name asks whose the labels are; one that has some leads to them, even later."""
    page = opened(open_report, LabelSheet("bot", "faithfulness", (0.0, 1.0), ROWS, "b.csv"))
    press, foot, name = page.keyboard.press, page.locator(".label-foot"), page.locator(".top input")

    def given() -> list[str]:
        file, content = downloaded(page)
        found = records(content)
        return [file, *(f"{row['annotator']} {row['label']}" for row in found)]

    page.keyboard.type("anna")
    for key in ("Enter", "1", "0", "0"):
        press(key)
    assert "All 3 labelled. Download the file and hand it in" in foot.inner_text()
    assert given() == ["b-anna.csv", "anna 1", "anna 0", "anna 0"]
    name.fill("ben")
    page.get_by_role("button", name="Download").click()  # no file: whose it is must be said
    press("1")  # nor a label
    assert foot.get_by_role("alert").inner_text() == "Labels by anna in this browser: 3"
    page.get_by_role("button", name="Start an empty sheet as ben").click()
    assert "0 of 3 labelled" in foot.inner_text()
    press("0")
    assert given() == ["b-ben.csv", "ben 0", "ben ", "ben "]
    page.reload()
    assert name.input_value() == "ben"
    name.fill("anna")
    press("Enter")
    assert "3 of 3 labelled · downloaded" in foot.inner_text()
    name.fill("Anna L.")
    press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Start an empty sheet as Anna L."
    page.get_by_role("button", name="Rename anna to Anna L.").click()
    assert given() == ["b-Anna_L..csv", "Anna L. 1", "Anna L. 0", "Anna L. 0"]


@pytest.mark.parametrize(("levels", "key"), [((0.0, 0.5, 1.0), "2"), ((1.0, 2.0, 5.0), "5")])
def test_a_level_has_its_own_digit_or_that_of_its_place(
    open_report: Any, levels: tuple[float, ...], key: str
) -> None:
    """Where the browser has no storage, the page says so, and works."""
    page = open_report.windows.window(locale="en-US")
    page.add_init_script("Storage.prototype.setItem = () => { throw 0; };")
    meanings, question = ("poor <b>", "fair", "good"), "Is it polite?\nAsk yourself."
    sheet = LabelSheet("bot", "rubric", levels, ROWS, f"{key}.csv", "Bo", meanings, question)
    page = opened(open_report, sheet, locale="en-US")
    assert page.locator(".label-row > .asked").inner_text() == question
    words = page.locator("button.label bdi").all_inner_texts()
    assert [word.strip() for word in words] == list(meanings)
    assert "This browser keeps nothing" in page.locator("header").inner_text()
    page.keyboard.press(key)
    first = records(downloaded(page)[1])[0]
    assert (first["label"], first["annotator"]) == ({"2": "0.5", "5": "5"}[key], "Bo")


CELLS_TO_LABEL = (
    LabelRow(
        "q/1/claim-2/contexts[3]", "How long?", ("Five / six days.",), "Six.", "d" * 12, "random"
    ),
    LabelRow(
        "退货/claim-1/contexts[1, 2]", "多久？", ("五天。", "免费。"), "五天。", "e" * 12, "random"
    ),
)


def test_cells_are_labelled_in_words_and_downloaded_as_the_table_has_them(
    open_report: Any, axe: str
) -> None:
    """Statement and source have their names; a source of one part has no number."""
    levels = (0.0, 0.5, 1.0)
    sheet = LabelSheet("bot", "support", levels, CELLS_TO_LABEL, "b.csv", "Bo", has_cells=True)
    page = opened(open_report, sheet, locale="en-US")
    row = page.locator(".label-row")
    assert row.locator(".asked").inner_text() == "How far does the source support the statement?"
    assert page.locator("#label-title").inner_text() == "Statement 1 of 2"
    assert page.locator("button.label b").all_inner_texts() == ["none", "partial", "full"]
    assert "it follows from the source alone" in page.locator("button.label").last.inner_text()
    assert "The scenario has no question" not in page.locator("header").inner_text()
    assert row.locator("ol, ul").count() == 0
    page.keyboard.press("2")
    assert row.locator("ol > li, ul > li").count() == 2
    page.keyboard.press("3")
    found = records(downloaded(page)[1])
    assert [one["label"] for one in found] == ["partial", "full"]
    wanted = records("".join(sheet.csv()))
    for given, blank in zip(found, wanted, strict=True):
        assert {**given, "label": "", "asked": ""} == {**blank, "asked": ""}
    page.keyboard.press("ArrowLeft")
    assert page.locator('button.label[aria-pressed="true"] b').inner_text() == "partial"
    page.get_by_role("button", name="中文").click()
    assert row.locator(".asked").inner_text() == "这份来源在多大程度上支持这条陈述？"
    assert "来源完全没有提到" in page.locator("button.label").first.inner_text()
    page.evaluate(axe)
    assert violations(page) == []


def test_the_question_stands_above_each_row_and_the_bar_spans_the_window(
    open_report: Any,
) -> None:
    """P5: the scenario's own, or one in general and how to set it; its description is there."""
    words = {"question": "Does the source say it?", "description": "the desk of a ferry"}
    page = opened(open_report, LabelSheet("bot", "grounded", (0.0, 1.0), ROWS, "q.csv", **words))
    asked, notices = page.locator(".label-row > .asked"), page.locator(".top .notice")
    assert (asked.inner_text(), notices.count()) == (words["question"], 0)
    assert page.locator(".top .description").inner_text() == words["description"]
    page.get_by_label("Your name").fill("Ann")
    page.keyboard.press("Enter")
    page.keyboard.press("1")
    assert page.locator("#label-title").inner_text() == "Sample 2 of 3"
    assert asked.inner_text() == words["question"]
    assert asked.bounding_box()["y"] >= 0  # the row is led to: its question is in sight
    downloaded(page)  # so that nothing warns of labels that would be lost
    for width in (390, 768, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 780})
        box = page.locator(".label-foot").bounding_box()
        window = page.evaluate("document.documentElement.clientWidth")
        assert (box["x"], box["width"]) == (0, window)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = opened(open_report, LabelSheet("bot", "grounded", (0.0, 1.0), ROWS, "r.csv"))
    assert asked.inner_text() == "Is this answer right? (grounded)"
    assert 'human: {question: "' in notices.inner_text()
    page.get_by_role("button", name="中文").click()
    assert asked.inner_text() == "这个回答对吗？（grounded）"
    assert 'human: {question: "' in notices.inner_text()


def test_where_lower_is_better_a_right_answer_has_the_lower_level(open_report: Any) -> None:
    """Unless the scenario asks something: then yes is the higher level, as ever."""
    sheet = LabelSheet("bot", "slips", (0.0, 1.0), ROWS, "s.csv", "Bo", higher_is_better=False)
    page = opened(open_report, sheet)
    assert page.locator("button.label").all_inner_texts() == ["0 yes", "1 no"]
    page.keyboard.press("y")
    first = records(downloaded(page)[1])[0]
    assert (first["label"], first["asked"]) == ("0", sheet.asked)
    page = opened(open_report, replace(sheet, question="Is it wrong?", file_name="t.csv"))
    assert page.locator("button.label").all_inner_texts() == ["0 no", "1 yes"]
    page.keyboard.press("y")
    assert records(downloaded(page)[1])[0]["label"] == "1"


def test_the_report_shows_how_judge_and_people_agree(open_report: Any) -> None:
    """The figures of Python; a cell leads to its samples, a disagreement to its sample."""
    page = open_report(labelled_result())
    part = page.locator('[data-agreement="faithfulness"]')
    shown = {row[0]: row[1:] for row in cells_of(part.locator(".judged").first)}
    found = FAITHFULNESS
    assert shown["Cohen's kappa"] == [
        f"{found.kappa:.4f}",
        f"{found.kappa_low:.4f} – {found.kappa_high:.4f}",
        f"people among themselves: kappa {found.ceiling:.4f}",
    ]
    assert shown["Bias: judge − people"][:2] == ["+0.0500", "-0.0762 – +0.1762"]
    others = {"Gwet's AC1": found.ac1, "AUC": found.auc, "Specificity": found.specificity}
    assert {name: shown[name][0] for name in others} == {
        name: f"{value:.4f}" for name, value in others.items()
    }
    assert "Weighted kappa" not in shown  # of two levels it would be kappa
    few = page.locator('[data-agreement="helpfulness"]')
    (why,) = (row for row in cells_of(few.locator(".judged")) if row[0] == "Weighted kappa")
    assert why == ["Weighted kappa", "–", "", "people and the judge use one level only"]
    assert "too few to say much" in few.inner_text()
    groups = cells_of(part.locator(".agreement-slices"))
    assert groups == [["topic", "money", "31", "0.6512"], ["topic", "parts", "9", "too few"]]
    table = cells_of(part.locator(".confusion"))
    assert table == [["0", "10", "4"], ["1", "2", "24"]]
    cell = part.get_by_role("button", name="faithfulness: people 0, judge 1: 4")
    cell.focus()
    page.keyboard.press("Enter")
    rows = page.locator("#samples tbody th")
    assert rows.all_inner_texts() == [f"ticket-{at + 101}" for at in CELLS["0,1"]]
    assert page.evaluate("document.activeElement.id") == "samples-title"
    page.get_by_role("searchbox").fill("opened")  # asked by every fifth: 11, 16, ...
    assert rows.all_inner_texts() == ["ticket-112"]
    chip = "Remove the filter faithfulness: people 0, judge 1"
    page.get_by_role("button", name=chip).click()
    assert rows.count() == 12
    part.get_by_role("button", name="Open sample ticket-115").click()
    said = page.locator("dialog .people").inner_text().split("\n")
    assert said == ["faithfulness 1 · ann", "faithfulness 1 · bo"]


def cells_of(table: Any) -> list[list[str]]:
    script = "rows => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim()))"
    found: list[list[str]] = table.locator("tbody tr").evaluate_all(script)
    return found


def test_corrected_means_stand_before_the_judges_and_stay_those_of_the_run(
    open_report: Any,
) -> None:
    """Weights of metrics leave metrics alone; those of documents do not. Gates of labels alike."""
    name = "faithfulness.agreement.kappa"
    verdict = GateResult(name, "passed", 0.6591, 0.6, "0.6591 >= 0.6000 (40 labelled answers)")
    whole = Corrected(0.6127, 0.5202, 0.6981, 0.81, 40, None)
    corrected = {WEIGHTED_SCORE: whole, **CORRECTED}
    ran = labelled_result()
    info = replace(ran.info, gates={"faithfulness": {"agreement": {"kappa": 0.6}}})
    page = open_report(replace(ran, info=info, gates=[verdict], corrected=corrected))
    card = page.locator('[data-target="faithfulness"]')
    found = CORRECTED["faithfulness"]
    interval = f"({found.ci_low:.4f} – {found.ci_high:.4f})"
    assert card.locator(".figure").inner_text().startswith("0.6583")
    assert card.get_by_text("by the judge 0.8000").count() == 1
    assert "0.5246–0.7702" in card.inner_text()
    said = f"By people: {found.mean:.4f} {interval}, 40 labelled, worth 61"
    assert card.locator(".by-people").inner_text() == said
    own = page.locator(f'.card[data-target="{WEIGHTED_SCORE}"] .by-people')
    assert own.inner_text() == "By people: 0.6127 (0.5202 – 0.6981), 40 labelled"
    page.evaluate("rageval.weigh({metrics: {faithfulness: 2, helpfulness: 1}, docs: []})")
    own.wait_for(state="detached")
    assert card.locator(".by-people").inner_text() == said
    assert page.locator(".as-run").count() == 0
    docs = "[['returns.pdf', 3]]"
    page.evaluate(f"rageval.weigh({{metrics: rageval.state().weights.metrics, docs: {docs}}})")
    card.get_by_text("as run").wait_for()
    assert page.locator(".gates .as-run").count() == 1


def test_samples_of_the_report_are_labelled_blind(open_report: Any) -> None:
    """Those that the table shows, as chosen ones; nothing of the judge is on the page then.

    A shuffle that always takes the first one moves it to the end.
    """
    ran = labelled_result()
    made = list(ran.samples)
    made[10] = replace(made[10], contexts=[f"passage {at}" for at in range(11)])
    ran = replace(ran, samples=made)
    page = open_report(ran)
    page.get_by_role("searchbox").fill("ticket-11")
    before = page.locator("#page").inner_text()
    assert REASONS[1.0] in before
    page.evaluate("Math.random = () => 0")
    page.get_by_role("button", name="Label these blind: faithfulness").click()
    shown = page.locator("#page").inner_text()
    assert not [word for word in ("passed", "0.8", "claim", "Kappa") if word in shown]
    assert "never for a corrected mean" in shown
    assert "Text is cut here" in shown  # ticket-111 has a passage more than the page shows
    page.evaluate("location.hash = '#sample=ticket-110'")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="1 yes").click()
    assert page.locator("#label-title").inner_text() == "Sample 2 of 10"
    name, content = downloaded(page)
    assert name == "labels-faithfulness-20261121T093011-123456-Ann.csv"
    found = records(content)
    samples = {sample.sample_id: sample for sample in ran.samples[9:19]}
    assert [row["id"] for row in found] == [*list(samples)[1:], "ticket-110"]
    assert [row["label"] for row in found] == ["1", *[""] * 9]
    assert {row["drawn"] for row in found} == {CHOSEN}
    for row in found:
        sample = samples[row["id"]]
        assert row["digest"] == answer_digest(sample.answer, sample.contexts)
        assert row["answer"] == sample.answer
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("document.activeElement.dataset.label") == "faithfulness"
    assert page.locator("#samples tbody tr").count() == 10


SAID = (
    "0.6591 >= 0.6000 (95 % interval 0.3881..0.8802, 40 labelled answers, people among themselves "
    "0.7436); not counted: 1 with labels of earlier answers only, 2 on which people are split, "
    "3 without a score",
    "0.7000 >= 0.6000 (95 % interval 0.3881..0.8802, 7 of 40 labelled answers)",
    "0.9000 >= 0.6000 (62 labelled answers, people among themselves 0.9392)",
    "9 labelled answers, 50 are needed: label 41 more (pytest --rag-label 41 draws them)",
    "0 labelled answers, 50 are needed: none of the 30 rows of t1 has a label; if you labelled in "
    "the browser, hand in the file that it downloaded",
    "0 labelled answers, 50 are needed: 2 rows by t1, whom human.annotators does not name: left "
    "out",
    "kappa is undefined: people and the judge use one level only (12 labelled answers)",
    "0.6583 >= 0.6000 (mean by people 0.6583, 95 % interval 0.5246..0.7702, 40 labelled answers; "
    "by the judge alone 0.8000); not sure yet: 60 to 120 labelled answers in all would decide it",
    "0.2 < 0.5; not sure yet, nor would labels of all 80 answers decide it",
    "0.2 < 0.5; people's mean 0.4314 is itself below 0.5: more labels will hardly help",
    "57 of 300 answers changed since labels were drawn: draw 10 of them with "
    "'pytest --rag-label 10' (for instance t1, t2, t3, ...)",
    "f1: cannot be decided: 57 of 300 answers differ from those of main: draw both answers of 10 "
    "of them with 'pytest --rag-label 10' (for instance t1, t2, t3, ...)",
    "3 labelled answers, none known to be drawn at random: say 'drawn: random' if they were, or "
    "draw some (pytest --rag-label 30)",
    "a stratum of 12 samples has 1 labelled answer: draw more (pytest --rag-label 10)",
    "the labels were drawn by strata, and no draws.json beside them has their sizes (no t1): copy "
    "the newest one of --rag-label",
    "0.6364 < 0.9000; of the 33 of 80 samples asked",
    "0.6364 < 0.9000; of the 33 of 80 samples asked, of which the first, in random order, had "
    "decided: passed",
    "f1: no such fall shown (mode significant): by people +0.0300 against main, 95 % interval "
    "-0.0100..+0.0700, 12 changed answers labelled on both sides; by the judge alone +0.0100",
)
KEPT = {
    "kappa",
    "drawn",
    "random",
    "draws",
    "json",
    "pytest",
    "rag",
    "label",
    "significant",
    "main",
    "All",
    "claims",
    "are",
} | {*("supported", "of", "is", "not", "in", "the", "contexts")}


@pytest.mark.full
def test_labelling_and_agreement_fit_a_phone_and_read_well(open_report: Any, axe: str) -> None:
    """In the dark, and in Chinese."""
    options = {"bypass_csp": True, "color_scheme": "dark", "locale": "zh-CN", **PHONE}
    decided = [GateResult(f"g{at}", "failed", None, None, text) for at, text in enumerate(SAID)]
    ran = labelled_result()
    info = replace(ran.info, path="evaluations/of/the/support/bot/in/all/its/languages/bot.yaml")
    page = open_report(replace(ran, info=info, gates=decided), **options)
    page.evaluate(axe)
    rows = "(range, term) => (range.selectNodeContents(term), range.getClientRects().length)"
    lines = f"terms => terms.map((term) => ({rows})(new Range(), term))"
    assert set(page.locator(".facts dt").evaluate_all(lines)) == {1}
    found = violations(page, "#agreement")
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 390
    remarks = page.locator("#agreement .message").all_inner_texts()
    assert "标注者之间：kappa 0.7436" in remarks
    assert "只有一位标注者" in remarks
    for said in [*remarks, *page.locator(".gates .message, .by-people").all_inner_texts()]:
        assert set(re.findall(r"[A-Za-z]{2,}", said)) - KEPT == set(), said
    row = page.locator("#agreement .judged tr", has_text="ticket-111")
    assert row.locator(".asked").all_inner_texts() == list(TEXTS[0][:2])
    page.locator("[data-label]").first.tap()
    assert not page.locator(".keys").is_visible()
    assert page.locator("#label-title").inner_text() == "第 1 个样本，共 60 个"
    assert page.evaluate(wide) <= 390
    assert found + violations(page) == []
