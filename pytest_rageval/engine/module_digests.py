"""Which metrics are the user's own, and digests of the files and functions they came from."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from pytest_rageval.engine.plan import BoundMetric, MetricSource
from pytest_rageval.import_path import code_digest
from pytest_rageval.model.measured import same_module

_PACKAGE: Final = __name__.partition(".")[0]
_SEEN: Final[dict[str, tuple[object, str]]] = {}
"""Of each module, what it was loaded by, and the digest of its file when it was first needed."""


def own_metrics(metrics: Iterable[BoundMetric]) -> tuple[BoundMetric, ...]:
    """Return the metrics that run code of the user's, or of another package."""
    return tuple(metric for metric in metrics if not metric.is_built_in)


def digests_of(source: MetricSource, metrics: Iterable[BoundMetric]) -> dict[str, str]:
    """Return the digest of each module that the user's own metrics came from, by its name.

    And of what these import from below the root or the scenario's folder, and so on.
    """
    names: set[str] = set()
    for metric in own_metrics(metrics):
        path = source.specs[metric.position].use or ""
        names |= {path.partition(":")[0], _module_of(metric.metric)}
    folders = (str(source.root) + os.sep, str(source.path.parent) + os.sep)
    waiting = [name for name in names if name and name.partition(".")[0] != _PACKAGE]
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _digest(name)
            waiting += _imported(name, folders)
    return dict(sorted(found.items()))


def _imported(name: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield the modules in these folders that a module has imported, or has functions of."""
    for other in {*_modules_of_values(name), *_modules_in_text(name)}:
        file = getattr(sys.modules.get(other), "__file__", None) or ""
        is_own = other.partition(".")[0] != _PACKAGE and "site-packages" not in file
        if is_own and file.startswith(folders):
            yield other


def _modules_of_values(name: str) -> Iterator[str]:
    for value in _made_by_code(sys.modules.get(name)):
        named_by = "__name__" if isinstance(value, ModuleType) else "__module__"
        if isinstance(found := getattr(value, named_by, None), str):
            yield found  # what was made of a text, as by eval, has none


def _modules_in_text(name: str) -> Iterator[str]:
    """Yield the names in a module's import statements: an imported constant tells no module."""
    module = sys.modules.get(name)
    try:
        tree = ast.parse(Path(getattr(module, "__file__", None) or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    package = getattr(module, "__package__", None) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*parts, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{one.name}" for one in node.names)


def _made_by_code(module: ModuleType | None) -> Iterator[Any]:
    """Yield the modules, classes and functions in a module; of other objects nothing is asked."""
    for value in list(getattr(module, "__dict__", {}).values()):
        if isinstance(value, ModuleType | FunctionType | type):
            yield value


def other_module(digests: Mapping[str, str]) -> str:
    """Return, for a message, a module that this process has in another form, "" without one."""
    for name, digest in digests.items():
        if not same_module(_digest(name), digest):
            file = getattr(sys.modules.get(name), "__file__", None)
            return f"another {name!r} ({file or 'without a file'})"
    return ""


def _module_of(metric: Any) -> str:
    found = getattr(metric, "function", metric)
    found = getattr(found, "func", found)  # of functools.partial
    name = getattr(found, "__module__", None) or type(found).__module__
    return str(name)


def _digest(name: str) -> str:
    """Return digests of a module's file and functions, as they were when it was first seen here.

    The file may have changed since, and the module has not. A module that was reloaded has a new
    spec, and is read anew.
    """
    module = sys.modules.get(name)
    loaded = getattr(module, "__spec__", None) or module
    if name not in _SEEN or _SEEN[name][0] is not loaded:
        file = code_digest(getattr(module, "__file__", None) or "")
        _SEEN[name] = (loaded, f"{file} {_of_code(module)}")
    return _SEEN[name][1]


def _of_code(module: ModuleType | None) -> str:
    """Return a digest of the functions as they were loaded: the file may have changed before.

    "" where that says nothing: pytest rewrites the assertions of some modules.
    """
    if type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        return ""
    made = hashlib.sha256()
    for value in _made_by_code(module):
        if getattr(value, "__module__", None) == getattr(module, "__name__", ""):
            for one in [value, *vars(value).values()] if isinstance(value, type) else [value]:
                if isinstance(one, FunctionType):
                    made.update(repr(_facts(one.__code__)).encode("utf-8", "surrogatepass"))
    return f"{sys.implementation.cache_tag} {made.hexdigest()}"


def _facts(code: CodeType) -> tuple[object, ...]:
    """Return what a function does, without the places where it was written."""
    constants = [
        _facts(one) if isinstance(one, CodeType) else _steady(one) for one in code.co_consts
    ]
    return (code.co_name, code.co_code, code.co_names, code.co_varnames, constants)


def _steady(constant: object) -> object:
    """Return a constant with a text that is the same in every process."""
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
