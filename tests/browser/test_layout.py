"""Where things lie on the page: measured in windows from a phone's to a wide screen's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.engine.verdict.decide import Extent
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparing,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports import page as page_package

NAMES = (
    "context_entity_recall_weighted_by_document",
    "faithfulness",
    "nDCG@10",
    "answer relevancy to the customer's question",
    "上下文相关性与答案忠实度综合得分",
    "ContextPrecisionWithReference",
    "hit_rate@5",
    "semantic_similarity_of_answer_and_reference",
    "rouge-l",
    "response_groundedness",
    "mean reciprocal rank",
    "claim_recall(model=large)",
)
QUESTIONS = (
    "How long does a refund to a credit card take after the parcel has come back to the store?",
    "Which warranty covers a battery that lost more than a third of its capacity?",
    "退货后多久可以收到退款，运费由谁承担？",
    "Where is my order?",
)
DOCS = ("returns-and-refunds-policy-2026.pdf", "warranty.pdf", "配送与运费说明（第三版）.pdf")
ASSETS = Path(page_package.__path__[0], "assets")
SPEAKING = ("words.js", "run_words.js")
FATES = ("passed", "passed", "failed", "error", "passed", "invalid", "xfailed", "skipped")


def crowded(weigh: Callable[..., ScenarioResult], count: int) -> ScenarioResult:
    """A failed run of ``count`` metrics with all that a page can show; the baseline was better."""
    names = NAMES[:count]
    samples = list(crowded_samples(names, 32))
    ids = [sample.sample_id for sample in samples]
    then = {name: {id_: 0.9 - at % 5 / 50 for at, id_ in enumerate(ids)} for name in names}
    info = ScenarioInfo(
        "support-bot-answers",
        "eval/support_bot/answers.rageval.yaml",
        "answers.rageval.yaml",
        tuple(MetricColumn(name) for name in names),
        description="Answers of the support bot to questions of customers 客户问题",
        gates={
            WEIGHTED_SCORE: 0.75,
            names[0]: {"mean": 0.7, "lower_bound": 0.3},
            "pass_rate": 0.5,
            "by": {"doc_name": {WEIGHTED_SCORE: 0.3}, "level": {names[-1]: 0.3}},
            "no_regression": {"baseline": "release-2026-10", "max_drop": 0.02, "min_pairs": 0.5},
        },
        thresholds={WEIGHTED_SCORE: Bound(min=0.5), names[0]: Bound(min=0.2)},
        metadata_columns=("level", "customer"),
        total=len(samples),
        selected=len(samples),
        group_by="customer",
        compare=(Comparing("release-2026-10"),),
        baselines={
            "release-2026-10": Baseline(
                "release-2026-10", ids, {**then, WEIGHTED_SCORE: dict.fromkeys(ids)}
            )
        },
    )
    weights = {name: round(1 / (at + 1), 2) for at, name in enumerate(names)}
    return weigh(info, samples, weights, {DOCS[0]: 2.0, DOCS[2]: 0.5})


def crowded_samples(names: tuple[str, ...], n: int) -> Iterator[SampleResult]:
    """Each fate in its turn; what failed has 0.2 to 0.4, what passed 0.6 to 1.0."""
    for at, fate, question, doc in zip(range(n), cycle(FATES), cycle(QUESTIONS), cycle(DOCS)):
        low = 0.2 if fate in ("failed", "xfailed") else 0.6
        scores: dict[str, float | None] = {
            name: round(low + (at + 3 * number) % 5 * (1 - low) / 8, 4)
            for number, name in enumerate(names)
        }
        errors = {}
        if fate in ("invalid", "skipped"):
            scores = dict.fromkeys(names)
        if fate == "invalid":
            errors = {"row": "no answer, without which no metric can score it"}
        if fate == "error":
            scores[names[0]] = None
            errors = {names[0]: "the judge did not answer within 60 s, 4 attempts"}
        yield SampleResult(
            f"customer-question-{at:04d}",
            at,
            "error" if fate == "invalid" else fate,  # type: ignore[arg-type]
            question=question,
            answer="Within five working days after the parcel has arrived.",
            contexts=("Refunds take five working days.", "Shipping is free from 40 euros."),
            references=("Five working days.",),
            doc_name=doc,
            metadata={"level": ("easy", "hard")[at % 2], "customer": f"c{at % 9}"},
            scores=scores,
            errors=errors,
            reasons={names[-1]: "2 of 3 claims are supported by the contexts."},
            invalid=errors.get("row"),
            row=at + 1,
            xfail="known: https://tracker.invalid/1" if fate == "xfailed" else None,
        )


SIZES = [
    pytest.param(1, (390, 1280), id="1 metric"),
    pytest.param(5, (390, 768, 1280), id="5 metrics", marks=pytest.mark.full),
    pytest.param(12, (390, 768, 1280, 1920), id="12 metrics"),
]
MEASURE = r"""(selector) => {
    const root = document.querySelector(selector);
    const problems = [];
    const say = (what, element) => problems.push(`${what}: ${element.textContent.slice(0, 60)}`);
    const inner = innerWidth + 0.5;
    if (document.documentElement.scrollWidth > inner) problems.push("the page is wider");
    for (const element of root.querySelectorAll("*")) {
        if (element.closest(".contents ul, .unseen, svg")) continue;
        const scroll = element.parentElement.closest(".scroll");
        if (!scroll && element.getBoundingClientRect().right > inner) say("wider", element);
    }
    for (const cell of document.querySelectorAll(".outcome-cell, [data-column='own outcome']"))
        if (cell.getBoundingClientRect().right > inner) say("outcome outside", cell);

    const shown = (node, rect) => {
        let {left, top, right, bottom} = rect;
        for (let at = node.parentElement; at; at = at.parentElement) {
            if (getComputedStyle(at).overflow === "visible") continue;
            const box = at.getBoundingClientRect();
            [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
            [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
        }
        return {left, top, right, bottom};
    };
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const boxes = [];
    const owners = new Set();
    while (texts.nextNode()) {
        const node = texts.currentNode;
        owners.add(node.parentElement.closest("bdi") ?? node.parentElement);
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const rect of range.getClientRects()) {
            const box = shown(node, rect);
            if (box.right - box.left > 2 && box.bottom - box.top > 2) boxes.push([box, node]);
        }
    }
    boxes.sort(([a], [b]) => a.top - b.top);
    boxes.forEach(([a, node], at) => {
        for (const [b, other] of boxes.slice(at + 1)) {
            if (b.top > a.bottom - 3) break;
            if (node !== other && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2)
                say(`over ${other.textContent}`, node);
        }
    });

    const word = /\p{Lu}?[\p{Ll}\p{N}]+|[\p{Lu}\p{N}]+/gu;
    for (const owner of owners) {
        const nodes = [...owner.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        const place = (index) => {
            for (const node of nodes) {
                if (index <= node.length) return [node, index];
                index -= node.length;
            }
        };
        for (const found of nodes.map((node) => node.data).join("").matchAll(word)) {
            if (found[0].length > 24) continue;
            const range = document.createRange();
            range.setStart(...place(found.index));
            range.setEnd(...place(found.index + found[0].length));
            const rects = [...range.getClientRects()].filter((rect) => rect.width > 0);
            const isBroken = rects.some((rect) => rect.top > rects[0].bottom - 3);
            if (isBroken) say(`broken ${found[0]}`, owner);
        }
    }
    return [...new Set(problems)];
}"""


@pytest.mark.full
@pytest.mark.parametrize(("count", "widths"), SIZES)
def test_nothing_overlaps_breaks_or_leaves_the_window(
    open_report: Any, weigh: Callable[..., ScenarioResult], count: int, widths: tuple[int, ...]
) -> None:
    """[U1] In both languages; tables may scroll in their boxes, their Outcome is always there.

    The more metrics, the less room: fewer of them are measured at the ends of the range alone.
    """
    page = open_report(crowded(weigh, count))
    for language in ("en", "zh-Hans"):
        assert page.evaluate("document.documentElement.lang") == language
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            assert (width, page.evaluate(MEASURE, "#page")) == (width, [])
        page.locator("#samples tbody button").first.click()
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert (width, page.evaluate(MEASURE, "dialog[open]")) == (width, [])
        page.keyboard.press("Escape")
        page.locator(".tools button:last-child").click()


def test_five_metrics_fit_a_laptop(open_report: Any, weigh: Callable[..., ScenarioResult]) -> None:
    """[U1] All columns are in the table, which is as wide as the sections above it (P2)."""
    page = open_report(crowded(weigh, 5), viewport={"width": 1280, "height": 800})
    heads = page.locator("#samples thead th bdi").all_inner_texts()
    assert heads[:5] == ["#", "Sample", "Outcome", "Question", "Answer"]
    for width in (1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        box = page.locator("#samples .scroll").bounding_box()
        assert box["width"] == min(width, 1320) - 48
        edges = page.locator("main > section").evaluate_all(
            "sections => sections.map((one) => one.getBoundingClientRect().left)"
        )
        assert len(set(edges)) == 1
        last = page.locator("#samples thead th").last.bounding_box()
        assert last["x"] + last["width"] <= box["x"] + box["width"]


def test_the_sample_stays_in_sight_where_the_table_scrolls(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[U1]"""
    page = open_report(crowded(weigh, 12), viewport={"width": 1280, "height": 800})
    box = page.locator("#samples .scroll")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    last = page.locator("#samples thead th").last.bounding_box()
    assert last["x"] + last["width"] <= 1280
    first = page.locator("#samples tbody th").first.bounding_box()
    assert first["x"] == pytest.approx(box.bounding_box()["x"], abs=2)


def test_a_failed_run_opens_with_its_worst_samples(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[U1] Errors, failures, the rest; of one outcome the lowest score first, equal ones as in
    the data. One that passed keeps the order of the data.
    """
    ran = crowded(weigh, 1)
    # By hand: failed at 2, 10, 18, 26 with 0.2 + 0.1 * (at % 5).
    failed = [10, 26, 2, 18]
    page = open_report(ran)
    shown = page.locator("#samples tbody th").all_inner_texts()
    errors = [3, 5, 11, 13, 19, 21, 27, 29]
    assert shown[:12] == [f"customer-question-{at:04d}" for at in (*errors, *failed)]
    assert page.locator("th[aria-sort=ascending]").inner_text() == "Outcome▲"
    page.get_by_role("button", name="#", exact=True).click()
    shown = page.locator("#samples tbody th").all_inner_texts()
    assert shown == [sample.sample_id for sample in ran.samples]

    good = [sample for sample in ran.samples if sample.outcome == "passed"]
    info = replace(ran.info, gates={}, compare=(), baselines={}, total=len(good))
    page = open_report(weigh(info, good, {NAMES[0]: 1.0}, {}))
    assert page.locator(".verdict.passed").count() == 1
    shown = page.locator("#samples tbody th").all_inner_texts()
    assert shown == [sample.sample_id for sample in good]


def test_an_error_is_called_error(open_report: Any, weigh: Callable[..., ScenarioResult]) -> None:
    """[U1] 4 of 32 samples failed, 8 are errors: 4 invalid rows, 4 that the judge left without."""
    page = open_report(crowded(weigh, 5))
    verdict = page.locator(".verdict .why")
    assert "samples failed: 4 · sample errors: 8" in verdict.inner_text()
    assert page.locator('[data-filter="outcomes failed"]').inner_text().split()[-1] == "4"
    assert page.locator('[data-filter="outcomes error"]').inner_text().split()[-1] == "8"
    card = page.locator(f'[data-target="{NAMES[0]}"]').inner_text()
    assert "Errors\n8" in card
    assert "Failed" not in card
    page.locator(".tools button:last-child").click()
    assert "未通过的样本：4 · 出错的样本：8" in verdict.inner_text()


def test_an_invalid_row_has_its_question(open_report: Any, tmp_path: Path) -> None:
    """[U1] In the table, and by search."""
    path = tmp_path / "bot.rageval.yaml"
    path.write_text(
        "name: bot\nmetrics: [f1]\ndataset:\n"
        "  - {id: a, question: How long?, answer: ten days, references: [ten days]}\n"
        "  - {id: b, question: Which warranty?, references: [two years]}\n",
        "utf-8",
    )
    page = open_report(evaluate(path))
    page.get_by_role("searchbox").fill("warranty")
    (row,) = page.locator("#samples tbody tr").all()
    assert row.locator("th, .badge, .question").all_inner_texts() == [
        "b",
        "⚠ error",
        "Which warranty?",
    ]


def test_figures_of_a_comparison_keep_their_names_on_a_phone(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[U1] n is how many pairs there are: 32 but 4 errors, 4 invalid and 4 skipped samples."""
    page = open_report(crowded(weigh, 1), viewport={"width": 390, "height": 800})
    row = page.locator(".comparison tbody tr").first
    cells = row.locator(".number").evaluate_all(
        "cells => cells.map((cell) => getComputedStyle(cell, '::before').content + cell.innerText)"
    )
    assert cells[0].startswith('"A "')
    assert cells[-1] == '"n "20'


KEPT = (
    *("weighted_score", "doc_name", "level", "easy", "hard", "release-2026-10", *DOCS),
    *("gates", "unscored", "min_pairs", "max_drop", "undecided", "pass", "significant", "max-T"),
)


@pytest.mark.full
def test_what_the_run_said_is_in_chinese_too(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[U1] Verdicts that the page does not compute anew; names, keys and values stay."""
    ran = crowded(weigh, 5)
    weights = {column.name: column.weight for column in ran.info.metrics}
    info = ran.info
    no_regression = {"baseline": "release-2026-10", "metrics": [WEIGHTED_SCORE, "faithfulness"]}
    by = {"level": {"no_regression": no_regression}}
    few = replace(info, gates={**info.gates, "no_regression": no_regression, "by": by})
    part = Extent(32, 31, 31)
    known = re.compile("|".join(map(re.escape, (*NAMES, *KEPT))))
    for found in (
        ran,
        weigh(few, ran.samples, weights, info.doc_weights),
        weigh(info, ran.samples, weights, info.doc_weights, part),
        weigh(replace(info, baselines={}), ran.samples, weights, info.doc_weights),
    ):
        page = open_report(found, locale="zh-CN", viewport={"width": 1280, "height": 800})
        for said in page.locator(".gates .message, .comparison .note").all_inner_texts():
            assert set(re.findall(r"[A-Za-z]{2,}", known.sub("", said))) == set(), said
    page = open_report(ran, locale="zh-CN")
    row = page.locator(".gates tr", has_text="no_regression")
    (a, drop) = row.locator(".number").first.inner_text(), "0.0200"
    mean = f"{ran.weighted_score.mean:.4f}"
    # 2 ** -8: the smallest p of 9 groups whose differences all have one sign, both ways
    assert row.locator(".message").inner_text() == (
        f"weighted_score：变差，A {mean}，B 0.8625（release-2026-10），差值 {a}，p 0.0039，"
        f"n = 20，共 9 组；模式 significant，max_drop {drop}"
    )


def test_few_differences_and_few_pairs_are_said_in_chinese(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[U1] Brackets are full-width, every number has its unit, and nothing is said twice."""
    page = open_report(crowded(weigh, 1))
    few = "3 {}: p cannot fall below 0.25; 6 would be needed for 0.05"
    needed = "3 {}：p 不可能低于 0.25；要达到 0.05 至少需要 6 {}"
    why = "4 {} cannot reach p < 0.05, whatever the scores; 6 can"
    undecided = "f1: undecided, A 0.5000, B 0.7500 (main), difference -0.2500, p 0.2500, n 4"
    begin = "f1：无法判定，A 0.5000，B 0.7500（main），差值 -0.2500，p 0.2500，n = 4"
    said = {
        few.format("samples differ"): needed.format("个样本有差异", "个"),
        f"p 0.2500, n 12 ({few.format('groups differ')})": (
            f"p 0.2500，n = 12（{needed.format('组有差异', '组')}）"
        ),
        f"{undecided}; cannot be decided: {why.format('pairs')}": (
            f"{begin}；原因：4 对样本无论结果如何都达不到 p < 0.05；至少需要 6 对样本"
        ),
        f"{undecided}; cannot be decided: {why.format('groups')}": (
            f"{begin}；原因：4 组无论结果如何都达不到 p < 0.05；至少需要 6 组"
        ),
        "there are no slices to look at; not in main, left out: a, b": (
            "没有可供检查的分组；main 中没有，未计入：a, b"
        ),
        "7 of 8 values of level: a: 0.1 < 0.5; and 2 more; not in main, left out: b and 3 more": (
            "level 的 8 个取值中 7 个未通过：a：0.1 < 0.5；另有 2 个；"
            "main 中没有，未计入：b，另有 3 个"
        ),
    }
    lacking = ["回答", "f1"]
    found = page.evaluate(
        f"""([texts, names]) => {{
            {"".join((ASSETS / name).read_text("utf-8") for name in SPEAKING)}
            language = "zh";
            return [
                texts.map(runSaid),
                names.map((name) => say("missing_on", {{ name: afterWords(name), n: 2 }})),
            ];
        }}""",
        [list(said), lacking],
    )
    assert found[0] == list(said.values())
    assert found[1] == ["2 个样本缺少回答", "2 个样本缺少 f1"]
