"""Calls hook implementations one by one, so that an error names the hook and its plugin."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.errors import Problem, UserError, shorten

SAMPLE_SCORED: Final = "pytest_rageval_sample_scored"
GATES: Final = "pytest_rageval_gates"
SUMMARY: Final = "pytest_rageval_summary"
RUN_HOOKS: Final = (SAMPLE_SCORED, GATES, SUMMARY)
"""The hooks that are called in the main process of a run."""


class HookError(UserError):
    """A hook of a plugin or ``conftest.py`` raised an error, or returned a wrong value."""

    def __init__(self, message: str) -> None:
        super().__init__([Problem("", message)])


@dataclass(frozen=True)
class Implementation:
    """A plugin's or a ``conftest.py``'s implementation of a hook; ``shown`` names both."""

    shown: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    def call(self, **given: object) -> Any:
        """Return its result; HookError if it raises."""
        try:
            return self.function(*(given[name] for name in self.parameters))
        except Exception as error:
            raise self._raised(error) from error

    def listed(self, said: Any) -> list[Any]:
        """Return its result as a list, [] for None; HookError if it cannot be a list."""
        if said is None:
            return []
        if isinstance(said, str | bytes):
            raise self.refused(f"returned {shorten(repr(said))}, not a list")
        try:
            return list(said)  # a generator runs only now
        except Exception as error:
            raise self._raised(error) from error

    def refused(self, message: str) -> HookError:
        """Return the error for a wrong result."""
        return HookError(f"{self.shown} {message}")

    def _raised(self, error: Exception) -> HookError:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = shorten(" ".join(str(error).split()), 300)
        place = f"{where.filename}:{where.lineno}"
        return HookError(f"{self.shown} raised {type(error).__name__}: {text} ({place})")


def implementations(
    hooks: Any, name: str, config: pytest.Config, path: Path | None = None
) -> list[Implementation]:
    """Return the implementations of a hook in the order in which pytest would call them.

    ``hooks`` belong to the configuration or to a collector. With a ``path``, a conftest.py that
    does not apply to that file is left out, as for a collector; an xdist controller has no
    collectors. Raises HookError for a wrapper, because each implementation is called alone.
    """
    found = getattr(hooks, name).get_hookimpls()
    return [
        _implementation(name, one, config)
        for one in reversed(found)
        if path is None or _is_for(Path(one.plugin_name), path)
    ]


def _is_for(plugin: Path, path: Path) -> bool:
    return plugin.name != "conftest.py" or path.resolve().is_relative_to(plugin.parent.resolve())


def _implementation(name: str, found: Any, config: pytest.Config) -> Implementation:
    shown = f"{name} of {_owner(found.plugin_name, config)}"
    if found.hookwrapper or found.wrapper:
        raise HookError(
            f"{shown} is a wrapper; this hook cannot have one: each implementation is called alone"
        )
    return Implementation(shown, found.function, tuple(found.argnames))


def _owner(plugin_name: str, config: pytest.Config) -> str:
    """Return the name of a plugin, or the path of a conftest.py relative to the rootdir."""
    path = Path(plugin_name)
    if not path.is_absolute():
        return f"plugin {plugin_name!r}"
    return Path(os.path.relpath(path, config.rootpath)).as_posix()
