"""Calls implementations of our hooks one by one; those of a run in its main process."""

from __future__ import annotations

import math
import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import pytest

from pytest_rageval.errors import Problem, UserError, error_line, shorten
from pytest_rageval.model import (
    GateOutcome,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    ScenarioView,
    Value,
)
from pytest_rageval.plugin.settings import is_controller

SAMPLE_SCORED: Final = "pytest_rageval_sample_scored"
GATES: Final = "pytest_rageval_gates"
SUMMARY: Final = "pytest_rageval_summary"
RUN_HOOKS: Final = (SAMPLE_SCORED, GATES, SUMMARY)
"""The hooks that are called in the main process of a run."""


class HookError(UserError):
    """A hook of a plugin or ``conftest.py`` raised an error, or returned a wrong value."""

    def __init__(self, message: str) -> None:
        super().__init__([Problem("", message)])


class Implementation(Value, frozen=True):
    """A plugin's or a ``conftest.py``'s implementation of a hook; ``shown`` names both."""

    shown: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    def call(self, **given: object) -> Any:
        """Return its result for those of the arguments that it takes; HookError if it raises."""
        try:
            return self.function(*(given[name] for name in self.parameters))
        except Exception as error:
            raise self._raised(error) from error

    def listed(self, said: Any) -> list[Any]:
        """Return ``said``, its result, as a list, [] for None; HookError if it cannot be a list."""
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
        place = f"{where.filename}:{where.lineno}"
        return HookError(f"{self.shown} raised {error_line(error)} ({place})")


def implementations(
    hooks: Any, name: str, config: pytest.Config, path: Path | None = None
) -> list[Implementation]:
    """Return the implementations of a hook in the order in which pytest would call them.

    ``hooks`` belong to the configuration or to a collector. With a ``path``, a conftest.py that
    does not apply to that file is left out, as the hooks of a collector leave it out; an xdist
    controller has no collectors. Raises HookError for a wrapper, because each implementation is
    called alone. Collection calls this for run hooks, too, so that a wrapper is refused there.
    """
    found = getattr(hooks, name).get_hookimpls()
    return [
        _checked(name, one, _owner(plugin, config))
        for one, plugin in reversed([*zip(found, _plugin_names(found), strict=True)])
        if path is None or _is_for(Path(plugin), path)
    ]


def with_late_hooks(info: ScenarioInfo, config: pytest.Config) -> ScenarioInfo:
    """Return the facts with the run hooks, too, that were registered after the file was read.

    A wrapper among them is refused where it would be called.
    """
    found = dict.fromkeys(info.hooks)
    for hook in RUN_HOOKS:
        with suppress(HookError):
            found.update(dict.fromkeys(one.shown for one in _of_run(info, hook, config)))
    return replace(info, hooks=tuple(found))


def _of_run(info: ScenarioInfo, hook: str, config: pytest.Config) -> list[Implementation]:
    # The scenario file, or the file of the test function that runs over it.
    path = config.rootpath / info.nodeid.partition("::")[0]
    return implementations(config.hook, hook, config, path)


_PROCESS: Final = re.compile(r"gw\d+|main|master|controller")
"""What plugins call the processes of xdist, in a name of their own for each."""


def _plugin_names(found: Iterable[Any]) -> Iterator[str]:
    """Yield the plugins' names; of one that is called otherwise in each process, its type."""
    numbers: Counter[str] = Counter()
    for one in found:
        is_file = Path(one.plugin_name).is_absolute()
        words = [] if is_file else re.split(r"[^A-Za-z0-9]+", one.plugin_name)
        # In a container a process may be called 1, as versions are.
        own = {str(number) for number in (id(one.plugin), os.getpid()) if number > 9}
        if own.isdisjoint(words) and not any(map(_PROCESS.fullmatch, words)):
            yield one.plugin_name
            continue
        shown = f"{type(one.plugin).__module__}.{type(one.plugin).__qualname__}"
        numbers[shown] += 1
        yield shown if numbers[shown] == 1 else f"{shown} {numbers[shown]}"


def _is_for(plugin: Path, path: Path) -> bool:
    if plugin.name != "conftest.py":
        return True
    # A link is in the folder where pytest finds it, and in that of what it leads to. Both a path
    # and a plugin's name may be spelled through a link to the rootdir.
    ways = (Path(os.path.normpath(path)), path.parent.resolve() / path.name, path.resolve())
    folders = (plugin.parent, plugin.parent.resolve())
    return any(way.is_relative_to(folder) for way in ways for folder in folders)


def _checked(name: str, found: Any, owner: str) -> Implementation:
    shown = f"{name} of {owner}"
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


T = TypeVar("T")

_OUTCOMES = get_args(GateOutcome)
_LOST = (
    "was not called: with xdist, the main process does not load that file. Name its folder on the "
    "command line, or move the hook to the conftest.py of the rootdir"
)
_LOST_PLUGIN = (
    "was not called: the main process has no such plugin. With xdist, load it with -p, or in the "
    "conftest.py of the rootdir"
)
_LOST_BY_MERGE = (
    "was not called: the shards had it, and this process has not. Merge in the same project, with "
    "the same plugins"
)


