"""A12, E15: summary.md as it stands in a pull request: verdict first, and never too long."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    CAUSES,
    Agreement,
    Baseline,
    Bound,
    Comparing,
    Comparison,
    Corrected,
    GateResult,
    MetricColumn,
    MetricComparison,
    RankedVariant,
    Ranking,
    RunInfo,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports import summary_md
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.summary_md import ranking_section, summary_text, verdict_text

TABLES = tomllib.loads(Path(__file__).with_name("summary_md.toml").read_text("utf-8"))

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")
Made = Callable[..., ScenarioResult]


def sample(sample_id: str, at: int, score: float | None, **fields: Any) -> SampleResult:
    return SampleResult(sample_id, at, weighted_score=score, scores={"f1": score}, **fields)


def gate(outcome: Any, name: str = "f1.mean", message: str = "0.5000 >= 0.4000") -> GateResult:
    return GateResult(name, outcome, 0.5, 0.4, message)


def verdict(result: ScenarioResult) -> str:
    return verdict_text(RunView(result))


def lines(result: ScenarioResult) -> list[str]:
    return summary_text(result, RUN).splitlines()


# The verdict


@pytest.mark.parametrize(
    ("outcomes", "gates", "expected"),
    TABLES["the_verdict_counts_gates_and_cases"],
)
def test_the_verdict_counts_gates_and_cases(
    result: Made, outcomes: str, gates: str, expected: str
) -> None:
    """The same as the run's exit status says: red for a gate, for a case, or for an error."""
    samples = [
        sample(f"s{at}", at, 0.5, outcome=outcome) for at, outcome in enumerate(outcomes.split())
    ]
    made = replace(result(samples), gates=[gate(outcome) for outcome in gates.split()])
    assert verdict(made) == expected
    assert lines(made)[:4] == ["# s", "", expected, ""]


def test_a_run_is_passed_only_if_something_judged_it(result: Made) -> None:
    """A gate, a threshold, the assertions of a test function, or a metric that passes samples."""
    plain = result([sample("s0", 0, 0.0)])
    assert verdict(plain).startswith("**not judged**: no gates and no thresholds; 1 of 1")
    of_missing = {"invalid": 0.1, "by": {"doc": {"unscored": 0.1}}, "f1": {"agreement": {}}}
    names = ("invalid", "unscored", "by.doc.unscored", "f1.agreement.kappa")
    unjudged = replace(
        plain,
        info=replace(plain.info, gates=of_missing),
        gates=[gate("passed", name) for name in names],
    )
    said = "**not judged**: no gates on answers and no thresholds; 1 of 1"
    assert verdict(unjudged).startswith(said)
    decided = result([sample("s0", 0, 0.0, details={"f1": {"passing": True}})])
    for judged in (
        replace(plain, gates=[gate("passed")]),
        *(
            replace(unjudged, gates=[*unjudged.gates, gate("passed", name)])
            for name in ("invalid_sql", "invalid.json", "by.doc.f1", "by.region.f1", "f1.recall")
        ),
        replace(unjudged, info=replace(plain.info, gates={"f1": {"agreement": {}, "mean": 0.1}})),
        replace(plain, info=replace(plain.info, thresholds={"f1": Bound(min=0.0)})),
        replace(plain, info=replace(plain.info, nodeid="test_rag.py::test_answer")),
        decided,
    ):
        assert verdict(judged).startswith("**passed**: ")


def test_a_scenario_without_gates_says_in_words_that_scores_are_missing(result: Made) -> None:
    """1 of 1 gates failed, where none was written, would be a riddle."""
    made = result([sample("a", 0, 0.5), sample("b", 1, None, outcome="error")])
    expected = "**FAILED**: samples without a score; 1 of 2 cases passed, 1 could not be judged"
    assert verdict(replace(made, gates=[gate("failed", "unscored")])) == expected
    named = replace(made, info=replace(made.info, gates={"unscored": 0.1}))
    assert "1 of 1 gate failed" in verdict_text(
        RunView(replace(named, gates=[gate("failed", "unscored")]))
    )


