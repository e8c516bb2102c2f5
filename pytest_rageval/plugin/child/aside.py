"""Keeps a child that runs beside the project from replacing what its runs have saved."""

from __future__ import annotations

import pytest

from pytest_rageval.plugin.options import touching


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Forget options that save baselines, answers and JUnit XML, wherever they were given."""
    for option in touching("baseline", "answers"):
        option.forget(config)
    config.option.xmlpath = None
