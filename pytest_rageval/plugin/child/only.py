"""Has pytest collect only the files of ``--rag-only``, and only some of their variants."""

from __future__ import annotations

import pytest

from pytest_rageval.plugin.options import VARIANT


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; the files are also named by ``--rag-scenario``."""
    parser.addoption("--rag-only", action="append", help="a file to collect")
    parser.addoption("--rag-only-variant", action="append", help="a variant to run, and no other")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Replace the variants that were named before, which would run as well."""
    wanted = config.getoption("rag_only_variant")
    if wanted:
        setattr(config.option, VARIANT.dest, wanted)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the files and folders that were named before, which still decide the rootdir."""
    config.args[:] = config.getoption("rag_only")
    config.args_source = pytest.Config.ArgsSource.ARGS
