"""Four metrics that ask a judge one question each, without any text to prepare or to parse."""

from __future__ import annotations

import os
import zlib

from pytest_rageval.clients.base import Message
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, MetricInfo, Models
from pytest_rageval.model import Sample, Score

# Other prompts have other latencies.
_ROUND = os.environ.get("JUDGE_ROUND", "")


class Asked:
    """A score made of the reply, which is any sentence."""

    def __init__(self, name: str, options: object) -> None:
        self._name = name

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return a number from 0 to 1."""
        assert models.judge is not None
        prompt = f"{self._name} of {sample.id}: {sample.question} {sample.answer} {_ROUND}"
        reply = await models.judge.complete([Message("user", prompt)])
        return Score(self._name, zlib.crc32(reply.text.encode()) / 2**32)


for _name in ("asked-1", "asked-2", "asked-3", "asked-4"):
    METRIC_REGISTRY.add(
        MetricDefinition(MetricInfo(_name, frozenset({"answer"}), asks=frozenset({"judge"})), Asked)
    )
