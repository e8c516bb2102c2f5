"""Metrics with a judge that chooses a level: llm_answer_relevancy, and rubric for users' levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, FiniteFloat, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import LevelGuide, MetricInfo, Models, NoOptions, defined
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.prompts import (
    Language,
    Prompt,
    filled,
    free_mark,
    prompt_language,
    prompts_of,
    tagged,
)

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema
    from pytest_rageval.text.echo import Examples

PLACEHOLDERS: Final = ("query", "context", "answer", "reference", "levels")
"""The names in braces that a prompt may have; other braces are text."""

PLACEHOLDER: Final = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")

_TAGS = {"query": "question", "context": "context", "answer": "answer", "reference": "reference"}

_REASON_WIDTH = 300
_REPLY_WIDTH = 200
_LLM_ERROR = "LLM ERROR"
"""DB-GPT writes it into an answer when its model failed; its rubric gives such an answer 0."""


@dataclass(frozen=True)
class Rubric:
    """What a judge is asked, and what it may reply.

    ``templates`` are prompts by language with the placeholders ``{query}``, ``{context}``,
    ``{answer}``, ``{reference}`` and ``{levels}``; ``levels`` is the text for the last one.
    Scores go from ``low`` to ``high``; ``whole``: the schema asks for whole numbers, as all levels
    are. ``of_blank``, where set, is the score of an empty answer and of one with DB-GPT's
    ``LLM ERROR``; the judge is not asked about these.
    """

    templates: Prompt
    levels: Prompt
    low: float = 0.0
    high: float = 5.0
    whole: bool = True
    of_blank: float | None = None

    def read(self, reply: str) -> float:
        """Return the score that a reply states; raises UnreadableReplyError."""
        # Imported when a model is asked, not at every start.
        from pytest_rageval.text.reply import read_score

        return read_score(reply, self.low, self.high)

    def check(self, reply: str, sample: Sample) -> None:
        """Raise ValueError for a reply that cannot be used.

        It has no score, or its reason is the text of another level or that of an example (R5).
        """
        from pytest_rageval.text.echo import refuse_repeated
        from pytest_rageval.text.reply import read_reason, refuse_other_level

        score, reason = self.read(reply), read_reason(reply)
        for levels in self.levels.values():
            refuse_other_level(reason, score, levels)
        row_texts = (sample.question, sample.answer, sample.contexts, sample.references)
        refuse_repeated(reason, self._examples, [text for text in row_texts if text])

    @cached_property
    def _examples(self) -> Examples:
        """The examples in the prompts: JSON objects, as replies are."""
        from pytest_rageval.text.echo import NO_EXAMPLES, examples_in

        return sum(map(examples_in, dict.fromkeys(self.templates.values())), NO_EXAMPLES)

    def prompt(self, sample: Sample, language: Language) -> str:
        """Return the prompt for a sample."""
        template, levels = self.templates[language], self.levels[language]
        return fill_prompt(template, sample, levels, language)

    @cached_property
    def schema(self) -> ReplySchema:
        """The JSON Schema of a reply; the reason comes first, so that the score depends on it."""
        from pytest_rageval.clients.base import ReplySchema

        score = {
            "type": "integer" if self.whole else "number",
            "minimum": _json_number(self.low),
            "maximum": _json_number(self.high),
        }
        return ReplySchema.of("rubric_score", reason={"type": "string"}, score=score)


class RubricMetric:
    """Asks the judge once for a reason and a score.

    ``guide`` is for people who label. Without a ``language`` in the options, the judge's counts.
    """

    def __init__(self, name: str, options: RubricOptions) -> None:
        self._name = name
        self._rubric = options.rubric()
        self._language = options.language
        self.guide = options.guide()

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the judge's score with its reason, None without a question; raises ClientError."""
        if not (sample.question or "").strip():
            return Score(self._name, None, reason="the question is empty")
        why_blank = _why_blank(sample.answer or "")
        if self._rubric.of_blank is not None and why_blank is not None:
            return Score(self._name, self._rubric.of_blank, reason=why_blank)
        return self._score(await self._ask(sample, models))

    async def _ask(self, sample: Sample, models: Models) -> str:
        texts = (sample.question or "", sample.answer or "")
        prompt = self._rubric.prompt(
            sample, prompt_language(self._language or models.language, *texts)
        )
        return await models.ask(
            prompt, lambda text: self._rubric.check(text, sample), self._rubric.schema
        )

    def _score(self, reply: str) -> Score:
        from pytest_rageval.text.reply import UnreadableReplyError, read_reason

        try:
            value = self._rubric.read(reply)
            reason = read_reason(reply)
        except UnreadableReplyError as error:
            excerpt = shorten(" ".join(reply.split()), _REPLY_WIDTH)
            message = f"the judge's reply cannot be used: {error}; it was {excerpt!r}"
            return Score(self._name, None, error=message, details={"reply": reply})
        return Score(
            self._name,
            value,
            reason=shorten(" ".join(reason.split()), _REASON_WIDTH) or None,
            details={"reply": reply, "reason": reason},
        )


def _why_blank(answer: str) -> str | None:
    """Return why there is nothing to judge in an answer, None if there is something."""
    if not answer.strip():
        return "the answer is empty"
    return f"the answer contains {_LLM_ERROR!r}" if _LLM_ERROR in answer else None


