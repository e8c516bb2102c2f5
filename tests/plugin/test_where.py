"""[E22] ``--rag-where``: a part of the samples by a field, and what such a run may say."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red, wrong_use

pytestmark = pytest.mark.full

SCENARIO = "name: qa\ndataset: qa.jsonl\nmetrics: [em]\ngates: {em: 0.1}\n"


@pytest.fixture
def rows(project: Project) -> Project:
    """Return a project with four samples of two topics; two of them have names that collide."""
    project.rows(
        [
            {"id": name, "answer": "x", "references": ["x"], "topic": topic}
            for name, topic in (("a::b", "fees"), ("a:b", "lake"), ("c", "fees"), ("d", "lake"))
        ]
    )
    project.scenario(SCENARIO)
    return project


def test_only_these_samples_run_under_their_usual_names(rows: Project, run: Run) -> None:
    """A part of the data decides no gate, saves no baseline, and is red if strict."""
    result = green(run("--rag-where", "topic=lake", "-v"))
    assert sorted(rows.outcomes()) == ["a:b", "d"]
    result.stdout.fnmatch_lines(["qa.rageval.yaml::a:b~2 PASSED*"])
    result.stdout.fnmatch_lines(["NOT DECIDED: 2 of 2 gates of qa, 2 of 4 samples ran*"])
    assert run("--rag-where", "topic=lake", "--rag-strict").ret == pytest.ExitCode.TESTS_FAILED
    red(run("--rag-where", "topic=lake", "--rag-save", "main"))


def test_no_sample_is_no_green_run(rows: Project, plain: Run) -> None:
    """Nothing ran, and a line names the values that there are."""
    result = plain("--rag-where", "topic=feels")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    said = "--rag-where topic=feels: no row meets it. Did you mean 'fees'? It is fees, lake"
    result.stdout.fnmatch_lines([f"NOT DECIDED: qa.rageval.yaml: {said}"])
    assert "warning" not in result.stdout.str().lower()
    wrong_use(plain("--rag-where", "topic=feels", "--rag-fail-under", "0.5", "-W", "default"))
    rows.tested_by("rageval.check('x')")
    assert plain("test_bot.py", "--rag-where", "topic=feels").ret == result.ret
    function = wrong_use(plain("test_bot.py", "--rag-where", "topic=feels", "--rag-strict"))
    function.stdout.fnmatch_lines(["ERROR: *was not selected: *, -k and --rag-where*"])
    assert plain("--rag-where", "topik=fees").ret == pytest.ExitCode.INTERRUPTED
    assert plain("--rag-where", "fees").ret == pytest.ExitCode.USAGE_ERROR


def test_a_test_function_runs_over_them_too(rows: Project, plain: Run) -> None:
    """The marker takes the same samples."""
    rows.tested_by("rageval.check('x')")
    result = plain("test_bot.py", "--rag-where", "topic=lake", "-v")
    assert [line.split()[0] for line in result.stdout.lines if " PASSED" in line] == [
        "test_bot.py::test_bot[a:b~2]",
        "test_bot.py::test_bot[d]",
    ]


def test_the_same_with_workers(rows: Project, workers: Run) -> None:
    """Each worker collects the same part."""
    result = workers("--rag-where", "topic=lake", "--rag-where", "topic=feels")
    assert sorted(rows.outcomes()) == ["a:b", "d"]
    assert sum("no row meets it" in line for line in result.outlines) == 1
