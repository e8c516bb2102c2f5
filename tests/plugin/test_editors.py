"""[E28] Gates and cases in the test trees of editors, at their lines, with their verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from editor_tree import filed

from tests.plugin.conftest import Project, Run, red

# em 1, 0, -: mean 0.5 of the two rows that are scored.
ROWS = """\
name: qa
metrics: [em]
gates:
  em: 0.4
  weighted_score: 0.9
dataset:
  - {id: right, answer: Paris, references: [Paris]}

  - id: wrong
    answer: Rome
    references: [Paris]
  - {id: later, answer: Rome, references: [Rome], skip: not yet}
"""
VARIANTS = """\
name: bots
metrics: [em]
variants:
  one: {}
  two:
    gates: {pass_rate: 0.1}
thresholds: {em: 0.5}
gates: {em: 0.5}
best:
  at_least: one
dataset: bots.jsonl
"""
FUNCTION = """\
import pytest


@pytest.mark.rag_scenario("eval/bots.rageval.yaml", variant="one")
def test_bot(rageval):
    rageval.check("Paris")
"""
TREE = {
    "eval/bots.rageval.yaml::one::a": ("eval/bots.rageval.yaml", 11),
    "eval/bots.rageval.yaml::one::b": ("eval/bots.rageval.yaml", 11),
    "eval/bots.rageval.yaml::two::a": ("eval/bots.rageval.yaml", 11),
    "eval/bots.rageval.yaml::two::b": ("eval/bots.rageval.yaml", 11),
    "qa.rageval.yaml::right": ("qa.rageval.yaml", 7),
    "qa.rageval.yaml::wrong": ("qa.rageval.yaml", 9),
    "qa.rageval.yaml::later": ("qa.rageval.yaml", 12),
    "test_bot.py::test_bot[a]": ("test_bot.py", 4),
    "test_bot.py::test_bot[b]": ("test_bot.py", 4),
    # In the order of the files, the variants' contest last.
    "eval/bots.rageval.yaml::one::gate:em.mean": ("eval/bots.rageval.yaml", 8),
    "eval/bots.rageval.yaml::one::gate:unscored": ("eval/bots.rageval.yaml", 8),
    "eval/bots.rageval.yaml::two::gate:em.mean": ("eval/bots.rageval.yaml", 8),
    "eval/bots.rageval.yaml::two::gate:pass_rate": ("eval/bots.rageval.yaml", 6),
    "eval/bots.rageval.yaml::two::gate:unscored": ("eval/bots.rageval.yaml", 6),
    "qa.rageval.yaml::gate:em.mean": ("qa.rageval.yaml", 4),
    "qa.rageval.yaml::gate:weighted_score": ("qa.rageval.yaml", 5),
    "qa.rageval.yaml::gate:unscored": ("qa.rageval.yaml", 3),
    "test_bot.py::test_bot::gate:em.mean": ("test_bot.py", 4),
    "test_bot.py::test_bot::gate:unscored": ("test_bot.py", 4),
    "test_bot.py::test_bot::gate:best": ("test_bot.py", 4),
    "eval/bots.rageval.yaml::gate:best": ("eval/bots.rageval.yaml", 10),
}
OUTCOMES = {
    **dict.fromkeys(TREE, "passed"),
    "qa.rageval.yaml::later": "skipped",
    "qa.rageval.yaml::gate:weighted_score": "failed",
    "test_bot.py::test_bot::gate:best": "skipped",
    # Two samples that are alike show nothing of a margin of 0.
    "eval/bots.rageval.yaml::gate:best": "failed",
}


@pytest.fixture
def several(project: Project) -> Project:
    """Return a project with rows in a scenario, variants, and a test function over one."""
    project.file("qa.rageval.yaml", ROWS)
    project.file("eval/bots.rageval.yaml", VARIANTS)
    row = {"answer": "Paris", "references": ["Paris"]}
    project.rows([{"id": "a", **row}, {"id": "b", **row}], "eval/bots.jsonl")
    project.file("test_bot.py", FUNCTION)
    return project


def check_filed(project: Project, collect: Run, run: Run) -> None:
    """Have an editor collect the project, then run it: every result goes to a node."""
    collect("-p", "editor_tree", "--collect-only", "-q")
    tree, results = filed(project.path)
    assert list(tree.items()) == list(TREE.items())
    assert results == {}
    run("-p", "editor_tree")
    assert filed(project.path)[1] == OUTCOMES


@pytest.mark.full
def test_each_result_is_at_a_node_of_the_tree(several: Project, plain: Run, run: Run) -> None:
    """[C1, C2] And each node has one; a case is at its row or the data, a gate at its key."""
    check_filed(several, plain, run)


@pytest.mark.full
def test_with_workers_each_result_is_at_a_node_too(several: Project, workers: Run) -> None:
    """[C1] No worker decides a gate, and the process that does has collected none."""
    # Workers of older versions have not the path on which the editor is.
    pytest.importorskip("xdist", "3.7")
    check_filed(several, workers, workers)


@pytest.mark.full
def test_collecting_counts_what_a_run_counts(several: Project) -> None:
    """[E28] Gates are listed behind all cases; a selection keeps those of what it selects."""
    result = several.pytest("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == list(TREE)
    result.stdout.fnmatch_lines(["21 tests collected*"])
    several.pytest().stdout.fnmatch_lines(["collected 21 items"])
    chosen = several.pytest("-k", "right")
    chosen.stdout.fnmatch_lines(["collected 12 items / 8 deselected / 4 selected"])
    chosen.assert_outcomes(passed=1, skipped=3, deselected=8)
    named = several.pytest("qa.rageval.yaml::right")
    named.stdout.fnmatch_lines(["collected 4 items"])
    named.assert_outcomes(passed=1, skipped=3)
    planned = several.pytest("--setup-plan", "qa.rageval.yaml")
    planned.stdout.fnmatch_lines(["collected 3 items"])


@pytest.mark.full
def test_a_gate_runs_from_the_tree(several: Project, run: Run) -> None:
    """[C1] By its absolute id, as editors give it; it is decided, and so is the contest."""
    for node in ("qa.rageval.yaml::gate:em.mean", "eval/bots.rageval.yaml::gate:best"):
        run("-p", "editor_tree", str(several.path / node))
        results = filed(several.path)[1]
        file = node.partition("::")[0]
        assert results == {one: how for one, how in OUTCOMES.items() if one.startswith(file)}


OTHERS = """
    import pytest

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(items):
        items.reverse()
        for item in items:
            assert ":gate:" not in item.nodeid
            item.add_marker(pytest.mark.skip(reason="not today"))

    def pytest_itemcollected(item):
        assert ":gate:" not in item.nodeid

    def pytest_runtest_setup(item):
        pytest.skip("no mark")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item):
        if item.nodeid.endswith("gate:em.mean"):
            return True
