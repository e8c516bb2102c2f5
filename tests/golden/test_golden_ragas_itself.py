"""C1: each of ragas' metrics gives what ragas' own class gives, from the same questions.

ragas is run beside ours, with its own pipeline and the same judge: a model that replies from the
prompt alone. Its figures are therefore made anew with whatever version is installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from fake_judge import judge, share
from scripted_models import ScriptedEmbeddings, ScriptedJudge

from pytest_rageval.clients.base import Vector
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.ragas.judge import reply_schema
from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.model import Sample, Score

pytest.importorskip("ragas")

RUBRICS = {
    "score1_description": "nothing is right",
    "score2_description": "some of it is right",
    "score3_description": "all of it is right",
}

ENGLISH = Sample(
    "en",
    question="How long may I return opened items to the Berlin shop?",
    answer="Opened items can be returned within 60 days. The shop in Berlin takes them. "
    "Bring the receipt. It does not matter who bought them.",
    contexts=(
        "Unopened items can be returned within 60 days. Bring the receipt.",
        "The shop in Berlin opens at nine. The shop in Berlin takes them.",
        "Bananas are yellow.",
        "Bananas are yellow.",
    ),
    references=("Opened items can be returned within 30 days. The shop in Berlin takes them.",),
    reference_contexts=("The shop in Berlin takes returns. Opened items: 30 days.",),
    metadata={"rubrics": RUBRICS},
)
CHINESE = Sample(
    "zh",
    question="拆封的商品几天内可以退货？",
    answer="拆封的商品六十天内可以退货。请带上收据。北京的店铺受理。",
    contexts=(
        "未拆封的商品六十天内可以退货。请带上收据。",
        "香蕉是黄色的。",
        "北京的店铺受理退货。",
    ),
    references=("拆封的商品三十天内可以退货。北京的店铺受理。",),
    reference_contexts=("拆封的商品三十天。北京的店铺受理退货。",),
    metadata={"rubrics": json.dumps(RUBRICS)},
)


@dataclass(frozen=True)
class Twin:
    """A metric of ours and the class of ragas behind it, with what that is called with."""

    metric: str
    ragas_class: str
    fields: tuple[str, ...]
    options: Mapping[str, Any]
    calls: int
    """How many questions ragas asks about the English sample."""
    made_with: Mapping[str, Any] | None = None


def twin(
    metric: str, ragas_class: str, fields: str, calls: int, made_with: Any = None, **options: Any
) -> Any:
    name = "-".join([metric, *(str(value) for value in options.values())])
    return pytest.param(
        Twin(metric, ragas_class, tuple(fields.split()), options, calls, made_with), id=name[:60]
    )


TWINS = [
    twin("faithfulness", "Faithfulness", "question answer contexts", 2),
    twin("answer_relevancy", "AnswerRelevancy", "question answer", 3),
    twin("answer_relevancy", "AnswerRelevancy", "question answer", 5, strictness=5),
    twin("context_precision", "ContextPrecision", "question reference contexts", 4),
    twin("context_utilization", "ContextUtilization", "question answer contexts", 4),
    twin("context_recall", "ContextRecall", "question contexts reference", 1),
    twin("answer_correctness", "AnswerCorrectness", "question answer reference", 3),
    twin("answer_correctness", "AnswerCorrectness", "question answer reference", 3,
         weights=[1.0, 0.0], beta=2.0),
    twin("factual_correctness", "FactualCorrectness", "answer reference", 4),
    twin("factual_correctness", "FactualCorrectness", "answer reference", 2, mode="precision"),
    twin("factual_correctness", "FactualCorrectness", "answer reference", 4, mode="recall",
         atomicity="high", coverage="high"),
    twin("factual_correctness", "FactualCorrectness", "answer reference", 4, beta=0.5),
    twin("noise_sensitivity", "NoiseSensitivity", "question answer reference contexts", 11),
    twin("noise_sensitivity_irrelevant", "NoiseSensitivity", "question answer reference contexts",
         11, {"mode": "irrelevant"}),
    twin("domain_specific_rubrics", "DomainSpecificRubrics",
         "question answer contexts reference reference_contexts", 1),
    twin("domain_specific_rubrics", "DomainSpecificRubrics",
         "question answer contexts reference reference_contexts", 1, rubrics=RUBRICS),
    twin("rubrics_score_with_reference", "RubricsScoreWithReference",
         "question answer contexts reference reference_contexts", 1),
    twin("instance_specific_rubrics", "InstanceSpecificRubrics",
         "question answer contexts reference reference_contexts rubrics", 1, {}, scale=[1, 3]),
    twin("answer_accuracy", "AnswerAccuracy", "question answer reference", 2),
    twin("context_relevance", "ContextRelevance", "question contexts", 2),
    twin("response_groundedness", "ResponseGroundedness", "answer contexts", 2),
    twin("summary_score", "SummaryScore", "reference_contexts answer", 3),
    twin("summary_score", "SummaryScore", "reference_contexts answer", 3, length_penalty=False),
]  # fmt: skip

BINARY = ("verdict", "attributed", "noncommittal")
NAMES = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "reference": "reference",
    "reference_contexts": "reference_contexts",
    "rubrics": "rubrics",
}


class Vectors(ScriptedEmbeddings):
    """Embeds any text, by its letters."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self._vectors = {text: [share(text, str(at)) for at in range(4)] for text in texts}
        return await super().embed(texts)


