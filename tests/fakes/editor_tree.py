"""A pytest plugin that files results as VS Code's test explorer does, and writes what it has filed.

Its own plugin takes the tree of tests from the session's items, notes the path of each item when
pytest starts it, and puts a result at ``path::name``. A result of an item that was never started
goes to a node that is not in the tree, and nobody sees it. Load it with ``-p editor_tree``.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_FILED = "filed.jsonl"


def pytest_configure(config: pytest.Config) -> None:
    """Begin with this process, a worker of xdist too: they all have this plugin."""
    config.pluginmanager.register(_Editor(config), "editor-tree")


class _Editor:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._paths: dict[str, Path] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not hasattr(self._config, "workerinput"):
            for item in session.items:
                assert item.parent is not None
                line = item.location[1]
                place = [str(item.parent.path), None if line is None else line + 1]
                self._write("tree", _id(item.nodeid, item.path), place)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._paths[item.nodeid] = item.path
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> Generator[None, object, object]:
        is_told = hasattr(report, "node")  # by the worker of xdist that it comes from
        if not is_told and (report.when == "call" or (report.when == "setup" and report.skipped)):
            path = self._paths.get(report.nodeid, self._config.rootpath)
            self._write("result", _id(report.nodeid, path), report.outcome)
        return (yield)

    def _write(self, kind: str, nodeid: str, what: object) -> None:
        with (self._config.rootpath / _FILED).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([kind, nodeid, what]) + "\n")


def _id(nodeid: str, path: Path) -> str:
    return "::".join([str(path), *nodeid.split("::")[1:]])


def filed(folder: Path) -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
    """Return the tree, each node with its file and line, and the results; both are forgotten."""
    found: dict[str, dict[str, Any]] = {"tree": {}, "result": {}}
    path = folder / _FILED
    for line in path.read_text("utf-8").splitlines():
        kind, nodeid, what = json.loads(line)
        assert nodeid not in found[kind], f"twice: {nodeid}"
        found[kind][_shown(nodeid, folder)] = what
    path.unlink()
    tree = {
        nodeid: (_shown(parent, folder), line) for nodeid, (parent, line) in found["tree"].items()
    }
    return tree, found["result"]


def _shown(path: str, folder: Path) -> str:
    return path.removeprefix(f"{folder}/")
