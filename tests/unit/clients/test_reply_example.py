"""R14: what a judge without schemas is shown, and that giving it back is no reply."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from pytest_rageval.clients.accounting import Purpose
from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.cache import chat_key
from pytest_rageval.clients.reply_form import gives_back, shown_example
from pytest_rageval.clients.settings import ClientSettings, ReplyForm


class One(BaseModel):
    statement: str = Field(description="a claim of the answer.")
    verdict: int = Field(description="0 or 1")


class Verdicts(BaseModel):
    all: list[One]
    tags: list[str] = Field(description="words")
    level: Literal["low", "high"]
    is_sure: bool
    mark: float | None = Field(ge=0, le=5)


class Tree(BaseModel):
    mark: int
    parts: list[Tree]


def schema_of(model: type[BaseModel]) -> ReplySchema:
    return ReplySchema(model.__name__, model.model_json_schema())


def test_it_has_every_field_with_what_belongs_there() -> None:
    # Before pydantic 2.9, its schema has the bounds of a float as 0.0 and 5.0.
    assert shown_example(schema_of(Verdicts)).replace("from 0.0 to 5.0", "from 0 to 5") == (
        '{"all": [{"statement": "<put your own text here: a claim of the answer>", '
        '"verdict": "<put a whole number here: 0 or 1>"}], '
        '"tags": ["<put your own text here: words>"], '
        '"level": "<put one of low, high here: Level>", '
        '"is_sure": "<put true or false here: Is Sure>", '
        '"mark": "<put a number from 0 to 5 here: Mark>"}'
    )


def test_given_back_it_is_no_reply() -> None:
    """[R14] Numbers are texts there; a reply of texts alone is known by their five words."""
    for model in (Verdicts, Tree):
        with pytest.raises(ValidationError):
            model.model_validate_json(shown_example(schema_of(model)))
    texts = re.findall(r"<[^>]*>", shown_example(schema_of(Verdicts)))
    assert all(len(re.findall(r"\w+", text)) >= 5 for text in texts if "text" in text)


def test_the_form_is_no_part_of_a_cache_key() -> None:
    """[R14] So a reply that was asked for with the schema in words is found as before.

    The digest is that of 0.1.0 for this question.
    """
    schema = ReplySchema("V", {"type": "object"})
    forms: list[ReplyForm] = ["auto", "json_schema", "json_object", "text"]
    found = set()
    for form in forms:
        settings = ClientSettings("m", base_url="http://127.0.0.1:9/v1", form=form)
        key = chat_key(settings, [Message("user", "Well?")], schema, Purpose("metric"))
        found.add(key.sha256)
    assert found == {"a3abfad2673ec00623b16af14753fb906d07948bb970e9392933cb78f15bb317"}


def test_a_text_that_stands_in_for_a_value_is_noticed_in_a_reply() -> None:
    schema = schema_of(One)
    form = shown_example(schema)
    place = re.findall(r"<put your own text here[^>]*>", form)[0]
    assert gives_back(form, schema)
    assert gives_back(f'{{"statement": "{place}", "verdict": 1}}', schema)
    assert not gives_back('{"statement": "<put the plant here", "verdict": 1}', schema)


@pytest.mark.parametrize(
    ("reason", "is_given_back"),
    [
        ("<put your own text here>", True),
        ("<your own text here>", True),
        ("put your own text here", True),
        ("<Put  your own text here: a reason>", True),
        (r"\u003cput your own text here\u003e", True),
        ("＜put your own text here＞", True),
        ("The page says: type your own text here, then save.", False),
        ("Your own text here is short.", False),
        ("There is a number here.", False),
    ],
)
def test_what_stands_in_for_a_value_need_not_be_given_back_to_the_letter(
    reason: str, is_given_back: bool
) -> None:
    schema = schema_of(One)
    assert gives_back(f'{{"statement": "{reason}", "verdict": 1}}', schema) is is_given_back
