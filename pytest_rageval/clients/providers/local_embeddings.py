"""Embedding models in this process: sentence-transformers, fastembed, or a function of the user's.

The first two fetch their model at the first use.
"""

from __future__ import annotations

import inspect
import math
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

from pytest_rageval import extras
from pytest_rageval.clients.base import EmbeddingProvider, Usage, Vector, Vectors, missing_package
from pytest_rageval.clients.errors import LocalModelError, hide_in
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.clients.threads import Raised, SerialThread, is_our_stop
from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.errors import RagevalError, error_line, shorten
from pytest_rageval.import_path import ImportPathError, import_object, split_path
from pytest_rageval.redaction import Redactor, named_secrets

Encode = Callable[[list[str]], Any]
"""From texts to rows of numbers, one a text, or to something to await that gives them."""


class LocalEmbeddings:
    """Embeds batches with the function that ``load`` returns for the settings.

    Loading and encoding run in a thread of their own; an ``async def`` runs in the event loop, and
    so does whatever else a function returns to be awaited.
    """

    def __init__(self, settings: ClientSettings, load: Callable[[ClientSettings], Encode]) -> None:
        self._settings = settings
        self._load = load
        self._encode: Encode | None = None
        self._hide = Redactor(named_secrets(dict(settings.extra_body)))
        self._thread = SerialThread(f"rageval-{settings.provider}")

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of one batch.

        Raises LocalModelError for whatever the model raises, ``sys.exit()`` included, and for
        vectors that are not finite, not of one length or not one for each text. A RagevalError, of
        a package that is missing for instance, and our own cancelling are raised as they are.
        """
        try:
            return self._checked(await self._rows(list(texts)), texts)
        except RagevalError as error:
            hide_in(error, self._hide)
            raise
        except Raised as raised:
            raise self._failure(error_line(raised.error, sys.maxsize)) from raised.error
        except BaseException as error:  # a foreign model may raise anything
            if is_our_stop(error):
                raise
            raise self._failure(error_line(error, sys.maxsize)) from error

    async def aclose(self) -> None:
        """End the thread."""
        self._thread.close()

    async def _rows(self, texts: list[str]) -> list[Vector]:
        encode = await self._thread.run(self._loaded) if self._encode is None else self._encode
        if inspect.iscoroutinefunction(encode):
            return _to_vectors(await encode(texts))
        found = await self._thread.run(lambda: _called(encode, texts))
        return _to_vectors(await found) if inspect.isawaitable(found) else found

    def _loaded(self) -> Encode:
        encode = self._encode = self._encode or self._load(self._settings)
        return encode

    def _checked(self, vectors: list[Vector], texts: Sequence[str]) -> Vectors:
        lengths = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or len(lengths) != 1 or 0 in lengths:
            found = f"{len(vectors)} vectors of lengths {sorted(lengths)} for {len(texts)} texts"
            raise self._failure(f"returned {found}, expected one for each text, all of one length")
        if not all(math.isfinite(sum(vector)) for vector in vectors):
            raise self._failure("returned a vector that is not finite")
        tokens = math.ceil(sum(map(estimate_tokens, texts)))
        return Vectors(vectors, Usage(tokens, calls=1))

    def _failure(self, what: str) -> LocalModelError:
        line = shorten(self._hide(" ".join(what.split())), 300)
        return LocalModelError(f"{self._settings.shown}: {line}")


def _called(encode: Encode, texts: list[str]) -> Any:
    """Return the vectors, or what has to be awaited for the rows; called in the thread."""
    found = encode(texts)
    return found if inspect.isawaitable(found) else _to_vectors(found)


def _to_vectors(rows: Iterable[Any]) -> list[Vector]:
    return list(map(_to_vector, rows))


def _to_vector(row: Iterable[Any]) -> Vector:
    # An array of numpy gives its numbers fastest as a list.
    return array("f", row.tolist() if hasattr(row, "tolist") else map(float, row))


def _sentence_transformer(settings: ClientSettings) -> Encode:
    """Load ``settings.model``; return what encodes. ``extra_body`` goes to its constructor."""
    name = "sentence-transformers"
    library = extras.require("sentence_transformers", extra=name, purpose=f"the provider {name}")
    model = library.SentenceTransformer(settings.model, **settings.extra_body)
    return partial(model.encode, batch_size=settings.batch_size, show_progress_bar=False)


def _fastembed(settings: ClientSettings) -> Encode:
    """Load an ONNX model; return what encodes. ``extra_body`` goes to its constructor."""
    library = extras.require("fastembed", extra="fastembed", purpose="the provider fastembed")
    model = library.TextEmbedding(model_name=settings.model, **settings.extra_body)
    return partial(model.embed, batch_size=settings.batch_size)


def _user_function(settings: ClientSettings) -> Encode:
    """Return the function called ``settings.model``; ``extra_body`` goes to it as keywords."""
    try:
        found = import_object(settings.model, settings.folders, settings.import_mode)
    except ImportPathError as error:
        raise LocalModelError(f"{settings.shown}: {error}") from error
    return partial(cast("Encode", found), **settings.extra_body)


def check_function(settings: ClientSettings) -> list[str]:
    """Return what is wrong with the function's name; nothing is imported before it is needed."""
    try:
        split_path(settings.model)
    except ImportPathError as error:
        return [f"model: the provider python names a function: {error}"]
    return []


def _provider(
    name: str,
    load: Callable[[ClientSettings], Encode],
    check: Callable[[ClientSettings], Sequence[str]],
    *aliases: str,
) -> EmbeddingProvider:
    return EmbeddingProvider(
        name, partial(LocalEmbeddings, load=load), check, aliases, is_local=True
    )


EMBEDDINGS = (
    _provider(
        "sentence-transformers",
        _sentence_transformer,
        partial(missing_package, "sentence_transformers", "sentence-transformers"),
        "sbert",
    ),
    _provider("fastembed", _fastembed, partial(missing_package, "fastembed", "fastembed")),
    _provider("python", _user_function, check_function, "callable"),
)
