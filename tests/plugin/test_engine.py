"""E19: ``--rag-engine``: other processes compute the metrics; items, files and verdicts stay."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from tests.plugin.conftest import Project, Run, interrupted, red, wrong_use

TWO = "--rag-engine=processes://2"
ONE = "--rag-engine=processes://1"
SCENARIO = """
    name: qa
    metrics: [em, f1, {use: "mine:moody"}]
    metric_weights: {em: 0.1, f1: 0.7, moody: 0.0}
    doc_weights: {doc-0.pdf: 0.1, doc-1.pdf: 2.5}
    thresholds: {f1: 0.2}
    gates: {weighted_score: 0.3, f1: 0.9, by: {doc_name: {f1: 0.2}}}
    dataset: {path: qa.jsonl, on_invalid: skip}
"""
METRICS = """
import os
import sys

print("a worker may print")

def moody(sample):
    if sample.answer == "raise":
        raise RuntimeError("the metric is away")
    return 1.0

def deadly(sample):
    if sample.answer == "die":
        os._exit(3)
    return 1.0

def interrupted(sample):
    raise KeyboardInterrupt

def where(sample):
    from pytest_rageval import Score
    return Score("where", 1.0, reason=str(os.getpid()))
"""


def _rows() -> list[dict[str, object]]:
    """Return 40 rows, of which one is skipped, one xfails, one is invalid, and one raises."""
    words = ["the", "quick", "brown", "fox", "jumps", "双源CT"]
    rows: list[dict[str, object]] = []
    for at in range(40):
        answer, reference = " ".join(words[at % 5 :]), " ".join(words[at % 3 : at % 3 + 3])
        row = {"id": f"q{at}", "answer": answer, "references": [reference]}
        rows.append({**row, "doc_name": f"doc-{at % 4}.pdf"})
    rows[5]["skip"] = "not yet"
    rows[6]["xfail"] = "known"
    rows[7]["answer"] = ["a", "list"]
    rows[8]["answer"] = "raise"
    return rows


@pytest.fixture
def busy(project: Project) -> Project:
    project.file("mine.py", METRICS)
    project.scenario(SCENARIO)
    project.rows(_rows())
    return project


def _compared(project: Project) -> None:
    """Save a run with other answers, and have the scenario compare with it."""
    rows = _rows()
    rows[0]["answer"] = rows[4]["answer"] = "none"
    project.rows(rows)
    project.pytest("--rag-save-failed=before")
    project.rows(_rows())
    project.scenario(SCENARIO.rstrip() + "\n    compare: before\n")


def deadly(project: Project, names: str, dies: str) -> None:
    """Write a scenario of samples that all score 1, but for one that ends its process."""
    project.file("mine.py", METRICS)
    project.scenario(
        "name: qa\nmetrics: [{use: 'mine:deadly'}]\ngates: {deadly: 0.5}\ndataset: qa.jsonl\n"
    )
    project.rows([{"id": name, "answer": "die" if name == dies else "x"} for name in names])


@pytest.mark.full
def test_two_processes_give_the_same_to_the_last_byte(busy: Project) -> None:
    """[E19] All files but what a run is; node ids, outcomes and the exit status."""
    _compared(busy)
    first = busy.pytest("-v", "--junitxml=first.xml")
    second = busy.pytest("-v", "--junitxml=second.xml", TWO)
    _, plain, sent = busy.folders()
    assert busy.without_run(-2) == busy.without_run(-1)
    assert busy.results()["comparison"]["baseline"]
    names = {path.name for path in plain.iterdir()}
    assert names == {path.name for path in sent.iterdir()}
    for name in names - {"results.json", "metadata.json", "summary.md"}:
        assert (plain / name).read_bytes() == (sent / name).read_bytes(), name
    shown = [[line for line in one.outlines if "::" in line] for one in (first, second)]
    assert shown[0] == shown[1]
    assert first.ret == second.ret == pytest.ExitCode.TESTS_FAILED
    second.stdout.fnmatch_lines(["rageval: engine processes://2"])
    counts = busy.results()["counts"]
    assert (counts["ran"], counts["skipped"], counts["invalid"]) == (40, 2, 1)


@pytest.mark.full
def test_the_scores_come_from_other_processes(project: Project) -> None:
    """[E19] A metric that says its process."""
    project.file("mine.py", METRICS)
    project.scenario("name: qa\nmetrics: [{use: 'mine:where'}]\ndataset: qa.jsonl\n")
    project.rows([{"id": f"q{at}", "answer": "x"} for at in range(3)])
    project.pytest(ONE)
    said = {sample["reasons"]["where"] for sample in project.results()["samples"]}
    assert len(said) == 1
    assert said != {str(os.getpid())}


@pytest.mark.full
def test_a_sample_that_ends_its_worker_is_lost_and_every_gate_fails(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E19] All others are scored, also that of its chunk, by a pool made anew."""
    from pytest_rageval.engine.remote import sending

    monkeypatch.setattr(sending.ChunkSize, "next", lambda *_: 2)
    deadly(project, "abcdef", "c")
    result = red(project.pytest(TWO))
    result.assert_outcomes(passed=5, errors=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "lost by processes://2: BrokenProcessPool: *",
            "FAILED *::gate:deadly.mean*5 of 6 samples ran*1 lost*: c",
        ]
    )
    assert project.gates() == {"deadly.mean": "failed", "unscored": "failed"}
    assert sorted(project.outcomes()) == ["a", "b", "d", "e", "f"]


