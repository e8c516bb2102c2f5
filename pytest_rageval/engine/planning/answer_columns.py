"""Which columns say what answers cite, refuse, follow and have to say: read if asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import listed, shorten
from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.fields import OF_ANSWERS, SECTION_OF, WITH_ANSWERS
from pytest_rageval.stats.wording import counted


def read_of_answers(binding: Binding) -> frozenset[str]:
    """Return the fields of ``OF_ANSWERS`` that are read: by a section, a metric, a gate.

    Without those that the ``key_map`` names: these are read in any case.
    """
    scenario, known = binding.scenario, binding.known_metrics
    sections = {name for name in SECTION_OF.values() if getattr(scenario, name) is not None}
    names = [spec.metric for spec in scenario.metrics if spec.use is None and spec.metric]
    infos = [
        known.get(base).info
        for base in (name.partition("(")[0].strip() for name in names)
        if known.canonical(base) is not None
    ]
    sections |= {info.section for info in infos if info.section is not None}
    found = {name for name, section in SECTION_OF.items() if section in sections}
    found |= {"nuggets" for info in infos if "nuggets" in info.needs}
    if any(not _BY_CONFIDENCE.isdisjoint(part) for part in _gated(scenario.gates)):
        found.add("confidence")
    return frozenset(found)


def _gated(gates: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what gates ask of each metric, also of each value of a field (``by``)."""
    parts = {name: part for name, part in gates.items() if isinstance(part, Mapping)}
    by = parts.pop("by", {})
    yield from parts.values()
    for of_field in by.values():
        if isinstance(of_field, Mapping):
            yield from (part for part in of_field.values() if isinstance(part, Mapping))


def read_beside_answers(binding: Binding, columns: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what is read of an answer beside its text: ``citations``, ``confidence``.

    By field, the names under which it may be: first its own where the target's options say where it
    is in a reply, else the one in the key_map. Citations only where the data have such a column,
    or the target or the key_map names one: else answers cite in their text, and what a service
    calls ``citations`` may be anything.
    """
    key_map, asked = binding.scenario.dataset.key_map, set(read_of_answers(binding))
    target = binding.scenario.target
    placed = (
        {} if target is None else {name: name for name in WITH_ANSWERS if target.options.get(name)}
    )
    if set(OF_ANSWERS["citations"]).isdisjoint(columns):
        asked.discard("citations")
    named = key_map | placed
    return {
        name: (*filter(None, [named.get(name)]), *OF_ANSWERS[name])
        for name in WITH_ANSWERS
        if name in asked | named.keys()
    }


def outdated_lists(dataset: Dataset) -> Iterator[str]:
    """Yield a line about lists of nuggets that are read, and were made of other texts."""
    samples = [case for case in dataset.cases if isinstance(case, Sample) and case.nuggets]
    if not samples:
        return
    # Not at the top: most rows have no nuggets.
    from pytest_rageval.datasets.answer_fields import NUGGETS_MADE_OF, has_stale_nuggets

    old = [sample.id for sample in samples if has_stale_nuggets(sample)]
    if old:
        ids = listed(map(shorten, old), _LISTED)
        yield (
            f"{dataset.shown}: {counted(len(old), 'row')} changed since their nuggets were listed "
            f"({ids}): look whether these hold, then take out {NUGGETS_MADE_OF!r}"
        )


_LISTED: Final = 5
_BY_CONFIDENCE: Final = frozenset({"selective", "aurc"})
_OFFERED: Final = {
    "answerable": "refusals: phrases",
    "citations": "citations: auto",
    "history": "conversation: true",
    "nuggets": "metrics: [nugget_recall]",
}
"""By field, what to write to have it read."""


def offers(binding: Binding, dataset: Dataset, marked: Callable[[Case], Case]) -> Iterator[str]:
    """Yield a line for each field that a column is there for, and the scenario does not read.

    ``marked`` returns a case with what the scenario says of skipping it.
    """
    on = read_of_answers(binding) | binding.scenario.dataset.key_map.keys()
    for name, line in _OFFERED.items():
        columns = [c for c in OF_ANSWERS[name] if c in dataset.metadata_columns and c != "input"]
        if (
            name == "answerable"
            and name not in on
            and columns
            and _all_answerable(map(marked, dataset.cases), columns[0])
        ):
            continue
        if name not in on and columns:
            yield (
                f"{dataset.shown}: the column {columns[0]!r} is not read: write "
                f"{line!r} to have answers judged by it"
            )


def _all_answerable(cases: Iterable[Case], column: str) -> bool:
    """Return whether each row that is not skipped can be answered: there is nothing to refuse."""
    run = [case for case in cases if isinstance(case, Sample) and case.skip is None]
    return bool(run) and all(sample.metadata.get(column) is True for sample in run)
