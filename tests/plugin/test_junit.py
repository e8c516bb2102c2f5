"""E3, E15: JUnit XML has the scores of each case as properties, and each gate as a test case."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# f1 of "in Paris" against "Paris": precision 1/2, recall 1, 2·0.5/1.5 = 2/3.
# Weighted with em 1, f1 3: (0 + 3·2/3) / 4 = 0.5.
SCENARIO = """
    name: qa
    metrics: [em, f1, {silent: {name: 双源}}]
    metric_weights: {em: 1, f1: 3, 双源: 0}
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


def test_each_case_has_its_scores(project: Project, run: Run) -> None:
    """What is unscored is absent; so is everything of a case that has no score at all."""
    project.with_broken_metrics()
    project.scenario(SCENARIO)
    run("--junitxml=junit.xml")
    found = {name: properties(case) for name, case in cases(project).items()}
    third = pytest.approx(2 / 3)
    assert found["right"] == {
        "rageval.em": "1.0",
        "rageval.f1": "1.0",
        "rageval.weighted_score": "1.0",
        "rageval.sample_weight": "2.5",
    }
    low = {name: float(value) for name, value in found["low"].items()}
    assert low == {
        "rageval.em": 0.0,
        "rageval.f1": third,
        "rageval.weighted_score": pytest.approx(0.5),
        "rageval.sample_weight": 1.0,
    }
    assert found["known"]["rageval.weighted_score"] == "0.0"
    assert (found["off"], found["broken"]) == ({}, {})


def test_each_gate_is_a_case(project: Project, run: Run) -> None:
    """em (2.5 + 0 + 0) / 4.5 < 0.9 fails; f1 (2.5 + 2/3 + 0) / 4.5 = 0.70 holds."""
    project.with_broken_metrics()
    project.scenario(SCENARIO)
    run("--junitxml=junit.xml")
    found = cases(project)
    gates = {name: case for name, case in found.items() if name.startswith("gate:")}
    # The broken row is one of four that should have a score: 0.25 > 0.
    assert {name: [child.tag for child in case] for name, case in gates.items()} == {
        "gate:em.mean": ["failure"],
        "gate:f1.mean": [],
        "gate:unscored": ["failure"],
    }
    failure = gates["gate:em.mean"].find("failure")
    assert failure is not None
    assert "0.5556 < 0.9000" in str(failure.get("message"))


def test_both_runs_write_the_same_properties(project: Project) -> None:
    """Plain and with two workers, to the last digit."""
    project.with_broken_metrics()
    project.scenario(SCENARIO)
    written = []
    for args in ((), ("-n", "2")):
        project.pytest("--junitxml=junit.xml", *args)
        written.append({name: properties(case) for name, case in cases(project).items()})
    assert written[0] == written[1]


@pytest.mark.parametrize("family", ["xunit1", "xunit2", "legacy"])
def test_every_family_has_them(project: Project, family: str) -> None:
    project.scenario(SCENARIO.replace(", {silent: {name: 双源}}", "").replace(", 双源: 0", ""))
    project.pytest("--junitxml=junit.xml", "-o", f"junit_family={family}")
    assert properties(cases(project)["right"])["rageval.em"] == "1.0"


def test_odd_names_do_not_break_the_file(project: Project, run: Run) -> None:
    """A metric with a control character and no character at all in its name; XML has neither."""
    project.scenario(
        r"""
        name: qa
        metrics: [{em: {name: "a\x01\uffff<b>\"&\n::c"}}]
        gates: {weighted_score: 1}
        dataset: [{id: one, answer: Paris, references: [Paris]}]
        """
    )
    result = run("--junitxml=junit.xml")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert properties(cases(project)["one"]) == {
        r'rageval.a\x01<b>"& \x3a:c': "1.0",
        "rageval.weighted_score": "1.0",
        "rageval.sample_weight": "1.0",
    }


def test_a_score_that_is_no_plain_float_is_written_as_one(project: Project, run: Run) -> None:
    """A numpy scalar would end an xdist run with an internal error."""
    project.conftest(
        """
        import numpy
        from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
        from pytest_rageval.metrics.registry import METRIC_REGISTRY
        from pytest_rageval.model import Score

        class Metric:
            def __init__(self, name, options):
                self.name = name

            def score(self, sample, context):
                return Score(self.name, numpy.float32(0.5))

        if METRIC_REGISTRY.canonical("scalar") is None:
            METRIC_REGISTRY.add(MetricDefinition(MetricInfo("scalar", frozenset()), Metric))
        """
    )
    project.scenario("name: qa\nmetrics: [scalar]\ndataset: [{id: one, answer: x}]")
    run("--junitxml=junit.xml")
    assert properties(cases(project)["one"])["rageval.scalar"] == "0.5"


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


def test_properties_of_others_stay(project: Project, run: Run) -> None:
    """Those that a conftest.py records for a case."""
    project.conftest(
        """
        def pytest_runtest_setup(item):
            item.user_properties.append(("team", "search"))
        """
    )
    project.scenario(
        "name: qa\nmetrics: [em]\ndataset: [{id: one, answer: Paris, references: [Paris]}]"
    )
    run("--junitxml=junit.xml")
    found = properties(cases(project)["one"])
    assert (found["team"], found["rageval.em"]) == ("search", "1.0")
