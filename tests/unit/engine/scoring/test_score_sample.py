"""A6, A7, A20: scoring one case, whatever its metrics do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.evaluate import run_case
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.scoring.score_sample import checked_score, score_case
from pytest_rageval.engine.verdict.sample_verdict import reasons_unjudged
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.metrics.base import MetricInfo, ScoringContext
from pytest_rageval.model import Bound, InvalidRow, MetricColumn, Sample, SampleResult, Score

SAMPLE = Sample("s", answer="x", references=("x",), doc_name="d1")


class Fake:
    """A metric that says what it was told to say."""

    def __init__(self, says: object) -> None:
        self.says = says

    def score(self, sample: Sample, context: ScoringContext) -> Any:
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says


def fake(name: str, says: object, **column: Any) -> BoundMetric:
    info = MetricInfo(name, frozenset({"answer"}))
    return BoundMetric(MetricColumn(name, **column), info, Fake(says))


@pytest.fixture
def plan_of(plan: Callable[..., Plan]) -> Callable[..., Plan]:
    """Return a function from metrics to a plan with one sample; further fields by keyword."""

    def make(*metrics: BoundMetric, **fields: Any) -> Plan:
        made = plan("name: s\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
        info = replace(
            made.info,
            metrics=tuple(metric.column for metric in metrics),
            thresholds=fields.pop("thresholds", {}),
            doc_weights=fields.pop("doc_weights", {}),
            tolerates_shortfalls=fields.pop("tolerates_shortfalls", False),
        )
        return replace(made, info=info, metrics=metrics, cases=[SAMPLE], **fields)

    return make


def test_a_sample_weighs_what_its_document_weighs(plan_of: Callable[..., Plan]) -> None:
    """A7."""
    made = plan_of(fake("m", Score("m", 1.0)), doc_weights={"d1": 2.5})
    assert score_case(made, SAMPLE).sample_weight == 2.5
    assert score_case(made, replace(SAMPLE, doc_name=None)).sample_weight == 1.0


def test_the_weighted_score_is_over_the_metrics_that_have_one(plan_of: Callable[..., Plan]) -> None:
    """A6: (0.5·3 + 1·1) / 4; the third has no score and so no weight."""
    made = plan_of(
        fake("a", Score("a", 0.5), weight=3.0),
        fake("b", Score("b", 1.0)),
        fake("c", Score("c", None, reason="no claims"), weight=100.0),
    )
    found = score_case(made, SAMPLE)
    assert found.weighted_score == 0.625
    assert found.scores == {"a": 0.5, "b": 1.0, "c": None}
    assert found.reasons == {"c": "no claims"}
    assert found.errors == {}


def test_a_metric_of_another_range_enters_in_the_unit_range(plan_of: Callable[..., Plan]) -> None:
    """4 of 0..5 is 0.8, noise of 0.4 is 0.6: their mean is 0.7; the scores stay as given."""
    made = plan_of(
        fake("rubric", Score("rubric", 4.0), ends=(0.0, 5.0)),
        fake("noise", Score("noise", 0.4), higher_is_better=False),
    )
    found = score_case(made, SAMPLE)
    assert found.weighted_score == pytest.approx(0.7)
    assert found.scores == {"rubric": 4.0, "noise": 0.4}


class UnspeakableError(Exception):
    """An error that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (TimeoutError(), "TimeoutError"),
        (MissingExtraError("pip install x"), "pip install x"),
        (UnspeakableError(), "UnspeakableError"),
        (ValueError("x" * 10_000), "ValueError: xxx"),
        (Score("m", math.nan), "nan"),
        (Score("m", math.inf), "inf"),
        (Score("m", 1.5), "1.5 is outside the range 0..1"),
        (Score("m", -0.5), "-0.5 is outside the range 0..1"),
        (Score("m", "0.5"), ""),  # type: ignore[arg-type]
        (None, ""),
        (0.5, ""),
    ],
    ids=lambda value: (
        repr(value)[:20] if not isinstance(value, UnspeakableError) else "unspeakable"
    ),
)
def test_a_metric_that_fails_is_an_error_of_that_metric(
    plan_of: Callable[..., Plan], says: object, error: str
) -> None:
    """A20, G1: the other metrics are not touched; the weighted score is not that of the others."""
    made = plan_of(fake("m", says), fake("good", Score("good", 1.0)))
    found = score_case(made, SAMPLE)
    assert found.scores == {"m": None, "good": 1.0}
    assert found.weighted_score is None
    assert error in found.errors["m"]
    assert len(found.errors["m"]) < 400


