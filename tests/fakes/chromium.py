"""A Chromium to open reports in: Playwright's own, or the system's."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

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
