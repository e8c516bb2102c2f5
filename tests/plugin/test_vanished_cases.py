"""Cases that were collected and never ran, because other code took them over: lost samples."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red

THREE = """
    name: qa
    metrics: [em]
    gates: {em: 0.5}
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
      - {id: b, answer: Paris, references: [Paris]}
      - {id: c, answer: Paris, references: [Paris]}
"""

PROTOCOL = "def pytest_runtest_protocol(item): return True"
FIRST = f"import pytest\n@pytest.hookimpl(tryfirst=True)\n{PROTOCOL}"
LOOP = "def pytest_runtestloop(session): return True"
UNREPORTED = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    runtestprotocol(item, nextitem=nextitem, log=False)
    return True
"""
SOME = "def pytest_runtest_protocol(item): return item.name in ('a', 'b') or None"

SAID = "3 cases were collected, none ran"


@pytest.fixture(autouse=True)
def _three(project: Project) -> None:
    project.scenario(THREE)


@pytest.mark.full
@pytest.mark.parametrize("args", [(), ("--rag-no-fast",)], ids=["fast", "no fast"])
@pytest.mark.parametrize("conftest", [PROTOCOL, FIRST, LOOP, UNREPORTED])
def test_a_scenario_whose_cases_all_vanish_is_red(
    project: Project, run: Run, conftest: str, args: tuple[str, ...]
) -> None:
    """V3: by a gate, in a table, in the files, and by the exit status."""
    project.conftest(conftest)
    result = red(run(*args))
    result.stdout.fnmatch_lines(
        ["==* rageval: qa *==", "gate em.mean*FAILED*", f"FAILED *::gate:em.mean*{SAID}*"]
    )
    assert project.gates() == {"em.mean": "failed", "unscored": "failed"}
    results = project.results()
    assert results["complete"] is False
    assert (results["counts"]["samples"], results["counts"]["ran"]) == (3, 0)


@pytest.mark.full
def test_with_workers_too(project: Project, workers: Run) -> None:
    """V3: no worker sends a result, so the controller hears of the scenario at their end."""
    project.conftest(PROTOCOL)
    result = red(workers())
    result.stdout.fnmatch_lines([f"FAILED *::gate:em.mean*{SAID}*"])


@pytest.mark.full
@pytest.mark.parametrize("where", ["in", "not in"])
def test_a_loop_that_takes_the_place_of_a_worker_is_not_green(
    project: Project, workers: Run, where: str
) -> None:
    """V3: xdist ends with an error of its own, or pytest with "no tests ran"."""
    project.conftest(
        f"import os\nimport pytest\nif 'PYTEST_XDIST_WORKER' {where} os.environ:\n"
        f"    @pytest.hookimpl(tryfirst=True)\n    {LOOP}"
    )
    assert workers().ret in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


@pytest.mark.full
def test_the_message_names_who_may_have_taken_them(project: Project) -> None:
    """V3: no worker crashed."""
    project.conftest(PROTOCOL)
    said = project.pytest().stdout.str()
    assert "pytest_runtest_protocol" in said
    assert "crashed" not in said


@pytest.mark.full
def test_selected_ones_that_vanish_are_lost(project: Project, run: Run) -> None:
    """V3: a partial run decides nothing, but it must have run what was selected."""
    project.conftest(SOME)
    assert run("-k", "b or c").ret == pytest.ExitCode.TESTS_FAILED
    assert run("-k", "a or b").ret == pytest.ExitCode.TESTS_FAILED
    assert run("-k", "c").ret == pytest.ExitCode.OK


def test_no_baseline_is_saved_of_cases_that_vanish(project: Project) -> None:
    """V3: and the run says why."""
    project.conftest(PROTOCOL)
    assert project.pytest("--rag-save", "main").ret == pytest.ExitCode.TESTS_FAILED
    assert not list(project.path.rglob("baselines/main.json"))


@pytest.mark.full
def test_shards_of_cases_that_vanish_merge_red(project: Project) -> None:
    """V3: a shard has no cases, so it is unfinished."""
    project.conftest(PROTOCOL)
    project.pytest("--rag-shard=1/2")
    project.pytest("--rag-shard=2/2")
    result = red(project.pytest("--rag-merge=.rageval"))
    result.stdout.fnmatch_lines(["FAILED *::gate:em.mean*0 of 3 samples ran*1/2 is unfinished*"])


def test_test_functions_whose_cases_vanish_are_red(project: Project, run: Run) -> None:
    """V3: with the marker ``rag_scenario``."""
    project.scenario(THREE)
    project.file(
        "test_it.py",
        "import pytest\n\n@pytest.mark.rag_scenario('qa.rageval.yaml')\n"
        "def test_it(rageval, rag_sample):\n    rageval.check(rag_sample.answer)\n",
    )
    project.conftest(PROTOCOL)
    assert run("test_it.py").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("skipped", ["", "skip: later, "])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--setup-only", "no tests ran"),
        ("--setup-plan", "no tests ran"),
        ("--collect-only", "tests collected"),
        ("--rag-dry-run", "nothing was asked, scored or judged"),
    ],
)
def test_what_runs_nothing_on_purpose_is_not_judged(
    project: Project, option: str, said: str, skipped: str
) -> None:
    """V3: it says so in its own words; a row with ``skip`` has a report of its own."""
    project.scenario(THREE.replace("{id: a,", f"{{id: a, {skipped}"))
    result = green(project.pytest(option))
    assert said in result.stdout.str() or skipped
    assert "gate " not in result.stdout.str() or option == "--rag-dry-run"  # as in a table
    assert project.wrote_nothing


@pytest.mark.full
@pytest.mark.parametrize(
    ("conftest", "args", "status"),
    [
        ("", ("-x",), pytest.ExitCode.TESTS_FAILED),
        ("", ("--maxfail=1",), pytest.ExitCode.TESTS_FAILED),
        ("", ("--stepwise",), pytest.ExitCode.INTERRUPTED),
        ("raise KeyboardInterrupt", (), pytest.ExitCode.INTERRUPTED),
        ("pytest.exit('enough', returncode=0)", (), pytest.ExitCode.OK),
        ("", ("-k", "nothing"), pytest.ExitCode.NO_TESTS_COLLECTED),
        ("", ("--deselect", "qa.rageval.yaml"), pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_what_ends_a_run_before_its_cases_keeps_its_meaning(
    project: Project, conftest: str, args: tuple[str, ...], status: pytest.ExitCode
) -> None:
    """V3: a test before them fails, or a hook ends the run: nothing is judged, or written."""
    project.file("a_test.py", "def test_it(): assert False")
    project.pytester.makeini("[pytest]\npython_files = a_test.py")
    if conftest:
        project.conftest(f"import pytest\ndef pytest_runtest_protocol(item):\n    {conftest}")
    result = project.pytest("a_test.py", "qa.rageval.yaml", *args)
    assert result.ret == status
    assert project.wrote_nothing
