"""F12: a judge has to tell good rows from bad ones before its scores count.

The metric ``graded`` gives what the judge replies. The fake server replies with the answer itself,
and so passes; one that always says 1 does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from judged_project import JudgedProject
from sharded import run_shards

from pytest_rageval.evaluation import evaluate
from tests.plugin.conftest import green, red, wrong_use

pytest_plugins = ["judged_project"]

REMARK = (
    "graded: this judge does not tell good rows from bad ones (control rows: good 1 1 1, "
    "bad 1 1 1): do not trust this figure"
)


def controlled(judged: JudgedProject, mode: str, *answers: Any, **keys: Any) -> None:
    """Write a scenario whose metric is tested with six high and six low rows of its own."""
    rows = [
        {"id": f"{expect}{at}", "metric": "graded", "expect": expect, "answer": f"{start}{at}"}
        for at in range(6)
        for expect, start in (("high", "0.9"), ("low", "0.0"))
    ]
    judged.project.rows(rows, file="controls.jsonl")
    judge = {"controls": {"mode": mode, "file": "controls.jsonl"}, **keys.pop("judge", {})}
    judged.scenario(answers or ["0.5", "0.6"], judge=judge, **keys)


def say_yes(_: Mapping[str, Any]) -> str:
    """A judge that always says yes."""
    return "1"


def controls(judged: JudgedProject) -> dict[str, Any]:
    """What results.json says of the metric's judge."""
    found: dict[str, Any] = judged.project.results()["controls"]["graded"]
    return found


@pytest.mark.full
@pytest.mark.parametrize("mode", ["warn", "require"])
def test_an_honest_judge_passes_when_that_is_certain(judged: JudgedProject, mode: str) -> None:
    """F12: two slips are left of twelve rows, so ten decide it. Rows are scored, nothing is said.

    A second run takes them from the cache, as any reply.
    """
    controlled(judged, mode)
    assert judged.pytest().ret == pytest.ExitCode.OK
    assert len(judged.asked) == 12
    assert controls(judged) == {
        "passed": True,
        "set": 0,
        "good": [0.90, 0.91, 0.92, 0.93, 0.94],
        "bad": [0.00, 0.01, 0.02, 0.03, 0.04],
        "reason": "",
    }
    judged.runs[-1].stdout.no_fnmatch_line("*control*")
    assert judged.pytest("--rag-strict", "--rag-save=main").ret == pytest.ExitCode.OK
    assert len(judged.asked) == 12


@pytest.mark.full
def test_a_yes_sayer_is_marked_and_no_baseline(judged: JudgedProject) -> None:
    """F12: three slips in six rows are too many of twelve. A gate stays as it is."""
    judged.server.options.answer = say_yes
    controlled(judged, "warn", gates={"graded": 0.5})
    result = green(judged.pytest("--rag-report=html"))
    result.stdout.fnmatch_lines([REMARK])
    assert REMARK in (judged.project.folder() / "report.html").read_text("utf-8")
    assert len(judged.asked) == 8
    assert controls(judged)["passed"] is False
    assert REMARK in (judged.project.folder() / "summary.md").read_text("utf-8")
    saved = red(judged.pytest("--rag-save=main"))
    saved.stdout.fnmatch_lines(["*NOT saved: control rows: the judge of graded did not pass them"])


@pytest.mark.full
@pytest.mark.parametrize("args", [(), ("-n", "2")], ids=["plain", "workers"])
def test_a_yes_sayer_scores_nothing_where_rows_are_required(
    judged: JudgedProject, args: tuple[str, ...]
) -> None:
    """F12: no sample is asked about; one ERROR says why, and results.json has it for each."""
    judged.server.options.answer = say_yes
    controlled(judged, "require", *[f"0.{at}" for at in range(10, 20)], gates={"graded": 0.5})
    result = red(judged.pytest(*args))
    assert len(judged.asked) == 6  # once a run, not once a worker
    assert set(judged.errors) == {f"s{at}" for at in range(10)}
    (error,) = set(judged.errors.values())
    assert error == "control rows: this judge does not tell good rows from bad ones"
    assert judged.project.gates() == {
        "graded.mean": "failed",
        "unscored": "failed",
        "controls:graded": "failed",
    }
    assert set(judged.project.outcomes().values()) == {"error"}
    if not args:
        assert result.parseoutcomes() == {"errors": 1, "skipped": 9, "failed": 3}


