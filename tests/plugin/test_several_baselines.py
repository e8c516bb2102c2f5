"""F7: a run against several baselines: each has its table and its gates, a pinned one stays."""

from __future__ import annotations

import json
import os
from textwrap import dedent
from typing import Any

import pytest
from sharded import files, merge, run_shards

from pytest_rageval.serving.mcp.answers import compared_of
from pytest_rageval.serving.saved_runs import read_run
from tests.plugin.conftest import Project, Run, green, interrupted, red

PLAIN = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
"""
GATES = "    gates: {no_regression: {metrics: [em], max_drop: 0.02}}\n"
PINNED = "{baseline: release-1.4, looks: 50}"
BOTH = f"{PLAIN}    compare: [main, {PINNED}]\n{GATES}"
RELEASE, MAIN = (f".rageval/qa/baselines/{name}.json" for name in ("release-1.4", "main"))
OF_MAIN, OF_RELEASE = "no_regression.main.em", "no_regression.release-1.4.em"


def rows(wrong: int = 0, question: str = "Capital?") -> list[dict[str, Any]]:
    """Return 40 rows; the first ``wrong`` are wrong, and the last one has the ``question``."""
    return [
        {
            "id": f"s{at}",
            "question": "Capital?" if at < 39 else question,
            "answer": "Rome" if at < wrong else "Paris",
            "references": ["Paris"],
            "topic": f"t{at % 2}",
        }
        for at in range(40)
    ]


def saved(project: Project, name: str, wrong: int) -> None:
    """Save a run with so many wrong answers, compared with nothing."""
    project.rows(rows(wrong))
    assert project.pytest("--rag-save", name).ret == pytest.ExitCode.OK


@pytest.fixture
def fallen(project: Project) -> Project:
    """Return a project that fell slowly: 20 of 40 are wrong, as in ``main``, but none in 1.4.

    All 20 differences have one sign, p = 2/2^20, which is less than 0.05 / 50.
    """
    project.scenario(PLAIN)
    saved(project, "release-1.4", 0)
    saved(project, "main", 20)
    project.scenario(BOTH)
    return project


def mean(project: Project, file: str) -> float:
    found: float = json.loads((project.path / file).read_text("utf-8"))["weighted_score"]["mean"]
    return found


def refused(project: Project, *args: str) -> str:
    """Return what a run says that does not begin (exit status 4)."""
    before = project.path / ".rageval"
    known = sorted(before.rglob("results.json"))
    result = project.pytest(*args)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert "Traceback" not in text
    assert sorted(before.rglob("results.json")) == known
    return text


# The verdict


@pytest.mark.full
def test_a_slow_fall_is_red_against_the_pinned_run_alone(fallen: Project, run: Run) -> None:
    """One gate and one table for each, with the alpha of one look."""
    result = red(run("-v"))
    assert fallen.gates() == {OF_MAIN: "passed", OF_RELEASE: "failed", "unscored": "passed"}
    result.stdout.fnmatch_lines(
        [
            f"*::gate:{OF_MAIN} PASSED*",
            f"*::gate:{OF_RELEASE} FAILED*",
            "A this run, B main, test permutation, alpha 0.05",
            "A this run, B release-1.4, test permutation, alpha 0.001 (one of 50 looks*0.05)",
        ]
    )
    found = fallen.results()
    first, second = found["comparisons"]
    assert found["comparison"] == first
    assert [one["baseline"] for one in (first, second)] == ["main", "release-1.4"]
    assert "looks" not in first
    assert (second["looks"], second["alpha"]) == (50, pytest.approx(0.001))
    assert [one["metrics"]["em"]["diff"] for one in (first, second)] == [0.0, -0.5]
    by_name = {gate["name"]: gate for gate in found["gates"]}
    assert (by_name[OF_RELEASE]["baseline"], by_name[OF_RELEASE]["metric"]) == ("release-1.4", "em")


@pytest.mark.full
@pytest.mark.parametrize("way", ["typed", "variable", "addopts and typed"])
def test_the_option_may_be_given_twice(
    fallen: Project, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each name is a run of its own, whichever way it is given."""
    fallen.scenario(f"{PLAIN}")
    args = ["--rag-compare-fail=em:0.02"]
    if way == "variable":
        monkeypatch.setenv("RAGEVAL_COMPARE", "main; release-1.4")
    elif way == "typed":
        args += ["--rag-compare=main", "--rag-compare", "release-1.4"]
    else:
        fallen.pytester.makeini("[pytest]\naddopts = --rag-compare=main")
        args += ["--rag-compare=release-1.4"]
    assert fallen.pytest(*args).ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {
        "compare_fail.main.em": "passed",
        "compare_fail.release-1.4.em": "failed",
        "unscored": "passed",
    }
    assert [one["baseline"] for one in fallen.results()["comparisons"]] == ["main", "release-1.4"]


