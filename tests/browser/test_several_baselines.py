"""[F7] A run that was compared with several saved ones, each under its name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from chromium import violations
from decided_result import decided

from pytest_rageval.model import ScenarioResult

# Of 24 samples s0 fell since main, s0 to s13 since the release; s10 rose since main.
NOW = (0.25, *(0.5,) * 23)
MAIN = (0.5,) * 10 + (0.25,) + (0.5,) * 13
RELEASE = (1.0,) * 14 + (0.5,) * 10
GATES = {"no_regression": {"metrics": ["f1"]}}


def compared(looks: int = 50) -> ScenarioResult:
    """Return a run that is compared with main, and with a release that many runs share."""
    questions = [f"What is question {at}?" for at in range(24)]
    scores = {"before": {"f1": MAIN}, "pinned": {"f1": RELEASE}}
    return decided({"f1": NOW}, GATES, looks=looks, questions=questions, **scores)


def said(page: Any, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


def test_what_broke_against_which_comes_first(open_report: Any) -> None:
    """Of the 14 that are worse than the release 13 had fallen in main; 29 / 96 = 0.3021."""
    page = open_report(compared())
    assert said(page, "#comparison .against li") == [
        "release-1.4 ▼ worse f1 -0.3021 By f1 against release-1.4: 14 worse, 0 better, 10 equal. "
        "13 of the worse had already fallen in main.",
        "main By f1 against main: 1 worse, 1 better, 22 equal.",
    ]
    assert said(page, "#comparison h3") == ["release-1.4", "main"]
    assert page.locator("#comparison table.comparison").count() == 2
    assert "no_regression.release-1.4.f1" in page.locator("#verdict .failures").inner_text()


def test_looks_are_said_with_the_alpha_that_they_share(open_report: Any) -> None:
    """0.05 / 50 = 0.001."""
    page = open_report(compared())
    pinned, main = said(page, "#comparison .hint")
    assert "alpha 0.001 (one of 50 looks, which share 0.05)" in pinned
    assert "alpha 0.05;" in main
    heads = [" ".join(said(part, "thead")) for part in page.locator("#comparison table").all()]
    assert "99.9 % interval" in heads[0]
    assert "95 % interval" in heads[1]


def test_a_confidence_is_never_rounded_to_100(open_report: Any) -> None:
    """0.05 / 100 = 0.0005: 99.95 %."""
    page = open_report(compared(100))
    assert "99.95 % interval" in page.locator("#comparison thead").first.inner_text()


def test_the_worst_answers_are_those_since_the_baseline_of_the_failed_gate(
    open_report: Any,
) -> None:
    """Each card says what the score was in every baseline."""
    page = open_report(compared())
    assert page.locator(".against-which select").input_value() == "1"
    first = page.locator("#worst article").first.inner_text().split()
    assert " ".join(first[:7]) == "s0 release-1.4 1.0000 → 0.2500 main 0.5000"
    assert page.locator('[data-view="worse"]').inner_text() == "Worse (14)"

    page.locator(".against-which select").select_option(label="main")
    assert page.locator('[data-view="worse"]').inner_text() == "Worse (1)"
    assert page.evaluate("document.activeElement.closest('.against-which') !== null")
    page.locator('[data-view="better"]').click()
    assert "s10" in page.locator("#worst article").inner_text()


def test_differences_of_a_baseline_are_its_own(open_report: Any) -> None:
    page = open_report(compared())
    assert said(page, "#comparison .legend") == [
        "better: 0 equal: 10 worse: 14 -0.7500 … +0.0000",
        "better: 1 equal: 22 worse: 1 -0.2500 … +0.2500",
    ]


def test_one_baseline_alone_is_shown_without_choices(open_report: Any) -> None:
    page = open_report(decided({"f1": NOW}, GATES, before={"f1": MAIN}))
    assert (
        page.locator(".against, .against-which, #comparison [id^=comparison-]:not(h2)").count() == 0
    )
    assert page.locator("#comparison h2").inner_text() == "Comparison"
    change = page.locator("#worst article .change").first.inner_text()
    assert change == "0.5000 → 0.2500"


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 800}},
        {"viewport": {"width": 390, "height": 780}},
        {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 780}, "locale": "zh-CN"},
    ],
)
def test_axe_finds_nothing(open_report: Any, axe: str, options: dict[str, Any]) -> None:
    page = open_report(compared(), reduced_motion="reduce", bypass_csp=True, **options)
    page.evaluate(axe)
    assert violations(page, "html", ("minor", "moderate", "serious", "critical")) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_in_chinese_too(open_report: Any) -> None:
    page = open_report(compared(), locale="zh-CN")
    assert "显著性水平 0.001（共 50 次检验，合计 0.05）" in said(page, "#comparison .hint")[0]
    pinned, _ = said(page, "#comparison .against li")
    assert "变差的样本中有 13 个在 main 中已经变差。" in pinned
    shown = " ".join(said(page, "#comparison, #verdict .failures, #gates .message"))
    words = set(re.findall("[A-Za-z]{2,}", shown.replace("release-1.4", "")))
    assert words <= {"main", "max", "no", "regression", "significant", "drop"}, words
    assert "检出变差 0.02（检验效能 80%）：约需 " in shown