def test_a_partial_run_is_undecided(result: Made) -> None:
    made = result([sample("a", 0, 0.5)], gates={"f1": 0.4}, total=3)
    partial = decide_gates(replace(made, complete=False), Extent(3, 1, 1))
    assert verdict(partial) == "**undecided**: 2 of 2 gates undecided; 1 of 1 cases passed"


# What got worse


def compared(result: Made, **fields: Any) -> ScenarioResult:
    """Return a run of five samples against one in which the first three were better."""
    now = [0.5, 0.25, None, 0.75, 1.0]
    then = {"a": 0.75, "b": 1.0, "c": 1.0, "d": 0.5, "e": 1.0, "gone": 1.0}
    samples = [
        sample(name, at, score, question=f"question {name}?")
        for at, (name, score) in enumerate(zip("abcde", now, strict=True))
    ]
    baseline = Baseline("main", tuple(then), {"f1": then, "weighted_score": then})
    made = result(
        samples,
        *fields.pop("metrics", (MetricColumn("f1"),)),
        compare=(Comparing("main"),),
        baselines={"main": baseline},
    )
    found = {name: comparison(**values) for name, values in fields.items()}
    return replace(made, comparisons=(Comparison("main", "permutation", 0.05, found),))


def comparison(diff: float | None, significant: bool = True) -> MetricComparison:
    return MetricComparison(
        0.5, 0.6, diff, -0.2, -0.01, 0.01, 0.02, significant, 4, 3, "permutation, exact", 0.1
    )


def test_what_got_worse_is_listed_with_the_largest_fall_first(result: Made) -> None:
    """A: 0.5 - 0.75, b: 0.25 - 1; c has no score, d rose, e is equal, and one is gone."""
    made = lines(compared(result, f1={"diff": -0.1}))
    at = made.index("## Worse than main")
    assert made[at + 1 : at + 9] == [
        "",
        "Worse: f1 -0.1000.",
        "Of 4 samples 2 fell, 1 rose, 1 are equal.",
        "",
        "| sample | main | this run | A - B | question |",
        "|---|---|---|---|---|",
        "| b | 1.0000 | 0.2500 | -0.7500 | question b? |",
        "| a | 0.7500 | 0.5000 | -0.2500 | question a? |",
    ]


def test_a_metric_that_came_makes_no_answer_fall(result: Made) -> None:
    """em, 0 now and missing in main, halves all scores; by f1 two of four fell."""
    made = compared(result, metrics=(MetricColumn("f1"), MetricColumn("em")))
    (saved,) = made.info.baselines.values()
    before = replace(saved, scores={**saved.scores, "em": {}})
    halved = [
        replace(one, scores={**one.scores, "em": 0.0}, weighted_score=one.weighted_score / 2)
        for one in made.samples
        if one.weighted_score is not None
    ]
    made = replace(made, samples=halved, info=replace(made.info, baselines={"main": before}))
    text = lines(made)
    over = "over the metrics that both runs have scores of"
    assert f"Of 4 samples 2 fell, 1 rose, 1 are equal, {over}." in text
    assert "| a | 0.7500 | 0.5000 | -0.2500 | question a? |" in text


def test_only_what_fell_more_than_by_chance_is_called_significant(result: Made) -> None:
    text = summary_text(compared(result, f1={"diff": -0.1, "significant": False}), RUN)
    assert "Significantly" not in text
    assert "## Worse than main" in text
    text = summary_text(compared(result, f1={"diff": 0.1}), RUN)
    assert "Significantly" not in text


def test_where_lower_is_better_a_rise_is_worse(result: Made) -> None:
    metrics = (MetricColumn("f1"), MetricColumn("noise", higher_is_better=False))
    made = compared(result, metrics=metrics, f1={"diff": 0.1}, noise={"diff": 0.2})
    assert "Worse: noise +0.2000." in lines(made)


