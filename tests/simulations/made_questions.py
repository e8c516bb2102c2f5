"""How many planted faults of made questions are found, with a judge that is right and without.

Rows, and what has to be said of them: ``planted_questions.py``. The second judge lets everything
through, so that what is found is found by rules alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass

from planted_questions import KINDS, LANGUAGES, Language, PlantedModel, planted_rows, search

from pytest_rageval.questions.make import Outcome, WriterAndJudge, make_all
from pytest_rageval.questions.rows import Known, settled


@dataclass(frozen=True)
class Found:
    """Of rows of a kind: by reason, how many are rejected, "" for those that count."""

    kind: str
    count: int
    reasons: Counter[str]
    known: int
    """How many of those that count are marked as common knowledge."""

    @property
    def right(self) -> int:
        """How many are rejected for the right reason, or rightly count."""
        return self.reasons[KINDS[self.kind]]


def found(language: Language, kind: str, count: int = 200, *, lenient: bool = False) -> Found:
    """Return what becomes of ``count`` rows of a kind."""
    rows = planted_rows(language, kind, count)
    model = PlantedModel(rows, lenient=lenient)
    outcomes: list[Outcome] = asyncio.run(
        make_all(
            [row.slot for row in rows], WriterAndJudge(model, model), search(language), lambda: None
        )
    )
    assert all(outcome.failure is None for outcome in outcomes)
    made = settled(outcomes, Known())
    asked = {row.slot.id for row in rows if row.kind == kind}
    reasons = Counter(one.reason for one in made.rejected if one.slot.id in asked)
    counting = [row for row in made.rows if row["id"] in asked]
    assert reasons.total() + len(counting) == len(asked)
    reasons[""] = len(counting)
    return Found(kind, len(asked), reasons, sum(row["common_knowledge"] for row in counting))


def show(_: int) -> None:
    """What becomes of planted rows, 200 of each kind."""
    write = sys.stdout.write
    for language in LANGUAGES:
        write(f"\n{language}\n{'':<40} {'rows':>5} {'right':>6} {'rules alone':>12}  others\n")
        for kind, reason in KINDS.items():
            judged, alone = found(language, kind), found(language, kind, lenient=True)
            others = ", ".join(
                f"{number} {name or 'count'}"
                for name, number in sorted(judged.reasons.items())
                if number and name != reason
            )
            write(f"{kind:<40} {judged.count:>5} {judged.right:>6} {alone.right:>12}  {others}\n")
