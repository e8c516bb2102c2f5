"""A fixture as the system under test: its value is called as an imported function would be."""

from __future__ import annotations

from pydantic import Field, field_validator

from pytest_rageval.errors import shorten
from pytest_rageval.targets.base import (
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.function_names import function_name
from pytest_rageval.targets.python_callable import CallableTarget


class FixtureOptions(TargetOptions):
    """The options of ``type: fixture``."""

    fixture: str = Field("rag_target", description="name of the fixture")

    @field_validator("fixture")
    @classmethod
    def _fixture_is_a_name(cls, fixture: str) -> str:
        if not fixture.isidentifier():
            raise ValueError(f"expected the name of a fixture, found {shorten(repr(fixture))}")
        return fixture

    @property
    def shown(self) -> str:
        """How messages call this target."""
        return f"fixture {self.fixture!r}"

    @property
    def pytest_fixture(self) -> str:
        """The fixture whose value is the target."""
        return self.fixture


def _make(options: FixtureOptions, context: TargetContext) -> Target:
    message = f"the fixture {options.fixture!r} is there when pytest runs the scenario only"
    raise TargetError(f"{message}; 'target: pkg.mod:function' works everywhere")


def _from_value(options: FixtureOptions, context: TargetContext, value: object) -> Target:
    return CallableTarget(value, identity={"function": function_name(value)})


TARGETS = (TargetDefinition("fixture", _make, FixtureOptions, from_value=_from_value),)