"""


def test_hooks_of_others_neither_select_nor_decide_gates(several: Project) -> None:
    """[E28] Whatever they do to all items, and even where one swallows a gate."""
    several.conftest(OTHERS)
    result = red(several.pytest("-v", "qa.rageval.yaml"))
    result.assert_outcomes(skipped=3, failed=3)  # nothing was scored, which no gate lets pass
    shown = [line.split()[0] for line in result.outlines if line.startswith("qa.rageval.yaml::")]
    assert shown == [
        f"qa.rageval.yaml::{name}"
        for name in (
            "later",
            "wrong",
            "right",
            "gate:em.mean",
            "gate:weighted_score",
            "gate:unscored",
        )
    ]


def test_pycharm_shows_gates(several: Project) -> None:
    """[E28] Its protocol starts, fails and ends a gate as it does a test."""
    pytest.importorskip("teamcity")
    result = several.pytest("--teamcity", "qa.rageval.yaml")
    told = [line for line in result.outlines if "gate:" in line]
    for name, failures in (("em_mean", 0), ("weighted_score", 1), ("unscored", 0)):
        lines = [line for line in told if name in line]
        assert sum("testStarted" in line for line in lines) == 1
        assert sum("testFailed" in line for line in lines) == failures
        assert sum("testFinished" in line for line in lines) == 1


_VSCODE = os.environ.get("VSCODE_PYTEST", "")


@pytest.mark.skipif(not _VSCODE, reason="VSCODE_PYTEST names no folder with VS Code's plugin")
@pytest.mark.parametrize("more", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_the_plugin_of_vs_code_shows_gates(several: Project, more: list[str]) -> None:
    """[C1, C2] The real one: python_files/vscode_pytest of microsoft/vscode-python."""
    (collected,) = _said(several, "--collect-only", *more)
    nodes = list(_leaves(collected["tests"]))
    assert {_relative(node, several): int(node["lineno"]) for node in nodes} == {
        node: line for node, (_, line) in TREE.items()
    }
    results = {
        key.removeprefix(f"{several.path}/"): result["outcome"]
        for message in _said(several, *more)
        for key, result in (message["result"] or {}).items()
    }
    words = {"passed": "success", "failed": "failure", "skipped": "skipped"}
    expected = {node: words[how] for node, how in OUTCOMES.items()}
    # With workers it also files the results of cases, of any test, below the folder.
    assert {node: how for node, how in results.items() if node in TREE} == expected
    if not more:
        assert results.keys() == TREE.keys()
    assert not any("gate:" in node for node in results.keys() - TREE.keys())


def _relative(node: dict[str, Any], project: Project) -> str:
    return str(node["id_"]).removeprefix(f"{project.path}/")


def _leaves(node: dict[str, Any]) -> Any:
    if node["type_"] == "test":
        yield node
    for child in node.get("children", ()):
        yield from _leaves(child)


def _said(project: Project, *args: str) -> list[dict[str, Any]]:
    """Return the messages that a run with VS Code's plugin sends through its pipe."""
    pipe, found = project.path.with_name(f"{project.path.name}-{len(args)}.pipe"), []
    os.mkfifo(pipe)

    def listen() -> None:
        while (heard := pipe.read_bytes()) != b"over":
            found.append(heard)

    listener = threading.Thread(target=listen)
    listener.start()
    folder = Path(_VSCODE)
    paths = os.pathsep.join([str(folder.parent), *sys.path])
    environment = {**os.environ, "TEST_RUN_PIPE": str(pipe), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "pytest", "-p", folder.name, f"--rootdir={project.path}"]
    subprocess.run([*command, *args], cwd=project.path, env=environment, check=False)
    pipe.write_bytes(b"over")
    listener.join()
    rest, messages = b"".join(found), []
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = int(head.split(b"content-length:")[1].split()[0])
        messages.append(json.loads(rest[:length])["params"])
        rest = rest[length:]
    return messages
