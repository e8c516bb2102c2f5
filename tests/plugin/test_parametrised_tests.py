"""[E6] Test functions over a scenario that have other parameters, too: each value is a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
name: qa
metrics: [em]
gates: {em: 0.3}
dataset:
"""
TEST = """
import pytest

{head}
@pytest.mark.rag_scenario("qa.rageval.yaml")
def test_bot(rageval, rag_sample, {given}):
    rageval.check("x" if {right} else "no")
"""
GENERATED = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k", [1, 3])
    metafunc.parametrize("hops", [1, 2])
"""
ONE_CALL = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k, hops", [(1, 1), (1, 2), (3, 1), (3, 2)])
"""
K_GENERATED = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k", [1, 3])
"""
FIXTURES = """
import pytest

@pytest.fixture(params=[1, 3], scope="session")
def k(request):
    return request.param

@pytest.fixture(params=[1, 2])
def hops(request, k):
    return request.param
"""
HOPS = "@pytest.mark.parametrize('hops', [1, 2])"
FOUR = ["1-1", "1-2", "3-1", "3-2"]


def written(project: Project, ids: list[str], *, head: str = "", given: str, right: str) -> None:
    """Write a scenario with a row for each id, and a test of it."""
    rows = "".join(f'  - {{id: "{one}", question: q{one}, references: [x]}}\n' for one in ids)
    project.scenario(SCENARIO + rows)
    project.file("test_bot.py", TEST.format(head=head, given=given, right=right))


def runs(project: Project) -> dict[str, list[str]]:
    """Return the ids of each run by the name of its parameters."""
    folders = sorted((project.path / ".rageval").glob("qa*"))
    names = [folder.name for folder in folders if folder.is_dir()]
    return {
        name.removeprefix("qa").strip("[]"): [
            sample["id"] for sample in project.results(name)["samples"]
        ]
        for name in names
    }


@pytest.mark.parametrize(
    ("conftest", "head", "expected"),
    [
        (GENERATED, "", FOUR),
        (ONE_CALL, "", FOUR),
        ("", "@pytest.mark.parametrize('k, hops', [(1, 1), (1, 2), (3, 1), (3, 2)])", FOUR),
        ("", f"{HOPS}\n@pytest.mark.parametrize('k', [1, 3])", FOUR),
        (FIXTURES, "", FOUR),
        (K_GENERATED, HOPS, FOUR),
    ],
)
@pytest.mark.parametrize("ids", [["1", "2", "3"], ["1-2", "2-1", "1"], ["一", "1-二", "é"]])
def test_each_value_of_the_other_parameters_runs_over_all_samples(
    project: Project, plain: Run, conftest: str, head: str, expected: list[str], ids: list[str]
) -> None:
    """Whichever of the ids in a node id is the sample's, and whatever the values are called."""
    project.conftest(conftest)
    written(project, ids, head=head, given="k, hops", right="(k, hops) != (1, 2)")
    assert plain("test_bot.py").ret == pytest.ExitCode.TESTS_FAILED
    assert runs(project) == dict.fromkeys(expected, ids)
    gates = {name: project.gates(f"qa[{name}]")["em.mean"] for name in expected}
    assert gates == {name: "failed" if name == "1-2" else "passed" for name in expected}


@pytest.mark.skipif(not hasattr(pytest, "HIDDEN_PARAM"), reason="comes with pytest 8.4")
def test_a_value_that_node_ids_do_not_show_is_the_run_of_the_plain_name(
    project: Project, plain: Run
) -> None:
    head = "@pytest.mark.parametrize('k', [pytest.param(1, id=pytest.HIDDEN_PARAM), 3])"
    written(project, ["1", "2"], head=head, given="k", right="k == 1")
    assert plain("test_bot.py").ret == pytest.ExitCode.TESTS_FAILED
    assert runs(project) == {"": ["1", "2"], "3": ["1", "2"]}
    assert (project.gates()["em.mean"], project.gates("qa[3]")["em.mean"]) == ("passed", "failed")
