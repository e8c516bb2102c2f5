"""The web app in Chromium, in front of a real server and real runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from chromium import PHONE, violations
from web_client import WebClient, served

from pytest_rageval import evaluate, evaluate_variants
from pytest_rageval.model import RunInfo
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.scenario.overrides import Override

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

RUN_MS = 60_000  # a pytest child on a busy machine
EVIL = "<img src=x onerror='window.pwned=1'>"
HOSTILE = f"</title><script>window.pwned=1</script>{EVIL}"
ROWS = [
    ("one two three four", "a.pdf"),
    ("one two three", "a.pdf"),
    ("one two", "b.pdf"),
    ("one two three four five", "手册 2.pdf"),
]
BOT = """\
name: bot
description: answers of the support bot
dataset: rows.jsonl
metrics: [f1, em]
metric_weights: {f1: 0.5, em: 0.2}  # agreed on in May
doc_weights: {a.pdf: 2}
thresholds: {weighted_score: 0.1}
gates: {weighted_score: 0.6, by: {doc_name: {f1: 0.3}}}
"""
# Of 20 answers, bm25 has 10 right and dense all: one sign in ten samples, p = 2 ** -9.
SHOP = """\
name: shop
dataset: bm25.jsonl
metrics: [em]
diagnose: true
gates: {em: 0.4}
variants:
  bm25: {}
  dense: {dataset: dense.jsonl, gates: {em: 0.9}}
  twin: {metric_weights: {em: 2}}
best: {of: em, at_least: bm25}
"""
UNWEIGHTED = """\
name: unweighted
dataset: rows.jsonl
metrics: [f1, em, {column: seen, range: [0, null]}]
metric_weights: {em: 0, seen: 0}
gates: {f1: 0.1}
"""
HOOK = f"""
import time
import pytest

def pytest_runtestloop(session):
    if not session.config.option.collectonly and "ends" in session.items[0].nodeid:
        pytest.exit("\\x1b[31mthe disk is full\\x1b[0m", 3)

