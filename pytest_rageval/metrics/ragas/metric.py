"""A metric of ragas as one of ours: empty inputs, the requests to the judge, and the score."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import ChatClient, ask
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.metrics.base import Models, declared
from pytest_rageval.metrics.ragas.backend import Ragas, load_ragas, ragas_version, require_ragas
from pytest_rageval.metrics.ragas.embedder import Embedder
from pytest_rageval.metrics.ragas.judge import (
    Finding,
    Judge,
    Prompt,
    Request,
    Unscorable,
    read_reply,
    reply_schema,
    together,
)
from pytest_rageval.metrics.ragas.options import RagasOptions
from pytest_rageval.model import Sample, Score
from pytest_rageval.scenario.model_specs import ENGLISH, LANGUAGES
from pytest_rageval.text.codec import read_json
from pytest_rageval.text.echo import NO_EXAMPLES, Examples, examples_in

_FIELDS = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "reference": "reference",
    "reference_contexts": "reference_contexts",
    "rubrics": "rubrics",
}


Ask = Callable[[Request], Awaitable[Finding]]
"""Sends the requests of a metric."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """How one of ragas' classes becomes a metric.

    ``fields`` are the fields of Request that its ``ascore`` takes; ``optional`` ones may be empty.
    ``embeds``: it needs an embedding model. ``lower_is_better`` decides which of several references
    is best, and gives an empty search no score.
    """

    ragas_class: str
    ask: Ask
    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    embeds: bool = False
    lower_is_better: bool = False


class RagasMetric:
    """Scores samples with a class of ``ragas.metrics.collections``; many at once, in one loop."""

    def __init__(self, name: str, options: RagasOptions, row: MetricRow) -> None:
        require_ragas(name)
        self._name = name
        self._options = options
        self._row = row
        # A similarity of weight 0 is not computed.
        self._embeds = row.embeds and bool(getattr(options, "weights", (0, 1))[1])
        self._prompts: dict[str, asyncio.Future[dict[str, Prompt]]] = {}

    def follows_from(self, language: str) -> Mapping[str, Any]:
        """Return ragas' version, the options, and the language of the prompts."""
        options = self._options.model_dump(mode="json")
        if options.get("reproducibility", 1) is None:
            del options["reproducibility"]  # older cached scores do not have this option
        return {
            "ragas": ragas_version(),
            "options": options,
            "language": language_name(self._options.language or language),
        }

    def reads(self, sample: Sample) -> Mapping[str, Any] | None:
        """Return the fields that are scored, None where an empty one decides without a model."""
        try:
            candidates = self._candidates(sample)
        except Unscorable:
            return None
        # Without a version, cached scores would survive an update of ragas.
        return None if ragas_version() is None else {"candidates": candidates}

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return ragas' score, with the judge's reasons; raises ClientError."""
        try:
            candidates = self._candidates(sample)
        except Unscorable as error:
            return Score(self._name, self._of_nothing(sample, str(error)), str(error))
        ragas = await load_ragas()
        prompts = await self._prompts_for(ragas, models)
        asked: dict[Any, Any] = {}
        own = _own_texts(sample)
        judges = [Judge(declared(models.judge), prompts, asked, own) for _ in candidates]
        scores = await together(
            *(
                self._score(ragas, known, judge, self._embedder(models))
                for known, judge in zip(candidates, judges, strict=True)
            )
        )
        return self._best(scores)

    async def _score(
        self, ragas: Ragas, known: Mapping[str, Any], judge: Judge, embedder: Embedder | None
    ) -> Score:
        try:
            finding = await self._row.ask(Request(judge, self._options, embedder, **known))
            value = finding.value
            if value is None:
                value = await self._by_ragas(ragas, known, judge, embedder)
        except Unscorable as error:
            return Score(self._name, None, reason=str(error))
        if math.isnan(value):
            return Score(self._name, None, f"ragas found nothing to score; {finding.reason}")
        return Score(self._name, value, finding.reason, finding.details)

    async def _by_ragas(
        self, ragas: Ragas, known: Mapping[str, Any], judge: Judge, embedder: Embedder | None
    ) -> float:
        """Return the value that ragas computes from the judge's replies."""
        metric = self._make(ragas, judge, embedder)
        for name, prompt in judge.prompts.items():
            setattr(metric, name, prompt.template)
        result = await metric.ascore(**{_FIELDS[name]: known[name] for name in known})
        if judge.failure is not None:
            raise judge.failure
        return float(result.value)

    def _make(self, ragas: Ragas, judge: Judge, embedder: Embedder | None) -> Any:
        given = {"embeddings": embedder} if self._embeds else {}
        ragas_class = getattr(ragas.collections, self._row.ragas_class)
        return ragas_class(llm=judge, **given, **self._options.arguments())

    def _embedder(self, models: Models) -> Embedder | None:
        return Embedder(declared(models.embedding)) if self._embeds else None

    async def _prompts_for(self, ragas: Ragas, models: Models) -> Mapping[str, Prompt]:
        """Return the prompts in the metric's language; the first sample makes them for all.

        If that fails, the waiting samples fail too, and the next sample tries again.
        """
        language = language_name(self._options.language or models.language)
        made = self._prompts.get(language)
        if made is None or _has_failed(made):
            making = prepare_prompts(
                self._templates(ragas, models), language, declared(models.judge)
            )
            made = self._prompts[language] = asyncio.ensure_future(making)
        # Cancelling one sample must not cancel the prompts of the others.
        return await asyncio.shield(made)

    def _templates(self, ragas: Ragas, models: Models) -> Mapping[str, Any]:
        ragas.llm_base.register(Judge)
        ragas.embedding_base.register(Embedder)
        made = self._make(ragas, Judge(declared(models.judge), {}), self._embedder(models))
        return find_prompts(made, ragas.prompt_base)

    def _candidates(self, sample: Sample) -> Sequence[Mapping[str, Any]]:
        """Return the fields to score, once for each reference that counts.

        Raises Unscorable for empty fields, some of which ragas would score.
        """
        known = _known_fields(sample, self._options)
        for name in self._row.fields:
            if name not in known and not self._is_optional(name):
                raise Unscorable(_EMPTY[name])
        wanted = {name: known[name] for name in self._row.fields if name in known}
        if "reference" not in wanted:
            return [wanted]
        references = wanted["reference"]
        count = len(references) if getattr(self._options, "references", "first") == "best" else 1
        return [{**wanted, "reference": reference} for reference in references[:count]]

    def _of_nothing(self, sample: Sample, reason: str) -> float | None:
        """Return 0, as our own metrics do, for a search that found nothing; else None.

        None also where 0 would be the best score.
        """
        is_searched = sample.contexts is not None and reason == _EMPTY["contexts"]
        return 0.0 if is_searched and not self._row.lower_is_better else None

    def _is_optional(self, field: str) -> bool:
        if field == "reference" and getattr(self._options, "with_reference", False):
            return False
        return field in self._row.optional

    def _best(self, scores: Sequence[Score]) -> Score:
        """Return the best of the scores against each reference; the reason names the reference."""
        scored = [score for score in scores if score.value is not None]
        if len(scores) == 1 or not scored:
            return scores[0]
        sign = -1.0 if self._row.lower_is_better else 1.0
        best = max(scored, key=lambda score: sign * (score.value or 0.0))
        number = 1 + list(scores).index(best)
        details = {**(best.details or {}), "reference": number}
        reason = f"with reference {number} of {len(scores)}: {best.reason}"
        return replace(best, reason=reason, details=details)


