"""A28: what rows ask of their answers as metrics: scores, rows left out, thresholds, patterns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval import evaluate
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics import row_checks
from pytest_rageval.metrics.base import METRIC_REGISTRY, Metric, ScoringContext
from pytest_rageval.metrics.row_checks import PatternSearch, SlowPatternError
from pytest_rageval.model import Sample

SLOW, LONG = "(a+)+b", "a" * 40


def run(rows: list[dict[str, Any]], metrics: Any = ("must_include",), **keys: Any) -> Any:
    rows = [{"question": "q", **row} for row in rows]
    return evaluate({"name": "s", "dataset": rows, "metrics": list(metrics), **keys})


def test_the_score_is_the_share_of_checks_that_hold() -> None:
    """[A28] acc would find $500 in "500 euros"."""
    row = {
        "answer": "500 euros in 30 days",
        "must_include": ["$500", "30 days"],
        "must_not_include": ["euros"],
        "must_match": [r"\d+ days$", "^5", "x"],
        "answer_checks": [{"contains": "500", "weight": 3}, {"icontains": "usd"}],
        "references": ["$500"],
    }
    names = ("must_include", "must_not_include", "must_match", "answer_checks", "acc")
    (found,) = run([row], names).samples
    # 1 of 2; 0 of 1; 2 of 3; 3 of 3 + 1 by weight.
    expected = {"must_include": 1 / 2, "must_not_include": 0.0, "must_match": 2 / 3}
    assert found.scores == pytest.approx({**expected, "answer_checks": 3 / 4, "acc": 1.0})
    assert found.reasons["must_include"] == "1 of 2 failed: contains '$500'"
    assert found.details["answer_checks"] == {"failed": ["icontains 'usd'"]}


@pytest.mark.parametrize(
    ("answer", "text", "score"),
    [
        ("\u200b", "x", 0.0),  # says nothing
        ("\u200d\u2060 \ufeff", "x", 0.0),
        ("It is pass\u200bword.", "password", 0.0),
        ("It is password.", "pass\u200dword", 0.0),
        ("It is\u200d open.", "\u200d", 0.0),
        ("It is open.", "\u200d ", 1.0),
        ("میخواهم", "نمی\u200cخواهم", 1.0),
    ],
)
def test_signs_that_nobody_sees_hide_no_text(answer: str, text: str, score: float) -> None:
    (found,) = run([{"answer": answer, "must_not_include": text}], ["must_not_include"]).samples
    assert found.scores == {"must_not_include": score}


@pytest.mark.parametrize("check", [{"not-starts-with": "pass"}, {"not-equals": "password"}])
def test_signs_that_nobody_sees_hide_no_beginning_and_no_whole(check: dict[str, str]) -> None:
    row = {"answer": "pa\u200bssword", "answer_checks": [check]}
    (found,) = run([row], ["answer_checks"]).samples
    assert found.scores == {"answer_checks": 0.0}


@pytest.mark.parametrize(
    ("answer", "check", "why"),
    [
        ('{"stock": "3"}', "is-json", " (the value.stock is not of the type integer)"),
        ("{'stock': 3}", "is-json", " (it is no JSON)"),
        ('{"stock": 3}', "not-is-json", ""),
    ],
)
def test_json_that_does_not_fit_says_where(answer: str, check: str, why: str) -> None:
    """[A28] The user need not compare answer and schema."""
    shape = {"properties": {"stock": {"type": "integer"}}}
    row = {"answer": answer, "answer_checks": [{check: shape}]}
    (found,) = run([row], ["answer_checks"]).samples
    assert found.reasons["answer_checks"] == f"1 of 1 failed: {check} {shape}{why}"


@pytest.mark.parametrize("answer", ["", " \n"])
@pytest.mark.parametrize(
    "checks",
    [
        {"must_not_include": ["sorry"]},
        {"must_match": ["^.*$"]},
        {"answer_checks": [{"not-icontains": "as an AI"}, {"regex": r"^\s*$"}]},
        {"answer_checks": [{"not-equals": ""}, {"max_latency_s": 2}]},
    ],
)
def test_an_empty_answer_passes_no_check(checks: dict[str, Any], answer: str) -> None:
    """[A28] A system that says nothing is not green because it says nothing wrong."""
    (found,) = run([{"answer": answer, **checks}], [*checks]).samples
    assert [*found.scores.values()] == [0.0]
    assert [*found.reasons.values()] == ["the answer is empty"]
    assert found.outcome == "failed"


def test_a_row_may_ask_for_an_empty_answer() -> None:
    """[A28] Then its other checks hold, too: "" has no "sorry" and is no JSON."""
    checks = [{"equals": ""}, {"not-contains": "sorry"}, {"is-json": True}]
    found = run([{"answer": "", "answer_checks": checks}], ["answer_checks"])
    assert found.samples[0].scores["answer_checks"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", ["must_include", "must_not_include", "must_match"])
def test_case_counts_unless_the_metric_says_otherwise(metric: str) -> None:
    """[A28]"""
    row = {"answer": "Refund", metric: ["REFUND"]}
    (exact,) = run([row], [metric]).samples
    (folded,) = run([row], [{metric: {"ignore_case": True}}]).samples
    assert exact.scores[metric] != folded.scores[metric]


def test_a_row_that_asks_for_nothing_is_left_out_and_counted() -> None:
    """[A28] The threshold holds for the rows that have the field, and for no other."""
    rows = [
        {"answer": "a", "must_include": "a", "references": "a"},
        {"answer": "a", "references": "a"},
        {"answer": "b", "must_include": "a", "references": "b"},
    ]
    keys = {"thresholds": {"must_include": 1, "em": 1}, "gates": {"pass_rate": 0.5}}
    found = run(rows, ["must_include", "em"], **keys)
    assert [sample.outcome for sample in found.samples] == ["passed", "passed", "failed"]
    assert (found.metrics["must_include"].n, found.metrics["must_include"].unscored) == (2, 1)
    assert found.samples[1].weighted_score == 1.0  # of em alone
    # Two of three keep what holds for them.
    assert found.gates[0].observed == pytest.approx(2 / 3)


def test_a_row_that_nothing_is_asked_of_is_skipped() -> None:
    """[A28] It is neither green nor invalid."""
    found = run([{"answer": "a", "must_include": "a"}, {"answer": "b"}])
    assert [sample.outcome for sample in found.samples] == ["passed", "skipped"]


def test_a_row_without_an_answer_is_no_row_without_checks() -> None:
    """[A28] What it asks for cannot be judged."""
    rows = [{"answer": "a", "must_include": "a"}, {"must_include": "a"}]
    found = run(rows, thresholds={"must_include": 1})
    assert [sample.outcome for sample in found.samples] == ["passed", "error"]


def test_a_scenario_whose_rows_ask_for_nothing_is_refused() -> None:
    """[A28]"""
    with pytest.raises(ScenarioError, match="metric 'must_include' needs 'must_include'"):
        run([{"answer": "a", "references": "a"}], ["must_include", "em"])


def test_a_column_of_keywords_is_proposed_and_not_read() -> None:
    """[A28] That each of them has to be there is for the user to say."""
    row = {"answer": "a", "expectedKeywords": ["a"]}
    with pytest.raises(ScenarioError, match=r"write key_map: \{must_include: expectedKeywords\}"):
        run([row])


def test_where_nothing_says_what_is_enough_the_checks_hold_in_full() -> None:
    """[A28] A scenario with gates decides by them."""
    row = {"answer": "a", "must_include": ["a", "b"]}
    assert run([row]).samples[0].outcome == "failed"
    assert run([row], gates={"must_include": 0.5}).samples[0].outcome == "passed"
    assert run([row], thresholds={"must_include": 0.5}).samples[0].outcome == "passed"


def test_where_nothing_says_what_is_enough_other_metrics_must_not_fail(tmp_path: Path) -> None:
    """[A28] The checks' own threshold leaves the weighted score required."""
    path = tmp_path / "s.rageval.yaml"
    path.write_text("{name: s, dataset: [{answer: a, must_include: a}], metrics: [must_include]}")
    assert make_plan(path).required == {"must_include", "weighted_score"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"must_match": "(a"}, "must_match: '(a' is no regular expression: missing )"),
        ({"must_include": [""]}, "must_include: an empty text is in every answer"),
        ({"answer_checks": [{"javascript": "x"}]}, "unknown check 'javascript'"),
    ],
)
def test_a_check_that_cannot_be_read_makes_the_row_invalid(
    row: dict[str, Any], reason: str
) -> None:
    """[A28]"""
    rows = [{"answer": "a", "references": "a"}, {"answer": "a", "references": "a", **row}]
    found = run(rows, ["em"]).samples[1]
    assert reason in str(found.invalid)