@pytest.mark.full
def test_a_short_form_and_an_option_switch_them_off(judged: JudgedProject) -> None:
    """F12: YAML takes ``off`` for false. Without them, nothing is asked or said."""
    controlled(judged, "require")
    assert judged.pytest("--rag-set", "judge.controls=off").ret == pytest.ExitCode.OK
    judged.scenario(["0.5"], judge={"controls": False})
    assert judged.pytest().ret == pytest.ExitCode.OK
    assert len(judged.asked) == 2
    assert "controls" not in judged.project.results()
    snapshot = (judged.project.folders()[-1] / "scenario.snapshot.yaml").read_text("utf-8")
    assert yaml.safe_load(snapshot)["judge"]["controls"] == {"mode": "off", "file": None}


def test_a_metric_without_rows_is_never_passed(judged: JudgedProject) -> None:
    """F12: it is scored all the same, even where rows are required, and that is said."""
    judged.scenario(["0.5"], judge={"controls": "require"})
    result = green(judged.pytest("--rag-strict"))
    result.stdout.fnmatch_lines(["no controls: graded"])
    assert controls(judged)["passed"] is None


@pytest.mark.full
@pytest.mark.parametrize("mode", ["warn", "require"])
def test_a_replay_that_lacks_them_says_so(judged: JudgedProject, mode: str) -> None:
    """F12: a cache that was recorded without them stays green, but where they are required."""
    controlled(judged, "off")
    judged.pytest()
    controlled(judged, mode)
    result = judged.pytest("--rag-cache=replay")
    assert result.ret == (pytest.ExitCode.OK if mode == "warn" else pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["*not in the cache; run once without replay to record them*"])
    judged.pytest("--rag-set", f"judge.controls.mode={mode}")
    assert judged.pytest("--rag-cache=replay").ret == pytest.ExitCode.OK
    assert controls(judged)["passed"] is True
    assert len(judged.asked) == 12


@pytest.mark.full
@pytest.mark.parametrize("args", [(), ("-n", "2")], ids=["plain", "workers"])
def test_a_short_budget_leaves_them_out_first(judged: JudgedProject, args: tuple[str, ...]) -> None:
    """F12: ten samples of 3 tokens at 1 USD take 30 USD of 33; never red, and said."""
    answers = [f"0.{at}" for at in range(10, 20)]
    price = {"price": {"input": 1_000_000, "output": 0}}
    controlled(judged, "warn", *answers, judge=price)
    result = green(judged.pytest("--rag-budget=33", "--rag-strict", *args))
    assert judged.project.results()["counts"]["scored"] == 10
    assert controls(judged)["passed"] is None
    result.stdout.fnmatch_lines(
        ["graded: the judge is not tested, control rows were not asked: budget*"]
    )
    assert judged.pytest("--rag-budget=200", *args).ret == pytest.ExitCode.OK
    assert controls(judged)["passed"] is True


@pytest.mark.full
def test_what_was_asked_counts_where_one_row_is_lost(judged: JudgedProject) -> None:
    """F12: five rows with the same score show a judge that says yes, and it is no baseline."""
    judged.server.options.answer = say_yes
    controlled(judged, "warn", "0.5", judge={"concurrency": 1})
    judged.server.then("ok", "500")
    red(judged.pytest("--rag-strict", "--rag-save=main"))
    assert controls(judged)["passed"] is False


def test_a_lost_pair_leaves_the_verdict_to_the_others(judged: JudgedProject) -> None:
    """F12: the fourth of six pairs is lost, after a sample and six rows; ten rows decide."""
    controlled(judged, "warn", "0.5", judge={"concurrency": 1})
    judged.server.then(*["ok"] * 7, "500", "500")
    judged.pytest()
    assert controls(judged)["passed"] is True
    assert controls(judged)["good"] == [0.90, 0.91, 0.92, 0.94, 0.95]


