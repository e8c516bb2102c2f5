"""C6, A20, E8: one sample's judged metrics, asked at once and as often as the scenario says."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.clients.accounting import Purpose, current_purpose, in_flight
from pytest_rageval.clients.base import Message
from pytest_rageval.clients.errors import (
    AuthError,
    BudgetError,
    ClientError,
    RateLimitError,
    ReplayMissError,
)
from pytest_rageval.engine.plan import BoundMetric, ModelPlan, Plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.metrics.base import MetricInfo, Models
from pytest_rageval.model import MetricColumn, Sample, Score

SAMPLE = Sample("s", answer="x", references=("x",))
SCENARIO = "qa.rageval.yaml"
NOBODY = Models()


class Fake:
    """A judged metric that says, repeat for repeat, what it was told to say."""

    def __init__(self, *says: Any) -> None:
        self._says = says
        self.purposes: list[Purpose] = []

    async def ascore(self, sample: Sample, models: Models) -> Any:
        purpose = current_purpose()
        self.purposes.append(purpose)
        await asyncio.sleep(0)
        said = self._says[purpose.repeat % len(self._says)]
        if isinstance(said, BaseException):
            raise said
        return said


def fake(name: str, *says: Any, needs: str = "answer", version: int = 1) -> BoundMetric:
    scores = [Score(name, one) if isinstance(one, float) else one for one in says]
    info = MetricInfo(name, frozenset({needs}), version=version, asks=frozenset({"judge"}))
    return BoundMetric(MetricColumn(name), info, Fake(*scores))


@pytest.fixture
def plan_of(plan: Callable[..., Plan]) -> Callable[..., Plan]:
    """Return a function from judged metrics to a plan of em and them, asked ``repeats`` times."""

    def make(*metrics: BoundMetric, repeats: int = 1) -> Plan:
        made = plan("name: s\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
        both = (*made.metrics, *metrics)
        columns = tuple(metric.column for metric in both)
        info = replace(made.info, nodeid=SCENARIO, path=SCENARIO, metrics=columns)
        return replace(made, info=info, metrics=both, models=ModelPlan(repeats=repeats))

    return make


@pytest.fixture
def scores_of(plan_of: Callable[..., Plan]) -> Callable[..., dict[str, Score]]:
    """Return a function from judged metrics to the scores that they give the sample."""

    def score(*metrics: BoundMetric, repeats: int = 1) -> dict[str, Score]:
        return asyncio.run(judge_sample(plan_of(*metrics, repeats=repeats), SAMPLE, NOBODY))

    return score


Scores = Callable[..., dict[str, Score]]


def test_the_judged_metrics_are_scored_and_no_others(scores_of: Scores) -> None:
    """em asks nobody: it is not scored here."""
    found = scores_of(fake("a", 0.25), fake("b", 1.0))
    assert {name: score.value for name, score in found.items()} == {"a": 0.25, "b": 1.0}


def test_a_metric_that_lacks_a_field_is_not_asked(plan_of: Callable[..., Plan]) -> None:
    """A20: it costs nothing, and the scorer says what the row lacks."""
    metric = fake("a", 0.5, needs="contexts")
    made = plan_of(metric, fake("b", 0.5))
    found = asyncio.run(judge_sample(made, SAMPLE, NOBODY))
    assert list(found) == ["b"]
    assert metric.metric.purposes == []  # type: ignore[union-attr]
    result = score_case(made, SAMPLE, Judgement(found))
    assert result.scores == {"em": 1.0, "a": None, "b": 0.5}
    assert result.reasons == {"a": "the row has no contexts"}


def test_the_models_are_handed_on(plan_of: Callable[..., Plan]) -> None:
    seen: list[Models] = []

    class Looks(Fake):
        async def ascore(self, sample: Sample, models: Models) -> Any:
            seen.append(models)
            return Score("a", 1.0)

    metric = replace(fake("a"), metric=Looks())
    asyncio.run(judge_sample(plan_of(metric), SAMPLE, NOBODY))
    assert seen == [NOBODY]


def test_every_question_says_what_it_is_for(scores_of: Scores) -> None:
    """C6: metric, version and repeat are part of the cache's key, the sample explains a miss."""
    metric = fake("a", 0.5, version=7)
    scores_of(metric, repeats=3)
    assert metric.metric.purposes == [  # type: ignore[union-attr]
        Purpose("a", 7, 0, "s", scenario=SCENARIO),
        Purpose("a", 7, 1, "s", scenario=SCENARIO),
        Purpose("a", 7, 2, "s", scenario=SCENARIO),
    ]


