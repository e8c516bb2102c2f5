"""The prompts of a metric of ragas: found, made fast to write, and translated by the judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from pytest_rageval.clients.accounting.call_context import Purpose, asking
from pytest_rageval.clients.base import ChatClient, Message
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.metrics.ragas.judge import Prompt, reply_schema, together
from pytest_rageval.metrics.ragas.replies import read_reply
from pytest_rageval.scenario.languages import ENGLISH, LANGUAGES
from pytest_rageval.text.echo import NO_EXAMPLES, Examples, examples_in


def language_name(code: str) -> str:
    """Return the English name of a language; an unknown code is returned unchanged.

    ``auto`` is English, the language of ragas' prompts: a translation by the judge costs calls, and
    no person has checked it.

    >>> language_name("zh"), language_name("auto"), language_name("Dutch")
    ('Simplified Chinese', 'english', 'Dutch')
    """
    if code.lower() in ("auto", ENGLISH):
        return ENGLISH
    return LANGUAGES.get(code.lower().replace("_", "-").partition("-")[0], code)


def find_prompts(metric: Any, prompt_base: type[Any]) -> dict[str, Any]:
    """Return the prompts that an object of ragas holds, by the names of its attributes."""
    return {name: value for name, value in vars(metric).items() if isinstance(value, prompt_base)}


async def prepare_prompts(
    found: Mapping[str, Any], language: str, client: ChatClient
) -> dict[str, Prompt]:
    """Return the prompts, translated by the judge unless ``language`` is English.

    The judge translates the instruction and the examples of each; the cache keeps its replies.
    Raises ClientError.
    """
    templates = list(found.values())
    if language != ENGLISH:
        translator = _Translator(client, language)
        try:
            templates = await together(
                *(_translated(one, language, translator) for one in templates)
            )
        except ClientError as error:
            error.message = f"while translating the prompt into {language}: {error.message}"
            raise
    pairs = zip(found.items(), templates, strict=True)
    return {name: _ready(one, _examples(one) + _examples(before)) for (name, before), one in pairs}


def _examples(template: Any) -> Examples:
    """Return what the examples of a prompt say; some prompts have them in their text only.

    Of a translated one, those in English count as well: a judge may know them by heart.
    """
    if not hasattr(template, "examples"):
        nothing = {
            name: [] if str(field.annotation).startswith(("list", "typing.List")) else ""
            for name, field in template.input_model.model_fields.items()
        }
        return examples_in(template.to_string(template.input_model(**nothing)), has_inputs=True)
    # factual_correctness has several lists of examples, one of which is written.
    lists = getattr(template, "_all_examples", {"": template.examples}).values()
    pairs = [pair for one in lists for pair in one]
    # The levels of a rubric are in words that fit any answer.
    found = (
        Examples.of(out.model_dump(), given.model_dump(exclude=_LEVELS)) for given, out in pairs
    )
    return sum(found, NO_EXAMPLES)


_LEVELS: Final = {"rubrics"}


def _ready(template: Any, examples: Examples) -> Prompt:
    """Return a prompt that writes its JSON Schema and its examples once, not for each request."""
    reply = template.output_model
    template.output_model = _KnownSchema(reply)
    if hasattr(template, _EXAMPLES) and hasattr(template, "examples"):
        setattr(template, _EXAMPLES, _KnownExamples(template))
    if not hasattr(template, "examples"):
        template.to_string = _Legible(template.to_string)
    return Prompt(template, reply, examples)


_EXAMPLES: Final = "_generate_examples"
"""The method of ragas' prompts that writes their examples."""


class _KnownExamples:
    """Writes the examples of a prompt once for each list; factual_correctness has several."""

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
    """Takes the place of a pydantic model whose schema alone is needed: to make it is slow."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def model_json_schema(self) -> Mapping[str, Any]:
        return reply_schema(self._model).schema


class _Legible:
    """Writes the texts in a prompt without escapes.

    The prompts of noise_sensitivity escape every character beyond ASCII: that takes many times the
    tokens and is hard to read for small models.
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
    """Serves as ragas' LLM while it translates a prompt."""

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

        # One purpose for all metrics, samples and repeats, so that a prompt is translated once.
        with asking(self._purpose):
            reply = await self._client.complete(
                [Message("user", prompt)], schema=reply_schema(response_model), accept=read
            )
        return read(reply.text)
