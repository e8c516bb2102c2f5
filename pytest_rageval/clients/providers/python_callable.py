"""Embeddings by a function of the user's: ``model: pkg.mod:attr``, from a list of texts to rows."""

from __future__ import annotations

import functools
from typing import cast

from pytest_rageval.clients.base import EmbeddingProvider
from pytest_rageval.clients.errors import LocalModelError
from pytest_rageval.clients.providers.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.import_path import ImportPathError, import_object, split_path


def check(settings: ClientSettings) -> list[str]:
    """Return what is wrong with the function's name; nothing is imported before it is needed."""
    try:
        split_path(settings.model)
    except ImportPathError as error:
        return [f"model: the provider python names a function: {error}"]
    return []


def _load(settings: ClientSettings) -> Encode:
    """Return the function called ``settings.model``; ``extra_body`` goes to it as keywords."""
    try:
        found = import_object(settings.model, settings.folders, settings.import_mode)
    except ImportPathError as error:
        raise LocalModelError(f"{settings.shown}: {error}") from error
    return functools.partial(cast("Encode", found), **settings.extra_body)


EMBEDDINGS = (
    EmbeddingProvider(
        "python",
        functools.partial(LocalEmbeddings, load=_load),
        check,
        ("callable",),
        is_local=True,
    ),
)
