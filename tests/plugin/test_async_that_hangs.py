"""Async functions that block the loop, or go on when cancelled: the run ends, and is red."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

FUNCTIONS = """
import asyncio, time
async def blocks(question=None, answer=None): time.sleep(1000)
async def blocks_later(question):
    if question == "p":
        print("begun", flush=True)
        time.sleep(1000)
    return "x"
async def goes_on(question=None, answer=None):
    while True:
        try: await asyncio.sleep(1)
        except BaseException: pass
async def closes_slowly(question=None, answer=None):
    try: await asyncio.sleep(1000)
    finally: await asyncio.sleep(1000)
async def takes_a_while(question):
    time.sleep(0.3)
    return "x"
async def counts(answer):
    time.sleep(0.3)
    return 1.0
async def streams(question):
    time.sleep(0.3)
    yield "x"
async def blocks_in_a_task(question=None, answer=None):
    async def blocks(): time.sleep(1000)
    await asyncio.create_task(blocks())
async def asks_in_tasks(question):
    async def node(): time.sleep(0.3)
    await asyncio.gather(node())
    await asyncio.wait_for(node(), 30)
    return "x"
async def searches_then_asks(question):
    time.sleep(0.3)
    await asyncio.sleep(0.1)
    return "x"
"""
ROWS = "dataset: [{id: a, question: q, references: x, answer: x}, "
ROWS += "{id: b, question: p, references: x, answer: x}]\n"
TARGET = "name: s\n" + ROWS + "target: {use: 'hangs:NAME', timeout_s: 0.5}\nmetrics: [em]\n"
METRIC = "name: s\n" + ROWS + "metrics: [{use: 'hangs:NAME', name: x, timeout_s: 0.5}, em]\n"


@pytest.mark.parametrize("name", ["blocks", "blocks_in_a_task", "goes_on", "closes_slowly"])
@pytest.mark.parametrize("scenario", [TARGET, METRIC], ids=["target", "metric"])
def test_the_sample_has_failed_and_the_run_ends(
    pytester: pytest.Pytester, scenario: str, name: str
) -> None:
    pytester.makepyfile(hangs=FUNCTIONS)
    pytester.path.joinpath("s.rageval.yaml").write_text(scenario.replace("NAME", name), "utf-8")
    result = pytester.runpytest_subprocess("-q", "s.rageval.yaml", timeout=45)
    assert result.ret == 1
    said = (
        "*blocks (hangs.py) did not end within 0.5 s*" if name.startswith("blocks") else "*0.5 s*"
    )
    result.stdout.fnmatch_lines([said, "*s.rageval.yaml::b - *"])
    output = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in output
    assert "Task was destroyed" not in output


MANY = "name: s\ndataset: many.jsonl\n"
EACH = {
    "target": MANY + "target: {use: 'hangs:takes_a_while', timeout_s: 1}\nmetrics: [em]\n",
    "stream": MANY + "target: {use: 'hangs:streams', timeout_s: 1}\nmetrics: [em]\n",
    "mixed": MANY + "target: {use: 'hangs:searches_then_asks', timeout_s: 1}\nmetrics: [em]\n",
    "tasks": MANY + "target: {use: 'hangs:asks_in_tasks', timeout_s: 1}\nmetrics: [em]\n",
    "metric": MANY + "metrics: [{use: 'hangs:counts', name: x, timeout_s: 1}]\n",
}


@pytest.mark.full
@pytest.mark.parametrize("name", EACH)
def test_what_others_take_is_not_charged_to_a_call(pytester: pytest.Pytester, name: str) -> None:
    """12 calls block for 0.3 s each, 3.6 s altogether; each may take 1 s."""
    pytester.makepyfile(hangs=FUNCTIONS)
    rows = [
        {"id": f"q{at}", "question": f"{at}?", "references": "x", "answer": "x"} for at in range(12)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    pytester.path.joinpath("many.jsonl").write_text(text, "utf-8")
    pytester.path.joinpath("s.rageval.yaml").write_text(EACH[name], "utf-8")
    result = pytester.runpytest_subprocess("-q", "s.rageval.yaml", timeout=45)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*12 of 12 cases passed*"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_ends_in_a_summary(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(hangs=FUNCTIONS)
    scenario = TARGET.replace("NAME", "blocks_later").replace("0.5", "500, concurrency: 1")
    pytester.path.joinpath("s.rageval.yaml").write_text(scenario, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "s.rageval.yaml"]
    with subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "begun" in line:
                break
        time.sleep(1)  # the first sample is reported meanwhile
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "Traceback" not in output
    assert "TimeoutError" not in output
    assert "KeyboardInterrupt" in output
    assert [*pytester.path.rglob("results.json")]
