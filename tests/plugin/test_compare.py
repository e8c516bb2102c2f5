"""D6, E5, E15: runs are saved, compared, and fail when they are worse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import Project, Run, green, red, wrong_use

SCENARIO = """
    name: qa
    metrics: [f1, em]
    dataset: qa.jsonl
"""
# f1 of "yes" against "yes it is": P 1, R 1/3, f1 1/2.
GOOD, HALF, BAD = "yes it is", "yes", "no"


def rows(*answers: str, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"r{at}", "question": "Q?", "answer": answer, "references": [GOOD], **fields}
        for at, answer in enumerate(answers)
    ]


@pytest.fixture
def saved(project: Project) -> Project:
    """Return a project whose run of eight good answers was saved as ``main``."""
    project.scenario(SCENARIO)
    project.rows(rows(*[GOOD] * 8))
    project.pytest("--rag-save", "main").assert_outcomes(passed=8)
    return project


MAIN = ".rageval/qa/baselines/main.json"


# Saving


@pytest.mark.full
def test_a_run_is_saved_under_a_name(project: Project, run: Run) -> None:
    """[E15] Said in the terminal; the file is that of the run."""
    project.scenario(SCENARIO)
    project.rows(rows(GOOD, BAD))
    result = run("--rag-save", "main")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"baseline main saved: {MAIN}"])
    assert (project.path / MAIN).read_bytes() == (project.folder() / "results.json").read_bytes()


def test_a_run_is_saved_to_a_path(project: Project) -> None:
    """[E15] Relative to where it was typed; no ignore file is put beside it. It is named once."""
    project.scenario(SCENARIO)
    project.rows(rows(GOOD))
    result = project.pytest("--rag-save", "kept/main.json")
    assert "baseline kept/main.json saved" in result.outlines
    assert [path.name for path in (project.path / "kept").iterdir()] == ["main.json"]


# Comparing


@pytest.mark.full
def test_a_comparison_is_a_table(saved: Project, run: Run) -> None:
    """[D6, E15] f1 1 → 13/16, em 1 → 5/8: three of eight are half as good."""
    saved.rows(rows(*[HALF] * 3, *[GOOD] * 5))
    result = green(run("--rag-compare", "main"))
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(
        [
            "A this run, B main*permutation*alpha 0.05*",
            "metric * A_mean * B_mean * Diff(A-B) * p * p (max-T) n *",
            "f1 * 0.8125 * 1.0000 * -0.1875 * 8 *",
            "em * 0.6250 * 1.0000 * -0.3750 * 8 *",
            "weighted_score * 0.7188 * 1.0000 * -0.2812 * 8 *",
            "to see a fall of 0.02 in weighted_score (power 80 %): how many rows is not known *",
        ]
    )
    comparison = saved.results()["comparison"]
    assert (comparison["baseline"], comparison["test"]) == ("main", "permutation")
    f1 = comparison["metrics"]["f1"]
    assert (f1["A_mean"], f1["B_mean"], f1["diff"], f1["n"]) == (0.8125, 1.0, -0.1875, 8)
    # Three differences of one sign: 2/2^3, also for the larger of two metrics that fall together.
    assert (f1["p_value"], f1["p_adjusted"], f1["significant"]) == (0.25, 0.25, False)
    assert comparison["correction"] == "max-t"
    overall = comparison["metrics"]["weighted_score"]
    assert (overall["p_value"], overall["p_adjusted"]) == (0.25, None), "nothing decides by it"
    assert saved.results()["scenario"]["overridden"] == ["compare.baseline"]


@pytest.mark.full
def test_how_many_rows_a_fall_takes_is_said_before_a_run_and_after(
    project: Project, run: Run
) -> None:
    """[F10] Half of 40 scores are 1, so 2 · 0.25 · 40/39 before; then a quarter of them fell.

    Their variance is 0.25 · 0.75 · 40/39 = 0.1923. For a fall of 0.1 times (1.9600 + 0.8416)²/0.01:
    403 and 151 rows, and two more each by Student's t. With 39 degrees of freedom the factor is
    2.0227 + 0.8512: 40 rows see 0.325 and 0.199.
    """
    gates = "gates: {compare_fail: {f1: {max_drop: 0.1, undecided: pass}}}"
    project.scenario(f"name: qa\nmetrics: [f1]\ndataset: qa.jsonl\ncompare: main\n{gates}\n")
    project.rows(rows(*[GOOD, BAD] * 20))
    project.pytest("--rag-save", "main")
    project.pytest("--rag-dry-run").stdout.fnmatch_lines(
        [
            "rows      against main, to see a fall of 0.1 (power 80 %): about 400 rows; "
            "these 40 see 0.33, as if the two runs' scores had nothing in common: *"
        ]
    )
    project.rows(rows(*[GOOD, BAD] * 10, *[BAD] * 20))
    said = "to see a fall of 0.1 (power 80 %): about 150 rows; these 40 see 0.2"
    run().stdout.fnmatch_lines([said])
    summary = max(project.folders()) / "summary.md"
    assert said in summary.read_text("utf-8").splitlines()


@pytest.mark.full
def test_equal_runs_have_no_difference(saved: Project, plain: Run) -> None:
    """[D6] All ties: p is 1, and that is no finding."""
    result = plain("--rag-compare", "main")
    f1 = saved.results()["comparison"]["metrics"]["f1"]
    assert (f1["diff"], f1["p_value"], f1["n_nonzero"]) == (0.0, 1.0, 0)
    result.stdout.fnmatch_lines(["f1 * 1.0000 * +0.0000 *equal"])
    assert "no difference in any sample" not in result.stdout.str(), "it would say that twice"


@pytest.mark.full
def test_samples_of_one_side_are_listed(saved: Project, plain: Run) -> None:
    """[E15] Two are gone, one is new; six are compared."""
    changed = rows(*[GOOD] * 6)
    saved.rows([*changed, {**changed[0], "id": "新::问"}])
    result = plain("--rag-compare", "main")
    result.stdout.fnmatch_lines(
        ["1 sample only in this run: 新::问", "2 samples only in main: r6, r7"]
    )
    comparison = saved.results()["comparison"]
    assert comparison["only_here"] == ["新::问"]
    assert comparison["only_in_baseline"] == ["r6", "r7"]
    assert comparison["metrics"]["f1"]["n"] == 6


@pytest.mark.full
def test_a_path_is_relative_to_where_it_was_typed(
    saved: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E15] As for every path on the command line."""
    (saved.path / "deep").mkdir()
    (saved.path / MAIN).rename(saved.path / "deep" / "main.json")
    saved.pytester.makeini("[pytest]")
    monkeypatch.chdir(saved.path / "deep")
    result = saved.pytest("--rootdir", str(saved.path), "--rag-compare", "./main.json", "..")
    result.assert_outcomes(passed=8)
    assert saved.results()["comparison"]["baseline"] == "deep/main.json"
    result.stdout.fnmatch_lines(["A this run, B deep/main.json, test permutation*"])