def test_where_nothing_got_worse_nothing_is_said(result: Made) -> None:
    made = compared(result, f1={"diff": 0.1})
    better = [replace(one, weighted_score=1.0) for one in made.samples]
    assert "Worse" not in summary_text(replace(made, samples=better), RUN)
    assert "Worse" not in summary_text(replace(made, comparisons=()), RUN)


def test_a_baseline_that_measured_less_has_no_list_of_samples(result: Made) -> None:
    """Its weighted scores are of other metrics, so there are none."""
    made = compared(result, f1={"diff": -0.1})
    baseline = Baseline("main", ("a",), {"f1": {"a": 1.0}})
    made = replace(made, info=replace(made.info, baselines={"main": baseline}))
    text = summary_text(made, RUN)
    assert "Worse: f1 -0.1000." in text
    assert "| a | 1.0000 | 0.5000 |" not in text
    assert "samples" not in text.partition("## Worse than")[2].partition("## ")[0]


# Text of the data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mail @someone now", "mail @&#8203;someone now"),
        ("nDCG@10 P(rel=2)@5 a@b.org", "nDCG@10 P(rel=2)@&#8203;5 a@b.org"),
        ("see #12, org/repo#3 and GH-7", "see #&#8203;12, org/repo#&#8203;3 and GH-&#8203;7"),
        ("https://a.org www.b.org", "https:&#8203;//a.org www&#8203;.b.org"),
        ("# 1 - 2", "# 1 - 2"),
        ("$5 and $6", "&#36;5 and &#36;6"),
        ("~~gone~~ *b* _i_ `c`", r"\~\~gone\~\~ \*b\* \_i\_ \`c\`"),
        ("&lt;b&gt; R&D &#60;", "&#38;lt;b&#38;gt; R&D &#38;#&#8203;60;"),
        ("[a](b) ![c](d)", r"\[a\](b) !\[c\](d)"),
        (r"\| a | b", r"\\&#124; a &#124; b"),
        ("双源CT是什么？", "双源CT是什么？"),
    ],
)
def test_text_of_the_data_means_nothing_in_a_comment(result: Made, text: str, shown: str) -> None:
    """Nobody gets a message, no issue is linked, nothing is rendered: it is shown as it is."""
    made = lines(result([sample("a", 0, 0.5, question=text)]))
    assert f"| a | 0.5000 | passed |  | {shown} |" in made


def test_what_is_wrong_comes_first_and_means_nothing_as_markdown(result: Made) -> None:
    """[P6] The verdict, the gates, then the worst answers with what was expected."""
    row = replace(
        sample("a*b", 0, 0.25, outcome="failed", question="# Why\n| @you?"),
        answer="<b>no</b>\n1. `x`",
        references=("never", "no_x"),
        reasons={"f1": "see #12"},
    )
    made = result([row], MetricColumn("f1"), thresholds={"f1": Bound(min=0.5)})
    said = lines(replace(made, gates=[gate("failed", "f1.mean", "0.2500 < 0.5000")]))
    assert said[2:14] == [
        "**FAILED**: 1 of 1 gate failed; 0 of 1 cases passed, 1 failed",
        "",
        "- f1 0.2500 is below 0.5000",
        "",
        "## Worst answers",
        "",
        r"1. **a\*b** # Why &#124; @&#8203;you?",
        r"   - answer: &#60;b&#62;no&#60;/b&#62; 1. \`x\`",
        r"   - expected: no\_x",
        "   - why: f1 0.2500 &#60; 0.5000",
        "   - reason: f1: see #&#8203;12",
        "",
    ]


