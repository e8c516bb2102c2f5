"""E19: xdist's workers behind sockets, as on other machines with the same file system."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.plugin.conftest import Project

SCENARIO = """
    name: qa
    metrics: [em, f1]
    thresholds: {f1: 0.2}
    gates: {f1: 0.3}
    dataset: qa.jsonl
"""


@contextmanager
def _server() -> Iterator[int]:
    """Run execnet's server of this machine alone, and provide its port."""
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            yield _port(process)
        finally:
            process.kill()


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(rb"'127\.0\.0\.1', (\d+)", line)
        if found is not None:
            return int(found[1])
    raise AssertionError("the server ended")


@pytest.mark.full
def test_workers_behind_sockets_give_the_same_to_the_last_byte(project: Project) -> None:
    """[E19] Two servers on loopback, each told the folder, as the how-to page says."""
    project.scenario(SCENARIO)
    project.rows(
        [
            {"id": f"q{at}", "answer": "a b c"[: 1 + at % 5], "references": ["a b"]}
            for at in range(12)
        ]
    )
    named = f"--rag-scenario={project.path / 'qa.rageval.yaml'}"
    plain = project.pytest(named)
    with ExitStack() as stack:
        ports = [stack.enter_context(_server()) for _ in range(2)]
        specs = [f"--tx=socket=127.0.0.1:{port}//chdir={project.path}" for port in ports]
        # In a process of its own: execnet leaves its sockets to the garbage collector.
        sent = project.pytester.runpytest_subprocess(named, "-d", *specs)
    assert plain.ret == sent.ret
    assert plain.parseoutcomes() == sent.parseoutcomes()
    assert project.without_run(0) == project.without_run(1)
    assert project.results()["run"]["workers"] == 2
