"""Calls the hooks of others one by one, so that an error names the hook and who implements it."""

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
    """A hook of a plugin or ``conftest.py`` raised, or returned what it may not."""

    def __init__(self, message: str) -> None:
        super().__init__([Problem("", message)])


@dataclass(frozen=True)
class Implementation:
    """A plugin's or a ``conftest.py``'s implementation of a hook; ``shown`` names both."""

    shown: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    def call(self, **given: object) -> Any:
        """Return what it returns; HookError for what it raises."""
        try:
            return self.function(*(given[name] for name in self.parameters))
        except Exception as error:
            raise self._raised(error) from error

    def listed(self, said: Any) -> list[Any]:
        """Return what it returned as a list, [] for None; HookError where that is no list."""
        if said is None:
            return []
        if isinstance(said, str | bytes):
            raise self.refused(f"returned {shorten(repr(said))}, not a list")
        try:
            return list(said)  # of a generator, that is when it runs
        except Exception as error:
            raise self._raised(error) from error

    def refused(self, message: str) -> HookError:
        """Return the error that it returned what it may not."""
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

    ``hooks`` are those of the configuration or of a collector. With a ``path``, those of a
    conftest.py that is not for that file are left out, as those of a collector are. (An xdist
    controller collects nothing, and pytest cannot say there which are for which file.) Raises
    HookError for a wrapper: there is nothing that it could be around.
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
        raise HookError(f"{shown} is a wrapper; this hook has none, for each one is called alone")
    return Implementation(shown, found.function, tuple(found.argnames))


def _owner(plugin_name: str, config: pytest.Config) -> str:
    """Return the name of a plugin; a conftest.py is called by its path, relative to the rootdir."""
    path = Path(plugin_name)
    if not path.is_absolute():
        return f"plugin {plugin_name!r}"
    return Path(os.path.relpath(path, config.rootpath)).as_posix()
