"""What two sections of a scenario cannot say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os.path import normpath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.short_forms import expanded_short_form
from pytest_rageval.scenario.variants import SOURCES, VARIANTS

if TYPE_CHECKING:
    from pytest_rageval.scenario.schema import Scenario


def conflicts(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield each conflict of two sections: the path of one, the name of the other, the message."""
    if scenario.tolerate == "pass_rate" and "pass_rate" not in scenario.gates:
        message = "tolerate: pass_rate needs the gate 'pass_rate', which then decides"
        yield ("tolerate",), "gates", message
    for other, message in _conflicts_of_stop(scenario):
        yield ("stop",), other, f"stop: {message}"
    if scenario.sample is not None:
        for other, message in _others_than_sample(scenario):
            yield ("sample",), other, f"sample: {message}"
    if scenario.answers is not None and scenario.dataset.qrels_path is not None:
        message = "answers: a second file is for rows; TREC files have 'run_path'"
        yield ("answers",), "dataset", message
    for message in _conflicts_of_runs(scenario):
        yield ("compare",), "dataset", message


def _conflicts_of_runs(scenario: Scenario) -> Iterator[str]:
    """Yield what is wrong with the runs to compare with, taken together."""
    runs = scenario.compare or []
    older = [run for run in runs if run.run_old_path]
    if older and not scenario.dataset.run_path:
        yield "compare.run_old_path needs 'qrels_path' and 'run_path'"
    if len(older) > 1:
        yield "compare: 'run_old_path' may stand once; save the other runs (--rag-save NAME)"
    named = Counter(run.name for run in runs)
    for name, times in named.items():
        if times > 1:
            yield f"compare: {shorten(name)!r} is named {times} times; keep one"


def _others_than_sample(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the section that ``sample`` cannot go with, and why."""
    if scenario.stop is not None:
        yield "stop", "asks so many rows, and 'stop' as few as decide; remove one of the two"
    if scenario.human is not None:
        message = "labels of people correct the mean of all answers, and some have none; remove"
        yield "human", f"{message} 'human' or 'sample'"


def _conflicts_of_stop(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the section that ``stop`` cannot go with, and why."""
    if scenario.stop is None:
        return
    if not scenario.gates:
        yield "gates", "needs 'gates': without any, nothing is ever decided"
    if scenario.thresholds and scenario.tolerate is None:
        message = "any sample may miss its threshold, so that each one must be asked about; "
        yield "thresholds", f"{message}write 'tolerate: pass_rate', or remove the thresholds"
    for section, what in (("doc_weights", "weigh alike"), ("group_by", "are independent")):
        if scenario.stop != "decided" and getattr(scenario, section):
            message = f"an error bound holds for samples that {what}, and there is {section!r}"
            yield section, f"{message}; write 'stop: decided'"


class LabelledAnswers(NamedTuple):
    """Which answers people labelled: the column of the labels, the rows, the columns of answers.

    A column that no ``key_map`` names is None: it is found by its name.
    """

    labels: Any
    rows: list[Any]
    columns: list[str | None]

    def are_others(self, known: Iterable[LabelledAnswers], columns: Collection[str]) -> bool:
        """Return whether these labels are, by the first that are known, of others in these rows.

        What people said of one system's answers would be said of another's. ``columns`` are those
        of the rows.
        """
        same = [_found(one.columns, columns) for one in (*known, self) if one[:2] == self[:2]]
        firsts = (next(filter(None, of_field), None) for of_field in zip(*same, strict=True))
        return any(ours and ours != first for ours, first in zip(same[-1], firsts, strict=True))


_SEEN: Final = ("answer", "contexts")
"""The fields that a label is about."""


def _found(named: Sequence[str | None], columns: Collection[str]) -> list[str | None]:
    """Return the columns of the fields that a label is about, None for one that nothing tells."""
    read = [field[0] if (field := read_field(name)) else "" for name in columns]
    by_name = dict(zip(read, columns, strict=True))
    alone = {field: name for field, name in by_name.items() if read.count(field) == 1}
    return [column or alone.get(field) for column, field in zip(named, _SEEN, strict=True)]


def known_labels(data: Mapping[str, Any]) -> list[LabelledAnswers]:
    """Return what labels are of which answers, by a file's data and by its variants.

    Those come first that say both themselves.
    """
    variants = data.get(VARIANTS)
    given = list(variants.values()) if isinstance(variants, dict) else []
    given.sort(key=lambda keys: not (isinstance(keys, dict) and keys.get("human")))
    own = sum(isinstance(keys, dict) and bool(keys.get("human")) for keys in given)
    laid = [_laid_over(data, keys) for keys in given]
    found = map(labelled_answers, [*laid[:own], data, *laid[own:]])
    return [one for one in found if one is not None]


def _laid_over(data: Mapping[str, Any], keys: Any) -> dict[str, Any]:
    """Return a file's labels and rows as a variant changes them."""
    own = keys if isinstance(keys, dict) else {}
    found: dict[str, Any] = {}
    for name in ("human", "dataset"):
        base, new = (expanded_short_form((name,), of.get(name)) or {} for of in (data, own))
        if any(key in new for names in SOURCES for key in names):
            base = {key: value for key, value in base.items() if key == "key_map"}
        maps = [of["key_map"] for of in (base, new) if isinstance(of.get("key_map"), dict)]
        found[name] = {**base, **new, "key_map": {key: one[key] for one in maps for key in one}}
    return found | ({"human": None} if own.get("human", "") is None else {})


def labelled_answers(data: Mapping[str, Any]) -> LabelledAnswers | None:
    """Return which answers the labels of a scenario are beside, None without a column of any."""
    human = data.get("human")
    dataset = expanded_short_form(("dataset",), data.get("dataset"))
    if not dataset or not isinstance(human, dict) or not human.get("column"):
        return None
    mapped = dataset.get("key_map")
    columns = mapped if isinstance(mapped, dict) else {}
    places = [dataset.get(key) for keys in SOURCES for key in keys]
    return LabelledAnswers(
        human["column"],
        [normpath(one) if isinstance(one, str) else one for one in places],  # ./a.csv is a.csv
        [name if isinstance(name := columns.get(field), str) else None for field in _SEEN],
    )
