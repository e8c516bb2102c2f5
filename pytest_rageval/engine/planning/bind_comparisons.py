"""What ``compare`` asks for: which runs, which metrics of them, and how they are tested."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.engine.planning.bind_baselines import compared_runs
from pytest_rageval.engine.planning.binding import Binding, carried_over, resolve_metric
from pytest_rageval.errors import unknown_name
from pytest_rageval.model import WEIGHTED_SCORE, Comparing, SignificanceTest
from pytest_rageval.scenario.schema import CompareSpec
from pytest_rageval.scenario.yaml.tree import YamlPath
from pytest_rageval.stats.paired import over_looks


def bind_comparisons(binding: Binding, names: Sequence[str]) -> tuple[Comparing, ...]:
    """Return what ``compare`` asks for; unknown metrics in it are problems."""
    return tuple(
        Comparing(spec.name, _metrics_of(binding, spec, path, names), _test_of(binding, spec, path))
        for path, spec in compared_runs(binding)
    )


def _metrics_of(
    binding: Binding, spec: CompareSpec, path: YamlPath, names: Sequence[str]
) -> tuple[str, ...]:
    known = [*names, WEIGHTED_SCORE]
    metrics = []
    for at, written in enumerate(spec.metrics):
        name = resolve_metric(written, known, binding.known_metrics)
        if name is None and binding.may_be_left_out(written):
            continue
        if name is None:
            message = f"{_key(path)}.metrics[{at}]: {unknown_name('metric', written, known)}"
            binding.problem(message, *path, "metrics", at)
        else:
            metrics.append(name)
    return tuple(metrics)


def _test_of(binding: Binding, spec: CompareSpec, path: YamlPath) -> SignificanceTest:
    """Return the test of one run of the ``looks`` that share its alpha."""
    of_one_look = carried_over(spec, SignificanceTest, looks=1)
    # Without a list all metrics are compared, and their weighted score.
    tests = len(spec.metrics) or len(binding.scenario.metrics) + 1
    try:
        return over_looks(of_one_look, spec.looks, tests)
    except ValueError as error:  # its message begins with the key, "looks"
        binding.problem(f"{_key(path)}.{error}", *path, "looks")
        return of_one_look


def _key(path: YamlPath) -> str:
    """Return the key of an entry, as ``compare`` or ``compare[1]``."""
    return "compare" + "".join(f"[{at}]" for at in path[1:])
