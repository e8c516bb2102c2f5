"""Embeddings by fastembed (ONNX), in this process; it fetches its model at the first use."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest_rageval import extras
from pytest_rageval.clients.base import EmbeddingProvider, missing_package
from pytest_rageval.clients.providers.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings


def _load(settings: ClientSettings) -> Encode:
    """Return the model called ``settings.model``; ``extra_body`` goes to its constructor."""
    library = extras.require("fastembed", extra="fastembed", purpose="the provider fastembed")
    model = library.TextEmbedding(model_name=settings.model, **settings.extra_body)

    def encode(texts: list[str]) -> Any:
        return model.embed(texts, batch_size=settings.batch_size)

    return encode


EMBEDDINGS = (
    EmbeddingProvider(
        "fastembed",
        partial(LocalEmbeddings, load=_load),
        partial(missing_package, "fastembed", "fastembed"),
        is_local=True,
    ),
)
