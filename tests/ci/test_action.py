"""E24: the GitHub Action compares, comments once, and is never green because a step failed."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import action_badge
import action_comment
import pytest
import yaml
from action_report import ROOM, Run, read_run, report_text
from fake_github import REPOSITORY, TOKEN, FakeGitHub
from github_api import ApiError, Repository

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "rageval"
SCENARIO = """\
name: garden
dataset: answers.jsonl
metrics: [em]
gates: {em: 0.5}
"""
PULL_REQUEST = {"number": 7, "pull_request": {"head": {"sha": "c0ffee00" * 5}}}


@dataclass
class Job:
    """A job's folder and environment, in which steps of the action run."""

    folder: Path
    environ: dict[str, str]

    def write(self, right: int, wrong: int = 0) -> None:
        """Write a scenario with right and wrong answers."""
        (self.folder / "garden.rageval.yaml").write_text(SCENARIO, "utf-8")
        rows = [
            {
                "id": f"q{i}",
                "question": "?",
                "answer": "yes" if i < right else "no",
                "references": "yes",
            }
            for i in range(right + wrong)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self.folder / "answers.jsonl").write_text(text, "utf-8")

    @property
    def kept(self) -> Path:
        """The saved runs of the default branch, as the cache has them."""
        return self.folder / ".rageval" / ".cache-baselines" / "rageval"

    def happens(self, event: str, payload: dict[str, Any], ref: str) -> None:
        """Be a job of this event."""
        path = Path(self.environ["GITHUB_EVENT_PATH"])
        path.write_text(json.dumps({"repository": {"default_branch": "main"}} | payload), "utf-8")
        self.environ |= {"GITHUB_EVENT_NAME": event, "GITHUB_REF": ref}

    def run(self) -> tuple[int, dict[str, str]]:
        """Run the step that runs pytest; return its exit status and outputs."""
        output = Path(self.environ["GITHUB_OUTPUT"])
        output.write_text("", "utf-8")
        command = [sys.executable, str(ACTION / "action_run.py")]
        status = subprocess.run(command, cwd=self.folder, env=self.environ, check=False).returncode
        found = re.findall(r"^(.+?)<<(\w+)\n(.*?)\n\2$", output.read_text("utf-8"), re.M | re.S)
        return status, {name: value for name, _, value in found}

    def ends(self, status: int, exit_status: str, verdict: str) -> str:
        """Run the step, check how it and pytest ended, and return the report."""
        found, outputs = self.run()
        assert (found, outputs["exit-status"], outputs["verdict"]) == (status, exit_status, verdict)
        return Path(outputs["report"]).read_text("utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    folder = tmp_path / "work"
    folder.mkdir()
    own = {
        "ACTION_NAME": "rageval",
        "ACTION_SCENARIOS": "garden.rageval.yaml\n",
        "ACTION_PYTEST_ARGS": "-q",
        "ACTION_BASELINE": "main",
        "ACTION_PINNED": "",
        "ACTION_COMPARE_FAIL": "",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(folder),
        "RUNNER_TEMP": str(tmp_path),
    }
    ours = ("RAGEVAL_", "PYTEST_", "GITHUB_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    job = Job(folder, {**kept, **own})
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    return job


@pytest.mark.full
def test_a_pull_request_is_compared_with_the_run_that_main_saved(job: Job) -> None:
    job.write(right=8)
    job.happens("push", {}, "refs/heads/main")
    status, outputs = job.run()
    assert (status, outputs["verdict"], outputs["saves-baseline"]) == (0, "passed", "true")
    assert (job.kept / "garden" / "main.json").is_file()
    job.write(right=6, wrong=2)
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    status, outputs = job.run()
    assert (status, outputs["saves-baseline"]) == (0, "false")
    report = Path(outputs["report"]).read_text("utf-8")
    assert "## Compared with main" in report
    assert "not compared" not in report
    assert Path(job.folder, outputs["pages"]).name == "report.html"
    assert action_badge.badge_name(Path(outputs["badges"])) == "garden"
    used = re.findall(r"steps\.run\.outputs\.([\w-]+)", (ACTION / "action.yml").read_text("utf-8"))
    assert set(used) == set(outputs)


@pytest.mark.full
def test_a_slow_fall_is_red_against_the_pinned_run_which_nothing_moves(job: Job) -> None:
    """F7: the pull request is no worse than main, which was moved; the release was better."""
    job.write(right=30)
    job.happens("push", {}, "refs/heads/main")
    assert job.run()[0] == 0
    pinned = job.folder / "eval" / "pinned" / "garden" / "release-1.4.json"
    pinned.parent.mkdir(parents=True)
    pinned.write_bytes((job.kept / "garden" / "main.json").read_bytes())
    before = pinned.read_bytes()
    job.write(right=18, wrong=12)
    assert job.run()[0] == 0
    job.environ |= {"ACTION_PINNED": "eval/pinned", "ACTION_COMPARE_FAIL": "em:0.02"}
    scenario = job.folder / "garden.rageval.yaml"
    listed = "compare: [main, {baseline: release-1.4, looks: 50}]\n"
    scenario.write_text(SCENARIO + listed, "utf-8")
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    status, outputs = job.run()
    assert (status, outputs["verdict"]) == (1, "failed")
    (folder,) = outputs["folders"].split("\n")
    results = json.loads((job.folder / folder / "results.json").read_text("utf-8"))
    assert [one["baseline"] for one in results["comparisons"]] == ["main", "release-1.4"]
    assert {one["name"]: one["outcome"] for one in results["gates"]} == {
        "em.mean": "passed",
        "compare_fail.main.em": "passed",
        "compare_fail.release-1.4.em": "failed",
        "unscored": "passed",
    }
    assert pinned.read_bytes() == before
    # The default branch compares as the scenario says, and keeps main alone.
    job.happens("push", {}, "refs/heads/main")
    assert job.run()[0] == 0
    assert [file.name for file in job.kept.rglob("*.json")] == ["main.json"]


@pytest.mark.full
def test_a_run_compared_with_the_pinned_run_alone_is_said_not_to_be_compared(job: Job) -> None:
    """Nothing is saved as main yet: that the first comparison is another one must not hide it."""
    job.write(right=30)
    job.happens("push", {}, "refs/heads/main")
    assert job.run()[0] == 0
    pinned = job.folder / "pinned" / "garden" / "release-1.4.json"
    pinned.parent.mkdir(parents=True)
    (job.kept / "garden" / "main.json").rename(pinned)
    job.environ |= {"ACTION_PINNED": "pinned", "ACTION_COMPARE_FAIL": "em:0.02"}
    listed = "compare: [main, {baseline: release-1.4, looks: 50}]\n"
    (job.folder / "garden.rageval.yaml").write_text(SCENARIO + listed, "utf-8")
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    status, outputs = job.run()
    report = Path(outputs["report"]).read_text("utf-8")
    assert (status, outputs["verdict"]) == (1, "error")
    assert "there is no saved run 'main'" in report
    pinned.unlink()
    status, _ = job.run()
    assert status == 1, "the folder is empty"
    pinned.with_name("other.json").write_text("{}", "utf-8")
    assert job.run()[0] == 4, "what the scenario pins is not there"


@pytest.mark.full
def test_a_fall_that_nobody_can_decide_is_red_though_pytest_passed(job: Job) -> None:
    """Without a saved run of main, compare-fail has nothing to compare with."""
    job.write(right=8)
    job.environ["ACTION_COMPARE_FAIL"] = "em:0.02"
    report = job.ends(1, "0", "error")
    assert report.startswith("## rageval: NOT JUDGED\n")
    for text in (report, Path(job.environ["GITHUB_STEP_SUMMARY"]).read_text("utf-8")):
        assert "'compare-fail' could not be decided: there is no saved run 'main'" in text
    assert not job.kept.exists()  # or a second use in this workspace would compare it with itself


@pytest.mark.full
@pytest.mark.parametrize("falls", ["", "acc:0.02"])
def test_a_saved_run_that_is_refused_is_red_and_the_comment_says_how_to_accept_it(
    job: Job, falls: str
) -> None:
    """[V1] A pull request that changes what is measured does not get around the comparison.

    Without ``compare-fail`` it was green: since then, no run replaces what it cannot be compared
    with.
    """
    job.write(right=8)
    job.happens("push", {}, "refs/heads/main")
    assert job.run()[0] == 0
    rows = (job.folder / "answers.jsonl").read_text("utf-8").replace('"?"', '"other?"')
    (job.folder / "answers.jsonl").write_text(rows, "utf-8")
    scenario = SCENARIO.replace("[em]", "[acc]").replace("em:", "acc:")
    (job.folder / "garden.rageval.yaml").write_text(scenario, "utf-8")
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    job.environ["ACTION_COMPARE_FAIL"] = falls
    report = job.ends(1, "1", "failed")
    assert "refused: garden" in report
    assert "write another name in this pull request, 'baseline: main-2'" in report
    assert ("take 'compare-fail' out until then" in report) is bool(falls)
    job.environ |= {"ACTION_BASELINE": "main-2", "ACTION_COMPARE_FAIL": ""}
    status, outputs = job.run()
    assert (status, outputs["verdict"]) == (0, "passed")


def test_falls_of_refused_and_of_missing_runs_are_told_apart() -> None:
    import action_run

    runs = [
        Run(
            Path(".rageval", name, "20261123"), f"# {name}\n\n**passed**\n", is_compared=name == "c"
        )
        for name in "abc"
    ]
    saved = {Path("a"), Path("c")}
    environ = {"ACTION_COMPARE_FAIL": "f1:0.02", "ACTION_BASELINE": "main"}
    (said,) = action_run._undecided(environ, runs, saved)
    assert "the saved run was refused: a." in said
    assert action_run._undecided(environ, runs[1:], saved) == []
    new, refused = action_run._not_compared({**environ, "ACTION_COMPARE_FAIL": ""}, runs, saved)
    assert new == "not compared, there is no saved run 'main' yet: b"
    assert refused.startswith("not compared, the saved run 'main' was refused: a. The log says")
    assert refused.endswith("the default branch saves its next green run under it")
    (said,) = action_run._not_compared(environ, runs[2:], saved)
    assert said == (
        "no scenario here is compared with the saved run 'main' of a: renamed, removed, or not run"
    )
    assert action_run._not_compared(environ, [], saved) == []  # what ended pytest says more


@pytest.mark.parametrize("name", ["a/b", "main.json", "a b"])
def test_a_name_that_cannot_be_a_baseline_is_refused(job: Job, name: str) -> None:
    import action_run

    job.environ["ACTION_BASELINE"] = name
    with pytest.raises(SystemExit, match="input 'baseline'"):
        action_run.pytest_command(job.environ)


def test_a_failed_gate_fails_the_step_and_is_told(job: Job) -> None:
    job.write(right=1, wrong=3)
    status, outputs = job.run()
    assert (status, outputs["verdict"]) == (1, "failed")
    report = Path(outputs["report"]).read_text("utf-8")
    assert report.startswith("## rageval: FAILED (exit status 1: a case or a gate failed)")
    assert "not compared, there is no saved run 'main' yet: garden" in report


@pytest.mark.full
def test_without_a_summary_the_step_is_red_and_says_so(job: Job) -> None:
    """Nothing can be collected: the step summary has it, too, since the plugin wrote none."""
    status, outputs = job.run()
    assert (status, outputs["verdict"], outputs["folders"]) == (4, "error", "")
    for text in (outputs["report"], job.environ["GITHUB_STEP_SUMMARY"]):
        assert "NOT JUDGED (exit status 4" in Path(text).read_text("utf-8")


@pytest.mark.full
def test_a_green_pytest_that_wrote_no_results_is_red(job: Job) -> None:
    """An option in the job's arguments sent them elsewhere."""
    job.write(right=8)
    job.environ["ACTION_PYTEST_ARGS"] = "-q --rag-output=elsewhere"
    status, outputs = job.run()
    assert (status, outputs["exit-status"], outputs["verdict"]) == (1, "0", "error")


@pytest.mark.full
def test_a_gate_over_variants_is_told(job: Job) -> None:
    """The summaries of the variants pass; only variants.json knows the gate ``best``."""
    job.write(right=2, wrong=2)
    variants = "variants: {a: {}, b: {}}\nbest: a\n"
    (job.folder / "garden.rageval.yaml").write_text(SCENARIO + variants, "utf-8")
    status, outputs = job.run()
    assert status == 1
    assert "- `gate best failed: " in Path(outputs["report"]).read_text("utf-8")
    assert Path(outputs["pages"].splitlines()[0]).name == "variants.html"


@pytest.mark.parametrize(
    ("event", "ref", "saves"),
    [
        ("push", "refs/heads/main", True),
        ("workflow_dispatch", "refs/heads/main", True),
        ("schedule", "refs/heads/main", True),
        ("push", "refs/heads/topic", False),
        ("push", "refs/tags/main", False),
        ("pull_request_target", "refs/heads/main", False),
        ("workflow_run", "refs/heads/main", False),
    ],
)
def test_only_the_default_branch_saves(job: Job, event: str, ref: str, saves: bool) -> None:
    """With pull_request_target, the ref is main's, and the code may be a stranger's."""
    import action_run

    job.happens(event, {}, ref)
    assert action_run.is_default_branch(job.environ) is saves
    is_compared = "--rag-compare=main" in action_run.pytest_command(job.environ)
    assert is_compared is not saves


def test_a_scenario_with_baselines_of_its_own_is_left_alone(job: Job) -> None:
    import action_run

    job.environ["ACTION_BASELINE"] = ""
    command = " ".join(action_run.pytest_command(job.environ))
    assert "--rag-strict" in command
    assert not re.search("compare|save|baselines", command)


def test_every_script_gets_what_it_reads() -> None:
    """A step that lacks a variable would end in a traceback, and only on GitHub."""
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    scripts = 0
    for step in action["runs"]["steps"]:
        for name in re.findall(r"\w+\.py", step.get("run", "")):
            text = (ACTION / name).read_text("utf-8")
            text += (ACTION / "github_api.py").read_text("utf-8") if "github_api" in text else ""
            assert set(re.findall(r"ACTION_[A-Z_]+", text)) == set(step["env"])
            scripts += 1
    assert scripts == 4


def ran(folder: str, path: str, verdict: str = "**passed**") -> Run:
    return Run(Path(folder), f"# {folder}\n\n{verdict}\n", is_compared=True, path=path)


@pytest.mark.parametrize(
    ("scenarios", "ran_paths", "lost"),
    [
        ("eval/a.yaml\neval/sub/a.yaml::s1", ["eval/a.yaml", "eval/sub/a.yaml"], []),
        ("eval/a.yaml\neval/sub/a.yaml", ["eval/a.yaml"], ["eval/sub/a.yaml"]),
        ("eval/**/*.yaml", ["eval/a.yaml"], ["eval/sub/a.yaml"]),
        ("eval/**/*.yaml", ["a.yaml", "sub/a.yaml"], []),  # the rootdir is eval
        ("eval/**/*.yaml", ["work/eval/a.yaml", "work/eval/sub/a.yaml"], []),  # it is above
        ("eval/sub/a.yaml", ["../../eval/sub/a.yaml"], []),  # it is beside
        ("eval/[b].yaml", ["eval/[b].yaml"], []),  # a name, no pattern
        ("eval/[b].yaml", ["eval/a.yaml"], ["eval/[b].yaml"]),
    ],
)
def test_a_scenario_of_the_input_that_left_no_run_is_named(
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    scenarios: str,
    ran_paths: list[str],
    lost: list[str],
) -> None:
    """pytest may be green: a conftest ended it, or the folder of a run could not be written."""
    import action_run

    for name in ("a.yaml", "sub/a.yaml", "[b].yaml", "other/x/y.yaml"):
        file = job.folder / "eval" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.chdir(job.folder)
    if "[b]" not in scenarios:
        (job.folder / "eval" / "[b].yaml").unlink()
        (job.folder / "eval" / "other" / "x" / "y.yaml").unlink()
    environ = {"ACTION_SCENARIOS": scenarios}
    runs = [ran(f"r{at}", path) for at, path in enumerate(ran_paths)]
    assert action_run.without_a_run(environ, runs) == lost


@pytest.mark.full
def test_a_scenario_whose_run_cannot_be_written_is_red(job: Job) -> None:
    """The exit status of pytest follows the verdict; but nobody sees this scenario's."""
    job.write(right=8)
    other = SCENARIO.replace("garden", "shed")
    (job.folder / "shed.rageval.yaml").write_text(other, "utf-8")
    (job.folder / ".rageval").mkdir()
    (job.folder / ".rageval" / "shed").touch()
    job.environ["ACTION_SCENARIOS"] = "*.rageval.yaml"
    report = job.ends(1, "0", "error")
    assert "- shed.rageval.yaml: NOT JUDGED, it left no results; the log says why" in report
    job.write(right=0, wrong=8)  # red as it is: the other scenario is named all the same
    _, outputs = job.run()
    assert outputs["verdict"] == "failed"
    assert "shed.rageval.yaml: NOT JUDGED" in Path(outputs["report"]).read_text("utf-8")


@pytest.mark.full
def test_a_scenario_without_anything_to_pass_is_not_judged(job: Job) -> None:
    """All answers are wrong, and pytest is green: no gate and no threshold asked for more."""
    job.write(right=0, wrong=2)
    text = SCENARIO.replace("gates: {em: 0.5}\n", "")
    (job.folder / "garden.rageval.yaml").write_text(text, "utf-8")
    report = job.ends(1, "0", "not judged")
    assert report.startswith("## rageval: NOT JUDGED\n")
    assert "- garden: **not judged**: no gates and no thresholds; 2 of 2 cases passed; " in report


@pytest.mark.full
def test_what_main_only_saves_is_judged_by_the_comparison(job: Job) -> None:
    """With 'compare-fail', main is not red for a scenario without gates of its own."""
    job.write(right=8)
    text = SCENARIO.replace("gates: {em: 0.5}\n", "")
    (job.folder / "garden.rageval.yaml").write_text(text, "utf-8")
    job.environ["ACTION_COMPARE_FAIL"] = "em:0.02:any"
    job.happens("push", {}, "refs/heads/main")
    status, outputs = job.run()
    assert (status, outputs["verdict"], outputs["saves-baseline"]) == (0, "not judged", "true")
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    assert job.run()[1]["verdict"] == "passed"
    job.write(right=7, wrong=1)
    (job.folder / "garden.rageval.yaml").write_text(text, "utf-8")
    assert [job.run()[1]["verdict"] for _ in range(2)] == ["failed", "failed"]


def test_variants_are_judged_by_the_gate_over_them(tmp_path: Path) -> None:
    folder = tmp_path / "garden" / "a" / "20261123"
    idle = Run(folder, "# a\n\n**not judged**: no gates\n", is_compared=False)
    assert idle.is_idle
    folder.mkdir(parents=True)
    gate = {"gate": {"outcome": "passed", "message": "nothing is better"}}
    (tmp_path / "garden" / "variants.json").write_text(json.dumps(gate), "utf-8")
    assert not idle.is_idle


def test_a_pull_request_gets_copies(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pull request saves is nobody's baseline; an old copy is none either."""
    import action_run

    monkeypatch.chdir(job.folder)
    for place in ("garden", "bot/dense"):
        (job.kept / place).mkdir(parents=True)
        (job.kept / place / "main.json").write_text("{}", "utf-8")
    copies = job.folder / ".rageval" / ".cache-copies" / "rageval"
    for _ in range(2):
        action_run.provide_baselines(job.environ)
        found = sorted(file.relative_to(copies).as_posix() for file in copies.rglob("*.json"))
        assert found == ["bot/dense/main.json", "garden/main.json"]
        (copies / "new.json").touch()
    assert f"rageval_baselines={copies}" in action_run.pytest_command(job.environ)
    (copies / "garden" / "main.json").write_text("[]", "utf-8")
    action_run.keep_baselines(job.environ)
    assert (job.kept / "garden" / "main.json").read_text("utf-8") == "{}"
    job.happens("push", {}, "refs/heads/main")
    action_run.keep_baselines(job.environ)
    kept = sorted(file.relative_to(job.kept).as_posix() for file in job.kept.rglob("*.json"))
    assert kept == ["bot/dense/main.json", "garden/main.json"]
    assert (job.kept / "garden" / "main.json").read_text("utf-8") == "[]"
    assert action_run.saved_runs(job.environ) == {Path("garden"), Path("bot/dense")}
    job.environ["ACTION_NAME"] = "other"  # another use in this workspace
    assert action_run.saved_runs(job.environ) == set()


@pytest.mark.full
def test_main_keeps_the_saved_run_of_what_did_not_run_this_time(job: Job) -> None:
    """[E24] A run in part, or another use in this workspace, must not end the comparison.

    With ``compare-fail``, a pull request that makes that other scenario worse would be green.
    """
    job.write(right=1)
    job.happens("schedule", {}, "refs/heads/main")
    other = job.kept / "bot" / "dense" / "main.json"
    other.parent.mkdir(parents=True)
    other.write_text("{}", "utf-8")
    assert job.run()[0] == 0
    assert (job.kept / "garden" / "main.json").is_file()
    assert other.is_file()


REGRESSION = "no_regression: {metrics: [em], max_drop: 0.02}"


@pytest.mark.full
def test_a_gate_that_has_no_saved_run_yet_is_not_red_and_says_so(job: Job) -> None:
    """Else the scenario that a pull request adds, and the first run of main, could only be red."""
    job.write(right=8)
    text = SCENARIO.replace("{em: 0.5}", f"{{em: 0.5, {REGRESSION}}}\ncompare: main")
    (job.folder / "garden.rageval.yaml").write_text(text, "utf-8")
    # Without any saved run, a pull request may have lost them.
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    status, outputs = job.run()
    assert (status, outputs["exit-status"], outputs["verdict"]) == (1, "0", "error")
    job.happens("push", {}, "refs/heads/main")
    report = job.ends(0, "0", "not judged")
    assert "- garden: **undecided**: 1 of 3 gates undecided; 8 of 8 cases passed; " in report
    assert "there is no saved run 'main' for its gates yet" in report
    (job.folder / "new.rageval.yaml").write_text(text.replace("garden", "new", 1), "utf-8")
    job.environ["ACTION_SCENARIOS"] = "*.rageval.yaml"
    job.happens("pull_request", PULL_REQUEST, "refs/pull/7/merge")
    status, outputs = job.run()
    assert (status, outputs["exit-status"], outputs["verdict"]) == (0, "0", "not judged")
    assert "- new: **undecided**: " in Path(outputs["report"]).read_text("utf-8")
    # One under another name is not new: worse answers would pass, and be the next baseline.
    (job.folder / "new.rageval.yaml").unlink()
    job.write(right=5, wrong=3)
    (job.folder / "garden.rageval.yaml").write_text(text.replace("garden", "meadow", 1), "utf-8")
    for event, ref in (("pull_request", "refs/pull/7/merge"), ("push", "refs/heads/main")):
        job.happens(event, PULL_REQUEST if event == "pull_request" else {}, ref)
        report = job.ends(1, "0", "error")
        assert "with the saved run 'main' of garden: renamed, removed, or not run" in report
    status, outputs = job.run()
    assert (status, outputs["verdict"]) == (0, "passed"), "its first run was saved all the same"


LATER = {"outcome": "skipped", "baseline": "main", "message": "not compared with 'main'"}


@pytest.mark.parametrize(
    ("gates", "changes", "is_first"),
    [
        ([LATER], {}, True),
        ([{"outcome": "passed", "message": "1 >= 0"}, LATER, LATER], {}, True),
        ([{**LATER, "message": f"{LATER['message']}; left out, as all: a"}], {}, True),
        ([], {}, False),
        ([LATER], {"complete": False}, False),
        (
            [LATER, {**LATER, "baseline": "other", "message": "not compared with 'other'"}],
            {},
            False,
        ),
        ([{**LATER, "message": "3 of 8 samples ran"}], {}, False),
        ([LATER, {"outcome": "skipped", "message": "3 of 8 samples ran"}], {}, False),
        ([{"outcome": "skipped", "message": LATER["message"]}], {}, False),
        ([LATER], {"comparisons": [{"baseline": "main"}]}, False),
    ],
)
def test_only_what_waits_for_the_saved_run_is_a_first_run(
    job: Job, gates: list[dict[str, Any]], changes: dict[str, Any], is_first: bool
) -> None:
    known = {"scenario": {"path": "g.yaml"}, "complete": True, "comparisons": []}
    folder = job.folder / "garden" / "20261123"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({**known, "gates": gates, **changes}), "utf-8")
    (folder / "summary.md").write_text("# garden\n\n**undecided**: 1 of 3\n", "utf-8")
    run = read_run(folder, "main")
    assert run.is_unclear
    assert run.is_first is is_first
    assert not read_run(folder, "main-2").is_first
    assert not read_run(folder, "").is_first
    (folder / "summary.md").write_text("# garden\n\n**FAILED**: 1 of 3\n", "utf-8")
    assert not read_run(folder, "main").is_first


def test_what_is_undecided_beside_a_saved_run_stays_red() -> None:
    """It was refused, or replaced: what pytest says of it is not that there is none."""
    import action_run

    runs = [
        Run(Path(".rageval", name, "20261123"), f"# {name}\n\n**undecided**: 1\n", False, "", one)
        for name, one in (("a", True), ("b", True), ("c", False))
    ]
    waiting = action_run._waiting(runs, {Path("a")})
    assert [run.title for run in waiting] == ["b"]
    assert action_run._not_judged(runs, waiting) == [f"{name}: **undecided**: 1" for name in "ac"]


# The report.


def run_of(title: str, verdict: str, rest: str = "") -> Run:
    return Run(Path("runs", title), f"# {title}\n\n{verdict}\n\n{rest}", is_compared=True)


def test_a_report_begins_with_what_is_red() -> None:
    runs = [run_of("good", "**passed**: 1 gate passed"), run_of("bad", "**FAILED**: 1 of 1")]
    text = report_text(runs, "failed", 1, [])
    assert "| good | **passed**: 1 gate passed |" in text
    assert text.index("# bad\n") < text.index("# good\n")


def test_a_report_of_many_long_summaries_fits_into_a_comment() -> None:
    """40 summaries of 20,000 characters: the table names all, the rest is cut, and says so."""
    runs = [run_of(f"s{i}", "**passed**: 1 gate passed", "| x |\n" * 3333) for i in range(40)]
    text = report_text(runs, "passed", 0, [])
    assert ROOM - 100 < len(text) <= ROOM
    assert all(f"| s{i} |" in text for i in range(40))
    assert "Cut here" in text


def test_a_run_without_summary_is_not_judged() -> None:
    run = Run(Path("runs", "odd"), "# odd\n", is_compared=False)
    assert run.verdict.startswith("**NOT JUDGED**")
    assert not run.is_green


# The comment.


@pytest.fixture
def github(job: Job, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A fake GitHub, and the environment of a job that may write to it."""
    report = job.folder / "report.md"
    report.write_text("## rageval: passed\n", "utf-8")
    with FakeGitHub() as fake:
        job.environ |= {
            "ACTION_NAME": "rageval",
            "ACTION_TOKEN": TOKEN,
            "ACTION_REPORT": str(report),
            "ACTION_ARTIFACT_URL": "https://github.example/artifact/1",
            "GITHUB_API_URL": fake.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.example",
            "NO_PROXY": "127.0.0.1",
        }
        for name, value in job.environ.items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.mark.full
def test_the_comment_is_written_once_and_then_updated(github: FakeGitHub, job: Job) -> None:
    """As the script that the action runs."""
    for text in ("## rageval: FAILED\n", "## rageval: passed\n"):
        Path(job.environ["ACTION_REPORT"]).write_text(text, "utf-8")
        command = [sys.executable, str(ACTION / "action_comment.py")]
        assert subprocess.run(command, env=job.environ, check=False).returncode == 0
    assert len(github.comments) == 1
    body = github.comments[0]["body"]
    assert "rageval: passed" in body
    assert "FAILED" not in body
    assert "c0ffee00 · [log](https://github.example/someone/garden/actions/runs/42)" in body


def test_the_comment_is_found_behind_a_hundred_others(github: FakeGitHub) -> None:
    for i in range(100):
        github.add_comment(f"comment {i}", "User")
    github.add_comment(f"{action_comment.marker('rageval')}\nold")
    action_comment.main()
    assert len(github.comments) == 101
    assert "rageval: passed" in github.comments[-1]["body"]


def test_two_uses_have_two_comments(github: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    action_comment.main()
    monkeypatch.setenv("ACTION_NAME", "--> other")
    action_comment.main()
    assert len(github.comments) == 2


def test_a_comment_of_a_stranger_is_not_taken_for_ours(github: FakeGitHub) -> None:
    """Who wrote it could change it after us."""
    github.add_comment(f"{action_comment.marker('rageval')}\npassed, trust me", "User", "NONE")
    action_comment.main()
    assert "trust me" in github.comments[0]["body"]
    assert len(github.comments) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_without_the_right_is_told(
    github: FakeGitHub, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    """A fork's pull request: no comment, a warning, and the verdict stays what it is."""
    github.faults.append(status)
    assert action_comment.main() == 0
    assert github.comments == []
    said = capsys.readouterr().out
    assert "::warning::no comment: the token may not write one" in said
    assert TOKEN not in said


@pytest.mark.parametrize("report", ["", "/nowhere/report.md"])
def test_a_job_that_ended_before_pytest_leaves_no_green_comment(
    github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    github.add_comment(f"{action_comment.marker('rageval')}\n## rageval: passed")
    monkeypatch.setenv("ACTION_REPORT", report)
    action_comment.main()
    assert "NOT JUDGED" in github.comments[0]["body"]


def test_a_push_gets_no_comment(github: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    assert action_comment.main() == 0
    assert github.asked == []


def test_a_fault_of_the_server_is_tried_again(github: FakeGitHub) -> None:
    repository = Repository(github.url, REPOSITORY, TOKEN, pause_s=0)
    github.faults.extend([502, 503])
    assert list(repository.pages("issues/7/comments")) == []
    github.faults.extend([502, 503, 504])
    with pytest.raises(ApiError, match="HTTP 504"):
        repository.ask("GET", "issues/7/comments")
    github.faults.append(422)
    with pytest.raises(ApiError, match="HTTP 422"):
        repository.ask("POST", "issues/7/comments", {"body": "x"})
    assert len(github.asked) == 3 + 3 + 1


# Badges.


def test_badges_are_put_on_their_branch_only_when_they_change(
    github: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.branches.add("badges")
    badge = tmp_path / ".rageval" / "garden" / "20261123T070252-827597" / "badge.svg"
    badge.parent.mkdir(parents=True)
    monkeypatch.setenv("ACTION_BADGES", str(badge))
    monkeypatch.setenv("ACTION_BADGE_BRANCH", "badges")
    for picture in (b"<svg>1</svg>", b"<svg>1</svg>", b"<svg>2</svg>"):
        badge.write_bytes(picture)
        assert action_badge.main() == 0
    assert [line.split()[0] for line in github.asked] == ["GET", "PUT", "GET", "GET", "PUT"]
    content = github.files["badges:garden.svg"]["content"]
    assert base64.b64decode(content) == b"<svg>2</svg>"


def test_a_variant_and_a_scenario_have_badges_of_their_own() -> None:
    files = [Path(".rageval", *above, "run", "badge.svg") for above in (("b-x",), ("b", "x"))]
    assert [action_badge.badge_name(file) for file in files] == ["b-x", "b/x"]


def test_badges_that_stay_behind_are_told(
    github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest ended without a run: the branch says what may no longer hold."""
    monkeypatch.setenv("ACTION_BADGES", "")
    monkeypatch.setenv("ACTION_BADGE_BRANCH", "badges")
    with pytest.raises(SystemExit, match="those on the branch are of an earlier run"):
        action_badge.main()


@pytest.mark.parametrize(
    ("branch", "message"), [("main", "is the default branch"), ("badges", "git switch --orphan")]
)
def test_a_branch_that_cannot_hold_badges_is_told(
    github: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: str, message: str
) -> None:
    badge = tmp_path / ".rageval" / "garden" / "run" / "badge.svg"
    badge.parent.mkdir(parents=True)
    badge.write_bytes(b"<svg/>")
    monkeypatch.setenv("ACTION_BADGES", str(badge))
    monkeypatch.setenv("ACTION_BADGE_BRANCH", branch)
    with pytest.raises(SystemExit, match=message):
        action_badge.main()
    assert github.files == {}
