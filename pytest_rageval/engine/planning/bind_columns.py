"""Whether the columns of the data hold what the metrics need, and what to write where not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import repeat
from operator import attrgetter, is_not
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.planning.fields_read import with_those_read
from pytest_rageval.errors import Problem, unknown_name
from pytest_rageval.metrics.base import MetricInfo
from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.column_names import likely_field, proposed_columns
from pytest_rageval.scenario.fields import (
    ANSWERED_FIELDS,
    FIELD_ALIASES,
    KEY_OF,
    NAMED,
    OF_ANSWERS,
    OF_SEARCH,
    OF_TRAINING,
    UNRECORDED_SEARCH,
)
from pytest_rageval.scenario.yaml.tree import inline_text, pair_text
from pytest_rageval.text.json_value import head_of

_FIELDS = (*(found.name for found in fields(Sample)), "vital_nuggets")
_JUDGED_BY = frozenset({"question", "contexts"})
"""The fields by which a judge says whether a question can be answered."""
_SHOWN = 20
_ABSENT = "has no such field"


def check_columns(
    binding: Binding,
    dataset: Dataset,
    metrics: Sequence[BoundMetric],
    provided: frozenset[str],
    told: frozenset[str] = frozenset(),
) -> None:
    """Note each metric that no row has the fields for; the first one says what would help.

    ``provided`` are the fields that a system under test fills in later, ``told`` those that a judge
    fills in from the question and the contexts, where there are both.
    """
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if not samples:
        return
    _refuse_doubts(binding, dataset, metrics, provided)
    present = {name for name in _FIELDS if _is_there(name, samples)}
    known = frozenset(present) | provided
    known |= told if known >= _JUDGED_BY else frozenset()
    columns = _Columns(binding, dataset, samples, known)
    for metric in metrics:
        info = metric.info
        if info.needs <= columns.present and provided & info.needs:
            continue
        if info.or_needs and info.or_needs <= columns.present:
            _warn_of_mixture(binding, metric, samples)
            continue
        columns.check(metric)
    if not columns.problems:
        return
    hint = columns.hint(asks=bool(provided & ANSWERED_FIELDS))
    for lack in _joined(columns.problems):
        first = lack.is_missed and hint
        binding.problem(f"{lack}. {hint}" if first else str(lack), "metrics", lack.position)
        hint = "" if first else hint


def _is_there(name: str, samples: Sequence[Sample]) -> bool:
    """Return whether a sample has a value in this field."""
    # Without a loop in Python: most of the 20 fields are absent, which all rows have to show.
    return any(map(is_not, map(attrgetter(name), samples), repeat(None)))


def _refuse_doubts(
    binding: Binding, dataset: Dataset, metrics: Sequence[BoundMetric], provided: frozenset[str]
) -> None:
    """Note what the columns leave open of the fields that the metrics read in the data."""
    needed = {name for metric in metrics for name in metric.info.names}
    if "acc" in with_those_read(metrics, {metric.column.name for metric in metrics}):
        needed.add("references")  # crag_score computes acc itself
    sure = {name for metric in metrics for name in metric.info.needs | metric.info.or_needs}
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if "reference_ids" not in sure and all(one.reference_citations is not None for one in samples):
        needed.discard("reference_ids")  # citations are read in their place
    for doubt in dataset.doubts:
        if doubt.field in needed - provided:
            binding.problems.append(Problem(doubt.place, doubt.message))


def _warn_of_mixture(binding: Binding, metric: BoundMetric, samples: Sequence[Sample]) -> None:
    """Say when a metric would measure one thing in some rows and another in others."""
    needs = metric.info.needs
    first = sum(all(getattr(sample, need) is not None for need in needs) for sample in samples)
    if 0 < first < len(samples):
        named = " and ".join(sorted(needs))
        binding.warnings.append(
            f"metric {metric.column.name!r} compares {named} in {first} of {len(samples)} rows, "
            f"{' and '.join(sorted(metric.info.or_needs))} in the others; set its option 'on'"
        )


def check_named_columns(
    binding: Binding, dataset: Dataset, metrics: Sequence[BoundMetric], *, is_asked: bool
) -> None:
    """Note each metric whose column no row fills, or only a target could, where none is asked.

    Warn of a column, also of ``by``, that two joined files have with other values.
    """
    named = [(metric.info.column, metric.position) for metric in metrics if metric.info.column]
    by = binding.scenario.gates.get("by")
    read = {*(column for column, _ in named), *(by if isinstance(by, Mapping) else ())}
    binding.warnings += [text for name, text in dataset.differing.items() if name in read]
    if not named:
        return
    # Not at the top: most scenarios have no column as a metric.
    from pytest_rageval.metrics.columns import OF_TARGET, is_blank, value_in

    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    columns = [*dict.fromkeys([*dataset.columns, *dataset.metadata_columns])]
    for column, position in named:
        if column in OF_TARGET:
            message = "" if is_asked else f"{column!r} needs a system under test; name it: target"
        elif column.startswith("target."):
            message = unknown_name("value of a target", column, OF_TARGET)
        elif samples and all(is_blank(value_in(sample, column)) for sample in samples):
            is_there = column in columns
            message = (
                f"the column {column!r} is blank in every row of {dataset.shown}"
                if is_there
                else f"{dataset.shown}: {unknown_name('column', column, columns)}"
            )
        else:
            continue
        if message:
            binding.problem(f"metrics[{position}].column: {message}", "metrics", position)


class _Lack(Struct):
    """Fields that metrics need and the data lack, and why; ``position`` is the first metric's."""

    position: int
    metrics: list[str]
    needs: list[str]
    hint: str
    reason: str
    is_missed: bool  # they have no column

    @property
    def is_plain(self) -> bool:
        """Whether all that there is to say is that there is no such column."""
        return not self.hint and self.reason.endswith(_ABSENT)

    def __str__(self) -> str:
        verb = "metric {} needs" if len(self.metrics) == 1 else "metrics {} need"
        what = f"{verb.format(_quoted(self.metrics))} {_quoted(self.needs)}{self.hint}"
        return f"{what}; {self.reason}{'s' if len(self.needs) > 1 else ''}"


