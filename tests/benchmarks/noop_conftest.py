"""The yardstick: a minimal collector whose items do nothing (copied as conftest.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


class NoopItem(pytest.Item):
    def runtest(self) -> None:
        pass


class NoopFile(pytest.File):
    def collect(self) -> Iterator[NoopItem]:
        for number in range(int(self.path.read_text())):
            yield NoopItem.from_parent(self, name=f"case-{number}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> NoopFile | None:
    return NoopFile.from_parent(parent, path=file_path) if file_path.suffix == ".noop" else None
