"""Questions to the judge before the metrics: whether answers refuse, whether contexts suffice.

They are no metrics of their own: what they say decides for others.
"""

from __future__ import annotations

from typing import Final

from pytest_rageval.metrics.base import MetricInfo, Models, Role
from pytest_rageval.metrics.criteria import MetOrNot
from pytest_rageval.metrics.rubric import RubricMetric
from pytest_rageval.model import ANSWER_KIND, ANSWERABLE, Sample, Score
from pytest_rageval.text.prompts import prompts_of


class AnswerQuestion(RubricMetric):
    """A question about a row, whose reply is a level from 0 to ``high``."""

    def __init__(self, name: str, prompt: str, high: float) -> None:
        texts = prompts_of(__package__)
        self._name = name
        self._rubric = MetOrNot(texts[prompt], texts[f"{prompt}_levels"], high=high)
        self._language = None

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the level that the judge chose; raises ClientError without a usable reply."""
        return self._score(await self._ask(sample, models))


def kind_question() -> AnswerQuestion:
    """Return the question whether an answer refuses: 0 no, 1 in part, 2 yes."""
    return AnswerQuestion(ANSWER_KIND, "kind", 2.0)


def answerable_question() -> AnswerQuestion:
    """Return the question whether the contexts suffice to answer: 0 no, 1 yes."""
    return AnswerQuestion(ANSWERABLE, "suffice", 1.0)


_JUDGE: Final[frozenset[Role]] = frozenset({"judge"})
KIND: Final = MetricInfo(
    ANSWER_KIND,
    frozenset({"question", "answer"}),
    range=(0.0, 2.0),
    asks=_JUDGE,
    section="refusals",
)
SUFFICIENCY: Final = MetricInfo(
    ANSWERABLE, frozenset({"question", "contexts"}), asks=_JUDGE, section="refusals"
)
