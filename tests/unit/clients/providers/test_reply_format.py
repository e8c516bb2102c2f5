"""How JSON is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.errors import BadRequestError
from pytest_rageval.clients.reply_form import ReplyFormats, in_words, response_format


def refused(says: str) -> BadRequestError:
    error = BadRequestError("no")
    error.said = says
    return error


REFUSED = refused("response_format.type json_schema is not supported")
SCHEMA: dict[str, Any] = {
    "title": "Verdicts",
    "$defs": {"One": {"type": "object", "properties": {"verdict": {"type": "integer"}}}},
    "type": "object",
    "properties": {
        "all": {"type": "array", "items": {"$ref": "#/$defs/One"}},
        "default": {"type": "string", "default": "none"},
    },
    "required": ["all"],
}


def test_a_refused_form_is_left_for_good_one_step_at_a_time() -> None:
    forms = ReplyFormats("auto")
    assert forms.form == "json_schema"
    assert forms.steps_down("json_schema", REFUSED)
    assert forms.form == "json_object"
    assert forms.steps_down("json_schema", REFUSED)  # another request was under way
    assert forms.form == "json_object"
    assert forms.steps_down("json_object", REFUSED)
    assert forms.form == "text"
    assert not forms.steps_down("text", REFUSED)


def test_a_refusal_that_is_about_something_else_changes_nothing() -> None:
    forms = ReplyFormats("auto")
    assert not forms.steps_down("json_schema", refused("context length exceeded"))
    assert forms.form == "json_schema"


def test_a_server_that_fails_to_the_end_is_asked_in_another_form_until_one_has_worked() -> None:
    """[R2] When no form helps, the first one is tried again."""
    forms = ReplyFormats("auto")
    assert forms.last_resort("json_schema")
    assert forms.last_resort("json_object")
    assert not forms.last_resort("text")
    assert forms.form == "json_schema"
    forms.works()
    assert not forms.last_resort("json_schema")


def test_a_form_that_the_user_named_is_kept() -> None:
    forms = ReplyFormats("json_object")
    assert forms.form == "json_object"
    assert not forms.steps_down("json_object", REFUSED)


def test_a_schema_is_sent_as_strict_decoding_wants_it() -> None:
    """Every property required, no others, no defaults; a property called default stays."""
    sent = response_format(ReplySchema("My verdicts!", SCHEMA), "json_schema")
    assert sent == {
        "type": "json_schema",
        "json_schema": {
            "name": "My_verdicts_",
            "strict": True,
            "schema": {
                "title": "Verdicts",
                "$defs": {
                    "One": {
                        "type": "object",
                        "properties": {"verdict": {"type": "integer"}},
                        "required": ["verdict"],
                        "additionalProperties": False,
                    }
                },
                "type": "object",
                "properties": {
                    "all": {"type": "array", "items": {"$ref": "#/$defs/One"}},
                    "default": {"type": "string"},
                },
                "required": ["all", "default"],
                "additionalProperties": False,
            },
        },
    }


@pytest.mark.parametrize(
    ("form", "sent"), [("json_object", {"type": "json_object"}), ("text", None)]
)
def test_lesser_forms_show_an_example_of_a_reply(form: Any, sent: Any) -> None:
    """[R14] In place of the schema, which small models give back as their reply."""
    schema = ReplySchema("V", {"properties": {"why": {"type": "string"}}})
    assert response_format(schema, form) == sent
    before = [Message("system", "You judge."), Message("user", "Well?")]
    first, last = in_words(before, schema, form)
    assert first == before[0]
    assert last.role == "user"
    assert last.content.startswith("Well?\n\nReply with one JSON object")
    assert last.content.endswith('\n{"why": "<put your own text here>"}')
    assert "schema" not in last.content.lower()
    assert in_words(before, schema, "json_schema") == before
