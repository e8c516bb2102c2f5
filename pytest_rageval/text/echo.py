"""Whether a judge's reply gives back the example of its prompt in place of the row (R5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.text.evidence import content_words
from pytest_rageval.text.reply import find_objects
from pytest_rageval.text.tokenize import has_cjk, split_characters

_LEAST_WORDS: Final = 5
_LEAST_CHARACTERS: Final = 12
"""Of Chinese, Japanese or Korean."""


class RepeatedExampleError(ValueError):
    """A reply repeats the example of its prompt; the text says which part, for the judge."""

    kind: Final = "example"


@dataclass(frozen=True, slots=True)
class Examples:
    """What the examples of a prompt say, as rows of tokens, and the words that tell of them.

    ``words`` are those of the examples' inputs, or of all where an example has no input.
    """

    rows: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, outputs: Any, inputs: Any = ()) -> Examples:
        """Return the examples with these texts, which may lie in lists and mappings."""
        said, given = [*texts_in(outputs)], [*texts_in(inputs)]
        rows = [_row(text) for text in (*said, *given) if _is_long(text)]
        return cls(tuple(dict.fromkeys(rows)), frozenset(_telling(given or said)))

    def __add__(self, other: Examples) -> Examples:
        return Examples(tuple(dict.fromkeys((*self.rows, *other.rows))), self.words | other.words)


NO_EXAMPLES: Final = Examples()


def examples_in(prompt: str, *, has_inputs: bool = False) -> Examples:
    """Return the examples in the text of a prompt: its JSON objects, but for JSON Schemas.

    With ``has_inputs``, the first and every other one of them is the input of an example.
    """
    found = [one for one in find_objects(prompt) if "properties" not in one]
    return Examples.of(found, found[::2] if has_inputs else ())


def refuse_repeated(reply: Any, examples: Examples, own: Any) -> None:
    """Raise RepeatedExampleError if a text of a reply is that of an example, and not of the row.

    ``reply`` and ``own``, the texts of the row, may be texts or lists and mappings of them. A text
    of at least 5 words (12 Chinese characters) counts; one may be a part of the other. What has no
    word that the examples tell of may be said of any row ("The context does not say so"); and
    where the row has these words, three in four, the reply may be about it.

    >>> shown = Examples.of(["Where was Albert Einstein born?"])
    >>> refuse_repeated("where was Albert Einstein born", shown, ["Einstein, Albert: born 1879"])
    >>> refuse_repeated("where was Albert Einstein born", shown, ["The plant is watered."])
    Traceback (most recent call last):
    pytest_rageval.text.echo.RepeatedExampleError: it repeats the example of the prompt \
('where was Albert Einstein born'), which is not about this question
    """
    known: set[str] | None = None
    for text in texts_in(reply) if examples.rows else ():
        telling = _shared(text, examples)
        if telling and known is None:
            known = set(_telling(texts_in(own)))
        if telling and known is not None and len(telling - known) > len(telling) // 4:
            raise RepeatedExampleError(
                f"it repeats the example of the prompt ({text[:_SHOWN]!r}), "
                "which is not about this question"
            )


_SHOWN: Final = 80


def _shared(text: str, examples: Examples) -> set[str]:
    """Return the telling words that a text shares with an example; none where it repeats none."""
    if not _is_long(text):
        return set()
    row = _row(text)
    for shown in examples.rows:
        common = row if row in shown else shown if shown in row else ""
        words = set(_telling([common]))
        telling = words & examples.words
        # Pairs of characters are shared by chance: a third of them is not.
        if telling and (not has_cjk(common) or 3 * len(telling) >= len(words)):
            return telling
    return set()


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in lists and mappings; a list of short ones is one text as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, Iterable):
        parts = list(value)
        for part in parts:
            yield from texts_in(part)
        if len(parts) > 1 and all(isinstance(one, str) and not _is_long(one) for one in parts):
            yield " ".join(parts)


def _is_long(text: str) -> bool:
    least = _LEAST_CHARACTERS if has_cjk(text) else _LEAST_WORDS
    return len(split_characters(text)) >= least


def _row(text: str) -> str:
    return f" {' '.join(split_characters(text))} "


def _telling(texts: Iterable[str]) -> Iterator[str]:
    return (word for text in texts for word in content_words(text) if len(word) > 1)
