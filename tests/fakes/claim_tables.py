"""A judge that answers from a table of claims, and the sample whose table it is.

A row of letters is a claim, a letter is what a source is to it: E supports it, P a part of it, N
says nothing of it, C contradicts it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from scripted_models import ScriptedJudge

from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.metrics.support.fill import fill_table
from pytest_rageval.metrics.support.table import SupportRow, SupportTable
from pytest_rageval.model import Sample, Score

ALL: Final = (
    "claim_precision",
    "claim_recall",
    "claim_f1",
    "context_claim_recall",
    "context_claim_precision",
    "claim_utilization",
    "noise_in_relevant",
    "noise_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "claim_faithfulness",
)
LEVELS: Final = {"E": "full", "P": "partial", "N": "none", "C": "none"}
ANSWER, REFERENCE, HISTORY = "What is answered.", "What is expected.", "What was said before."
QUESTION = "What is asked?"


def a_claim(number: int) -> str:
    return f"claim {number} of the answer"


def r_claim(number: int) -> str:
    return f"claim {number} of the reference"


def context(place: int) -> str:
    return f"What context {place} says."


class Table:
    """Letters by claims and sources; ``history`` has one for each claim of the answer."""

    def __init__(
        self,
        contexts: int,
        answer_by_reference: str,
        reference_by_answer: str,
        answer_by_context: Sequence[str] = (),
        reference_by_context: Sequence[str] = (),
        history: str = "",
    ) -> None:
        self.claims = {
            ANSWER: [a_claim(at) for at, _ in enumerate(answer_by_reference, 1)],
            REFERENCE: [r_claim(at) for at, _ in enumerate(reference_by_answer, 1)],
        }
        places = [context(place) for place in range(1, contexts + 1)]
        self.letters: dict[tuple[str, str], str] = {
            **_cells(self.claims[ANSWER], [REFERENCE], answer_by_reference),
            **_cells(self.claims[REFERENCE], [ANSWER], reference_by_answer),
            **_cells(self.claims[ANSWER], places, answer_by_context),
            **_cells(self.claims[REFERENCE], places, reference_by_context),
            **_cells(self.claims[ANSWER], [HISTORY], history),
        }
        self.sample = Sample(
            "s", question=QUESTION, answer=ANSWER, contexts=tuple(places), references=(REFERENCE,)
        )
        self.row = SupportRow(self.sample, ANSWER, history=HISTORY if history else "")
        self.judge = ScriptedJudge({"claims": self.say_claims, "support": self.say_cells})

    def say_claims(self, prompt: str) -> Any:
        return {"claims": self.claims[source_of(prompt)]}

    def say_cells(self, prompt: str) -> Any:
        source = source_of(prompt)
        letters = [self.letters[text, source] for text in statements_of(prompt)]
        return {"verdicts": [_verdict(at, letter) for at, letter in enumerate(letters, 1)]}

    def fill(self, names: Iterable[str] = ALL) -> SupportTable:
        """Return the table with what these metrics want."""
        measures = [metric(name).measure for name in names]
        return asyncio.run(fill_table(self.row, measures, Models(self.judge)))

    def scores(self, names: Sequence[str] = ALL) -> dict[str, Score]:
        table = self.fill(names)
        return {name: metric(name).score_of(table) for name in names}

    def values(self, names: Sequence[str] = ALL) -> Mapping[str, float | None]:
        return {name: score.value for name, score in self.scores(names).items()}


def metric(name: str) -> Any:
    definition = METRIC_REGISTRY.get(name)
    return definition.make(name, definition.options())


def source_of(prompt: str) -> str:
    """Return the one source of a prompt."""
    (found,) = re.findall(r"<source>\n(.*?)\n</source>", prompt, re.DOTALL)
    return str(found)


def statements_of(prompt: str) -> list[str]:
    """Return the statements of a prompt, in their order."""
    return re.findall(r'<statement n="\d+">\n(.*?)\n</statement>', prompt, re.DOTALL)


def _cells(
    claims: Sequence[str], sources: Sequence[str], letters: Sequence[str]
) -> dict[tuple[str, str], str]:
    return {
        (claim, source): letter
        for claim, row in zip(claims, letters, strict=False)
        for source, letter in zip(sources, row, strict=True)
    }


def _verdict(number: int, letter: str) -> dict[str, Any]:
    reason = {"C": "it contradicts the source", "P": "a part is not said"}.get(letter, "")
    return {"n": number, "support": LEVELS[letter], "reason": reason}
