"""Leaves out the options that weigh, judge, compare or cut the data of the project's own runs."""

from __future__ import annotations

import os

import pytest

from pytest_rageval.plugin import options

_LEFT_OUT = (
    options.METRIC_WEIGHT,
    options.DOC_WEIGHT,
    options.THRESHOLD,
    options.GATE,
    options.COMPARE,
    options.COMPARE_FAIL,
    options.FAIL_UNDER,
    options.LIMIT,
    options.STRICT,
)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Forget them, wherever they were given."""
    for option in _LEFT_OUT:
        setattr(config.option, option.dest, None)
        os.environ.pop(option.variable, None)