@pytest.mark.full
@pytest.mark.parametrize("args", [("main",), ("main", "main"), ("main", "release-1.4")])
def test_an_option_takes_no_pinned_run_away(fallen: Project, args: tuple[str, ...]) -> None:
    """Nor its looks, whichever runs it names, and how often."""
    red(fallen.pytest(*(f"--rag-compare={name}" for name in args)))
    assert fallen.gates()[OF_RELEASE] == "failed"
    assert [one.get("looks") for one in fallen.results()["comparisons"]] == [None, 50]


@pytest.mark.full
@pytest.mark.parametrize("way", ["gate", "entry", "option"])
def test_the_file_of_a_pinned_run_has_no_second_name(fallen: Project, way: str) -> None:
    """Under it the gate would test at the whole alpha, and mode any would be allowed."""
    other, args = f"./{RELEASE}", list[str]()
    if way == "gate":
        gates = f"    gates: {{no_regression: {{baseline: {other}, metrics: [em], mode: any}}}}\n"
        fallen.scenario(f"{PLAIN}    compare: [main, {PINNED}]\n{gates}")
    elif way == "entry":
        fallen.scenario(f"{PLAIN}    compare: [{other}, {PINNED}]\n{GATES}")
    else:
        args = [f"--rag-compare={other}"]
    text = refused(fallen, *args)
    said = "is the file of 'release-1.4', whose looks share alpha: write 'release-1.4' here, too"
    assert said in text


@pytest.mark.full
def test_absurd_looks_are_a_problem_of_their_line(fallen: Project) -> None:
    many = f"{{baseline: release-1.4, test: t, looks: 1{'0' * 400}}}"
    fallen.scenario(f"{PLAIN}    compare: [main, {many}]\n{GATES}")
    result = interrupted(fallen.pytest())
    text = result.stdout.str()
    assert "compare[1].looks: nobody looks more than 10^12 times; plan fewer" in text
    assert "Error: " not in text


@pytest.mark.full
def test_slices_have_a_gate_for_each_run(fallen: Project) -> None:
    gates = "    gates: {by: {topic: {no_regression: {metrics: [em], max_drop: 0.02}}}}\n"
    fallen.scenario(f"{PLAIN}    compare: [main, release-1.4]\n{gates}")
    assert fallen.pytest().ret == pytest.ExitCode.TESTS_FAILED
    assert fallen.gates() == {
        "by.topic.no_regression.main.em": "passed",
        "by.topic.no_regression.release-1.4.em": "failed",
        "unscored": "passed",
    }


# Missing, damaged, incomparable


@pytest.mark.full
def test_a_first_run_needs_the_pinned_one_first(project: Project) -> None:
    """Neither is there: the message says which commands lead on, and they do."""
    project.scenario(BOTH)
    project.rows(rows())
    for args in ((), ("--rag-save=main",), ("--rag-save=release-1.4",)):
        text = refused(project, *args)
        assert "no saved run" in text
        name = "main" if "--rag-save=release-1.4" in args else "release-1.4"
        assert f"no other: --rag-set compare={name} --rag-save {name}" in text
    args = ("--rag-set", "compare=release-1.4", "--rag-save=release-1.4")
    assert project.pytest(*args).ret == pytest.ExitCode.OK
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    assert project.gates() == {OF_MAIN: "skipped", OF_RELEASE: "passed", "unscored": "passed"}
    assert [one["baseline"] for one in project.results()["comparisons"]] == ["release-1.4"]
    assert project.pytest().ret == pytest.ExitCode.OK
    assert len(project.results()["comparisons"]) == 2


