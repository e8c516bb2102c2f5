"""The support table of an answer: what is wrong first, beside what its source says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from chromium import PHONE, violations
from support_rows import ANSWER, CONTEXTS, FULL, TABLE, answered, no, source, statement

from pytest_rageval.model import (
    Bound,
    Contest,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.page import support
from pytest_rageval.reports.page.pages import variants_page
from pytest_rageval.stats.variant_ranking import rank_variants

Weigh = Callable[..., ScenarioResult]


def made(weigh: Weigh, samples: Sequence[SampleResult], **info: Any) -> ScenarioResult:
    n = len(samples)
    given = ScenarioInfo(
        "support-bot",
        "s.yaml",
        "s.yaml",
        (MetricColumn("f1"),),
        thresholds={"f1": Bound(min=0.5)},
        total=n,
        selected=n,
        **info,
    )
    return weigh(given, samples, {"f1": 1.0}, {})


def texts(page: Any, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


WRONG = [
    "✕ [2] does not support it sentence 1 of the answer",
    "✕ in no context and not in the reference claim 1 of the answer",
    "✕ missing in the answer, though [2] has it claim 1 of the reference",
    "½ only in part in the answer nugget 1, vital",
    "✕ cites no source sentence 3 of the answer",
]


def test_what_is_wrong_comes_first_beside_what_the_source_says(
    open_report: Any, weigh: Weigh
) -> None:
    page = open_report(made(weigh, [answered()]))
    assert texts(page, "#worst .faults > li > .cell-head") == WRONG
    first = page.locator("#worst .faults > li").first
    assert first.locator(".stated").inner_text() == "Opened items can be returned within 60 days."
    assert "The source says 30 days, not 60." in first.inner_text()
    assert first.locator("h4").inner_text() == "[2] returns.pdf says"
    # The closest sentence with its neighbours; the rest on demand, also from the keyboard.
    passage = first.locator(".passage").inner_text()
    assert passage.startswith("… Goods that were opened can be sent back. Opened items can be")
    assert passage.endswith("The desk asks for a receipt. …")
    first.locator("summary").press("Enter")
    assert first.locator("details .text").inner_text() == CONTEXTS[1]
    assert page.locator("#worst .support-of > details").get_attribute("open") is None
    page.get_by_role("button", name="中文").click()
    assert texts(page, "#worst .faults .badge")[:2] == [
        "✕ [2] 不支持此句",
        "✕ 上下文和参考答案中都没有",
    ]


def test_the_answer_is_marked_where_its_sources_do_not_support_it(
    open_report: Any, weigh: Weigh
) -> None:
    """The citation in the second sentence is no word of it; "cites no source" is not marked."""
    table = {
        "statements": [
            statement("sentence", 1, "Returns are free of charge today.", 1),
            statement("sentence", 2, "The store opens at 9."),
            statement("sentence", 3, "Not a sentence of this answer.", 1),
        ],
        "sources": [source("contexts", 1)],
        "cells": [[["partial", "Not of today."]], [None], [no("Nothing.")]],
    }
    answer = "Returns are free [1] of charge today. The store opens at 9."
    page = open_report(made(weigh, [answered(0, table, answer=answer)]))
    answer_text = page.locator("#worst .pair").first.locator("div").first
    assert answer_text.locator("mark").all_inner_texts() == ["Returns are free [1] of charge today"]
    assert answer_text.locator(".text").inner_text() == answer
    assert "Marked in the answer: what its sources do not support." in answer_text.inner_text()


def test_every_cell_has_a_sign_and_a_word_and_its_reason_below(
    open_report: Any, weigh: Weigh
) -> None:
    page = open_report(made(weigh, [answered()]))
    fold = page.locator("#worst .support-of > details")
    fold.locator(":scope > summary").press("Enter")
    fold.locator("table").wait_for()
    heads = ["Statement", "[1] hours.pdf", "[2] returns.pdf", "[3]", "[1, 3] hours.pdf"]
    assert texts(page, "#worst table.support thead th") == [*heads, "Reference", "Answer"]
    assert texts(page, "#worst .origin") == [
        "Sentences of the answer",
        "Claims of the answer",
        "Claims of the reference",
        "Nuggets",
    ]
    rows = texts(page, "#worst table.support tr:not(.origin, .reasons)")
    not_asked = "– not asked"
    assert rows[1] == (
        f"1. Opened items can be returned within 60 days. {not_asked} ✕ no cited "
        + " ".join([not_asked] * 4)
    )
    assert rows[-2].startswith("1. original packaging (vital)")
    assert rows[-2].endswith("½ in part")
    # Open below what is wrong, else folded: the second sentence is supported by [3].
    reasons = page.locator("#worst .reasons details")
    assert (
        reasons.first.inner_text().split("\n")[-1] == "[2] ✕ no: The source says 30 days, not 60."
    )
    assert [found.get_attribute("open") for found in reasons.all()[:2]] == ["", None]


def test_what_failed_is_not_known_rather_than_wrong(open_report: Any, weigh: Weigh) -> None:
    table = {
        "statements": [
            statement("sentence", 1, "Returns are free of charge.", 1),
            statement("claim", 1, "The store opens at 9."),
            statement("claim", 2, "The fee is 9 euros."),
        ],
        "sources": [source("contexts", 1), source("contexts", 2)],
        "cells": [
            [["failed", "the judge did not answer"], None],
            [["failed", "the judge did not answer"], FULL],  # one is enough
            [["failed", "the judge did not answer"], no("Nothing.")],
        ],
    }
    page = open_report(made(weigh, [answered(0, table)]))
    assert texts(page, "#worst .faults .cell-head") == [
        "⚠ support by [1] is not known sentence 1 of the answer",
        "⚠ not known: the judge failed claim 2 of the answer",
    ]
    assert "the judge did not answer" in texts(page, "#worst .faults")[0]
    assert page.locator("#worst mark.unsupported").count() == 0


def test_failed_contexts_are_not_said_to_lack_what_is_missing(
    open_report: Any, weigh: Weigh
) -> None:
    """Nor does a context that failed hide one that has it."""
    failed = ["failed", "the judge did not answer"]
    table = {
        "statements": [
            statement("reference_claim", 1, "Refunds take 7 days."),
            statement("reference_claim", 2, "Labels are free."),
            statement("reference_claim", 3, "Food stays."),
        ],
        "sources": [source("contexts", 1), source("contexts", 2), source("answer")],
        "cells": [
            [failed, no("Nothing."), no("Nothing.")],
            [failed, FULL, no("Nothing.")],
            [no("Nothing."), no("Nothing."), no("Nothing.")],
        ],
    }
    page = open_report(made(weigh, [answered(0, table)]))
    assert texts(page, "#worst .faults .badge") == [
        "✕ missing in the answer",
        "✕ missing in the answer, though [2] has it",
        "✕ missing in the answer, and in no context",
    ]


def test_of_citations_those_are_named_that_do_not_exist_or_were_asked(
    open_report: Any, weigh: Weigh
) -> None:
    """What [1] says does not matter beside [9]; of [2] and [3] only [2] was asked."""
    table = {
        "statements": [
            statement("sentence", 1, "The store opens at 9.", 1, lost=["9"]),
            statement("sentence", 2, "Returns are free.", 2, 3),
        ],
        "sources": [source("contexts", 1), source("contexts", 2)],
        "cells": [[FULL, None], [None, no("No fee is named.")]],
    }
    page = open_report(made(weigh, [answered(0, table)]))
    assert texts(page, "#worst .faults .badge") == [
        "✕ cites [9], which does not exist",
        "✕ [2] does not support it",
    ]


def test_a_context_is_not_called_by_the_number_that_the_answer_has_for_another(
    open_report: Any, weigh: Weigh
) -> None:
    """Numbers in the answer begin at 0: its [1] is the second context."""
    table = {
        "statements": [statement("sentence", 1, "Returns are free.", 1)],
        "sources": [source("contexts", 1, docs=["hours.pdf"]), source("contexts", 1, 2)],
        "cells": [[no("It gives hours only."), None]],
        "cited_by_place": False,
    }
    answer = "Returns are free [0]. The store opens at 9 [1]."
    page = open_report(made(weigh, [answered(0, table, answer=answer)]))
    first = page.locator("#worst .faults > li").first
    assert texts(page, "#worst .faults .badge") == ["✕ contexts[1] does not support it"]
    assert first.locator("h4").inner_text() == "contexts[1] hours.pdf says"
    page.evaluate(OPEN_FOLDS)
    heads = ["Statement", "contexts[1] hours.pdf", "contexts[1, 2]"]
    assert texts(page, "#worst table.support thead th") == heads


def test_of_equal_sentences_the_one_without_support_is_marked(
    open_report: Any, weigh: Weigh
) -> None:
    """A claim that was held against the reference alone says nothing of the answer's sources."""
    table = {
        "statements": [
            statement("sentence", 1, "Returns are free today.", 1),
            statement("sentence", 2, "Returns are free.", 2),
            statement("claim", 1, "The store opens at 9."),
        ],
        "sources": [source("contexts", 1), source("contexts", 2), source("reference")],
        "cells": [[FULL, None, None], [None, no("It asks a fee."), None], [None, None, no("No.")]],
    }
    answer = "Returns are free today [1]. Returns are free [2]. The store opens at 9."
    page = open_report(made(weigh, [answered(0, table, answer=answer)]))
    parts = (
        page.locator("#worst .pair")
        .first.locator("div")
        .first.locator(".text")
        .evaluate(
            "(text) => [...text.childNodes].map((part) => `${part.nodeName}: ${part.textContent}`)"
        )
    )
    assert parts == [
        "#text: Returns are free today [1]. ",
        "MARK: Returns are free",
        "#text:  [2]. The store opens at 9.",
    ]


