"""F9: ``sample``: some rows are asked, the others are estimated from the run that is compared."""

from __future__ import annotations

from typing import Any

import pytest
from judged_project import JudgedProject

from pytest_rageval import evaluate
from tests.plugin.conftest import Project, red, wrong_use

pytest_plugins = ["judged_project"]

ROWS = 60
ANYWAY = {"metrics": ["graded"], "baseline": "main", "anyway": True}


def answers(changed: int = 0) -> list[str]:
    """Return answers that the judge gives 0.60 to 0.89; the first ``changed`` score 0.3 less."""
    return [f"{0.6 + at % 30 / 100 - 0.3 * (at < changed) + at / 1e6:.6f}" for at in range(ROWS)]


def right_in_two_of_three() -> list[dict[str, Any]]:
    """Return rows for em, which asks no judge."""
    return [
        {"id": f"q{at}", "answer": "yes" if at % 3 else "no", "references": ["yes"]}
        for at in range(ROWS)
    ]


def scenario(judged: JudgedProject, rows: list[str], **keys: Any) -> None:
    plain = {"gates": {"graded": 0.5}, "judge": {"concurrency": 2}, "compare": "main"}
    judged.scenario(rows, **{**plain, **keys})


@pytest.fixture
def saved(judged: JudgedProject) -> JudgedProject:
    """Return a project whose run of all 60 rows is saved as main; its mean is 0.74503."""
    scenario(judged, answers())
    judged.pytest("--rag-save=main").stdout.fnmatch_lines(["baseline main saved: *"])
    judged.server.forget()
    return judged


@pytest.mark.full
def test_only_the_drawn_rows_are_asked(saved: JudgedProject) -> None:
    """20 calls, for the answers are new; the mean is that of all, within its interval."""
    scenario(saved, answers(ROWS), sample=20)
    result = saved.loop_back("-rs")
    assert len(saved.asked) == len(set(saved.asked)) == 20
    result.assert_outcomes(passed=22 - 1, failed=1, skipped=40)
    result.stdout.fnmatch_lines(
        [
            "sampled: 20 of 60 rows asked (seed 42); means over all rows are estimated with main",
            "gate graded.mean * FAILED *",
            "SKIPPED [[]40] qa.rageval.yaml: not in the sample",
        ]
    )
    found = saved.project.results()
    assert found["complete"] is True
    assert (found["sample"]["n"], found["sample"]["rows"]) == (20, ROWS)
    assert found["metrics"]["graded"]["n"] == len(found["sample"]["drawn"]) == 20
    estimate = found["estimates"]["graded"]
    assert estimate["ci_low"] < 0.44503 < estimate["ci_high"]
    assert found["gates"][0]["observed"] == estimate["mean"]
    assert "estimated over all 60 rows from 20 asked and main" in found["gates"][0]["message"]
    assert found["gates"][1]["message"].endswith("of the 20 of 60 rows asked")


@pytest.mark.full
def test_workers_draw_the_same(saved: JudgedProject) -> None:
    scenario(saved, answers(15), sample={"n": 20, "seed": 7, "against": "main"})
    saved.loop_back()
    alone = saved.project.results()
    calls = len(saved.asked)
    saved.loop_back("-n", "2", "-p", "xdist")
    spread = saved.project.results()
    for key in ("sample", "estimates", "gates", "metrics"):
        assert spread[key] == alone[key]
    assert len(saved.asked) == calls == 5  # the cache had what is as before, then all of them


