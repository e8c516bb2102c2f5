"""Hooks that run once the verdict is there do not turn a red run into a green one."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

# em: 1 and 0; the mean 0.5 misses the gate, and both cases pass.
RED = """
    name: qa
    metrics: [em]
    gates: {em: 0.9}
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
      - {id: b, answer: Rome, references: [Paris]}
"""
GREEN = RED.replace("0.9", "0.5")

EXITS = "pytest.exit('bye', returncode=0)"
SETS = "session.exitstatus = 0"

WAYS = {
    "finish": f"def pytest_sessionfinish(session):\n    {EXITS}",
    "finish, first": (
        f"@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(session):\n    {EXITS}"
    ),
    "finish, last": (
        f"@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    {EXITS}"
    ),
    "finish, before all": (
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        f"def pytest_sessionfinish(session):\n    {EXITS}\n    yield"
    ),
    "finish, after all": (
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        f"def pytest_sessionfinish(session):\n    yield\n    {EXITS}"
    ),
    "finish, innermost": (
        "@pytest.hookimpl(wrapper=True, trylast=True)\n"
        f"def pytest_sessionfinish(session):\n    yield\n    {EXITS}"
    ),
    "status": f"def pytest_sessionfinish(session):\n    {SETS}",
    "status, after all": (
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        f"def pytest_sessionfinish(session):\n    yield\n    {SETS}"
    ),
    "status of another kind": "def pytest_sessionfinish(session):\n    session.exitstatus = None",
    "status of a byte": f"def pytest_sessionfinish():\n    {EXITS.replace('0', '256')}",
    "summary": f"def pytest_terminal_summary():\n    {EXITS}",
    "summary, first": (
        f"@pytest.hookimpl(tryfirst=True)\ndef pytest_terminal_summary():\n    {EXITS}"
    ),
    "summary, last": (
        f"@pytest.hookimpl(trylast=True)\ndef pytest_terminal_summary():\n    {EXITS}"
    ),
    "summary, wrapper": (
        f"@pytest.hookimpl(wrapper=True)\ndef pytest_terminal_summary():\n    yield\n    {EXITS}"
    ),
    "end": (
        "def pytest_sessionstart(session):\n    session.config.its = session\n"
        "def pytest_unconfigure(config):\n    config.its.exitstatus = 0"
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_hook_after_the_verdict_does_not_make_a_red_run_green(
    project: Project, run: Run, way: str
) -> None:
    """V2: in any position, and the files are there."""
    project.scenario(RED)
    project.conftest(f"import pytest\n{way}")
    assert run().ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates() == {"em.mean": "failed", "unscored": "passed"}


@pytest.mark.full
@pytest.mark.parametrize("way", ["finish", "finish, before all", "status", "summary"])
def test_a_green_run_ends_as_the_hook_says(project: Project, way: str) -> None:
    """V2: only what is red is kept; another status than 0 is the hook's own affair."""
    project.scenario(GREEN)
    project.conftest(f"import pytest\n{WAYS[way]}")
    assert project.pytest().ret == pytest.ExitCode.OK
    # Of another length: in the same second, Python would take it for the file before.
    project.conftest(f"import pytest\n{WAYS[way]}".replace("=0", "=17").replace("= 0", "= 17"))
    assert project.pytest().ret == 17
    project.scenario(RED)
    assert project.pytest().ret == 17


@pytest.mark.full
@pytest.mark.parametrize("hook", ["pytest_sessionfinish", "pytest_terminal_summary"])
def test_with_workers_the_verdict_stays_too(project: Project, workers: Run, hook: str) -> None:
    """V2: the hook runs in both workers, and in the controller."""
    project.scenario(RED)
    project.conftest(f"import pytest\ndef {hook}():\n    {EXITS}")
    assert workers().ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates()["em.mean"] == "failed"


def test_a_red_case_stays_red(project: Project) -> None:
    """V2: without a gate, too."""
    project.scenario(RED.replace("gates: {em: 0.9}", "thresholds: {em: 0.5}"))
    project.conftest(f"import pytest\n{WAYS['finish']}")
    assert project.pytest().ret == pytest.ExitCode.TESTS_FAILED


def test_a_refused_run_stays_refused(project: Project) -> None:
    """V2: a baseline that is not there; an option without a scenario; a file that is none."""
    project.conftest(f"import pytest\n{WAYS['finish']}")
    project.scenario(RED.replace("gates: {em: 0.9}", "compare: main"))
    assert project.pytest().ret == pytest.ExitCode.USAGE_ERROR
    project.scenario("name: [")
    assert project.pytest().ret == pytest.ExitCode.INTERRUPTED
    (project.path / "qa.rageval.yaml").unlink()
    project.file("test_it.py", "def test_it(): pass")
    assert project.pytest("--rag-fail-under=0.5").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.full
def test_a_baseline_that_was_not_saved_stays_a_failure(project: Project) -> None:
    """V2: ``--rag-save`` of a red run."""
    project.scenario(RED)
    project.conftest(f"import pytest\n{WAYS['summary']}")
    assert project.pytest("--rag-save", "main").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_other_tests_end_as_the_hook_says(project: Project) -> None:
    """V2: what is no case is none of our business."""
    project.scenario(GREEN)
    project.file("test_it.py", "def test_it(): assert False")
    project.conftest(f"import pytest\n{WAYS['status']}")
    assert project.pytest().ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_hook_that_exits_python_leaves_the_status_red(project: Project) -> None:
    """V2: ``sys.exit(0)``; a process of its own, which it would end."""
    project.scenario(RED)
    project.conftest("import sys\ndef pytest_sessionfinish():\n    sys.exit(0)")
    result = project.pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_a_red_shard_stays_red(project: Project) -> None:
    """V2: and its file is there; so does the merge."""
    project.scenario(RED.replace("gates", "thresholds: {em: 0.5}\n    gates"))
    project.conftest(f"import pytest\n{WAYS['finish, before all']}")
    assert project.pytest("--rag-shard=1/2").ret == pytest.ExitCode.OK
    assert project.pytest("--rag-shard=2/2").ret == pytest.ExitCode.TESTS_FAILED
    assert project.pytest("--rag-merge=.rageval").ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates()["em.mean"] == "failed"