class RubricOptions(NoOptions):
    """A user's rubric that replaces the six levels of answer relevancy.

    Without ``{levels}`` in the prompt, the levels come at its end.
    """

    prompt: str | None = Field(
        None, description="with {query}, {context}, {answer}; also {reference}, {levels}"
    )
    levels: Annotated[dict[FiniteFloat, str], Field(min_length=2)] | None = Field(
        None, description="score: what it means"
    )
    range: tuple[FiniteFloat, FiniteFloat] | None = Field(
        None, description="lowest and highest score; 0 to 5, or that of the levels"
    )
    language: Literal["auto", "en", "zh"] | None = Field(
        None, description="of the prompts; auto: zh where question or answer have such script"
    )

    @field_validator("prompt")
    @classmethod
    def _has_placeholders(cls, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        missing = [place for place in ("{query}", "{context}", "{answer}") if place not in prompt]
        if missing:
            places = "the placeholders {query}, {context} and {answer}"
            raise _refused(f"a text with {places}; it lacks {' and '.join(missing)}")
        return prompt

    @field_validator("levels")
    @classmethod
    def _has_meanings(cls, levels: dict[float, str] | None) -> dict[float, str] | None:
        if levels is not None and not all(meaning.strip() for meaning in levels.values()):
            raise _refused("a meaning for every level")
        return levels

    @field_validator("range")
    @classmethod
    def _holds_levels(
        cls, ends: tuple[float, float] | None, info: ValidationInfo
    ) -> tuple[float, float] | None:
        if ends is None:
            return None
        if ends[0] >= ends[1]:
            raise _refused("two numbers, the lower one first")
        levels, prompt = info.data.get("levels"), info.data.get("prompt")
        outside = [level for level in levels or () if not ends[0] <= level <= ends[1]]
        if outside:
            raise _refused(f"a range that holds every level (level {outside[0]:g} is outside)")
        # {levels} without levels stands for those of llm_answer_relevancy.
        is_default = not levels and "{levels}" in (prompt or "{levels}")
        if is_default and ends != (0.0, 5.0):
            raise _refused("0 to 5, or levels or a prompt that say what the scores mean")
        return ends

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range, and with the fields that the prompt uses."""
        needs = set(info.needs)
        if self.prompt is not None:
            needs.add("contexts")
        if self.prompt is not None and "{reference}" in self.prompt:
            needs.add("references")
        return replace(info, needs=frozenset(needs), range=self.ends)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        if self.range is not None:
            return self.range
        return (min(self.levels), max(self.levels)) if self.levels else (0.0, 5.0)

    def rubric(self) -> Rubric:
        """Return what the judge is asked with these options."""
        low, high = self.ends
        is_default = self.prompt is None and self.levels is None
        return Rubric(
            {language: self._template(language) for language in ("en", "zh")},
            {language: self._levels(language) for language in ("en", "zh")},
            low,
            high,
            whole=is_default or all(level.is_integer() for level in self.levels or (0.5,)),
            of_blank=0.0 if is_default else None,
        )

    def guide(self) -> LevelGuide:
        """Return what people are told: the levels, and what the prompt says before its texts."""
        asked, *_ = re.split(PLACEHOLDER, self.prompt or "", maxsplit=1)
        question = asked.rpartition("\n")[0].strip()
        is_default = self.prompt is None and self.levels is None
        if is_default:
            levels = prompts_of(__package__)["relevancy_levels"]
            lines = levels["zh" if self.language == "zh" else "en"].splitlines()
            pairs = (line.split(": ", 1) for line in lines)
            return LevelGuide({float(level): meaning for level, meaning in pairs}, question)
        return LevelGuide(self.levels or {}, question)

    def _template(self, language: Language) -> str:
        if self.prompt is None:
            return prompts_of(__package__)["relevancy"][language]
        if self.levels is None or "{levels}" in self.prompt:
            return self.prompt
        title = prompts_of(__package__)["levels_title"][language]
        return f"{self.prompt}\n\n{title}\n{{levels}}"

    def _levels(self, language: Language) -> str:
        if self.levels is not None:
            return list_levels(self.levels)
        texts = prompts_of(__package__)
        return f"{texts['relevancy_levels'][language]}\n\n{texts['relevancy_rules'][language]}"


def _refused(expected: str) -> PydanticCustomError:
    return PydanticCustomError("rubric", "expected {expected}", {"expected": expected})


def _json_number(number: float) -> float | int:
    return int(number) if number.is_integer() else number


METRICS = tuple(
    defined(
        names,
        "question answer",
        summary,
        RubricMetric,
        RubricOptions,
        range=(0.0, 5.0),
        asks=frozenset({"judge"}),
        empty_is_worst=True,
    )
    for names, summary in (
        ("rubric", "a level of your own; 1 call"),
        (
            "llm_answer_relevancy AnswerRelevancyMetric",
            "a level of how well it answers the question; 1 call",
        ),
    )
)


def fill_prompt(template: str, sample: Sample, levels: str, language: Language) -> str:
    """Return ``template`` with its placeholders replaced by the texts of ``sample``.

    Each text is put between tags that occur in no text of the sample, so that no text can end its
    part. Braces in the texts have no meaning.
    """
    texts = {
        "query": [sample.question or ""],
        "context": list(sample.contexts or ()),
        "answer": [sample.answer or ""],
        "reference": list(sample.references or ()),
    }
    mark = free_mark((text for part in texts.values() for text in part), _TAGS.values())
    parts = {
        name: "\n".join(tagged(_TAGS[name] + mark, text) for text in part)
        for name, part in texts.items()
    }
    parts["context"] = parts["context"] or prompts_of(__package__)["no_context"][language]
    parts["levels"] = levels
    return filled(template, parts)


def list_levels(levels: Mapping[float, str]) -> str:
    """Return the levels of a rubric from the lowest to the highest, a line for each."""
    return "\n".join(f"{level:g}: {levels[level]}" for level in sorted(levels))
