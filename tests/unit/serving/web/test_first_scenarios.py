"""Scenarios that the page has written: all of their files, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.serving.proposing import text_digest
from pytest_rageval.serving.web.data_files import DataFiles
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


@pytest.mark.parametrize(
    ("files", "count", "is_whole"),
    [
        (["a.csv", "b/c.jsonl", "d.txt"], 2, True),
        ([f"{at}.csv" for at in range(301)], 300, False),
        (["a.csv", "1/2/3/4/5/6/7/8/9/a.csv"], 1, False),
        (["a.csv", "1/2/3/4/5/6/7/8/9/a.java"], 1, True),
    ],
)
def test_a_list_of_data_files_says_whether_it_is_cut(
    tmp_path: Path, files: list[str], count: int, is_whole: bool
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names, whole = DataFiles(tmp_path).listed()
    assert (len(names), whole) == (count, is_whole)
