"""Keeps a child that runs beside the project from replacing what its runs have saved."""

from __future__ import annotations

import os

import pytest

from pytest_rageval.plugin.options import SAVE, SAVE_ANSWERS, SAVE_FAILED


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Forget options that save baselines, answers and JUnit XML, wherever they were given."""
    for option in (SAVE, SAVE_FAILED, SAVE_ANSWERS):
        setattr(config.option, option.dest, None)
        os.environ.pop(option.variable, None)
    config.option.xmlpath = None
