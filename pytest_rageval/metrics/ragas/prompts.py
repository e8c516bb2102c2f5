"""The prompts of a metric of ragas: found, made cheap, and translated by the judge if asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from pytest_rageval.clients.base import ChatClient, Message
from pytest_rageval.clients.purpose import Purpose, asking
from pytest_rageval.metrics.ragas.judge import Prompt, reply_schema, together
from pytest_rageval.metrics.ragas.replies import read_reply

ENGLISH: Final = "english"

_LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "en": ENGLISH,
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Simplified Chinese",
}


def language_name(code: str) -> str:
    """Return the language as it is called in English; what is no known code is its own name.

    ``auto`` is English, in which ragas' prompts are written: a translation by the judge costs
    calls, and nobody has read it.

    >>> language_name("zh"), language_name("auto"), language_name("Dutch")
    ('Simplified Chinese', 'english', 'Dutch')
    """
    if code.lower() in ("auto", ENGLISH):
        return ENGLISH
    return _LANGUAGES.get(code.lower().partition("-")[0], code)


def find_prompts(metric: Any, prompt_base: type[Any]) -> dict[str, Any]:
    """Return the prompts that an object of ragas holds, by the names of its attributes."""
    return {name: value for name, value in vars(metric).items() if isinstance(value, prompt_base)}


async def prepare_prompts(
    found: Mapping[str, Any], language: str, client: ChatClient
) -> dict[str, Prompt]:
    """Return the prompts, ready to be written; in another language than English, translated.

    The judge translates instruction and examples of each; the replies come from the cache from the
    second time on. Raises ClientError.
    """
    templates = list(found.values())
    if language != ENGLISH:
        translator = _Translator(client, language)
        templates = await together(*(_translated(one, language, translator) for one in templates))
    return {name: _ready(one) for name, one in zip(found, templates, strict=True)}


def _ready(template: Any) -> Prompt:
    """Return a prompt that does not make JSON Schema and examples anew for each question."""
    reply = template.output_model
    template.output_model = _KnownSchema(reply)
    if hasattr(template, _EXAMPLES) and hasattr(template, "examples"):
        setattr(template, _EXAMPLES, _KnownExamples(template))
    if not hasattr(template, "examples"):
        template.to_string = _Legible(template.to_string)
    return Prompt(template, reply)


_EXAMPLES: Final = "_generate_examples"
"""The method of ragas' prompts that writes their examples."""


class _KnownExamples:
    """Writes the examples of a prompt once; factual_correctness changes from list to list."""

    def __init__(self, template: Any) -> None:
        self._template = template
        self._write = getattr(template, _EXAMPLES)
        self._texts: dict[int, str] = {}

    def __call__(self) -> str:
        key = id(self._template.examples)
        if key not in self._texts:
            self._texts[key] = str(self._write())
        return self._texts[key]


class _KnownSchema:
    """Stands in for a model where only its schema is asked for, which costs most of a prompt."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def model_json_schema(self) -> Mapping[str, Any]:
        return reply_schema(self._model).schema


class _Legible:
    """Writes a prompt with Chinese in it as Chinese.

    The prompts of noise_sensitivity, which have no examples of their own, write every character
    beyond ASCII as an escape: many times the tokens, and hard to read for small models.
    """

    def __init__(self, write: Any) -> None:
        self._write = write

    def __call__(self, inputs: BaseModel) -> str:
        prompt = str(self._write(inputs))
        for text in _texts(inputs.model_dump()):
            if not text.isascii():
                prompt = prompt.replace(json.dumps(text), json.dumps(text, ensure_ascii=False))
        return prompt


def _texts(inputs: Mapping[str, Any]) -> Sequence[str]:
    return [
        text for value in inputs.values() for text in ([value] if isinstance(value, str) else value)
    ]


async def _translated(template: Any, language: str, translator: _Translator) -> Any:
    if not hasattr(template, "examples"):
        return template  # its text is fixed
    return await template.adapt(language, translator, adapt_instruction=True)


class _Translator:
    """What ragas takes for an LLM while it translates a prompt."""

    def __init__(self, client: ChatClient, language: str) -> None:
        self._client = client
        self._purpose = Purpose(f"prompts in {language}")

    async def agenerate(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """Return as many translated texts as the prompt ends with."""
        count = len(json.loads(prompt[prompt.rindex("\n[") :]))

        def read(text: str) -> Any:
            reply = read_reply(text, response_model)
            found = len(getattr(reply, "statements", ()))
            if found != count:
                raise ValueError(f"{count} statements were given and {found} are translated")
            return reply

        # One purpose for all metrics, samples and repeats: a prompt is translated once.
        with asking(self._purpose):
            reply = await self._client.complete(
                [Message("user", prompt)], schema=reply_schema(response_model), accept=read
            )
        return read(reply.text)
