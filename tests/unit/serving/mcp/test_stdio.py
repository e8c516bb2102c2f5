"""D10, E25: what the server of tools says before it begins; tests/plugin has the rest."""

from __future__ import annotations

import pytest

from pytest_rageval import extras
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.serving.mcp.stdio import serve_tools


def test_without_the_sdk_the_pip_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """D10."""
    monkeypatch.setattr(extras, "installed", lambda _module: False)
    with pytest.raises(MissingExtraError, match=r'mcp.*pip install "pytest-rageval\[mcp\]"'):
        serve_tools("name", "1", [])
