"""Two scenario files of one name would share runs, history and baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

SCENARIO = "name: {}\nmetrics: [em]\ndataset: [{{id: a, answer: x, references: [x]}}]\n"


@pytest.mark.full
@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)], ids=["plain", "xdist"]
)
def test_two_files_of_one_name_are_refused_with_both_places(
    project: Project, args: tuple[str, ...]
) -> None:
    """[G11] In one output folder; that it is wrong use, workers tell their controller."""
    project.scenario(SCENARIO.format("qa"), "one")
    project.scenario(SCENARIO.format("qa"), "two")
    result = project.pytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(
        ["*two.rageval.yaml: name: 'qa' is also the name of one.rageval.yaml: *"]
    )


@pytest.mark.full
def test_a_link_to_a_file_is_another_file(project: Project) -> None:
    """[G11] What stands beside it, its data, may be others."""
    file = project.scenario(SCENARIO.format("qa"), "one")
    (file.parent / "two.rageval.yaml").symlink_to(file)
    result = project.pytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*name: 'qa' is also the name of one.rageval.yaml: *"])
