"""C1: each of ragas' metrics gives what ragas' own class gives, from the same questions.

ragas is run beside ours, with its own pipeline and the same judge: a model that replies from the
prompt alone. Its figures are therefore made anew with whatever version is installed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

import pytest
from fake_judge import judge, share
from scripted_models import ScriptedEmbeddings, ScriptedJudge

from pytest_rageval.clients.base import Vector
from pytest_rageval.metrics.base import METRIC_REGISTRY, Models, ScoringContext
from pytest_rageval.metrics.ragas.backend import ragas_version
from pytest_rageval.metrics.ragas.judge import reply_schema
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
    twin("sql_semantic_equivalence", "SQLSemanticEquivalence",
         "answer reference reference_contexts", 1),
]  # fmt: skip

BINARY = ("verdict", "attributed", "noncommittal", "equivalent")
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


TABLES = (
    "id,name\n1,Ann\n2,Bob\n3,Cy",
    "id,name\n1,Ann\n2,Bo\n3,Cy",
    "id,name\n1,Ann\n2,Bo",
    "id,town\n1,Ann",
    "id\n",
    "",
    "no table",
    "a,b\n1,2,3\n1",
)
TEXTS = (
    "The capital of France is Paris. It is large.",
    "Paris is the capital of France. It is large.",
    "Paris",
    "北京是中国的首都。",
    "",
)


def against_ragas(ours: str, ragas_class: str, text: str, other: str, **options: Any) -> None:
    """Compare our score of a text with that of ragas' own class."""
    from ragas.metrics import collections

    definition = METRIC_REGISTRY.get(ours)
    made = definition.make(ours, definition.options.model_validate(options))
    sample = Sample("s", answer=text, references=(other,))
    expected = asyncio.run(
        getattr(collections, ragas_class)(**options).ascore(reference=other, response=text)
    )
    found = made.score(sample, ScoringContext())
    assert found.value == (None if math.isnan(expected.value) else expected.value)
    assert found.value is not None or found.reason


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("other", TEXTS)
def test_bleu_of_ragas_is_its_own(text: str, other: str) -> None:
    """M3: ``bleu`` is another one: NIST's smoothing, and tokens of every script."""
    pytest.importorskip("sacrebleu")
    against_ragas("ragas.bleu", "BleuScore", text, other)


def _is_comparable(text: str, other: str, mode: str) -> bool:
    """Return whether both tables have what is compared: ragas leaves out the rest."""
    given, wanted = text.splitlines(), other.splitlines()
    if not (given and wanted):
        return True
    if mode == "columns":
        return len(given) == len(wanted)
    lacks = set(wanted[0].split(",")) - set(given[0].split(","))
    return not lacks and len(given) + len(wanted) > 2


@pytest.mark.parametrize(
    ("text", "other", "mode"),
    [one for one in product(TABLES, TABLES, ("rows", "columns")) if _is_comparable(*one)],
)
def test_tables_are_compared_as_by_ragas(text: str, other: str, mode: str) -> None:
    """M3: where all columns, or rows, are there; a text without a table is unscored."""
    pytest.importorskip("datacompy")
    for metric in ("precision", "recall", "f1"):
        against_ragas("datacompy_score", "DataCompyScore", text, other, mode=mode, metric=metric)


REFERENCE = "id,name,price\n1,pump,9\n2,motor,8"


@pytest.mark.parametrize(
    ("answer", "mode", "value", "reason"),
    [
        ("I do not know.\nSorry.\nReally.", "rows", 0, "the columns 'id', 'name', 'price'"),
        ("x,y\n7,8\n9,10", "rows", 0, "the columns 'id', 'name', 'price'"),
        ("x\n1,2,3\n", "columns", 0, "the columns 'id', 'name', 'price'"),
        ("id\n1\n2", "rows", 0, "the columns 'name', 'price'"),
        ("id\n1\n2", "columns", 0.5, ""),  # P 1/1, R 1/3
        ("id,name,price", "rows", 0, ""),
        ("id,name,price", "columns", 0, "0 rows, the reference 2: no column is equal"),
        (f"```csv\n{REFERENCE}\n```", "rows", 1, ""),
        (f"\ufeff{REFERENCE}", "rows", 1, ""),
        (f"````csv\n\ufeff{REFERENCE}\n````", "rows", 1, ""),
        ("ID, Name, price, seen\n1, pump, 9, 4\n2, drill, 8, 4", "rows", 0.5, ""),
    ],
)
def test_what_a_table_lacks_counts(answer: str, mode: str, value: float, reason: str) -> None:
    """M3: columns in rows, rows in columns; not blanks, a fence, or another column."""
    pytest.importorskip("datacompy")
    definition = METRIC_REGISTRY.get("datacompy_score")
    made = definition.make("table", definition.options.model_validate({"mode": mode}))
    score = made.score(Sample("s", answer=answer, references=(REFERENCE,)), ScoringContext())
    assert score.value == value
    assert reason in (score.reason or "")
    empty = Sample("s", answer="id\n", references=("id",))
    assert made.score(empty, ScoringContext()).value == 1


