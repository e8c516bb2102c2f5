"""First scenarios that are proposed for rows, and why there is none for others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.first_scenario.propose import Proposal, propose


def proposed(folder: Path, rows: Any, given: Mapping[str, Any] = {}) -> Proposal:
    """Return what is proposed for rows, in the file ``my data.json``."""
    file = folder / "my data.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    return propose(file, folder, given)


def refused(folder: Path, rows: Any) -> str:
    """Return why nothing is proposed; nothing is written, either."""
    with pytest.raises(ScenarioError) as caught:
        proposed(folder, rows)
    assert [one.name for one in folder.iterdir()] == ["my data.json"]
    return str(caught.value)
