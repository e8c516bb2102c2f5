"""The keys of a scenario that say what answers look like: citations, refusals, conversations."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from pytest_rageval.scenario.spec import Name, Spec, Whole

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
"""How citations are spelt: ``[1]``, ``【1】``, ``[^1]``, ``[citation:1]``, ``[doc1]``,
``(source: x.pdf)``, ``[x.pdf]``, ``¹``; anything else is a regular expression with one group."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


Texts = Annotated[list[Name], BeforeValidator(_listed)]


_PATTERN: Final = {"type": "string", "pattern": r"\("}
_Style = Annotated[str, WithJsonSchema({"anyOf": [{"enum": list(STYLES)}, _PATTERN]})]


class CitationsSpec(Spec):
    """How answers cite their sources; a bare text is the style."""

    short_form = "style"
    other_forms = ({"type": "boolean"},)

    style: _Style = Field(
        "auto",
        description=f"{', '.join(STYLES)}, or a regular expression with one group",
    )
    base: Annotated[Literal[0, 1], BeforeValidator(int)] | None = Field(
        None, description="the number of the first source; 1 when absent, 0 for TREC's answers"
    )
    of: Literal["contexts", "ids", "doc_name"] = Field(
        "contexts", description="what a citation names: a place in contexts, an id, a document"
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
        "phrases", description="by phrases, without a judge; or by one question to the judge a row"
    )
    also: Texts = Field([], description="further texts that are refusals, as whole sentences")
    language: Annotated[list[Literal["en", "zh"]], BeforeValidator(_listed)] = Field(
        ["en", "zh"], description="the languages of the phrases"
    )
    empty: Literal["worst", "refused"] = Field(
        "worst", description="what an empty answer is; refused: as in SQuAD"
    )
    conditions: Texts | None = Field(
        None,
        description="metrics that are 1 where an unanswerable question is refused, else 0; those "
        "that compare the answer with references when absent",
    )
    answerable: Literal["judge"] | None = Field(
        None, description="judge: it is asked whether the contexts suffice, where rows do not say"
    )


class ConversationSpec(Spec):
    """What is done with the earlier turns of a conversation."""

    other_forms = ({"type": "boolean"},)

    turns: Annotated[Whole, Field(ge=0)] = Field(
        6, description="how many messages before the question a judge sees"
    )
    send: bool = Field(True, description="false: the system under test is not sent the history")
    evidence: bool = Field(False, description="true: earlier turns may support what an answer says")


SECTIONS: Final = {
    "citations": CitationsSpec,
    "refusals": RefusalsSpec,
    "conversation": ConversationSpec,
}
"""The keys, each with the form of its value."""


def true_or_keys(value: Any) -> Any:
    """Return the mapping that ``true`` stands for, None for ``false``."""
    if isinstance(value, bool):
        return {} if value else None
    return value
