"""Has Python import this package's modules as they are.

pytest rewrites the assertions of every module of a distribution that has a plugin, and therefore
reads or recompiles each of them itself. No assertion of ours has a message that a test would show,
and the rewriting takes a sixth of a small run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

_OURS: Final = "pytest_rageval."
_PYTESTS: Final = "AssertionRewritingHook"


class _OwnImports:
    """A finder of modules just ahead of pytest's own; it leaves modules of others to the rest."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_OURS) else None


def import_as_it_is() -> Callable[[], None]:
    """Find this package's modules ahead of pytest; return what ends it."""
    finder = _OwnImports()
    at = next((at for at, one in enumerate(sys.meta_path) if type(one).__name__ == _PYTESTS), None)
    if at is not None:  # it is not there with --assert=plain
        sys.meta_path.insert(at, finder)

    def end() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return end
