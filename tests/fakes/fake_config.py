"""pytest's config for tests of what reads it: our options and ini values, two folders, a stash."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rageval.plugin.options import add_options
from pytest_rageval.plugin.settings import SETTINGS, Settings

_EMPTY = {None: "", "args": [], "bool": False}


class _Declared:
    """Takes what ``add_options`` declares: options for argparse, and the defaults of ini values."""

    def __init__(self) -> None:
        self.arguments = argparse.ArgumentParser()
        self.ini: dict[str, Any] = {"markers": []}

    def getgroup(self, *_: str) -> _Declared:
        return self

    def addoption(self, *names: str, **how: Any) -> None:
        self.arguments.add_argument(*names, **how)

    def addini(self, name: str, _: str, kind: Any = None, default: Any = None) -> None:
        self.ini[name] = _EMPTY[kind] if default is None else default


def config_of(
    root: Path,
    *args: str,
    folder: Path | None = None,
    addopts: Sequence[str] = (),
    ini: Mapping[str, object] | None = None,
    typed: Sequence[str] | None = None,
    **more: object,
) -> pytest.Config:
    """Return the config of ``pytest <args>`` in ``folder`` (the rootdir, unless told otherwise).

    ``more`` are options of pytest's own, as ``deselect=["a"]``.
    """
    declared = _Declared()
    add_options(cast("pytest.Parser", declared))
    options = declared.arguments.parse_args([*addopts, *args])
    values = {**declared.ini, **(ini or {})}
    given = {**vars(options), **more}
    return cast(
        "pytest.Config",
        SimpleNamespace(
            addinivalue_line=lambda name, line: values[name].append(line),
            getini=values.__getitem__,
            getoption=lambda name, default=None: given.get(name, default),
            invocation_params=SimpleNamespace(
                dir=folder or root, args=args if typed is None else typed
            ),
            inipath=root / "pytest.ini",
            rootpath=root,
            stash=pytest.Stash(),
        ),
    )


def configured(root: Path, *args: str, **more: Any) -> pytest.Config:
    """Return a config as ``pytest_configure`` leaves it: with its settings."""
    config = config_of(root, *args, **more)
    config.stash[SETTINGS] = Settings.of(config)
    return config
