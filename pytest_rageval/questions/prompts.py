"""What a model is asked to write a question, and to check one, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_rageval.metrics.support.prompts import cells_prompt
from pytest_rageval.questions.base import MadeQuestion, Slot
from pytest_rageval.text.prompts import Language, filled, free_mark, prompts_of, tagged
from pytest_rageval.text.tokenize import has_cjk, split_characters

VERSION: Final = 1
"""Of the prompts, and of how a reply is read: another one asks everything anew."""


def language_of(*texts: str) -> Language:
    """Return the language of the prompts about these texts: English where most are not Chinese.

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