@pytest.mark.full
def test_a_hook_that_ends_the_run_with_status_0_leaves_a_lost_sample_red(project: Project) -> None:
    """[E19] As conftest.py may end a run after the first error."""
    project.file("mine.py", METRICS)
    project.conftest(
        "import pytest\n"
        "def pytest_runtest_logreport(report):\n"
        "    if report.failed:\n"
        "        pytest.exit('enough', returncode=0)\n"
    )
    project.scenario(
        "name: qa\nmetrics: [{use: 'mine:deadly'}]\ngates: {deadly: 0.5}\ndataset: qa.jsonl\n"
    )
    project.rows([{"id": name, "answer": "die" if name == "b" else "x"} for name in "abc"])
    assert project.pytest(ONE).ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates() == {"deadly.mean": "failed", "unscored": "failed"}


@pytest.mark.full
def test_a_run_that_lost_all_samples_has_files(project: Project) -> None:
    """[E19] They say that nothing is known; without them the run before would seem the latest."""
    deadly(project, "a", "a")
    assert project.pytest(ONE).ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates() == {"deadly.mean": "failed", "unscored": "failed"}
    assert project.results()["samples"] == []


@pytest.mark.full
@pytest.mark.parametrize("how", ["hook", "registry"])
def test_a_metric_of_this_process_alone_is_a_collection_error(project: Project, how: str) -> None:
    """[E19] conftest.py may define any function, a lambda too; workers do not read it."""
    hook = """
        def pytest_rageval_metrics(config):
            return {"witness": lambda sample: 1.0}
    """
    if how == "hook":
        project.conftest(hook)
    else:
        project.with_broken_metrics()
    project.scenario("name: qa\nmetrics: [em, witness]\ndataset: qa.jsonl\n")
    project.rows([{"id": "a", "answer": "x", "references": ["x"]}])
    result = interrupted(project.pytest(ONE))
    result.stdout.fnmatch_lines(
        ["*qa.rageval.yaml: metrics?1?: unknown metric 'witness'.*{use: 'module:function'}*"]
    )
    result.stdout.no_fnmatch_line("next *")  # a dry run asks no worker, and would be green
    assert project.wrote_nothing


def test_with_xdist_it_is_refused(project: Project) -> None:
    """[E19] Before anything is started, with what to write."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    result = wrong_use(project.pytest(ONE, "-n", "2"))
    result.stderr.fnmatch_lines(["ERROR: --rag-engine processes://1: -n spreads*leave out one*"])


@pytest.mark.full
def test_a_run_that_scores_nothing_starts_no_engine(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E19] Nor does collecting, nor a dry run, though the ini file or a variable names one."""
    from pytest_rageval.executors import processes

    monkeypatch.setattr(processes.ProcessWorkers, "_make", lambda _: pytest.fail("started"))
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    project.file("pytest.ini", "[pytest]\nrageval_engine = processes://2\n")
    assert project.pytest("--collect-only").ret == pytest.ExitCode.OK
    assert project.pytest("--rag-dry-run").ret == pytest.ExitCode.OK
    project.file("test_it.py", "def test_it():\n    pass\n")
    assert project.pytest("test_it.py").ret == pytest.ExitCode.OK


def test_an_engine_that_cannot_be_reached_is_a_wrong_use(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E19] One message, and no case runs; here it lacks its package."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda _: False)
    monkeypatch.setenv("RAGEVAL_ENGINE", "dask://localhost:8786")
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    project.scenario("name: b\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n", "b")
    result = wrong_use(project.pytest())
    assert result.stderr.str().count("ERROR") == 1
    result.stderr.fnmatch_lines(
        ['ERROR: RAGEVAL_ENGINE dask://localhost:8786: *pip install "pytest-rageval?dask?"']
    )
    assert project.wrote_nothing


@pytest.mark.full
def test_a_selection_loses_by_name_and_is_red(project: Project) -> None:
    """[E19] Gates of a part are skipped; but not where one of its samples is lost."""
    deadly(project, "abcdef", "c")
    result = red(project.pytest(TWO, "-k", "c or d", "--lf"))
    result.assert_outcomes(passed=1, errors=1, failed=2, deselected=4)
    result.stdout.fnmatch_lines(["FAILED *gate:deadly.mean*1 of 6 samples ran*1 lost*: c"])


@pytest.mark.full
def test_variants_are_scored_by_the_same_processes(project: Project) -> None:
    """[E19] Each variant's files are those of a run without."""
    project.scenario(
        "name: qa\nmetrics: [em]\ndataset: [{id: a, answer: x y, references: [x]}]\n"
        "variants: {one: {metrics: [em]}, two: {metrics: [em, f1]}}\n"
    )
    project.pytest()
    project.pytest(TWO)
    for variant in ("one", "two"):
        assert project.without_run(0, f"qa/{variant}") == project.without_run(1, f"qa/{variant}")


@pytest.mark.full
def test_ctrl_c_ends_at_once_and_leaves_no_process(project: Project, plain: Run) -> None:
    """[E19] While a worker is busy for a minute: it is ended, too."""
    slow = "import time\ndef slow(sample):\n    time.sleep(60)\n"
    project.file("mine.py", slow)
    project.conftest(
        "import pytest\n"
        "def pytest_runtest_setup(item):\n"
        "    if item.name == 'b':\n"
        "        raise KeyboardInterrupt\n"
    )
    project.scenario(
        "name: qa\nmetrics: [{use: 'mine:slow'}]\ngates: {slow: 0}\n"
        "dataset: [{id: a, answer: x, skip: later}, {id: b, answer: x}, {id: c, answer: x}]\n"
    )
    assert plain(TWO).ret == pytest.ExitCode.INTERRUPTED
    assert not multiprocessing.active_children()