def large() -> dict[str, Any]:
    """50 statements by 20 sources."""
    long_name = "returns-and-refunds-policy-of-all-stores-2026-final-version.pdf"
    cells = [[no(f"Part {at} says nothing of it.") for at in range(20)] for _ in range(50)]
    return {
        "statements": [statement("claim", at + 1, f"Claim {at} of many.") for at in range(50)],
        "sources": [source("contexts", at + 1, docs=[long_name]) for at in range(20)],
        "cells": cells,
    }


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"color_scheme": "dark"}, id="dark"),
        pytest.param({"locale": "zh-CN", **PHONE}, id="phone, Chinese"),
    ],
)
def test_axe_finds_nothing(
    open_report: Any, weigh: Weigh, axe: str, options: dict[str, Any]
) -> None:
    """With everything open, on the card and in the detail."""
    page = open_report(
        made(weigh, [answered()]), reduced_motion="reduce", bypass_csp=True, **options
    )
    page.evaluate(axe)
    page.evaluate(OPEN_FOLDS)
    page.locator("#worst table.support").wait_for()
    found = violations(page, "#worst")
    page.evaluate("document.querySelector('[data-sample] button').click()")
    page.locator("dialog[open] table.support").wait_for()
    found += violations(page, "dialog[open]")
    page.evaluate("document.querySelector('dialog').close()")
    assert found == []