def test_metrics_and_repeats_are_asked_at_once(scores_of: Scores) -> None:
    """E8: two metrics, two repeats each; none of the four ends before all have begun."""
    barrier = asyncio.Barrier(4)

    class Meets(Fake):
        async def ascore(self, sample: Sample, models: Models) -> Any:
            async with asyncio.timeout(60):
                await barrier.wait()
            return Score("", 1.0)

    metrics = [replace(fake(name), metric=Meets()) for name in "ab"]
    found = scores_of(*metrics, repeats=2)
    assert [score.value for score in found.values()] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (AuthError("judge 'm': the key is not accepted"), "judge 'm': the key is not accepted"),
        (MissingExtraError("pip install it"), "pip install it"),
        (ValueError("no number"), "ValueError: no number (test_judge_sample.py:48)"),
        (KeyError("verdicts"), "KeyError: 'verdicts' (test_judge_sample.py:48)"),
        (TimeoutError(), "TimeoutError (test_judge_sample.py:48)"),
        # These would end the event loop, with everybody in it, or look as if we had cancelled.
        (SystemExit("boom"), "SystemExit: boom (test_judge_sample.py:48)"),
        (KeyboardInterrupt(), "KeyboardInterrupt (test_judge_sample.py:48)"),
        (asyncio.CancelledError("its own"), "CancelledError: its own (test_judge_sample.py:48)"),
    ],
)
def test_what_a_metric_raises_is_its_error_on_this_sample(
    scores_of: Scores, raised: BaseException, error: str
) -> None:
    """A20: in words where they are ours, with the type where they are not; the others go on."""
    found = scores_of(fake("a", raised), fake("b", 0.5))
    assert (found["a"].value, found["a"].error) == (None, error)
    assert found["b"].value == 0.5


def test_an_error_after_retries_says_how_many(scores_of: Scores) -> None:
    """E10."""
    error = RateLimitError("judge 'm': rate limit", is_transient=True)
    error.attempts = 3
    assert scores_of(fake("a", error))["a"].error == "judge 'm': rate limit (3 attempts)"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Score("a", math.nan), "returned nan, which is no score"),
        (Score("a", 1.5), "1.5 is outside the range 0..1"),
        (0.5j, "returned 0.5j, not a Score"),
        (None, "returned None, not a Score"),
    ],
)
def test_what_is_no_score_is_an_error(scores_of: Scores, said: Any, error: str) -> None:
    """A20: NaN above all, which would pass every gate."""
    found = scores_of(fake("a", said))["a"]
    assert (found.value, found.error) == (None, error)


def test_a_score_goes_by_the_name_of_its_column(scores_of: Scores) -> None:
    assert scores_of(fake("a", Score("other", 1)))["a"] == Score("a", 1.0)


def test_a_metric_that_cannot_answer_says_why(scores_of: Scores) -> None:
    """A20: no claims is no zero."""
    said = Score("a", None, reason="no claims in the answer")
    assert scores_of(fake("a", said))["a"] == said


def test_cancelling_reaches_the_metric_and_comes_back(plan_of: Callable[..., Plan]) -> None:
    """Ctrl-C and -x: a cancelled sample has no scores, and no errors either."""
    log: list[str] = []
    began = asyncio.Event()

    class Waits(Fake):
        async def ascore(self, sample: Sample, models: Models) -> Any:
            began.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

    made = plan_of(replace(fake("a"), metric=Waits()))

    async def main() -> None:
        task = asyncio.ensure_future(judge_sample(made, SAMPLE, NOBODY))
        await began.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert log == ["cancelled"]


def test_one_repeat_is_a_score_like_any_other(scores_of: Scores) -> None:
    """C6: nothing is added to its details."""
    assert scores_of(fake("a", 0.5), repeats=1)["a"] == Score("a", 0.5)


