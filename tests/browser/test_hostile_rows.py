"""Whatever stands in the data is shown as text: it runs, fetches and breaks nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from support_rows import FULL, no, source, statement

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    CHOSEN,
    WEIGHTED_SCORE,
    Agreement,
    Bound,
    Disagreement,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.summary import summarize_scenario

ATTACKS = (
    "</script><script>window.pwned = 1</script>",
    "<!--<script>",
    "]]></style><style>* { display: none }</style>",
    '"><img src=x onerror="window.pwned = 1">',
    "<svg onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "<a href='javascript:window.pwned=1'>click</a>",
    "javascript:window.pwned=1",
    "<base href='https://example.invalid/'>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "<link rel=stylesheet href=https://example.invalid/x.css>",
    "{{constructor.constructor('window.pwned=1')()}} {{policy}} {{data}}",
    "${window.pwned=1} `window.pwned=1`",
    "\\u003cscript\\u003e",
    "\u202egnp.exe\u2066\u2067 never closed",
    "\u2028window.pwned=1\u2029",
    "lone \ud83d surrogate \udc00 pair",
    "nul \x00 bell \x07 delete \x7f next line \x85",
    "__proto__",
    "constructor",
    "(none)",
    "",
)
HUGE = "<b onclick=window.pwned=1>long</b> " * 30_000  # 1 MB


NAME = "</title></style><script>window.pwned = 1</script>" + ATTACKS[3]


FIRST = f"0 {ATTACKS[0]}"
LABEL = Label(1.0, ATTACKS[3], CHOSEN, "")
AGREEMENT = Agreement(
    (0.0, 1.0),
    1,
    ((0, 0), (1, 0)),
    why={"kappa": ATTACKS[0]},
    disagreements=[Disagreement(FIRST, 1.0, 0.0, 0.0, 1.0, 1, 1, ATTACKS[3])],
    cells={"1,0": [0]},
    slices={ATTACKS[4]: {ATTACKS[5]: Agreement((0.0, 1.0), 12, ())}},
)


@cache
def hostile() -> ScenarioResult:
    columns = tuple(
        MetricColumn(metric, definition=metric) for metric in (*ATTACKS[:4], "__proto__", "f1")
    )
    samples = [sample(index, text, columns) for index, text in enumerate((*ATTACKS, HUGE))]
    info = ScenarioInfo(
        NAME,
        ATTACKS[3],
        "x",
        columns,
        gates={
            "weighted_score": 0.9,
            "by": {field: {WEIGHTED_SCORE: 0.6} for field in (ATTACKS[1], "constructor")},
        },
        thresholds={"f1": Bound(min=0.5)},
        description=ATTACKS[4] + ATTACKS[14],
        overridden=(ATTACKS[5],),
        warnings=(ATTACKS[0],),
        metadata_columns=(ATTACKS[1], "constructor"),
        human=(HumanLabels(ATTACKS[1], (0.0, 1.0), ATTACKS[0], {FIRST: [LABEL]}),),
        total=len(samples),
        selected=len(samples),
    )
    result = summarize_scenario(info, samples, complete=True)
    result = decide_gates(result, Extent(len(samples), len(samples), len(samples)))
    return replace(result, agreement={ATTACKS[1]: AGREEMENT})


def sample(index: int, text: str, columns: tuple[MetricColumn, ...]) -> SampleResult:
    value = index % 5 / 4
    return SampleResult(
        f"{index} {text}",
        index,
        "passed" if value >= 0.5 else "failed",
        sample_weight=2.0 if index % 2 else 1.0,
        weighted_score=value,
        doc_name=text if index % 3 else None,
        question=text,
        answer=text,
        contexts=(text, HUGE[: 1000 * index]),
        references=(text,),
        metadata={ATTACKS[1]: text, "constructor": [text]},
        scores={column.name: value for column in columns},
        reasons={column.name: text for column in columns},
        details={"f1": {text: [text, None, {"deep": text}]}, "support": support(text)},
        errors={"row": text},
    )


def support(text: str) -> dict[str, Any]:
    """A table with rows too short and too long, unknown origins, levels and sources among them."""
    return {
        "statements": [
            statement("sentence", 1, text, 1),
            statement("constructor", 2, text),
            statement("nugget", 3, text, importance=text),
            statement("sentence", 4, text, lost=[text]),
        ],
        "sources": [source("contexts", 1, docs=[text]), source(text), source("answer")],
        "cells": [[no(text)], [["__proto__", text], None, no(text), FULL], [None, None, no(text)]],
    }


OPEN_ALL = """async () => {
    let opened = 0;
    for (const row of document.querySelectorAll("#samples tbody tr")) {
        row.querySelector("button").click();
        const dialog = document.querySelector("dialog[open]");
        for (const fold of dialog.querySelectorAll("details")) fold.open = true;
        await new Promise(requestAnimationFrame);
        opened += 1;
        dialog.close();
    }
    return opened;
}"""


@pytest.fixture(
    params=[
        pytest.param(False, id="with policy", marks=pytest.mark.full),
        pytest.param(True, id="without policy"),
    ]
)
def page(request: Any, open_report: Any) -> Any:
    """The page, also in a browser that ignores the policy: escaping alone must do."""
    return open_report(hostile(), bypass_csp=request.param)


def test_hostile_rows_run_no_script(page: Any) -> None:
    for field in ("doc_name", ATTACKS[1], "constructor"):
        page.locator("#slices select").first.select_option(field)
    page.locator("#worst .more").click()
    assert page.locator("#worst article").count() == 19  # every fifth of 23 has the best score
    page.evaluate(
        "for (const fold of document.querySelectorAll('#worst details')) fold.open = true"
    )
    opened = page.evaluate(OPEN_ALL)
    assert opened == len(ATTACKS) + 1
    assert page.locator("#worst table.support").count() == 19
    assert page.locator("#worst .stated").first.text_content() == ATTACKS[0]
    page.get_by_role("button", name="中文").click()
    page.get_by_role("searchbox").fill(ATTACKS[0])
    strange = "script:not([src]), img, iframe, link, base, object, embed, a[href^='javascript' i]"
    assert page.locator("#samples tbody tr").count() == 1
    assert page.locator("[data-agreement] .message").first.text_content() == ATTACKS[0]
    for view in ("report", "labels"):
        if view == "labels":
            page.locator("[data-label]").click()
        assert page.locator(f"#page :is({strange})").count() == 0
        assert page.locator("[onclick], [onerror], [onload]").count() == 0
    assert page.locator(".label-row .text").first.text_content() == ATTACKS[0]
    assert page.evaluate("window.pwned") is None


def test_hostile_texts_are_shown_as_they_are(page: Any) -> None:
    for at, text in enumerate(ATTACKS[:8]):
        page.evaluate(f"document.querySelector('[data-sample=\"{at}\"] button').click()")
        shown = page.locator("dialog .block .text")
        assert shown.first.text_content() == text
        page.get_by_role("button", name="Close", exact=True).click()
    assert page.title() == f"{NAME} · rageval"
    assert page.locator("h1").text_content() == NAME


@pytest.mark.full
def test_marks_of_direction_turn_nothing_around_them(open_report: Any) -> None:
    page = open_report(hostile())
    at = ATTACKS.index("\u202egnp.exe\u2066\u2067 never closed")
    row = page.locator(f'[data-sample="{at}"]')
    assert row.locator("th bdi, td [dir=auto]").count() >= 2
    for place in row.locator("bdi, [dir]").all():
        assert place.evaluate("found => getComputedStyle(found).unicodeBidi") == "isolate"


@pytest.mark.full
def test_a_megabyte_is_cut_with_a_note(open_report: Any) -> None:
    page = open_report(hostile())
    page.get_by_role("button", name=re.compile(f"Open sample {len(ATTACKS)} ")).click()
    # 35 characters, 30,000 times
    page.get_by_text("of 1,050,000 characters. results.json has all.").first.wait_for()


def test_the_policy_lets_nothing_else_in(open_report: Any) -> None:
    """The page cannot run what is added to it, nor reach a network."""
    page = open_report(hostile())
    added = page.evaluate(
        """async () => {
            const blocked = [];
            const note = (event) => blocked.push(event.effectiveDirective);
            addEventListener("securitypolicyviolation", note);
            const script = document.createElement("script");
            try { script.textContent = "window.pwned = 1"; document.body.append(script); }
            catch (error) { blocked.push(error.name); }
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.body.append(style);
            try { document.body.innerHTML += "<b>x</b>"; }
            catch (error) { blocked.push(error.name); }
            try { await fetch("http://127.0.0.1:9/"); } catch { blocked.push("fetch"); }
            await new Promise((done) => setTimeout(done, 50));
            return {blocked, pwned: window.pwned, display: getComputedStyle(document.body).display};
        }"""
    )
    assert added["pwned"] is None
    assert added["display"] != "none"
    assert {"fetch", "connect-src", "style-src-elem", "TypeError"} <= set(added["blocked"])
    # What was tried is what the console complains of.
    open_report.watch.problems.clear()
    open_report.watch.requests.clear()


def test_a_result_that_nothing_scored_is_shown(open_report: Any) -> None:
    info = ScenarioInfo("empty", "e.yaml", "e", (MetricColumn("f1"),), total=1, selected=1)
    empty = summarize_scenario(info, [SampleResult("a", 0, "skipped")], complete=True)
    page = open_report(decide_gates(empty, Extent(1, 1, 1)))
    assert "no score" in page.locator(".card.whole").inner_text()
    none = replace(info, total=0, selected=0)
    page = open_report(decide_gates(summarize_scenario(none, [], complete=True), Extent(0, 0, 0)))
    assert "No sample matches" in page.locator("#samples").inner_text()
