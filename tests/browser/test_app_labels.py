"""Labels given in the report inside the web app: the app drops none of them without asking."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from web_client import WebClient, served

from pytest_rageval import evaluate

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

RUN_MS = 60_000  # a pytest child on a busy machine
BOT = """\
name: bot
dataset: rows.jsonl
metrics: [em, {use: "mm:ok"}]
gates: {em: 0.2}
human: {file: labels.csv, of: ok, levels: [0, 1]}
"""
OK = "def ok(answer):\n    return float(answer == 'yes')\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    path = tmp_path_factory.mktemp("labelled")
    rows = [
        {"id": f"q{at}", "question": f"q{at}?", "answer": "yes", "references": ["yes"]}
        for at in range(6)
    ]
    texts = {
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "labels.csv": "id,answer,label,annotator\nq0,yes,1,ann\n",
        "mm.py": OK,
        "bot.rageval.yaml": BOT,
    }
    for name, text in texts.items():
        (path / name).write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(path))
        scenario: Path = path / "bot.rageval.yaml"
        evaluate(scenario, write_to=path / ".rageval", reports=["html"])
    with served(path) as client:
        yield client


@pytest.fixture
def labelled(windows: Any, app: WebClient) -> Iterator[Callable[[], Any]]:
    """Opens the scenario in the app and gives two labels in its report."""
    windows.clear()

    def open_page() -> Any:
        page = windows.window()
        page.goto(app.url)
        page.locator(".scenario-list > li").first.get_by_role("link").click()
        page.locator("#weights:not([hidden])").wait_for(timeout=RUN_MS)
        frame = page.frame_locator("#report iframe")
        frame.get_by_role("button", name="Label these blind").first.click(timeout=RUN_MS)
        frame.get_by_label("Your name").fill("Ann")
        for _ in range(2):
            frame.locator("button.label").last.click()
        frame.locator(".label-foot", has_text="2 of 6 labelled").wait_for()
        page.locator("#report iframe[data-unsaved='2']").wait_for()
        return page

    yield open_page
    windows.watch.problems.clear()
    windows.clear()


def labels_in(page: Any) -> str:
    return str(page.frame_locator("#report iframe").locator(".label-foot").inner_text())


def test_a_newer_run_does_not_replace_a_report_with_labels(
    labelled: Callable[[], Any], windows: Any
) -> None:
    """[A24] It is said to be there, and shown once the person gives the labels up."""
    page = labelled()
    page.locator("#run").get_by_role("button", name="Run").click()
    newer = page.locator("#report .newer")
    newer.wait_for(timeout=RUN_MS)
    assert "There is a newer run" in newer.inner_text()
    assert "2 of 6 labelled" in labels_in(page)
    assert windows.watch.problems == []

    page.once("dialog", lambda dialog: dialog.dismiss())
    newer.get_by_role("button").click()
    assert "2 of 6 labelled" in labels_in(page)
    page.once("dialog", lambda dialog: dialog.accept())
    newer.get_by_role("button").click()
    frame = page.frame_locator("#report iframe")
    frame.get_by_role("button", name="Label these blind").first.wait_for(timeout=RUN_MS)
    asked = "dialog: Labels in the report that are not downloaded: 2. Give them up?"
    assert windows.watch.problems == [asked] * 2


@pytest.mark.full
def test_the_app_asks_before_it_leaves_a_report_with_labels(
    labelled: Callable[[], Any], windows: Any
) -> None:
    """[A24] On the way to the list, to another language, and out of the page."""
    page = labelled()
    address = page.url
    for leave in (".back", ".tools button:last-child"):
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.locator(leave).first.click()
        page.locator("#report iframe").wait_for()
        assert "2 of 6 labelled" in labels_in(page)
    assert page.url == address
    page.locator(".tools button").first.click()  # the frame keeps its colours
    assert "2 of 6 labelled" in labels_in(page)
    assert len(windows.watch.problems) == 2

    frame = page.frame_locator("#report iframe")
    with page.expect_download():
        frame.get_by_role("button", name="Download").click()
    page.locator("#report iframe[data-unsaved='0']").wait_for(state="attached")
    page.locator(".back").click()
    page.locator(".scenario-list").wait_for()
    assert len(windows.watch.problems) == 2  # nothing to ask about


@pytest.mark.full
def test_a_reload_is_asked_about(labelled: Callable[[], Any], windows: Any) -> None:
    """[A24] The frame has no right to a dialog of its own."""
    page = labelled()
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    assert windows.watch.problems == ["dialog: "]