def test_an_interrupt_is_no_error_of_a_metric(plan_of: Callable[..., Plan]) -> None:
    class Interrupting:
        def score(self, sample: Sample, context: ScoringContext) -> Score:
            raise KeyboardInterrupt

    metric = BoundMetric(MetricColumn("m"), MetricInfo("m", frozenset()), Interrupting())
    with pytest.raises(KeyboardInterrupt):
        score_case(plan_of(metric), SAMPLE)


def test_a_score_of_an_unbounded_metric_must_be_finite(plan_of: Callable[..., Plan]) -> None:
    """JSON knows no infinity."""
    unbounded = {"ends": (None, None)}
    found = score_case(plan_of(fake("m", Score("m", math.inf), **unbounded)), SAMPLE)
    assert (found.scores, list(found.errors)) == ({"m": None}, ["m"])
    found = score_case(plan_of(fake("m", Score("m", -42.0), **unbounded)), SAMPLE)
    assert found.scores == {"m": -42.0}


@pytest.mark.parametrize("value", [1.0 + 1e-10, -1e-10])
def test_a_score_outside_by_a_rounding_error_is_a_score(
    plan_of: Callable[..., Plan], value: float
) -> None:
    """A10: 1e-9."""
    assert score_case(plan_of(fake("m", Score("m", value))), SAMPLE).errors == {}


def test_scores_are_filed_under_the_name_that_the_scenario_uses(
    plan_of: Callable[..., Plan],
) -> None:
    """Whatever a custom metric calls itself."""
    found = score_case(plan_of(fake("mine", Score("other", 0.5, details={"x": 1}))), SAMPLE)
    assert found.scores == {"mine": 0.5}
    assert found.details == {"mine": {"x": 1}}


def test_numbers_of_other_packages_become_plain_ones(plan_of: Callable[..., Plan]) -> None:
    numpy = pytest.importorskip("numpy")
    found = score_case(plan_of(fake("m", Score("m", numpy.float32(0.5)))), SAMPLE)
    assert type(found.scores["m"]) is float
    assert type(found.weighted_score) is float


def test_numbers_of_numpy_in_details_are_numbers(plan_of: Callable[..., Plan]) -> None:
    """What is no number stays its text, or what JSON has for it."""
    numpy = pytest.importorskip("numpy")
    told = {
        "floats": [numpy.float32(0.87), numpy.float16(2), numpy.float64(0.1), numpy.float32("nan")],
        "whole": (numpy.int64(3), numpy.uint8(4), numpy.array(5), {numpy.int32(6)}),
        numpy.int64(7): numpy.bool_(False),
        "others": [numpy.array([1, 2]), numpy.str_("8"), numpy.timedelta64(9, "D"), 1 + 2j],
        "of_numpy": [numpy.sin, numpy.dtype("f4"), numpy.array(["a"]), numpy.complex64(1)],
        "limits": [numpy.iinfo("u1")],
        "plain": [None, True, 1, 1.5, "1", numpy.datetime64("2026-11-30"), float("inf")],
    }
    found = score_case(plan_of(fake("m", Score("m", 1.0, details=told))), SAMPLE)
    assert found.details["m"] == {
        "floats": [0.87, 2.0, 0.1, None],
        "whole": [3, 4, 5, [6]],
        "7": False,
        "others": ["[1 2]", "8", "9 days", "(1+2j)"],
        "of_numpy": ["<ufunc 'sin'>", "float32", "['a']", "(1+0j)"],
        "limits": [str(numpy.iinfo("u1"))],
        "plain": [None, True, 1, 1.5, "1", "2026-11-30", None],
    }
    assert [type(one) for one in found.details["m"]["whole"][:3]] == [int, int, int]


