"""A pytest start with the plugin installed loads none of what evaluations need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.conftest import Project

pytestmark = pytest.mark.full

HEAVY = ("yaml", "pydantic", "numpy", "rouge_score", "nltk", "ragas", "jieba", "ir_measures")

LOADED = """
def pytest_unconfigure(config):
    import sys
    ours = {name for name in sys.modules if name.partition(".")[0] == "pytest_rageval"}
    print("loaded:", *sorted({*HEAVY, *ours} & {*sys.modules}), file=sys.stderr)
""".replace("HEAVY", repr(HEAVY))

MINIMAL = Path(__file__).with_name("modules_of_a_minimal_run.txt")
"""Our modules that a scenario of two lexical metrics takes, those of an empty folder first."""


def _loaded(project: Project, *args: str) -> list[set[str]]:
    """Return which heavy packages, and which modules of ours, a process has loaded at its end."""
    project.conftest(LOADED)
    # ragas brings langsmith along, whose plugin loads pydantic.
    result = project.pytester.runpytest_subprocess("-p", "no:langsmith_plugin", *args)
    (line,) = (line for line in result.errlines if line.startswith("loaded:"))
    names = {*line.split()[1:]}
    return [names & {*HEAVY}, names - {*HEAVY}]


def _listed() -> list[set[str]]:
    """Return the modules of an empty folder, and those that a scenario takes besides."""
    return [{*part.split()} for part in MINIMAL.read_text("utf-8").split("\n\n")]


@pytest.mark.parametrize("args", [("--collect-only",), ("--help",), ()], ids=" ".join)
def test_without_scenarios_nothing_heavy_is_loaded(project: Project, args: tuple[str, ...]) -> None:
    """[E13] In an empty folder: neither yaml nor pydantic nor anything numeric."""
    heavy, ours = _loaded(project, *args)
    assert heavy == set()
    assert ours <= _listed()[0]


def test_with_ordinary_tests_nothing_heavy_is_loaded(project: Project) -> None:
    """[E13] Nor for a run of tests that have nothing to do with the plugin."""
    project.pytester.makepyfile("def test_passes(): pass")
    heavy, ours = _loaded(project)
    assert heavy == set()
    assert ours <= _listed()[0]


def test_a_lexical_run_loads_what_it_uses(project: Project) -> None:
    """[E13, E18] em and f1 with gates and intervals: yaml, pydantic, and these modules of ours.

    One that such a run needs is added to the list; others are imported where they are used.
    """
    project.scenario(
        """
        name: qa
        metrics: [em, f1]
        gates: {em: 0.5}
        dataset:
          - {answer: Paris, references: [Paris]}
          - {answer: in Paris, references: [Paris]}
        """
    )
    heavy, ours = _loaded(project)
    assert heavy == {"yaml", "pydantic"}
    assert sorted(ours) == sorted(set.union(*_listed()))
    assert project.gates()["em.mean"] == "passed"


def test_chinese_text_needs_no_word_list(project: Project) -> None:
    """[D2, E13] The default splits it into characters, without jieba."""
    project.scenario(
        """
        name: qa
        metrics: [em, f1]
        dataset: [{answer: 巴黎是首都, references: [首都是巴黎]}]
        """
    )
    assert _loaded(project)[0] == {"yaml", "pydantic"}
    # The same five characters in another order: precision and recall are 5/5.
    assert project.results()["metrics"]["f1"]["mean"] == 1.0
