"""How ragas' questions are asked: at once, once each, in which language, for which reference."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from judged_scoring import NLI, SAMPLE, STATEMENTS, input_of, metric, score
from scripted_models import ScriptedEmbeddings, ScriptedJudge, nli

from pytest_rageval.clients.accounting import Purpose, asking, current_purpose
from pytest_rageval.clients.base import Reply
from pytest_rageval.clients.errors import InvalidOutputError, ServerError
from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.metrics.ragas.backend import load_ragas
from pytest_rageval.metrics.ragas.options import RagasOptions
from pytest_rageval.model import Sample, Score

pytest.importorskip("ragas")


class Counting(ScriptedJudge):
    """Counts how many questions are under way at a time."""

    under_way = 0
    most = 0

    async def complete(self, messages: Any, **rest: Any) -> Reply:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)  # whoever is ready begins
        try:
            return await super().complete(messages, **rest)
        finally:
            self.under_way -= 1


def test_independent_questions_are_asked_at_once() -> None:
    """ragas asks one after the other: 5 contexts would take five times as long."""
    sample = replace(SAMPLE, contexts=tuple("abcde"))
    judge = Counting({"ContextPrecisionOutput": [{"reason": "", "verdict": 1}]})
    score("context_precision", judge, sample=sample)
    assert (judge.most, len(judge.prompts)) == (5, 5)

    def judged(prompt: str) -> Any:
        asked = input_of(prompt)["statements"]
        return nli(asked, [1] * len(asked))

    def statements(prompt: str) -> Any:
        is_answer = input_of(prompt)["answer"] == SAMPLE.answer
        return {"statements": ["a"] if is_answer else ["r"]}

    judge = Counting({STATEMENTS: statements, "StatementFaithfulnessOutput": judged})
    score("noise_sensitivity", judge, sample=sample)
    # Two texts are taken apart, then 2 * 5 + 1 judgements.
    assert (judge.most, len(judge.prompts)) == (11, 13)


def test_a_context_that_was_retrieved_twice_is_judged_once() -> None:
    sample = replace(SAMPLE, contexts=("a", "b", "a"))
    judge = ScriptedJudge({"ContextPrecisionOutput": [{"reason": "", "verdict": 1}]})
    found = score("context_precision", judge, sample=sample)
    assert len(judge.prompts) == 2
    assert [one["verdict"] for one in (found.details or {})["contexts"]] == [1, 1, 1]


def test_equal_questions_of_answer_relevancy_are_three_replies_and_not_one_from_the_cache() -> None:
    """The same prompt, three times: their purposes differ, and with them the cache keys."""
    purposes = []

    class Keeping(ScriptedJudge):
        async def complete(self, messages: Any, **rest: Any) -> Reply:
            purposes.append(current_purpose())
            return await super().complete(messages, **rest)

    replies = [{"question": question, "noncommittal": 0} for question in ("same", "orth", "c")]
    judge = Keeping({"AnswerRelevanceOutput": replies})
    judge.keeps = True
    vectors = {SAMPLE.question: [1, 0], "same": [1, 0], "orth": [0, 1], "c": [0.6, 0.8]}
    relevancy = metric("answer_relevancy")

    async def twice() -> list[Score]:
        models = Models(judge, ScriptedEmbeddings(vectors))
        with asking(Purpose("my relevancy", 1, 0, "s")) as tally:
            found = [await relevancy.ascore(SAMPLE, models) for _ in range(2)]
        assert tally.purpose.metric == "my relevancy"
        return found

    first, second = asyncio.run(twice())
    assert first.value == second.value == pytest.approx(1.6 / 3)
    assert len(judge.prompts) == 3
    assert len(set(judge.prompts)) == 1
    assert [purpose.metric for purpose in purposes[:3]] == [
        "my relevancy",
        "my relevancy (reply 2)",
        "my relevancy (reply 3)",
    ]
    assert {(one.version, one.repeat, one.sample) for one in purposes} == {(1, 0, "s")}


def test_all_texts_of_a_metric_are_embedded_together() -> None:
    replies = [{"question": question, "noncommittal": 0} for question in ("same", "orth", "same")]
    embeddings = ScriptedEmbeddings({SAMPLE.question: [1, 0], "same": [1, 0], "orth": [0, 1]})
    judge = ScriptedJudge({"AnswerRelevanceOutput": replies})
    asyncio.run(metric("answer_relevancy").ascore(SAMPLE, Models(judge, embeddings)))
    assert embeddings.batches == [[SAMPLE.question, "same", "orth"]]


def test_a_weight_of_zero_embeds_nothing() -> None:
    classified = {"TP": [{"statement": "a", "reason": ""}], "FP": [], "FN": []}
    judge = ScriptedJudge(
        {STATEMENTS: [{"statements": ["a"]}], "ClassificationWithReason": [classified]}
    )
    made = metric("answer_correctness", weights=[1.0, 0.0])
    found = asyncio.run(made.ascore(SAMPLE, Models(judge, None)))
    assert found.value == 1.0
    assert "similarity" not in (found.reason or "")


def test_the_schema_of_a_reply_is_one_object_for_all_samples() -> None:
    """Who sends it prepares it once; making it costs more than all the rest of a question."""
    judge = ScriptedJudge({"ContextPrecisionOutput": [{"reason": "", "verdict": 1}]})
    made = metric("context_precision")

    async def many() -> None:
        for _ in range(3):
            await made.ascore(SAMPLE, Models(judge))

    asyncio.run(many())
    assert len(judge.objects) == 1


def test_many_samples_in_one_loop_keep_their_own_replies() -> None:
    """Sample n has n % 4 of 4 claims supported, whatever the order of the replies."""

    class Late(ScriptedJudge):
        async def complete(self, messages: Any, **rest: Any) -> Reply:
            for _ in range(sum(map(ord, messages[0].content)) % 7):
                await asyncio.sleep(0)
            return await super().complete(messages, **rest)

    def statements(prompt: str) -> Any:
        answer = input_of(prompt)["answer"]
        return {"statements": [f"{answer} claim {number}" for number in range(4)]}

    def judged(prompt: str) -> Any:
        claims = input_of(prompt)["statements"]
        supported = int(claims[0].split()[0]) % 4
        return nli(claims, [int(number < supported) for number in range(4)])

    judge = Late({STATEMENTS: statements, NLI: judged})
    made = metric("faithfulness")

    async def all_at_once() -> list[Score]:
        models = Models(judge)
        samples = [replace(SAMPLE, id=str(n), answer=f"{n}") for n in range(60)]
        return await asyncio.gather(*(made.ascore(sample, models) for sample in samples))

    for number, found in enumerate(asyncio.run(all_at_once())):
        assert found.value == (number % 4) / 4
        claims = (found.details or {})["claims"]
        assert {one["claim"].split()[0] for one in claims} == {str(number)}


def recall_of(shares: Mapping[str, Sequence[int]]) -> ScriptedJudge:
    """Return a judge that finds these statements of each reference in the contexts."""

    def say(prompt: str) -> Any:
        verdicts = shares[input_of(prompt)["answer"]]
        return {
            "classifications": [
                {"statement": f"s{number}", "reason": "", "attributed": verdict}
                for number, verdict in enumerate(verdicts)
            ]
        }

    return ScriptedJudge({"ContextRecallOutput": say})


def test_the_first_reference_counts_unless_the_best_is_asked_for() -> None:
    sample = replace(SAMPLE, references=("one", "two", "three"))
    shares = {"one": [0, 1], "two": [1, 1, 1, 0], "three": []}
    first = recall_of(shares)
    found = score("context_recall", first, sample=sample)
    assert (found.value, len(first.prompts)) == (0.5, 1)
    best = recall_of(shares)
    found = score("context_recall", best, sample=sample, references="best")
    assert (found.value, len(best.prompts)) == (0.75, 3)
    assert (found.reason or "").startswith("with reference 2 of 3: 3 of 4 claims of the reference")
    assert (found.details or {})["reference"] == 2


def test_no_reference_that_can_be_scored_is_unscored() -> None:
    sample = replace(SAMPLE, references=("one", "two"))
    found = score(
        "context_recall", recall_of({"one": [], "two": []}), sample=sample, references="best"
    )
    assert (found.value, found.reason) == (None, "the judge found no claim in the reference")


def test_the_best_reference_for_noise_is_the_one_with_the_least() -> None:
    def statements(prompt: str) -> Any:
        return {"statements": [input_of(prompt)["answer"]]}

    def judged(prompt: str) -> Any:
        asked = input_of(prompt)
        return nli(asked["statements"], [int(asked["context"] != "wrong")])

    judge = ScriptedJudge({STATEMENTS: statements, "StatementFaithfulnessOutput": judged})
    sample = replace(SAMPLE, references=("wrong", "right"), contexts=("c",))
    assert score("noise_sensitivity", judge, sample=sample).value == 1.0
    judge = ScriptedJudge({STATEMENTS: statements, "StatementFaithfulnessOutput": judged})
    found = score("noise_sensitivity", judge, sample=sample, references="best")
    assert found.value == 0.0
    # The claims of the answer, and the contexts' verdicts on them, are asked once for both.
    assert Counter(Counter(judge.prompts).values()) == {1: 8}


class Translating(ScriptedJudge):
    """Translates by a mark before each text, and has any claims supported."""

    def __init__(self, **replies: Any) -> None:
        super().__init__(
            {
                "_TranslatedStrings": self._translate,
                STATEMENTS: [{"statements": ["claim"]}],
                NLI: [nli(["claim"], [1])],
                "ClaimDecompositionOutput": [{"claims": ["claim"]}],
                "StatementFaithfulnessOutput": [nli(["claim"], [1])],
                **replies,
            }
        )
        self.keeps = True

    @property
    def translations(self) -> int:
        return self.schemas.count("_TranslatedStrings")

    @staticmethod
    def _translate(prompt: str) -> Any:
        texts = json.loads(prompt[prompt.rindex("\n[") :])
        return {"statements": [f"译 {text}" for text in texts]}


def test_prompts_are_translated_once_for_all_samples_metrics_and_repeats() -> None:
    """C4: instruction and examples of both prompts: 4 calls, whoever asks first."""
    judge = Translating()

    async def main() -> None:
        models = Models(judge, language="zh")
        for repeat in range(2):
            for name in ("faithfulness", "my faithfulness"):
                made = METRIC_REGISTRY.get("faithfulness").make(name, RagasOptions())
                with asking(Purpose(name, 1, repeat, "s")):
                    await asyncio.gather(*(made.ascore(SAMPLE, models) for _ in range(5)))

    asyncio.run(main())
    assert judge.translations == 4
    (asked,) = {one for one in judge.prompts if SAMPLE.answer in one}
    assert asked.startswith("译 Given a question and an answer")
    assert '"译 ' in asked
    assert all("to Simplified Chinese" in one for one in judge.prompts if "TRANSLATOR" in one)


@pytest.mark.parametrize(
    ("option", "language", "translations"),
    [(None, "auto", 0), (None, "en", 0), ("en", "zh", 0), ("zh", "auto", 4), (None, "de", 4)],
)
def test_the_metrics_own_language_goes_before_the_judges(
    option: str | None, language: str, translations: int
) -> None:
    """``auto`` leaves ragas' prompts in English, also for a Chinese sample."""
    judge = Translating()
    sample = replace(SAMPLE, question="几天内可以退货？", answer="三十天。")
    made = metric("faithfulness", language=option)
    found = asyncio.run(made.ascore(sample, Models(judge, language=language)))
    assert (found.value, judge.translations) == (1.0, translations)


