"""Hooks that skip what needs an optional package which this environment has not (``tox -e bare``).

A ``conftest.py`` imports them. Where the package is installed, the same error fails the test.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib.util import find_spec

import pytest

from pytest_rageval import UserError
from pytest_rageval.errors import MissingExtraError

_IMPORTED = ("aiohttp", "jieba", "openpyxl", "pyarrow", "pypdf")
_NEEDS = re.compile(r"needs the package '?(\w+)'?: pip install")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    """Skip a test whose fixture needs such a package."""
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Skip a test that needs such a package itself."""
    return (yield from _skipping())


def _skipping() -> Generator[None, object, object]:
    try:
        return (yield)
    except (MissingExtraError, UserError, ModuleNotFoundError) as error:
        if lacking := _lacking(error):
            pytest.skip(f"{lacking} is not installed")
        raise


def _lacking(error: Exception) -> str:
    """Return the package that the error speaks of; "" if it speaks of none that is missing."""
    if isinstance(error, ModuleNotFoundError):
        name = error.name if error.name in _IMPORTED else None
    else:
        found = _NEEDS.search(str(error))
        name = found and found[1]
    return name if name and find_spec(name) is None else ""
