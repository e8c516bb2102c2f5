"""Three small systems that answer questions about a campsite from its documents.

    python camp.py "Where may we light a campfire?"

Each looks for the three passages most like the question, and answers with the sentence in them that
is most like it. They differ in what they take for likeness. They need nothing but Python, and stand
in for your own.
"""

from __future__ import annotations

import json
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any

DOCUMENTS = Path(__file__).resolve().parent / "documents"
# Words of Latin script, and every Chinese character for itself.
WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
K1, B = 1.2, 0.75
DIMENSIONS = 512


@dataclass(frozen=True)
class Passage:
    """A line of the documents; ``doc_name`` says of which."""

    text: str
    doc_name: str


@cache
def passages() -> list[Passage]:
    """Return every line of the documents."""
    return [
        Passage(line, path.name)
        for path in sorted(DOCUMENTS.glob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


# The three systems.


def bm25(question: str) -> dict[str, Any]:
    """Answer by BM25: words in common, if they are spelled alike."""
    likeness = bm25_score(question)
    return read(best(passages(), likeness, 3), likeness)


def dense(question: str) -> dict[str, Any]:
    """Answer by vectors: pieces of words in common, so that ``dogs`` is like ``dog``."""
    likeness = cosine(question)
    return read(best(passages(), likeness, 3), likeness)


def rerank(question: str) -> dict[str, Any]:
    """Search by vectors, and of the ten nearest take those that cover most of the question."""
    near = best(passages(), cosine(question), 10)
    return read(best(near, coverage(question), 3), coverage(question))


Likeness = Callable[[str], float]


def best(found: list[Passage], likeness: Likeness, count: int) -> list[Passage]:
    """Return the passages most like the question, best first; equal ones keep their order."""
    return sorted(found, key=lambda passage: likeness(passage.text), reverse=True)[:count]


def read(found: list[Passage], likeness: Likeness) -> dict[str, Any]:
    """Answer with the sentence most like the question."""
    sentences = [one for passage in found for one in END_OF_SENTENCE.split(passage.text) if one]
    return {
        "answer": max(sentences, key=likeness),
        "contexts": [{"text": passage.text, "source": passage.doc_name} for passage in found],
    }


# How they measure likeness.


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def stems(text: str) -> list[str]:
    """Return the first five letters of each word, so that ``cancelling`` is like ``cancel``."""
    return [word[:5] for word in words(text)]


def pieces(text: str) -> list[str]:
    """Return two to four characters that follow each other, of the whole text."""
    plain = " ".join(["", *re.findall(r"\w+", text.lower()), ""])
    return [plain[at : at + size] for size in (2, 3, 4) for at in range(len(plain) - size + 1)]


@cache
def rarity(split: Callable[[str], list[str]]) -> Callable[[str], float]:
    """Return a function from a word, stem or piece to its weight: the rarer, the higher."""
    having = Counter(token for passage in passages() for token in set(split(passage.text)))
    total = len(passages())
    return lambda token: math.log(1 + (total - having[token] + 0.5) / (having[token] + 0.5))


def bm25_score(question: str) -> Likeness:
    """Return a function from a text to its BM25 score."""
    asked = {*words(question)}
    mean_length = sum(len(words(passage.text)) for passage in passages()) / len(passages())

    def score(text: str) -> float:
        counts = Counter(words(text))
        saturation = K1 * (1 - B + B * counts.total() / mean_length)
        return math.fsum(
            rarity(words)(word) * counts[word] * (K1 + 1) / (counts[word] + saturation)
            for word in asked & counts.keys()
        )

    return score


def coverage(question: str) -> Likeness:
    """Return a function from a text to how much of the question is in it, by stems."""
    asked = {*stems(question)}
    return lambda text: math.fsum(map(rarity(stems), asked & {*stems(text)}))


@cache
def vector(text: str) -> list[float]:
    """Return a vector of length 1: every piece adds its weight in one of 512 directions."""
    found = [0.0] * DIMENSIONS
    for piece, count in Counter(pieces(text)).items():
        digest = zlib.crc32(piece.encode())
        sign = 1 if digest & 1 else -1
        found[(digest >> 1) % DIMENSIONS] += sign * (1 + math.log(count)) * rarity(pieces)(piece)
    length = math.hypot(*found)
    return [value / length for value in found]


def cosine(question: str) -> Likeness:
    """Return a function from a text to the cosine between its vector and the question's."""
    asked = vector(question)
    return lambda text: math.fsum(map(mul, asked, vector(text)))


if __name__ == "__main__":
    asked = " ".join(sys.argv[1:])
    for system in (bm25, dense, rerank):
        print(json.dumps({system.__name__: system(asked)}, ensure_ascii=False, indent=2))  # noqa: T201
