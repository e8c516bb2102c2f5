"""The data of a scenario: its cases, checked against what the metrics need."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.corpus import Corpus, load_corpus
from pytest_rageval.datasets.jsonl import json_text
from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.datasets.trec import load_trec
from pytest_rageval.engine.binding import Binding, BoundMetric
from pytest_rageval.engine.marks import mark_cases, meets
from pytest_rageval.errors import (
    MissingExtraError,
    Problem,
    ScenarioError,
    nearest,
    shorten,
    unknown_name,
)
from pytest_rageval.metrics.base import MetricInfo
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.stats.weights import resolve_weight

_NAMED = {"context_docs": "contexts that name their document (objects with a doc_name or source)"}
"""What messages call a field that is no column."""

_FIELDS = tuple(found.name for found in fields(Sample))


def bind_dataset(binding: Binding) -> Dataset | None:
    """Return the data set, or None when it cannot be used."""
    spec = binding.scenario.dataset
    if spec.rows == [] and not binding.is_sound:
        return None  # what stands in for a data set that was refused
    try:
        dataset = _load(binding, spec)
        corpus = _corpus(binding)
    except ScenarioError as error:
        binding.problems += error.problems
    except MissingExtraError as error:
        binding.problem(f"dataset: {error}", "dataset")
    else:
        binding.warnings += dataset.warnings
        return _with_top_k(binding, _with_corpus(binding, dataset, corpus))
    return None


def _load(binding: Binding, spec: DatasetSpec) -> Dataset:
    folder, where = binding.loaded.path.parent, binding.loaded.where("dataset")
    if spec.qrels_path is not None:
        return load_trec(spec, folder, lambda key: binding.loaded.where("dataset", key))
    row_lines = None
    if spec.rows is not None:
        lines = binding.loaded.tree.lines
        prefix = ("dataset", "rows") if ("dataset", "rows") in lines else ("dataset",)
        row_lines = [lines.get((*prefix, at)) for at in range(len(spec.rows))]
    return load_dataset(spec, folder, where, row_lines)


def _corpus(binding: Binding) -> Corpus | None:
    spec = binding.scenario.corpus
    if spec is None:
        return None
    return load_corpus(spec, binding.loaded.path.parent, binding.loaded.where("corpus"))


def _with_corpus(binding: Binding, dataset: Dataset, corpus: Corpus | None) -> Dataset:
    """Return the data with the chunks of each row's document as its expected contexts."""
    if corpus is None:
        return dataset
    unknown: dict[str, None] = {}
    cases = [_expecting(case, corpus, unknown) for case in dataset.cases]
    if unknown:
        listed = ", ".join(shorten(name) for name in list(unknown)[:5])
        more = f", and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        binding.warnings.append(f"{corpus.shown} has no chunk of these documents: {listed}{more}")
    return replace(dataset, cases=cases)


def _expecting(case: Case, corpus: Corpus, unknown: dict[str, None]) -> Case:
    if isinstance(case, InvalidRow) or case.reference_contexts is not None or case.doc_name is None:
        return case
    chunks = corpus.of_document(case.doc_name)
    if chunks is None:
        unknown[case.doc_name] = None
        return case
    return replace(case, reference_contexts=chunks)


def _with_top_k(binding: Binding, dataset: Dataset) -> Dataset:
    k = binding.scenario.top_k
    if k is None:
        return dataset
    cases = [_cut(case, k) if isinstance(case, Sample) else case for case in dataset.cases]
    return replace(dataset, cases=cases)


def _cut(sample: Sample, k: int) -> Sample:
    names = ("contexts", "context_docs", "retrieved_ids")
    long = {name: found[:k] for name in names if (found := getattr(sample, name)) is not None}
    return replace(sample, **long)