def _joined(lacks: Sequence[_Lack]) -> list[_Lack]:
    """Return the lacks, with those joined that only say which metrics lack which fields."""
    of_metric: dict[object, _Lack] = {}
    for at, lack in enumerate(lacks):
        same: object = (lack.position, lack.is_missed) if lack.is_plain else at
        of_metric.setdefault(same, replace(lack, needs=[])).needs.extend(lack.needs)
    found: dict[object, _Lack] = {}
    for at, lack in enumerate(of_metric.values()):
        same = (*lack.needs, lack.reason) if lack.is_plain else at
        found.setdefault(same, replace(lack, metrics=[])).metrics.extend(lack.metrics)
    return list(found.values())


class _Columns(Struct):
    """The columns of the data, the fields that are ``present``, and those that were missed."""

    binding: Binding
    dataset: Dataset
    samples: Sequence[Sample]
    present: frozenset[str]
    missed: dict[str, None] = field(default_factory=dict)
    """The fields that lack a column."""
    problems: list[_Lack] = field(default_factory=list)
    """What is the matter, for each field that a metric lacks."""

    def check(self, metric: BoundMetric) -> None:
        """Note the fields that a metric lacks."""
        info = metric.info
        # Of two alternatives, the user most likely means the one that the data have in part.
        started = info.or_needs and (info.or_needs & self.present) and not info.needs & self.present
        lacking = (info.or_needs if started else info.needs) - self.present
        known = dict(self.missed)
        for need in sorted(lacking):
            if need == "vital_nuggets" and "nuggets" not in self.present:
                need = "nuggets"  # noqa: PLW2901  (there is none at all)
            hint = _alternative(info) if not (started or info.needs & self.present) else ""
            name, reason = metric.column.name, self._reason(need)
            is_missed = need in self.missed
            lack = _Lack(metric.position, [name], [need], hint, reason, is_missed)
            self.problems.append(lack)
        others = info.or_needs - self.present
        if others and not started and set(self._proposed(others)) == others:
            self.missed = known | dict.fromkeys(sorted(others))  # columns look like these

    def hint(self, *, asks: bool) -> str:
        """Return the columns that there are, and the line that maps the fields that were missed.

        ``asks`` says that a target answers.
        """
        proposed = self._proposed(self.missed)
        parts = [f"Columns: {', '.join(self.dataset.columns[:_SHOWN])}"]
        parts += [self.dataset.hint] if self.dataset.hint else []
        if self.dataset.hint and len(self.dataset.columns) == 1:
            return ". ".join(parts)
        # Not at the top: most data sets have what the metrics need.
        from pytest_rageval.datasets.formats.trec_tables import are_judgements

        if are_judgements(self.dataset.columns):
            parts.append(
                "These look like judgements of a search: write qrels_path, and run_path, in place "
                "of 'dataset', or join them to their questions (answers.merge_rows)"
            )
        if proposed:
            columns = _quoted(proposed.values())
            parts.append(f"If {columns} {_is(proposed)}, write {self._line(proposed)}")
        parts += self._objects()
        others = sorted(set(self.missed) - set(proposed))
        if others:
            parts.append(self._otherwise(others, asks=asks))
        return ". ".join(parts)

    def _otherwise(self, others: Sequence[str], *, asks: bool) -> str:
        """Return what to do about fields that no column looks like."""
        if not asks and not OF_SEARCH.isdisjoint(others):
            unrecorded = self._example(UNRECORDED_SEARCH)
            if unrecorded is not None:
                return str(unrecorded)
        ways = []
        answered = [name for name in others if name in ANSWERED_FIELDS]
        if answered and not asks:
            gives = f", which gives {_quoted(answered)}" if answered != others else ""
            ways.append(f"name your system under 'target', like my_app.rag:answer{gives}")
            if "answer" in answered and self.binding.scenario.answers is None:
                ways.append("name a second file with them in 'answers'")
        ways.append(f"name the column{'s' * (len(others) > 1)} in dataset.key_map")
        if "reference_contexts" in others:
            ways.append("name a 'corpus'")
        if "nuggets" in others:
            ways.append("make lists: --rag-init --rag-from=FILE --rag-nuggets")
        own = _asked_by_a_test(self.binding) if "answer" in others else ""
        return f"For {_quoted(others)}, {', or '.join(ways)}{own}"

    def _proposed(self, wanted: Iterable[str]) -> dict[str, str]:
        mapped = self.binding.scenario.dataset.key_map
        heads = {*map(head_of, mapped.values()), *self.dataset.likely.values()}
        free = [name for name in self.dataset.metadata_columns if name not in heads]
        free = [name for name in free if name in self.dataset.columns]
        free = [name for name in free if not isinstance(self._example(name), Mapping)]
        if {"instruction", "output"} <= set(self.dataset.columns):
            free = [name for name in free if name not in OF_TRAINING]
        unmapped = [need for need in wanted if need not in mapped]
        return proposed_columns(unmapped, free, self.present)

    def _example(self, column: str) -> Any:
        values = (sample.metadata.get(column) for sample in self.samples)
        return next((value for value in values if value is not None), None)

    def _objects(self) -> list[str]:
        """Return how to name a part of a column that holds objects and is called like a field."""
        missed = set(self.missed)
        found = []
        for column in self.dataset.metadata_columns:
            example, field_name = self._example(column), likely_field(column)
            if field_name in missed and isinstance(example, Mapping) and example:
                keys = ", ".join(repr(key) for key in list(example)[:_SHOWN])
                path = inline_text(f"{column}.{next(iter(example))}")
                found.append(
                    f"{column!r} has {keys}: if one of them is {field_name!r}, name it as in "
                    f"key_map: {{{field_name}: {path}}}"
                )
        return found

    def _line(self, proposed: Mapping[str, str]) -> str:
        text = pair_text("key_map", {**self.binding.scenario.dataset.key_map, **proposed})
        written = self.binding.loaded.tree.data.get("dataset")
        if isinstance(written, str):
            return f"dataset: {{path: {inline_text(written)}, {text}}}"
        rows = ", with the rows under dataset.rows" if isinstance(written, list) else ""
        return f"{text} (in 'dataset'{rows})"

    def _reason(self, need: str) -> str:
        """Return what is wrong with a field that no valid row has; note one without a column."""
        shown, corpus = self.dataset.shown, self.binding.scenario.corpus
        key_map = self.binding.scenario.dataset.key_map
        if need == "reference_contexts" and corpus is not None:
            return f"no row names, in doc_name, a document of the corpus {corpus.path}"
        read = {**self.dataset.likely, **key_map}
        sources = [read[need]] if need in read else FIELD_ALIASES.get(need, (need,))
        found = [column for column in sources if column in self.dataset.columns]
        users = {column: name for name, column in key_map.items() if name != need}
        taken = [column for column in found if column in users]
        if found and not taken:
            return f"no valid row of {shown} has anything in its column {found[0]!r}"
        if need in NAMED:
            return f"{shown} has no {NAMED[need]}"
        if need in key_map:
            return f"no valid row of {shown} has anything at {key_map[need]!r} (key_map)"
        if need in KEY_OF:
            self.missed[need] = None
        if taken:
            served = f"key_map gives its column {taken[0]!r} to {users[taken[0]]!r}"
            return f"{shown} has no other column for it: {served}"
        return f"{shown} {_ABSENT}"


