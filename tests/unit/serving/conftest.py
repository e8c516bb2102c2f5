"""What tests of the tools and of the web app share."""

from __future__ import annotations

import pytest
from steady_clock import set_steady_clock


@pytest.fixture
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the runs of a test follow each other: the newest is told by the clock."""
    set_steady_clock(monkeypatch, "evaluation")