def reply(name: str, prompt: str, dice: str) -> str:
    """Return a reply that all checks let pass; with ``dice`` its verdicts are as good as random."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"schema": json.loads(SCHEMAS[name])},
        },
    }
    found = json.loads(judge(body))
    if dice:
        found = thrown(found, prompt, dice)
    marks = {"score": 1 + roll(prompt, dice, 3), "rating": roll(prompt, dice, 3)}
    marks["rating"] *= 2 if "Accuracy" in name else 1
    found |= {field: mark for field, mark in marks.items() if field in found}
    if "answers" in found:
        count = len(
            json.loads(prompt[prompt.rindex("input: ") + 7 : -len("\nOutput: ")])["questions"]
        )
        found["answers"] = [str(roll(prompt, f"{dice}{at}", 2)) for at in range(count)]
    return json.dumps(found)


def roll(prompt: str, dice: str, sides: int) -> int:
    return int(share(legible(prompt), dice) * sides)


def thrown(part: Any, prompt: str, dice: str) -> Any:
    """Return a reply with each verdict thrown anew, and the sorted claims shuffled."""
    if isinstance(part, list):
        return [thrown(one, prompt, f"{dice}.{at}") for at, one in enumerate(part)]
    if not isinstance(part, dict):
        return part
    part = {
        name: roll(prompt, dice, 2) if name in BINARY else thrown(one, prompt, dice)
        for name, one in part.items()
    }
    if "TP" in part:
        claims = [*part["TP"], *part["FP"]]
        right = [bool(roll(prompt, f"{dice}{at}", 2)) for at in range(len(claims))]
        part["TP"] = [one for one, is_right in zip(claims, right, strict=True) if is_right]
        part["FP"] = [one for one, is_right in zip(claims, right, strict=True) if not is_right]
        part["FN"] = [*part["FN"], {"statement": "more", "reason": ""}][: roll(prompt, dice, 3)]
    return part


SCHEMAS: dict[str, str] = {}


class AnyReply(dict[str, Any]):
    """A function for every schema."""

    def __init__(self, dice: str) -> None:
        self._dice = dice

    def __missing__(self, name: str) -> Any:
        return lambda prompt: reply(name, prompt, self._dice)


def remember_schema(model: Any) -> None:
    SCHEMAS[model.__name__] = json.dumps(model.model_json_schema())


def by_ragas(found: Twin, sample: Sample, dice: str = "") -> tuple[float, list[str]]:
    """Return what ragas' own pipeline gives, and the prompts it sends, in its own order."""
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics import collections

    prompts: list[str] = []

    class Judge(InstructorBaseRagasLLM):
        def generate(self, prompt: str, response_model: Any) -> Any:
            raise NotImplementedError

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            remember_schema(response_model)
            prompts.append(prompt)
            return response_model.model_validate_json(reply(response_model.__name__, prompt, dice))

    class Embeddings(BaseRagasEmbedding):
        def embed_text(self, text: str, **_: Any) -> list[float]:
            raise NotImplementedError

        async def aembed_text(self, text: str, **_: Any) -> list[float]:
            return [share(text, str(at)) for at in range(4)]

    made = found.options if found.made_with is None else found.made_with
    is_embedded = found.metric in ("answer_relevancy", "answer_correctness")
    models = {"embeddings": Embeddings()} if is_embedded else {}
    metric = getattr(collections, found.ragas_class)(llm=Judge(), **models, **made)
    known = {
        "question": sample.question,
        "answer": sample.answer,
        "contexts": list(sample.contexts or ()),
        "reference": (sample.references or ("",))[0],
        "reference_contexts": list(sample.reference_contexts or ()),
        "rubrics": RUBRICS,
    }
    given = {NAMES[name]: known[name] for name in found.fields}
    return float(asyncio.run(metric.ascore(**given)).value), prompts