@pytest.mark.full
@pytest.mark.parametrize(
    ("keys", "options", "said"),
    [
        ({"stop": "decided"}, (), "'stop' as few as decide"),
        ({"variants": {"a": {}, "b": {}}}, (), "remove one of 'sample' and 'variants'"),
        ({}, ("--rag-limit=30",), "a limit leaves rows out"),
        ({}, ("--rag-where=id!=q1",), "--rag-where leaves rows out"),
        ({}, ("--rag-shard=1/2",), "--rag-shard leaves rows out"),
        ({"sample": 5}, (), "sample.n: a sample of 5 rows is too small"),
        ({"sample": {"n": 20, "against": "mian"}}, (), "unknown run under compare 'mian'"),
        ({"compare": "gone"}, (), "no saved run 'gone'"),
        ({"compare": None}, (), "needs a complete saved run"),
        ({"compare": {"baseline": "main", "anyway": True}}, (), "remove 'anyway'"),
        ({"gates": {"no_regression": ANYWAY}}, (), "remove 'anyway'"),
        ({"gates": {"graded": {"mean": 0.5, "not_applicable": 0.1}}}, (), "needs every row"),
    ],
)
def test_what_a_sample_cannot_go_with_is_refused(
    saved: JudgedProject, keys: dict[str, Any], options: tuple[str, ...], said: str
) -> None:
    scenario(saved, answers(), **{"sample": 20, **keys})
    result = saved.pytest(*options)
    assert result.ret not in (0, 1)
    assert said in " ".join((result.stdout.str() + result.stderr.str()).split())
    assert saved.asked == []


@pytest.mark.full
def test_scores_of_another_definition_stand_for_no_rows(project: Project) -> None:
    """Nor where 'compare' names other metrics."""
    head = "name: qa\ndataset: qa.jsonl\nmetrics: [em, "
    project.scenario(f"{head}{{f1: {{normalizer: squad}}}}]\n")
    project.rows([{"id": f"q{at}", "answer": "a", "references": ["a"]} for at in range(ROWS)])
    project.pytest("--rag-save=main")
    project.scenario(f"{head}f1]\ncompare: {{baseline: main, metrics: [em]}}\n")
    assert project.pytest().ret == pytest.ExitCode.OK
    assert project.pytest("--rag-sample=20").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.full
def test_a_sampled_run_is_never_a_baseline(saved: JudgedProject) -> None:
    """Neither saved, failed or not, nor compared with by the path of its file, nor drawn from."""
    scenario(saved, answers(), sample=20)
    for option in ("--rag-save=next", "--rag-save-failed=next"):
        result = red(saved.pytest(option))
        result.stdout.fnmatch_lines(
            ["baseline next NOT saved: 20 of 60 rows were asked; a sampled run is never *"]
        )
    file = saved.project.path / ".rageval/qa/latest/results.json"
    scenario(saved, answers(), compare=None)
    result = wrong_use(saved.pytest(f"--rag-compare={file}"))
    assert "it asked a sample of 20 of 60 rows" in result.stdout.str() + result.stderr.str()


@pytest.mark.full
def test_rows_that_vanished_are_lost_all_the_same(saved: JudgedProject) -> None:
    """12 of 60 rows are gone: fewer than nine tenths of the baseline's can be compared."""
    gates = {"no_regression": {"metrics": ["graded"]}}
    scenario(saved, answers()[:48], sample=20, gates=gates)
    saved.pytest()
    gate = saved.project.results()["gates"][0]
    assert gate["outcome"] == "failed"
    assert "min_pairs: 0.9 asks for 29" in gate["message"]  # of 60 - 28 rows that were not drawn


