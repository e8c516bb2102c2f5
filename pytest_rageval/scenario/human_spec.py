"""The section ``human`` of a scenario file: where the labels of people are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from pytest_rageval.scenario.data_specs import Delimiter
from pytest_rageval.scenario.json_types import TEXT
from pytest_rageval.scenario.spec import Encoding, Name, Number, Spec


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


_NAME = {**TEXT, "minLength": 1}
_NAMES = {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}
Names = Annotated[list[Name], BeforeValidator(_listed), WithJsonSchema(_NAMES)]
"""A name, or a list of them."""


class HumanSpec(Spec):
    """What people say of the answers, in files of labels or in columns of the data."""

    short_form = "file"

    file: Names = Field([], description="label files, relative to the scenario file")
    more: Names = Field([], description="further label files, those of --rag-labels")
    column: Names = Field([], description="columns of the data, one for each annotator")
    of: Names = Field(
        [], description="the metrics that the labels are about; the only judged one when absent"
    )
    levels: Annotated[list[Number], Field(min_length=2)] | None = Field(
        None,
        description="what a label may be; the highest is positive; those of a rubric, or 0 and 1, "
        "when absent",
    )
    cut: Number | None = Field(
        None, description="from this score on the higher of two levels is meant; else the threshold"
    )
    annotators: Names = Field([], description="whose labels count; everyone's when absent")
    drawn: Literal["random", "chosen"] = Field(
        "chosen", description="how the labels were drawn that do not say it themselves"
    )
    encoding: Encoding = Field("utf-8", description="of the files, for instance gb18030")
    delimiter: Delimiter = None

    @field_validator("levels")
    @classmethod
    def _levels_differ(cls, levels: list[float] | None) -> list[float] | None:
        if levels is not None and len(set(levels)) < len(levels):
            raise ValueError("names a level twice; each is one of the values that a label may have")
        return None if levels is None else sorted(levels)

    @model_validator(mode="after")
    def _has_one_source(self) -> HumanSpec:
        if self.column and (self.file or self.more):
            raise ValueError("give either 'file' or 'column'")
        return self
