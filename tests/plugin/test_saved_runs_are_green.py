"""What may be saved as a baseline; a run that was asked to save and could not is red."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project, Run, red

SCENARIO = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
    gates: {em: 0.9}
"""
RIGHT = [{"id": f"s{at}", "answer": "Paris", "references": ["Paris"]} for at in range(10)]
WRONG = [{**row, "answer": "Rome"} for row in RIGHT]


@pytest.fixture
def saved(project: Project) -> Project:
    project.scenario(SCENARIO)
    project.rows(RIGHT)
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    return project


def mean(project: Project, name: str = "main") -> float:
    text = (project.path / ".rageval/qa/baselines" / f"{name}.json").read_text("utf-8")
    found: float = json.loads(text)["weighted_score"]["mean"]
    return found


@pytest.mark.full
def test_a_red_run_does_not_replace_the_baseline_that_it_failed_against(
    saved: Project, run: Run
) -> None:
    """[G4] Else the next run would be green."""
    saved.rows(WRONG)
    result = red(run("--rag-compare=main", "--rag-compare-fail=em:0.02", "--rag-save=main"))
    assert mean(saved) == 1.0
    result.stdout.fnmatch_lines(
        ["baseline main NOT saved: the run is red (*gate em*) and was compared with this *OTHER*"]
    )


@pytest.mark.full
def test_a_red_run_can_be_saved_on_purpose(saved: Project) -> None:
    """[G4] Under any name but that of a run that it was compared with."""
    saved.rows(WRONG)
    assert saved.pytest("--rag-save-failed=wip").ret == pytest.ExitCode.TESTS_FAILED
    assert mean(saved, "wip") == 0.0
    result = red(saved.pytest("--rag-compare=main", "--rag-save-failed=main"))
    assert mean(saved) == 1.0
    result.stdout.fnmatch_lines(["baseline main NOT saved: *was compared with this baseline;*"])


@pytest.mark.parametrize(
    "name", [".rageval/qa/baselines/main.json", ".rageval/qa/../qa/baselines/main.json", "main "]
)
def test_another_name_for_the_same_file_does_not_help(saved: Project, name: str) -> None:
    """[G4] What counts is the file."""
    saved.rows(WRONG)
    red(saved.pytest("--rag-compare=main", f"--rag-save-failed={name}"))
    assert mean(saved) == 1.0


@pytest.mark.full
def test_a_run_without_one_of_its_gates_is_no_baseline(saved: Project) -> None:
    """[G4, G6] The gate that failed was deselected; strict, that is a failure."""
    saved.rows(WRONG)
    gate = "--deselect=qa.rageval.yaml::gate:em.mean"
    result = red(saved.pytest(gate, "--rag-save=main"))
    assert mean(saved) == 1.0
    result.stdout.fnmatch_lines(["NOT DECIDED: 1 of 3 gates of qa, deselected (0.0000 < 0.9000)"])
    assert saved.pytest(gate, "--rag-strict").ret == pytest.ExitCode.TESTS_FAILED


def test_a_case_that_ends_with_an_error_after_it_was_judged_is_not_green(project: Project) -> None:
    """[G4] A fixture of a test function breaks in its teardown."""
    project.file("eval.yaml", "name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    project.file(
        "test_bot.py",
        "import pytest\n\n@pytest.fixture\ndef app():\n    yield\n    raise ValueError('late')\n\n"
        "@pytest.mark.rag_scenario('eval.yaml')\n"
        "def test_bot(app, rageval):\n    rageval.check('x')\n",
    )
    result = project.pytest("--rag-save=main")
    result.stdout.fnmatch_lines(["baseline main NOT saved: the run is red (gate teardown)*"])


def test_the_first_baseline_needs_what_its_gates_will_be_about(project: Project) -> None:
    """[G1] A metric of no weight that failed: no later run could be compared with it."""
    project.with_broken_metrics()
    project.scenario(
        """
        name: qa
        metrics: [em, raises]
        metric_weights: {em: 1, raises: 0}
        gates: {no_regression: {baseline: main, metrics: [em, raises]}}
        dataset: [{id: a, answer: raise, references: [raise]}]
        """
    )
    red(project.pytest("--rag-save=main"))
    assert project.outcomes() == {"a": "error"}


@pytest.mark.full
def test_a_green_run_is_saved_by_the_same_option(saved: Project) -> None:
    """[G4] --rag-save-failed stands in place of --rag-save."""
    assert saved.pytest("--rag-save-failed=wip").ret == pytest.ExitCode.OK
    assert mean(saved, "wip") == 1.0
    assert saved.pytest("--rag-save=a", "--rag-save-failed=b").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.full
