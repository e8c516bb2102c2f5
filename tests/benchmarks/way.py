"""The way of one passing sample: the distinct functions and files of ours that it passes.

    python -m tests.benchmarks.way

lists them; ``python -m tests.benchmarks way`` counts them.

Runs a scenario of ``em`` over a few rows in this process and profiles the third case, from the
loop that calls it to the report of it. What is done once a file is not in the count: the first
case sets up what the others share.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

from tests.benchmarks.measure import wanted
from tests.benchmarks.rows import write_rows

_SCENARIO = "name: way\ndataset: rows.jsonl\nmetrics: [em]\ngates: {em: 0}\n"
_PROFILED = 2
_PACKAGE = f"{os.sep}pytest_rageval{os.sep}"


class Way:
    """Keeps the functions that one case passes, from its protocol to that of the next."""

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}
        self._item: pytest.Item | None = None
        self._is_inside = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Profile the loop: a hook of the protocol itself would turn the fast one off."""
        self._item = session.items[_PROFILED]
        sys.setprofile(self._note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "pytest_runtest_protocol" and "item" in frame.f_locals:
            self._is_inside = frame.f_locals["item"] is self._item
        if self._is_inside and _PACKAGE in code.co_filename:
            self.functions[code.co_filename.rpartition(_PACKAGE)[2], code.co_qualname] = None


def measure() -> dict[tuple[str, str], None]:
    """Return the file and the name of each function, in the order of their first calls."""
    way = Way()
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        write_rows(6, Path("rows.jsonl"))
        Path("way.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(["-q", "-p", "no:cacheprovider", "--rag-output", "runs"], plugins=[way])
    return way.functions


def way(_folder: Path, _repeat: int) -> None:
    """Print how many functions and files there are, and note them for the table."""
    found = measure()
    files = len({file for file, _ in found})
    goals = wanted("one passing sample, files", files, 14), wanted("functions", len(found), 50)
    sys.stdout.write(f"one passing sample: {files} files {goals[0]}, ")
    sys.stdout.write(f"{len(found)} functions {goals[1]}\n")


if __name__ == "__main__":
    for source, function in measure():
        sys.stdout.write(f"{source}: {function}\n")
