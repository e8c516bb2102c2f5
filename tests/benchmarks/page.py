"""The page of 100,000 samples in a browser: its size, how it opens, how it follows a weight."""

from __future__ import annotations

import statistics
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

_COUNT = 100_000
_SCENARIO = """\
name: page
dataset: rows.jsonl
metrics: [em, acc, f1]
gates: {weighted_score: 0.01}
"""
# From the event of the field until the browser has drawn what follows from it.
_FOLLOW = """\
(field, weight) => new Promise(done => {
  const began = performance.now();
  field.value = weight;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  field.dispatchEvent(new Event("change", {bubbles: true}));
  requestAnimationFrame(() => setTimeout(() => done((performance.now() - began) / 1000), 0));
})
"""
_OPENED = "performance.getEntriesByType('navigation')[0].duration / 1000"


def page(folder: Path, repeat: int) -> None:
    """Skipped without Playwright, or without a Chromium."""
    if find_spec("playwright") is None:
        sys.stdout.write("page: skipped, needs pip install playwright\n")
        return
    from chromium import launch_chromium
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        if browser is None:
            sys.stdout.write("page: skipped, needs a Chromium: python tests/browser/provide.py\n")
            return
        write_rows(_COUNT, folder / "rows.jsonl")
        (folder / "page.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
        run(Command([*PYTEST, "--rag-report=html"], folder))
        (file,) = (folder / ".rageval").glob("page/2*/report.html")
        opened, followed = [], []
        for _ in range(repeat):
            window = browser.new_page()
            window.goto(file.as_uri())
            opened.append(window.evaluate(_OPENED))
            field = window.get_by_role("spinbutton", name="Weight of f1", exact=True)
            followed += [field.evaluate(_FOLLOW, weight) for weight in ("2", "0.5")]
            window.close()
        browser.close()
    name = f"page of {_COUNT:,} samples"
    for what, value, limit, unit in (
        ("size", file.stat().st_size / 2**20, 8, "MiB"),
        ("opens", statistics.median(opened), 1.2, "s"),
        ("follows a weight", statistics.median(followed), 0.6, "s"),
    ):
        said = f"{name}, {what}"
        sys.stdout.write(f"{said:<44} {value:.2f} {unit} {wanted(said, value, limit, unit)}\n")