def test_examples_for_every_way_to_cut_claims_are_translated() -> None:
    judge = Translating()
    made = metric("factual_correctness", language="zh", mode="precision", atomicity="high")
    asyncio.run(made.ascore(SAMPLE, Models(judge)))
    (asked,) = (one for one in judge.prompts if SAMPLE.answer in one and "TRANSLATOR" not in one)
    assert '"译 Albert Einstein' in asked or '"译 Charles Babbage' in asked


def test_a_translation_that_lacks_a_text_is_asked_for_again_and_is_an_error_then() -> None:
    judge = Translating(_TranslatedStrings=[{"statements": ["only one"]}])
    made = metric("faithfulness", language="zh")
    said = "while translating the prompt into Simplified Chinese: .*were given and 1 are translated"
    with pytest.raises(InvalidOutputError, match=said):
        asyncio.run(made.ascore(SAMPLE, Models(judge)))


def test_a_cancelled_sample_leaves_the_translation_to_the_others() -> None:
    class Gated(Translating):
        gate = asyncio.Event()

        async def complete(self, messages: Any, **rest: Any) -> Reply:
            await self.gate.wait()
            return await super().complete(messages, **rest)

    judge = Gated()
    judge.keeps = False
    made = metric("faithfulness", language="zh")

    async def main() -> Score:
        first, second = (asyncio.create_task(made.ascore(SAMPLE, Models(judge))) for _ in range(2))
        await load_ragas()
        for _ in range(9):
            await asyncio.sleep(0)
        first.cancel()
        judge.gate.set()
        found: Score = await second
        assert first.cancelled()
        return found

    assert asyncio.run(main()).value == 1.0
    assert judge.translations == 4


