"""The files of ``reference/`` say where their figures are from."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("reference")


def test_every_file_is_in_the_readme_and_says_how_it_was_made() -> None:
    readme = (FOLDER / "README.md").read_text("utf-8")
    files = [path for path in FOLDER.rglob("*") if path.is_file() and path.name != "README.md"]
    assert [path.name for path in files if path.name not in readme] == []
    figures = [path for path in files if path.suffix == ".json"]
    assert len(figures) == readme.count(".json` |")
    assert [path.name for path in figures if not json.loads(path.read_text("utf-8"))["how"]] == []
