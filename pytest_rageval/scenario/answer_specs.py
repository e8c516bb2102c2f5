"""The keys of a scenario about its answers: what they look like, what people say, what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from pytest_rageval.errors import shorten
from pytest_rageval.model import MAX_GRADE, SUPPORT, SUPPORT_LEVELS
from pytest_rageval.scenario.data_specs import Delimiter, Names, TextEncoding, listed
from pytest_rageval.scenario.spec import (
    NUMBER,
    Count,
    Name,
    Number,
    Spec,
    Text,
    Whole,
    expected,
)

STYLES: Final = (
    "auto",
    "brackets",
    "lenticular",
    "footnote",
    "citation",
    "doc",
    "source",
    "file",
    "superscript",
)
"""How citations are spelt: told from the answers, ``[1]``, ``【1】``, ``[^1]``, ``[citation:1]``,
``[doc1]``, ``(source: x.pdf)``, ``[x.pdf]``, ``¹``. Else a regular expression with one group."""


_Grade = Annotated[int, Field(ge=0, le=MAX_GRADE, strict=True)]


Texts = Annotated[list[Name], BeforeValidator(listed)]


_PATTERN: Final = {"type": "string", "pattern": r"\("}
_Style = Annotated[str, WithJsonSchema({"anyOf": [{"enum": list(STYLES)}, _PATTERN]})]


def _whole(value: Any) -> Any:
    """Return a text, boolean or float that is a whole number as int; all else as it is."""
    is_whole = value.is_integer() if isinstance(value, float) else isinstance(value, str | bool)
    with suppress(ValueError):
        return int(value) if is_whole else value
    return value


class CitationsSpec(Spec):
    """How answers cite their sources; a bare text is the style."""

    short_form = "style"
    other_forms = ({"type": "boolean"},)

    style: _Style = Field(
        "auto",
        description=f"how a citation is spelt: {', '.join(STYLES)}, or a regular expression with "
        "one group around the number or name",
    )
    base: Annotated[Literal[0, 1], BeforeValidator(_whole)] | None = Field(
        None, description="the number of the first source; 1 when absent, 0 in TREC's answers"
    )
    of: Literal["contexts", "ids", "doc_name"] = Field(
        "contexts",
        description="what a number names: a place in contexts, or an id of retrieved_ids; with "
        "doc_name a place, and chunks of one document are one source",
    )

    @field_validator("style")
    @classmethod
    def _is_a_style(cls, style: str) -> str:
        if style in STYLES:
            return style
        try:
            groups = re.compile(style).groups
        except re.error as error:
            names = ", ".join(STYLES)
            raise ValueError(f"no style ({names}), and no regular expression: {error}") from None
        if groups != 1:
            raise ValueError(
                f"expected a style ({', '.join(STYLES)}), or a regular expression "
                f"with one group around the number or name, found {groups} groups"
            )
        return style


class RefusalsSpec(Spec):
    """How answers that refuse are told, and what they mean for metrics."""

    short_form = "detect"
    other_forms = ({"type": "boolean"},)

    detect: Literal["phrases", "judge"] = Field(
        "phrases",
        description="what tells a refusal; judge asks one question for each row, before the "
        "metrics",
    )
    also: Texts = Field([], description="further sentences that refuse")
    language: Annotated[list[Literal["en", "zh"]], BeforeValidator(listed)] = Field(
        ["en", "zh"], description="the languages of the phrases; answers in others are unclear"
    )
    empty: Literal["worst", "refused"] = Field(
        "worst", description="what an empty answer is; refused: as in SQuAD"
    )
    conditions: Texts | None = Field(
        None,
        description="metrics that are 1 where an unanswerable question is refused, else 0; when"
        " absent those that compare the answer with references",
    )
    answerable: Literal["judge"] | None = Field(
        None,
        description="a judge says whether the contexts suffice, where a row does not say it: for "
        "the metrics of refusals, and for all others where the row has neither a reference nor a "
        "document it names (doc_name)",
    )


class ConversationSpec(Spec):
    """What is done with the earlier turns of a conversation."""

    other_forms = ({"type": "boolean"},)

    turns: Whole = Field(6, ge=0, description="how many messages before the question a judge sees")
    send: bool = Field(True, description="false: the system under test is not sent the history")
    evidence: bool = Field(False, description="true: earlier turns may support what an answer says")


class FillSpec(Spec):
    """How a judge grades the results that nobody judged, for metrics that end in ``+filled``."""

    other_forms = ({"type": "boolean"},)

    k: Count = Field(10, description="among how many results of a row it grades them")
    check: Whole = Field(
        50,
        ge=0,
        description="how many documents it grades that people judged; with fewer than 20, or a "
        "weighted kappa below 0.4, gates on these metrics fail",
    )
    grades: Annotated[list[_Grade], Field(min_length=4, max_length=4)] | None = Field(
        None,
        description="what its grades 0, 1, 2, 3 are among those of people; when absent [0, 0, 1, "
        "1] if theirs go up to 1, [0, 0, 1, 2] up to 2, the same up to 3",
    )

    def __str__(self) -> str:
        grades = "" if self.grades is None else f", grades={self.grades}"
        return f"k={self.k}{grades}"


class DiagnoseSpec(Spec):
    """The metrics that tell causes apart; the words of the texts do where one is absent."""

    other_forms = ({"type": "boolean"},)

    retrieval: Name | None = Field(
        None,
        description="low where the contexts lack the reference; name one that ignores the "
        "answer. context_recall when absent",
    )
    generation: Name | None = Field(
        None,
        description="low where the answer says what the contexts do not; name one that compares"
        " both. faithfulness when absent",
    )


def true_or_keys(value: Any) -> Any:
    """Return the mapping that ``true`` stands for, None for ``false``; all else as it is."""
    if isinstance(value, bool):
        return {} if value else None
    return value


def true_or_causes(value: Any) -> Any:
    """Return what ``diagnose`` stands for; ValueError for what is no boolean, mapping or null."""
    value = true_or_keys(value)
    if value is None or isinstance(value, dict | DiagnoseSpec):
        return value
    found = shorten(repr(value))
    raise ValueError(f"expected true or {{retrieval: METRIC, generation: METRIC}}, found {found}")


def _level(value: Any) -> Any:
    """Return what a word for a level of support counts; all else as it is."""
    return SUPPORT_LEVELS.get(value, value) if isinstance(value, str) else value


_LEVEL: Final = {"anyOf": [NUMBER, {"enum": [*SUPPORT_LEVELS]}]}
_Level = Annotated[
    Number,
    BeforeValidator(_level),
    expected(f"a number, or a level of {SUPPORT} ({', '.join(SUPPORT_LEVELS)})"),
    WithJsonSchema(_LEVEL),
]


class HumanSpec(Spec):
    """What people say of the answers, in files of labels or in columns of the data."""

    short_form = "file"

    file: Names = Field([], description="label files: CSV, or any format of a data set")
    more: Names = Field([], description="further label files; --rag-labels sets it")
    column: Names = Field(
        [],
        description="in place of files: columns of the data, one for each annotator; a list in "
        "a cell is several annotators",
    )
    of: Names = Field(
        [],
        description="the metrics, weighted_score, or support (the table of claims, nuggets and "
        "citations), that the labels are about; when absent the only one that asks a model, or the "
        "only one",
    )
    question: Text = Field(
        "",
        description="what people answer of each answer, on the page and in the table of "
        "--rag-label; when absent the rubric's own, else a description that ends in a "
        "question mark",
    )
    levels: Annotated[list[_Level], Field(min_length=2)] | None = Field(
        None,
        description="what a label may be, the highest is positive; when absent a rubric's own, "
        "or 0 and 1 on a scale from 0 to 1; of support none, partial and full",
    )
    cut: Number | None = Field(
        None,
        description="from this score on the judge gives the higher of two levels; the metric's "
        "threshold when absent",
    )
    annotators: Names = Field([], description="whose labels count; everyone's when absent")
    drawn: Literal["random", "chosen"] = Field(
        "chosen",
        description="how labels were drawn that do not say it. random: uniformly, from all samples",
    )
    encoding: TextEncoding = "utf-8"
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

    @model_validator(mode="before")
    @classmethod
    def _has_words_of_support(cls, value: Any) -> Any:
        """Refuse words for levels where they would silently stand for numbers of another scale."""
        levels = value.get("levels") if isinstance(value, Mapping) else None
        texts = [one for one in levels if isinstance(one, str)] if isinstance(levels, list) else ()
        words = [one for one in texts if one in SUPPORT_LEVELS]
        if words and listed(value.get("of")) != [SUPPORT]:
            raise ValueError(f"level {words[0]!r} is one of 'of: {SUPPORT}'; write numbers here")
        return value

    @model_validator(mode="after")
    def _asks_of_one_metric(self) -> HumanSpec:
        if self.question and len(self.of) > 1:
            names = ", ".join(self.of)
            raise ValueError(
                f"one 'question' cannot be that of {names}; name one metric in 'of', or leave the "
                "question to their rubrics"
            )
        return self


SECTIONS: Final = {
    "citations": CitationsSpec,
    "refusals": RefusalsSpec,
    "conversation": ConversationSpec,
}
"""The keys that a metric which reads them switches on for all, each with the form of its value."""
