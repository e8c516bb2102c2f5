"""A Chromium to open reports in, Playwright's or the system's, and what axe-core finds there."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

FLAGS = (
    "--no-sandbox",  # containers run as root, where Chromium starts no sandbox
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def system_chromium() -> str | None:
    """Return the path of a Chromium that the system has, None where it has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch_chromium(playwright: Playwright) -> Browser | None:
    """Return a browser that runs, None where none is to be had."""
    from playwright.sync_api import Error

    for path in (None, system_chromium()):
        try:
            return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except Error:
            continue
    return None


def violations(page: Any, part: str = "html", impacts: Collection[str] = ()) -> list[str]:
    """Return what axe-core, which the page has loaded, finds in a part: all, or by impact."""
    found = page.evaluate("part => axe.run(part, {resultTypes: ['violations']})", part)
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        if not impacts or one["impact"] in impacts
        for node in one["nodes"]
    ]