def by_us(found: Twin, sample: Sample, dice: str = "") -> tuple[Score, list[str]]:
    definition = METRIC_REGISTRY.get(found.metric)
    made = definition.make(found.metric, definition.options.model_validate(found.options))
    client = ScriptedJudge(AnyReply(dice))
    score = asyncio.run(made.ascore(sample, Models(client, Vectors({}))))
    return score, client.prompts


@pytest.mark.parametrize("sample", [ENGLISH, CHINESE], ids=["english", "chinese"])
@pytest.mark.parametrize("dice", ["", "red", "blue"])
@pytest.mark.parametrize("found", TWINS)
def test_score_and_questions_are_those_of_ragas(found: Twin, sample: Sample, dice: str) -> None:
    """The questions are the same to the letter; one that ragas asks twice is asked once."""
    expected, their_prompts = by_ragas(found, sample, dice)
    score, our_prompts = by_us(found, sample, dice)
    assert score.value == pytest.approx(expected, abs=1e-12, rel=0)
    assert score.reason
    assert score.details
    if sample is ENGLISH:
        assert len(their_prompts) == found.calls
    if found.metric.startswith("answer_relevancy"):
        assert Counter(our_prompts) == Counter(their_prompts)
    else:
        assert Counter(our_prompts) == Counter(set(map(legible, their_prompts)))


def legible(prompt: str) -> str:
    """Return a prompt with its escapes read: noise_sensitivity of ragas writes Chinese so."""
    if "\\u" not in prompt:
        return prompt
    return prompt.encode("latin-1", "backslashreplace").decode("unicode_escape")


def test_entities_of_ragas_are_a_share_but_for_its_divisor() -> None:
    """ragas adds 1e-8: all of one entity found is 0.99999999 there, below a threshold of 1."""
    found = Twin("context_entity_recall", "ContextEntityRecall", ("reference", "contexts"), {}, 2)
    for sample in (ENGLISH, CHINESE):
        expected, their_prompts = by_ragas(found, sample)
        score, our_prompts = by_us(found, sample)
        assert score.value == pytest.approx(expected, abs=2e-8, rel=0)
        assert Counter(our_prompts) == Counter(their_prompts)
    sample = Sample("s", contexts=("It is Berlin.",), references=("Berlin",))
    expected, _ = by_ragas(found, sample)
    assert (expected, by_us(found, sample)[0].value) == (pytest.approx(1 - 1e-8, abs=1e-12), 1.0)


def test_schemas_are_made_once_for_each_model() -> None:
    (model,) = {
        prompt.output_model
        for prompt in vars(sys.modules["ragas.metrics.collections.faithfulness.util"]).values()
        if getattr(prompt, "__name__", "") == "NLIStatementPrompt"
    }
    assert reply_schema(model) is reply_schema(model)
