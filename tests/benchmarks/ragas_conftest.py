"""Notes when ragas was there, when the session ended, and whether ragas was imported at all."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from pytest_rageval.metrics.ragas import backend

_TIMES: dict[str, float] = {}


def pytest_collection_finish() -> None:
    """Note the end of the import, if it has begun."""
    if backend._begin.cache_info().currsize:
        backend.begin_loading().add_done_callback(lambda _: _note())


def _note() -> None:
    _TIMES.setdefault("wall", time.perf_counter())
    _TIMES.setdefault("cpu", time.process_time())


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Write down what was noted."""
    if hasattr(config, "workerinput"):
        return
    _note()
    seen = {
        "after_import_s": time.perf_counter() - _TIMES["wall"],
        "cpu_after_import_s": time.process_time() - _TIMES["cpu"],
        "has_ragas": "ragas" in sys.modules,
    }
    Path("seen.json").write_text(json.dumps(seen), encoding="ascii")
