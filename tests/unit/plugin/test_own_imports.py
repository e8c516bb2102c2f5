"""E18: pytest does not read this package's modules itself."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

import pytest

from pytest_rageval.plugin.hooks import import_as_it_is


class AssertionRewritingHook:
    """As pytest's finder: it takes every module."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec:
        return ModuleSpec(name, None, origin="rewritten")


class Before:
    """A finder that somebody else has put there first."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, None, origin="theirs") if name.endswith(".theirs") else None


def found(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Return what the import of a module would load."""
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def test_only_modules_of_this_package_are_found_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """[E18] And when the session ends, none of them."""
    monkeypatch.setattr(sys, "meta_path", [Before(), AssertionRewritingHook(), *sys.meta_path])
    before = list(sys.meta_path)
    inside = sys.modules["pytest_rageval"].__path__
    end = import_as_it_is()
    ours = found("pytest_rageval.errors", inside)
    others = found("pytest_rageval_others", None)
    theirs = found("pytest_rageval.theirs", inside)
    end()
    assert ours is not None
    assert str(ours.origin).endswith("errors.py")
    assert others is not None
    assert others.origin == "rewritten"
    assert theirs is not None
    assert theirs.origin == "theirs"
    assert sys.meta_path == before
    end()  # a session may have put back the finders that were there before


def test_without_rewriting_nothing_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``--assert=plain``."""
    kept = [one for one in sys.meta_path if type(one).__name__ != "AssertionRewritingHook"]
    monkeypatch.setattr(sys, "meta_path", list(kept))
    import_as_it_is()()
    assert sys.meta_path == kept
