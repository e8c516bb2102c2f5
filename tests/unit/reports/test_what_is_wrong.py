"""What every text about a run begins with: errors, failed gates, the worst answers, what broke."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.model import (
    NOT_ASKED,
    Baseline,
    Bound,
    Comparison,
    ControlVerdict,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.what_is_wrong import (
    WhatIsWrong,
    closest,
    gate_sentence,
    lowest,
    variant_errors,
)

Run = Callable[..., ScenarioResult]
Made = Callable[..., ScenarioResult]

# f1: 1 and 0 for a.md, 1 and 1 for b.md; the means are 0.75, 0.5 and 1.
DATA = """
dataset:
  - {id: fee, question: Is it free?, answer: no idea, references: [never, yes], doc_name: a.md}
  - {id: days, question: How long?, answer: five days, references: [five days], doc_name: a.md}
  - {id: pay, question: Who pays?, answer: the shop, references: [the shop], doc_name: b.md}
  - {id: where, question: Where?, answer: here, references: [here], doc_name: b.md}
"""


def wrong(result: ScenarioResult) -> WhatIsWrong:
    return WhatIsWrong(RunView(result))


def ids(found: WhatIsWrong) -> list[str]:
    return [answer.sample.sample_id for answer in found.answers]


def sample(name: str, index: int, f1: float | None, **more: Any) -> SampleResult:
    return SampleResult(name, index, weighted_score=f1, scores={"f1": f1}, **more)


def failed(name: str, message: str = "") -> GateResult:
    return GateResult(name, "failed", None, None, message)


class TestGates:
    def test_a_sentence_has_the_figure_and_the_worst_group(self, run: Run) -> None:
        found = wrong(run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.8}}{DATA}"))
        assert found.gates == ["f1 0.7500 is below 0.8000; worst doc_name: a.md 0.5000"]

    def test_a_figure_that_just_misses_has_words_and_a_group_too(self, run: Run) -> None:
        """The message has as many decimals as tell the two apart."""
        (gate,) = wrong(run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.75000001}}{DATA}")).gates
        assert re.fullmatch(
            r"f1 0\.750{5,} is below 0\.750{4,}1\d*; worst doc_name: a.md 0.5000", gate
        )

    def test_groups_of_gates_come_before_documents(self, run: Run) -> None:
        """Team x has three rows, y one: means 2/3 and 1."""
        data = DATA
        for doc, team in (("a.md}\n  - {id: days", "x"), ("a.md}\n  - {id: pay", "x")):
            data = data.replace(doc, doc.replace("a.md}", f"a.md, team: {team}}}"))
        data = data.replace("b.md}\n  - {id: where", "b.md, team: x}\n  - {id: where")
        data = data.replace("doc_name: b.md}\n", "doc_name: b.md, team: y}\n")
        gates = "gates: {f1: 0.8, by: {team: {f1: 0.7}}}"
        first, second = wrong(run(f"name: s\nmetrics: [f1]\n{gates}{data}")).gates
        assert first == "f1 0.7500 is below 0.8000; worst team: x 0.6667"
        assert second == "by.team.f1: 1 of 2 values of team: x: 0.6667 is below 0.7000"

    def test_a_group_a_row_tells_nothing(self, run: Run) -> None:
        data = DATA.replace("doc_name: a.md}\n  - {id: days", "doc_name: c.md}\n  - {id: days")
        data = data.replace("doc_name: b.md}\n  - {id: where", "doc_name: d.md}\n  - {id: where")
        found = wrong(run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.8}}{data}"))
        assert found.gates == ["f1 0.7500 is below 0.8000"]

    @pytest.mark.parametrize(
        "gate",
        ["quantile: {0.1: 0.5}", "lower_bound: 0.9", "mean: {value: 0.8, not_applicable: 1}"],
    )
    def test_groups_have_means_alone(self, run: Run, gate: str) -> None:
        """A lower end or a quantile of four is not the mean of two."""
        found = wrong(run(f"name: s\nmetrics: [f1]\ngates: {{f1: {{{gate}}}}}{DATA}"))
        assert len(found.gates) == 1
        assert "worst" not in found.gates[0]

    def test_equal_groups_and_a_verdict_without_a_figure_have_no_worst(self, run: Run) -> None:
        """By hand: a.md and b.md have 1 and 0 each."""
        data = DATA.replace("answer: here", "answer: there")
        made = run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.8}}{data}")
        assert wrong(made).gates == ["f1 0.5000 is below 0.8000"]
        made = run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.8}}{DATA}")
        partial = GateResult("f1.mean", "failed", 0.75, 0.8, "partial run: so far 0.7500")
        assert wrong(replace(made, gates=(partial,))).gates == ["f1: partial run: so far 0.7500"]
        assert wrong(replace(made, gates=(replace(partial, observed=None),))).gates == [
            "f1: partial run: so far 0.7500"
        ]

    @pytest.mark.parametrize(
        ("gate", "sentence"),
        [
            (failed("toxic.mean", "0.3000 > 0.1000"), "toxic 0.3000 is above 0.1000"),
            (
                failed("unscored", "0.2500 > 0.0000 (1 of 4 samples)"),
                "unscored 0.2500 is above 0.0000 (1 of 4 samples)",
            ),
            (
                failed("f1.quantile.0.1", "no sample has a score of f1"),
                "f1.quantile.0.1: no sample has a score of f1",
            ),
        ],
    )
    def test_any_message_becomes_one(self, result: Made, gate: GateResult, sentence: str) -> None:
        assert gate_sentence(result([sample("a", 0, 1.0)], MetricColumn("f1")), gate) == sentence

    def test_undecided_ones_are_named(self, result: Made) -> None:
        made = result([sample("a", 0, 1.0)], MetricColumn("f1"))
        skipped = GateResult("no_regression", "skipped", None, None, "not compared with 'main'")
        found = wrong(replace(made, gates=(skipped,)))
        assert found.undecided == ["no_regression: not compared with 'main'"]


class TestAnswers:
    def test_a_failed_gate_names_the_answers_below_it(self, run: Run) -> None:
        found = wrong(run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.8}}{DATA}"))
        (answer,) = found.answers
        assert answer.sample.sample_id == "fee"
        assert answer.missed == ["f1 0.0000 < 0.8000"]

    def test_a_green_run_has_none_though_one_is_low(self, run: Run) -> None:
        """[P6] Its verdict is all that there is to say."""
        made = run(f"name: s\nmetrics: [f1]\ngates: {{f1: 0.7}}{DATA}")
        found = wrong(made)
        assert RunView(made).is_plain
        assert not RunView(replace(made, comparisons=(compared(),))).is_plain
        assert (found.answers, found.gates, found.errors, found.changes) == ([], [], [], [])

    def test_a_failed_pass_rate_lists_what_is_tolerated(self, run: Run) -> None:
        """[P6] The cases are xfailed; the threshold that they miss is why."""
        keys = "thresholds: {f1: 0.5}\ntolerate: pass_rate\ngates: {pass_rate: 0.8}"
        (answer,) = wrong(run(f"name: s\nmetrics: [f1]\n{keys}{DATA}")).answers
        assert answer.sample.outcome == "xfailed"
        assert answer.missed == ["f1 0.0000 < 0.5000"]

    def test_a_row_that_is_expected_to_fail_is_not_wrong(self, result: Made) -> None:
        rows = [
            sample("known", 0, 0.0, outcome="xfailed", xfail=""),
            sample("new", 1, 0.25, outcome="failed"),
        ]
        found = wrong(result(rows, MetricColumn("f1"), thresholds={"f1": Bound(min=0.5)}))
        assert ids(found) == ["new"]

    def test_a_metric_without_weight_shows_its_own_worst(self, result: Made) -> None:
        """[P13] The weighted score, by which all are perfect, would name none of them."""
        columns = (MetricColumn("f1"), MetricColumn("toxic", 0.0, higher_is_better=False))
        rows = [
            SampleResult(name, at, weighted_score=1.0, scores={"f1": 1.0, "toxic": toxic})
            for at, (name, toxic) in enumerate({"kind": 0.0, "rude": 0.9, "gruff": 0.4}.items())
        ]
        made = result(rows, *columns, gates={"toxic": {"max": 0.1}})
        found = wrong(replace(made, gates=(failed("toxic.mean", "0.4333 > 0.1000"),)))
        assert ids(found) == ["rude", "gruff"]
        assert found.answers[0].missed == ["toxic 0.9000 > 0.1000"]

    def test_seconds_are_not_compared_with_shares(self, run: Run) -> None:
        """15 s is lower than any share once it is turned round, yet only one answer is slow."""
        data = """