def test_a_latency_of_answers_in_the_data_is_an_error() -> None:
    """[A28] Not green: nobody measured it."""
    row = {"answer": "a", "answer_checks": [{"max_latency_s": 1}]}
    (found,) = run([row], ["answer_checks"]).samples
    assert found.outcome == "error"
    assert "no latency" in found.errors["answer_checks"]


def test_a_slow_answer_is_said_to_have_waited_with_others() -> None:
    """[R11] The server's queue counts: 3.85 s, where one question alone takes .45 s."""
    checked = METRIC_REGISTRY.get("answer_checks")
    metric = cast("Metric", checked.make("answer_checks", checked.options()))
    sample = Sample("s", answer="a", answer_checks=({"max_latency_s": 1},))
    found = metric.score(sample, ScoringContext(latency_s=3.85))
    said = "(took 3.85 s with its queue; target.concurrency: 1 has none)"
    assert found.reason == f"1 of 1 failed: max_latency_s 1.0 {said}"


def test_a_slow_pattern_is_an_error_of_its_sample() -> None:
    """[A28] Python's re would take hours."""
    search = PatternSearch(limit_s=0.2)
    try:
        with pytest.raises(SlowPatternError, match=r"longer than 0.2 s on this answer"):
            search(SLOW, LONG)
        assert search("A+", LONG, True) is True  # a new process
        assert search("A+", LONG) is False
        with pytest.raises(SlowPatternError, match="on another answer"):
            search(SLOW, "b")
    finally:
        search.close()