def test_a_run_that_was_cut_short_is_no_baseline(saved: Project) -> None:
    """[E15] Of eight rows six did not run: what became of these is unknown. ``anyway`` says so."""
    saved.pytest("-k", "r0 or r1")
    (saved.folders()[-1] / "results.json").rename(saved.path / "part.json")
    fall = ("--rag-compare-fail", "f1:0.02")
    result = green(saved.pytest("--rag-compare", "part.json"))
    assert "only 2 of its 8 samples ran; compared all the same" in result.stdout.str()
    result = wrong_use(saved.pytest("--rag-compare", "part.json", *fall))
    said = "baseline 'part.json' (part.json): only 2 of its 8 samples ran"
    assert f"{said}; save a new baseline" in result.stdout.str() + result.stderr.str()
    gate = "{metrics: [f1], baseline: part.json, anyway: true, undecided: pass, min_pairs: 0}"
    saved.scenario(f"{SCENARIO}    gates: {{no_regression: {gate}}}\n")
    result = green(saved.pytest("-W", "default"))
    assert f"{said}; compared anyway" in result.stdout.str()


def test_a_baseline_of_another_file_of_this_name_is_said(saved: Project) -> None:
    """[E15] As long as that file is there: else it has been renamed."""
    other = saved.file("b/qa.rageval.yaml", (saved.path / "qa.rageval.yaml").read_text())
    saved.rows(rows(*[GOOD] * 8), "b/qa.jsonl")
    said = "it is a run of qa.rageval.yaml, whose name is 'qa', too; compared all the same"
    assert said in green(saved.pytest(str(other), "--rag-compare", "main")).stdout.str()
    (saved.path / "qa.rageval.yaml").unlink()
    assert said not in green(saved.pytest(str(other), "--rag-compare", "main")).stdout.str()