def test_a_metric_without_its_field_is_unscored_with_the_reason(
    plan_of: Callable[..., Plan],
) -> None:
    """A20: the metric is not even asked."""
    info = MetricInfo("m", frozenset({"contexts", "answer"}))
    asked = BoundMetric(MetricColumn("m"), info, Fake(RuntimeError("asked")))
    found = score_case(plan_of(asked, fake("good", Score("good", 1.0))), SAMPLE)
    assert found.scores == {"m": None, "good": 1.0}
    assert found.reasons == {"m": "the row has no contexts"}
    assert found.errors == {}


def test_metrics_of_one_sample_share_a_context_and_samples_do_not(
    plan_of: Callable[..., Plan],
) -> None:
    seen: list[ScoringContext] = []

    class Looking:
        def score(self, sample: Sample, context: ScoringContext) -> Score:
            seen.append(context)
            return Score("m", 1.0)

    metrics = [
        BoundMetric(MetricColumn(name), MetricInfo(name, frozenset()), Looking()) for name in "ab"
    ]
    made = plan_of(*metrics)
    score_case(made, SAMPLE)
    score_case(made, SAMPLE)
    assert seen[0] is seen[1]
    assert seen[1] is not seen[2]


def test_a_text_is_normalised_and_tokenised_once_per_sample(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1: eight metrics, one answer and two references in each of two rows."""
    from pytest_rageval.text import tokenize

    calls: list[tuple[str, str]] = []
    before, split = tokenize.NORMALIZERS["ultrarag"], tokenize.TOKENIZERS["word"]
    monkeypatch.setitem(
        tokenize.NORMALIZERS,
        "ultrarag",
        lambda text: calls.append(("normalize", text)) or before(text),
    )
    monkeypatch.setitem(
        tokenize.TOKENIZERS, "word", lambda text: calls.append(("split", text)) or split(text)
    )
    result = run(
        "name: s\nmetrics: [em, acc, stringem, coverem, f1, rouge-1, rouge-2, rouge-l]\n"
        "dataset:\n"
        "  - {answer: red fish, references: [red, blue]}\n"
        "  - {answer: red fish, references: [red, blue]}\n"
    )
    assert result.counts.scored == 2
    once = [(what, text) for what in ("normalize", "split") for text in ("blue", "red", "red fish")]
    assert sorted(calls) == sorted(once * 2)


# The verdict on a case


def test_an_unscored_metric_that_a_threshold_asks_about_is_an_error(
    plan_of: Callable[..., Plan],
) -> None:
    """A20: not a pass and not a 0."""
    metrics = (fake("m", ValueError("boom")), fake("good", Score("good", 1.0)))
    made = plan_of(*metrics, required=frozenset({"m"}), thresholds={"m": Bound(min=0.5)})
    assert run_case(made, SAMPLE).outcome == "error"
    assert reasons_unjudged(made, score_case(made, SAMPLE)) == [
        "m unscored: ValueError: boom (test_score_sample.py:31)"
    ]
    unasked = plan_of(*metrics, required=frozenset({"good"}))
    assert run_case(unasked, SAMPLE).outcome == "passed"


def test_a_case_that_no_metric_scored_is_an_error(plan_of: Callable[..., Plan]) -> None:
    """A20, A6: even when nothing was asked."""
    made = plan_of(fake("m", Score("m", None, reason="no claims")))
    assert run_case(made, SAMPLE).outcome == "error"
    assert reasons_unjudged(made, score_case(made, SAMPLE)) == ["m unscored: no claims"]


def test_a_case_whose_scored_metrics_weigh_nothing_is_an_error(
    plan_of: Callable[..., Plan],
) -> None:
    made = plan_of(fake("a", Score("a", 1.0), weight=0.0))
    found = score_case(made, SAMPLE)
    assert found.weighted_score is None
    assert reasons_unjudged(made, found) == [
        "weighted_score unscored: all metrics that have a score weigh 0"
    ]


@pytest.mark.parametrize(
    ("score", "fields", "outcome"),
    [
        (0.5, {}, "passed"),
        (0.4, {}, "failed"),
        (0.4, {"tolerates_shortfalls": True}, "xfailed"),
        (0.6, {"tolerates_shortfalls": True}, "passed"),
    ],
)
def test_a_threshold_decides_a_case(
    plan_of: Callable[..., Plan], score: float, fields: dict[str, Any], outcome: str
) -> None:
    """A10."""
    made = plan_of(fake("m", Score("m", score)), thresholds={"m": Bound(min=0.5)}, **fields)
    assert run_case(made, SAMPLE).outcome == outcome


@pytest.mark.parametrize(
    ("on_invalid", "outcome"), [("fail", "error"), ("skip", "skipped"), ("xfail", "xfailed")]
)
def test_an_invalid_row_is_a_case_that_says_why(
    plan_of: Callable[..., Plan], on_invalid: str, outcome: str
) -> None:
    """A19; [U1] its question is in the result."""
    row = InvalidRow("r", 3, 4, 5, "no answer", "raw text", question="How long?")
    found = run_case(plan_of(fake("m", Score("m", 1.0)), on_invalid=on_invalid), row)
    assert (found.outcome, found.invalid, found.errors) == (
        outcome,
        "no answer",
        {"row": "no answer"},
    )
    assert (found.index, found.row, found.line, found.raw) == (3, 4, 5, "raw text")
    assert (found.question, found.scores) == ("How long?", {"m": None})


def test_a_skipped_sample_is_not_scored(plan_of: Callable[..., Plan]) -> None:
    """E7."""
    made = plan_of(fake("m", RuntimeError("asked")))
    found = run_case(made, replace(SAMPLE, skip="later"))
    assert (found.outcome, found.scores, found.errors) == ("skipped", {"m": None}, {})


@pytest.mark.parametrize(
    ("says", "outcome"),
    [(Score("m", 0.1), "xfailed"), (Score("m", 0.9), "passed"), (ValueError(), "xfailed")],
)
def test_a_sample_that_is_expected_to_fail(
    plan_of: Callable[..., Plan], says: object, outcome: str
) -> None:
    """E7."""
    made = plan_of(fake("m", says), thresholds={"m": Bound(min=0.5)}, required=frozenset({"m"}))
    found: SampleResult = run_case(made, replace(SAMPLE, xfail="known"))
    assert found.outcome == outcome


def test_what_ends_a_test_or_a_program_is_an_error_of_the_metric(
    plan_of: Callable[..., Plan],
) -> None:
    """A20: or the sample would be skipped, and be missed by no gate. Ctrl-C gets through."""
    skipped = pytest.skip.Exception("no GPU here")
    made = plan_of(fake("m", Score("m", 1.0)), fake("n", skipped), fake("o", SystemExit(3)))
    result = score_case(made, SAMPLE)
    assert result.scores == {"m": 1.0, "n": None, "o": None}
    place = "(test_score_sample.py:31)"
    assert result.errors == {"n": f"Skipped: no GPU here {place}", "o": f"SystemExit: 3 {place}"}
    with pytest.raises(KeyboardInterrupt):
        score_case(plan_of(fake("m", KeyboardInterrupt())), SAMPLE)


@pytest.mark.parametrize("value", [7.0, float("nan")])
def test_a_score_that_cannot_be_keeps_the_word_that_the_sample_does_not_pass(value: float) -> None:
    """[F7] With weight 0 its error alone would leave the case green."""
    found = checked_score(MetricColumn("m"), Score("m", value, details={"passing": False}))
    assert (found.value, found.details) == (None, {"passing": False})
    assert found.error


@pytest.mark.parametrize(
    ("score", "error"),
    [
        (Score("m", 0.9, error="the judge is down"), "the judge is down"),
        (Score("m", 0.9, details={"passing": "False"}), "its details are unclear: passing is"),
    ],
)
def test_a_score_with_an_error_or_an_unclear_verdict_is_none(score: Score, error: str) -> None:
    """[F7] They were a score of 0.9, and passed."""
    found = checked_score(MetricColumn("m"), score)
    assert found.value is None
    assert (found.error or "").startswith(error)