@pytest.mark.full
def test_a_value_of_which_no_row_is_asked_is_not_passed_over(project: Project) -> None:
    """Twelve topics of five rows, 20 of the 60 rows are asked: none of three topics."""
    rows = [
        {"id": f"q{at}", "answer": "yes", "references": ["yes"], "topic": f"t{at // 5}"}
        for at in range(ROWS)
    ]
    gates = "gates: {by: {topic: {em: {mean: 0.5}}}}"
    project.scenario(f"name: qa\nmetrics: [em]\ndataset: qa.jsonl\n{gates}\n")
    project.rows(rows)
    project.pytest("--rag-save=main").assert_outcomes(passed=ROWS + 2)
    project.pytest("--rag-compare=main", "--rag-sample=20")
    gate = project.results()["gates"][0]
    drawn = {int(name[1:]) // 5 for name in project.results()["sample"]["drawn"]}
    unseen = sorted(f"t{at}" for at in range(12) if at not in drawn)
    assert (gate["outcome"], len(unseen)) == ("failed", 3)
    said = f"no row was asked of 3 of 12 values of topic: {', '.join(unseen)}; ask more rows"
    assert gate["message"].startswith(f"cannot be decided: {said}")


@pytest.mark.full
def test_a_part_of_a_sample_is_a_partial_run_without_estimates(saved: JudgedProject) -> None:
    scenario(saved, answers(), sample=20)
    result = saved.pytest("-k", "1 or 2")
    result.stdout.fnmatch_lines(["partial run: * of 60 samples"])
    result.stdout.no_fnmatch_line("sampled: *")
    found = saved.project.results()
    assert found["estimates"] == {}
    assert {gate["outcome"] for gate in found["gates"]} == {"skipped"}


def test_a_row_that_skips_itself_in_these_words_is_a_skipped_row(project: Project) -> None:
    rows = [{"id": f"q{at}", "answer": "yes", "references": ["yes"]} for at in range(12)]
    rows[0] |= {"skip": "not in the sample"}
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\n")
    project.rows(rows)
    project.pytest().stdout.fnmatch_lines(["*1 of 12 samples is skipped and in no figure*"])


@pytest.mark.full
def test_invalid_rows_are_counted_among_all_rows(project: Project) -> None:
    """One of 61; whether a row is invalid shows without asking."""
    rows = [{"id": f"q{at}", "answer": "yes", "references": ["yes"]} for at in range(ROWS)]
    data = "dataset: {path: qa.jsonl, on_invalid: skip}"
    project.scenario(f"name: qa\nmetrics: [em]\n{data}\ngates: {{invalid: 0.02}}\n")
    project.rows([*rows, {"id": "bad", "answer": {"is": "yes"}}])
    project.pytest("--rag-save=main")
    project.pytest("--rag-compare=main", "--rag-sample=20")
    gate = project.results()["gates"][0]
    assert (gate["outcome"], gate["message"]) == ("passed", "0.0164 <= 0.0200 (1 of 61 rows)")


@pytest.mark.full
def test_more_rows_than_there_are_is_no_sample(saved: JudgedProject) -> None:
    scenario(saved, answers(), sample=ROWS)
    result = saved.pytest()
    result.assert_outcomes(passed=62)
    result.stdout.fnmatch_lines(["*sample: all 60 rows are asked, there are no more*"])
    assert "sample" not in saved.project.results()


def test_a_worse_answer_never_makes_it_green(project: Project) -> None:
    """The mean of 20 asked rows is not 0.5 because one more of them is wrong."""
    rows = right_in_two_of_three()
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\n")
    project.rows(rows)
    project.pytest("--rag-save=main")
    asked = ("--rag-compare=main", "--rag-sample=20")
    project.pytest(*asked)
    drawn = project.results()["sample"]["drawn"]
    means = []
    for name in [None, *drawn[:4]]:
        for row in rows:
            if row["id"] == name:
                row["answer"] = "no"
        project.rows(rows)
        project.pytest(*asked)
        means.append(project.results()["estimates"]["em"]["mean"])
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1]


@pytest.mark.full
def test_evaluate_and_engines_draw_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = right_in_two_of_three()
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\ngates: {em: 0.5}\n")
    project.rows(rows)
    project.pytest("--rag-save=main")
    rows[0]["answer"] = "yes"
    project.rows(rows)
    found = []
    for options in ((), ("--rag-engine=processes://2",)):
        project.pytest("--rag-compare=main", "--rag-sample=20", *options)
        found.append({key: project.results()[key] for key in ("sample", "estimates", "gates")})
    assert found[0] == found[1]
    monkeypatch.chdir(project.path)
    result = evaluate("qa.rageval.yaml", ["compare.baseline=main", "sample.n=20"])
    assert result.info.sample is not None
    assert sorted(result.info.sample.drawn) == found[0]["sample"]["drawn"]
    assert result.estimates["em"].mean == found[0]["estimates"]["em"]["mean"]
    assert result.gates[0].message == found[0]["gates"][0]["message"]
    shown = f"{result.estimates['em'].mean:.4f}"
    assert shown in result._repr_html_()
    assert shown in repr(result)
    summary = (project.path / ".rageval/qa/latest/summary.md").read_text(encoding="utf-8")
    assert summary.count("- em: ") == summary.count("weighted_score: ") == 1
    assert f"- **weighted_score: {shown}**" in summary