# Gates


def test_a_significant_fall_fails_the_run(saved: Project, run: Run) -> None:
    """[E3, E5] As a test outcome, with A, B, difference, p and n."""
    saved.rows(rows(*[HALF] * 8))
    result = red(run("--rag-compare", "main", "--rag-compare-fail", "f1:0.1"))
    result.assert_outcomes(passed=8 + 1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAILED qa.rageval.yaml::gate:compare_fail.f1 - *f1: worse, A 0.5000, B 1.0000 (main), "
            "difference -0.5000, p 0.0078, n 8*"
        ]
    )
    assert saved.gates() == {"compare_fail.f1": "failed", "unscored": "passed"}


# The least mean of all


@pytest.mark.parametrize(
    ("least", "status"), [("0.75", pytest.ExitCode.OK), ("0.76", pytest.ExitCode.TESTS_FAILED)]
)
def test_the_mean_of_all_must_not_be_lower(
    project: Project, plain: Run, least: str, status: pytest.ExitCode
) -> None:
    """[E5] --rag-fail-under: f1 (1 + 1/2)/2, em 1/2: em weighs nothing."""
    project.scenario(SCENARIO + "    metric_weights: {f1: 1, em: 0}\n")
    project.rows(rows(GOOD, HALF))
    result = plain("--rag-fail-under", least)
    assert result.ret == status
    result.stdout.fnmatch_lines(
        [f"gate fail_under *0.7500 {'>=' if not status else '<'} {least}00"]
    )


def test_it_stands_beside_the_scenarios_own_gates(project: Project) -> None:
    """[E5] It replaces none of them."""
    project.scenario(SCENARIO + "    gates: {weighted_score: 0.9, fail_under: 0.2}\n")
    project.rows(rows(HALF))
    project.pytest("--rag-fail-under", "0.1")
    assert project.gates() == {
        "weighted_score": "failed",
        "fail_under": "passed",
        "unscored": "passed",
    }
    assert project.results()["scenario"]["overridden"] == ["gates.fail_under"]


# The environment, the outputs


@pytest.mark.full
def test_the_environment_stands_in_for_the_options(
    saved: Project, plain: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A14] RAGEVAL_COMPARE and the others; several falls separated by ``;``."""
    monkeypatch.setenv("RAGEVAL_COMPARE", "main")
    monkeypatch.setenv("RAGEVAL_COMPARE_FAIL", "f1:0.6;em:99%")
    monkeypatch.setenv("RAGEVAL_FAIL_UNDER", "0.3")
    monkeypatch.setenv("RAGEVAL_SAVE_FAILED", "next")
    saved.rows(rows(*[HALF] * 8))
    plain()
    assert saved.gates() == {
        "compare_fail.f1": "passed",  # 1 → 1/2
        "compare_fail.em": "failed",  # 1 → 0
        "fail_under": "failed",
        "unscored": "passed",
    }
    assert (saved.path / MAIN.replace("main", "next")).exists()
