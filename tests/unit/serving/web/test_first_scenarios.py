"""Scenarios that the page has written: all of their files, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.serving.proposing import text_digest
from pytest_rageval.serving.web.first_scenarios import read_asked, write_scenario
from pytest_rageval.serving.web.refusals import Refused


def test_a_refused_scenario_leaves_no_file(tmp_path: Path) -> None:
    """[P4] An empty one would be a scenario that cannot be read."""
    scenario = {"text": "name: s\n", "file": "s.rageval.yaml"}
    scenario |= {"module": "gone/target.py", "module_text": ""}
    with pytest.raises(Refused):
        write_scenario(tmp_path, scenario, text_digest("name: s\n"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "s.rageval.yaml").write_text("ours")
    with pytest.raises(Refused, match="is there already"):
        write_scenario(tmp_path, {**scenario, "module": None}, text_digest("name: s\n"))
    assert (tmp_path / "s.rageval.yaml").read_text() == "ours"


def test_a_name_has_no_brackets() -> None:
    """[P4] pytest would look for a pattern in place of the file."""
    assert read_asked({"name": " a [b] "})["name"] == "a (b)"
