"""Bring a Chromium for the tests of the report, where one can be had.

``python tests/browser/provide.py``. What cannot be had is said, and is no error: the tests that
need it are skipped then, and say so, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from chromium import launch_chromium

_PATIENCE_S = 300


def main() -> None:
    """Try one way after the other, until there is a browser."""
    for command in _ways_to_a_browser():
        if _has_browser():
            break
        _run(command)


def _has_browser() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = launch_chromium(playwright)
        if found is not None:
            found.close()
        return found is not None


def _ways_to_a_browser() -> Iterator[list[str]]:
    # Where system packages can be had, they are: a mirror of them is more often within reach.
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get"):
        yield ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        yield ["apt-get", "update"]
        yield ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
    yield [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]


def _run(command: Sequence[str]) -> None:
    said = "done"
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.SubprocessError) as error:
        said = f"not possible: {error}"
    sys.stdout.write(f"{' '.join(command)}: {said}\n")


if __name__ == "__main__":
    main()
