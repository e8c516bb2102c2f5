"""Take the pictures of the documentation from runs of the examples.

``python -m tests.browser.screenshots`` from the root of the repository, with Playwright and a
Chromium (``python tests/browser/provide.py``). It writes to ``docs/images``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import launch_chromium
from labelled_result import labelled_result
from playwright.sync_api import sync_playwright
from web_client import served

from pytest_rageval.model import RunInfo
from pytest_rageval.reports.base import RunFolder, write_atomically
from pytest_rageval.reports.html import write_page
from pytest_rageval.reports.labels.label_sheet import LabelRow, LabelSheet

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
WINDOW = {"width": 1160, "height": 860}
RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")
PHONE = {"width": 390, "height": 780}


def main() -> None:
    """Run the examples, then photograph what they wrote."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        if browser is None:
            sys.exit("no Chromium here: python tests/browser/provide.py brings one")
        runs = Path(name)
        run_example("examples/failing_gate/failing_gate.rageval.yaml", runs, "--rag-report", "html")
        report = runs / "failing-gate" / "latest" / "report.html"
        opened(browser, report, viewport=WINDOW).screenshot(path=IMAGES / "report-worst.png")
        run_example("examples/quickstart/quickstart.rageval.yaml", runs, "--rag-report", "html")
        take_weights(browser, runs / "quickstart" / "latest" / "report.html")
        take_labels(browser, runs)
        example = "examples/three_variants/three_variants.rageval.yaml"
        run_example(example, runs, "--rag-report", "html", "--import-mode=prepend")
        take_variants(browser, runs / "three-variants" / "variants.html")
        take_app(browser, runs / "support")
        browser.close()


def run_example(scenario: str, runs: Path, *options: str) -> None:
    """Run an example, whatever its verdict."""
    command = [sys.executable, "-m", "pytest", "-q", f"--rag-output={runs}"]
    command += ["-p", "no:cacheprovider", f"--rag-scenario={scenario}", *options]
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True)


def opened(
    browser: Browser, report: Path, first: str = "#samples tbody tr", **options: Any
) -> Page:
    """Open a page, and wait for its first row."""
    context = browser.new_context(locale="en-GB", reduced_motion="reduce", **options)
    page = context.new_page()
    page.goto(report.resolve().as_uri())
    page.wait_for_selector(first)
    return page


def take_weights(browser: Browser, report: Path) -> None:
    """The panel, with weights changed so that a gate flips."""
    page = opened(browser, report, viewport={"width": 1160, "height": 750})
    page.get_by_role("spinbutton", name="Weight of acc", exact=True).fill("2")
    page.get_by_label("Document to weigh").fill("mira-manual.pdf")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".changed-bar:not([hidden])").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.locator("#weights").evaluate("section => section.scrollIntoView()")
    page.screenshot(path=IMAGES / "report-weights.png")


def take_labels(browser: Browser, runs: Path) -> None:
    """How people and the judge agree, and the page on which people label."""
    made = labelled_result()
    write_page(made, RUN, RunFolder(runs, runs))
    page = opened(browser, runs / "report.html", viewport={"width": 1000, "height": 800})
    page.locator("#agreement h2").evaluate("title => title.scrollIntoView()")
    page.screenshot(path=IMAGES / "agreement.png")
    rows = [
        LabelRow(one.sample_id, one.question or "", one.contexts or (), one.answer or "", "", "")
        for one in made.samples[1:21]
    ]
    asked = "Do the contexts say all that the answer says?"
    sheet = LabelSheet(
        "support-bot", "faithfulness", (0.0, 1.0), rows, "labels.csv", "Ann", question=asked
    )
    write_atomically(runs / "label.html", sheet.page())
    page = browser.new_page(locale="en-GB", viewport={"width": 860, "height": 700})
    page.goto((runs / "label.html").as_uri())
    page.keyboard.press("1")
    page.keyboard.press("0")
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.screenshot(path=IMAGES / "label.png")


def take_variants(browser: Browser, side_by_side: Path) -> None:
    """Variants side by side: by day, their answers by night, and on a phone."""
    phone = {"viewport": PHONE, "is_mobile": True, "device_scale_factor": 1.5}
    for name, options in {
        "variants": {"viewport": WINDOW},
        "variants-dark": {"viewport": WINDOW, "color_scheme": "dark"},
        "variants-phone": phone,
    }.items():
        page = opened(browser, side_by_side, "#answers .side", **options)
        if name != "variants":
            page.locator("#answers").evaluate("section => section.scrollIntoView()")
        page.screenshot(path=IMAGES / f"{name}.png")


SERVED = ("chinese", "failing_gate", "quickstart", "retrieval")


def take_app(browser: Browser, folder: Path) -> None:
    """The web app in front of some examples: the project, and settings changed on a phone."""
    for name in SERVED:
        shutil.copytree(ROOT / "examples" / name, folder / name)
        for _ in range(2):  # a trend has two runs
            run_example(f"examples/{name}/{name}.rageval.yaml", folder / ".rageval")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    with served(folder) as client:
        page = in_app(browser, client.url, viewport={"width": 1160, "height": 620})
        page.screenshot(path=IMAGES / "app.png")
        page = in_app(browser, client.url, viewport=PHONE, is_mobile=True, device_scale_factor=1.5)
        page.get_by_role("link", name="quickstart").click()
        page.locator("#weights:not([hidden])").wait_for()
        page.locator("#weights").get_by_role("spinbutton").first.fill("1")
        page.locator("#weights").evaluate("section => section.scrollIntoView()")
        page.screenshot(path=IMAGES / "app-phone.png")


def in_app(browser: Browser, url: str, **options: Any) -> Page:
    page = browser.new_context(locale="en-GB", reduced_motion="reduce", **options).new_page()
    page.goto(url)
    page.locator(".scenario-list > li").first.wait_for()
    return page


if __name__ == "__main__":
    main()
