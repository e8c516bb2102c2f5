"""A service to ask, and what asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_app import FakeApp, app  # noqa: F401

from pytest_rageval.model import Sample
from pytest_rageval.targets.base import Answer, TargetContext
from pytest_rageval.targets.http_service import HttpOptions, HttpTarget

Ask = Callable[..., Answer]
METADATA = {"lang": "en", "n": 3, "deep": {"er": "甲"}, "no_parts": []}
SAMPLE = Sample("s", contexts=("a", "b"), metadata=METADATA)


@pytest.fixture
def ask(app: FakeApp) -> Ask:  # noqa: F811
    """Return a function that asks the service once, as the options say."""

    def once(question: str | None = "say Paris", **options: Any) -> Answer:
        given = HttpOptions.model_validate({"url": app.url(), **options})

        async def run() -> Answer:
            target = HttpTarget(given, TargetContext(timeout_s=30.0))
            try:
                return await target.answer(replace(SAMPLE, question=question))
            finally:
                await target.aclose()

        return asyncio.run(run())

    return once