def test_repeats_give_mean_spread_and_every_value(scores_of: Scores) -> None:
    """C6: of 0.2, 0.4, 0.9: mean 1.5/3; deviations -.3, -.1, .4, spread √((.09+.01+.16)/2)."""
    score = scores_of(fake("a", 0.2, 0.4, 0.9), repeats=3)["a"]
    assert score.value == pytest.approx(0.5, abs=1e-15)
    assert score.details is not None
    repeats: Any = score.details["repeats"]
    assert repeats["values"] == [0.2, 0.4, 0.9]
    assert repeats["spread"] == pytest.approx(math.sqrt(0.13), abs=1e-15)


def test_repeats_that_agree_spread_by_nothing(scores_of: Scores) -> None:
    """C6."""
    score = scores_of(fake("a", 0.1), repeats=3)["a"]
    assert score.value == pytest.approx(0.1, abs=1e-15)
    assert score.details == {"repeats": {"values": [0.1, 0.1, 0.1], "spread": 0.0}}


def test_the_details_and_reason_of_the_first_scored_repeat_stand(scores_of: Scores) -> None:
    """C6: what the judge said is shown, not lost among the repeats."""
    says = [
        Score("a", 0.0, reason="unsupported", details={"claims": ["one"]}),
        Score("a", 1.0, reason="supported", details={"claims": ["two"]}),
    ]
    score = scores_of(fake("a", *says), repeats=2)["a"]
    assert score.reason == "unsupported"
    assert score.details == {
        "claims": ["one"],
        # √((.25 + .25)/1)
        "repeats": {"values": [0.0, 1.0], "spread": pytest.approx(math.sqrt(0.5))},
    }


def test_a_repeat_without_a_score_is_left_out_and_told(scores_of: Scores) -> None:
    """C6, A20: (0.2 + 0.6)/2, not (0 + 0.2 + 0.6)/3."""
    score = scores_of(fake("a", ClientError("away"), 0.2, 0.6), repeats=3)["a"]
    assert score.value == pytest.approx(0.4, abs=1e-15)
    assert score.error == "2 of 3 repeats scored: away"
    assert score.reason is None
    assert score.details is not None
    repeats: Any = score.details["repeats"]
    assert repeats["values"] == [None, 0.2, 0.6]
    assert repeats["spread"] == pytest.approx(math.sqrt(0.08), abs=1e-15)


@pytest.mark.parametrize(
    ("stopped", "error"),
    [
        (BudgetError("the budget of 1 USD is spent"), "budget: the budget of 1 USD is spent"),
        (ReplayMissError("no reply in the cache"), "replay: no reply in the cache"),
    ],
)
def test_a_repeat_that_the_run_did_not_ask_for_leaves_no_score(
    scores_of: Scores, stopped: ClientError, error: str
) -> None:
    """E8, E9, E10: the mean of the others is of fewer repeats than the scenario asks for."""
    for says in ((0.2, stopped, 0.6), (stopped, 0.2, 0.6), (ClientError("away"), 0.2, stopped)):
        score = scores_of(fake("a", *says), repeats=3)["a"]
        assert (score.value, score.error) == (None, error)


def test_every_failure_of_a_repeat_is_told_once(scores_of: Scores) -> None:
    """[R8] The reason stays what the judge said; one score has no spread, which is not 0."""
    said = Score("a", 0.7, reason="well supported")
    failures = (ClientError("away"), ClientError("late"), ClientError("away"))
    score = scores_of(fake("a", *failures, said), repeats=4)["a"]
    assert (score.value, score.reason) == (0.7, "well supported")
    assert score.error == "1 of 4 repeats scored: away; late"
    assert score.details == {"repeats": {"values": [None, None, None, 0.7], "spread": None}}


def test_where_the_first_repeat_has_nothing_to_say_another_one_does(scores_of: Scores) -> None:
    """Else a mean of 0.5 below its threshold would stand there without a word."""
    says = (Score("a", 1.0), Score("a", 0.0, reason="[2] does not say so"))
    score = scores_of(fake("a", *says), repeats=2)["a"]
    assert (score.value, score.reason) == (0.5, "in repeat 2 of 2: [2] does not say so")


