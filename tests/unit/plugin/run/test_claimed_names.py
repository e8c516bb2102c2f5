"""[G11] Two scenario files of one name would share runs, history and baselines."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_config import configured

from pytest_rageval.errors import DuplicateNameError
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.plugin.run.run_settings import claim_name, collected_scenarios


def info(name: str, file: str, output_dir: str | None = None) -> ScenarioInfo:
    return ScenarioInfo(name, file, file, (), output_dir=output_dir)


def test_two_files_of_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    """[G11] In one output folder; the name is that of a folder."""
    config = configured(tmp_path)
    claim_name(config, tmp_path / "one.yaml", info("qa", "one.yaml"))
    claim_name(config, tmp_path / "two.yaml", info("qa", "two.yaml", "other"))
    with pytest.raises(DuplicateNameError) as caught:
        claim_name(config, tmp_path / "three.yaml", info("qa", "three.yaml"))
    assert str(caught.value) == (
        "three.yaml: name: 'qa' is also the name of one.yaml: both would share run folder, "
        "history and baselines. Give one of them another 'name' or 'output_dir'"
    )
    assert [found.path for found in collected_scenarios(config)] == ["one.yaml", "two.yaml"]


def test_the_same_file_twice_is_one(tmp_path: Path) -> None:
    """[G11] A test function over a scenario that runs by itself, too; also through a link."""
    config = configured(tmp_path)
    (tmp_path / "qa.yaml").touch()
    (tmp_path / "link.yaml").symlink_to(tmp_path / "qa.yaml")
    for name in ("qa.yaml", "qa.yaml", "link.yaml"):
        claim_name(config, tmp_path / name, info("qa", name))
    assert len(collected_scenarios(config)) == 1


@pytest.mark.parametrize("pair", [("a/b", "a:b"), ("qa", "QA "), ("history.csv", "x")])
def test_names_that_differ_have_folders_that_differ(tmp_path: Path, pair: tuple[str, str]) -> None:
    """[G11] Whatever the system lets a folder be called."""
    config = configured(tmp_path)
    for at, name in enumerate(pair):
        claim_name(config, tmp_path / f"{at}.yaml", info(name, f"{at}.yaml"))
    assert len(collected_scenarios(config)) == 2
