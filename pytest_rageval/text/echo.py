"""Whether a judge's reply gives back the example of its prompt in place of the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from pytest_rageval.text.evidence import content_words
from pytest_rageval.text.reply_text import objects_in
from pytest_rageval.text.tokenize import has_cjk, split_characters

_LEAST_WORDS: Final = 5
_LEAST_CHARACTERS: Final = 12
"""From so many words, or characters of Chinese, Japanese or Korean, on a text can be a repeat."""
_LEAST_SHARED: Final = 3
"""So many different words of an example a text needs, if it does not have the example's wording."""
_SHOWN: Final = 80
"""Characters of a text in a message."""
_ENTRY: Final = "\n"
"""Between the short entries of a list."""


class RepeatedExampleError(ValueError):
    """A reply repeats the example of its prompt; the text says which part, for the judge."""

    kind: Final = "example"


@dataclass(frozen=True, slots=True)
class Examples:
    """What the examples of a prompt say, as lines of tokens, and the words that tell of them.

    ``words`` are the words of the inputs; of an example without an input, of all its texts.
    ``pairs`` has the words of each example that has an input, of input and output together.
    """

    rows: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    pairs: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, output: Any, given: Any = ()) -> Examples:
        """Return one example with these texts, which may lie in lists and mappings."""
        outputs, inputs = [*texts_in(output)], [*texts_in(given)]
        rows = [_tokens(text) for text in (*outputs, *inputs) if _is_long(text)]
        pairs = (frozenset(_telling((*outputs, *inputs))),) if inputs else ()
        return cls(tuple(dict.fromkeys(rows)), frozenset(_telling(inputs or outputs)), pairs)

    def __add__(self, other: Examples) -> Examples:
        return Examples(
            tuple(dict.fromkeys((*self.rows, *other.rows))),
            self.words | other.words,
            tuple(dict.fromkeys((*self.pairs, *other.pairs))),
        )


NO_EXAMPLES: Final = Examples()


def examples_in(prompt: str, *, has_inputs: bool = False) -> Examples:
    """Return the examples in the text of a prompt: its JSON objects, but for JSON Schemas.

    With ``has_inputs``, the first and every second one from there is the input of an example, and
    the one behind it the output; without, all of them are one example without an input.
    """
    found = (found.value for found in objects_in(prompt))
    objects = [part for part in found if "properties" not in part]
    if not has_inputs:
        return Examples.of(objects)
    pairs = zip_longest(objects[::2], objects[1::2], fillvalue=())
    return sum((Examples.of(output, given) for given, output in pairs), NO_EXAMPLES)


def refuse_repeated(reply: Any, examples: Examples, own: Any) -> None:
    """Raise RepeatedExampleError if a text of a reply is that of an example, and not of the row.

    ``reply`` and ``own``, the texts of the row, may be texts or lists and mappings of them. A text
    of at least 5 words (12 Chinese characters) counts, and a list of short ones. It repeats an
    example if one is a part of the other, or if three in four of its words, and at least 3 (of a
    list of short ones: all), are from one example that has an input. What has no word that the
    examples tell of may be said of any row ("The context does not say so"); and where the row has
    most of these words, the reply may be about it.

    >>> shown = Examples.of(["Where was Albert Einstein born?"])
    >>> refuse_repeated("where was Albert Einstein born", shown, ["Einstein, Albert: born 1879"])
    >>> refuse_repeated("where was Albert Einstein born", shown, ["The plant is watered."])
    Traceback (most recent call last):
    pytest_rageval.text.echo.RepeatedExampleError: it repeats the example of the prompt \
('where was Albert Einstein born'), which is not about this question
    """
    row_words: set[str] | None = None
    for text in texts_in(reply) if examples.words else ():
        for telling in _shared(text, examples):
            if row_words is None:
                row_words = set(_telling(texts_in(own)))
            if _is_foreign(telling, row_words, text):
                raise RepeatedExampleError(
                    f"it repeats the example of the prompt ({text[:_SHOWN]!r}), "
                    "which is not about this question"
                )


def _shared(text: str, examples: Examples) -> Iterator[set[str]]:
    """Yield the telling words that a text shares with each example that it repeats."""
    is_long, tokens, words = _is_long(text), _tokens(text), set(_telling([text]))
    for example in examples.rows if is_long else ():
        common = tokens if tokens in example else example if example in tokens else ""
        if common:
            yield from _if_enough(set(_telling([common])), examples)
    for pair in examples.pairs:
        shared = words & pair
        if (is_long and len(shared) >= _LEAST_SHARED and 4 * len(shared) >= 3 * len(words)) or (
            _ENTRY in text and len(shared) == len(words) > 1
        ):
            yield from _if_enough(shared, examples)


def _if_enough(words: set[str], examples: Examples) -> Iterator[set[str]]:
    telling = words & examples.words
    # CJK words are pairs of characters and match by chance: a third must be telling.
    if telling and (not any(map(has_cjk, words)) or 3 * len(telling) >= len(words)):
        yield telling


def _is_foreign(telling: set[str], row_words: set[str], text: str) -> bool:
    """Return whether a row, which has ``row_words``, has too few of the words ``telling``.

    It needs three in four of them, or half if one that it has is a name or a figure. One word that
    is missing is chance, unless it is a name or a figure.
    """
    if _is_latin(row_words) != _is_latin(_telling([text])):  # they share no words, but figures
        telling = {word for word in telling if word.isdecimal()}
    names = _names(text)
    missing = telling - row_words
    allowed = len(telling) // (2 if telling & row_words & names else 4)
    return len(missing) > allowed and (len(missing) > 1 or not missing.isdisjoint(names))


def _is_latin(words: Iterable[str]) -> bool:
    """Return whether half of the words or more are in Latin script, or figures."""
    latin = [max(word) < "\u0250" for word in words]
    return 2 * sum(latin) >= len(latin)


def _names(text: str) -> set[str]:
    """Return the words with a capital, but for the first word of a text, and the figures."""
    pieces = text.split()[0 if _ENTRY in text else 1 :]
    figures = {word for word in _telling([text]) if word.isdecimal()}
    return figures.union(_telling(piece for piece in pieces if piece != piece.lower()))


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
        if len(parts) > 1 and all(isinstance(part, str) and not _is_long(part) for part in parts):
            yield _ENTRY.join(parts)


def _is_long(text: str) -> bool:
    least = _LEAST_CHARACTERS if has_cjk(text) else _LEAST_WORDS
    return len(split_characters(text)) >= least


def _tokens(text: str) -> str:
    """Return the tokens of a text in one line, with a blank before and after each."""
    return f" {' '.join(split_characters(text))} "


def _telling(texts: Iterable[str]) -> Iterator[str]:
    """Return the words that tell what texts are about."""
    return (word for text in texts for word in content_words(text) if len(word) > 1)
