"""E19: samples go ahead, scores come back in any order, and what is lost is said to be."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

import pytest
from scripted_workers import PromptWorkers, ScriptedWorkers, SilentWorkers

from pytest_rageval import ScenarioResult, UserError, evaluate, evaluate_variants
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.evaluate import evaluate_plan
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.remote import sending
from pytest_rageval.engine.remote.packing import (
    Refused,
    Scored,
    pack_reply,
    scores_alone,
    unpack_samples,
)
from pytest_rageval.engine.remote.sending import LostSampleError, SentAhead, prepared
from pytest_rageval.engine.remote.worker import score_packed
from pytest_rageval.executors.base import UserWorkers, Workers
from pytest_rageval.model import Sample, Score

MakePlan = Callable[..., Plan]
TEXT = """
name: s
metrics: [em, {use: 'worker_metrics:moody'}]
gates: {em: 0.1}
dataset:
  - {id: a, answer: x, references: [x]}
  - {id: b, answer: y, references: [x]}
  - {id: c, answer: x, references: [x], skip: later}
  - {id: d, answer: x, references: [x]}
  - {id: e, answer: [not, text], references: [x]}
"""


@pytest.fixture
def four(plan: MakePlan) -> Plan:
    """Return a plan of three samples that are scored, one skipped, one row invalid."""
    return plan(TEXT)


@pytest.fixture(autouse=True)
def _singly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every sample be a chunk of its own."""
    monkeypatch.setattr(sending.ChunkSize, "next", lambda *_: 1)


def scored(plan: Plan, workers: Workers, **options: Any) -> ScenarioResult:
    return evaluate_plan(plan, RunSettings(), workers=workers, **options).result


def test_only_what_is_scored_is_sent_and_only_once(four: Plan) -> None:
    workers = ScriptedWorkers(3)
    result = scored(four, workers)
    assert workers.sent == [["a"], ["b"], ["d"]]
    assert [sample.outcome for sample in result.samples] == ["passed"] * 2 + [
        "skipped",
        "passed",
        "error",
    ]
    assert result.metrics["em"].mean == pytest.approx(2 / 3)
    assert result.complete
    assert workers.closed == 0  # it is the caller's


def _made_up(_: str, __: bytes, samples: bytes) -> bytes:
    """Give every sample 0.125 and 0.25."""
    count = len(unpack_samples(samples))
    return pack_reply(Scored([0.5] * count, [[0.125, 0.25]] * count))


def test_scores_are_the_workers_and_not_computed_again(
    plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "score_packed", _made_up)
    result = scored(plan(TEXT.replace("{use: 'worker_metrics:moody'}", "f1")), ScriptedWorkers(3))
    assert result.metrics["em"].mean == 0.125
    assert result.samples[0].scores == {"em": 0.125, "f1": 0.25}
    assert result.samples[0].latency_s == pytest.approx(0.5, abs=0.1)