def test_after_many_slow_patterns_a_metric_tries_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """[A28] Hostile rows cannot make a run last for hours; a later run searches again."""
    monkeypatch.setattr(row_checks, "search", search := PatternSearch(limit_s=0.05))
    slow = [f"{SLOW}{number}" for number in range(10)]
    rows = [{"answer": LONG, "must_match": [pattern]} for pattern in [*slow, slow[0], "a+"]]
    try:
        *_, again, other = run(rows, ["must_match"]).samples
        assert "longer than 0.05 s on another answer" in again.errors["must_match"]
        assert other.errors["must_match"] == "not searched: 10 other patterns were too slow"
        found = run([rows[-1], rows[0], rows[-1]], ["must_match"]).samples
        assert [sample.outcome for sample in found] == ["passed", "error", "passed"]
        assert "on another answer" in found[1].errors["must_match"]
    finally:
        search.close()


class _Interrupted:
    """The replies of a process, whose next one is not waited for."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def readline(self) -> str:
        raise KeyboardInterrupt

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def test_the_reply_to_an_interrupted_search_is_no_reply_to_the_next_one() -> None:
    """In a notebook the process goes on after Ctrl-C: each verdict was that of the one before."""
    search = PatternSearch()
    try:
        assert [search(*asked) for asked in (("a", "a"), ("a", "b"), ("A", "a", True))] == [1, 0, 1]
        process: Any = search._process
        process.stdout = _Interrupted(process.stdout)
        with pytest.raises(KeyboardInterrupt):
            search("a", "a")
        assert [search(*asked) for asked in (("a", "b"), ("a", "a"), ("a", "b"))] == [0, 1, 0]
    finally:
        search.close()


@pytest.mark.full
def test_the_process_of_the_search_ends_with_python() -> None:
    """[A28] Nothing stays behind, and nothing is written."""
    code = (
        "from pytest_rageval.metrics.row_checks import search; "
        "search('a', 'a'); print(search._process.pid)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stderr == ""
    assert found.stdout.strip().isdigit()
