"""When is a run green? Only if all that it was asked to judge was judged: the table of all cases.

What failed x what judges x how it runs. docs/explanation/when-is-a-run-green.md has it in words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from saved_file import saved_file

from pytest_rageval.clients.base import CHAT_REGISTRY
from tests.plugin.conftest import Project, green, red

CHAT_REGISTRY.names()

# f1 is 1 on every row: without the metric that fails, all would be green.
ROWS = [
    {"id": f"s{at}", "question": "q?", "answer": "Paris", "references": ["Paris"], "doc_name": "d"}
    for at in range(20)
]
METRICS = """
async def dead(sample):
    raise ConnectionError("no route to the judge")

def code(sample):
    return 1 / 0

def mostly(sample):
    if sample.id != "s0":
        raise TimeoutError("late")
    return 1.0

def not_one(sample):
    return None if sample.id != "s0" else 1.0

def answer(question):
    raise RuntimeError("the index is away")
"""
JUDGE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "retries": 0, "timeout_s": 2}
FAULTS: Mapping[str, dict[str, Any]] = {
    "a judge that is down": {"metrics": ["f1", "llm_answer_relevancy"], "judge": JUDGE},
    "an async metric without its service": {"metrics": ["f1", {"use": "faults:dead"}]},
    "code that raises": {"metrics": ["f1", {"use": "faults:code"}]},
    "95 % failures": {"metrics": ["f1", {"use": "faults:mostly"}]},
    "a target that answers nothing": {"metrics": ["f1"], "target": "faults:answer"},
}
JUDGES: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "a threshold of weighted_score": {"thresholds": {"weighted_score": 0.1}},
    "a threshold of the other metric": {"thresholds": {"f1": 0.1}},
    "weighted_score": {"gates": {"weighted_score": 0.1}},
    "the mean of the other metric": {"gates": {"f1": 0.1}},
    "by": {"gates": {"by": {"doc_name": {"weighted_score": 0.1}}}},
    "lower_bound": {"gates": {"weighted_score": {"lower_bound": 0.1}}},
    "quantile": {"gates": {"weighted_score": {"quantile": {0.1: 0.1}}}},
    "pass_rate": {"thresholds": {"f1": 0.1}, "gates": {"pass_rate": 1.0}},
    "tolerate": {"thresholds": {"f1": 0.1}, "gates": {"pass_rate": 0.5}, "tolerate": "pass_rate"},
    "--rag-fail-under": {},
    "no_regression": {"gates": {"no_regression": {"baseline": "base.json"}}},
    "unscored, as a share": {"gates": {"f1": 0.1, "unscored": 0.05}},
    "invalid": {"gates": {"invalid": 0.5}},
}
OPTIONS = {"--rag-fail-under": ["--rag-fail-under=0.1"]}


@pytest.fixture
def asked(project: Project) -> Project:
    """Return a project with metrics that fail, and a baseline that is worse than f1 alone."""
    project.file("faults.py", METRICS)
    project.rows(ROWS)
    scores = {"f1": 0.5, "llm_answer_relevancy": 2.5, "dead": 0.5, "code": 0.5, "mostly": 0.5}
    samples = [{"id": row["id"], "scores": scores} for row in ROWS]
    project.file("base.json", json.dumps(saved_file(samples)))
    return project


def write(project: Project, **keys: Any) -> Path:
    """Write the scenario in which f1 weighs a tenth of the other metric."""
    scenario = {"name": "qa", "dataset": "qa.jsonl", **keys}
    for metric in scenario["metrics"][1:]:
        name = metric if isinstance(metric, str) else metric["use"].partition(":")[2]
        scenario.setdefault("metric_weights", {"f1": 0.1, name: 1.0})
    return project.scenario(json.dumps(scenario))


@pytest.mark.full
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_failed_is_never_green(asked: Project, fault: str, judge: str) -> None:
    """[G1] Whatever judges: red, and the metric is named with its reason."""
    write(asked, **FAULTS[fault], **JUDGES[judge])
    red(asked.pytest(*OPTIONS.get(judge, [])))
    assert asked.gates()["unscored"] == "failed"
    found = asked.results()
    assert found["weighted_score"]["failed"] >= 19
    names = {"f1"} if "target" in fault else set(found["metrics"]) - {"f1"}
    assert all(found["metrics"][name]["failed"] >= 19 for name in names)


@pytest.mark.parametrize(
    "how",
    [["-k", "s0 or s1"], ["--rag-limit=2"], ["--rag-set=dataset.limit=2"]],
    ids=["-k", "--rag-limit", "--rag-set"],
)
@pytest.mark.parametrize("fault", ["code that raises", "95 % failures"])
def test_a_part_of_the_samples_decides_nothing(asked: Project, fault: str, how: list[str]) -> None:
    """[G1, G10, G12] No gate passes, and the last lines say so; strict, the run is red."""
    write(asked, **FAULTS[fault], gates={"f1": 0.1})
    result = asked.pytest(*how)
    assert set(asked.gates().values()) <= {"skipped", "failed"}
    result.stdout.fnmatch_lines(["NOT DECIDED: * gates of qa, * of 20 samples ran*"])
    red(asked.pytest(*how, "--rag-strict"))
    assert set(asked.gates().values()) == {"failed"}


SKIPPING = """
    import pytest

    def pytest_collection_modifyitems(items):
        for item in items:
            if item.name in {names}:
                item.add_marker(pytest.mark.skip(reason="slow"))