def test_a_metric_of_the_users_that_scores_otherwise_there_makes_the_run_red(
    four: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that reads what only pytest's process has: 0.25 there is 1 here. em is ours."""
    monkeypatch.setattr(sending, "score_packed", _made_up)
    result = scored(four, ScriptedWorkers(3))
    assert [sample.sample_id for sample in result.samples] == ["c", "e"]
    assert {gate.outcome for gate in result.gates} == {"failed"}
    (remark,) = result.info.remarks
    assert remark.startswith(
        "3 samples lost by scripted://: moody of a is 0.25 in the worker and 1 here: a metric must "
    )


def test_some_samples_that_a_metric_can_score_are_compared(
    plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first three, the middle one, the last; ``picky`` needs contexts: q0 and q4 have none."""
    seen: list[tuple[str, list[str]]] = []

    def watched(made: Plan, sample: Sample) -> list[Score]:
        seen.append((sample.id, [one.column.name for one in made.metrics]))
        return scores_alone(made, sample)

    monkeypatch.setattr(sending, "scores_alone", watched)
    rows = [
        {"id": f"q{at}", "answer": "x", **({} if at in (0, 4) else {"contexts": ["c"]})}
        for at in range(8)
    ]
    picky = {"use": "worker_metrics:deadly", "name": "picky", "needs": ["contexts"]}
    metrics = [{"use": "worker_metrics:moody"}, picky]
    made = plan(json.dumps({"name": "s", "metrics": metrics, "dataset": rows}))
    assert scored(made, ScriptedWorkers(8)).metrics["picky"].mean == 1.0
    assert seen == [
        ("q0", ["moody"]),
        ("q1", ["moody", "picky"]),
        ("q2", ["moody", "picky"]),
        ("q3", ["picky"]),
        ("q4", ["moody"]),
        ("q5", ["picky"]),
        ("q7", ["moody", "picky"]),
    ]


@pytest.mark.parametrize(
    ("here", "told"),
    [
        (Score("moody", 1.0, details={"passing": False}), "is 1 (passing True) in the worker"),
        (Score("moody", None, error="ValueError: x"), "and none (ValueError: x) here"),
    ],
    ids=["passing", "error"],
)
def test_more_than_the_number_is_compared(
    here: Score, told: str, plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the metric itself passes the sample, and whether it failed."""
    there = Score(
        "moody", 1.0 if here.details else None, details=here.details and {"passing": True}
    )
    monkeypatch.setattr(sending, "scores_alone", lambda *_: [here])
    row = "[{answer: x}]"
    made = plan(f"name: s\nmetrics: [{{use: 'worker_metrics:moody'}}]\ndataset: {row}\n")
    found = sending.Comparison(made, made.asked_samples)
    assert told in found.difference(made.asked_samples[0], {"moody": there})


@pytest.mark.parametrize(("tokenizer", "is_compared"), [("jieba", True), ("char", False)])
def test_a_metric_that_splits_by_jieba_is_compared(
    tokenizer: str, is_compared: bool, plan: MakePlan
) -> None:
    """Whatever a process changes in jieba, beside its words: f1 of equal texts is 1 here."""
    pytest.importorskip("jieba")
    row = "[{answer: 石墨烯, references: [石墨烯]}]"
    made = plan(f"name: s\nmetrics: [{{f1: {{tokenizer: {tokenizer}}}}}]\ndataset: {row}\n")
    found = sending.Comparison(made, made.asked_samples)
    told = found.difference(made.asked_samples[0], {"f1": Score("f1", 0.5)})
    assert ("is 0.5 in the worker and 1 here" in told) == is_compared


def test_threads_of_one_process_call_a_users_metric_one_at_a_time(plan: MakePlan) -> None:
    rows = [{"id": f"q{at}", "answer": "x"} for at in range(8)]
    metrics = [{"use": "worker_metrics:scratch"}]
    made = plan(json.dumps({"name": "s", "metrics": metrics, "dataset": rows}))
    with ThreadPoolExecutor(4) as executor:
        result = scored(made, UserWorkers(executor))
    assert result.metrics["scratch"].mean == 1.0
    assert result.complete


@dataclass(frozen=True)
class Tagged(Sample):
    """What a hook may return: a sample with a field of its own."""

    tag: str = ""


def test_a_sample_of_another_class_is_scored_here(four: Plan) -> None:
    """Of it, only what every sample has would arrive."""
    tagged = Tagged("b", 1, answer="y", references=("x",), tag="t")
    odd = [tagged if case.id == "b" else case for case in four.cases]
    workers = PromptWorkers()
    result = scored(replace(four, cases=odd), workers)
    assert workers.sent == [["a"], ["d"]]
    assert result.metrics["em"].mean == pytest.approx(2 / 3)
    assert result.complete


def test_a_chunk_that_fails_is_sent_again(four: Plan) -> None:
    workers = ScriptedWorkers(3, failing=[1])
    assert scored(four, workers).complete
    assert workers.sent == [["a"], ["b"], ["d"], ["b"]]


def test_what_stays_lost_is_named_and_fails_every_gate(four: Plan) -> None:
    """The others have their figures: em 1 for a and d."""
    result = scored(four, ScriptedWorkers(3, lost=[1]))
    assert [sample.sample_id for sample in result.samples] == ["a", "c", "d", "e"]
    assert not result.complete
    assert {gate.name: gate.outcome for gate in result.gates} == {
        "em.mean": "failed",
        "unscored": "failed",
    }
    assert "4 of 5 samples ran" in result.gates[0].message
    assert result.gates[0].message.endswith("1 lost (a worker crashed?): b")
    assert result.info.remarks == (
        "1 sample lost by scripted://: ConnectionError: the worker is gone",
    )


def test_a_scenario_without_gates_is_red_too(plan: MakePlan) -> None:
    result = scored(plan(TEXT.replace("gates: {em: 0.1}\n", "")), ScriptedWorkers(3, lost=[0]))
    assert [gate.outcome for gate in result.gates] == ["failed"]


def test_a_part_of_the_data_that_loses_a_sample_is_red_as_well(four: Plan) -> None:
    """With ``--rag-limit`` gates are skipped; not where a sample was lost."""
    part = replace(four, left_out=7).as_part()
    assert {gate.outcome for gate in scored(part, ScriptedWorkers(3)).gates} == {"skipped"}
    lost = scored(part, ScriptedWorkers(3, lost=[0]))
    assert {gate.outcome for gate in lost.gates} == {"failed"}


def test_chunks_are_repeated_alone(four: Plan) -> None:
    """One of them may end the worker: the next goes once the one before has failed again."""

    class Watched(ScriptedWorkers):
        def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
            future = super().submit(function, *given)
            under_way.append(len(ahead._under_way))
            return future

    under_way: list[int] = []
    ahead = SentAhead(four, Watched(3, lost=[0, 2]), four.asked_samples)
    for sample in four.asked_samples:
        if sample.id == "b":
            assert ahead.take(sample, lambda: None) is not None
        else:
            with pytest.raises(LostSampleError):
                ahead.take(sample, lambda: None)
    assert under_way == [0, 1, 2, 0, 0]


def test_a_sample_that_ends_its_worker_takes_no_other_along(
    plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight samples in one chunk, of which the sixth is deadly: found by halves of it."""
    monkeypatch.setattr(sending.ChunkSize, "next", lambda *_: 8)
    monkeypatch.setattr(sending, "score_packed", _deadly)
    rows = [{"id": name, "answer": "x", "references": ["x"]} for name in "abcdefgh"]
    workers = PromptWorkers()
    result = scored(plan(json.dumps({"name": "s", "metrics": ["em"], "dataset": rows})), workers)
    assert [sample.sample_id for sample in result.samples] == list("abcdegh")
    assert [len(chunk) for chunk in workers.sent] == [8, 8, 4, 4, 2, 1, 1, 2]
    assert workers.sent[5:7] == [["e"], ["f"]]


def test_where_every_chunk_fails_the_halving_ends(
    plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two chunks of 100, then 16 chunks that are sent alone; nothing has worked."""
    monkeypatch.setattr(sending.ChunkSize, "next", lambda *_: 100)
    monkeypatch.setattr(sending, "score_packed", _gone)
    rows = [{"id": f"q{at}", "answer": "x", "references": ["x"]} for at in range(200)]
    workers = PromptWorkers()
    result = scored(plan(json.dumps({"name": "s", "metrics": ["em"], "dataset": rows})), workers)
    assert not result.samples
    assert len(workers.sent) == 2 + 16
    assert result.info.remarks[-1].endswith(
        " samples lost by scripted://: given up after 16 failures in a row, the last one: "
        "ConnectionError: the worker is gone"
    )
    assert sum(int(remark.partition(" ")[0]) for remark in result.info.remarks) == 200
    assert {gate.outcome for gate in result.gates} == {"failed"}


def _deadly(version: str, recipe: bytes, samples: bytes) -> bytes:
    if any(sample.id == "f" for sample in unpack_samples(samples)):
        raise ConnectionError("the worker is gone")
    return score_packed(version, recipe, samples)


def _gone(version: str, recipe: bytes, samples: bytes) -> bytes:
    if unpack_samples(samples):
        raise ConnectionError("the worker is gone")
    return score_packed(version, recipe, samples)


def test_nothing_is_sent_beside_a_chunk_that_is_repeated(four: Plan) -> None:
    """One worker has room for two: a and b. While a goes again, d waits."""
    workers = SilentWorkers()
    workers.count = 1
    ahead = SentAhead(four, workers, four.asked_samples)
    ahead._fill()
    assert workers.sent == [["a"], ["b"]]
    workers.waiting[0].set_exception(ConnectionError("gone"))
    ahead._go_on()
    ahead._fill()
    assert workers.sent == [["a"], ["b"]]  # b is under way
    workers.waiting[1].set_exception(ConnectionError("gone"))
    ahead._go_on()
    workers._known.clear()  # else it would reply at once
    ahead._fill()
    ahead._fill()
    assert workers.sent == [["a"], ["b"], ["a"]]
    ahead.close()


def test_an_engine_that_is_gone_loses_all_that_is_left(four: Plan) -> None:
    result = scored(four, SilentWorkers("no worker is left"))
    assert [sample.sample_id for sample in result.samples] == ["c", "e"]
    assert {gate.outcome for gate in result.gates} == {"failed"}
    assert result.info.remarks == ("3 samples lost by scripted://: no worker is left",)


def test_ctrl_c_cancels_what_is_under_way(four: Plan) -> None:
    """It comes while nothing arrives: within the half second after which is looked again."""
    workers = SilentWorkers()

    class Interrupting(SentAhead):
        def _go_on(self) -> None:
            self._fill()
            raise KeyboardInterrupt

    ahead = Interrupting(four, workers, four.asked_samples)
    with pytest.raises(KeyboardInterrupt):
        ahead.take(four.asked_samples[0], lambda: None)
    ahead.close()
    assert len(workers.waiting) == 3
    assert all(future.cancelled() for future in workers.waiting)


def test_an_exception_in_progress_cancels_too(four: Plan) -> None:
    """What evaluate promises of progress holds for workers."""
    workers = ScriptedWorkers(3)

    def stop(done: int, total: int) -> None:
        if done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        scored(four, workers, progress=stop)


def test_progress_counts_what_is_lost(four: Plan) -> None:
    """It ends with all cases: c and e need no worker, b is lost."""
    seen: list[tuple[int, int]] = []
    scored(four, ScriptedWorkers(3, lost=[1]), progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (5, 5)


def test_progress_counts_what_has_arrived(four: Plan) -> None:
    """From 0 to all, never back: three arrive, though the first is still waited for."""
    seen: list[int] = []
    scored(four, ScriptedWorkers(3, order=[2, 1, 0]), progress=lambda done, _: seen.append(done))
    assert seen == sorted(set(seen))
    assert seen[0] == 0
    assert seen[-1] == 5


def test_a_sample_that_cannot_be_packed_is_scored_here(four: Plan) -> None:
    """A hook may have put anything into it; its score is as good."""
    odd = [
        replace(case, metadata={"held": lambda: 1}) if case.id == "b" else case
        for case in four.cases
    ]
    workers = ScriptedWorkers(2)
    result = scored(replace(four, cases=odd), workers)
    assert workers.sent == [["a"], ["d"]]
    assert result.metrics["em"].mean == pytest.approx(2 / 3)
    assert result.complete


def test_scores_are_handed_over_once(four: Plan) -> None:
    """A plugin may run a case again: it is scored here then."""
    samples = four.asked_samples
    ahead = SentAhead(four, ScriptedWorkers(3), samples)
    assert ahead.take(samples[2], lambda: None) is not None
    assert ahead.take(samples[2], lambda: None) is None
    assert ahead.take(Sample("new", 99), lambda: None) is None
    assert ahead.finished == 3


def test_a_reply_of_another_length_is_none(four: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores would belong to other samples."""
    monkeypatch.setattr(sending, "score_packed", lambda *_: pack_reply(Scored()))
    result = scored(four, ScriptedWorkers(3))
    assert "another number of samples" in result.info.remarks[0]
    assert {gate.outcome for gate in result.gates} == {"failed"}


def test_a_reply_that_cannot_be_read_is_none(four: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = SentAhead(four, ScriptedWorkers(3), four.asked_samples)
    monkeypatch.setattr(sending, "score_packed", lambda *_: b"\x80garbage")
    with pytest.raises(LostSampleError, match="unsupported pickle protocol"):
        ahead.take(four.asked_samples[0], lambda: None)


def test_a_worker_of_another_version_makes_the_run_red(
    four: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that came later than the first question, for instance."""
    ahead = SentAhead(four, ScriptedWorkers(3), four.asked_samples)
    refused = pack_reply(Refused("the worker has pytest-rageval 0.9"))
    monkeypatch.setattr(sending, "score_packed", lambda *_: refused)
    with pytest.raises(LostSampleError, match=r"the worker has pytest-rageval 0\.9"):
        ahead.take(four.asked_samples[0], lambda: None)


# Before the first sample


def test_workers_load_what_they_need_at_the_same_time(four: Plan) -> None:
    """As many are asked as there are samples to score: three of 1,000."""
    asked = 0

    class Counting(ScriptedWorkers):
        def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
            nonlocal asked
            asked += 1
            return super().submit(function, *given)

    prepared(four, Counting(3))
    assert asked == 3


def test_metrics_that_workers_lack_are_an_error_with_what_to_write(
    four: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "metrics[0]: unknown metric 'mine'. Workers import your metrics themselves"
    refused = pack_reply(Refused(reason))
    monkeypatch.setattr(sending, "score_packed", lambda *_: refused)
    with pytest.raises(UserError) as caught:
        prepared(four, ScriptedWorkers(3))
    assert str(caught.value) == (
        f"s.yaml: {reason} (so the workers of scripted://); or run without them"
    )


def test_a_scenario_that_a_target_answers_is_scored_here(plan: MakePlan) -> None:
    """As soon as an answer is there; nothing is asked of the workers."""
    made = plan(
        "name: s\nmetrics: [em]\ntarget: 'fake_app:answered'\n"
        "dataset: [{references: [x], question: q}]\n"
    )
    assert prepared(made, SilentWorkers()) is made


def test_metrics_of_all_samples_at_once_stay_here(plan: MakePlan) -> None:
    """Ranking: no sample is sent for it."""
    made = plan(
        "name: s\nmetrics: [recall@1, em]\n"
        "dataset: [{answer: x, references: [x], retrieved_ids: [a], reference_ids: {a: 1}}]\n"
    )
    assert prepared(made, ScriptedWorkers(1)).remote == {"em"}


# Any executor


class Broken(Executor):
    """A pool of the user's whose worker is gone."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenProcessPool("a child ended")


class BreaksLater(ThreadPoolExecutor):
    """Answers whether the metrics are there, and then breaks."""

    asked = 0
    works = 1  # of one worker, so it is asked once

    def submit(self, *given: Any, **named: Any) -> Any:
        self.asked += 1
        if self.asked > self.works:
            raise BrokenProcessPool("a child ended")
        return super().submit(*given, **named)


def test_threads_score_as_this_process_does(four: Plan, write: Callable[..., Any]) -> None:
    plain = evaluate(write(TEXT))
    with ThreadPoolExecutor(2) as executor:
        found = evaluate(write(TEXT), executor=executor)
        assert executor.submit(os.getpid).result() == os.getpid()  # it is left open
    assert found.gates == plain.gates
    assert [one.scores for one in found.samples] == [one.scores for one in plain.samples]


def test_a_broken_pool_is_named_before_the_first_sample(write: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="BrokenProcessPool: a child ended.*workers of Broken"):
        evaluate(write(TEXT), executor=Broken())


def test_of_a_broken_pool_it_is_said_what_is_the_matter(write: Callable[..., Any]) -> None:
    """Not that a metric is missing; nor of one that is shut down."""
    with pytest.raises(UserError, match="broken: make a new one.*__main__.*; or run") as caught:
        evaluate(write(TEXT), executor=Broken())
    assert "use:" not in str(caught.value)
    over = ThreadPoolExecutor(1)
    over.shutdown()
    with pytest.raises(UserError, match="is shut down: make a new one"):
        evaluate(write(TEXT), executor=over)


def test_variants_go_on_where_one_broke_the_pool(write: Callable[..., Any]) -> None:
    """The first one has its result; all of the second is lost, and red."""
    text = "name: s\nmetrics: [em]\ndataset: [{id: a, answer: x, references: [x]}]\n"
    path = write(f"{text}variants: {{one: {{}}, two: {{metrics: [em, f1]}}}}\n")

    class BreaksOverASample(ThreadPoolExecutor):
        has_scored = False

        def submit(self, *given: Any, **named: Any) -> Any:
            if self.has_scored:
                raise BrokenProcessPool("a child ended")
            self.has_scored = bool(unpack_samples(given[3]))
            return super().submit(*given, **named)

    with BreaksOverASample(1) as executor:
        found = evaluate_variants(path, executor=executor)
    assert found.results["one"].complete
    assert repr(found)
    assert [gate.outcome for gate in found.results["one"].gates] == []
    assert not found.results["two"].complete
    assert {gate.outcome for gate in found.results["two"].gates} == {"failed"}


def test_an_executor_that_returns_no_future_loses_its_samples(write: Callable[..., Any]) -> None:
    class Forgetful(BreaksLater):
        def submit(self, *given: Any, **named: Any) -> Any:
            return super().submit(*given, **named) if self.asked < self.works else None

    with Forgetful(1) as executor:
        result = evaluate(write(TEXT), executor=executor)
    assert {gate.outcome for gate in result.gates} == {"failed"}
    assert result.info.remarks[0].startswith("3 samples lost by Forgetful: AttributeError: ")


def test_a_pool_that_breaks_makes_the_run_red(write: Callable[..., Any]) -> None:
    with BreaksLater(1) as executor:
        result = evaluate(write(TEXT), executor=executor)
    assert {gate.outcome for gate in result.gates} == {"failed"}
    assert result.info.remarks == (
        "3 samples lost by BreaksLater: BrokenProcessPool: a child ended",
    )


@pytest.mark.full
def test_an_open_pool_that_has_an_older_module_is_refused(write: Callable[..., Any]) -> None:
    """It would score with code that is in no file any more."""
    code = "def polite(sample):\n    return {}\n"
    text = "name: s\nmetrics: [{use: 'pool_metrics:polite'}]\ndataset: [{answer: x}]\n"
    path = write(text, {"pool_metrics.py": code.format(1.0)})
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        assert evaluate(path, executor=executor).metrics["polite"].mean == 1.0
        path.with_name("pool_metrics.py").write_text(code.format(0.25), "utf-8")
        importlib.reload(sys.modules["pool_metrics"])
        with pytest.raises(UserError, match="another 'pool_metrics' .*: restart the worker"):
            evaluate(path, executor=executor)


def test_something_else_is_no_executor(write: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="executor: expected an Executor .* found .* type str"):
        evaluate(write(TEXT), executor="processes://2")  # type: ignore[arg-type]