@pytest.mark.full
def test_gates_that_name_absent_runs_are_set_aside_first(project: Project) -> None:
    """With ``compare=main`` alone, the gate of the other run would be refused."""
    gates = "no_regression: {baseline: main, metrics: [em], max_drop: 0.02}, compare_fail: "
    gates += "{em: {baseline: release-1.4, max_drop: 0.02, mode: exceeds}}"
    project.scenario(f"{PLAIN}    compare: [main, {PINNED}]\n    gates: {{{gates}}}\n")
    project.rows(rows())
    way = ["--rag-set", "compare=null", "--rag-set", "gates=null", "--rag-save", "main"]
    assert " ".join(way) in refused(project)
    for args in (way, ["--rag-save=release-1.4"], []):
        assert project.pytest(*args).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_pinned_run_that_is_gone_is_no_green(fallen: Project) -> None:
    """Not when ``main`` is saved, either: only who names it saves it anew, and that is said."""
    (fallen.path / RELEASE).unlink()
    for args in ((), ("--rag-save=main",), ("--rag-save-failed=main",), ("--rag-strict",)):
        text = refused(fallen, *args)
        assert "no saved run 'release-1.4'" in text
        assert "It is pinned: put its file back, or pin this run: --rag-save release-1.4" in text
    result = green(fallen.pytest("--rag-save=release-1.4"))
    assert fallen.gates()[OF_RELEASE] == "skipped"
    result.stdout.fnmatch_lines(["not compared: *no saved run 'release-1.4'*"])
    result.stdout.fnmatch_lines(
        [f"baseline release-1.4 saved: {RELEASE}; it was not there, and is pinned from now on"]
    )


@pytest.mark.full
def test_a_pinned_run_of_an_earlier_version_is_not_moved(project: Project) -> None:
    """It is in a folder of another name: a file in today's folder would be read before it."""
    project.scenario(PLAIN.replace("name: qa", 'name: "q: a"'))
    saved(project, "release-1.4", 0)
    (today,) = project.path.glob(".rageval/*/baselines/release-1.4.json")
    earlier = project.file(".rageval/q_ a/baselines/release-1.4.json", today.read_text("utf-8"))
    today.unlink()
    project.scenario(BOTH.replace("name: qa", 'name: "q: a"').replace("[main, ", "["))
    result = red(project.pytest("--rag-save=release-1.4"))
    result.stdout.fnmatch_lines(["*baseline release-1.4 NOT saved: it is pinned*"])
    assert not today.exists()
    assert earlier.exists()


@pytest.mark.full
def test_a_pinned_run_beside_its_scenario_is_not_moved(project: Project) -> None:
    """The same path below the root is read before it."""
    project.scenario(PLAIN)
    project.rows(rows())
    project.file("eval/qa.jsonl", (project.path / "qa.jsonl").read_text("utf-8"))
    pinned = BOTH.replace("[main, ", "[").replace("release-1.4", "pinned/old.json")
    (scenario,) = project.path.glob("*.rageval.yaml")
    assert project.pytest("--rag-save=eval/pinned/old.json").ret == pytest.ExitCode.OK
    scenario.unlink()
    project.file("eval/qa.rageval.yaml", dedent(pinned))
    result = red(project.pytest("--rag-save=pinned/old.json"))
    result.stdout.fnmatch_lines(["*baseline pinned/old.json NOT saved: it is pinned*"])
    assert not (project.path / "pinned").exists()


# Everything around a run


