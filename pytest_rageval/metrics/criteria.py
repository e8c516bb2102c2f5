"""The metric must_satisfy: whether the answer meets each criterion of its row, by a judge."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, Models, NoOptions
from pytest_rageval.metrics.rubric import Rubric, RubricMetric
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.prompts import prompts_of

_PLAIN: Final = r"[-+]?\d*\.?\d+(?:\s*(?:/|out of)\s*\d+(?:\.\d+)?)?\s*[.分]?"
_CUT: Final = r"\{\s*[\"'“]"


class MustSatisfy:
    """Asks the judge once for each criterion; the score is the share that the answer meets."""

    def __init__(self, name: str, options: NoOptions) -> None:
        self._name = name

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the share in 0..1; raises ClientError without a usable reply to each question."""
        criteria = sample.must_satisfy or ()
        scores = await asyncio.gather(
            *(_Criterion(self._name, criterion).judge(sample, models) for criterion in criteria)
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


class MetOrNot(Rubric):
    """A rubric of few levels that reads less into a reply: a hedged or cut one is no 1."""

    def read(self, reply: str) -> float:
        """Return the score that a reply states; raises UnreadableReplyError."""
        from pytest_rageval.text.reply import UnreadableReplyError, find_objects, strip_thinking

        found = find_objects(reply)
        if not found and re.search(_CUT, strip_thinking(reply)):
            raise UnreadableReplyError("its JSON has no end")
        for score in (one["score"] for one in found if one.get("score") is not None):
            if isinstance(score, list | dict) or not re.fullmatch(_PLAIN, str(score).strip()):
                raise UnreadableReplyError(f"its score is {shorten(repr(score))}, no number")
        return super().read(reply)


class _Criterion(RubricMetric):
    """A rubric of two levels, whose text is the criterion."""

    def __init__(self, name: str, criterion: str) -> None:
        self._name = name
        template = prompts_of(__package__)["criterion"]
        self._rubric = MetOrNot(template, {"en": criterion, "zh": criterion}, high=1.0)
        self._language = None

    async def judge(self, sample: Sample, models: Models) -> Score:
        """Return 1.0 or 0.0 with the judge's reason."""
        return self._score(await self._ask(sample, models))


METRICS = (
    MetricDefinition(
        MetricInfo(
            "must_satisfy",
            needs=frozenset({"must_satisfy", "answer"}),
            of_row=frozenset({"must_satisfy"}),
            asks=frozenset({"judge"}),
            empty_is_worst=True,
            summary="a judge says that the answer meets each criterion; a call for each",
        ),
        MustSatisfy,
    ),
)
