"""When a scenario stops asking: ``stop``, checked against the gates that are to be decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.verdict.certainty import watch_of
from pytest_rageval.engine.verdict.decide import gates_of
from pytest_rageval.gates.base import Gate, UndecidedGate
from pytest_rageval.model import BEST, ScenarioInfo


def bind_stop(binding: Binding, plan: Plan, *, is_tested: bool) -> float | None:
    """Return when to stop: 0.0 once all gates are decided, at an error bound, or None for never.

    It is said why a scenario with ``stop`` never stops early. ``is_tested``: a test function asks.
    """
    stop = binding.scenario.stop
    if stop is None or not plan.info.gates or binding.problems or binding.refusals:
        return None
    error = 0.0 if stop == "decided" else float(stop)
    info = replace(plan.info, stop=error)
    gates = {gate.name: gate for gate in gates_of(info)}
    watches = {name: watch_of(gate, info, plan.asked_samples) for name, gate in gates.items()}
    waits = any(watch is not None and watch.follows_scores for watch in watches.values())
    late = [name for name, watch in watches.items() if watch is None]
    late += _needing_all(plan.info)
    # What has no run to compare with yet needs every sample of the first one.
    refused = [name for name in late if not _is_undecided(gates.get(name))]
    if refused and error:
        reasons = " and ".join(_reasons(refused, gates))
        message = "an error bound is for gates on means and pass_rate, and for no_regression in "
        message += f"mode any or exceeds, and {reasons}"
        binding.problem(f"stop: {message}; write 'stop: decided', or remove it", "stop")
    elif late:
        binding.remarks.append(
            f"stop: nothing stops early: gate {_listed(late)} needs every sample"
        )
    elif not waits:
        message = "needs a gate on a mean, pass_rate, or no_regression: the others do not wait"
        binding.problem(f"stop: {message} for scores", "stop")
    elif is_tested:
        binding.remarks.append("stop: nothing stops early: a test function does the asking")
    elif not plan.is_asked:
        binding.remarks.append("stop: has no effect: no model and no target is asked")
    else:
        return error
    return None


def _needing_all(info: ScenarioInfo) -> list[str]:
    """Return the gate that compares this variant with others, if there is one."""
    return [BEST] if info.contest is not None and info.contest.at_least is not None else []


def _is_undecided(gate: Gate | None) -> bool:
    return gate is not None and isinstance(gate.leaf, UndecidedGate)


def _reasons(late: Sequence[str], gates: Mapping[str, Gate]) -> Iterator[str]:
    """Yield which gates an error bound is not for; why, where the name does not tell."""
    by_people = [name for name in late if name in gates and gates[name].leaf.by_labels]
    others = [name for name in late if name not in by_people]
    if others:
        yield f"there is {_listed(others)}"
    if by_people:
        verb = "is" if len(by_people) == 1 else "are"
        yield f"{_listed(by_people)} {verb} judged by labels, which needs every sample"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