class RunHooks:
    """Calls the hooks of a run; the first error of each in a scenario is noted, and ends no run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_merge = bool(config.getoption("rag_merge"))
        self._known: dict[tuple[str, str], list[Implementation]] = {}
        self._failed: dict[str, dict[str, str]] = {}

    def follows_samples(self, info: ScenarioInfo) -> bool:
        """Return whether a hook takes the results of a scenario's samples."""
        return bool(self._cached(info, SAMPLE_SCORED))

    def sample_scored(self, info: ScenarioInfo, result: SampleResult) -> None:
        """Call ``pytest_rageval_sample_scored`` with a result."""
        self._call(info, SAMPLE_SCORED, lambda _, __: None, result=result)

    def gates(self, result: ScenarioResult) -> list[GateResult]:
        """Return the gates that the hooks add."""
        taken = {gate.name for gate in result.gates}
        found = self._call(
            result.info, GATES, lambda said, giver: _gates(said, giver, taken), result=result
        )
        return [gate for gates in found for gate in gates]

    def with_failures(self, result: ScenarioResult) -> ScenarioResult:
        """Return ``result`` with a failed gate for each hook that failed so far.

        A run must not be green if a hook that was to watch or judge it did not work.
        """
        failed = self._failed.get(result.info.nodeid, {})
        gates = [GateResult(hook, "failed", None, None, text) for hook, text in failed.items()]
        return replace(result, gates=(*result.gates, *gates)) if gates else result

    def summary(self, result: ScenarioResult) -> list[str]:
        """Return the lines to print below the table of a scenario, with the hook's error if any."""
        found = self._call(result.info, SUMMARY, _lines, result=result)
        error = self._failed.get(result.info.nodeid, {}).get(SUMMARY)
        return [*(line for lines in found for line in lines), *([error] if error else [])]

    def _call(
        self,
        info: ScenarioInfo,
        hook: str,
        read: Callable[[Any, Implementation], T],
        **given: object,
    ) -> list[T]:
        """Return ``read`` of the result of each implementation that did not fail."""
        view, found = ScenarioView.of(info), []
        for implementation in self._cached(info, hook):
            try:
                said = implementation.call(config=self._config, scenario=view, **given)
                found.append(read(said, implementation))
            except HookError as error:
                self._note(info, hook, error)
        return found

    def _cached(self, info: ScenarioInfo, hook: str) -> list[Implementation]:
        known = self._known.get((info.nodeid, hook))
        if known is None:
            try:
                known = _of_run(info, hook, self._config)
            except HookError as error:
                known = []
                self._note(info, hook, error)
            self._known[info.nodeid, hook] = known
            for shown in sorted(set(info.hooks) - {one.shown for one in known}):
                if shown.startswith(f"{hook} of ") and (why := self._why_lost(shown)):
                    self._note(info, hook, HookError(f"{shown} {why}"))
        return known

    def _why_lost(self, shown: str) -> str:
        """Return why a hook that cases ran with is not here, and what to do; "" if all is well."""
        if self._is_merge:
            return _LOST_BY_MERGE
        if shown.endswith("conftest.py"):
            return _LOST
        # In this process, somebody has unregistered it.
        return _LOST_PLUGIN if is_controller(self._config) else ""

    def _note(self, info: ScenarioInfo, hook: str, error: HookError) -> None:
        self._failed.setdefault(info.nodeid, {}).setdefault(hook, str(error))


def _gates(said: Any, giver: Implementation, taken: set[str]) -> list[GateResult]:
    """Return the gates of a hook after a check, and add their names to ``taken``, if all can be."""
    gates, names = giver.listed(said), set(taken)
    for gate in gates:
        if not isinstance(gate, GateResult) or not gate.name:
            raise giver.refused(f"returned {shorten(repr(gate))} among the gates: not a GateResult")
        if gate.outcome not in _OUTCOMES:
            raise giver.refused(
                f"returned the gate {gate.name!r} with the outcome {gate.outcome!r}; "
                f"it must be one of {', '.join(_OUTCOMES)}"
            )
        if gate.name in names:
            raise giver.refused(
                f"returned the gate {gate.name!r}, a name that is already taken; "
                "give it another name"
            )
        names.add(gate.name)
    found = [_plain(gate, giver) for gate in gates]
    taken |= names
    return found


def _plain(gate: GateResult, giver: Implementation) -> GateResult:
    """Return a gate with plain floats, as JSON cannot hold all numbers of numpy.

    What is not finite becomes None. ``baseline``, ``metric`` and ``flip_chance`` are dropped.
    """
    observed, bound, margin = (
        _float(gate, name, giver) for name in ("observed", "bound", "margin")
    )
    return GateResult(gate.name, gate.outcome, observed, bound, str(gate.message), margin)


def _float(gate: GateResult, name: str, giver: Implementation) -> float | None:
    number = getattr(gate, name)
    try:
        return None if number is None or not math.isfinite(number) else float(number)
    except (TypeError, ValueError, OverflowError):
        shown = shorten(repr(number))
        raise giver.refused(
            f"returned the gate {gate.name!r} with {name}={shown}: expected a number or None"
        ) from None


def _lines(said: Any, giver: Implementation) -> list[str]:
    if isinstance(said, str):
        return said.splitlines()
    return [line for found in giver.listed(said) for line in str(found).splitlines()]