OPEN_FOLDS = "for (const fold of document.querySelectorAll('#worst details')) fold.open = true"


@pytest.mark.full
@pytest.mark.parametrize("options", [{}, PHONE], ids=["laptop", "phone"])
def test_a_large_table_does_not_move_the_page_sideways(
    open_report: Any, weigh: Weigh, options: dict[str, Any]
) -> None:
    page = open_report(made(weigh, [answered(0, large(), contexts=("x",) * 20)]), **options)
    page.evaluate(OPEN_FOLDS)
    page.locator("#worst table.support").wait_for()
    assert page.locator("#worst td.level").count() == 50 * 20
    assert page.locator("#worst .faults > li").count() == 50
    width = page.evaluate("innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelector('[data-sample] button').click()")
    page.locator("dialog[open] table.support").wait_for()
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= width
    page.evaluate("document.querySelector('dialog').close()")


def test_the_page_of_variants_shows_the_table_with_the_scores(
    open_report: Any, weigh: Weigh
) -> None:
    runs = [made(weigh, [answered()], variant=name) for name in "uv"]
    contest = Contest(("u", "v"))
    path = open_report.folder / "variants.html"
    path.write_text(
        "".join(variants_page(runs, rank_variants(runs, contest), None, contest)), "utf-8"
    )
    page = open_report.windows.window(reduced_motion="reduce")
    page.goto(path.as_uri())
    page.locator(".cell details summary").first.click()
    assert texts(page, ".cell .faults > li > .cell-head") == WRONG
    assert ANSWER.startswith("Opened items")  # as in both columns


def test_tables_beyond_the_page_are_said_to_be_in_the_results(
    open_report: Any, weigh: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(str(support.table_of(answered()))) * 3 // 2  # room for one
    monkeypatch.setattr(support, "TABLE_BYTES", size)
    samples = [answered(0, TABLE, scores={"f1": 0.4}), answered(1, TABLE, scores={"f1": 0.1})]
    page = open_report(made(weigh, samples))
    first, second = page.locator("#worst article").all()
    assert first.locator(".faults").count() == 1
    assert "that of this one is in results.json" in second.inner_text()
    assert second.locator(".faults").count() == 0
