"""What is on disk beside shards: the scenario that they ran, or nothing like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.model import ScenarioInfo
from pytest_rageval.shards.on_disk import changes_since


@pytest.mark.parametrize("path", ["s.yaml", "x" * 5000, "a\x00b"])
def test_a_name_that_no_file_has_is_no_scenario_here(tmp_path: Path, path: str) -> None:
    """X6: a damaged head may name anything; what is not here has not changed."""
    assert list(changes_since(ScenarioInfo("qa", path, path, ()), tmp_path)) == []
