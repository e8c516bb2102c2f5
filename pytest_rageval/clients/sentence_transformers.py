"""Embeddings by sentence-transformers, in this process; it fetches its model at the first use."""

from __future__ import annotations

from typing import Any

from pytest_rageval import extras
from pytest_rageval.clients.base import EmbeddingProvider
from pytest_rageval.clients.checks import missing_package
from pytest_rageval.clients.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings

_MODULE, _EXTRA = "sentence_transformers", "sentence-transformers"


def make(settings: ClientSettings) -> LocalEmbeddings:
    """Return the model called ``settings.model``; ``extra_body`` goes to its constructor."""
    return LocalEmbeddings(settings, lambda: _load(settings))


def check(settings: ClientSettings) -> list[str]:
    """Return what is missing."""
    return missing_package(_MODULE, _EXTRA, settings)


def _load(settings: ClientSettings) -> Encode:
    library = extras.require(_MODULE, extra=_EXTRA, purpose=f"the provider {_EXTRA}")
    model = library.SentenceTransformer(settings.model, **settings.extra_body)

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, batch_size=settings.batch_size, show_progress_bar=False)

    return encode


EMBEDDINGS = (EmbeddingProvider("sentence-transformers", make, check, ("sbert",), is_local=True),)