def bind_cases(
    binding: Binding,
    dataset: Dataset,
    metrics: Sequence[BoundMetric],
    provided: frozenset[str] = frozenset(),
) -> Sequence[Case]:
    """Return the cases in dataset order: marked, and invalid where no metric can score them.

    ``provided`` are the fields that a system under test fills in later.
    """
    _check_columns(binding, dataset, metrics, provided)
    _check_marks(binding, dataset)
    marked = mark_cases(dataset.cases, binding.scenario.skip, binding.scenario.xfail)
    cases = [
        _checked(case, line, metrics, provided)
        for case, line in zip(marked, dataset.lines, strict=True)
    ]
    invalid = [case for case in cases if isinstance(case, InvalidRow)]
    if invalid and len(invalid) == len(cases) and not binding.problems:
        binding.problems += _all_invalid(invalid, dataset.shown)
    _check_doc_weights(binding, cases)
    return cases


def _checked(
    case: Case, line: int | None, metrics: Sequence[BoundMetric], provided: frozenset[str]
) -> Case:
    """Return ``case``, or an invalid row when no metric has the fields that it needs.

    A row that is skipped need not have them.
    """
    if isinstance(case, InvalidRow) or case.skip is not None or not metrics:
        return case
    lacking = []
    for metric in metrics:
        missing = missing_fields(case, metric.info)
        if not missing or (provided and _will_have(case, metric.info, provided)):
            return case
        lacking.append(missing)
    fields = sorted({field for missing in lacking for field in missing})
    named = " and no ".join(_NAMED.get(field, field) for field in fields)
    reason = f"no {named}, without which no metric can score it"
    known = {
        name: value
        for name in ("id", "question", "answer", "references", "doc_name")
        if (value := getattr(case, name)) is not None
    }
    return InvalidRow(
        case.id,
        case.index,
        case.row,
        line,
        reason,
        json_text({**known, **case.metadata}),
        case.doc_name,
        case.metadata,
        case.tags,
        xfail=case.xfail,
    )


def _will_have(sample: Sample, info: MetricInfo, provided: frozenset[str]) -> bool:
    """Return whether nothing lacks once the ``provided`` fields are filled in."""
    needs = [info.needs, info.or_needs] if info.or_needs else [info.needs]
    return any(provided.issuperset(_absent(sample, need)) for need in needs)


def missing_fields(sample: Sample, info: MetricInfo) -> list[str]:
    """Return the fields that the metric needs and the sample lacks, sorted.

    Of two alternatives, the one counts of which the sample has more.
    """
    for need in info.needs:
        if getattr(sample, need) is None:
            break
    else:
        return []
    missing = _absent(sample, info.needs)
    other = _absent(sample, info.or_needs)
    return other if info.or_needs and len(other) < len(missing) else missing


def _absent(sample: Sample, needs: Iterable[str]) -> list[str]:
    return sorted(need for need in needs if getattr(sample, need) is None)


def _check_marks(binding: Binding, dataset: Dataset) -> None:
    fields = {"id", "doc_name", *dataset.metadata_columns}
    for section, specs in (("skip", binding.scenario.skip), ("xfail", binding.scenario.xfail)):
        for number, spec in enumerate(specs):
            at = binding.loaded.position(section, number)
            unknown = [name for name in spec.where if name not in fields]
            for name in unknown:
                message = unknown_name("field", name, fields)
                binding.problem(f"{section}[{at}].where: {message}", section, at)
            if not unknown and not any(meets(case, spec) for case in dataset.cases):
                named = ", ".join(f"{name} {value!r}" for name, value in spec.where.items())
                binding.warnings.append(f"{section}[{at}].where: no row has {shorten(named)}")