def test_a_translation_that_failed_is_asked_for_again_by_the_next_sample() -> None:
    """A judge that was away for a moment leaves one sample unscored, not all that follow."""

    class Away(Translating):
        is_away = True

        async def complete(self, messages: Any, **rest: Any) -> Reply:
            if self.is_away:
                raise ServerError("away", is_transient=True)
            return await super().complete(messages, **rest)

    judge = Away()
    made = metric("faithfulness", language="zh")

    async def main() -> Score:
        with pytest.raises(ServerError, match="away"):
            await made.ascore(SAMPLE, Models(judge))
        judge.is_away = False
        found: Score = await made.ascore(SAMPLE, Models(judge))
        return found

    assert asyncio.run(main()).value == 1.0
    assert judge.translations == 4


def test_a_translation_that_was_cancelled_is_asked_for_again_in_another_run() -> None:
    """What plugins run again after the loop was closed."""

    class Hanging(Translating):
        hangs = True

        async def complete(self, messages: Any, **rest: Any) -> Reply:
            if self.hangs:
                await asyncio.sleep(600)
            return await super().complete(messages, **rest)

    judge = Hanging()
    made = metric("faithfulness", language="zh")

    async def begin() -> None:
        asking = asyncio.create_task(made.ascore(SAMPLE, Models(judge)))
        await load_ragas()
        for _ in range(9):
            await asyncio.sleep(0)
        assert not asking.done()

    asyncio.run(begin())  # and cancel what is left
    judge.hangs = False
    assert asyncio.run(made.ascore(SAMPLE, Models(judge))).value == 1.0


def test_chinese_text_is_chinese_in_every_prompt() -> None:
    """Two prompts of ragas write it as escapes, many tokens for each character."""
    texts = {"question": "几天？", "answer": 'Sie sagt: "六十天"\n', "reference": "三十天\\u4e09。"}

    def judged(prompt: str) -> Any:
        claims = input_of(prompt)["statements"]
        return nli(claims, [1] * len(claims))

    judge = ScriptedJudge(
        {STATEMENTS: [{"statements": ["六十天", "60 days"]}], "StatementFaithfulnessOutput": judged}
    )
    sample = Sample(
        "s",
        question=texts["question"],
        answer=texts["answer"],
        contexts=("退货：三十天。",),
        references=(texts["reference"],),
    )
    assert score("noise_sensitivity", judge, sample=sample).value == 0.0
    inputs = [input_of(prompt) for prompt in judge.prompts]
    assert {one.get("answer") for one in inputs} == {texts["answer"], texts["reference"], None}
    assert {one["context"] for one in inputs if "context" in one} == {
        "退货：三十天。",
        texts["reference"],
    }
    assert not any("\\u" in prompt.replace("\\\\u4e09", "") for prompt in judge.prompts)
