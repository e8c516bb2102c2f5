"""Functions of the user's own as metrics: called in the case's turn, or awaited ahead of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rageval.clients.foreign import is_ours
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.signature import CustomMetricError, Given, Signature
from pytest_rageval.metrics.custom.values import as_score
from pytest_rageval.model import Sample, Score


@dataclass(frozen=True, slots=True)
class Call:
    """A function, the keywords that its options are, and what else it is given."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature


class CustomFunction:
    """Scores by calling a function of the user's."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return what the function returns, as a score; what it raises is raised."""
        call = self._call
        given = dict.fromkeys(call.signature.gives, context)
        try:
            found = call.function(sample, **given, **call.keywords)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # of sys.exit, pytest.skip: no word on the whole sample
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


class CustomCoroutine:
    """Scores by awaiting an async function of the user's; many at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return what the function returns, as a score; TimeoutError where it takes too long."""
        call = self._call
        given = {name: _given(what, models) for name, what in call.signature.gives.items()}
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                found = await call.function(sample, **given, **call.keywords)
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
            raise
        except Exception:
            raise
        except BaseException as error:
            if is_ours(error):
                raise
            # It would end the loop that serves the whole run.
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


def _given(what: Given, models: Models) -> object:
    if what == "models":
        return models
    return ScoringContext() if what == "context" else getattr(models, what)
