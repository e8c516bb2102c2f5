"""Optional packages, imported at their first use; a missing one is named with its pip command.

The time of loading does not count as time of the sample that waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from pytest_rageval.errors import MissingExtraError

_loaded_at = 0.0


@contextmanager
def loading() -> Iterator[None]:
    """Note when the loading done inside has ended, in any thread; see ``timed_from``."""
    global _loaded_at  # noqa: PLW0603  (one for the process, as are modules)
    try:
        yield
    finally:
        _loaded_at = time.perf_counter()


def timed_from(started: float) -> float:
    """Return ``started``, or the end of the last loading if that is later.

    Work that did not wait for the loading then seems shorter than it was; this is rare.
    """
    return max(started, _loaded_at)


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import and return ``module``.

    Raises MissingExtraError, which names the pip command, when the package of ``extra`` is not
    installed. An ImportError from inside an installed package is passed on unchanged.
    """
    if not installed(module):
        raise MissingExtraError(
            f"{purpose} needs the package {module.partition('.')[0]!r}: "
            f'pip install "pytest-rageval[{extra}]"'
        )
    return import_module(module)


def installed(module: str) -> bool:
    """Return whether the package of ``module`` is installed, without importing it."""
    return find_spec(module.partition(".")[0]) is not None
