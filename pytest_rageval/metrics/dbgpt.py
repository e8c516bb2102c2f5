"""Base classes with the names and the interface of DB-GPT's evaluation metrics.

A metric written for DB-GPT needs no change but its import, and not even that where DB-GPT is
installed. Scenarios name it by its import path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class EvaluationResult:
    """A metric's result for a sample: ``score`` (None: no score), ``feedback`` (why), ``passing``.

    ``passing`` False fails the case, whatever the thresholds; None decides nothing, and True
    overrules no threshold. The other fields are DB-GPT's and are not read.
    """

    query: str | None = None
    prediction: Any = None
    contexts: Any = None
    score: float | None = None
    passing: bool | None = True
    metric_name: str | None = None
    prediction_cost: int = 0
    raw_dataset: Any = None
    feedback: str | None = None


BaseEvaluationResult = EvaluationResult


class EvaluationMetric:
    """Compares an answer (``prediction``) with ``contexts``.

    ``contexts`` are the references, else the expected contexts, else the retrieved ones.
    """

    def sync_compute(
        self, prediction: Any, contexts: Sequence[str] | None = None, query: str | None = None
    ) -> EvaluationResult | float | None:
        """Return the score or a result; define this method or ``compute``."""
        raise NotImplementedError("sync_compute is not implemented")

    async def compute(
        self, prediction: Any, contexts: Sequence[str] | None = None, query: str | None = None
    ) -> EvaluationResult | float | None:
        """Return what ``sync_compute`` returns; define this one to await something."""
        return self.sync_compute(prediction, contexts, query)


class RetrieverEvaluationMetric(EvaluationMetric):
    """Compares the retrieved contexts (``prediction``) with the expected ones (``contexts``)."""


class LLMEvaluationMetric(EvaluationMetric):
    """Asks the scenario's judge and reads its reply.

    ``prompt_template`` has the placeholders ``{query}``, ``{context}`` and ``{answer}``.
    ``llm_client`` and ``model_name`` are DB-GPT's and are not used.
    """

    prompt_template: str = ""

    def __init__(
        self,
        llm_client: object = None,
        model_name: str | None = None,
        prompt_template: str | None = None,
    ) -> None:
        if prompt_template is not None:
            self.prompt_template = prompt_template

    def _parse_evaluate_response(self, text: str) -> EvaluationResult | float | None:
        """Return the score in a reply; on ValueError the judge is asked again."""
        raise NotImplementedError("_parse_evaluate_response is not implemented")
