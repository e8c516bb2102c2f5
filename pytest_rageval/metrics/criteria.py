"""The metric must_satisfy, by a judge: whether the answer meets each criterion of its row.

Also two questions that the judge is asked before the metrics, whether answers refuse and whether
contexts suffice. They are no metrics: other metrics follow from the replies.
"""

from __future__ import annotations

import asyncio
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricInfo, Models, NoOptions, Role, defined
from pytest_rageval.metrics.rubric import Rubric, RubricMetric
from pytest_rageval.model import ANSWER_KIND, ANSWERABLE, Sample, Score
from pytest_rageval.text.prompts import Prompt, prompts_of


class MustSatisfy:
    """Asks the judge once for each criterion; the score is the share that the answer meets."""

    def __init__(self, name: str, options: NoOptions) -> None:
        self._name = name

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the share in 0..1; raises ClientError without a usable reply to each question."""
        criteria = sample.must_satisfy or ()
        # The prompt has the criterion where those of other rubrics have their levels.
        scores = await asyncio.gather(
            *(
                Question(self._name, "criterion", {"en": text, "zh": text}).ascore(sample, models)
                for text in criteria
            )
        )
        for score in scores:
            if score.value is None:
                return score
        verdicts = [
            {"criterion": one, "met": score.value == 1.0, "reason": score.reason}
            for one, score in zip(criteria, scores, strict=True)
        ]
        failed = [verdict for verdict in verdicts if not verdict["met"]]
        listed = "; ".join(
            f"{shorten(str(verdict['criterion']))!r}: {verdict['reason']}" for verdict in failed
        )
        reason = f"{len(failed)} of {len(verdicts)} not met: {listed}" if failed else None
        share = (len(verdicts) - len(failed)) / len(verdicts)
        return Score(self._name, share, reason, {"criteria": verdicts})


class FewLevels(Rubric):
    """A rubric of two or three levels, stricter with replies than one with many.

    A score between two levels is refused, and a 0 or 1 with words that say the opposite.
    """

    def read(self, reply: str) -> float:
        """Return the score that a reply states; raises UnreadableReplyError."""
        from pytest_rageval.text.reply import read_level

        return read_level(reply, self.low, self.high)


class Question(RubricMetric):
    """A question about a row with a prompt of ours, whose reply is a level from 0 to ``high``."""

    def __init__(self, name: str, prompt: str, levels: Prompt, high: float = 1.0) -> None:
        self._name = name
        self._rubric = FewLevels(prompts_of(__package__)[prompt], levels, high=high)
        self._language = None

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the level that the judge chose; raises ClientError without a usable reply."""
        return self._score(await self._ask(sample, models))


_JUDGE: Final[frozenset[Role]] = frozenset({"judge"})

METRICS = (
    defined(
        "must_satisfy",
        "must_satisfy answer",
        "a judge says that the answer meets each criterion; a call for each",
        MustSatisfy,
        of_row=frozenset({"must_satisfy"}),
        asks=_JUDGE,
        empty_is_worst=True,
    ),
)


def kind_question() -> Question:
    """Return the question whether an answer refuses: 0 no, 1 in part, 2 yes."""
    return Question(ANSWER_KIND, "kind", prompts_of(__package__)["kind_levels"], 2.0)


def answerable_question() -> Question:
    """Return the question whether the contexts suffice to answer: 0 no, 1 yes."""
    return Question(ANSWERABLE, "suffice", prompts_of(__package__)["suffice_levels"])


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
