"""Metrics with a judge that chooses a level: llm_answer_relevancy, and rubric for users' levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, FiniteFloat, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pytest_rageval.errors import shorten
from pytest_rageval.metrics import rubric_prompts as prompts
from pytest_rageval.metrics.base import (
    LevelGuide,
    MetricDefinition,
    MetricInfo,
    Models,
    NoOptions,
    Role,
)
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.tokenize import has_cjk

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema
    from pytest_rageval.text.echo import Examples

_NEEDS = frozenset({"question", "answer"})
_REASON_WIDTH = 300
_REPLY_WIDTH = 200
_LLM_ERROR = "LLM ERROR"
"""DB-GPT writes it into an answer when its model failed; its rubric gives such an answer 0."""


@dataclass(frozen=True)
class Rubric:
    """What a judge is asked, and what it may reply.

    ``templates`` are prompts by language with the placeholders ``{query}``, ``{context}``,
    ``{answer}``, ``{reference}`` and ``{levels}``; ``levels`` is the text for the last one.
    Scores go from ``low`` to ``high``, and are ``whole`` numbers where the judge chooses a level.
    ``of_blank``, where set, is the score of an empty answer and of one with DB-GPT's
    ``LLM ERROR``; the judge is not asked about these.
    """

    templates: Mapping[prompts.Language, str]
    levels: Mapping[prompts.Language, str]
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
        """Raise ValueError for a reply without a score, or with the reason of an example (R5)."""
        from pytest_rageval.text.echo import refuse_repeated
        from pytest_rageval.text.reply import read_reason

        self.read(reply)
        own = (sample.question, sample.answer, sample.contexts, sample.references)
        refuse_repeated(read_reason(reply), self._examples, [one for one in own if one])

    @cached_property
    def _examples(self) -> Examples:
        """The examples in the prompts: JSON objects, as replies are."""
        from pytest_rageval.text.echo import NO_EXAMPLES, examples_in

        return sum(map(examples_in, dict.fromkeys(self.templates.values())), NO_EXAMPLES)

    def prompt(self, sample: Sample, language: prompts.Language) -> str:
        """Return the prompt for a sample."""
        template, levels = self.templates[language], self.levels[language]
        return prompts.fill_prompt(template, sample, levels, language)

    @cached_property
    def schema(self) -> ReplySchema:
        """The JSON Schema of a reply; the reason comes first, so that the score depends on it."""
        from pytest_rageval.clients.base import ReplySchema

        score = {
            "type": "integer" if self.whole else "number",
            "minimum": _plain(self.low),
            "maximum": _plain(self.high),
        }
        return ReplySchema(
            "rubric_score",
            {
                "type": "object",
                "properties": {"reason": {"type": "string"}, "score": score},
                "required": ["reason", "score"],
                "additionalProperties": False,
            },
        )


class RubricMetric:
    """Asks the judge once for a reason and a score; ``language`` None means the judge's."""

    def __init__(self, name: str, options: RubricOptions) -> None:
        self._name = name
        self._rubric = options.rubric()
        self._language = options.language
        self.guide = options.guide()

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the judge's score with its reason; raises ClientError without a usable reply."""
        if not (sample.question or "").strip():
            return Score(self._name, None, reason="the question is empty")
        nothing = _nothing_in(sample.answer or "")
        if self._rubric.of_blank is not None and nothing is not None:
            return Score(self._name, self._rubric.of_blank, reason=nothing)
        return self._score(await self._ask(sample, models))

    async def _ask(self, sample: Sample, models: Models) -> str:
        from pytest_rageval.clients.base import Message

        if models.judge is None:
            raise ValueError(f"{self._name} needs a judge")
        language = _language(sample, self._language or models.language)
        message = Message("user", self._rubric.prompt(sample, language))
        reply = await models.judge.complete(
            [message],
            schema=self._rubric.schema,
            accept=lambda text: self._rubric.check(text, sample),
        )
        return reply.text

    def _score(self, reply: str) -> Score:
        from pytest_rageval.text.reply import UnreadableReplyError, read_reason

        try:
            value = self._rubric.read(reply)
            reason = read_reason(reply)
        except UnreadableReplyError as error:
            shown = shorten(" ".join(reply.split()), _REPLY_WIDTH)
            message = f"the judge's reply cannot be used: {error}; it was {shown!r}"
            return Score(self._name, None, error=message, details={"reply": reply})
        return Score(
            self._name,
            value,
            reason=shorten(" ".join(reason.split()), _REASON_WIDTH) or None,
            details={"reply": reply, "reason": reason},
        )


def _nothing_in(answer: str) -> str | None:
    """Return why there is nothing to judge in an answer, None if there is something."""
    if not answer.strip():
        return "the answer is empty"
    return f"the answer contains {_LLM_ERROR!r}" if _LLM_ERROR in answer else None


def _language(sample: Sample, wanted: str) -> prompts.Language:
    """Return the language of the prompt; English where there is no prompt in the wanted one."""
    if wanted == "auto":
        return "zh" if has_cjk((sample.question or "") + (sample.answer or "")) else "en"
    return "zh" if wanted.lower().startswith("zh") else "en"


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
    def _has_its_places(cls, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        lacking = [place for place in ("{query}", "{context}", "{answer}") if place not in prompt]
        if lacking:
            places = "the placeholders {query}, {context} and {answer}"
            raise _refused(f"a text with {places}; it lacks {' and '.join(lacking)}")
        return prompt

    @field_validator("levels")
    @classmethod
    def _says_something(cls, levels: dict[float, str] | None) -> dict[float, str] | None:
        if levels is not None and not all(meaning.strip() for meaning in levels.values()):
            raise _refused("a meaning for every level")
        return levels

    @field_validator("range")
    @classmethod
    def _fits(
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
        if not levels and not prompt and ends != (0.0, 5.0):
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
        asked, *_ = re.split(prompts.PLACEHOLDER, self.prompt or "", maxsplit=1)
        question = asked.rpartition("\n")[0].strip()
        is_default = self.prompt is None and self.levels is None
        default = prompts.RELEVANCY_LEVELS["zh" if self.language == "zh" else "en"]
        return LevelGuide(default if is_default else self.levels or {}, question)

    def _template(self, language: prompts.Language) -> str:
        if self.prompt is None:
            return prompts.TEMPLATES[language]
        if self.levels is None or "{levels}" in self.prompt:
            return self.prompt
        return f"{self.prompt}\n\n{prompts.LEVELS_TITLE[language]}\n{{levels}}"

    def _levels(self, language: prompts.Language) -> str:
        if self.levels is not None:
            return prompts.list_levels(self.levels)
        listed = prompts.list_levels(prompts.RELEVANCY_LEVELS[language])
        return f"{listed}\n\n{prompts.RELEVANCY_RULES[language]}"


def _refused(expected: str) -> PydanticCustomError:
    return PydanticCustomError("rubric", "{expected}", {"expected": expected})


def _plain(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _definition(name: str, *aliases: str) -> MetricDefinition:
    asks: frozenset[Role] = frozenset({"judge"})
    info = MetricInfo(name, _NEEDS, aliases, range=(0.0, 5.0), asks=asks, empty_is_worst=True)
    return MetricDefinition(
        info,
        RubricMetric,
        RubricOptions,
    )


METRICS = (
    _definition("rubric"),
    _definition("llm_answer_relevancy", "AnswerRelevancyMetric"),
)
