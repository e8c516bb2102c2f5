"""Embeddings by a function of the user's: ``model: pkg.mod:attr``, from a list of texts to rows."""

from __future__ import annotations

import functools
from importlib import import_module
from operator import attrgetter

from pytest_rageval.clients.base import EmbeddingProvider
from pytest_rageval.clients.errors import LocalModelError
from pytest_rageval.clients.local_embeddings import Encode, LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import shorten


def make(settings: ClientSettings) -> LocalEmbeddings:
    """Return the function called ``settings.model``; ``extra_body`` goes to it as keywords."""
    return LocalEmbeddings(settings, lambda: _load(settings))


def check(settings: ClientSettings) -> list[str]:
    """Return what is wrong with the function's name; nothing is imported before it is needed."""
    module, colon, attribute = settings.model.partition(":")
    parts = [*module.split("."), *attribute.split(".")]
    if colon and all(part.isidentifier() for part in parts):
        return []
    return [f"model: expected 'pkg.mod:attr' for the provider python, found {settings.model!r}"]


def _load(settings: ClientSettings) -> Encode:
    module, _, attribute = settings.model.partition(":")
    try:
        function: Encode = attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError) as error:
        raise LocalModelError(f"{settings.shown}: {shorten(str(error), 300)}") from error
    return functools.partial(function, **settings.extra_body)


EMBEDDINGS = (EmbeddingProvider("python", make, check, ("callable",), is_local=True),)