dataset:
  - {id: slow, answer: five days, references: [five days], lat: 15.0}
  - {id: bad, answer: no idea, references: [five days], lat: 1.0}
"""
        lat = "{lat: {column: lat, range: [0, null], lower_is_better: true}}"
        metrics = f"metrics: [f1, {lat}]\nmetric_weights: {{f1: 1, lat: 0}}"
        found = wrong(run(f"name: s\n{metrics}\ngates: {{f1: 0.6, lat: 2}}{data}"))
        missed = {answer.sample.sample_id: answer.missed for answer in found.answers}
        assert missed == {"bad": ["f1 0.0000 < 0.6000"], "slow": ["lat 15.0000 > 2.0000"]}
        # Without a bound that the row breaks, the lowest share is to blame.
        found = wrong(run(f"name: s\n{metrics}\ngates: {{weighted_score: 0.6}}{data}"))
        assert [answer.missed for answer in found.answers] == [["f1 0.0000"]]

    def test_of_a_corridor_the_end_is_said_that_failed(self, run: Run) -> None:
        """The mean 0.75 is too high: the answer without points is not what is wrong."""
        gates = "gates: {f1: {mean: {min: 0.6, max: 0.7}}}"
        found = wrong(run(f"name: s\nmetrics: [f1]\n{gates}{DATA}"))
        assert found.gates == ["f1 0.7500 is above 0.7000; worst doc_name: b.md 1.0000"]
        assert [answer.missed for answer in found.answers] == [["f1 1.0000 > 0.7000"]] * 3

    def test_a_dead_metric_without_weight_is_said_behind_the_reason(self, result: Made) -> None:
        columns = (MetricColumn("f1"), MetricColumn("dead", 0.0))
        row = SampleResult(
            "a", 0, weighted_score=0.5, scores={"f1": 0.5, "dead": None}, errors={"dead": "no key"}
        )
        gates = (GateResult("f1.mean", "failed", 0.5, 0.8, "0.5000 < 0.8000"),)
        made = result([row], *columns, gates={"f1": 0.8})
        (answer,) = wrong(replace(made, gates=gates)).answers
        assert answer.missed == ["f1 0.5000 < 0.8000", "dead: no key"]
        # One that could not be judged begins with the error.
        lost = replace(row, outcome="error", weighted_score=None)
        (answer,) = wrong(replace(result([lost], *columns, gates={"f1": 0.8}), gates=gates)).answers
        assert answer.missed == ["dead: no key"]

    def test_a_gate_of_a_hook_shows_what_is_low(self, result: Made) -> None:
        """[P13] What it looks at is not known; below bands.warn is low. Not for control rows."""
        made = result([sample("low", 0, 0.25), sample("good", 1, 0.75)], MetricColumn("f1"))
        assert ids(wrong(replace(made, gates=(failed("own"),)))) == ["low"]
        assert ids(wrong(replace(made, gates=(failed("controls:f1"),)))) == []

    def test_what_could_not_be_judged_comes_first_and_each_reason_once(self, result: Made) -> None:
        """Waiting times differ; another error is another answer."""
        rows = [
            sample("low", 0, 0.0, outcome="failed"),
            *(
                sample(f"lost{at}", at, None, outcome="error", errors={"f1": f"waited {at} s"})
                for at in range(1, 5)
            ),
            sample("odd", 5, None, outcome="error", errors={"f1": "no key"}),
        ]
        found = wrong(result(rows, MetricColumn("f1"), thresholds={"f1": Bound(min=0.5)}))
        assert ids(found) == ["lost1", "odd", "low"]
        assert [answer.alike for answer in found.answers] == [3, 0, 0]
        assert found.errors == ["f1 failed on 5 of 6 samples, for instance: waited 1 s"]

    def test_the_judge_is_quoted_on_what_was_missed(self, result: Made) -> None:
        columns = (MetricColumn("f1"), MetricColumn("tone"))
        row = SampleResult(
            "a",
            0,
            "failed",
            weighted_score=0.5,
            scores={"f1": 1.0, "tone": 0.0},
            reasons={"f1": "all words", "tone": "it shouts"},
            cause="generation",
            cause_reason="the contexts had it",
        )
        (answer,) = wrong(result([row], *columns, thresholds={"tone": Bound(min=0.5)})).answers
        assert answer.reasons == ["tone: it shouts"]
        assert answer.cause == "generation: the contexts had it"
        # Without a threshold of a metric, the lowest one is to blame.
        whole = result([row], *columns, thresholds={"weighted_score": Bound(min=0.8)})
        (answer,) = wrong(whole).answers
        assert answer.reasons == ["tone: it shouts"]
        assert answer.missed == ["weighted_score 0.5000 < 0.8000"]

    def test_the_closest_reference(self) -> None:
        assert closest("it takes five days", ["never", "five days", "a day"]) == "five days"
        assert closest("退款要五天", ["不收费", "五天内退款"]) == "五天内退款"
        assert closest("no idea", ["never", "yes"]) == "never"  # the first of equal ones
        assert closest("x", []) == ""

    def test_the_best_score_is_no_reason(self, result: Made) -> None:
        made = result([sample("a", 0, 1.0), sample("b", 1, 0.5)], MetricColumn("f1"))
        assert [lowest(made, one) for one in made.samples] == [[], ["f1 0.5000"]]


def compared() -> Comparison:
    return Comparison("main", "permutation", 0.05, {})


class TestChanges:
    def made(self, result: Made, **fields: Any) -> ScenarioResult:
        """Return a run against main: q0 broke, q1 was fixed, q2 was low before, q3 is new."""
        now = [0.25, 0.75, 0.25, 0.25]
        rows = [sample(f"q{at}", at, score, outcome="failed") for at, score in enumerate(now)]
        then = {"q0": 0.75, "q1": 0.25, "q2": 0.25}
        scores = {"f1": then, "weighted_score": then}
        baselines = {"main": Baseline("main", tuple(then), scores)}
        found = result(rows, MetricColumn("f1"), baselines=baselines, **fields)
        return replace(found, comparisons=(compared(),))

    @pytest.mark.parametrize("thresholds", [{}, {"f1": Bound(min=0.5)}])
    def test_what_broke_and_what_was_fixed(self, result: Made, thresholds: Any) -> None:
        """By the thresholds of today, else by bands.warn, 0.6."""
        found = wrong(self.made(result, thresholds=thresholds))
        assert found.changes == ["since main: 1 broke (q0), 1 fixed (q1)"]
        missed = {answer.sample.sample_id: answer.missed[-1] for answer in found.answers}
        assert missed["q0"] == "weighted_score was 0.7500"
        assert "was" not in missed["q2"]

    @pytest.mark.parametrize("thresholds", [{}, {"f1": Bound(min=0.5)}])
    def test_what_lost_a_metric_is_neither(self, result: Made, thresholds: Any) -> None:
        """q0 lost a good recall, q1 a bad one; f1 is what it was, but that of q2 broke."""
        columns = (MetricColumn("f1"), MetricColumn("recall"))
        f1, then_f1 = [0.25, 0.75, 0.25], [0.25, 0.75, 0.75]
        rows = [sample(f"q{at}", at, score) for at, score in enumerate(f1)]
        rows = [replace(one, scores={**one.scores, "recall": None}) for one in rows]
        recall, weighted = [1.0, 0.0, 1.0], [0.625, 0.375, 0.875]
        before = {"f1": then_f1, "recall": recall, "weighted_score": weighted}
        ids = tuple(one.sample_id for one in rows)
        scores = {name: dict(zip(ids, known, strict=True)) for name, known in before.items()}
        info = {"baselines": {"main": Baseline("main", ids, scores)}, "thresholds": thresholds}
        made = replace(result(rows, *columns, **info), comparisons=(compared(),))
        assert wrong(made).changes == ["since main: 1 broke (q2)"]

    def test_what_is_not_judged_any_more_broke(self, result: Made) -> None:
        """q0 was good and q1 low when they were judged; q3 is new."""
        made = self.made(result, thresholds={"f1": Bound(min=0.5)})
        lost = [
            replace(one, outcome="error", weighted_score=None, scores={"f1": None})
            for one in made.samples
        ]
        assert wrong(replace(made, samples=lost)).changes == ["since main: 1 broke (q0)"]
        # Without a threshold of the metric that died, the case itself passes.
        died = [replace(one, outcome="passed", errors={"f1": "no key"}) for one in lost]
        assert wrong(replace(made, samples=died)).changes == ["since main: 1 broke (q0)"]
        unasked = [replace(one, errors={"f1": NOT_ASKED}) for one in died]
        assert wrong(replace(made, samples=unasked)).changes == []
        skipped = [replace(one, outcome="skipped") for one in lost]
        assert wrong(replace(made, samples=skipped)).changes == []

    def test_what_a_metric_refuses_itself_has_not_changed(self, result: Made) -> None:
        """A baseline keeps scores alone: it may have been refused then, too."""
        made = self.made(result)
        refused = [
            replace(
                one, weighted_score=0.75, scores={"f1": 0.75}, details={"f1": {"passing": False}}
            )
            for one in made.samples
        ]
        assert wrong(replace(made, samples=refused[:1])).changes == []

    def test_nothing_is_said_without_a_comparison_or_a_change(self, result: Made) -> None:
        made = self.made(result)
        assert wrong(replace(made, comparisons=())).changes == []
        assert wrong(replace(made, samples=made.samples[2:])).changes == []


class TestSeveralBaselines:
    """F7: what broke since which one; the pinned one shows what fell slowly."""

    NOW = (0.25, 0.25, 0.75, 1.0)
    MAIN = (0.25, 0.75, 0.25, 1.0)
    PINNED = (0.75, 1.0, 0.75, 0.25)

    def made(self) -> ScenarioResult:
        scores = {"f1": self.NOW}, {"f1": self.MAIN}, {"f1": self.PINNED}
        now, before, pinned = scores
        return decided(now, {"f1": 0.9}, before=before, pinned=pinned, looks=50)

    def test_each_has_its_line_and_no_answer_is_named_twice(self) -> None:
        """By bands.warn, 0.6: s1 fell since both, s0 since the release, s2 rose since main."""
        assert wrong(self.made()).changes == [
            "since main: 1 broke (s1), 1 fixed (s2)",
            "since release-1.4: 2 broke (s0; 1 above), 1 fixed (s3)",
        ]

    def test_where_all_are_above_only_the_number_is_said(self) -> None:
        scores = {"f1": (0.25, 0.9)}
        made = decided(scores, {}, before={"f1": (0.8, 0.9)}, pinned={"f1": (0.9, 0.9)})
        assert wrong(made).changes == [
            "since main: 1 broke (s0)",
            "since release-1.4: 1 broke (all above)",
        ]

    def test_a_baseline_without_changes_has_no_line(self) -> None:
        scores = {"f1": (0.25, 0.9)}
        made = decided(scores, {}, before=scores, pinned={"f1": (0.9, 0.9)})
        assert wrong(made).changes == ["since release-1.4: 1 broke (s0)"]

    def test_a_card_says_in_which_of_them_an_answer_was_better(self) -> None:
        missed = {
            answer.sample.sample_id: answer.missed[-1] for answer in wrong(self.made()).answers
        }
        assert missed["s0"] == "weighted_score was 0.7500 in release-1.4"
        assert missed["s1"] == "weighted_score was 0.7500 in main, 1.0000 in release-1.4"
        assert "was" not in missed["s2"]

    def test_a_failed_gate_names_its_baseline(self) -> None:
        """Ten of 24 fell by 0.5 since the release, none since main."""
        now, old = (0.5,) * 24, (1.0,) * 10 + (0.5,) * 14
        gates = {"no_regression": {"metrics": ["f1"]}}
        made = decided({"f1": now}, gates, before={"f1": now}, pinned={"f1": old}, looks=5)
        (said,) = wrong(made).gates
        assert said.startswith("no_regression.release-1.4.f1: f1: worse, A 0.5000, B 0.7083")


def test_variants_say_why_scores_are_missing(result: Made) -> None:
    """[P6] Among them, a variant without scores is no better or worse."""
    lost = sample("a", 0, None, outcome="error", errors={"f1": "no key"})
    made = [
        result([row], MetricColumn("f1"), variant=name)
        for name, row in {"dense": lost, "bm25": sample("a", 0, 1.0)}.items()
    ]
    assert list(variant_errors(made)) == [
        "dense: f1 failed on 1 of 1 samples, for instance: no key"
    ]
    bad = {"f1": ControlVerdict(False, 1, (1.0,), (1.0,), "does not tell rows apart")}
    (line,) = variant_errors([replace(made[1], controls=bad)])
    assert line.startswith("bm25: f1: does not tell rows apart")
