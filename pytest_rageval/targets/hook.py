"""The hook ``pytest_rageval_target`` as the system under test: what it returns is called."""

from __future__ import annotations

from pytest_rageval.targets.base import (
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.function_names import function_name
from pytest_rageval.targets.python_callable import CallableTarget


class HookOptions(TargetOptions):
    """The options of ``type: hook``: it has none."""

    @property
    def shown(self) -> str:
        """How messages call this target."""
        return "hook pytest_rageval_target"

    @property
    def is_of_scenario(self) -> bool:
        """The hook may give another function to each scenario."""
        return True


def _make(options: HookOptions, context: TargetContext) -> Target:
    raise TargetError(
        "no plugin and no conftest.py gave a function for this scenario by the hook "
        "pytest_rageval_target"
    )


def _from_value(options: HookOptions, context: TargetContext, value: object) -> Target:
    return CallableTarget(value, identity={"function": function_name(value)})


TARGETS = (TargetDefinition("hook", _make, HookOptions, from_value=_from_value),)
