"""Optional packages: the one place where a missing import becomes the pip command that mends it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from pytest_rageval.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import and return ``module``.

    Raises MissingExtraError, which names the pip command, when the package of ``extra`` is not
    installed; an ImportError from inside an installed package is passed on as it is.
    """
    if not installed(module):
        raise MissingExtraError(
            f"{purpose} needs the package {module.partition('.')[0]!r}: "
            f'pip install "pytest-rageval[{extra}]"'
        )
    return import_module(module)


def installed(module: str) -> bool:
    """Return whether the package that holds ``module`` can be found, without importing it."""
    return find_spec(module.partition(".")[0]) is not None