@pytest.mark.parametrize("mode", ["rows", "columns"])
@pytest.mark.parametrize(
    ("reference", "value"),
    [
        (",id,name,price\n0,1,pump,9\n1,2,motor,8", 1),  # df.to_csv()
        ("Unnamed: 0,id,name,price\n0,1,pump,9\n1,2,motor,8", 1),
        ("id,name,price,\n1,pump,9,\n2,motor,8,", 1),
        ('id,name,price\n1,"pump,9\n2,motor,8', None),
    ],
)
def test_an_index_is_no_column_and_an_open_quote_no_table(
    reference: str, value: float | None, mode: str
) -> None:
    """M3: precision, as a column without a name that is compared would only lower recall."""
    pytest.importorskip("datacompy")
    definition = METRIC_REGISTRY.get("datacompy_score")
    options = definition.options.model_validate({"mode": mode, "metric": "precision"})
    sample = Sample("s", answer=REFERENCE, references=(reference,))
    assert definition.make("table", options).score(sample, ScoringContext()).value == value


def test_the_best_reference_counts_and_one_that_is_no_table_does_not() -> None:
    """M3: of 3 rows of the answer 2 are as in the first reference; f1 = 2·(2/3)·(2/2)/(5/3)."""
    pytest.importorskip("datacompy")
    definition = METRIC_REGISTRY.get("DataCompyScore")
    made = definition.make("table", definition.options())
    sample = Sample("s", answer=TABLES[0], references=("a,b\n1,2,3\n1", "id,name\n1,Ann\n2,Bob"))
    assert made.score(sample, ScoringContext()).value == pytest.approx(0.8)


LEFT_OUT = {
    "MultiModalFaithfulness": "looks at images",
    "MultiModalRelevance": "looks at images",
    "AspectCritic": "a criterion in words: must_satisfy, or a rubric",
    "SimpleCriteriaScore": "a criterion in words: must_satisfy, or a rubric",
    "FaithfulnesswithHHEM": "needs a model of its own, in this process",
}
"""Classes of ragas that need only texts, and are no metric of ours, with the reason."""


def leaves(hint: Any) -> set[Any]:
    """Return the types inside of ``list[str] | None`` and the like."""
    inside = get_args(hint)
    return set().union(*map(leaves, inside)) if inside else {hint}


def needs_only_texts(metric: type[Any]) -> bool:
    """Return whether a class of ragas scores one sample by texts; it may ask models."""
    from ragas.metrics.base import SingleTurnMetric
    from ragas.metrics.collections import BaseMetric

    if issubclass(metric, BaseMetric):
        hints = inspect.get_annotations(metric.ascore)
        given = set().union(*(leaves(hint) for name, hint in hints.items() if name != "return"))
        return metric is not BaseMetric and given <= {str, type(None)}
    return issubclass(metric, SingleTurnMetric) and metric is not SingleTurnMetric


def test_every_metric_of_ragas_that_needs_only_texts_is_known() -> None:
    """M3: found in whatever version is installed, of both its generations."""
    from ragas import metrics
    from ragas.metrics import collections

    classes = {
        found.__name__: found
        for found in (*vars(metrics).values(), *vars(collections).values())
        if isinstance(found, type)
    }
    texts = {name for name, found in classes.items() if needs_only_texts(found)}
    assert len(texts) > 40
    fresh = {name for name in texts if METRIC_REGISTRY.canonical(name) is None} - LEFT_OUT.keys()
    assert not fresh, (
        f"ragas {ragas_version()} has {', '.join(sorted(fresh))}, which no metric here is called. "
        "Add its name to the aliases of ours that is the same; or add a row to METRICS in "
        "metrics/ragas/__init__.py (to METRIC_TABLE, too, where it asks a judge), and a test in "
        "this file; or name it in LEFT_OUT, with the reason"
    )
    assert LEFT_OUT.keys() <= texts, "a reason for a class that ragas has no longer"


def test_schemas_are_made_once_for_each_model() -> None:
    (model,) = {
        prompt.output_model
        for prompt in vars(sys.modules["ragas.metrics.collections.faithfulness.util"]).values()
        if getattr(prompt, "__name__", "") == "NLIStatementPrompt"
    }
    assert reply_schema(model) is reply_schema(model)
