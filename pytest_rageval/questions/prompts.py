"""What a model is asked to write a question and to check one, and how its reply is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_rageval.metrics.support.prompts import cells_prompt
from pytest_rageval.questions.base import MadeQuestion, QuestionType, Slot
from pytest_rageval.text.prompts import Language, filled, free_mark, prompts_of, tagged
from pytest_rageval.text.refusals import kind_of
from pytest_rageval.text.reply import UnreadableReplyError, find_objects
from pytest_rageval.text.tokenize import has_cjk, split_characters

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema

VERSION: Final = 1
"""Of the prompts, and of how a reply is read: another one asks everything anew."""


def language_of(*texts: str) -> Language:
    """Return the language of the prompts about these texts.

    "zh" if most words are Chinese, Japanese or Korean, of which each character counts; else "en".

    >>> language_of("Die Frist beträgt 30 Tage."), language_of("保修期为两年 (2 years)。")
    ('en', 'zh')
    """
    tokens = [token for text in texts for token in split_characters(text)]
    return "zh" if sum(map(has_cjk, tokens)) * 2 > len(tokens) else "en"


def question_prompt(slot: Slot) -> str:
    """Return what asks a model to write the question of a slot."""
    texts = [passage.text for passage in slot.passages]
    language = language_of(*texts)
    said = {name: prompt[language] for name, prompt in prompts_of(__package__).items()}
    parts = "two" if len(texts) > 1 else "one"
    where, quotes, form = (said[f"{parts}_{part}"] for part in ("where", "quotes", "form"))
    answered = filled(said["answered"], {"where": where, "quotes": quotes})
    if slot.type == "unanswerable":
        answered, form = "", '{"question": "..."}'
    head = [
        said[slot.type],
        filled(said["rules"], {"answered": answered}),
        filled(said["end"], {"form": form}),
    ]
    titles = [
        " > ".join(filter(None, (passage.doc_name, passage.section_path)))
        for passage in slot.passages
    ]
    mark = free_mark([*texts, *titles, slot.part], ("passage", "sentence", "headings"))
    for passage, title in zip(slot.passages, titles, strict=True):
        head.append(tagged("headings" + mark, title))
        head.append(tagged("passage" + mark, passage.text))
    if slot.part:
        head += [said["part"], tagged("sentence" + mark, slot.part)]
    return "\n\n".join(head)


def alone_prompt(question: str) -> str:
    """Return what asks a question without any passage, and whether it can be understood."""
    mark = free_mark([question], ("question",))
    template = prompts_of(__package__)["alone"][language_of(question)]
    return filled(template, {"question": tagged("question" + mark, question)})


def supported_prompt(made: MadeQuestion, sources: Sequence[str]) -> str:
    """Return what asks how far sources support a question's answer, with levels as in a table."""
    return cells_prompt(language_of(made.question), made.question, sources, [claimed(made)])


def claimed(made: MadeQuestion) -> str:
    """Return the sentence that says what the answer to a question is."""
    template = prompts_of(__package__)["claimed"][language_of(made.question)]
    return filled(template, {"question": made.question, "answer": made.answer})


def nuggets_prompt(question: str, answers: Sequence[str], passages: Sequence[str]) -> str:
    """Return what asks a model to list what an answer has to say."""
    mark = free_mark([question, *answers, *passages], ("question", "answer", "passage"))
    return "\n\n".join(
        [
            prompts_of(__package__)["nuggets"][language_of(*passages)],
            tagged("question" + mark, question),
            *(tagged("answer" + mark, text) for text in answers),
            *(tagged("passage" + mark, text) for text in passages),
        ]
    )


_MOST: Final = 1_000
"""Characters of a question, an answer, a quote or a nugget: more is no question of a user."""


class Alone(NamedTuple):
    """What a model says of a question without a passage; the answer is "" where it knows none."""

    is_clear: bool
    answer: str


def read_question(kind: QuestionType, reply: str) -> MadeQuestion:
    """Return the question of a reply; raises UnreadableReplyError for one without its parts."""
    written = last_with("question", reply)
    question = text_of(written, "question")
    if kind == "unanswerable":
        return MadeQuestion(question)
    if kind != "comparison":
        return MadeQuestion(question, text_of(written, "answer"), (text_of(written, "quote"),))
    quotes = written.get("quotes")
    if not isinstance(quotes, list) or len(quotes) != 2:
        raise UnreadableReplyError('"quotes" must be a list of two texts, one of each passage')
    evidence = tuple(text_of({"quotes": quote}, "quotes") for quote in quotes)
    return MadeQuestion(question, text_of(written, "answer"), evidence)


def read_alone(reply: str) -> Alone:
    """Return what a reply says of a question; raises UnreadableReplyError without it."""
    said = last_with("clear", reply)
    clear, answer = said.get("clear"), said.get("answer")
    if isinstance(clear, str):
        clear = {"true": True, "false": False}.get(clear.strip().lower())
    if not isinstance(clear, bool):
        raise UnreadableReplyError('"clear" must be true or false')
    text = str(answer).strip() if type(answer) in (str, int, float) else ""
    is_answer = any(map(str.isalnum, text)) and kind_of(text) != "refused"
    return Alone(clear, text if is_answer else "")


def last_with(name: str, reply: str) -> Mapping[str, Any]:
    """Return the last object of a reply with this key; raises UnreadableReplyError without it."""
    # A model that thinks aloud corrects itself: its last word counts.
    objects = [found for found in find_objects(reply) if name in found]
    if not objects:
        raise UnreadableReplyError(f'it has no object with "{name}"')
    return objects[-1]


def text_of(written: Mapping[str, Any], name: str) -> str:
    """Return a text with words in it, on one line but for quotes.

    Raises UnreadableReplyError for anything else, and for a text that is too long.
    """
    text = written.get(name)
    if not isinstance(text, str) or not any(map(str.isalnum, text)):
        raise UnreadableReplyError(f'"{name}" must be a text with words in it')
    text = text.strip()
    if len(text) > _MOST:
        raise UnreadableReplyError(f'"{name}" has {len(text)} characters, at most {_MOST} are one')
    return text if name in ("quote", "quotes") else " ".join(text.split())


@cache
def question_schema(kind: QuestionType) -> ReplySchema:
    """Return the JSON Schema of a reply with a question of this type."""
    # Not at the top: who only reads replies needs no client.
    from pytest_rageval.clients.base import ReplySchema

    text = {"type": "string"}
    parts: dict[str, Any] = {"question": text}
    if kind == "comparison":
        parts |= {"answer": text, "quotes": {"type": "array", "items": text}}
    elif kind != "unanswerable":
        parts |= {"answer": text, "quote": text}
    return ReplySchema.of(f"question_{kind}", **parts)


@cache
def alone_schema() -> ReplySchema:
    """Return the JSON Schema of a reply to a question without a passage."""
    from pytest_rageval.clients.base import ReplySchema

    parts = {"clear": {"type": "boolean"}, "answer": {"type": "string"}}
    return ReplySchema.of("question_alone", **parts)
