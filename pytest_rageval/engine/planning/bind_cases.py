"""The data of a scenario: its cases, checked against what the metrics need."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.id_cells import fitting
from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.planning.answer_columns import offers, outdated_lists, read_of_answers
from pytest_rageval.engine.planning.bind_columns import (
    check_columns,
    check_named_columns,
    check_pools,
)
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.planning.check_rows import checked, invalid, told_by_judge
from pytest_rageval.engine.scoring.score_sample import without_empty_answers
from pytest_rageval.errors import (
    MissingExtraError,
    Problem,
    ScenarioError,
    listed,
    shorten,
    unknown_name,
)
from pytest_rageval.model import (
    Case,
    InvalidRow,
    MadeQuestions,
    Sample,
    ScenarioView,
    answer_digest,
    is_by_model,
    json_plain,
    value_text,
)
from pytest_rageval.scenario.column_names import check_meant
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_OF, KEY_OF, WITH_ANSWERS
from pytest_rageval.scenario.loader import UNREADABLE
from pytest_rageval.scenario.schema import MarkSpec, Scenario
from pytest_rageval.stats.weights import resolve_weight
from pytest_rageval.stats.wording import counted


def bind_dataset(binding: Binding, view: ScenarioView, *, is_asked: bool) -> Dataset | None:
    """Return the data as they are scored: changed by hooks, empty answers as ``empty_answer`` says.

    None when they cannot be used. ``is_asked``: a system under test gives the answers later.
    """
    dataset = _read(binding, WITH_ANSWERS if is_asked else ())
    if dataset is None:
        return None
    human = binding.scenario.human
    if human is not None and human.column:  # hooks may give other answers than were labelled
        binding.row_digests = {
            case.id: answer_digest(case.answer, case.contexts)
            for case in dataset.cases
            if isinstance(case, Sample)
        }
    dataset = _changed(binding, dataset, view)
    if binding.scenario.empty_answer == "missing":
        dataset = replace(dataset, cases=without_empty_answers(dataset.cases))
    return dataset


def _read(binding: Binding, brought: Sequence[str]) -> Dataset | None:
    spec = binding.scenario.dataset
    if spec is UNREADABLE or (spec.rows == [] and binding.loaded.tree.problems):
        return None  # what is wrong with it is reported already
    try:
        dataset = _with_corpus(binding, _load(binding, spec, brought))
    except ScenarioError as error:
        binding.problems += error.problems
    except MissingExtraError as error:
        binding.problem(f"dataset: {error}", "dataset")
    else:
        binding.warnings += dataset.warnings
        binding.remarks += _read_by_likely_names(dataset)
        binding.remarks += dataset.remarks
        skips = binding.scenario.skip
        binding.remarks += offers(binding, dataset, lambda case: _marked(case, skips, ()))
        binding.remarks += outdated_lists(dataset)
        return _with_top_k(binding, dataset)
    return None


def _read_by_likely_names(dataset: Dataset) -> Iterator[str]:
    """Yield the line that says which columns are read by the names of other tools."""
    if dataset.likely:
        read = ", ".join(
            f"{shorten(repr(column), 60)} as {name}" for name, column in dataset.likely.items()
        )
        yield f"{dataset.shown}: read {read} (dataset.key_map or other_names: false changes that)"


def _load(binding: Binding, spec: DatasetSpec, brought: Sequence[str]) -> Dataset:
    # A variant may say the path alone, elsewhere in the file.
    key = ("path",) if binding.loaded.variant and spec.path is not None else ()
    folder, where = binding.loaded.path.parent, binding.loaded.where("dataset", *key)
    given = binding.given  # its name stands as the path, unless other data took its place
    if given is not None and given.shown != spec.path:
        if given.must_be_used:
            raise ScenarioError([Problem(where, _unused(binding.loaded.variant))])
        given = None
    if spec.qrels_path is not None:
        # Not at the top: most scenarios have rows.
        from pytest_rageval.datasets.trec import load_trec

        return load_trec(spec, folder, lambda key: binding.loaded.where("dataset", key))
    row_lines = None if spec.rows is None else lines_of_data(binding)[1:]

    def where_mapped(name: str) -> str:
        written = binding.loaded.tree.data["dataset"]["key_map"]
        key = next((key for key in written if KEY_OF.get(key) == name), name)
        return binding.loaded.where("dataset", "key_map", key)

    fallbacks = binding.loaded.tree.fallbacks
    dataset = load_dataset(
        spec,
        folder,
        where,
        row_lines,
        where_mapped,
        fallbacks,
        given=given,
        answers=binding.scenario.answers,
        answers_at=binding.loaded.where("answers"),
        kept=_named_columns(binding.scenario),
        of_answers=read_of_answers(binding),
        brought=brought,
    )
    if spec.reviews:
        # Not at the top: most rows are not reviewed by people.
        from pytest_rageval.datasets.reviews import with_reviews

        where = binding.loaded.where("dataset", "reviews")
        reviewed = with_reviews(dataset, spec.reviews, folder, where)
        if not brought:
            binding.remarks += _older_answers(dataset.cases, reviewed.cases)
        return reviewed
    return dataset


def _older_answers(before: Sequence[Case], after: Sequence[Case]) -> Iterator[str]:
    """Yield a remark on rows whose question people edited: the answers may be to the old one."""
    asked = {case.id: (case.question or "").split() for case in before}
    edited = [
        case.id
        for case in after
        if isinstance(case, Sample)
        and case.answer is not None
        and (case.question or "").split() != asked[case.id]
    ]
    if edited:
        yield (
            f"dataset.reviews: {counted(len(edited), 'question')} edited by people "
            f"({listed(map(shorten, edited), 5)}): the answers in the data may be to the "
            "earlier wording; ask again, or write the new wording into the data"
        )


def lines_of_data(binding: Binding) -> list[int | None]:
    """Return the line that names the data, then that of each row written in the scenario.

    None where there is no line in the file, as it comes from an override, or from Python.
    """
    lines, rows = binding.loaded.tree.lines, binding.scenario.dataset.rows or ()
    prefix = ("dataset", "rows") if ("dataset", "rows") in lines else ("dataset",)
    named = lines.get(("dataset",)) or lines.get(("run_path",))
    return [named, *(lines.get((*prefix, at)) for at in range(len(rows)))]


def _named_columns(scenario: Scenario) -> frozenset[str]:
    """Return the columns, but for ``FIELDS``, that metrics, gates, groups and conditions name.

    They stay metadata even where they are read as fields.
    """
    by = scenario.gates.get("by")
    names = {scenario.group_by, *(by if isinstance(by, Mapping) else ())}
    names.update(spec.column for spec in scenario.metrics)
    names.update(name for spec in (*scenario.skip, *scenario.xfail) for name in spec.where)
    return frozenset(name for name in names if name is not None and name not in FIELDS)


def own_names(dataset: Dataset, key_map: Mapping[str, str]) -> dict[str, str]:
    """Return the field of each column that is neither metadata nor in ``FIELDS``: users name it."""
    fields = {column: name for name, column in key_map.items()}
    return {
        column: fields.get(column) or FIELD_OF[column]
        for column in dataset.columns
        if column not in (*dataset.metadata_columns, *FIELDS)
        and (column in fields or column in FIELD_OF)
    }


def made_questions(dataset: Dataset, cases: Sequence[Case]) -> MadeQuestions | None:
    """Return how many of the cases hold questions that a model wrote; None without any.

    All that a run could ask are counted, whichever it chooses.
    """
    made = {case.id for case in cases if is_by_model(case.metadata)}
    if not made:
        return None
    reviewed, rejected = made & dataset.reviewed, dataset.rejected
    return MadeQuestions(len(made), len(reviewed), len(rejected), rows=len(cases))


def _unused(variant: str) -> str:
    """Return the message for rows that are handed over where the scenario has its own data."""
    message = "dataset: the rows that are handed over would not be used"
    if not variant:
        return f"{message}, an override names other data; take one of them away"
    return (
        f"{message}: the variant {variant!r} names data of its own; hand rows over for it alone, "
        f"evaluate_variants(..., variants={{{variant!r}: {{'dataset': frame}}, ...}})"
    )


def _with_corpus(binding: Binding, dataset: Dataset) -> Dataset:
    spec = binding.scenario.corpus
    if spec is None or binding.scenario.dataset.qrels_path is not None:
        return dataset  # rows of TREC files have no doc_name
    # Not at the top: most scenarios have none.
    from pytest_rageval.datasets.corpus import load_corpus, with_expected_contexts

    corpus = load_corpus(spec, binding.loaded.path.parent, binding.loaded.where("corpus"))
    return with_expected_contexts(dataset, corpus)


def _with_top_k(binding: Binding, dataset: Dataset) -> Dataset:
    k = binding.scenario.top_k
    if k is None:
        return dataset
    cases = [_cut(case, k) if isinstance(case, Sample) else case for case in dataset.cases]
    return replace(dataset, cases=cases)


def _cut(sample: Sample, k: int) -> Sample:
    names = ("contexts", "context_docs", "retrieved_ids", "context_ids")
    long = {name: found[:k] for name in names if (found := getattr(sample, name)) is not None}
    return fitting(replace(sample, **long))


def bind_cases(
    binding: Binding,
    dataset: Dataset,
    metrics: Sequence[BoundMetric],
    provided: frozenset[str] = frozenset(),
) -> Sequence[Case]:
    """Return the cases in dataset order: marked, then as ``_with_its_checks`` and ``checked`` say.

    ``provided`` are the fields that a system under test fills in later.
    """
    told = told_by_judge(binding)
    check_columns(binding, dataset, metrics, provided, told)
    check_named_columns(binding, dataset, metrics, is_asked=bool(provided))
    _check_marks(binding, dataset)
    marked = mark_cases(dataset.cases, binding.scenario.skip, binding.scenario.xfail)
    asked = frozenset[str]().union(*(metric.info.of_row for metric in metrics))
    misspelt = {
        column: field
        for column in dataset.metadata_columns
        if (field := check_meant(column)) in asked
    }
    cases = [
        checked(_with_its_checks(case, line, misspelt), line, metrics, provided, told)
        for case, line in zip(marked, dataset.lines, strict=True)
    ]
    refused = [case for case in cases if isinstance(case, InvalidRow)]
    if refused and len(refused) == len(cases) and not binding.problems:
        binding.problems += _all_invalid(refused, dataset.shown)
    _check_doc_weights(binding, cases)
    check_pools(binding, cases, metrics)
    return cases


def _with_its_checks(case: Case, line: int | None, misspelt: Mapping[str, str]) -> Case:
    """Return ``case``; an invalid row if it lacks a check and fills the misspelt column of it."""
    if isinstance(case, InvalidRow) or case.skip is not None:
        return case
    for column, field in misspelt.items():
        if getattr(case, field) is None and case.metadata.get(column) not in (None, "", [], ()):
            return invalid(case, line, f"no {field!r}, and {column!r} is not read: the same?")
    return case


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


def _all_invalid(refused: Sequence[InvalidRow], shown: str) -> Iterator[Problem]:
    yield Problem(shown, f"none of {len(refused)} rows is valid")
    for row in refused[:5]:
        yield Problem(row_place(shown, row.line, row.row), row.reason)


def _check_doc_weights(binding: Binding, cases: Sequence[Case]) -> None:
    weights = binding.scenario.doc_weights
    if not weights:
        return
    names = [case.doc_name for case in cases if case.doc_name is not None]
    present = {unicodedata.normalize("NFC", name).strip() for name in names}
    unused = [name for name in weights if unicodedata.normalize("NFC", name).strip() not in present]
    if unused:
        shown = ", ".join(shorten(name) for name in unused)
        binding.warnings.append(f"doc_weights names documents that no row has: {shown}")
    samples = [case for case in cases if isinstance(case, Sample)]
    if samples and all(resolve_weight(weights, case.doc_name) == 0.0 for case in samples):
        message = "doc_weights: every row weighs 0; at least one document must count"
        binding.problem(message, "doc_weights")


def _changed(binding: Binding, dataset: Dataset, view: ScenarioView) -> Dataset:
    """Return the data with the samples that hooks leave, and the invalid rows."""
    samples = tuple(case for case in dataset.cases if isinstance(case, Sample))
    left, remarks = binding.change_samples(view, samples)
    binding.remarks += remarks
    if left is samples:
        return dataset
    binding.is_part = len(left) < len(samples)
    return _with_samples(dataset, left)


def _with_samples(dataset: Dataset, samples: Sequence[Sample]) -> Dataset:
    refused = [case for case in dataset.cases if isinstance(case, InvalidRow)]
    cases: list[Case] = [*samples, *refused]
    if all(one.index < other.index for one, other in pairwise(samples)):
        cases.sort(key=lambda case: case.index)  # else a hook has chosen the order
    columns = [*dataset.metadata_columns, *(name for sample in samples for name in sample.metadata)]
    return replace(
        dataset,
        cases=[replace(case, index=at) for at, case in enumerate(cases)],
        lines=[_line(dataset, case) for case in cases],
        metadata_columns=tuple(dict.fromkeys(columns)),
    )


def _line(dataset: Dataset, case: Case) -> int | None:
    """Return the line of a case that was in the data, None for one that was made anew."""
    known = 0 <= case.index < len(dataset.cases) and dataset.cases[case.index].id == case.id
    return dataset.lines[case.index] if known else None


FIELDS: Final = ("id", "question", "answer", "doc_name")
"""What ``--rag-where`` can name of a case, besides the further columns of its row.