"""


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_what_a_conftest_skips_is_a_part_left_out(asked: Project, workers: tuple[str, ...]) -> None:
    """[G10, G12] Nobody judged them: no gate passes, and the run is no baseline."""
    write(asked, metrics=["f1"], gates={"f1": 0.1})
    asked.conftest(SKIPPING.format(names=["s0", "s1"]))
    result = asked.pytest(*workers)
    result.assert_outcomes(passed=18, skipped=2 + 2)
    assert set(asked.gates().values()) == {"skipped"}
    result.stdout.fnmatch_lines(["NOT DECIDED: * gates of qa, 18 of 20 samples ran*"])
    red(asked.pytest(*workers, "--rag-strict", "--rag-save=new.json"))
    assert not (asked.path / "new.json").exists()


CALLED = """
    import pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(item):
        if item.name in {names}:
            pytest.skip("not today")
"""


def test_what_is_skipped_after_it_was_scored_did_not_run(asked: Project) -> None:
    """[G10] A hook that skips what is wrong would leave the mean of what is right."""
    write(asked, metrics=["f1"], gates={"f1": 0.1})
    asked.conftest(CALLED.format(names=["s0", "s1"]))
    assert asked.pytest("--rag-strict").ret == pytest.ExitCode.TESTS_FAILED
    assert set(asked.gates().values()) == {"failed"}
    assert asked.results()["counts"]["not_run"] == 2


@pytest.mark.full
def test_a_share_may_be_missing_by_its_metric_and_all_else_is_judged(asked: Project) -> None:
    """[G1] 19 of 20 lack it: xfailed with the error, and the gate fails beyond the share."""
    metrics = {"metrics": ["f1", {"use": "faults:mostly"}], "thresholds": {"f1": 0.1}}
    write(asked, **metrics, gates={"f1": 0.9, "unscored": {"mostly": 0.95}})
    result = green(asked.pytest("-rx"))
    result.assert_outcomes(passed=1 + 2, xfailed=19)
    result.stdout.fnmatch_lines(["XFAIL *unscored: TimeoutError: late*"])
    write(asked, **metrics, gates={"f1": 0.9, "unscored": {"mostly": 0.94}})
    result = asked.pytest()
    result.assert_outcomes(passed=1 + 1, xfailed=19, failed=1)


@pytest.mark.full
def test_what_is_tolerated_has_a_reason_and_no_traceback(asked: Project) -> None:
    """A traceback takes some 0.1 s for each sample, and pytest prints it nowhere."""
    gates = {"f1": 0.1, "pass_rate": 0.0, "unscored": {"code": 1.0}}
    metrics = {"metrics": ["f1", {"use": "faults:code"}], "thresholds": {"f1": 0.5}}
    asked.rows([{**row, "answer": "Rome" if row["id"] == "s7" else "Paris"} for row in ROWS])
    write(asked, **metrics, gates=gates, tolerate="pass_rate")
    reports = asked.pytester.inline_run().getreports("pytest_runtest_logreport")
    shown = [one.longreprtext for one in reports if hasattr(one, "wasxfail")]
    assert len(shown) == 20
    assert [text for text in shown if not text.startswith("tolerated, gate ")] == []


@pytest.mark.full
def test_an_empty_answer_is_the_worst_one_and_nobody_is_asked(asked: Project) -> None:
    """[G9] The judge is down, and that does not matter: 0 of 5 for each."""
    asked.rows([{**row, "answer": ""} for row in ROWS])
    write(asked, metrics=["llm_answer_relevancy"], judge=JUDGE, gates={"weighted_score": 0.1})
    red(asked.pytest())
    assert asked.gates() == {"weighted_score": "failed", "unscored": "passed"}
    found = asked.results()["samples"][0]
    assert (found["scores"], found["reasons"]) == (
        {"llm_answer_relevancy": 0.0},
        {"llm_answer_relevancy": "empty answer"},
    )


@pytest.mark.full
def test_rows_that_are_no_samples_are_counted_and_can_be_bounded(asked: Project) -> None:
    """[G8] 4 of 24 rows are in no figure: said, and more than a tenth with the gate."""
    asked.rows([*ROWS, *({"id": f"bad{at}", "answer": ["no", "text"]} for at in range(4))])
    dataset = {"path": "qa.jsonl", "on_invalid": "skip"}
    write(asked, metrics=["f1"], dataset=dataset, gates={"f1": 0.9})
    result = green(asked.pytest())
    result.stdout.fnmatch_lines(["4 of 24 rows are invalid and in no figure, for instance: *"])
    counts = asked.results()["counts"]
    assert (counts["samples"], counts["invalid"], counts["in_figures"]) == (24, 4, 20)
    summary = (asked.folder() / "summary.md").read_text("utf-8")
    assert "- 4 of 24 rows are invalid and in no figure" in summary
    write(asked, metrics=["f1"], dataset=dataset, gates={"f1": 0.9, "invalid": 0.1})
    result = red(asked.pytest())
    result.stdout.fnmatch_lines(["gate invalid *FAILED  0.1667 > 0.1000 (4 of 24 rows)"])


@pytest.mark.parametrize("option", ["--dist=loadfile", "--dist=load"])
def test_a_distribution_without_workers_is_a_run_in_one_process(
    option: str, project: Project
) -> None:
    """xdist starts no worker then: all cases run here, and the gates are decided here."""
    project.scenario(
        "name: qa\nmetrics: [em]\ngates: {em: 0.9}\ndataset: [{answer: a, references: [b]}]"
    )
    red(project.pytest(option))
    assert project.gates()["em.mean"] == "failed"