def test_every_failed_gate_is_said_or_named(result: Made) -> None:
    """Long messages beside many errors: the more gates, the shorter each; then names alone."""
    errors = {f"m{at}": f"{at}" + "|" * 400 for at in range(9)}
    columns = [MetricColumn(name) for name in errors]
    row = replace(
        sample("a", 0, None, outcome="error", errors=errors), scores=dict.fromkeys(errors)
    )
    made = result([row], *columns)
    for n in (1, 12, 100):
        gates = [
            gate("failed", f"f{at}.mean", f"0.{at:04} < 0.5000 {'|' * 400}") for at in range(n)
        ]
        said = lines(replace(made, gates=gates))
        head = said[: said.index("## Worst answers")]
        shown = [line for line in head if re.match(r"- f\d+ 0\.\d{4} is below 0\.5000 ", line)]
        assert sum(map(len, head)) < 8_000
        if n < 100:
            assert len(shown) == n
            continue
        (more,) = (line for line in head if "more failed gates" in line)
        assert len(shown) == 22  # of 130 characters and "- ", in 3,000
        assert more == "- and 78 more failed gates: " + ", ".join(f"f{at}" for at in range(22, 100))
        assert sum(" failed on 1 of 1 samples" in line for line in head) == 9


def test_what_means_something_as_markdown_takes_no_more_room(result: Made) -> None:
    """Seven that fail differently: five are shown, each pipe six characters."""
    rows = [sample(f"s{at}", at, 0.25, outcome="failed", question="|" * 99) for at in range(7)]
    rows = [replace(row, answer="|" * 999, references=("|" * 999,)) for row in rows]
    said = lines(result(rows, MetricColumn("f1"), thresholds={"f1": Bound(min=0.5)}))
    assert [line.partition(" &")[0] for line in said if line.startswith("1. ")] == [
        f"1. **s{at}**" for at in range(5)
    ]
    (answer, *_) = (line for line in said if line.startswith("   - answer: "))
    assert answer == f"   - answer: {'&#124;' * 33}…"
    assert "And 2 more answers." in said


def test_a_green_run_has_its_verdict_alone_before_the_figures(result: Made) -> None:
    """[P6] Without a list of what is worst, though one is low."""
    made = result([sample("a", 0, 0.25), sample("b", 1, 1.0)], MetricColumn("f1"))
    said = lines(replace(made, gates=[gate("passed", "f1.mean", "0.6250 >= 0.5000")]))
    assert said[2:5] == [
        "**passed**: 1 gate passed; 2 of 2 cases passed",
        "",
        f"- run_id: `{RUN.id}`",
    ]
    assert not any(line.startswith("## Worst") for line in said)


def test_a_path_with_a_back_quote_does_not_end_the_code(result: Made) -> None:
    made = result([sample("a", 0, 0.5)])
    made = replace(made, info=replace(made.info, path="a`b @c.yaml"))
    assert r"- scenario: a\`b @&#8203;c.yaml" in lines(made)


# The length


