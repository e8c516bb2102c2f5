"""Options that a child beside the project's own runs does not have."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rageval.plugin.child import pytest_cmdline_main
from pytest_rageval.plugin.options import ALL_OPTIONS

SAVING = {"save", "save-failed", "save-answers"}
WEIGHING = {"metric-weight", "doc-weight", "threshold", "compare", "labels"}
JUDGING = {"gate", "compare-fail", "fail-under", "strict"}
CUTTING = {"sample", "limit", "where", "variant"}


@pytest.mark.parametrize(
    ("modes", "gone"),
    [
        ([], set()),
        (["aside"], SAVING),
        (["rows"], WEIGHING | JUDGING | CUTTING),
        (["aside", "rows"], SAVING | WEIGHING | JUDGING | CUTTING),
    ],
)
def test_they_are_forgotten_wherever_they_were_given(
    modes: list[str], gone: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A24, B12] On the command line, in addopts, in the environment; all others stay."""
    for option in ALL_OPTIONS:
        monkeypatch.setenv(option.variable, "x")
    given = {option.dest: "x" for option in ALL_OPTIONS}
    held = SimpleNamespace(**given, xmlpath="junit.xml", rag_child=modes, rag_only_variant=None)
    config = SimpleNamespace(option=held, getoption=lambda name: getattr(held, name))
    pytest_cmdline_main(cast("pytest.Config", config))
    left = {option.name for option in ALL_OPTIONS if getattr(held, option.dest) is None}
    assert left == gone, "by what the row of an option 'touches'; a new one is in a set above, too"
    assert {option.name for option in ALL_OPTIONS if option.variable not in os.environ} == gone
    assert held.xmlpath == (None if "aside" in modes else "junit.xml")


def test_the_variant_of_a_request_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """[B12] The one that the app was started with goes."""
    held: Any = SimpleNamespace(**{option.dest: None for option in ALL_OPTIONS}, rag_child=["rows"])
    held.rag_variant, held.rag_only_variant = ["dense"], ["sparse"]
    config = SimpleNamespace(option=held, getoption=lambda name: getattr(held, name))
    pytest_cmdline_main(cast("pytest.Config", config))
    assert held.rag_variant == ["sparse"]
