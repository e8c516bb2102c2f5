"""Leaves out the options that weigh, judge, compare or cut the data of the project's own runs."""

from __future__ import annotations

import pytest

from pytest_rageval.plugin.options import touching


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Forget them, wherever they were given."""
    for option in touching("samples", "scores", "gates"):
        option.forget(config)
