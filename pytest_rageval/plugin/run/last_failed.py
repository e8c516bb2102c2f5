"""Makes the node ids of gates work in ``--lf``, as arguments and in ``--deselect``.

A gate needs every sample of its scenario. If ``--lf`` remembers a failed gate, all cases of the
scenario run, and the gate is decided again. Until it is, it stays remembered.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.plugin.names import WHOLE_PREFIXES
from pytest_rageval.text.printable import one_line

if TYPE_CHECKING:
    from pytest_rageval.engine.verdict.decide import VariantComparison
    from pytest_rageval.model import GateResult, ScenarioResult


DESELECTED = "deselected"
"""The beginning of the message of a gate that ``--deselect`` names."""


def without_gates(arguments: Iterable[str]) -> list[str]:
    """Return collection arguments with gates replaced by their scenarios.

    >>> without_gates(["tests", "x.rageval.yaml::gate:f1.mean"])
    ['tests', 'x.rageval.yaml']
    """
    return list(dict.fromkeys(_scenario(argument) or argument for argument in arguments))


def deselected(result: ScenarioResult, prefixes: Iterable[str], *, strict: bool) -> ScenarioResult:
    """Return the result with the gates that ``--deselect`` names undecided, or failed (strict)."""
    nodeid, named = result.info.nodeid, list(prefixes)
    gates = [
        _undecided(gate, strict=strict) if is_deselected(nodeid, gate.name, named) else gate
        for gate in result.gates
    ]
    return replace(result, gates=tuple(gates)) if named else result


def deselected_best(
    found: VariantComparison, prefixes: Iterable[str], *, strict: bool
) -> VariantComparison:
    """Return the variants with the gate ``best`` undecided, or failed (strict), if deselected."""
    if found.gate is None or not is_deselected(found.nodeid, found.gate.name, prefixes):
        return found
    return replace(found, gate=_undecided(found.gate, strict=strict))


def is_deselected(nodeid: str, gate: str, prefixes: Iterable[str]) -> bool:
    """Return whether ``--deselect`` names this gate of the scenario with this node id.

    As for tests, the beginning of a gate's node id is enough.
    """
    named = tuple(prefix for prefix in prefixes if _scenario(prefix))
    return f"{nodeid}::gate:{one_line(gate)}".startswith(named)


def _undecided(gate: GateResult, *, strict: bool) -> GateResult:
    from pytest_rageval.engine.verdict.decide import decided

    message = f"{DESELECTED} ({gate.message})"
    return decided(replace(gate, outcome="skipped", message=message), strict=strict)


def _scenario(nodeid: str) -> str | None:
    """Return the scenario's node id from that of a gate or of a save, None from any other."""
    for prefix in WHOLE_PREFIXES:
        before, separator, _ = nodeid.partition(f"::{prefix}")
        if separator:
            # "(...)" behind a test function are its parameters: it runs with all of them. A folder,
            # and a variant of a scenario file, may have brackets in their own names.
            file, colons, test = before.partition("::")
            return f"{file}{colons}{test.partition('(')[0]}" if file.endswith(".py") else before
    return None


def last_failed(config: pytest.Config) -> dict[Any, bool]:
    """Return the failures that pytest remembers, to be changed; from 9.2 on, keys are no texts."""
    known: Any = config.pluginmanager.get_plugin("lfplugin")
    found: dict[Any, bool] = getattr(known, "lastfailed", {})
    return found


class LastFailedGates:
    """Makes ``--lf`` run every case of a scenario with a failed gate."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @cached_property
    def _last_failed(self) -> dict[Any, bool]:
        """Read late: pytest's plugin is configured after ours."""
        return last_failed(self._config)

    @cached_property
    def _scenarios(self) -> set[str | None]:
        return {_scenario(str(nodeid)) for nodeid in self._last_failed} - {None}

    @pytest.hookimpl(wrapper=True, trylast=True)  # before pytest's own, which drops other items
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the cases of a scenario with a failed gate to what pytest remembers as failed."""
        report = yield
        if self._scenarios:
            for node in report.result or ():
                if isinstance(node, pytest.Item) and self._is_of_failed(collector, node):
                    self._last_failed.setdefault(getattr(node, "id", node.nodeid), True)
        return report

    def _is_of_failed(self, collector: pytest.Collector, item: pytest.Item) -> bool:
        above = collector.parent.nodeid if collector.parent is not None else None  # a file
        file, colons, test = item.nodeid.partition("::")
        function = f"{file}{colons}{test.partition('[')[0]}"
        return bool({collector.nodeid, above, function} & self._scenarios)
