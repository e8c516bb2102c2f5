"""Options that a child beside the project's own runs does not have."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rageval.plugin.child import aside, rows_alone
from pytest_rageval.plugin.options import ALL_OPTIONS


@pytest.mark.parametrize(
    ("plugin", "gone"),
    [
        (aside, {"save", "save-failed", "save-answers"}),
        (
            rows_alone,
            {
                "metric-weight",
                "doc-weight",
                "threshold",
                "gate",
                "compare",
                "compare-fail",
                "fail-under",
                "limit",
                "where",
                "variant",
                "labels",
                "strict",
            },
        ),
    ],
)
def test_they_are_forgotten_wherever_they_were_given(
    plugin: Any, gone: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A24, B12] On the command line, in addopts, in the environment; all others stay."""
    for option in ALL_OPTIONS:
        monkeypatch.setenv(option.variable, "x")
    given = {option.dest: "x" for option in ALL_OPTIONS}
    config = SimpleNamespace(option=SimpleNamespace(**given, xmlpath="junit.xml"))
    plugin.pytest_cmdline_main(cast("pytest.Config", config))
    left = {option.name for option in ALL_OPTIONS if getattr(config.option, option.dest) is None}
    assert left == gone
    assert {option.name for option in ALL_OPTIONS if option.variable not in os.environ} == gone
    assert config.option.xmlpath == (None if plugin is aside else "junit.xml")
