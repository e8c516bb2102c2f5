"""Ragas' metrics that ask no model, computed by ragas' own code; the best reference counts."""

from __future__ import annotations

import math
from typing import Any

from pytest_rageval.metrics.base import NoOptions, ScoringContext
from pytest_rageval.metrics.ragas.backend import begin_loading, missing_package, require_ragas
from pytest_rageval.model import Sample, Score


class TextMetric:
    """Scores samples with a class of ``ragas.metrics.collections`` that needs only texts."""

    def __init__(self, name: str, options: NoOptions, ragas_class: str, package: str) -> None:
        require_ragas(name, package)
        self._name = name
        self._options = options
        self._class = ragas_class
        self._package = package

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return ragas' score against the best reference; unscored where it gives NaN."""
        made = getattr(begin_loading().result().collections, self._class)
        try:
            metric = made(**self._options.model_dump())
            scores = [
                self._score(metric, sample.answer or "", reference)
                for reference in sample.references or ("",)
            ]
        except ImportError as error:  # ragas knows some versions of the package only
            raise missing_package(self._name, self._package, f" ({error})") from error
        return max(scores, key=lambda score: -math.inf if score.value is None else score.value)

    def _score(self, metric: Any, answer: str, reference: str) -> Score:
        found = _result(metric.ascore(reference=reference, response=answer))
        if math.isnan(found.value):
            return Score(self._name, None, f"ragas found nothing to score; {found.reason}")
        return Score(self._name, float(found.value), found.reason)


def _result(asked: Any) -> Any:
    """Return what a coroutine returns that waits for nothing: no event loop is needed."""
    try:
        asked.send(None)
    except StopIteration as done:
        return done.value
    asked.close()
    raise RuntimeError("a metric of ragas that asks no model waits for something")
