"""A support bot's run of 60 answers, 40 of which two people have labelled, with made figures."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import Final

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    RANDOM,
    Agreement,
    Corrected,
    Disagreement,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.stats.summary import summarize_scenario

TEXTS: Final = (
    (
        "How long does a refund to my card take?",
        "Refunds to cards arrive within five working days after the parcel has come back.",
        ("Card refunds take five working days from the return.", "Parcels take two days."),
    ),
    (
        "Can I return a phone that I have opened?",
        "Yes, opened phones can be returned within 60 days.",
        ("Opened items can be returned within 30 days if nothing is missing.",),
    ),
    (
        "Who pays for shipping if the screen arrives broken?",
        "We do: report it within 14 days, and the courier picks it up.",
        ("Damage in transit is reported within 14 days.", "The store pays for its return."),
    ),
    (
        "Does the warranty cover the battery?",
        "The battery is covered for two years, like the rest of the phone.",
        ("The warranty of two years covers all parts but the battery, which has one year.",),
    ),
    (
        "Where do I change my address?",
        "Under My account, until the parcel has left the store.",
        ("Addresses can be changed under My account before dispatch.",),
    ),
)
CELLS: Final = {"0,0": range(10), "0,1": range(10, 14), "1,0": range(14, 16), "1,1": range(16, 40)}
"""People's level and the judge's: the samples of each pair."""


def labelled_result() -> ScenarioResult:
    """Return the run; kappa of its 40 labels is (0.85 - 0.56) / (1 - 0.56), the rest is made."""
    samples = [_sample(at, texts) for at, texts in zip(range(60), cycle(TEXTS))]
    info = ScenarioInfo(
        "support-bot",
        "support-bot.rageval.yaml",
        "support-bot.rageval.yaml",
        (MetricColumn("faithfulness", 0.7), MetricColumn("helpfulness", 0.3, (0.0, 2.0))),
        metadata_columns=("topic",),
        total=len(samples),
        selected=len(samples),
        human=(
            HumanLabels("faithfulness", (0.0, 1.0), "labels.csv", _labels(samples)),
            HumanLabels("helpfulness", (0.0, 1.0, 2.0)),
        ),
    )
    ran = summarize_scenario(info, samples, complete=True)
    ran = decide_gates(ran, Extent(len(samples), len(samples), len(samples)))
    agreement = {"faithfulness": FAITHFULNESS, "helpfulness": HELPFULNESS}
    return replace(ran, agreement=agreement, corrected=CORRECTED)


def _level(at: int, place: int) -> float:
    """Return the level of people (place 0) or of the judge (place 2); from 40 on the judge's."""
    return next((float(key[place]) for key, found in CELLS.items() if at in found), 1.0)


def _sample(at: int, texts: tuple[str, str, tuple[str, ...]]) -> SampleResult:
    question, answer, contexts = texts
    judged = _level(at, 2)
    helpful = float(at % 3)
    return SampleResult(
        f"ticket-{at + 101}",
        at,
        weighted_score=0.7 * judged + 0.3 * helpful / 2,
        question=question,
        answer=answer,
        contexts=contexts,
        doc_name=("returns.pdf", "warranty.pdf")[at % 2],
        metadata={"topic": ("money", "parts")[at % 2]},
        scores={"faithfulness": judged, "helpfulness": helpful},
        reasons={"faithfulness": REASONS[judged]},
    )


REASONS: Final = {
    0.0: "1 of 2 claims is not in the contexts.",
    1.0: "All claims are supported.",
}


def _labels(samples: list[SampleResult]) -> dict[str, list[Label]]:
    """Two people label 40 answers alike; ann also labelled an earlier answer of the first."""
    found = {
        sample.sample_id: [
            Label(_level(sample.index, 0), name, RANDOM, _digest(sample)) for name in ("ann", "bo")
        ]
        for sample in samples[:40]
    }
    found[samples[0].sample_id].append(Label(1.0, "ann", RANDOM, "0" * 12))
    return found


def _digest(sample: SampleResult) -> str:
    return answer_digest(sample.answer, sample.contexts)


def _disagreement(at: int, human: float, judge: float, agreeing: int) -> Disagreement:
    return Disagreement(f"ticket-{at + 101}", human, judge, judge, 1.0, agreeing, 2, REASONS[judge])


FAITHFULNESS: Final = Agreement(
    (0.0, 1.0),
    40,
    ((10, 4), (2, 24)),
    sensitivity=0.9231,
    sensitivity_low=0.7587,
    sensitivity_high=0.9786,
    specificity=0.7143,
    specificity_low=0.4535,
    specificity_high=0.8828,
    kappa=0.29 / 0.44,
    kappa_low=0.3881,
    kappa_high=0.8802,
    ac1=0.7327,
    spearman=0.6609,
    kendall=0.6609,
    auc=0.8187,
    bias=0.05,
    bias_low=-0.0762,
    bias_high=0.1762,
    alpha=0.7361,
    ceiling=0.7436,
    annotators=2,
    split=1,
    stale=1,
    disagreements=[
        *(_disagreement(at, 0.0, 1.0, 2) for at in range(10, 14)),
        *(_disagreement(at, 1.0, 0.0, 1) for at in range(14, 16)),
    ],
    cells=CELLS,
    slices={
        "topic": {
            "money": Agreement((0.0, 1.0), 31, (), kappa=0.6512),
            "parts": Agreement((0.0, 1.0), 9, (), kappa=0.5),
        }
    },
)
HELPFULNESS: Final = Agreement(
    (0.0, 1.0, 2.0),
    4,
    ((0, 0, 0), (0, 0, 0), (0, 0, 4)),
    ac1=1.0,
    ac2=1.0,
    annotators=1,
    unscored=2,
    why={
        "kappa": "people and the judge use one level only",
        "weighted_kappa": "people and the judge use one level only",
        "alpha": "one annotator",
    },
    cells={"2,2": (2, 5, 8, 11)},
)
CORRECTED: Final = {
    "faithfulness": Corrected(0.6583, 0.5246, 0.7702, 0.68, 40, 61.2),
    "helpfulness": Corrected(None, None, None, None, 4, None, "4 labelled answers, fewer than 10"),
}
