"""A service that answers, and a scenario that asks it, or another system under test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp  # noqa: F401  (an inner run may not be the first to import a C extension)
import pytest
from fake_app import app  # noqa: F401

import pytest_rageval.clients.clients
import pytest_rageval.engine.scoring.ask_target
import pytest_rageval.plugin.run.look_ahead  # noqa: F401
from pytest_rageval.targets.base import TARGET_REGISTRY
from tests.plugin.conftest import Project

TARGET_REGISTRY.names()

Scenario = Callable[..., Path]


@pytest.fixture
def scenario(project: Project) -> Scenario:
    """Return a function that writes a scenario whose questions all have the reference Paris."""

    def write(questions: Sequence[str], target: Any = "app:answer", **keys: Any) -> Path:
        rows = [
            {"id": f"q{at}", "question": question, "references": ["Paris"], "lang": "en"}
            for at, question in enumerate(questions)
        ]
        plain = {"name": "qa", "dataset": rows, "metrics": ["em"], "target": target, **keys}
        return project.file("qa.rageval.yaml", json.dumps(plain))

    return write
