"""Hits among retrieved contexts: which of them are the expected ones, and at which ranks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pytest_rageval.model import Sample
from pytest_rageval.text.tokenize import normalize_unicode

_LINK_ADDRESS: Final = re.compile(
    r"""\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\)"""
)
"""Where a Markdown link leads. It may hold brackets, as in ``Tower_(Paris)``, and have a title."""

Match = Literal["exact", "normalized", "contains", "holds", "doc_name"]


@dataclass(frozen=True, slots=True)
class Hits:
    """``relevant`` says for each context, in rank order, whether it is an expected one.

    ``found_at`` holds for each expected context the rank (from 1) of the first match, 0 without a
    match. Of a text that is retrieved twice, only the first is relevant.
    """

    relevant: tuple[bool, ...]
    found_at: tuple[int, ...]

    def hit_rate(self, k: int | None) -> float:
        """Return 1.0 when an expected context is among the first ``k``, else 0.0."""
        return float(any(self.relevant[:k]))

    def reciprocal_rank(self, k: int | None) -> float:
        """Return 1 / rank of the first expected context, 0.0 when the first ``k`` hold none."""
        ranks = (rank for rank, hit in enumerate(self.relevant[:k], start=1) if hit)
        return 1.0 / next(ranks, float("inf"))

    def precision(self, k: int | None) -> float:
        """Return the expected ones among the first ``k``, divided by ``k``; without it, by all."""
        size = k or len(self.relevant)
        return sum(self.relevant[:k]) / size if size else 0.0

    def recall(self, k: int | None) -> float:
        """Return the share of the expected contexts that the first ``k`` hold."""
        last = k or len(self.relevant)
        return sum(0 < rank <= last for rank in self.found_at) / len(self.found_at)


def find_hits(sample: Sample, match: Match) -> Hits:
    """Return the hits of a sample that has the fields which ``match`` needs, none of them empty.

    ``exact`` compares the texts as they are. ``normalized`` compares after NFKC and case folding,
    without punctuation and white space (which PDF readers put between Chinese characters).
    ``contains`` normalises too, and accepts either text inside the other; ``holds`` only the
    expected one inside the retrieved one, and ignores where Markdown links lead. ``doc_name``
    compares the documents of the contexts with that of the sample, as the one expected context.
    Equal expected contexts count once.
    """
    contexts = sample.contexts or ()
    if match == "doc_name":
        wanted = _file(sample.doc_name)
        same = [name is not None and _file(name) == wanted for name in sample.context_docs or ()]
        return _hits(contexts, [same])
    expected = tuple(dict.fromkeys(_folded(tuple(sample.reference_contexts or ()), match)))
    shown = _folded(contexts, match)
    if match == "contains":
        return _hits(shown, [[_overlap(text, one) for text in shown] for one in expected])
    if match == "holds":
        return _hits(shown, [[one != "" and one in text for text in shown] for one in expected])
    return _hits(shown, [[text == one and text != "" for text in shown] for one in expected])


def _hits(contexts: Sequence[str], matches: Sequence[Sequence[bool]]) -> Hits:
    seen: set[str] = set()
    relevant = []
    for rank, text in enumerate(contexts):
        hit = text not in seen and any(row[rank] for row in matches)
        relevant.append(hit)
        if hit:
            seen.add(text)
    found_at = tuple(next((at for at, hit in enumerate(row, 1) if hit), 0) for row in matches)
    return Hits(tuple(relevant), found_at)


def _overlap(one: str, other: str) -> bool:
    return bool(one and other) and (one in other or other in one)


# All questions about a document may expect the same chunks.
@lru_cache(maxsize=1024)
def _folded(texts: tuple[str, ...], match: Match) -> tuple[str, ...]:
    """Return the texts as they are compared; one of only punctuation is kept, lest it be empty."""
    if match == "exact":
        return texts
    if match == "holds":  # parsers keep the words of a link, and drop where it leads
        texts = tuple(_LINK_ADDRESS.sub("]", text) for text in texts)
    return tuple(normalize_unicode(text).replace(" ", "") or text for text in texts)


def _file(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").strip()