def same_verdict(project: Project, result: pytest.RunResult, name: str = "qa") -> None:
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    gates = project.gates(name)
    assert (gates[OF_MAIN], gates[OF_RELEASE]) == ("passed", "failed")
    assert len(project.results(name)["comparisons"]) == 2


@pytest.mark.full
def test_shards_give_the_same_verdict(fallen: Project) -> None:
    """The merge compares, by the option of the merge too."""
    fallen.pytester.makeini("[pytest]\nrageval_baselines = kept")
    (fallen.path / ".rageval/qa/baselines").rename(fallen.path / "kept")
    (fallen.path / "kept").rename(fallen.path / "moved")
    (fallen.path / "kept").mkdir()
    (fallen.path / "moved").rename(fallen.path / "kept" / "qa")
    assert fallen.pytest("--rag-output=whole").ret == pytest.ExitCode.TESTS_FAILED
    parts = run_shards(fallen, ["1/2", "2/2"])
    assert merge(fallen, parts, "--rag-output=merged").ret == pytest.ExitCode.TESTS_FAILED
    assert files(fallen.path / "merged") == files(fallen.path / "whole")


@pytest.mark.full
def test_each_variant_has_its_own_baselines(fallen: Project, run: Run) -> None:
    """Only one of them fell."""
    fallen.scenario(f"{PLAIN}    variants: {{a: {{}}, b: {{dataset: b.jsonl}}}}\n")
    for name, wrong in (("release-1.4", 0), ("main", 20)):
        fallen.rows(rows(wrong))
        fallen.rows(rows(), "b.jsonl")
        assert fallen.pytest(f"--rag-save={name}").ret == pytest.ExitCode.OK
    fallen.scenario(f"{BOTH}    variants: {{a: {{}}, b: {{dataset: b.jsonl}}}}\n")
    same_verdict(fallen, run(), "qa/a")
    assert set(fallen.gates("qa/b").values()) == {"passed"}
    assert len(fallen.results("qa/b")["comparisons"]) == 2
    red(fallen.pytest("--rag-save=release-1.4"))
    assert [fallen.gates(f"qa/{name}")["save:release-1.4"] for name in "ab"] == ["failed"] * 2


@pytest.mark.full
def test_a_test_function_is_compared_with_both(project: Project) -> None:
    """Its gates have the same names, and the pinned run stays."""
    project.tested_by("rageval.check(rageval.sample.metadata['said'])", of="eval.yaml")

    def said(wrong: int) -> None:
        project.rows([{**one, "said": one.pop("answer")} for one in rows(wrong)])

    project.file("eval.yaml", "name: qa\nmetrics: [em]\ndataset: qa.jsonl\n")
    for name, wrong in (("release-1.4", 0), ("main", 20)):
        said(wrong)
        assert project.pytest("test_bot.py", f"--rag-save={name}").ret == pytest.ExitCode.OK
    gates = GATES.strip()
    project.file(
        "eval.yaml",
        f"name: qa\nmetrics: [em]\ndataset: qa.jsonl\ncompare: [main, {PINNED}]\n{gates}\n",
    )
    result = red(project.pytest("test_bot.py", "-v"))
    result.stdout.fnmatch_lines([f"*gate:{OF_MAIN} PASSED*", f"*gate:{OF_RELEASE} FAILED*"])
    again = project.pytest("test_bot.py", "--rag-save=release-1.4")
    again.stdout.fnmatch_lines(["baseline release-1.4 NOT saved: it is pinned*"])


@pytest.mark.full
def test_the_gate_of_one_run_alone(fallen: Project) -> None:
    """By its node id; then what failed last, and what is first to fail."""
    gate = f"qa.rageval.yaml::gate:{OF_RELEASE}"
    red(fallen.pytest(gate))
    assert fallen.gates()[OF_RELEASE] == "failed"
    of_main = fallen.pytest(f"qa.rageval.yaml::gate:{OF_MAIN}")
    of_main.assert_outcomes(passed=42, failed=1)  # a gate needs every sample, so it runs them all
    fallen.pytest()
    again = red(fallen.pytest("--lf", "-v"))
    again.stdout.fnmatch_lines([f"*gate:{OF_RELEASE} FAILED*"])
    first = fallen.pytest("-x", "-v")
    first.stdout.fnmatch_lines([f"*gate:{OF_MAIN} PASSED*", f"*gate:{OF_RELEASE} FAILED*"])


