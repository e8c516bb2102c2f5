"""What a scenario may choose of ragas' metrics: votes, references, weights, rubrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.metrics.base import MetricInfo, NoOptions
from pytest_rageval.scenario.model_specs import check_language


class RagasOptions(NoOptions):
    """The option of all that ask a judge."""

    language: Annotated[str, AfterValidator(check_language)] | None = Field(
        None,
        description="of the prompts, the judge's when absent; auto: English, as ragas wrote "
        "them; any other: the judge translates them",
    )

    passed: ClassVar[frozenset[str]] = frozenset()
    """The options that ragas' class takes; all others are for our side."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ragas' class."""
        return self.model_dump(mode="json", include=set(self.passed))


def _votes(times: int | None) -> int | None:
    """Return an odd number of votes; None for 1, which is the same as without the option."""
    if times is not None and times % 2 == 0:
        raise ValueError("an odd number, so that there is always a majority")
    return None if times == 1 else times


class VotedOptions(RagasOptions):
    """How often our judge is asked for its verdicts; ragas' classes are not told."""

    reproducibility: Annotated[
        Annotated[int, Field(ge=1, le=21, strict=True)] | None, AfterValidator(_votes)
    ] = Field(None, description="verdicts on each statement; the majority counts")


class ReferenceOptions(RagasOptions):
    """Which reference counts: ragas takes one."""

    references: Literal["first", "best"] = Field(
        "first", description="best: score each, at so many times the calls"
    )


class VotedReferenceOptions(ReferenceOptions, VotedOptions):
    """Repeated verdicts, and the choice among references."""


class RelevancyOptions(RagasOptions):
    """How thoroughly the judge is asked."""

    strictness: int = Field(
        3, ge=1, le=20, strict=True, description="questions guessed from the answer"
    )
    passed = frozenset({"strictness"})


def _some_weight(weights: tuple[float, float]) -> tuple[float, float]:
    if not any(weights):
        raise ValueError("one of the two weights must be above 0")
    return weights


_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Beta = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CorrectnessOptions(ReferenceOptions):
    """The weights of claims and similarity."""

    weights: Annotated[tuple[_Weight, _Weight], AfterValidator(_some_weight)] = Field(
        (0.75, 0.25), description="of claims and of similarity; with 0 nothing is embedded"
    )
    beta: _Beta = Field(1.0, description="above 1 favours recall")
    passed = frozenset({"weights", "beta"})

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info; where similarity has weight 0, without the embedding model.

        The range is then that of claims, 0..1: only a cosine can be below 0.
        """
        if self.weights[1]:
            return info
        return replace(info, asks=frozenset({"judge"}), range=(0.0, 1.0))


class FactualOptions(VotedReferenceOptions):
    """Which figure is the score, and how texts are split into claims."""

    mode: Literal["precision", "recall", "f1"] = Field("f1", description="which figure it is")
    beta: _Beta = Field(1.0, description="of f1; above 1 favours recall")
    atomicity: Literal["low", "high"] = Field("low", description="how finely claims are cut")
    coverage: Literal["low", "high"] = Field("low", description="how many claims are kept")
    passed = frozenset({"mode", "beta", "atomicity", "coverage"})


_NOISE = "the contexts whose wrong claims are counted"


class NoiseOptions(VotedReferenceOptions):
    """Which wrong claims are counted."""

    mode: Literal["relevant", "irrelevant"] = Field("relevant", description=_NOISE)
    passed = frozenset({"mode"})


class IrrelevantNoiseOptions(NoiseOptions):
    """The same, with the mode ``irrelevant`` by default."""

    mode: Literal["relevant", "irrelevant"] = Field("irrelevant", description=_NOISE)


_LEVEL = re.compile(r"score([0-9]+)_description")


def levels_of(rubrics: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Return the rubrics, of a scenario or a row, after a check.

    Raises ValueError for a name without a mark, a mark that is described twice, or fewer than two.
    """
    if rubrics is None:
        return None
    for name in rubrics:
        if not _LEVEL.fullmatch(name):
            guess = did_you_mean(name, [f"score{mark}_description" for mark in range(11)])
            must = "must be written as score1_description, score2_description"
            raise ValueError(f"{shorten(repr(name))} {must}.{guess}")
    marks = [_mark(name) for name in rubrics]
    if len(marks) < 2:
        raise ValueError("rubrics describe two levels or more")
    if len({*marks}) < len(marks):
        raise ValueError(f"rubrics describe each level once, found {', '.join(rubrics)}")
    return rubrics


def _mark(name: str) -> int:
    """Return the mark of a level: 3 for ``score3_description``."""
    return int(name[len("score") : -len("_description")])


def scale_of(rubrics: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the lowest and the highest mark of levels, None without any; ValueError as above."""
    marks = [_mark(name) for name in levels_of(rubrics or None) or ()]
    return (min(marks), max(marks)) if marks else None


_WITH_REFERENCE = "whether a row needs a reference; the judge sees one that the row has"


class RubricsOptions(ReferenceOptions):
    """The levels, and whether a row needs a reference."""

    rubrics: Annotated[dict[str, str] | None, AfterValidator(levels_of)] = Field(
        None, description="score1_description: text, and so on; ragas' five levels when absent"
    )
    with_reference: bool = Field(False, description=_WITH_REFERENCE)

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest mark."""
        return scale_of(self.rubrics or {}) or (1, 5)

    passed = frozenset({"rubrics", "with_reference"})

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the rubrics, and the reference where it counts."""
        needs = info.needs | ({"references"} if self.with_reference else set())
        low, high = self.scale
        return replace(info, needs=needs, range=(float(low), float(high)))


class RubricsWithReferenceOptions(RubricsOptions):
    """The same, with the reference by default."""

    with_reference: bool = Field(True, description=_WITH_REFERENCE)


def _ascending(scale: tuple[int, int]) -> tuple[int, int]:
    if scale[0] >= scale[1]:
        raise ValueError("the lowest mark comes first, then a higher one")
    return scale


class InstanceRubricsOptions(ReferenceOptions):
    """Where the rubrics of a row are, and the marks that they may give."""

    column: str = Field("rubrics", description="of the data, with the row's rubrics")
    scale: Annotated[tuple[int, int], AfterValidator(_ascending)] = Field(
        (1, 5), description="lowest and highest mark"
    )

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the marks."""
        low, high = self.scale
        return replace(info, range=(float(low), float(high)))


class TableOptions(NoOptions):
    """What is counted of two tables, under ragas' names."""

    mode: Literal["rows", "columns"] = Field("rows", description="what must be equal as a whole")
    metric: Literal["precision", "recall", "f1"] = Field("f1", description="which figure it is")


class SummaryOptions(RagasOptions):
    """How much a short summary counts."""

    length_penalty: bool = Field(True, description="whether a short summary is better")
    coeff: float = Field(0.5, ge=0, le=1, description="how much that counts")
    passed = frozenset({"length_penalty", "coeff"})
