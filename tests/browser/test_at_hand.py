"""The page at hand: by keyboard, on a phone, read out, in two languages, and without waiting."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import PHONE, violations

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparing,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.write_run import write_run

COLUMNS = (MetricColumn("f1", 0.6), MetricColumn("faithfulness", 0.4))
ALL = ("minor", "moderate", "serious", "critical")
WINDOWS = [
    pytest.param({"color_scheme": "light"}, id="light", marks=pytest.mark.full),
    pytest.param({"color_scheme": "dark"}, id="dark", marks=pytest.mark.full),
    pytest.param({"locale": "zh-CN", **PHONE}, id="phone, Chinese"),
]


def made_result(weigh: Callable[..., ScenarioResult], n: int = 24) -> ScenarioResult:
    rng = random.Random(n)
    words = "refund order battery invoice shipping warranty screen password address store".split()
    samples = [
        SampleResult(
            f"q-{index:04d}",
            index,
            ("passed", "failed", "error", "xfailed", "skipped")[rng.choice([0, 0, 0, 1, 2, 3, 4])],
            question=f"How about {rng.choice(words)} {index}?",
            answer=" ".join(rng.choices(words, k=40)),
            contexts=tuple(" ".join(rng.choices(words, k=60)) for _ in range(4)),
            references=(" ".join(rng.choices(words, k=20)),),
            doc_name=rng.choice(["returns.pdf", "shipping.pdf", None]),
            metadata={"level": rng.choice(["easy", "hard"])},
            scores={"f1": rng.random(), "faithfulness": rng.choice([0.0, 0.5, 1.0, None])},
            reasons={"faithfulness": "1 of 2 claims is supported"},
        )
        for index in range(n)
    ]
    ids = [sample.sample_id for sample in samples]
    scores = {column.name: {name: rng.random() for name in ids} for column in COLUMNS}
    info = ScenarioInfo(
        "support-bot",
        "support-bot.rageval.yaml",
        "support-bot.rageval.yaml",
        COLUMNS,
        description="answers of the support bot",
        gates={
            "weighted_score": 0.5,
            "f1": 0.9,
            "no_regression": {"baseline": "main", "max_drop": 0.5},
        },
        thresholds={WEIGHTED_SCORE: Bound(min=0.4)},
        metadata_columns=("level",),
        total=n,
        selected=n,
        compare=(Comparing("main"),),
        baselines={"main": Baseline("main", ids, {**scores, WEIGHTED_SCORE: dict.fromkeys(ids)})},
    )
    return weigh(info, samples, {"f1": 0.6, "faithfulness": 0.4}, {"returns.pdf": 2.0})


@pytest.mark.full
@pytest.mark.parametrize("options", WINDOWS)
def test_axe_finds_nothing(
    open_report: Any, weigh: Callable[..., ScenarioResult], axe: str, options: dict[str, Any]
) -> None:
    """With weights changed, which adds to what the page opens with, and in an open sample."""
    page = open_report(made_result(weigh), reduced_motion="reduce", bypass_csp=True, **options)
    page.evaluate(axe)
    page.locator("#weights input[type=number]").first.fill("3")
    page.locator(".changed-bar:not([hidden])").wait_for()
    found = violations(page, "html", ALL)
    page.locator("#samples tbody button").first.click()
    page.locator("dialog[open]").wait_for()
    found += violations(page, "dialog[open]", ALL)
    assert found == []


def test_the_page_fits_a_phone(open_report: Any, weigh: Callable[..., ScenarioResult]) -> None:
    page = open_report(made_result(weigh), **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#samples tbody button").first.tap()
    page.locator("dialog[open]").wait_for()
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    reason = page.locator("dialog").get_by_text("1 of 2 claims is supported").bounding_box()
    assert reason["x"] + reason["width"] <= 390
    page.get_by_role("button", name="Close", exact=True).tap()


@pytest.mark.parametrize("width", [768, 1024, 1280])
def test_wide_tables_scroll_by_themselves(
    open_report: Any, weigh: Callable[..., ScenarioResult], width: int
) -> None:
    """Twelve metrics are more than a tablet or a laptop shows; the page stays where it is."""
    columns = tuple(MetricColumn(f"a metric with a long name {at}") for at in range(12))
    samples = [
        SampleResult(f"s{at}", at, question="q?", scores={column.name: 0.5 for column in columns})
        for at in range(5)
    ]
    info = ScenarioInfo("wide", "wide.yaml", "wide.yaml", columns, total=5, selected=5)
    ran = weigh(info, samples, {column.name: 1.0 for column in columns}, {})
    page = open_report(ran, viewport={"width": width, "height": 800})
    table = "document.querySelector('#samples .scroll')"
    assert page.evaluate(f"{table}.scrollWidth > {table}.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_is_done_by_keyboard(open_report: Any, weigh: Callable[..., ScenarioResult]) -> None:
    page = open_report(made_result(weigh))
    keys = page.keyboard
    keys.press("Tab")
    assert focused(page) == "Skip to the content"
    keys.press("Enter")
    assert page.evaluate("location.hash") == "#main"

    page.get_by_role("slider", name="Weight of f1, slider").focus()
    keys.press("ArrowRight")
    page.get_by_role("region", name="Weights changed").wait_for()
    assert page.evaluate("document.activeElement.type") == "range"

    head = page.get_by_role("button", name="f1", exact=True)
    head.focus()
    keys.press("Enter")
    assert sorted_by(page) == ("f1", "ascending")
    keys.press("Enter")
    assert sorted_by(page) == ("f1", "descending")

    first = page.locator("#samples tbody button").first
    name = first.inner_text()
    first.focus()
    keys.press("Enter")
    assert page.locator("dialog h2").inner_text() == name
    keys.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    assert focused(page) == name


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def sorted_by(page: Any) -> tuple[str, str]:
    found = page.locator("th[aria-sort=ascending], th[aria-sort=descending]")
    assert found.count() == 1
    return found.locator("bdi").inner_text(), found.get_attribute("aria-sort")


@pytest.mark.full
def test_samples_are_found_filtered_and_paged(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    result = made_result(weigh, 120)
    page = open_report(result)
    rows = page.locator("#samples tbody tr")
    assert rows.count() == 50
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert rows.count() == 20
    assert "101–120" in page.locator(".pager").inner_text()

    search = page.get_by_role("searchbox")
    search.fill("HOW ABOUT ７７?")  # any case, full width as half width
    assert [row.split("\t")[1] for row in rows.all_inner_texts()] == ["q-0077"]
    search.fill("")

    failed = [sample for sample in result.samples if sample.outcome == "failed"]
    page.locator('[data-filter="outcomes failed"]').click()
    assert rows.count() == min(len(failed), 50)
    bad = [one for one in failed if (one.weighted_score or 0) < 0.6 and one.weighted_score]
    page.locator('[data-filter="bands bad"]').click()
    assert rows.count() == len(bad)
    page.get_by_role("button", name="Clear filters").click()

    page.get_by_role("button", name="Weighted score", exact=True).click()
    scores = sorted(one.weighted_score for one in result.samples if one.weighted_score is not None)
    shown = [cell.split()[0] for cell in rows.locator(".weighted").all_inner_texts()]
    assert shown == [f"{score:.4f}" for score in scores[:50]]

    # What has no score stands last, in both directions.
    for first in ("0.0000", "1.0000"):
        page.get_by_role("button", name="faithfulness", exact=True).click()
        assert rows.first.locator(".metric").last.inner_text().split()[0] == first
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Next").click()
        assert rows.last.locator(".metric").last.inner_text() == "–"


def test_groups_show_the_worst_first(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    page = open_report(made_result(weigh))
    page.locator("#slices select").first.select_option("level")
    rows = page.locator("#slices tbody tr")
    means = [float(row.split("\t")[1].split()[0]) for row in rows.all_inner_texts()]
    assert len(means) == 2
    assert means == sorted(means)
    rows.first.get_by_role("button").click()
    value = rows.first.get_by_role("button").inner_text()
    assert f"level: {value}" in page.locator(".filters").inner_text()


@pytest.mark.full
def test_the_language_is_the_browsers(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    result = made_result(weigh)
    english = open_report(result, locale="de-DE")
    assert english.locator("#weights-title").inner_text() == "Weights"
    chinese = open_report(result, locale="zh-TW")
    assert chinese.locator("#weights-title").inner_text() == "权重"
    assert chinese.evaluate("document.documentElement.lang") == "zh-Hans"
    chinese.get_by_role("button", name="English").click()
    assert chinese.locator("#weights-title").inner_text() == "Weights"


def test_colours_are_the_systems_or_chosen(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    page = open_report(made_result(weigh, 5), color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Colours: system").click()
    light = page.evaluate(paper)
    assert light != dark
    page.get_by_role("button", name="Colours: light").click()
    assert page.evaluate(paper) == dark


def test_a_link_opens_a_sample(open_report: Any, weigh: Callable[..., ScenarioResult]) -> None:
    page = open_report(made_result(weigh, 5))
    page.goto(f"{page.url}#sample=q-0003")
    page.reload()
    assert page.locator("dialog h2").inner_text() == "q-0003"
    # Followed where the report is open already, be it with a sample or without.
    page.evaluate("location.hash = '#sample=q-0001'")
    page.locator("dialog h2", has_text="q-0001").wait_for()
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#sample=q-0002'")
    page.locator("dialog h2", has_text="q-0002").wait_for()


def test_the_trend_is_drawn_from_two_runs_on(
    open_report: Any, weigh: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    result = made_result(weigh, 12)
    folders = [
        write_run(
            result,
            RunInfo(f"2026112{day}T000000-000000", f"2026-11-2{day}T00:00:00", "", "0.1.0"),
            tmp_path,
            tmp_path / "runs",
            ["report.html"],
        )
        for day in (1, 2)
    ]
    assert open_report.open(folders[0] / "report.html").locator("#trend").count() == 0
    second = open_report.open(folders[1] / "report.html")
    mean = f"{result.weighted_score.mean:.4f}"
    label = f"Weighted score over 2 runs: first {mean}, last {mean}"
    assert second.get_by_role("img", name=label).locator("circle").count() == 2


@pytest.mark.full
def test_5000_samples_open_with_their_first_page(
    open_report: Any, weigh: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    page = open_report(made_result(weigh, 5000))
    assert page.locator("#samples tbody tr").count() == 50