def _check_columns(
    binding: Binding,
    dataset: Dataset,
    metrics: Sequence[BoundMetric],
    provided: frozenset[str],
) -> None:
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if not samples:
        return
    present = {need for need in _FIELDS if any(getattr(case, need) is not None for case in samples)}
    present |= provided
    for metric in metrics:
        info = metric.info
        if info.needs <= present and provided & info.needs:
            continue
        if info.or_needs and info.or_needs <= present:
            _warn_of_mixture(binding, metric, samples)
            continue
        # Of two alternatives, the user most likely means the one that is there in part.
        started = info.or_needs and (info.or_needs & present) and not (info.needs & present)
        for need in sorted((info.or_needs if started else info.needs) - present):
            lacking = _lacking(binding, need, dataset)
            hint = _alternative(info) if not (started or info.needs & present) else ""
            message = f"metric {metric.column.name!r} needs {need!r}{hint}; {lacking}"
            binding.problem(message, "metrics", metric.position)


def _alternative(info: MetricInfo) -> str:
    if not info.or_needs:
        return ""
    return f" (or else {' and '.join(repr(need) for need in sorted(info.or_needs))})"


def _warn_of_mixture(binding: Binding, metric: BoundMetric, samples: Sequence[Sample]) -> None:
    """Say when a metric would measure one thing in some rows and another in others."""
    first = sum(not _absent(sample, metric.info.needs) for sample in samples)
    if 0 < first < len(samples):
        named = " and ".join(sorted(metric.info.needs))
        binding.warnings.append(
            f"metric {metric.column.name!r} compares {named} in {first} of {len(samples)} rows, "
            f"{' and '.join(sorted(metric.info.or_needs))} in the others; set its option 'on'"
        )


def _lacking(binding: Binding, need: str, dataset: Dataset) -> str:
    """Return what is the matter with a field that no valid row has."""
    key_map, corpus = binding.scenario.dataset.key_map, binding.scenario.corpus
    if need == "reference_contexts" and corpus is not None:
        return f"no row names, in doc_name, a document of the corpus {corpus.path}"
    sources = [key_map[need]] if need in key_map else FIELD_ALIASES.get(need, (need,))
    present = [column for column in sources if column in dataset.columns]
    if present:
        return f"no valid row of {dataset.shown} has anything in its column {present[0]!r}"
    if need == "context_docs":
        return f"{dataset.shown} has no {_NAMED[need]}"
    guess = nearest(need, dataset.columns)
    hint = f"; did you mean the column {guess!r}?" if guess else ""
    columns = ", ".join(dataset.columns[:20])
    other = ", or a 'corpus'" if need == "reference_contexts" else ""
    asked = "" if guess else _asked_by_a_test(binding, need)
    return f"{dataset.shown} has no such field (key_map?{other}){hint} Columns: {columns}{asked}"


def _asked_by_a_test(binding: Binding, need: str) -> str:
    """Return what else may be the matter where no row has an answer: the file runs by mistake."""
    name = binding.loaded.path.name
    if need != "answer" or ".rageval." not in name:
        return ""
    other = name.replace(".rageval.", ".")
    return (
        ". A system that answers is a 'target'; if a test function asks it (rag_scenario), name "
        f"this file otherwise, like {other}: pytest runs each *.rageval.yaml by itself"
    )


def _all_invalid(invalid: Sequence[InvalidRow], shown: str) -> Iterator[Problem]:
    yield Problem(shown, f"none of {len(invalid)} rows is valid")
    for row in invalid[:5]:
        yield Problem(row_place(shown, row.line, row.row), row.reason)


def _check_doc_weights(binding: Binding, cases: Sequence[Case]) -> None:
    weights = binding.scenario.doc_weights
    if not weights:
        return
    names = [case.doc_name for case in cases if case.doc_name is not None]
    present = {unicodedata.normalize("NFC", name) for name in names}
    unused = [name for name in weights if unicodedata.normalize("NFC", name) not in present]
    if unused:
        listed = ", ".join(shorten(name) for name in unused)
        binding.warnings.append(f"doc_weights names documents that no row has: {listed}")
    samples = [case for case in cases if isinstance(case, Sample)]
    if samples and all(resolve_weight(case.doc_name, weights) == 0.0 for case in samples):
        message = "doc_weights: every row weighs 0; at least one document must count"
        binding.problem(message, "doc_weights")
