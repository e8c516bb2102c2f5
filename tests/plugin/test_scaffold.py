"""``--rag-init`` writes a scenario that runs green as it is, and overwrites nothing."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green


@pytest.mark.full
def test_what_it_wrote_is_green(project: Project, run: Run) -> None:
    """[E14] Three cases and some gates, without a warning; to write them, no test is run."""
    project.pytester.makepyfile("def test_fails(): assert 0")
    result = green(project.pytest("--rag-init=evals/bot"))
    assert "test_fails" not in result.stdout.str()
    result = green(run("evals/bot", "-W", "error", "--strict-markers", "--strict-config"))
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] > 3
    base = "evals/bot/.rageval"  # its pytest.ini makes the rootdir
    assert project.results("quickstart", base)["counts"]["passed"] == 3