# The second one grows most when it is escaped: each character becomes six.
@pytest.mark.full
@pytest.mark.parametrize(
    ("long", "runs"), [("@#1|&lt;" * 2000, 1), ("|" * 16_000, 1), ("|" * 16_000, 9)]
)
def test_no_run_is_too_long_for_a_comment(result: Made, long: str, runs: int) -> None:
    """65,536 characters are what GitHub takes; everything here is as long as it can be."""
    metrics = [MetricColumn(f"m{at}{long}") for at in range(500)]
    errors = {column.name: long for column in metrics}
    samples = [
        sample(
            f"s{at}{long}",
            at,
            0.0,
            question=long,
            errors=errors,
            outcome="error",
            cause=CAUSES[at % 4],
            cause_reason=long,
        )
        for at in range(500)
    ]
    people = Agreement((0.0, 1.0), 20, ((9, 1), (1, 9)), kappa=0.8)
    ranked = tuple(RankedVariant(f"v{at}{long}", 0.5, None, None, 1, "a") for at in range(500))
    made = result(samples, *metrics, overridden=tuple(f"{at}`{long}" for at in range(500)))
    then = {one.sample_id: 1.0 for one in samples}
    found = {
        column.name: replace(comparison(-0.1), significant=at % 2 == 0, note=long)
        for at, column in enumerate(metrics)
    }
    made = replace(
        made,
        complete=False,
        agreement=dict.fromkeys(errors, people),
        corrected={name: Corrected(0.5, 0.4, 0.6, 0.9, 12, 14.0) for name in errors},
        info=replace(
            made.info,
            name=long,
            path=long + "`",
            unlike=(f"main: {long}",) * 500,
            compare=(Comparing(long),),
            baselines={long: Baseline(long, tuple(then), {"weighted_score": then})},
        ),
        ranking=Ranking(long, "f1", 0.05, ranked, remarks=(long,) * 500),
        comparisons=[Comparison(long, "permutation", 0.05, found, tuple(then), tuple(then))] * runs,
        gates=[gate(("failed", "skipped")[at % 2], f"g{at}{long}", long) for at in range(500)],
    )
    text = summary_text(made, RUN)
    assert 40_000 < len(text) < 65_536
    for heading in (
        "Metric Means (weighted)",
        "Compared with",
        "Worse than",
        "Causes",
        "Gates",
        "Worst",
    ):
        assert f"\n## {heading}" in text
    assert "| **weighted_score** | **0.0000** |" in text


def test_what_there_is_no_room_for_is_counted(result: Made) -> None:
    gates = [gate("passed", f"g{at}", "m" * 395) for at in range(100)]
    made = lines(replace(result([sample("a", 0, 0.5)]), gates=gates))
    shown = [line for line in made if line.startswith("| g") and "passed" in line]
    (more,) = (line for line in made if "more are in results.json" in line)
    assert 10 < len(shown) < 100
    assert more == f"{100 - len(shown)} more are in results.json."
    assert made[made.index(shown[-1]) + 1 :][:2] == ["", more]


def test_the_verdict_of_variants_stands_before_what_has_no_room(result: Made) -> None:
    """Six variants with an error of 300 characters each, and 20 remarks of which 12 do not fit."""
    row = sample("a", 0, None, outcome="error", errors={"f1": "e" * 300})
    results = [result([row], MetricColumn("f1"), variant=f"v{at}") for at in range(6)]
    ranked = tuple(RankedVariant(f"v{at}", None, None, None, 0, "") for at in range(6))
    ranking = Ranking("s", "f1", 0.05, ranked, remarks=("r" * 218,) * 20)
    made = list(ranking_section(ranking, gate("failed", "best", "v0 lacks 1 of 1"), results))
    at = made.index("- gate best failed: v0 lacks 1 of 1")
    assert made[at - 1].startswith("- by f1, over ")
    assert made[at + 1 : at + 10] == [f"- {'r' * 218}"] * 8 + ["- and 12 more remarks"]
    assert [line[:14] for line in made[at + 10 :]] == [f"- v{at}: f1 faile" for at in range(6)]


def test_metrics_without_room_are_counted_in_no_line_of_rag_eval(result: Made) -> None:
    """``- metric-00: 1.0000 (w=1.00)`` and its line break are 29 characters: 69 in 2,001."""
    metrics = [MetricColumn(f"metric-{at:02}") for at in range(73)]
    scores = {column.name: 1.0 for column in metrics}
    made = lines(result([SampleResult("a", 0, weighted_score=1.0, scores=scores)], *metrics))
    at = made.index("- metric-68: 1.0000 (w=1.00)")
    assert made[at + 1 : at + 3] == ["- and 4 more metrics", "- **weighted_score: 1.0000**"]