def test_one_scored_repeat_has_no_spread_to_speak_of(scores_of: Scores) -> None:
    """C6."""
    silent = Score("a", None, reason="no claims")
    score = scores_of(fake("a", 0.7, silent), repeats=2)["a"]
    assert (score.value, score.reason) == (0.7, "1 of 2 repeats scored: no claims")
    assert score.details == {"repeats": {"values": [0.7, None], "spread": None}}


@pytest.mark.parametrize(
    ("said", "passing"),
    [
        ([False, True, True], True),
        ([True, False, False], False),
        ([True, False], False),
        ([True, None, False, None], False),
        ([None, True], True),
    ],
)
def test_repeats_pass_when_most_of_them_do(
    scores_of: Scores, said: list[bool | None], passing: bool
) -> None:
    """[F7] The first one decided; a tie does not pass, and what says nothing does not count."""
    for value in (0.5, None):
        repeats = [Score("a", value, details={"passing": one}) for one in said]
        score = scores_of(fake("a", *repeats), repeats=len(said))["a"]
        assert score.details is not None
        assert score.details["passing"] is passing


def test_when_no_repeat_has_a_score_the_metric_is_unscored(scores_of: Scores) -> None:
    """C6, A20."""
    score = scores_of(fake("a", ClientError("away")), repeats=3)["a"]
    assert (score.value, score.error) == (None, "away")


def test_repeats_of_nan_are_errors_not_values(scores_of: Scores) -> None:
    """C6, A20: only the 0.5 counts."""
    score = scores_of(fake("a", Score("a", math.nan), 0.5), repeats=2)["a"]
    assert score.value == 0.5
    assert score.details is not None
    repeats: Any = score.details["repeats"]
    assert repeats["values"] == [None, 0.5]


@pytest.mark.parametrize("error", [None, ValueError("the first one failed"), SystemExit()])
def test_calls_that_a_metric_leaves_behind_end_before_its_score_is_there(
    error: Exception | None, plan_of: Callable[..., Plan]
) -> None:
    """E9, E10: they are paid for, so they are to be counted, and their replies kept."""
    ended: list[int] = []

    async def call(number: int) -> None:
        with in_flight():
            for _ in range(10 * number):
                await asyncio.sleep(0)
            ended.append(number)

    class Leaves(Fake):
        async def ascore(self, sample: Sample, models: Models) -> Any:
            self.left = [asyncio.create_task(call(number)) for number in (1, 2)]
            await asyncio.sleep(0)
            if error is not None:
                raise error
            return Score("a", 1.0)

    metric = replace(fake("a"), metric=Leaves())
    scores = asyncio.run(judge_sample(plan_of(metric), SAMPLE, NOBODY))
    assert ended == [1, 2]
    assert (scores["a"].value is None) == (error is not None)


def test_a_judge_that_is_asked_knows_for_whom(plan_of: Callable[..., Plan]) -> None:
    """E10: through the client too, in tasks that the metric starts."""
    purposes: list[Purpose] = []

    class Notes:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            purposes.append(current_purpose())

    class Asks(Fake):
        async def ascore(self, sample: Sample, models: Models) -> Any:
            assert models.judge is not None
            await asyncio.gather(*(models.judge.complete([Message("user", "?")]) for _ in "12"))
            return Score("a", 1.0)

    metric = replace(fake("a"), metric=Asks())
    asyncio.run(judge_sample(plan_of(metric), SAMPLE, Models(judge=Notes())))
    assert purposes == [Purpose("a", 1, 0, "s", scenario=SCENARIO)] * 2


def test_a_metric_that_hides_a_failed_call_has_failed(plan_of: Callable[..., Plan]) -> None:
    """G1: None means that it does not apply; here the judge was away."""

    class Hides:
        async def ascore(self, sample: Sample, models: Models) -> Score:
            try:
                with in_flight():
                    raise ClientError("the judge is away")
            except ClientError:
                return Score("a", None, reason="nothing to say")

    info = MetricInfo("a", frozenset({"answer"}), asks=frozenset({"judge"}))
    made = plan_of(BoundMetric(MetricColumn("a"), info, Hides()))
    (found,) = asyncio.run(judge_sample(made, SAMPLE, NOBODY)).values()
    assert (found.value, found.error) == (None, "the judge is away")
