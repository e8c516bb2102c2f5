"""E18: pytest does not read this package's modules itself."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

import pytest

from pytest_rageval.plugin.own_imports import import_as_it_is


class Rewriting:
    """As pytest's finder: it takes every module."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec:
        return ModuleSpec(name, None, origin="rewritten")


def found(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Return what the import of a module would load."""
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def test_only_modules_of_this_package_are_found_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """[E18] And when the session ends, none of them."""
    monkeypatch.setattr(sys, "meta_path", [Rewriting(), *sys.meta_path])
    before = list(sys.meta_path)
    inside = sys.modules["pytest_rageval"].__path__
    end = import_as_it_is()
    ours = found("pytest_rageval.errors", inside)
    others = found("pytest_rageval_others", None)
    end()
    assert ours is not None
    assert str(ours.origin).endswith("errors.py")
    assert others is not None
    assert others.origin == "rewritten"
    assert sys.meta_path == before
    end()  # a session may have put back the finders that were there before
