"""A scenario that cannot be used is one message with every mistake in it, and nothing is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

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


def test_all_mistakes_come_in_one_message(project: Project, run: Run) -> None:
    """[E12] Each with file and line, what was found and the nearest guess; no folder is written."""
    project.rows([{"answer": "a", "references": ["a"]}])
    (project.path / "qa.rageval.yaml").write_text(SIX_MISTAKES, "utf-8")
    result = run()
    expected = pytest.ExitCode.TESTS_FAILED if run.distributed else pytest.ExitCode.INTERRUPTED
    assert result.ret == expected
    for line in (
        "*qa.rageval.yaml:2: metrics[[]0]: unknown metric 'emm'. Did you mean 'em'?*",
        "*qa.rageval.yaml:3: metric_weights.f1: *-1*",
        "*qa.rageval.yaml:4: thresholds.f1*'high'*",
        "*qa.rageval.yaml:5: gates.pas_rate: *Did you mean 'pass_rate'?*",
        "*qa.rageval.yaml:6: unknown key 'bandz'. Did you mean 'bands'?*",
        "*qa.rageval.yaml:7: dataset.limit: 0 *",
    ):
        result.stdout.fnmatch_lines([line])
    _no_traceback(result)
    assert project.wrote_nothing


def test_mistakes_are_listed_in_the_order_of_their_lines(project: Project) -> None:
    """[E12] As one mends them."""
    project.rows([{"answer": "a", "references": ["a"]}])
    (project.path / "qa.rageval.yaml").write_text(SIX_MISTAKES, "utf-8")
    lines = [line for line in project.pytest().outlines if "qa.rageval.yaml:" in line]
    numbers = [int(line.partition("yaml:")[2].partition(":")[0]) for line in lines]
    assert numbers == sorted(numbers)
    assert set(numbers) == {2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [unclosed", "*qa.rageval.yaml:*not valid YAML*"),
        ("", "*qa.rageval.yaml:1: *"),
        ("- a\n- list\n", "*qa.rageval.yaml:1: *list*"),
        ("name: qa\nname: again\nmetrics: [em]\ndataset: qa.jsonl", "*:2: duplicate key 'name'*"),
        ("metrics: [em]\ndataset: qa.jsonl", "*qa.rageval.yaml*: name: required*"),
        ("name: qa\ndataset: qa.jsonl", "*qa.rageval.yaml*: metrics: required*"),
        ("name: qa\nmetrics: []\ndataset: qa.jsonl", "*:2: metrics: must not be empty*"),
        ("name: qa\nmetrics: [em]", "*qa.rageval.yaml*: dataset: required*"),
        ("name: qa\nmetrics: [em]\ndataset: qa.json", "*:3: *'qa.json'*Did you mean 'qa.jsonl'?*"),
        ("name: qa\nmetrics: [em]\ndataset: []", "*no rows*"),
        (
            "name: qa\nmetrics: [em]\nmetric_weights: {em: 0}\ndataset: qa.jsonl",
            "*:3: metric_weights: all weights are 0*",
        ),
        (
            "name: qa\nmetrics: [em]\nthresholds: {em: .nan}\ndataset: qa.jsonl",
            "*:3: thresholds.em*",
        ),
        ("name: qa\nmetrics: [{em: {normaliser: x}}]\ndataset: qa.jsonl", "*:2: *'normalizer'*"),
        ("name: qa\nmetrics: [em, em]\ndataset: qa.jsonl", "*:2: *'em' is named twice*"),
        ("name: !!python/name:os.system x\nmetrics: [em]\ndataset: qa.jsonl", "*:1: *"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_place(project: Project, text: str, message: str) -> None:
    """[E12] Exit status 2, the place, no traceback, no folder."""
    project.rows([{"answer": "a", "references": ["a"]}])
    (project.path / "qa.rageval.yaml").write_text(text, "utf-8")
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
    _no_traceback(result)
    assert project.wrote_nothing


def test_bytes_that_are_no_text_are_placed(project: Project) -> None:
    """[E12] Line 2, offset 9 + 3."""
    (project.path / "qa.rageval.yaml").write_bytes(b"name: qa\nx: \xff\n")
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.rageval.yaml:2: not UTF-8: byte 0xff at offset 12*"])
    _no_traceback(result)


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
    """[E12] With the name that the user knows it by."""
    project.scenario("name: bad\nmetrcs: [em]\ndataset: [{answer: a}]", "bad")
    result = project.pytest("--rag-scenario=bad.rageval.yaml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    found = [line for line in result.outlines if "unknown key 'metrcs'" in line]
    assert len(found) == 1
    assert found[0].startswith(("bad.rageval.yaml:2:", "E   bad.rageval.yaml:2:"))
