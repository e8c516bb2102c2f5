"""What is said of runs that cannot be compared with, and which command leads on."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import BaselineError, NoBaselineError, Problem
from pytest_rageval.scenario.yaml.tree import YamlPath, dotted, inline_text


class Refused(NamedTuple):
    """A run that something compares with, and why it cannot; ``is_pinned``: it has ``looks``."""

    name: str
    is_pinned: bool
    error: BaselineError


def refuse(binding: Binding, refused: Sequence[Refused]) -> None:
    """Note why runs cannot be compared with, and how to save one that is absent.

    Of one that this run is to save anew that is only a remark.
    """
    absent = [run for run in refused if isinstance(run.error, NoBaselineError)]
    for run in refused:
        if binding.run_paths.saves(run.name):
            _put_off(binding, run.error)
        else:
            hint = _how_to_save(run, absent, binding.scenario.gates) if run in absent else ""
            binding.refusals += [_with_hint(problem, hint) for problem in run.error.problems]


def ways_out(binding: Binding, name: str, path: YamlPath, *, is_pinned: bool) -> str:
    """Return what to do where the run that ``path`` names differs from this one."""
    several = len(binding.scenario.compare or ()) > 1
    how = f"({f'--rag-set compare={name} ' if several else ''}--rag-save-failed {name})"
    how = "under another name, as this one is pinned" if is_pinned else how
    how = "under a name of its own" if name.endswith("/results.json") else how  # a run's record
    option = f"{dotted((*path[:-1], 'anyway'))}: true"
    if path[0] == "compare" and path[2:] and name in binding.loaded.tree.data["compare"]:
        # A bare name in a list, which has no keys.
        option = f"{dotted(path[:-1])}: {inline_text({'baseline': name, 'anyway': True})}"
    return f"save a new baseline {how}, or compare anyway ({option})"


def _put_off(binding: Binding, error: BaselineError) -> None:
    """Let a run go on uncompared that is to be saved under the name of its baseline.

    One that is there and is refused will not be replaced: else whoever changes a question would be
    rid of the comparison, and of every fall that it would have shown.
    """
    said = [_without_hint(problem.message) for problem in error.problems]
    binding.remarks += [f"not compared: {text}" for text in said]
    if not isinstance(error, NoBaselineError):
        binding.kept_baselines += said


def _how_to_save(run: Refused, absent: Sequence[Refused], gates: Any) -> str:
    """Return how to save a run that is not there, "" where its own message says enough.

    If several are absent, each run that saves one of them would be refused for the others.
    """
    name = shlex.quote(run.name)
    others = {other.name for other in absent if other is not run}
    if any(_names(gates, other) for other in others):  # compare=... would leave these gates
        return (
            "To save it first, and compare with none: --rag-set compare=null --rag-set gates=null "
            f"--rag-save {name}"
        )
    if others:
        value = run.name if re.fullmatch(r"[a-zA-Z][\w./-]*", run.name) else json.dumps(run.name)
        alone = shlex.quote(f"compare={value}")
        return f"To save it first, and compare with no other: --rag-set {alone} --rag-save {name}"
    if run.is_pinned:
        return f"It is pinned: put its file back, or pin this run: --rag-save {name}"
    return ""


def _names(gates: Any, name: str) -> bool:
    """Return whether a gate names this run."""
    if isinstance(gates, Mapping | list | tuple):
        parts = gates.values() if isinstance(gates, Mapping) else gates
        return any(_names(part, name) for part in parts)
    return bool(gates == name)


def _with_hint(problem: Problem, hint: str) -> Problem:
    """Return a refusal with the hint in place of its own, if there is one."""
    if not hint:
        return problem
    message = _without_hint(problem.message).rstrip(".")
    return replace(problem, message=f"{message}. {hint}")


def _without_hint(message: str) -> str:
    """Return a refusal without the advice to save a run."""
    for hint in ("; save a new baseline", " None is saved yet"):
        message = message.partition(hint)[0]
    return message