@pytest.mark.full
def test_a_worker_without_samples_does_not_keep_rows_from_being_asked(
    judged: JudgedProject,
) -> None:
    """F12: with a budget the last worker asks them, whoever judged the samples."""
    judged.server.options.answer = say_yes
    controlled(judged, "warn", "0.5", judge={"price": {"input": 1, "output": 1}})
    (judged.path / "test_others.py").write_text("def test_a(): pass\ndef test_b(): pass\n", "utf-8")
    red(judged.pytest("-n2", "--dist=loadfile", "--rag-budget=1", "--rag-strict"))
    assert controls(judged)["passed"] is False


@pytest.mark.full
def test_a_server_that_fails_says_nothing_of_the_judge(judged: JudgedProject) -> None:
    """F12: but of replies that cannot be used, three are too many."""
    controlled(judged, "warn", judge={"reasks": 0})
    judged.server.options.fault_rates = {"500": 1.0}
    judged.pytest()
    assert controls(judged)["passed"] is None
    assert "500" in controls(judged)["reason"]
    assert len(judged.asked) == 2 + 6
    judged.server.options.fault_rates = {}
    judged.server.options.answer = lambda body: "prose"
    judged.pytest()
    assert controls(judged)["passed"] is False
    assert controls(judged)["good"] == [None, None, None]
    judged.runs[-1].stdout.fnmatch_lines(["*(control rows: good - - -, bad - - -)*"])


@pytest.mark.full
def test_variants_with_one_judge_ask_once(judged: JudgedProject) -> None:
    """F12: without a cache, too; a variant with a judge of its own has a verdict of its own."""
    judged.server.options.answer = lambda body: (
        "1" if body["model"] == "weak" else str(body["messages"][0]["content"]).split(": ")[1]
    )
    variants = {"one": {}, "same": {"top_k": 3}, "weak": {"judge": {"model": "weak"}}}
    controlled(judged, "warn", "0.5", variants=variants)
    judged.pytest("--rag-cache=off")
    assert len(judged.asked) == 10 + 1 + 1 + 6 + 1
    found = {
        name: judged.project.results(f"qa/{name}")["controls"]["graded"]["passed"]
        for name in variants
    }
    assert found == {"one": True, "same": True, "weak": False}


def test_from_python_as_in_a_run(judged: JudgedProject) -> None:
    """F12: ``evaluate`` has the verdict, with and without a folder for what processes share."""
    judged.load_conftest()
    judged.server.options.answer = say_yes
    controlled(judged, "require")
    found = evaluate(judged.path / "qa.rageval.yaml")
    assert found.controls["graded"].passed is False
    assert [gate.name for gate in found.gates] == ["unscored", "controls:graded"]
    assert len(judged.asked) == 6


@pytest.mark.full
def test_shards_carry_theirs(judged: JudgedProject) -> None:
    """F12: and one that differs is refused: which of the two is the run's?"""
    controlled(judged, "warn", "0.5", "0.6")
    shards = run_shards(judged.project, ["1/2"])
    assert judged.pytest(*[f"--rag-merge={one}" for one in shards]).ret  # one is missing
    assert controls(judged)["passed"] is True
    judged.server.options.answer = say_yes
    shards += run_shards(judged.project, ["2/2"], "--rag-cache=off")
    merge = wrong_use(judged.pytest(*[f"--rag-merge={one}" for one in shards]))
    merge.stderr.fnmatch_lines(["*the judge of graded failed its control rows in shard 2/2*"])


def test_the_forecast_counts_them(judged: JudgedProject) -> None:
    """F12: two samples and the ten rows that a good judge is asked about."""
    controlled(judged, "warn")
    result = judged.pytest("--rag-dry-run")
    result.stdout.fnmatch_lines(["judge     m: at least 12 calls, 10 of them for control rows, *"])
