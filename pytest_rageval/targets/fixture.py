"""A function that pytest hands over: the value of a fixture, or of ``pytest_rageval_target``."""

from __future__ import annotations

import functools
import inspect

from pydantic import Field, field_validator

from pytest_rageval.errors import shorten
from pytest_rageval.import_path import path_of
from pytest_rageval.targets.base import (
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.python_callable import CallableTarget


class FixtureOptions(TargetOptions):
    """The options of ``type: fixture``."""

    fixture: str = Field(
        "rag_target", description="a fixture whose value is called as a function would be"
    )

    @field_validator("fixture")
    @classmethod
    def _fixture_is_a_name(cls, fixture: str) -> str:
        if not fixture.isidentifier():
            raise ValueError(f"expected the name of a fixture, found {shorten(repr(fixture))}")
        return fixture

    @property
    def shown(self) -> str:
        return f"fixture {self.fixture!r}"

    @property
    def pytest_fixture(self) -> str:
        return self.fixture


class HookOptions(TargetOptions):
    """The options of ``type: hook``: it has none."""

    @property
    def shown(self) -> str:
        return "hook pytest_rageval_target"

    @property
    def is_of_scenario(self) -> bool:
        """The hook may give another function to each scenario."""
        return True


def _no_fixture(options: FixtureOptions, context: TargetContext) -> Target:
    message = f"the fixture {options.fixture!r} exists only when pytest runs the scenario"
    raise TargetError(f"{message}; 'target: pkg.mod:function' works everywhere")


def _no_hook(options: HookOptions, context: TargetContext) -> Target:
    raise TargetError(
        "no plugin and no conftest.py gave a function for this scenario by the hook "
        "pytest_rageval_target"
    )


def _from_value(options: TargetOptions, context: TargetContext, value: object) -> Target:
    return CallableTarget(value, identity={"function": function_name(value)})


def function_name(function: object) -> str:
    """Return ``module:name`` of a function, ``module:Class.name`` of a method.

    Of any other object that is called, its class: two objects of one class have one name. Of a
    ``functools.partial``, what it calls.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.ismethod(function):
        owner = function.__self__
        return f"{path_of(owner)}.{function.__name__}"
    return path_of(function)


TARGETS = (
    TargetDefinition("fixture", _no_fixture, FixtureOptions, from_value=_from_value),
    TargetDefinition("hook", _no_hook, HookOptions, from_value=_from_value),
)