_EMPTY = {
    "question": "the question is empty",
    "answer": "the answer is empty",
    "contexts": "there are no contexts, or they are empty",
    "reference": "the reference is empty",
    "reference_contexts": "there are no reference_contexts, or they are empty",
    "rubrics": "the row has no rubrics: a mapping of score1_description and so on to texts",
}


def _known_fields(sample: Sample, options: RagasOptions) -> dict[str, Any]:
    """Return the fields of Request that the sample has; "reference" holds all references."""
    known = {
        "question": sample.question if _says_something(sample.question) else None,
        "answer": sample.answer if _says_something(sample.answer) else None,
        "contexts": list(sample.contexts or ()),
        "reference": [text for text in sample.references or () if _says_something(text)],
        "reference_contexts": list(sample.reference_contexts or ()),
        "rubrics": _rubrics(sample.metadata.get(getattr(options, "column", ""))),
    }
    for name in ("contexts", "reference_contexts"):
        if not any(map(_says_something, known[name] or ())):
            del known[name]
    return {name: value for name, value in known.items() if value}


def _own_texts(sample: Sample) -> list[str]:
    """Return the texts of a row, which a reply may repeat."""
    listed = (sample.contexts, sample.references, sample.reference_contexts)
    texts = [text for found in listed for text in found or ()]
    return [*filter(None, (sample.question, sample.answer)), *texts]


