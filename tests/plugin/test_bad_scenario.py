"""A scenario that cannot be used is one message with every mistake in it, and nothing is run."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, interrupted

pytestmark = pytest.mark.full

# Mistakes on lines 2, 3, 4, 5, 6 and 7.
SIX_MISTAKES = """\
name: qa
metrics: [emm, f1]
metric_weights: {f1: -1}
thresholds: {f1: high}
gates: {pas_rate: 0.5}
bandz: {good: 0.9}
dataset: {path: qa.jsonl, limit: 0}
"""


def _no_traceback(result: pytest.RunResult) -> None:
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "site-packages" not in text
    assert "collect.py" not in text
    assert "UserError" not in text
    assert "ScenarioError" not in text


@pytest.mark.parametrize(
    ("args", "ends"),
    [
        pytest.param((), pytest.ExitCode.INTERRUPTED, id="plain"),
        pytest.param(("-n", "2"), pytest.ExitCode.TESTS_FAILED, id="xdist"),
    ],
)
def test_all_mistakes_come_in_one_message(
    project: Project, args: tuple[str, ...], ends: pytest.ExitCode
) -> None:
    """[E12] Each with file and line, what was found and the nearest guess; no folder is written."""
    project.rows([{"answer": "a", "references": ["a"]}])
    (project.path / "qa.rageval.yaml").write_text(SIX_MISTAKES, "utf-8")
    result = project.pytest(*args)
    assert result.ret == ends
    for line in (
        "*qa.rageval.yaml:2: metrics[[]0]: unknown metric 'emm'. Did you mean 'em'?*",
        "*qa.rageval.yaml:3: metric_weights.f1: *-1*",
        "*qa.rageval.yaml:4: thresholds.f1*'high'*",
        "*qa.rageval.yaml:5: gates.pas_rate: *Did you mean 'pass_rate'?*",
        "*qa.rageval.yaml:6: unknown key 'bandz'. Did you mean 'bands'?*",
        "*qa.rageval.yaml:7: dataset.limit: 0 *",
    ):
        result.stdout.fnmatch_lines([line])
    found = [line for line in result.outlines if "qa.rageval.yaml:" in line and "ERROR" not in line]
    lines = [int(line.partition("yaml:")[2].partition(":")[0]) for line in found]
    assert lines == sorted(lines)
    _no_traceback(result)
    assert project.wrote_nothing


def test_a_bad_scenario_stops_the_good_ones(project: Project) -> None:
    """[E12] As a test file that cannot be imported does; ``--continue-on-collection-errors``."""
    project.scenario("name: bad", "bad")
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: a, references: [a]}]")
    assert project.pytest().ret == pytest.ExitCode.INTERRUPTED
    assert project.wrote_nothing
    result = project.pytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    assert project.results()["counts"]["passed"] == 1


def test_a_bad_scenario_named_by_the_option_is_reported_once(project: Project) -> None:
    """[E12] With the name that the user knows it by; bytes that are no text are placed, too."""
    path = project.scenario("name: bad\nmetrcs: [em]\ndataset: [{answer: a}]", "bad")
    for line in (b"metrcs: [em]", b"x: \xff"):
        path.write_bytes(b"name: bad\n" + line + b"\ndataset: [{answer: a}]")
        result = interrupted(project.pytest("--rag-scenario=bad.rageval.yaml"))
        found = [line for line in result.outlines if "bad.rageval.yaml:2: " in line]
        assert len(found) == 1
        assert found[0].startswith(("bad.rageval.yaml:2:", "E   bad.rageval.yaml:2:"))
        _no_traceback(result)
