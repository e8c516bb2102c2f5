"""Metrics that call a user's function, or await a user's coroutine."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.clients.threads import is_ours
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.signature import CustomMetricError, Given, Signature
from pytest_rageval.metrics.custom.values import as_score
from pytest_rageval.model import Sample, Score


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its options as keywords, and its signature."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature


class CustomFunction:
    """Scores by calling a user's function."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        return self._call.function

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the function's result as a score; its exceptions are raised."""
        call = self._call
        given = dict.fromkeys(call.signature.gives, context)
        try:
            found = call.function(own(sample), **given, **call.keywords)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit, pytest.skip: they concern this score alone
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


class CustomCoroutine:
    """Scores by awaiting a user's async function; many samples at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the function's result as a score; TimeoutError where it takes too long."""
        call = self._call
        given = {name: _given(what, models) for name, what in call.signature.gives.items()}
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                found = await call.function(own(sample), **given, **call.keywords)
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
            raise
        except Exception:
            raise
        except BaseException as error:
            if is_ours(error):
                raise
            # It would end the event loop of the whole run.
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


def own(sample: Sample) -> Sample:
    """Return a copy that a user's function may change: reports and slices read the metadata."""
    if not sample.metadata:
        return sample
    return replace(sample, metadata=copy.deepcopy(dict(sample.metadata)))


def _given(what: Given, models: Models) -> object:
    if what == "models":
        return models
    return ScoringContext() if what == "context" else getattr(models, what)