def _says_something(text: str | None) -> bool:
    return bool(text and text.strip())


def _rubrics(cell: Any) -> Mapping[str, str] | None:
    """Return the rubrics in a cell: a mapping, or its JSON, as in CSV files."""
    if isinstance(cell, str):
        try:
            cell = read_json(cell)
        except ValueError:
            return None
    if not isinstance(cell, Mapping) or not all(isinstance(text, str) for text in cell.values()):
        return None
    return {str(level): text for level, text in cell.items()}


def _has_failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def language_name(code: str) -> str:
    """Return the English name of a language; an unknown code is returned unchanged.

    ``auto`` is English, the language of ragas' prompts: a translation by the judge costs calls, and
    no person has checked it.

    >>> language_name("zh"), language_name("zh_TW"), language_name("auto"), language_name("Dutch")
    ('Simplified Chinese', 'Traditional Chinese', 'english', 'Dutch')
    """
    if code.lower() in ("auto", ENGLISH):
        return ENGLISH
    language, *parts = code.lower().replace("_", "-").split("-")
    if language == "zh" and not _TRADITIONAL.isdisjoint(parts) and "hans" not in parts:
        return "Traditional Chinese"
    return LANGUAGES.get(language, code)


_TRADITIONAL: Final = frozenset({"hant", "tw", "hk", "mo"})


def find_prompts(metric: Any, prompt_base: type[Any]) -> dict[str, Any]:
    """Return the prompts that an object of ragas holds, by the names of its attributes."""
    return {name: value for name, value in vars(metric).items() if isinstance(value, prompt_base)}


async def prepare_prompts(
    found: Mapping[str, Any], language: str, client: ChatClient
) -> dict[str, Prompt]:
    """Return the prompts, translated by the judge unless ``language`` is English.

    The judge translates the instruction and the examples of each that has examples apart from its
    text; others stay English. The cache keeps its replies. No reply may repeat the English examples
    either: a judge may know them by heart. Raises ClientError.
    """
    templates = list(found.values())
    if language != ENGLISH:
        translator = _Translator(client, language)
        try:
            templates = await together(
                *(_translated(template, language, translator) for template in templates)
            )
        except ClientError as error:
            error.message = f"while translating the prompt into {language}: {error.message}"
            raise
    pairs = zip(found.items(), templates, strict=True)
    return {name: _ready(one, _examples(one) + _examples(before)) for (name, before), one in pairs}


def _examples(template: Any) -> Examples:
    """Return what the examples of a prompt say; some prompts have them in their text only."""
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
    """Return a prompt that writes its JSON Schema and its examples once, not for each request.

    One that has its examples in its text writes texts without escapes. Changes ``template``.
    """
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
            return read(await ask(self._client, prompt, read, reply_schema(response_model)))