@pytest.mark.full
def test_agents_get_each_comparison_under_its_name(fallen: Project) -> None:
    """Read from ``results.json``, with the words of the table."""
    fallen.pytest()
    found = compared_of(read_run(fallen.folders()[-1]).view)
    assert found is not None
    verdicts = {name: one["metrics"]["em"]["verdict"] for name, one in found.items()}
    assert verdicts == {"main": "equal", "release-1.4": "worse"}
    assert (found["release-1.4"]["looks"], found["main"]["looks"]) == (50, None)
    assert compared_of(read_run(fallen.folders()[0]).view) is None


# A pinned run stays


@pytest.mark.parametrize("way", ["typed", "variable", "addopts", "path", "link", "alone"])
def test_a_pinned_run_is_not_replaced(
    fallen: Project, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is named; green or not, as 20 right answers more would be."""
    before, name = (fallen.path / RELEASE).read_bytes(), "release-1.4"
    fallen.rows(rows(0))
    if way == "variable":
        monkeypatch.setenv("RAGEVAL_SAVE", name)
    if way == "addopts":
        fallen.pytester.makeini(f"[pytest]\naddopts = --rag-save={name}")
    if way == "path":
        name = f"./.rageval/../{RELEASE}"
    if way == "link":
        os.link(fallen.path / RELEASE, fallen.path / "other.json")
        name = "other.json"
    args = [] if way in ("variable", "addopts") else [f"--rag-save={name}"]
    compared = "--rag-set=compare=main" if way == "alone" else "--rag-compare=main"
    result = red(fallen.pytest(*args, compared))
    result.stdout.fnmatch_lines(["baseline * NOT saved: it is pinned*--rag-save-failed*"])
    assert (fallen.path / RELEASE).read_bytes() == before
    if way == "alone":
        return
    assert (fallen.gates()[OF_MAIN], fallen.gates()[OF_RELEASE]) == ("passed", "passed")


@pytest.mark.full
def test_a_pinned_run_is_replaced_on_purpose(fallen: Project) -> None:
    """By a green run; a red one must have another name, also one that was compared with others."""
    refusal = "baseline release-1.4 NOT saved: the run is red*and this baseline is pinned; *OTHER*"
    fallen.rows(rows(30))
    for args in ((), ("--rag-set=compare=main",)):
        fallen.pytest("--rag-save-failed=release-1.4", *args).stdout.fnmatch_lines([refusal])
        assert mean(fallen, RELEASE) == 1.0
    fallen.rows(rows(1))
    assert fallen.pytest("--rag-save-failed=release-1.4").ret == pytest.ExitCode.OK
    assert mean(fallen, RELEASE) == pytest.approx(39 / 40)


@pytest.mark.full
def test_a_path_beside_the_scenario_is_pinned_too(project: Project) -> None:
    """F7: ``./baselines/x.json`` in ``eval/``, saved from the rootdir by its other spelling."""
    project.scenario(PLAIN)
    project.rows(rows())
    assert project.pytest("--rag-save", "eval/baselines/x.json").ret == pytest.ExitCode.OK
    project.file("eval/qa.jsonl", project.rows(rows(0)).read_text("ascii"))
    entry = "{baseline: ./baselines/x.json, looks: 20}"
    moved = project.scenario(f"{PLAIN}    compare: [{entry}]\n{GATES}")
    moved.rename(project.path / "eval" / moved.name)
    result = red(project.pytest("eval", "--rag-save", "eval/baselines/x.json"))
    result.stdout.fnmatch_lines(["baseline eval/baselines/x.json NOT saved: it is pinned*"])
