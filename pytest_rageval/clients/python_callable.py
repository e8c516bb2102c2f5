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
        hint = _hint(module, error)
        raise LocalModelError(f"{settings.shown}: {shorten(str(error), 300)}{hint}") from error
    return functools.partial(function, **settings.extra_body)


def _hint(module: str, error: Exception) -> str:
    """Return what to do when it is the user's own module that Python does not find."""
    name = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    if name is None or not f"{module}.".startswith(f"{name}."):
        return ""
    return "; pytest finds modules beside the scenario with `pythonpath = .` in its ini file"


EMBEDDINGS = (EmbeddingProvider("python", make, check, ("callable",), is_local=True),)
