"""Embeddings by sentence-transformers, in this process; it fetches its model at the first use."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest_rageval import extras
from pytest_rageval.clients.base import EmbeddingProvider, missing_package
from pytest_rageval.clients.providers.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings

_MODULE, _EXTRA = "sentence_transformers", "sentence-transformers"


def _load(settings: ClientSettings) -> Encode:
    """Return the model called ``settings.model``; ``extra_body`` goes to its constructor."""
    library = extras.require(_MODULE, extra=_EXTRA, purpose=f"the provider {_EXTRA}")
    model = library.SentenceTransformer(settings.model, **settings.extra_body)

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, batch_size=settings.batch_size, show_progress_bar=False)

    return encode


EMBEDDINGS = (
    EmbeddingProvider(
        "sentence-transformers",
        partial(LocalEmbeddings, load=_load),
        partial(missing_package, _MODULE, _EXTRA),
        ("sbert",),
        is_local=True,
    ),
)