``skip.where`` and ``xfail.where`` know only the id, the doc_name and these columns.
"""


def mark_cases(
    cases: Sequence[Case], skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]
) -> Sequence[Case]:
    """Return ``cases`` with the reason of the first condition that each of them meets.

    A reason in the row itself comes before those of the scenario.
    """
    if not skip and not xfail:
        return cases
    return [_marked(case, skip, xfail) for case in cases]


def meets(case: Case, spec: MarkSpec) -> bool:
    """Return whether each field that the condition names has one of the values that it wants."""
    return all(matches(case, name, wanted) for name, wanted in spec.where.items())


def _marked(case: Case, skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]) -> Case:
    return replace(
        case,
        skip=case.skip if case.skip is not None else _reason(case, skip),
        xfail=case.xfail if case.xfail is not None else _reason(case, xfail),
    )


def _reason(case: Case, specs: Sequence[MarkSpec]) -> str | None:
    return next((spec.reason for spec in specs if meets(case, spec)), None)


def matches(case: Case, name: str, wanted: Any) -> bool:
    """Return whether a field has a value, or one of several; ``level: 3`` is the "3" of a CSV."""
    if isinstance(wanted, list):
        return any(matches(case, name, choice) for choice in wanted)
    value = value_of(case, name)
    if value is None or wanted is None:
        return value is wanted
    if isinstance(value, bool) or isinstance(wanted, bool):  # True in Python, TRUE in spreadsheets
        return str(value).lower() == str(wanted).lower()
    # 2024_01 of YAML is a text as it is written, and the number 202401 where the row has a number.
    plain = None if isinstance(value, str) else json_plain(wanted)
    texts = [value_text(part) for part in (wanted, plain) if part is not None]
    if name == "doc_name":
        found = unicodedata.normalize("NFC", value_text(value))
        return found in (unicodedata.normalize("NFC", text) for text in texts)
    return bool(value == wanted) or value_text(value) in texts


def value_of(case: Case, name: str) -> Any:
    """Return one of ``FIELDS`` of a case, or a further column of its row; None without it."""
    return getattr(case, name, None) if name in FIELDS else case.metadata.get(name)


def has_history(cases: Sequence[Case]) -> bool:
    """Return whether a row has earlier turns."""
    return any(isinstance(case, Sample) and case.history for case in cases)
