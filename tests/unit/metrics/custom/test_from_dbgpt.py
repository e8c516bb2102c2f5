"""B10: metrics written for DB-GPT's evaluation, on its contract."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.clients.base import Accept, Message, Reply
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.declaration import Declaration, metric
from pytest_rageval.metrics.custom.from_python import define_metric
from pytest_rageval.metrics.custom.signature import CustomMetricError
from pytest_rageval.metrics.dbgpt import (
    EvaluationMetric,
    EvaluationResult,
    LLMEvaluationMetric,
    RetrieverEvaluationMetric,
)
from pytest_rageval.model import Sample, Score

SAMPLE = Sample(
    "s",
    question="How long?",
    answer="30 days",
    contexts=("Returns: 30 days.", "Open on Sunday."),
    references=("thirty days", "30 days"),
    reference_contexts=("Returns: 30 days.",),
)


class Judge:
    """Says its replies one after the other; asks itself again when one is refused."""

    def __init__(self, *replies: str) -> None:
        self._replies = list(replies)
        self.prompts: list[str] = []

    async def complete(
        self, messages: Sequence[Message], *, schema: Any = None, accept: Accept | None = None
    ) -> Reply:
        self.prompts.append(messages[-1].content)
        while True:
            text = self._replies.pop(0)
            try:
                assert accept is not None
                accept(text)
            except ValueError:
                continue
            return Reply(text)


def score(found: object, judge: Judge | None = None, **options: Any) -> Score:
    definition = define_metric(found, "own", "my:own", Declaration(range=(0, 5)))
    made: Any = definition.make("shown", definition.options.model_validate(options))
    if definition.info.is_judged:
        awaited: Score = asyncio.run(made.ascore(SAMPLE, Models(judge)))
        return awaited
    scored: Score = made.score(SAMPLE, ScoringContext())
    return scored


def needs(found: object) -> set[str]:
    return set(define_metric(found, "own").info.needs)


class HitRate(RetrieverEvaluationMetric):
    def sync_compute(self, prediction: Any, contexts: Any = None, query: Any = None) -> Any:
        assert query == "How long?"
        hit = any(context in prediction for context in contexts)
        return EvaluationResult(score=float(hit), feedback="found it", passing=hit)


class Share(RetrieverEvaluationMetric):
    """Takes no query, returns a number, and has an option."""

    def __init__(self, of: int = 1) -> None:
        self.of = of

    def sync_compute(self, prediction: Any, contexts: Any = None) -> float:  # type: ignore[override]
        return len(contexts) / len(prediction) / self.of


class Exact(EvaluationMetric):
    def sync_compute(self, prediction: Any, contexts: Any = None, query: Any = None) -> float:
        return float(prediction in contexts)


class Later(RetrieverEvaluationMetric):
    async def compute(self, prediction: Any, contexts: Any = None, query: Any = None) -> Any:
        await asyncio.sleep(0)
        return EvaluationResult(score=len(prediction) + len(contexts))


class Relevancy(LLMEvaluationMetric):
    prompt_template = "Q: {query} C: {context} A: {answer} {other}"

    def _parse_evaluate_response(self, text: str) -> EvaluationResult:
        number, _, why = text.partition("\n")
        return EvaluationResult(score=float(number), feedback=why)


# As DB-GPT itself has them: other modules, a client of its own, an abstract base.


def foreign_bases() -> SimpleNamespace:
    class EvaluationMetric:
        def name(self) -> str:
            return type(self).__name__

        def sync_compute(self, prediction: Any, contexts: Any, query: Any = None) -> Any:
            raise NotImplementedError

        async def compute(self, prediction: Any, contexts: Any, query: Any = None) -> Any:
            raise NotImplementedError

    class LLMEvaluationMetric(EvaluationMetric):
        def __init__(self, llm_client: Any, model_name: str | None = None) -> None:
            self.llm_client = llm_client

        def _parse_evaluate_response(self, text: str) -> Any:
            raise NotImplementedError

    class RetrieverEvaluationMetric(EvaluationMetric):
        pass

    return SimpleNamespace(
        **{
            kind.__name__: kind
            for kind in (EvaluationMetric, LLMEvaluationMetric, RetrieverEvaluationMetric)
        }
    )


@dataclass
class ForeignResult:
    score: Any
    passing: Any = True
    feedback: Any = None


class TestComputing:
    def test_the_retriever_gets_what_was_found_and_what_was_expected(self) -> None:
        expected = Score("", 1.0, "found it", {"passing": True})
        assert score(HitRate) == expected
        assert score(HitRate()) == expected
        assert needs(HitRate) == {"contexts", "reference_contexts"}

    def test_without_a_query_and_with_options(self) -> None:
        assert score(Share).value == 0.5
        assert score(Share, of=2).value == 0.25

    def test_another_metric_gets_the_answer_and_the_references(self) -> None:
        assert score(Exact).value == 1.0
        assert needs(Exact) == {"answer"}

    @pytest.mark.parametrize(
        ("sample", "expected"),
        [
            (SAMPLE, ["thirty days", "30 days"]),
            (replace(SAMPLE, references=None), ["Returns: 30 days."]),
            (
                replace(SAMPLE, references=None, reference_contexts=None),
                ["Returns: 30 days.", "Open on Sunday."],
            ),
            (Sample("s", answer="x"), []),
        ],
    )
    def test_an_answer_is_held_against_what_the_data_have(
        self, sample: Sample, expected: list[str]
    ) -> None:
        seen: list[Any] = []

        class Looks(EvaluationMetric):
            def sync_compute(self, prediction: Any, contexts: Any = None, query: Any = None) -> Any:
                seen.append((prediction, contexts))
                return 1.0

        definition = define_metric(Looks(), "own")
        made: Any = definition.make("m", definition.options())
        made.score(sample, ScoringContext())
        assert seen == [(sample.answer, expected)]

    def test_an_async_one_is_awaited(self) -> None:
        assert score(Later).value == 3
        assert define_metric(Later, "own").info.is_judged
        assert not define_metric(Later, "own").info.asks

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            (ForeignResult(1.0), Score("", 1.0, None, {"passing": True})),
            (ForeignResult(0.5, None, "why"), Score("", 0.5, "why")),
            (
                ForeignResult(None, False),
                Score("", None, "the metric returned None", {"passing": False}),
            ),
            (0.5, Score("", 0.5)),
            (None, Score("", None, "the metric returned None")),
            (Score("x", 0.5, "why"), Score("x", 0.5, "why")),
        ],
    )
    def test_a_result_is_an_object_or_a_number(self, result: Any, expected: Score) -> None:
        class Fixed(foreign_bases().RetrieverEvaluationMetric):  # type: ignore[name-defined,misc]
            def sync_compute(self, prediction: Any, contexts: Any, query: Any = None) -> Any:
                return result

        assert score(Fixed) == expected

    def test_a_result_that_is_no_number_is_an_error(self) -> None:
        class Odd(RetrieverEvaluationMetric):
            def sync_compute(self, prediction: Any, contexts: Any = None, query: Any = None) -> Any:
                return ForeignResult("high")

        assert score(Odd).error == "returned 'high' (str), not a number or a Score"

    @pytest.mark.parametrize(
        "name", ["EvaluationMetric", "LLMEvaluationMetric", "RetrieverEvaluationMetric"]
    )
    def test_a_class_of_that_name_without_compute_is_the_users_own(self, name: str) -> None:
        own = type(name, (), {"score": lambda self, sample: 0.0})
        polite = type("Polite", (own,), {"score": lambda self, answer: 1.0})
        for found in (polite, polite()):
            assert define_metric(found, "own", "my:Polite").info.needs == {"answer"}

    @pytest.mark.parametrize("helped", [{}, {"score": lambda self, answer: 0.5}])
    def test_a_stub_of_the_base_class_makes_a_metric_of_dbgpt(self, helped: dict[str, Any]) -> None:
        """Where DB-GPT is not installed, users write one."""
        stub = type("EvaluationMetric", (), {})
        looks = {"sync_compute": lambda self, prediction, contexts, query: 1.0}
        made = define_metric(type("Same", (stub,), {**looks, **helped}), "own", "my:Same")
        found = made.make("own", made.options()).score(  # type: ignore[union-attr]
            Sample("s", answer="abc"), ScoringContext()
        )
        assert found.value == 1.0

    def test_a_stub_of_the_base_class_of_judged_metrics(self) -> None:
        judged = {"prompt_template": "Rate {answer}", "_parse_evaluate_response": lambda *_: 1.0}
        made = type("Judged", (type("LLMEvaluationMetric", (), {}),), judged)
        assert define_metric(made, "own", "my:Judged").info.needs == {"question", "answer"}

    def test_a_metric_of_dbgpt_may_have_a_score_of_its_own(self) -> None:
        looks = {"sync_compute": lambda self, prediction, contexts, query: self.score(prediction)}
        helped = {**looks, "score": lambda self, text: float(len(text))}
        for base in (EvaluationMetric, foreign_bases().EvaluationMetric):
            made = define_metric(type("Helped", (base,), helped), "own", "my:Helped")
            found = made.make("own", made.options()).score(  # type: ignore[union-attr]
                Sample("s", answer="abc"), ScoringContext()
            )
            assert found.value == 3.0

    @pytest.mark.parametrize("base", [EvaluationMetric, foreign_bases().EvaluationMetric])
    @pytest.mark.parametrize("name", ["sync_compute", "compute"])
    def test_the_decorator_at_what_computes_counts(self, base: type, name: str) -> None:
        def computes(self: Any, prediction: Any, contexts: Any, query: Any = None) -> float:
            return 1.0

        made = type("Toxic", (base,), {name: metric(higher_is_better=False)(computes)})
        for found in (made, made()):
            assert define_metric(found, "own", "my:Toxic").info.higher_is_better is False
        judged = metric(range=(0, 5))(lambda self, text: 1.0)
        made = type("Judged", (LLMEvaluationMetric,), {"_parse_evaluate_response": judged})
        assert define_metric(made, "own", "my:Judged").info.range == (0.0, 5.0)

    @pytest.mark.parametrize("base", [RetrieverEvaluationMetric, foreign_bases().EvaluationMetric])
    def test_one_that_computes_nothing_is_refused(self, base: type) -> None:
        """DB-GPT finds that out when it scores: NotImplementedError."""
        empty = type("Empty", (base,), {})
        with pytest.raises(CustomMetricError) as caught:
            define_metric(empty, "own", "my:Empty")
        assert str(caught.value) == (
            "my:Empty defines neither 'sync_compute(prediction, contexts, query)' "
            "nor an async 'compute'"
        )


class TestAsking:
    def test_the_judge_gets_the_prompt_and_its_reply_is_parsed(self) -> None:
        judge = Judge("4.0\nright, but short")
        assert score(Relevancy, judge) == Score("", 4.0, "right, but short", {"passing": True})
        (prompt,) = judge.prompts
        assert prompt == (
            "Q: <question>\nHow long?\n</question> "
            "C: <context>\nReturns: 30 days.\n</context>\n<context>\nOpen on Sunday.\n</context> "
            "A: <answer>\n30 days\n</answer> {other}"
        )
        info = define_metric(Relevancy, "own").info
        assert info.asks == {"judge"}
        assert info.needs == {"question", "answer"}

    def test_a_reply_that_cannot_be_parsed_is_asked_for_again(self) -> None:
        assert score(Relevancy, Judge("good", "3\nbecause")).value == 3.0

    def test_what_else_the_parser_raises_is_its_own_error(self) -> None:
        class Broken(Relevancy):
            def _parse_evaluate_response(self, text: str) -> EvaluationResult:
                raise KeyError(text)

        with pytest.raises(KeyError):
            score(Broken, Judge("4"))

    def test_an_own_prompt_by_option(self) -> None:
        judge = Judge("4")
        score(Relevancy, judge, prompt_template="Only {answer}")
        assert judge.prompts == ["Only <answer>\n30 days\n</answer>"]

    def test_one_of_dbgpt_needs_no_client_of_its_own(self) -> None:
        class Foreign(foreign_bases().LLMEvaluationMetric):  # type: ignore[name-defined,misc]
            prompt = SimpleNamespace(template="A: {answer}")

            def _parse_evaluate_response(self, text: str) -> float:
                assert self.llm_client is None
                return float(text)

        assert score(Foreign, Judge("2")).value == 2.0
        assert score(Foreign(None), Judge("2")).value == 2.0

    def test_one_without_a_prompt_says_so(self) -> None:
        class Promptless(Relevancy):
            prompt_template = ""

        with pytest.raises(CustomMetricError, match="has no 'prompt_template'"):
            score(Promptless, Judge("4"))

    def test_one_that_parses_nothing_is_refused(self) -> None:
        with pytest.raises(CustomMetricError, match="does not define '_parse_evaluate_response"):
            define_metric(type("Empty", (LLMEvaluationMetric,), {}), "own", "my:Empty")
