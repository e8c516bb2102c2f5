"""E21: the causes of low answers on the page: in a sample, as a group, as a filter, in Chinese."""

from __future__ import annotations

from typing import Any

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import Diagnosis, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.summary import summarize_scenario

CAUSES: list[Any] = ["retrieval", None, "retrieval", "unfaithful"]
REASONS = [
    "no context holds it",
    "",
    "no context holds it",
    "the contexts hold the reference, but not what the answer says: seven, days",
]


def test_causes_are_shown_and_filter_the_samples(open_report: Any) -> None:
    """E21: two answers are low because of retrieval."""
    samples = [
        SampleResult(
            f"q{at}",
            at,
            weighted_score=0.9 if cause is None else 0.1,
            scores={"f1": 0.9 if cause is None else 0.1},
            cause=cause,
            cause_reason=reason,
        )
        for at, (cause, reason) in enumerate(zip(CAUSES, REASONS, strict=True))
    ]
    info = ScenarioInfo("s", "s", "s", (MetricColumn("f1"),), total=4, diagnose=Diagnosis())
    page = open_report(
        decide_gates(summarize_scenario(info, samples, complete=True), Extent(4, 4, 4)),
        locale="zh-CN",
    )
    assert page.locator("#slices select").first.locator("option").all_inner_texts() == ["原因"]
    page.locator("#slices tbody button", has_text="检索").click()
    assert page.locator("#samples tbody tr").count() == 2
    page.locator("#samples tbody button").first.click()
    dialog = page.locator("dialog[open]")
    assert "检索：上下文中没有参考答案。" in dialog.inner_text()
    assert "no context holds it" in dialog.inner_text()
    assert "retrieval" not in dialog.inner_text()
    page.get_by_role("button", name="关闭").click()
    page.get_by_role("button", name="清除筛选").click()
    page.locator("#samples tbody button").last.click()
    said = dialog.inner_text()  # once, in one language
    assert "不忠实：上下文中有参考答案，但没有回答所说的：seven、days" in said
    assert "contexts hold" not in said


CLAIM = "1 reference claim is in no context"
HAD = "are in contexts[1], contexts[2] and 2 more and not in the answer"
LACKING = "the answer lacks nuggets: "
IN_CHINESE = {
    CLAIM: "检索：参考答案的 1 项主张在上下文中没有",
    f"3 reference claims are in no context, 2 {HAD}": (
        "检索：参考答案的 3 项主张在上下文中没有，参考答案的 2 项主张在 "
        "contexts[1], contexts[2] 等（另有 2 个） 中有，回答中却没有"
    ),
    f"2 answer claims are in no context and not in the reference, {CLAIM}": (
        "检索：回答的 2 项主张在上下文和参考答案中都没有，参考答案的 1 项主张在上下文中没有"
    ),
    f'{LACKING}2 that no context has ("a "b" (c)"), 1 that the contexts have ("d")': (
        '检索：回答缺少要点：2 个上下文中没有（"a "b" (c)"），1 个上下文中有（"d"）'
    ),
    f'{LACKING}1 that the contexts have ("d")': '检索：回答缺少要点：1 个上下文中有（"d"）',
}


def test_causes_by_claims_and_nuggets_are_told_in_chinese(open_report: Any) -> None:
    """In general a cause speaks of the reference; these are of parts of it."""
    samples = [
        SampleResult(
            f"q{at}",
            at,
            weighted_score=0.1,
            scores={"f1": 0.1},
            cause="retrieval",
            cause_reason=reason,
        )
        for at, reason in enumerate(IN_CHINESE)
    ]
    n = len(samples)
    info = ScenarioInfo("s", "s", "s", (MetricColumn("f1"),), total=n, diagnose=Diagnosis())
    result = decide_gates(summarize_scenario(info, samples, complete=True), Extent(n, n, n))
    page = open_report(result, locale="zh-CN")
    for at, expected in enumerate(IN_CHINESE.values()):
        page.locator("#samples tbody button").nth(at).click()
        dialog = page.locator("dialog[open]")
        assert expected in dialog.inner_text()
        page.get_by_role("button", name="关闭").click()
