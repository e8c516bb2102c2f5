"""Says what makes runs incomparable: other questions, references, weights, or ways to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    value_text,
)
from pytest_rageval.model.measured import SETTINGS, Setting, shown_setting
from pytest_rageval.stats.common import weights_of
from pytest_rageval.stats.groups import field_value
from pytest_rageval.stats.wording import counted

_ValueOf = Callable[[SampleResult], Any]

_ANYWAY: Final = "to rank them anyway: 'best: {anyway: true}'"


def differences(
    results: Sequence[ScenarioResult], metric: str, *, weighed: bool = True
) -> Iterator[str]:
    """Yield why the scores of ``metric`` do not compare, and what to do about it.

    What a run does not say, as an older saved one may not, counts as no difference. Other weights
    of samples count where scores are ``weighed`` as in the runs.
    """
    infos = [result.info for result in results]
    same = _same_metrics(results)
    instead = f"rank by one metric: 'best: {{of: {same[0]}}}'" if same else _ANYWAY
    measured = [metric]
    if metric == WEIGHTED_SCORE:
        yield from _of_runs(infos, "weights", map(_weights, infos), instead)
        measured = list(weights_of(infos[0]))
    for name in measured:
        yield from _of_runs(infos, name, (_definitions(one).get(name) for one in results), instead)
    yield from _of_runs(infos, "qrels", (one.judgements_sha256[:12] for one in infos), _ANYWAY)
    for setting in SETTINGS:
        if setting.refuses and not setting.of_variants:
            yield from _of_runs(infos, setting.name, map(partial(_set, setting), infos), _ANYWAY)
    yield from _of_runs(infos, "group_by", (one.group_by or "nothing" for one in infos), _ANYWAY)
    if weighed:
        yield from _changed(results, "another weight", lambda one: one.sample_weight)
    for what, value_of in _readers(results):
        yield from _changed(results, what, value_of)


def metrics_in_all(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the metrics that all runs have, in the order of the first."""
    return [
        column.name
        for column in results[0].info.metrics
        if all(column.name in _definitions(one) for one in results)
    ]


def _same_metrics(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the metrics that all runs have and measure in the same way."""
    return [
        name
        for name in metrics_in_all(results)
        if len({_definitions(one)[name] for one in results} - {""}) < 2
    ]


def _definitions(result: ScenarioResult) -> dict[str, str]:
    return {column.name: column.definition for column in result.info.metrics}


def _set(setting: Setting, info: ScenarioInfo) -> str:
    """Return the value of a setting, "" for one that a saved run has not on record."""
    known = info.measured
    return shown_setting(known[setting.name]) if setting.name in known else ""


def _weights(info: ScenarioInfo) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in weights_of(info).items())


def _of_runs(
    infos: Sequence[ScenarioInfo], what: str, values: Iterable[str | None], advice: str
) -> Iterator[str]:
    """Yield the first two runs that know the value and have another one."""
    known = [(one.variant, value) for one, value in zip(infos, values, strict=True) if value]
    for variant, now in known[1:]:
        first, was = known[0]
        if now != was:
            yield f"{what}: {was} in {first}, but {now} in {variant}; {advice}"
            return


def _readers(results: Sequence[ScenarioResult]) -> Iterator[tuple[str, _ValueOf]]:
    """Yield what must be the same in all runs of a sample, in words, and how to read it."""
    yield "another question", lambda one: one.question
    yield "other references", lambda one: None if one.references is None else list(one.references)
    if not any(one.info.judgements_sha256 for one in results):  # else compared as a whole
        for field in sorted(
            {name for one in results for row in one.samples for name in row.judged_by}
        ):
            yield f"other {field}", partial(_digest, field)
    if results[0].info.group_by is not None:
        yield f"another {results[0].info.group_by}", partial(_group, results[0].info.group_by)


def _digest(field: str, sample: SampleResult) -> str | None:
    return sample.judged_by.get(field)


def _group(field: str, sample: SampleResult) -> str:
    """Return what makes a group: the text of the value; a sample without one is its own."""
    value = field_value(sample, field)
    return "" if value is None else value_text(value)


def _changed(results: Sequence[ScenarioResult], what: str, value_of: _ValueOf) -> Iterator[str]:
    """Yield how many samples have different values, and the first of them."""
    known: dict[str, tuple[str, Any]] = {}
    changed: dict[str, str] = {}
    for result in results:
        for sample in result.samples:
            value = None if sample.invalid is not None else value_of(sample)
            if value is None:
                continue
            variant, theirs = known.setdefault(sample.sample_id, (result.info.variant, value))
            if theirs != value and sample.sample_id not in changed:
                there, here = shorten(repr(theirs), 60), shorten(repr(value), 60)
                changed[sample.sample_id] = f"{there} in {variant}, {here} in {result.info.variant}"
    if changed:
        name, values = next(iter(changed.items()))
        have = "has" if len(changed) == 1 else "have"
        total = counted(len(changed), "sample")
        yield f"{total} {have} {what} (first: {shorten(name)!r}, {values}); {_ANYWAY}"