def pytest_rageval_metrics(config):
    def waits(sample):
        # Counts are written every 0.2 s at most.
        time.sleep({{"r0": 0, "r1": 0.4}}.get(sample.id, 600))
        return 1.0
    return {{"waits": waits, {EVIL!r}: lambda sample: 0.5}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a scenario that ran twice, and others."""
    path = tmp_path_factory.mktemp("project")
    rows = [
        {
            "id": f"r{at}",
            "question": f"question {at}?",
            "answer": answer,
            "doc_name": doc,
            "seen": at,
        }
        | {"references": ["one two three four"]}
        for at, (answer, doc) in enumerate(ROWS)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (path / "rows.jsonl").write_text(lines, "utf-8")
    (path / "evil.jsonl").write_text(lines.replace("a.pdf", EVIL), "utf-8")
    for name, right in (("bm25", 10), ("dense", 20)):
        (path / f"{name}.jsonl").write_text(
            "".join(map(shop_row, range(20), [right] * 20)), "utf-8"
        )
    (path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (path / "conftest.py").write_text(HOOK, "utf-8")
    texts = {
        "bot": BOT,
        "unweighted": UNWEIGHTED,
        "waiting": "name: waiting\ndataset: rows.jsonl\nmetrics: [waits]\n",
        "ends": "name: ends\ndataset: rows.jsonl\nmetrics: [f1]\n",
        "shop": SHOP,
        "broken": "name: broken\ndataset: rows.jsonl\nmetrics: [f11]\n",
        "evil": json.dumps(
            {
                "name": HOSTILE,
                "description": HOSTILE,
                "dataset": "evil.jsonl",
                "metrics": ["f1", EVIL],
                "doc_weights": {EVIL: 3, "elsewhere " + EVIL: 2},
                "gates": {"by": {"doc_name": {"f1": 0.9}}},
            }
        ),
    }
    for name, text in texts.items():
        (path / f"{name}.rageval.yaml").write_text(text, "utf-8")
    save_runs(path)
    rows = "".join(f"{at} 是什么？,甲 {at},乙 {at},甲 {at}\n" for at in range(6))
    (path / "two.csv").write_text(f"question,gpt_answer,claude_answer,reference\n{rows}", "utf-8")
    return path


def shop_row(at: int, right: int) -> str:
    row = {"id": f"q{at}", "answer": "the red cube" if at < right else "a blue ball"}
    row |= {"references": ["the red cube"], "contexts": ["here is a blue ball"]}
    return json.dumps(row) + "\n"


def save_runs(folder: Path) -> None:
    """Two runs of bot: of the second, em weighs more."""
    changed = [Override(("metric_weights", "em"), 0.5, "--rag-metric-weight")]
    for day, overrides in (("20", []), ("21", changed)):
        result = evaluate(folder / "bot.rageval.yaml", overrides)
        at = f"2026-11-{day}T09:30:11+00:00"
        run = RunInfo(f"202611{day}T093011-000000", at, at, "0.1.0")
        base = folder / ".rageval"
        write_run(replace(result), run, folder, base, ["results.json", "report.html"])


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[WebClient]:
    with served(folder) as client:
        yield client


@pytest.fixture
def open_app(windows: Any, app: WebClient) -> Iterator[Callable[..., Any]]:
    """Opens the app, and a scenario in it; it may ask no other server, nor do what it may not."""
    watch = windows.watch
    watch.problems.clear()
    watch.requests.clear()
    pages = []

    def open_page(scenario: str = "", **options: Any) -> Any:
        page = windows.window(**options)
        pages.append(page)
        page.goto(app.url)
        page.locator(".scenario-list > li").first.wait_for(timeout=RUN_MS)
        if scenario:
            choose(page, scenario)
        return page

    yield open_page
    for page in pages:
        page.evaluate("sessionStorage.clear()")
    windows.clear()
    assert watch.problems == []
    ours = (app.origin, "data:", "blob:")
    assert [url for url in watch.requests if not url.startswith(ours)] == []


def choose(page: Any, scenario: str) -> None:
    page.locator(".scenario-list:visible, .back:visible").first.wait_for(timeout=RUN_MS)
    if page.locator(".scenario-list").count() == 0:
        page.locator(".back").click()
    item_of(page, scenario).get_by_role("link").click()
    page.locator("#weights:not([hidden]), .broken").first.wait_for(timeout=RUN_MS)


def item_of(page: Any, scenario: str) -> Any:
    return page.locator(".scenario-list > li", has_text=f"{scenario}.rageval.yaml")


def said_of(page: Any, part: str) -> str:
    return str(page.locator(part).inner_text())


def weight_of(page: Any, name: str) -> Any:
    return page.get_by_role("spinbutton", name=f"Weight of {name}", exact=True)


def run(page: Any) -> None:
    page.locator("#run").get_by_role("button", name="Run").click()
    page.locator("#run .ended .which", has_text="This run").wait_for(timeout=RUN_MS)


def report_of(page: Any) -> Any:
    """Return the page that the run itself wrote, in its frame."""
    frame = page.frame_locator("#report iframe")
    frame.locator("main").wait_for(timeout=RUN_MS)
    return frame


def test_weights_are_changed_run_compared_and_written(
    open_app: Callable[..., Any], folder: Path, windows: Any
) -> None:
    """[A24] The figures are those of a run with these weights; the file keeps its comments."""
    path = folder / "bot.rageval.yaml"
    page = open_app("bot")
    assert page.locator("#gates .name").all_inner_texts() == [
        "weighted_score\nmean, at least",
        "f1\nfor each doc_name: mean, at least",
    ]
    assert page.locator("#bounds .bound input").evaluate_all(
        "all => all.map((one) => one.value)"
    ) == [
        *("0.6", "0.3"),  # gates
        *("0.1", "", "", "", "", ""),  # thresholds, each with two ends
    ]
    weight_of(page, "f1").fill("0.1")
    weight_of(page, "em").fill("2")
    page.get_by_role("button", name="Remove the weight of a.pdf").click()
    page.get_by_label("Document to weigh").fill("b.pdf")
    page.locator("#weights").get_by_role("button", name="Add", exact=True).click()
    run(page)
    changed = [
        Override(("metric_weights", "f1"), 0.1, "test"),
        Override(("metric_weights", "em"), 2.0, "test"),
        Override(("doc_weights", "a.pdf"), 1.0, "test"),
        Override(("doc_weights", "b.pdf"), 2.0, "test"),
    ]
    wanted = evaluate(path, changed)
    mean = f"{wanted.weighted_score.mean:.4f}"
    assert page.locator("#run .verdict strong").inner_text() == "✕Failed"
    assert (
        "Other than in the file: metric_weights.f1 0.1" in page.locator("#run .ended").inner_text()
    )
    report = report_of(page)
    assert report.locator(".card.whole .figure").inner_text().split()[0] == mean
    rows = report.locator("#gates tbody tr").all_inner_texts()
    assert rows[0].split("\t")[0] == "weighted_score"
    assert wanted.gates[0].message in rows[0]

    page.locator("#history tbody tr").nth(2).wait_for()
    assert report.locator("#trend .trend").count() == 3  # of both metrics, and of both together
    weights = page.locator("#history .overridden bdi").first.inner_text()
    assert "metric_weights.f1 0.1, metric_weights.em 2" in weights
    page.get_by_role("button", name="Compare").click()
    page.locator("#comparison tbody tr").first.wait_for(timeout=RUN_MS)
    whole = page.locator("#comparison tr", has_text="Weighted score").first.inner_text()
    assert mean in whole
    assert "the weights of metrics differ" in page.locator("#comparison").inner_text()

    page.get_by_role("button", name="Write into the YAML").click()
    said = page.get_by_text("Written: ")
    said.wait_for(timeout=RUN_MS)
    keys = ("metric_weights.f1", "metric_weights.em", "doc_weights.b.pdf", "doc_weights.a.pdf")
    assert sorted(said.inner_text().removeprefix("Written: ").split(", ")) == sorted(keys)
    text = path.read_text("utf-8")
    assert "metric_weights: {f1: 0.1, em: 2}  # agreed on in May" in text.replace("2.0", "2")
    assert page.get_by_role("button", name="Write into the YAML").is_disabled()
    assert page.locator(".changed-bar").is_hidden()

    path.write_text(BOT, "utf-8")  # by someone else, meanwhile
    weight_of(page, "em").fill("3")
    page.get_by_role("button", name="Write into the YAML").click()
    page.locator("#settings-note", has_text="has changed").wait_for(timeout=RUN_MS)
    assert path.read_text("utf-8") == BOT
    page.get_by_role("button", name="Read the file again").click()
    page.locator("#settings-note:empty").wait_for(timeout=RUN_MS, state="attached")
    assert [weight_of(page, name).input_value() for name in ("f1", "em")] == ["0.5", "3"]
    windows.watch.problems.clear()  # the console notes every answer 409


@pytest.mark.full
def test_a_metric_without_a_weight_may_get_one(open_app: Callable[..., Any]) -> None:
    """Not one whose scores have no closed range: a scenario refuses a weight of it."""
    page = open_app("unweighted")
    names = ("f1", "em", "seen")
    assert [weight_of(page, name).is_enabled() for name in names] == [True, True, False]
    assert "no weight: without a closed range" in said_of(page, "#weights")
    assert page.locator("#gates .name").all_inner_texts() == ["f1\nmean, at least"]
    weight_of(page, "em").fill("1")
    run(page)
    assert "metric_weights.em 1" in said_of(page, "#run .ended")


def test_a_run_is_followed_over_a_reload_and_stopped(open_app: Callable[..., Any]) -> None:
    """[A24] A stopped run is neither passed nor failed; another scenario shows that it runs."""
    page = open_app("waiting")
    page.locator("#run").get_by_role("button", name="Run").click()
    page.get_by_text("2 of 4").wait_for(timeout=RUN_MS)
    page.reload()
    page.get_by_text("2 of 4").wait_for(timeout=RUN_MS)
    assert page.locator("#run .badge").inner_text() == "✓ passed"

    choose(page, "bot")
    bar = page.get_by_role("region", name="Progress")
    assert "Another scenario runs: waiting · 2 of 4" in bar.inner_text()
    assert page.locator("#run").get_by_role("button", name="Run").is_disabled()
    bar.get_by_role("link", name="Show").click()
    page.get_by_role("button", name="Stop").click()
    page.locator("#run .verdict", has_text="Stopped").wait_for(timeout=RUN_MS)
    assert "Partial run: 2 of 4 samples ran" in report_of(page).locator("#verdict").inner_text()
    assert "Passed" not in page.locator("#run").inner_text()
    page.locator(".back").click()
    item_of(page, "waiting").locator(".standing", has_text="Stopped").wait_for()


@pytest.mark.full
def test_variants_run_together_and_are_ranked(open_app: Callable[..., Any], axe: str) -> None:
    """[A24, E20, E21] dense is better than bm25, which the gate names."""
    page = open_app("shop", bypass_csp=True, reduced_motion="reduce")
    boxes = page.locator("fieldset.variants input")
    assert [boxes.nth(at).is_checked() for at in range(3)] == [True] * 3
    assert "Not offered, because the variants have their own: em" in said_of(page, "#weights")
    assert page.locator("#bounds h3.subsection").all_inner_texts() == ["bm25", "dense", "twin"]
    assert "change them in the file" in said_of(page, "#bounds .hint")
    run(page)
    assert page.locator("#run .ended > .verdict:not(.best) strong").inner_text() == "✕Failed"
    ranked = report_of(page).locator(".ranked tbody tr")
    assert ranked.locator("th").all_inner_texts() == ["dense", "bm25", "twin"]
    assert [text.strip() for text in ranked.locator(".letters").all_inner_texts()] == list("abb")
    assert "dense is significantly better than bm25" in said_of(page, "#run .best")
    href = page.get_by_role("link", name="The variants side by side").get_attribute("href")
    assert page.request.get(href).status == 200
    page.locator("#history tbody tr").nth(2).wait_for()
    bm25 = page.locator("#run [data-variant=bm25]")
    assert bm25.inner_text() == "bm25 ✓ passed 0.5000 The page of this run"
    assert page.request.get(bm25.get_by_role("link").get_attribute("href")).status == 200
    page.evaluate(axe)
    assert violations(page) == []
    page.locator(".back").click()
    standing = item_of(page, "shop").locator(".standing").inner_text()
    assert "3 variants" in standing
    assert "failed" in standing


@pytest.mark.full
def test_one_variant_alone_decides_no_gate_between_them(open_app: Callable[..., Any]) -> None:
    """[A24, E20] Its run is like any other, and the ranking from before says that it is older."""
    page = open_app("shop")
    run(page)
    page.locator("#comparison select").first.select_option(label=option(page, "bm25"))
    page.locator("#comparison select").nth(1).select_option(label=option(page, "dense"))
    page.get_by_role("button", name="Compare").click()
    worse = page.locator("#comparison .worse tbody tr")
    worse.first.wait_for(timeout=RUN_MS)
    assert "retrieval: no context holds the reference" in worse.first.inner_text()

    page.get_by_role("checkbox", name="bm25").uncheck()
    page.get_by_role("checkbox", name="twin").uncheck()
    run_again = page.locator("#run").get_by_role("button", name="Run")
    run_again.click()
    page.locator("#run .verdict:not(.best)", has_text="Undecided").wait_for(timeout=RUN_MS)
    assert "1 of 3 variants ran" in said_of(page, "#run .best")
    assert page.locator("#run [data-variant]").count() == 1
    page.get_by_role("checkbox", name="dense").uncheck()
    assert run_again.is_disabled()
    page.reload()
    page.get_by_text("Their last runs are not those of the ranking: dense").wait_for(timeout=RUN_MS)


def option(page: Any, variant: str) -> str:
    """Return the first run of a variant that can be compared."""
    options = page.locator("#comparison select").first.locator("option").all_inner_texts()
    return str(next(one for one in options if one.startswith(f"{variant} · ")))


@pytest.mark.full
def test_a_broken_scenario_says_where(open_app: Callable[..., Any]) -> None:
    """[A24] With file and line; nothing offers to run it."""
    page = open_app("broken")
    said = page.locator(".broken").inner_text()
    assert "broken.rageval.yaml:3: metrics[0]: unknown metric 'f11'. Did you mean 'f1'?" in said
    assert page.get_by_role("button", name="Run").count() == 0
    page.locator(".back").click()
    assert "broken" in item_of(page, "broken").locator(".badge").inner_text()


@pytest.mark.full
def test_a_run_that_does_not_come_to_its_end_is_an_error(open_app: Callable[..., Any]) -> None:
    """[A24] With what the terminal says."""
    page = open_app("ends")
    run(page)
    assert page.locator("#run .verdict strong").inner_text() == "⚠Error"
    assert "exit status 3" in page.locator("#run .verdict").inner_text()
    assert "Exit: the disk is full" in page.locator("#run pre").inner_text()
    assert page.locator("iframe").count() == 0
    page.locator(".back").click()  # the list says so, too: nothing was saved
    item_of(page, "ends").locator(".standing", has_text="Error").wait_for(timeout=RUN_MS)
    page.reload()
    choose(page, "ends")
    page.locator("#run pre", has_text="Exit: the disk is full").wait_for(timeout=RUN_MS)


@pytest.mark.full
@pytest.mark.parametrize(
    "bypass",
    [
        pytest.param(False, id="with policy"),
        pytest.param(True, id="without policy"),
    ],
)
def test_hostile_names_are_shown_as_they_are(open_app: Callable[..., Any], bypass: bool) -> None:
    """[A24] Also in a browser that ignores the policy."""
    page = open_app("evil", bypass_csp=bypass)
    assert page.locator("h1").text_content() == HOSTILE
    assert page.title() == f"{HOSTILE} · rageval"
    assert page.locator(".weight .name bdi", has_text=EVIL).count() == 3
    run(page)
    page.locator("#history tbody tr").first.wait_for()
    assert report_of(page).locator(".card h3", has_text=EVIL).count() == 1
    assert page.evaluate("window.pwned") is None
    assert page.locator("#page :is(img, script, iframe:not(#report *))").count() == 0


@pytest.mark.full
def test_all_is_done_by_keyboard(open_app: Callable[..., Any], folder: Path) -> None:
    """[A24] Find a scenario, change a weight, run it; focus goes where the work is."""
    page = open_app()
    keys = page.keyboard
    keys.press("Tab")
    assert focused(page) == "Skip to the content"
    tab_to(page, "document.activeElement.type === 'search'")
    keys.type("BOT")
    assert page.locator(".scenario-list > li").count() == 1
    tab_to(page, "document.activeElement.closest('.scenario-list')")
    keys.press("Enter")
    page.locator("h1:focus").wait_for()
    page.locator("#weights:not([hidden])").wait_for(timeout=RUN_MS)
    tab_to(page, "document.activeElement.ariaLabel === 'Weight of em, slider'")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    keys.press("ArrowRight")
    page.get_by_role("region", name="Settings changed").wait_for()
    page.locator("#run").get_by_role("button", name="Run").focus()
    keys.press("Enter")
    page.locator("#run .ended .which", has_text="This run").wait_for(timeout=RUN_MS)
    # Where Stop was, Run is again.
    assert focused(page) == "Run with these settings"
    page.locator("#announced", has_text="The run has ended: ").wait_for(state="attached")


def tab_to(page: Any, condition: str) -> None:
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no Tab leads to where {condition}")


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


CUT = """[...document.querySelectorAll("#history .scroll, .scroll:has(.worse)")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"""
WINDOWS = [
    pytest.param({"color_scheme": "light"}, id="light", marks=pytest.mark.full),
    pytest.param({"color_scheme": "dark"}, id="dark", marks=pytest.mark.full),
    pytest.param({"locale": "zh-CN", **PHONE}, id="phone, Chinese"),
]


@pytest.mark.full
@pytest.mark.parametrize("options", WINDOWS)
def test_axe_finds_nothing(open_app: Callable[..., Any], axe: str, options: dict[str, Any]) -> None:
    """[A24] In the list, and in a scenario with weights changed and two runs compared."""
    page = open_app(reduced_motion="reduce", bypass_csp=True, **options)
    page.evaluate(axe)
    found = violations(page)
    found += from_a_file(page)
    choose(page, "bot")
    page.locator("#weights input[type=number]").first.fill("3")
    page.locator("#gates .bound input").first.fill("7")
    page.locator("#gates .problem:not(:empty)").wait_for(timeout=RUN_MS)
    page.locator("#history tbody tr").nth(1).wait_for(timeout=RUN_MS)
    page.locator("#comparison button").click()
    page.locator("#comparison tbody tr").first.wait_for(timeout=RUN_MS)
    assert found + violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CUT) == []


def from_a_file(page: Any) -> list[str]:
    """Return what axe-core finds where a scenario is made: of what is asked, and of the preview."""
    page.locator("a[href='#new']").click()
    page.locator("#file-choice select").select_option("two.csv")
    page.locator(".question").wait_for(timeout=RUN_MS)
    found = violations(page)
    page.locator(".way").last.click()
    page.locator(".preview").wait_for(timeout=RUN_MS)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return [*found, *violations(page)]


@pytest.mark.full
def test_all_words_are_in_chinese_too(open_app: Callable[..., Any], folder: Path) -> None:
    """[A24] Names, keys and values stay."""
    page = open_app("bot", locale="zh-CN")
    page.locator("#history tbody tr").nth(1).wait_for(timeout=RUN_MS)
    page.locator("#comparison button").click()
    page.locator("#comparison tbody tr").first.wait_for(timeout=RUN_MS)
    assert "按 A 的权重计算" in page.locator("#comparison .notice").first.inner_text()
    page.locator("#gates .bound input").first.fill("7")
    page.locator("#gates .problem:not(:empty)").wait_for(timeout=RUN_MS)
    shown = page.locator("#page").inner_text() + page.locator("#skip").inner_text()
    page.locator(".back").click()
    shown += "\n" + page.locator("#page").inner_text()
    kept = (
        "rageval|English|YAML|UTC|max-T|bot|shop|waiting|broken|ends|evil|pdf|f1|em|answers of the"
    )
    kept += "|unweighted|seen"
    keys = "metric_weights|doc_weights|weighted_score|doc_name|yaml|support|by|script|img|title"
    known = re.compile(rf"\b({kept}|{keys}|mean|unscored|pass_rate|invalid)\b")
    for said in page.locator(".scenario-list .problem").all_inner_texts():
        shown = shown.replace(said, "")  # as pytest said it
    evil = known.sub("", shown.replace(HOSTILE, "").replace(folder.name, ""))
    assert set(re.findall(r"[A-Za-z]{2,}", evil)) == set()


@pytest.mark.full
def test_a_scenario_is_made_in_chinese_too(open_app: Callable[..., Any]) -> None:
    """[P4, P9] Fields, columns and metrics stay; what is asked and why does not."""
    page = open_app(locale="zh-CN")
    page.locator("a[href='#new']").click()
    page.locator("#file-choice select").select_option("two.csv")
    page.locator(".question").wait_for(timeout=RUN_MS)
    shown = page.locator("#new").inner_text()
    page.locator(".way").last.click()
    page.locator(".preview").wait_for(timeout=RUN_MS)
    shown += page.locator("#new").inner_text()
    fields = (
        "question|answer|references?|contexts|reference_contexts|retrieved_ids|reference_ids|id"
    )
    fields += "|doc_name|tags|must_(?:not_)?include|must_match|must_satisfy|nuggets"
    names = "gpt_answer|claude_answer|coverem|acc|em|f1|rouge|rageval|rageval_data|yaml|csv|two|MB"
    names += "|data|jsonl|rows|evil|bm25|dense"
    left = re.sub(rf"\b(?:{fields}|{names})\b", "", shown)
    assert re.findall(r"[A-Za-z]{2,}", left) == []


@pytest.mark.full
def test_a_gbk_file_is_read_by_one_click(
    open_app: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    """[P4] What Excel saves in China; the error is no question, and its words are Chinese."""
    rows = "".join(f"第{at}个订单几天送达？,{at}天,{at}天,甲{at % 2}\n" for at in range(1, 9))
    table = tmp_path / "问答.csv"
    table.write_bytes(f"问题,回答,标准答案,doc_name\n{rows}".encode("gb18030"))
    page = open_app(locale="zh-CN")
    page.locator("a[href='#new']").click()
    page.locator("#upload").set_input_files(table)
    page.locator("#found .broken").wait_for(timeout=RUN_MS)
    said = page.locator("#found .broken p").inner_text()
    assert said.startswith("问答.csv 第 1 行：不是 utf-8 编码：偏移 0 处的字节为 0xce")
    assert "（该行按 gb18030 读作 '问题,回答,标准答案,doc_name'" in said
    assert page.locator("#announced").inner_text() == "文件暂时无法使用。"
    page.get_by_role("button", name="按 GB18030 读取").click()
    page.locator(".preview").wait_for(timeout=RUN_MS)
    assert page.locator("#found .broken").count() == 0
    assert "encoding: gb18030" in page.locator(".preview pre").text_content()
    said = page.locator(".data-columns").inner_text()
    assert "全部行均为文本，8 个不同值" in said
    assert "依列名，且有“标准答案”列" in said
    assert "用前 3 行试算" in page.locator(".preview").inner_text()
    page.evaluate(
        """new MutationObserver(() => {
            const said = document.querySelector("#found .loading")?.textContent;
            if (said) (window.loading ??= []).push(said);
        }).observe(document.getElementById("new"), { childList: true, subtree: true })"""
    )
    page.locator("[data-kept=make]").click()
    page.locator("#bounds:not([hidden])").wait_for(timeout=RUN_MS)
    assert page.evaluate("window.loading") == ["正在创建场景……"]
    (folder / "rageval_data/问答.rageval.yaml").unlink()


@pytest.mark.full
def test_bounds_are_edited_in_place(open_app: Callable[..., Any], folder: Path) -> None:
    """[P4] What is wrong stands beside its field before a run; an emptied field is the file's."""
    path = folder / "bot.rageval.yaml"
    page = open_app("bot")
    run_button = page.locator("#run").get_by_role("button", name="Run")
    gate = page.get_by_role("spinbutton", name="weighted_score", exact=True)
    gate.fill("7")
    page.get_by_text("min 7 is outside the range 0..1").wait_for(timeout=RUN_MS)
    assert run_button.is_disabled()
    assert "A setting cannot be used" in said_of(page, "#run")
    gate.fill("")
    page.locator("#run button:enabled").wait_for(timeout=RUN_MS)
    assert run_button.inner_text() == "Run"
    weight_of(page, "em").fill("")  # the file says 0.2
    assert run_button.inner_text() == "Run"
    assert run_button.is_enabled()
    gate.fill("0.55")
    page.get_by_role("button", name="Remove the gate by › doc_name › f1").click()
    page.get_by_label("Gate to add").select_option('["pass_rate"]')
    page.get_by_label("Bound", exact=True).fill("0.25")
    run_button.click()
    assert "This gate is not added yet" in said_of(page, "#bounds")
    assert page.locator("#run progress").count() == 0
    page.locator("#gates").get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("Threshold of em, at most").fill("1")
    page.reload()
    page.locator("#bounds:not([hidden])").wait_for(timeout=RUN_MS)
    assert gate.input_value() == "0.55"
    try:
        page.get_by_role("button", name="Write into the YAML").click()
        page.get_by_text("Written: ").wait_for(timeout=RUN_MS)
        text = path.read_text("utf-8")
        assert "gates: {weighted_score: 0.55, pass_rate: 0.25}" in text
        assert "thresholds: {weighted_score: 0.1, em: {max: 1}}" in text
        assert "# agreed on in May" in text
    finally:
        path.write_text(BOT, "utf-8")


@pytest.mark.full
def test_from_a_csv_to_a_gate_by_clicking(windows: Any, tmp_path: Path) -> None:
    """[P4] Someone who never wrote YAML: an empty project, a table, a red run, a looser gate."""
    rows = [f"How long is offer {at}?,{at if at % 3 else 'no idea'} days" for at in range(1, 13)]
    table = tmp_path / "Golden Set.csv"
    lines = [f"{row},{at} days" for at, row in enumerate(rows, 1)]
    table.write_text("\n".join(["Question,Bot,Should say", *lines]) + "\n", "utf-8")
    project = tmp_path / "shop"
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n", "utf-8")
    windows.watch.problems.clear()
    with served(project) as client:
        page = windows.window()
        page.goto(client.url)
        page.get_by_role("link", name="A scenario from a file").click()
        page.get_by_label("Choose a file").set_input_files(table)
        page.get_by_text("no column says what is right").wait_for(timeout=RUN_MS)
        page.get_by_label("Field of the column Bot").select_option("answer")
        page.get_by_label("Field of the column Should say").select_option("references")
        page.get_by_text("What will be written").wait_for(timeout=RUN_MS)
        page.get_by_label("Name", exact=True).fill("offers")
        page.get_by_role("button", name="Make the scenario").click()
        page.locator("h1", has_text="offers").wait_for(timeout=RUN_MS)
        page.locator("#bounds:not([hidden])").wait_for(timeout=RUN_MS)
        gate = page.get_by_role("spinbutton", name="weighted_score", exact=True)
        gate.fill("0.99")
        page.get_by_role("button", name="Write into the YAML").click()
        page.get_by_text("Written: gates.weighted_score").wait_for(timeout=RUN_MS)
        run(page)
        assert page.locator("#run .verdict strong").inner_text() == "✕Failed"
        gate.fill("0.6")
        page.get_by_role("button", name="Write into the YAML").click()
        page.get_by_text("Written: gates.weighted_score").wait_for(timeout=RUN_MS)
        page.locator("#run").get_by_role("button", name="Run").click()
        page.locator("#run .verdict.passed").wait_for(timeout=RUN_MS)
        page.locator(".back").click()
        assert "passed" in item_of(page, "offers").locator(".standing").inner_text()
        page.evaluate("sessionStorage.clear()")
        windows.clear()
    written = (project / "rageval_data/offers.rageval.yaml").read_text("utf-8")
    assert "  weighted_score: 0.6 " in written
    assert "# What is measured" in written
    assert windows.watch.problems == []


@pytest.mark.full
def test_all_scenarios_run_from_the_first_view(open_app: Callable[..., Any]) -> None:
    """[P4] One after the other, until they are stopped."""
    page = open_app()
    page.get_by_role("button", name="Run all").click()
    page.locator(".run-all", has_text="to come").wait_for(timeout=RUN_MS)
    assert page.get_by_role("button", name="Run bot").count() <= 1
    page.locator(".run-all").get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Run all").wait_for(timeout=RUN_MS)
    page.locator(".run-all button:enabled").wait_for(timeout=RUN_MS)


def test_without_the_key_it_says_what_to_do(open_app: Callable[..., Any], windows: Any) -> None:
    """[A24] As after the server was started anew."""
    page = open_app("bot")
    page.context.clear_cookies()
    page.locator(".back").click()
    page.get_by_role("button", name="Look for files again").click()
    page.get_by_role("alert").filter(has_text="open the URL that the terminal shows").wait_for()
    windows.watch.problems.clear()  # the console notes every answer 401


ATTACK = """async ([origin, scenario, run]) => {
    const body = JSON.stringify({metric_weights: {f1: 9}, doc_weights: {}});
    const tried = [];
    const attempt = async (name, act) => {
        try { tried.push([name, await act()]); } catch (error) { tried.push([name, null]); }
    };
    const send = (path, options) => async () => {
        const answer = await fetch(origin + path, {credentials: "include", ...options});
        return await answer.text();
    };
    for (const path of ["runs", "settings", "settings/check"]) {
        const target = `/api/scenarios/${scenario}/${path}`;
        await attempt(`simple ${path}`, send(target, {method: "POST", mode: "no-cors", body}));
        await attempt(`json ${path}`, send(target, {
            method: "POST", body, headers: {"Content-Type": "application/json"},
        }));
    }
    await attempt("delete", send("/api/runs/x", {method: "DELETE"}));
    await attempt("read", send("/api/scenarios", {}));
    await attempt("opaque", send("/api/scenarios", {mode: "no-cors"}));
    await attempt("report", send(run, {}));
    await attempt("events", () => new Promise((done, fail) => {
        const source = new EventSource(origin + "/api/runs/x/events", {withCredentials: true});
        source.onmessage = () => done("message");
        source.onerror = () => { source.close(); fail(); };
    }));
    await attempt("script", () => new Promise((done, fail) => {
        const script = document.createElement("script");
        Object.assign(script, {src: origin + "/assets/app.js", onload: () => done("ran")});
        script.onerror = fail;
        document.head.append(script);
    }));
    await attempt("frame", () => new Promise((done, fail) => {
        const frame = document.createElement("iframe");
        frame.onload = () => {
            try { done(frame.contentDocument.body.textContent || null); } catch { done(null); }
        };
        frame.src = origin + "/";
        document.body.append(frame);
    }));
    const form = document.createElement("form");
    Object.assign(form, {method: "post", enctype: "text/plain", target: "caught"});
    form.action = `${origin}/api/scenarios/${scenario}/runs`;
    const caught = document.createElement("iframe");
    caught.name = "caught";
    document.body.append(caught, form);
    const sent = new Promise((done) => { caught.onload = done; });
    form.submit();
    await sent;
    return tried.filter(([, read]) => read);
}"""


class Elsewhere(BaseHTTPRequestHandler):
    """Another site, with an empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """Another server on this machine, which the browser counts to the same site."""
    server = HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("127.0.0.1", id="same site"),
        pytest.param("localhost", id="another site", marks=pytest.mark.full),
    ],
)
def test_a_page_of_another_origin_can_do_nothing(
    open_app: Callable[..., Any],
    app: WebClient,
    folder: Path,
    elsewhere: int,
    host: str,
) -> None:
    """[A24] In the browser that has the key, it starts no run, reads none, and writes no file."""
    page = open_app()
    scenario = app.scenario("bot")
    before = app.get(f"/api/history?scenario={scenario}")
    files = {path: path.read_bytes() for path in folder.glob("*.yaml")}
    report = before["points"][-1]["page"]
    assert page.context.cookies(app.origin), "the browser has no key: nothing is tried"
    attacker = page.context.new_page()  # not watched: it does what it may not
    attacker.goto(f"http://{host}:{elsewhere}/")
    found = attacker.evaluate(ATTACK, [app.origin, scenario, report])
    attacker.close()
    assert found == []
    listed = app.get("/api/scenarios")
    assert listed["running"] is None
    assert app.get(f"/api/history?scenario={scenario}") == before
    assert {path: path.read_bytes() for path in folder.glob("*.yaml")} == files


@pytest.mark.full
def test_what_is_left_out_or_refused_is_said(windows: Any, tmp_path: Path) -> None:
    """A run that cannot be read, rows that a metric cannot use, older runs, and a second start."""
    texts = [f"box{at}" for at in range(30)] + ["---", ""]
    rows = "question,expected_answer\n" + "".join(
        f"Where is toy {at}?,{text}\n" for at, text in enumerate(texts)
    )
    (tmp_path / "golden.csv").write_text(rows, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    path = tmp_path / "bot.rageval.yaml"
    path.write_text("name: bot\ndataset: [{answer: a, references: [a]}]\nmetrics: [em]\n", "utf-8")
    for _ in range(2):
        evaluate(path, write_to=tmp_path / ".rageval")
    newest = (tmp_path / ".rageval/bot/latest").resolve()
    (newest / "results.json").write_text("{", "utf-8")
    both = tmp_path / "duo.rageval.yaml"
    both.write_text(
        path.read_text("utf-8").replace("bot", "duo") + "variants: {x: , y: }\n", "utf-8"
    )
    evaluate_variants(both, write_to=tmp_path / ".rageval")
    (tmp_path / ".rageval/duo/x/latest/results.json").write_text("{", "utf-8")
    windows.watch.problems.clear()
    with served(tmp_path) as client:
        page = windows.window()
        page.goto(client.url)
        said = f"left out: bot/{newest.name}: results.json is cut off, or of another version"
        said += "; delete such a folder, or move it away"
        assert said in item_of(page, "bot").locator(".standing").inner_text()
        assert "undecided" in item_of(page, "bot").locator(".standing").inner_text()
        refusal = {"error": "a run is going on: wait for it, or stop it"}
        page.route("**/api/runs", lambda route: route.fulfill(status=409, json=refusal))
        page.get_by_role("button", name="Run all").click()
        page.get_by_role("alert").filter(has_text="a run is going on").wait_for(timeout=RUN_MS)
        page.wait_for_timeout(500)
        assert "a run is going on" in said_of(page, "#warning")
        item_of(page, "bot").get_by_role("link").click()
        page.locator("#run .notice", has_text=said).wait_for(timeout=RUN_MS)
        page.locator(".back").click()
        item_of(page, "duo").get_by_role("link").click()
        page.locator("#run [data-variant=y]").wait_for(timeout=RUN_MS)
        assert "left out: duo/x/" in page.locator("#run .notice").first.inner_text()
        page.locator(".back").click()
        page.get_by_role("link", name="A scenario from a file").click()
        page.locator("#file-choice select").select_option("golden.csv")
        page.locator(".preview").wait_for(timeout=RUN_MS)
        remarks = page.locator(".preview .notice").all_inner_texts()
        assert "No answer can be searched for the references of 1 rows: 31" in remarks
        assert any(one.startswith("Rows with what a metric needs, of 32: ") for one in remarks)
        page.unroute_all()
        page.evaluate("sessionStorage.clear()")
        windows.clear()
    windows.watch.problems.clear()  # the refusal: other tests take it for their own
