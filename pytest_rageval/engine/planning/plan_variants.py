"""Plans of several variants of a scenario, with all that is wrong with any of them in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_rageval.engine.plan import Plan
from pytest_rageval.errors import (
    BaselineError,
    DuplicateNameError,
    Problem,
    ScenarioError,
    UserError,
)

MakePlan = Callable[[str], Plan]
"""Returns the plan of the variant of a name; raises UserError."""


def plans_of(names: Sequence[str], make: MakePlan) -> list[Plan]:
    """Return the plans of variants.

    Raises ScenarioError with everything that is wrong with them; BaselineError where all that is
    wrong is a run to compare with, or a name.
    """
    plans: list[Plan] = []
    found: dict[Problem, list[str]] = {}
    is_refused = True
    for name in names:
        try:
            plans.append(make(name))
        except UserError as error:
            for problem in error.problems:
                found.setdefault(problem, []).append(name)
            is_refused = is_refused and isinstance(error, BaselineError | DuplicateNameError)
    if found:
        made = BaselineError if is_refused else ScenarioError
        raise made(_named(found, len(names)))
    return plans


def _named(found: Mapping[Problem, Sequence[str]], total: int) -> Iterator[Problem]:
    """Yield each problem, with the variants that have it unless all do: its line may be shared."""
    for problem, names in found.items():
        of = ", ".join(dict.fromkeys(names))
        is_shared = len(set(names)) == total or problem.message.startswith("variants.")
        yield problem if is_shared else replace(problem, message=f"variant {of}: {problem.message}")