def test_a_summary_whose_rooms_are_all_full_is_cut_with_a_count(
    result: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rooms add up to more than a comment holds; here 500 characters are all there is."""
    made = result([sample(f"s{at}", at, 0.5) for at in range(9)], MetricColumn("f1"))
    whole = lines(made)
    monkeypatch.setattr(summary_md, "_ROOM", 500)
    *shown, blank, more = lines(made)
    left = len(whole) - len(shown)
    assert (shown, blank, more) == (whole[:-left], "", f"{left} more lines: see results.json.")
    ended = len("\n".join(shown))
    assert ended <= 500 < ended + 1 + len(whole[-left])


def test_an_ordinary_run_has_all_its_rows(result: Made) -> None:
    """A hundred metrics and two hundred gates."""
    metrics = [MetricColumn(f"metric-{at}") for at in range(100)]
    gates = [gate("passed", f"by.doc_name.metric-{at}.mean") for at in range(150)]
    text = summary_text(replace(result([sample("a", 0, 0.5)], *metrics), gates=gates), RUN)
    assert "more are in" not in text
    assert text.count("| metric-") == 100
    assert text.count(".mean | passed |") == 150


def test_ten_samples_are_listed_lowest_first(result: Made) -> None:
    """Of equal ones the first in the data."""
    samples = [sample(f"s{at:02}", at, 1.0 if at % 2 else 0.0) for at in range(24)]
    made = lines(result([*samples, sample("none", 24, None, outcome="skipped")]))
    assert [row[0] for row in worst(made)] == [f"s{at:02}" for at in range(0, 20, 2)]


def worst(made: list[str]) -> list[list[str]]:
    """Return the cells of the table of the worst samples, without its head."""
    heads = [line for line in made if line in ("## Worst samples", "## Lowest scores")]
    rows = [line for line in made[made.index(heads[0]) :] if line.startswith("|")]
    assert rows[0] == "| sample | weighted_score | outcome | why | question |"
    return [[cell.strip() for cell in row.split(" | ")] for row in (r[1:-1] for r in rows[2:])]


def test_what_could_not_be_judged_stands_first_with_the_reason(result: Made) -> None:
    """A20: a comment that says FAILED for an error names the sample, and the error."""
    samples = [
        sample("low", 0, 0.25, outcome="failed"),
        sample("lost", 1, None, outcome="error", errors={"target": "ValueError: a|b\nboom"}),
        sample("unscored", 2, None, outcome="failed", errors={"f1": "check was not called"}),
        sample("bare", 3, None, outcome="error", reasons={"f1": "the row has no references"}),
        sample("fine", 4, 1.0),
        sample("expected", 5, None, outcome="xfailed", errors={"f1": "known"}),
    ]
    made = lines(result(samples, thresholds={"f1": Bound(min=0.5)}))
    assert worst(made) == [
        ["lost", "-", "error", "target: ValueError: a&#124;b boom", ""],
        ["bare", "-", "error", "f1: the row has no references", ""],
        ["unscored", "-", "failed", "f1: check was not called", ""],
        ["low", "0.2500", "failed", "f1 0.2500 &#60; 0.5000", ""],
        ["fine", "1.0000", "passed", "", ""],
    ]


def test_a_metric_that_could_not_score_all_says_why_once(result: Made) -> None:
    """As the terminal does, G1: what failed and what does not apply are two things."""
    columns = (MetricColumn("f1"), MetricColumn("em"))
    samples = [
        sample("a", 0, 1.0),
        sample("b", 1, None, outcome="error", reasons={"f1": "the row has no references"}),
        sample("c", 2, None, outcome="error", errors={"f1": "TimeoutError"}),
        sample("d", 3, None, outcome="error", errors={"f1": "ValueError"}),
    ]
    made = lines(result(samples, *columns))
    failed = "- f1 failed on 2 of 4 samples, for instance: TimeoutError"
    absent = "- f1 does not apply to 1 of 4 samples, for instance: the row has no references"
    assert made.count(failed) == 1
    assert made.index(failed) < made.index("## Worst answers") < made.index(absent)
    assert not any(line.startswith(("- em failed", "- em does")) for line in made)
    assert made.index("## Worst samples") > made.index(absent)


def test_invalid_rows_are_counted(result: Made) -> None:
    """G8: they are in no figure, whatever they are reported as."""
    samples = [sample("a", 0, 1.0), sample("r", 1, None, outcome="xfailed", invalid="no answer")]
    made = lines(result(samples, MetricColumn("f1")))
    said = "- 1 of 2 rows is invalid and in no figure, for instance: no answer"
    assert said in made


@pytest.mark.parametrize(
    ("weight", "shown"), [(0.2, "0.20"), (1.0, "1.00"), (0.125, "0.125"), (1e-7, "1e-07")]
)
def test_weights_there_have_two_decimals_or_all_they_need(
    result: Made, weight: float, shown: str
) -> None:
    """M8: as rag_eval prints them, but none is shown as another one."""
    made = lines(result([sample("a", 0, 1.0)], MetricColumn("f1", weight)))
    assert any(line.startswith("- f1: ") and line.endswith(f"(w={shown})") for line in made)


def test_the_means_are_also_in_the_lines_of_rag_eval(result: Made) -> None:
    """F6: (0.35 * 0.8123 + 0.65 * 0.7609) / 1 = 0.284305 + 0.494585 = 0.77889."""
    columns = (MetricColumn("faithfulness", 0.35), MetricColumn("context_recall", 0.65))
    scores = {"faithfulness": 0.8123, "context_recall": 0.7609}
    made = lines(result([SampleResult("a", 0, weighted_score=0.77889, scores=scores)], *columns))
    at = made.index("- faithfulness: 0.8123 (w=0.35)")
    assert made[at + 1 : at + 3] == [
        "- context_recall: 0.7609 (w=0.65)",
        "- **weighted_score: 0.7789**",
    ]


def several() -> ScenarioResult:
    """A run of 24 samples: s0 fell since main, s0 to s9 since the release, which 50 runs share."""
    now = (0.25,) + (0.5,) * 23
    main, old = (0.5,) * 24, (1.0,) * 10 + (0.5,) * 14
    gates = {"no_regression": {"metrics": ["f1"]}}
    return decided({"f1": now}, gates, before={"f1": main}, pinned={"f1": old}, looks=50)


def test_each_baseline_has_its_table_and_no_sample_is_in_two() -> None:
    """[F7] 0.05 / 50 = 0.001; the interval of the release is that of 99.9 %."""
    lines = summary_text(several(), RUN).splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    at = headings.index("## Compared with main")
    assert headings[at : at + 4] == [
        "## Compared with main",
        "## Compared with release-1.4",
        "## Worse than main",
        "## Worse than release-1.4",
    ]
    assert "Test permutation, alpha 0.001 (one of 50 looks, which share 0.05)." in lines
    heads = [line for line in lines if line.startswith("| metric | A (this run)")]
    assert ["| 99.9 % interval |" in head for head in heads] == [False, True]
    assert "Of 24 samples 1 fell, 0 rose, 23 are equal." in lines
    assert "Of 24 samples 10 fell (1 of them above), 0 rose, 14 are equal." in lines
    fallen = [line for line in lines if line.startswith("| s") and "| 1.0000 | 0.5000 |" in line]
    assert [line.split()[1] for line in fallen] == [f"s{at}" for at in range(1, 10)]
    assert sum(line.startswith("| s0 |") and "-" in line for line in lines) == 1


def test_baselines_beyond_five_are_named() -> None:
    """[F7] A comment has room for so many tables."""
    made = several()
    pinned = made.comparisons[1]
    more = [replace(pinned, baseline=f"v{at}") for at in range(6)]
    text = summary_text(replace(made, comparisons=(*made.comparisons, *more)), RUN)
    assert text.count("## Compared with") == 5
    assert "Compared with v3, v4, v5 too: see results.json." in text
