"""By which name a function, and where a module, is told from others in the cache of answers."""

from __future__ import annotations

import functools
import inspect
import sys
from pathlib import Path


def function_name(function: object) -> str:
    """Return ``module:name`` of a function; of a method and of an object that is called, its class.

    Two objects of one class have one name.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.ismethod(function):
        owner = function.__self__
        return f"{_class_name(owner)}.{function.__name__}"
    return _class_name(function)


def module_file(name: str, root: Path) -> str | None:
    """Return the file of an imported module relative to ``root``; None for one that is elsewhere.

    What is installed is elsewhere, also in an environment below ``root``: each has another folder.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return None
    path, root = Path(file).resolve(), root.resolve()
    is_own = path.is_relative_to(root) and not path.is_relative_to(Path(sys.prefix).resolve())
    return path.relative_to(root).as_posix() if is_own else None


def _class_name(found: object) -> str:
    """Return where a function or class is, or the class of anything else."""
    holder = found if hasattr(found, "__qualname__") else type(found)
    return f"{holder.__module__}:{getattr(holder, '__qualname__', '')}"