def hints_of_answers(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    shown_fields: frozenset[str] | None,
    beside: Collection[str],
) -> Mapping[str, str]:
    """Return what to say of what a target answers, by the field or name that it is about."""
    return {
        **_of_kept(binding, metrics, shown_fields),
        **dict(_of_unread(binding, metrics, beside)),
    }


def _of_unread(
    binding: Binding, metrics: Sequence[BoundMetric], beside: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the names of citations, and what to say where a target returns some under one.

    Nothing where citations are read ``beside`` the text of an answer, or no metric looks at them.
    """
    measured = [one.column.name for one in metrics if one.info.section == "citations"]
    if not measured or "citations" in beside:
        return
    for name in OF_ANSWERS["citations"]:
        hint = (
            f"{binding.loaded.path.name}: the target returned {name!r}, which is not read: "
            f"{', '.join(measured)} took what the answers cite in their text. To read it, write "
            f"dataset.key_map: {{citations: {name}}}; an http target may also have its path "
            f"(citations: {name})"
        )
        yield name, hint


def _of_kept(
    binding: Binding, metrics: Sequence[BoundMetric], shown_fields: frozenset[str] | None
) -> Mapping[str, str]:
    """Return what to say where a target returns no contexts, or no ids: those of the rows stay.

    Under ``retrieved_ids`` for rankings, which measure by contexts where there are no ids; under
    ``contexts`` for all others. Nothing where the target answers from those of the rows: they are
    among the ``shown_fields`` (None, that it may see any, does not tell), or in the key_map.
    """
    found = {}
    meant = binding.scenario.dataset.key_map.keys() | (shown_fields or frozenset())
    for name, what in (("retrieved_ids", "no contexts and no ids"), ("contexts", "no contexts")):
        measured = [one.column.name for one in metrics if _measured_by(one.info) == name]
        if measured and meant.isdisjoint(("contexts", name)):
            found[name] = (
                f"{binding.loaded.path.name}: the target returns {what}, so {', '.join(measured)} "
                f"took those of the rows for what was retrieved. {_ADVICE}"
            )
    return found


_ADVICE: Final = (
    "If they are what should be retrieved, write dataset.key_map: {reference_contexts: contexts}; "
    "if the target was given them, {contexts: contexts}"
)


def _measured_by(info: MetricInfo) -> str:
    if "retrieved_ids" in info.needs:
        return "retrieved_ids"
    used = info.needs | info.or_needs
    return "" if used.isdisjoint(("contexts", "context_docs")) else "contexts"


def _quoted(names: Iterable[Any]) -> str:
    return " and ".join(repr(name) for name in names)


def _is(proposed: Mapping[str, str]) -> str:
    verb = "is" if len(proposed) == 1 else "are"
    return f"{verb} {_quoted(proposed)}"


def _alternative(info: MetricInfo) -> str:
    return f" (or else {_quoted(sorted(info.or_needs))})" if info.or_needs else ""


def _asked_by_a_test(binding: Binding) -> str:
    """Return what else may be the matter where no row has an answer: the file runs by mistake."""
    name = binding.loaded.path.name
    if ".rageval." not in name:
        return ""
    other = name.replace(".rageval.", ".")
    return (
        "; if a test function asks it (rag_scenario), name this file otherwise, like "
        f"{other}: pytest runs each *.rageval.yaml by itself"
    )


def check_pools(binding: Binding, cases: Sequence[Case], metrics: Sequence[BoundMetric]) -> None:
    """Note metrics that estimate by documents left unjudged on purpose, where there are none."""
    if not any(metric.info.needs_pool for metric in metrics):
        return
    judged = [case.reference_ids or {} for case in cases if isinstance(case, Sample)]
    if any(-1 in grades.values() for grades in judged):
        return
    for metric in metrics:
        if metric.info.needs_pool:
            message = (
                f"metrics[{metric.position}]: {metric.info.name} estimates by documents of grade "
                "-1 (in the pool, not judged), and no judgement has it: without them it is 'map', "
                "to five digits. Write 'map'"
            )
            binding.problem(message, "metrics", metric.position)
