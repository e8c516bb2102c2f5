"""Embeddings by fastembed (ONNX), in this process; it fetches its model at the first use."""

from __future__ import annotations

from typing import Any

from pytest_rageval import extras
from pytest_rageval.clients.base import EmbeddingProvider
from pytest_rageval.clients.checks import missing_package
from pytest_rageval.clients.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings


def make(settings: ClientSettings) -> LocalEmbeddings:
    """Return the model called ``settings.model``; ``extra_body`` goes to its constructor."""
    return LocalEmbeddings(settings, lambda: _load(settings))


def check(settings: ClientSettings) -> list[str]:
    """Return what is missing."""
    return missing_package("fastembed", "fastembed", settings)


def _load(settings: ClientSettings) -> Encode:
    library = extras.require("fastembed", extra="fastembed", purpose="the provider fastembed")
    model = library.TextEmbedding(model_name=settings.model, **settings.extra_body)

    def encode(texts: list[str]) -> Any:
        return model.embed(texts, batch_size=settings.batch_size)

    return encode


EMBEDDINGS = (EmbeddingProvider("fastembed", make, check, is_local=True),)
