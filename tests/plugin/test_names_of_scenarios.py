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
