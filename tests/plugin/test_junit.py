"""E3, E15: JUnit XML has the scores of each case as properties, and each gate as a test case."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import pytest

from pytest_rageval.engine.plan import BatchScores
from tests.plugin.conftest import Project, Run

# f1 of "in Paris" against "Paris": precision 1/2, recall 1, 2·0.5/1.5 = 2/3.
# Weighted with em 1, f1 3: (0 + 3·2/3) / 4 = 0.5.
SCENARIO = """
    name: qa
    metrics: [em, f1, {silent: {name: 双源}}, {acc: {name: "a\\x01<b>"}}]
    metric_weights: {em: 1, f1: 3, 双源: 0, "a\\x01<b>": 0}
    doc_weights: {heavy.pdf: 2.5}
    thresholds: {f1: 0.9}
    gates: {em: 0.9, f1: 0.5}
    dataset:
      - {id: right, answer: Paris, references: [Paris], doc_name: heavy.pdf}
      - {id: low, answer: in Paris, references: [Paris]}
      - {id: off, answer: Paris, references: [Paris], skip: not yet}
      - {id: known, answer: Rome, references: [Paris], xfail: known}
      - {id: broken, answer: [1], references: [Paris]}
"""

RECORDS = """
    def pytest_runtest_setup(item):
        item.user_properties.append(("team", "search"))
"""


def cases(project: Project) -> dict[str, ET.Element]:
    """Return the test cases of the file by their names."""
    root = ET.parse(project.path / "junit.xml").getroot()
    found = list(root.iter("testcase"))
    assert len({case.get("name") for case in found}) == len(found)
    return {str(case.get("name")): case for case in found}


def properties(case: ET.Element) -> dict[str, str]:
    """Return the properties of a case; each is there once."""
    found = [(str(one.get("name")), str(one.get("value"))) for one in case.iter("property")]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.mark.full
def test_each_case_has_its_scores_and_each_gate_is_a_case(project: Project, run: Run) -> None:
    """What is unscored is absent; so is everything of a case that has no score at all.

    em (2.5 + 0 + 0) / 4.5 < 0.9 fails; f1 (2.5 + 2/3 + 0) / 4.5 = 0.70 holds. Properties that a
    conftest.py records stay.
    """
    project.with_broken_metrics(RECORDS)
    project.scenario(SCENARIO)
    result = run("--junitxml=junit.xml")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    found = {name: properties(case) for name, case in cases(project).items()}
    assert found["right"] == {
        "team": "search",
        "rageval.em": "1.0",
        "rageval.f1": "1.0",
        r"rageval.a\x01<b>": "1.0",
        "rageval.weighted_score": "1.0",
        "rageval.sample_weight": "2.5",
    }
    low = {name: float(value) for name, value in found["low"].items() if name != "team"}
    assert low == {
        "rageval.em": 0.0,
        "rageval.f1": pytest.approx(2 / 3),
        r"rageval.a\x01<b>": 1.0,
        "rageval.weighted_score": pytest.approx(0.5),
        "rageval.sample_weight": 1.0,
    }
    assert found["known"]["rageval.weighted_score"] == "0.0"
    assert found["off"] == {}
    assert found["broken"] == {"team": "search"}
    gates = {name: case for name, case in cases(project).items() if name.startswith("gate:")}
    # The broken row is one of four that should have a score: 0.25 > 0.
    assert {name: [child.tag for child in case] for name, case in gates.items()} == {
        "gate:em.mean": ["failure"],
        "gate:f1.mean": [],
        "gate:unscored": ["failure"],
    }
    failure = gates["gate:em.mean"].find("failure")
    assert failure is not None
    assert "0.5556 < 0.9000" in str(failure.get("message"))


WITNESS = """
    import pytest

    def pytest_runtest_logreport(report):
        with open("sent.txt", "a") as log:
            log.write(f"{report.when} {report.user_properties}" + chr(10))
"""


def test_without_the_xml_no_report_has_properties(project: Project, run: Run) -> None:
    """They would be sent with every report of a case, and kept to the end."""
    project.conftest(WITNESS)
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: Paris, references: [Paris]}]")
    run()
    lines = (project.path / "sent.txt").read_text("utf-8").splitlines()
    assert len(lines) >= 3
    assert {line.partition(" ")[2] for line in lines} == {"[]"}


@pytest.mark.full
def test_what_is_loaded_once_is_no_time_of_the_first_case(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[U6] A table that is made when the first text needs it; ranking scores of all samples."""

    @cache
    def slow() -> dict[int, str]:
        time.sleep(5)
        return {}

    run = BatchScores._run

    def slow_run(self: BatchScores, *args: Any) -> None:
        time.sleep(5)
        run(self, *args)

    monkeypatch.setattr("pytest_rageval.text.tokenize._unicode_punctuation", slow)
    monkeypatch.setattr(BatchScores, "_run", slow_run)
    row = "answer: 巴黎, references: [巴黎], retrieved_ids: [x], reference_ids: [x]"
    project.scenario(
        f"""
        name: qa
        metrics: [{{f1: {{normalizer: unicode}}}}, mrr]
        dataset: [{{id: a, {row}}}, {{id: b, {row}}}]
        """
    )
    project.pytest("--junitxml=junit.xml").assert_outcomes(passed=2)
    assert slow.cache_info().misses == 1
    times = [float(case.get("time", "nan")) for case in cases(project).values()]
    assert max(times) < 4.5
