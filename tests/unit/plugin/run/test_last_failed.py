"""[G6] The scenario of a gate's node id, whatever brackets are in its names."""

from __future__ import annotations

import pytest

from pytest_rageval.plugin.run.last_failed import without_gates


@pytest.mark.parametrize(
    ("argument", "scenario"),
    [
        ("x.rageval.yaml::gate:f1.mean", "x.rageval.yaml"),
        ("x.rageval.yaml::save:main", "x.rageval.yaml"),
        ("x.rageval.yaml::dense::gate:f1.mean", "x.rageval.yaml::dense"),
        ("x.rageval.yaml::gate:best", "x.rageval.yaml"),
        ("../d (1)/x.rageval.yaml::gate:best", "../d (1)/x.rageval.yaml"),
        ("x.rageval.yaml::gate:by doc_name: a (b)", "x.rageval.yaml"),
        ("test_x.py::test_bot::gate:f1.mean", "test_x.py::test_bot"),
        ("test_x.py::test_bot(gpt)::gate:f1.mean", "test_x.py::test_bot"),
        ("test_x.py::test_bot(gpt (v2))::gate:f1.mean", "test_x.py::test_bot"),
        ("test_x.py::test_bot(gpt::v2)::gate:f1.mean", "test_x.py::test_bot"),
        ("t/test_x.py::TestA::test_bot(1-[2])::gate:f1.mean", "t/test_x.py::TestA::test_bot"),
        ("test_x.py::test_bot[q1]", "test_x.py::test_bot[q1]"),
        ("d (1)/test_x.py", "d (1)/test_x.py"),
        # Brackets of a variant of a file, and of a folder.
        ("x.rageval.yaml::sparse (v1)::gate:f1.mean", "x.rageval.yaml::sparse (v1)"),
        ("d (1)/x.rageval.yaml::dense::gate:f1.mean", "d (1)/x.rageval.yaml::dense"),
        ("d (1)/test_x.py::test_bot::gate:f1.mean", "d (1)/test_x.py::test_bot"),
        ("d (1)/test_x.py::TestA::test_bot(gpt)::gate:em", "d (1)/test_x.py::TestA::test_bot"),
    ],
)
def test_of_a_gate_the_cases_of_its_scenario_run(argument: str, scenario: str) -> None:
    assert without_gates([argument]) == [scenario]
