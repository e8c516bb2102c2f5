"""The options of ragas' metrics, under ragas' own names where it has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from pytest_rageval.metrics.base import MetricInfo, NoOptions


class RagasOptions(NoOptions):
    """``language`` of the prompts: a code like ``zh``; the judge's where it is not given.

    ``auto`` is English, as ragas wrote them; another is a translation by the judge itself.
    """

    language: str | None = None

    def arguments(self) -> Mapping[str, Any]:
        """Return what ragas' class is made with."""
        return {}


class ReferenceOptions(RagasOptions):
    """``references``: ragas takes one. ``best`` scores each and costs that many times the calls."""

    references: Literal["first", "best"] = "first"


class RelevancyOptions(RagasOptions):
    """``strictness``: how many questions the judge guesses from the answer."""

    strictness: int = Field(3, ge=1, le=20, strict=True)

    def arguments(self) -> Mapping[str, Any]:
        """Return the strictness."""
        return {"strictness": self.strictness}


def _some_weight(weights: tuple[float, float]) -> tuple[float, float]:
    if not any(weights):
        raise ValueError("one of the two weights must be above 0")
    return weights


_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Beta = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CorrectnessOptions(ReferenceOptions):
    """``weights`` of the claims and of the similarity; ``beta`` above 1 favours recall.

    With a weight of 0 for the similarity nothing is embedded.
    """

    weights: Annotated[tuple[_Weight, _Weight], AfterValidator(_some_weight)] = (0.75, 0.25)
    beta: _Beta = 1.0

    def arguments(self) -> Mapping[str, Any]:
        """Return weights and beta."""
        return {"weights": list(self.weights), "beta": self.beta}

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info, without the embedding model where it is not asked."""
        if self.weights[1]:
            return info
        return replace(info, asks=frozenset({"judge"}), range=(0.0, 1.0))


class FactualOptions(ReferenceOptions):
    """``mode`` of the score, ``beta`` of f1; how finely claims are cut and how many are kept."""

    mode: Literal["precision", "recall", "f1"] = "f1"
    beta: _Beta = 1.0
    atomicity: Literal["low", "high"] = "low"
    coverage: Literal["low", "high"] = "low"

    def arguments(self) -> Mapping[str, Any]:
        """Return mode, beta, atomicity and coverage."""
        return self.model_dump(include={"mode", "beta", "atomicity", "coverage"})


class NoiseOptions(ReferenceOptions):
    """``mode``: whether wrong claims from relevant or from irrelevant contexts are counted."""

    mode: Literal["relevant", "irrelevant"] = "relevant"

    def arguments(self) -> Mapping[str, Any]:
        """Return the mode."""
        return {"mode": self.mode}


class IrrelevantNoiseOptions(NoiseOptions):
    """The same with the other mode by default: the older name of the metric says it."""

    mode: Literal["relevant", "irrelevant"] = "irrelevant"


_LEVEL = re.compile(r"score(\d+)_description")


def _levels(rubrics: Mapping[str, str] | None) -> Mapping[str, str] | None:
    if rubrics is None:
        return None
    for name in rubrics:
        if not _LEVEL.fullmatch(name):
            raise ValueError(f"{name!r} must be written as score1_description, score2_description")
    if len(rubrics) < 2:
        raise ValueError("rubrics describe two levels or more")
    return rubrics


class RubricsOptions(ReferenceOptions):
    """``rubrics`` describe the levels: ``{score1_description: ..., score2_description: ...}``.

    Without them ragas' own five levels count, which look at the reference if ``with_reference``.
    """

    rubrics: Annotated[dict[str, str] | None, AfterValidator(_levels)] = None
    with_reference: bool = False

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest mark."""
        if self.rubrics is None:
            return (1, 5)
        marks = [int(name[len("score") : -len("_description")]) for name in self.rubrics]
        return (min(marks), max(marks))

    def arguments(self) -> Mapping[str, Any]:
        """Return rubrics and with_reference."""
        return {"rubrics": self.rubrics, "with_reference": self.with_reference}

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the rubrics, and the reference where it counts."""
        needs = info.needs | ({"references"} if self.with_reference else set())
        low, high = self.scale
        return replace(info, needs=needs, range=(float(low), float(high)))


class RubricsWithReferenceOptions(RubricsOptions):
    """The same with the reference by default: the metric's name says it."""

    with_reference: bool = True


def _ascending(scale: tuple[int, int]) -> tuple[int, int]:
    if scale[0] >= scale[1]:
        raise ValueError("the lowest mark comes first, then a higher one")
    return scale


class InstanceRubricsOptions(ReferenceOptions):
    """``column`` of the data that holds a row's rubrics; ``scale``: lowest and highest mark."""

    column: str = "rubrics"
    scale: Annotated[tuple[int, int], AfterValidator(_ascending)] = (1, 5)

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the marks."""
        low, high = self.scale
        return replace(info, range=(float(low), float(high)))


class SummaryOptions(RagasOptions):
    """``length_penalty``: whether a short summary is better; ``coeff``: how much that counts."""

    length_penalty: bool = True
    coeff: float = Field(0.5, ge=0, le=1)

    def arguments(self) -> Mapping[str, Any]:
        """Return length_penalty and coeff."""
        return {"length_penalty": self.length_penalty, "coeff": self.coeff}
