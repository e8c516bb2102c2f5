"""Plain pytest, this plugin, pytest-evals and deepeval: an empty folder, and the same 1,000 cases.

Each case compares an answer with its reference, letter by letter; nothing asks a model. Of the
plugins that are installed, a command loads only those of its tool. Tools that are not installed are
left out: ``pip install deepeval pytest-evals``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks.measure import Command, run, wanted, without

_CASES = 1000
_READ = f"""\
import json
from pathlib import Path

import pytest

ROWS = [json.loads(line) for line in Path("rows.jsonl").read_text("utf-8").splitlines()]
assert len(ROWS) == {_CASES}
"""
_PLAIN = """
@pytest.mark.parametrize("row", ROWS)
def test_row(row):
    assert row["answer"] == row["references"][0]
"""
_DEEPEVAL = """
from deepeval import assert_test
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase

@pytest.mark.parametrize("row", ROWS)
def test_row(row):
    case = LLMTestCase(
        input=row["question"], actual_output=row["answer"], expected_output=row["references"][0]
    )
    assert_test(case, [ExactMatchMetric(threshold=1.0)])
"""
_PYTEST_EVALS = """
@pytest.mark.eval(name="rows")
@pytest.mark.parametrize("row", ROWS)
def test_row(row, eval_bag):
    eval_bag.exact = row["answer"] == row["references"][0]

@pytest.mark.eval_analysis(name="rows")
def test_mean(eval_results):
    assert sum(one.result.exact for one in eval_results) / len(eval_results) >= 0.9
"""
_SCENARIO = """\
name: rows
dataset: rows.jsonl
metrics: [string_equality]
thresholds: {string_equality: 1}
gates: {string_equality: 0.9}
"""


@dataclass(frozen=True)
class _Tool:
    """A tool, its distribution, the plugins that it brings, and how 1,000 cases are written."""

    name: str
    distribution: str
    plugins: Sequence[str]
    file: str
    text: str
    options: Sequence[str] = ()


_TOOLS = (
    _Tool("plain pytest", "pytest", (), "test_rows.py", _READ + _PLAIN),
    _Tool("pytest-rageval", "pytest-rageval", ("rageval",), "rows.rageval.yaml", _SCENARIO),
    _Tool(
        "pytest-evals",
        "pytest-evals",
        ("evals", "harvest"),
        "test_rows.py",
        _READ + _PYTEST_EVALS,
        ("--run-eval", "--run-eval-analysis"),
    ),
    _Tool(
        "deepeval",
        "deepeval",
        ("deepeval", "asyncio", "repeat", "rerunfailures"),
        "test_rows.py",
        _READ + _DEEPEVAL,
    ),
)


def others(folder: Path, repeat: int) -> None:
    """CPU time of each tool, in turn, by that of plain pytest."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
    tools = [tool for tool in _TOOLS if _version(tool)]
    empty = {tool.name: folder / f"{tool.name}, empty" for tool in tools}
    whole = {tool.name: folder / tool.name for tool in tools}
    for tool in tools:
        empty[tool.name].mkdir()
        _write(tool, whole[tool.name])
    # With workers, pytest-evals 0.3.4 ends in an INTERNALERROR.
    ran = [tool for tool in tools if tool.name != "pytest-evals"]
    for what, folders, options, which in (
        ("an empty folder, --collect-only", empty, ["--collect-only"], tools),
        (f"{_CASES:,} cases", whole, [], tools),
        (f"{_CASES:,} cases, -n 2", whole, ["-n", "2"], ran),
    ):
        statuses = (5,) if folders is empty else (0,)
        commands = [
            Command(_arguments(tool, tools, options), folders[tool.name], statuses)
            for tool in which
        ]
        rounds = [[run(command) for command in commands] for _ in range(repeat + 1)][1:]
        for at, tool in enumerate(which):
            cpu_s = min(used[at].cpu_s for used in rounds)
            ratio = statistics.median(used[at].cpu_s / used[0].cpu_s for used in rounds)
            said = f"{what}, {tool.name} {_version(tool)}"
            goal = ""
            if tool.name == "pytest-rageval" and folders is whole:
                goal = f"  {wanted(f'{what}, by plain pytest', ratio, 1)}"
            sys.stdout.write(f"{said:<60} CPU {cpu_s:6.2f} s  by plain pytest {ratio:6.2f}{goal}\n")
        sys.stdout.flush()


def _write(tool: _Tool, folder: Path) -> None:
    folder.mkdir()
    (folder / tool.file).write_text(tool.text, encoding="utf-8")
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as stream:
        for at in range(_CASES):
            row = {"id": f"r{at}", "question": f"Which is number {at}?", "answer": f"number {at}"}
            stream.write(json.dumps({**row, "references": [row["answer"]]}) + "\n")


def _arguments(tool: _Tool, tools: Sequence[_Tool], more: Sequence[str]) -> list[str]:
    """Return what Python is called with: other tools' plugins stay out, warnings unheard."""
    unwanted = {name for one in tools for name in one.plugins} - {*tool.plugins}
    calm = ["-W", "ignore", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin"]
    return ["-m", "pytest", "-q", *calm, *without(unwanted), *more, *tool.options]


def _version(tool: _Tool) -> str:
    try:
        return version(tool.distribution)
    except PackageNotFoundError:
        return ""
