"""How JSON is asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.errors import BadRequestError
from pytest_rageval.clients.reply_form import ReplyFormats, in_words, response_format

ROWS = tomllib.loads(Path(__file__).with_name("reply_format.toml").read_text("utf-8"))


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


@pytest.mark.parametrize(
    "says",
    [
        "invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
        "model.",  # OpenAI
        "unrecognized request argument supplied: response_format",
        "invalid schema for response_format 'verdict': in context=(), 'additionalproperties' is "
        "required to be supplied and to be false.",
        "unrecognized request argument supplied: strict",  # Azure, older versions
        "response_format value as json_schema is enabled only for api versions 2024-08-01-preview",
        "'strict' is not permitted",
        "model does not have supports_structured_outputs",
        "strict_mode is not supported by this model",
        "strict mode needs additionalproperties: false",
        "isstrict: strictmode cannot be set",
        "structured outputs are not supported by this model",
        "structured-output is not available",
        "useguideddecoding or usestructuredoutputs is not supported",
        "guided_json: extra inputs are not permitted",  # vLLM
        "the provided json schema contains features not supported by xgrammar.",
        "failed to compile the ebnfgrammar",
        "failed to parse grammar",  # llama.cpp
        'error: json_schema and grammar are mutually exclusive: "grammar"',
        "invalid json payload received. unknown name \"responseschema\" at 'generation_config'",
        "jsonschema.exceptions.schemaerror: {} is not valid",
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
        "'json_object'.",  # DashScope, OpenAI
        "invalid format: unknown json_object",  # Ollama
        "this response_format type is unavailable now invalid_request_error",  # DeepSeek
        "response_format参数不支持json_schema类型",
        "该模型不支持strict模式",
        "参数json_schema有误，请检查文档 1210",  # Zhipu
        "le mode « strict » n'est pas pris en charge",
    ],
)
def test_a_form_is_refused_in_the_words_of_many_servers(says: str) -> None:
    """Also a name that is a part of another, in one word, or next to a Chinese character."""
    assert ReplyFormats("auto").steps_down("json_schema", refused(says))


@pytest.mark.parametrize(
    "says",
    ROWS["a_refusal_of_one_text_takes_the_form_from_no_other"],
)
def test_a_refusal_of_one_text_takes_the_form_from_no_other(says: str) -> None:
    """A word of a form within another word is none: later rows are asked with the schema."""
    forms = ReplyFormats("auto")
    assert not forms.steps_down("json_schema", refused(says))
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
