"""The embedder that ragas is given: each text of a sample once, for us and for ragas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pytest_rageval.clients.base import EmbeddingClient
from pytest_rageval.clients.errors import LocalModelError
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.similarity import cosine


class Embedder:
    """Embeds the texts of one sample and one metric, each once, for us and for ragas."""

    def __init__(self, client: EmbeddingClient) -> None:
        self._client = client
        self._vectors: dict[str, Sequence[float]] = {}

    async def fetch(self, texts: Sequence[str]) -> None:
        """Embed the ``texts`` that are not embedded yet, together.

        Raises ClientError, also for a vector that has no direction: the model failed, so the score
        is an error, and not left out.
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not missing:
            return
        for text, vector in zip(missing, await self._client.embed(missing), strict=True):
            if cosine(vector, vector) is None:
                what = shorten(text, 40)
                raise LocalModelError(f"the embedding of {what!r} is all zeros, or not finite")
            self._vectors[text] = _in_reach(vector)

    async def aembed_text(self, text: str, **_: Any) -> Sequence[float]:
        """Return the vector of a text."""
        await self.fetch([text])
        return self._vectors[text]

    async def aembed_texts(self, texts: Sequence[str], **_: Any) -> list[Sequence[float]]:
        """Return the vectors of texts."""
        await self.fetch(texts)
        return [self._vectors[text] for text in texts]

    def embed_text(self, text: str, **_: Any) -> Sequence[float]:
        """Refuse: ragas is used asynchronously only."""
        raise NotImplementedError("ragas is used through ascore() only")

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of two texts that were fetched."""
        return cosine(self._vectors[one], self._vectors[other]) or 0.0


def _in_reach(vector: Sequence[float]) -> Sequence[float]:
    """Return a vector whose square ragas can compute: it does so in 32 bits."""
    length = math.sqrt(math.fsum(part * part for part in vector))
    return vector if 1e-9 < length < 1e9 else [part / length for part in vector]
