"""Has pytest collect only the files of ``--rag-only``, whatever else it was told to."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option; the files are also named by ``--rag-scenario``."""
    parser.addoption("--rag-only", action="append", help="a file to collect")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the files and folders that were named before, which still decide the rootdir."""
    config.args[:] = config.getoption("rag_only")
    config.args_source = pytest.Config.ArgsSource.ARGS
