"""Binds ``best``: the metric by which variants are ranked, and the one that none may beat."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.engine.planning.binding import Binding, carried_over, resolve_metric
from pytest_rageval.errors import unknown_name
from pytest_rageval.model import BEST, WEIGHTED_SCORE, Contest
from pytest_rageval.scenario.schema import BestSpec
from pytest_rageval.scenario.variants import unknown_variant


def bind_contest(binding: Binding, metrics: Sequence[str]) -> Contest | None:
    """Return how the variants are compared; None where the scenario has none.

    ``metrics`` are the names of the metrics of this variant; unknown names are problems.
    """
    names = binding.loaded.variants
    if not names:
        return None
    spec = binding.scenario.best or BestSpec()
    known = [*metrics, WEIGHTED_SCORE]
    of = resolve_metric(spec.of, known, binding.known_metrics)
    if of is None and not binding.is_unmade(spec.of):
        binding.problem(f"best.of: {unknown_name('metric', spec.of, known)}", BEST, "of")
    if spec.at_least is not None and spec.at_least not in names:
        binding.problem(f"best.at_least: {unknown_variant(spec.at_least, names)}", BEST, "at_least")
    elif spec.at_least is not None and len(names) < 2:
        binding.problem("best: compares variants, and there is one only", BEST)
    return carried_over(spec, Contest, names=names, of=of or WEIGHTED_SCORE)