@pytest.mark.parametrize("how", [["-k", "s1"], ["--rag-limit=3"]], ids=["-k", "--rag-limit"])
def test_a_part_of_the_samples_is_no_baseline_and_the_run_is_red(
    saved: Project, how: list[str]
) -> None:
    """[G4, G10] Asked to save, and not saved."""
    result = red(saved.pytest("--rag-save=part", *how))
    result.stdout.fnmatch_lines(["*FAILED qa.rageval.yaml::save:part* of 10 samples ran*"])
    assert not (saved.path / ".rageval/qa/baselines/part.json").exists()


@pytest.mark.full
def test_a_run_that_cannot_be_saved_is_red(saved: Project, run: Run) -> None:
    """[G13] The folder of the baselines is a file: as on a full disk."""
    saved.file("taken", "")
    result = red(run("--rag-save=taken/main.json"))
    result.stdout.fnmatch_lines(["baseline taken/main.json NOT saved: taken/main.json: *"])


@pytest.mark.full
def test_two_scenarios_cannot_be_saved_to_one_file(saved: Project) -> None:
    """[G11] The second one is not saved, and that is a failure."""
    saved.scenario(SCENARIO.replace("name: qa", "name: other"), "other")
    result = red(saved.pytest("--rag-save=both.json"))
    result.stdout.fnmatch_lines(["baseline both.json NOT saved: both.json holds the run of *"])


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    ["print('mine')\n", "", '{"schema": 1}', '{"schema": "x", "scenario": {}, "samples": []}'],
)
def test_a_file_that_is_no_saved_run_is_not_replaced(saved: Project, text: str) -> None:
    """[R6] The path may be mistyped; the run is red, like any that could not be saved."""
    path = saved.file("mine.py", text)
    result = red(saved.pytest("--rag-save=./mine.py"))
    assert path.read_text("utf-8") == text
    result.stdout.fnmatch_lines(
        ["baseline *mine.py NOT saved: mine.py exists and is not a saved run; name another file*"]
    )


@pytest.mark.full
def test_a_saved_run_is_replaced_at_its_path(saved: Project) -> None:
    """[R6] Also one that a newer version wrote."""
    assert saved.pytest("--rag-save=kept.json").ret == pytest.ExitCode.OK
    plain = json.loads((saved.path / "kept.json").read_text("utf-8"))
    saved.file("kept.json", json.dumps({"samples": [], **plain, "schema": 99}, indent=2))
    assert saved.pytest("--rag-save=kept.json").ret == pytest.ExitCode.OK
    assert json.loads((saved.path / "kept.json").read_text("utf-8"))["schema"] == 1


BOT = {"name": "bot", "dataset": [{"answer": "a", "references": ["a"]}], "metrics": ["em"]}


def test_scenarios_of_one_name_do_not_replace_each_others_runs(project: Project, run: Run) -> None:
    """[D8] Also in folders of their own: rageval_baselines is one folder for all."""
    project.file("pytest.ini", "[pytest]\nrageval_baselines = saved\n")
    for name in ("one", "two"):
        text = json.dumps({**BOT, "output_dir": f".rageval/{name}"})
        project.file(f"{name}/bot.rageval.yaml", text)
    run().stdout.fnmatch_lines(["*Give one of them another 'name'"])
    assert run("one", "--rag-save=main").ret == 0
    run("two", "--rag-save=main").stdout.fnmatch_lines(
        ["*main.json holds a run of one/bot.rageval.yaml: give one of them another 'name'*"]
    )
    assert run("one", "--rag-compare=main").ret == 0
    run("two", "--rag-save-failed=main").stdout.fnmatch_lines(["baseline main saved: *"])
    (project.path / "two" / "bot.rageval.yaml").rename(project.path / "bot.rageval.yaml")
    run("bot.rageval.yaml", "--rag-save=main").stdout.fnmatch_lines(["baseline main saved: *"])


def test_test_functions_do_not_replace_each_others_runs(project: Project, run: Run) -> None:
    """[D8] The second one's became what the first one was compared with."""
    project.file("bot.yaml", json.dumps(BOT))
    test = "@pytest.mark.rag_scenario('bot.yaml')\ndef test_{}(rageval):\n    rageval.check()\n"
    project.file("test_bot.py", "import pytest\n" + test.format("one") + test.format("two"))
    run("test_bot.py::test_one", "--rag-save=main").stdout.fnmatch_lines(["baseline main saved: *"])
    run("test_bot.py::test_two", "--rag-save=main").stdout.fnmatch_lines(
        ["*main.json holds a run of test_bot.py::test_one: give one of them another 'name'*"]
    )
    run("test_bot.py::test_one", "--rag-save=main").stdout.fnmatch_lines(["baseline main saved: *"])
