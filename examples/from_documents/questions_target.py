"""A small system that is asked the made questions: BM25 over the documents of this folder.

It stands in for your own application. Its chunks are two sentences each and know no headings, so
they are cut in other places than the passages that the questions were made from.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).resolve().parent / "docs"
MARKUP = re.compile(r"^(?:#+ .*|.*\n[=-]{4,})$", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
CHINESE = re.compile(r"[\u4e00-\u9fff]+")
WORD = re.compile(r"[a-z0-9]+")
STOP_WORDS = re.compile(r"an?|and|are|at|be|by|can|do|does|for|how|i|in|is|it|of|on|or|the|to|what")
NAME = re.compile("halvik|observatory|哈尔维克|天文台")  # in nearly every question
K1, B = 1.2, 0.75
LEAST_SHARE = 0.2
"""Of the weight of a question's words; a best sentence with less of it is no answer."""


@dataclass(frozen=True)
class Chunk:
    """Two sentences of a document, and how often each word is in them."""

    text: str
    words: Counter[str]


def words_of(text: str) -> list[str]:
    """Return the words of a text; of Chinese, pairs of characters."""
    text = NAME.sub(" ", text.lower())
    chinese = ["".join(pair) for run in CHINESE.findall(text) for pair in pairwise(run)]
    return chinese + [word for word in WORD.findall(text) if not STOP_WORDS.fullmatch(word)]


def sentences_of(text: str) -> list[str]:
    return [" ".join(one.split()) for one in SENTENCE_END.split(text) if one.strip()]


def read_chunks() -> list[Chunk]:
    chunks = []
    for path in sorted(DOCS.iterdir()):
        sentences = sentences_of(MARKUP.sub("", path.read_text(encoding="utf-8")))
        for at in range(0, len(sentences), 2):
            text = " ".join(sentences[at : at + 2])
            chunks.append(Chunk(text, Counter(words_of(text))))
    return chunks


CHUNKS = read_chunks()
MEAN_LENGTH = sum(chunk.words.total() for chunk in CHUNKS) / len(CHUNKS)
HOLDING = Counter(word for chunk in CHUNKS for word in chunk.words)


def weight(word: str) -> float:
    """Return how much a word says: rare ones more."""
    holding = HOLDING[word]
    return math.log(1 + (len(CHUNKS) - holding + 0.5) / (holding + 0.5))


def score(asked: set[str], chunk: Chunk) -> float:
    norm = K1 * (1 - B + B * chunk.words.total() / MEAN_LENGTH)
    counts = {word: chunk.words[word] for word in asked if word in chunk.words}
    return math.fsum(weight(word) * n * (K1 + 1) / (n + norm) for word, n in sorted(counts.items()))


def search(question: str, k: int = 5) -> list[str]:
    """Return the texts of the k best chunks, best first; those that share no word are none."""
    asked = set(words_of(question))
    scores = {at: score(asked, chunk) for at, chunk in enumerate(CHUNKS)}
    best = sorted(scores, key=lambda at: (-scores[at], at))[:k]
    return [CHUNKS[at].text for at in best if scores[at] > 0]


def share(asked: set[str], sentence: str) -> float:
    """Return which part of what the question's words say is in a sentence."""
    held = math.fsum(sorted(weight(word) for word in asked & set(words_of(sentence))))
    return held / math.fsum(sorted(map(weight, asked)))


def answer(question: str) -> dict[str, object]:
    """Return the best sentence, or a refusal, and what the search found, best first."""
    found = search(question)
    asked = set(words_of(question))
    sentences = [sentence for text in found for sentence in sentences_of(text)]
    best = max(sentences, key=lambda sentence: share(asked, sentence), default="")
    if not best or share(asked, best) < LEAST_SHARE:
        refusal = "抱歉，文档中没有找到答案。" if CHINESE.search(question) else "I do not know."
        return {"answer": refusal, "contexts": found}
    return {"answer": best, "contexts": found}
