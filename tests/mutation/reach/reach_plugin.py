"""Tell ``sitecustomize`` which test file runs, and note the seconds that it takes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


class Reach:
    """Watches the session that it is registered with, not those that tests start inside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = ""
        self.since = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        file = item.nodeid.split("::")[0]
        if file != self.file:
            os.environ["REACH_TEST"] = file
            sys.monitoring.restart_events()
            self.file, self.since = file, time.monotonic()
        try:
            return (yield)
        finally:
            if nextitem is None or nextitem.nodeid.split("::")[0] != file:
                self._note(file, time.monotonic() - self.since)

    def _note(self, file: str, seconds: float) -> None:
        with Path(os.environ["REACH_OUT"], "seconds.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps([file, seconds]) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the outer session alone."""
    if "REACH_TEST" not in os.environ:
        os.environ["REACH_TEST"] = "before-all"
        config.pluginmanager.register(Reach(config.rootpath), "reach")
