"""The labels of people that a scenario names: read, and checked to be about its answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.labels import (
    Labelled,
    LabelReading,
    LabelRules,
    read_columns,
    read_label_file,
)
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.binding import Binding, resolve_metric
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten, unknown_name
from pytest_rageval.metrics.base import LevelGuide
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Case,
    Draw,
    HumanLabels,
    MetricColumn,
    Sample,
    answer_digest,
)
from pytest_rageval.results.draws import known_records
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.human_spec import HumanSpec
from pytest_rageval.stats.people import is_on_record
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.json_path import LostPathError, head_of, path_in

_SECTION = "human"


def bind_labels(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    dataset: Dataset,
    cases: Sequence[Case],
    *,
    is_answered: bool,
) -> tuple[HumanLabels, ...]:
    """Return what people say, for each metric that ``human`` names; () without that section.

    ``is_answered``: a target gives the answers, so that labels may turn out to be of others.
    """
    spec = binding.scenario.human
    if spec is None:
        return ()
    names = _targets(binding, spec, metrics)
    if not names:
        return ()
    _check_levels(binding, spec, [m.column for m in metrics if m.column.name in names])
    rules = LabelRules(
        names,
        [metric.column.name for metric in metrics if metric.column.name not in names],
        spec.levels,
        {case.id: _labelled(case, is_answered=is_answered) for case in cases},
        spec.annotators,
        spec.drawn,
        is_part=dataset.left_out != 0 or binding.is_part,
    )
    found = LabelReading()
    if spec.column:
        _read_columns(binding, spec, rules, dataset, cases, found)
    folder = binding.loaded.path.parent
    places = [("file", at, path) for at, path in enumerate(spec.file)]
    places += [("more", at, path) for at, path in enumerate(spec.more)]
    for key, at, path in places:
        where = binding.loaded.where(_SECTION, key, at)
        options = DatasetSpec(path=path, encoding=spec.encoding, delimiter=spec.delimiter)
        shown = binding.run_paths.shown(Path(path)) if Path(path).is_absolute() else path
        read_label_file(options, folder, shown, where, rules, found)
    files = [str(folder / path) for _, _, path in places]
    binding.problems += found.problems
    for why, count in found.left_out.items():
        binding.remarks.append(f"{_SECTION}: {counted(count, 'row')} {why}: left out")
    shown = ", ".join([*spec.file, *spec.more, *spec.column])
    return tuple(
        guided(
            HumanLabels(
                name,
                tuple(spec.levels),
                shown,
                {sample: tuple(labels) for sample, labels in found.labels.get(name, {}).items()},
                _draws(binding, files, name),
                spec.cut,
                tuple(files),
            ),
            metrics,
        )
        for name in names
    )


def guided(human: HumanLabels, metrics: Sequence[BoundMetric]) -> HumanLabels:
    """Return ``human`` with what its metric, if it is one of ``metrics``, says of the levels."""
    metric = next((one.metric for one in metrics if one.column.name == human.metric), None)
    guide = getattr(metric, "guide", None)
    if not isinstance(guide, LevelGuide):
        return human
    return replace(human, meanings=guide.of(human.levels), question=guide.question)


def _targets(binding: Binding, spec: HumanSpec, metrics: Sequence[BoundMetric]) -> list[str]:
    """Return the metrics that the labels are about; [] if that is a problem."""
    known = [*(metric.column.name for metric in metrics), WEIGHTED_SCORE]
    names = []
    for written in spec.of:
        name = resolve_metric(written, known, binding.known_metrics)
        if name is not None:
            names.append(name)
        elif not binding.is_unmade(written):
            message = unknown_name("metric", written, known)
            binding.problem(f"{_SECTION}.of: {message}", _SECTION, "of")
    if spec.of:
        return list(dict.fromkeys(names))
    judged = [metric.column.name for metric in metrics if metric.info.asks]
    if len(judged) == 1 or len(metrics) == 1:
        return judged or [metrics[0].column.name]
    if metrics:
        listed = ", ".join(judged or known)
        message = f"{_SECTION}: name the metric that the labels are about with 'of': {listed}"
        binding.problem(message, _SECTION)
    return []


def _check_levels(binding: Binding, spec: HumanSpec, columns: Iterable[MetricColumn]) -> None:
    """Refuse levels beyond a metric's range; two of them stand for bad and good on any scale."""
    for column in columns:
        low, high = column.range
        if len(spec.levels) > 2 and not low <= spec.levels[0] <= spec.levels[-1] <= high:
            levels = ", ".join(f"{level:g}" for level in spec.levels)
            message = f"{levels} leave the range {low:g}..{high:g} of {column.name}"
            binding.problem(
                f"{_SECTION}.levels: {message}; write them on its scale", _SECTION, "levels"
            )


def _labelled(case: Case, *, is_answered: bool) -> Labelled:
    if not isinstance(case, Sample):
        return Labelled(None, None)
    digest = None if is_answered else answer_digest(case.answer, case.contexts)
    return Labelled(digest, case.answer, case.contexts)


def _read_columns(
    binding: Binding,
    spec: HumanSpec,
    rules: LabelRules,
    dataset: Dataset,
    cases: Sequence[Case],
    found: LabelReading,
) -> None:
    if len(rules.metrics) > 1:
        binding.problem(f"{_SECTION}.column: 'of' must name one metric", _SECTION, "of")
        return
    known = dataset.metadata_columns
    for column in spec.column:
        if column not in known and head_of(column) not in known:
            hint = f"{did_you_mean(column, known)} Known: {', '.join(known)}"
            message = f"{_SECTION}.column: no row has a column {shorten(column)!r}.{hint}"
            binding.problem(message, _SECTION, "column")
            return
    samples = [(case, line) for case, line in zip(cases, dataset.lines, strict=True)]
    values = {
        case.id: (
            row_place(dataset.shown, line, case.row),
            [_cell(case, column) for column in spec.column],
        )
        for case, line in samples
    }
    if any(label.answer is None and label.digest is None for label in rules.answers.values()):
        message = (
            f"{_SECTION}.column: the target gives the answers, and the rows do not hold those that "
            "were labelled; put the labels into a file (pytest --rag-label N)"
        )
        binding.problem(message, _SECTION, "column")
        return
    read_columns(spec.column, values, rules, found)


def _cell(case: Case, column: str) -> object:
    if column in case.metadata:
        return case.metadata[column]
    path = path_in(column)
    try:
        return path.pick(case.metadata) if path is not None else None
    except LostPathError:
        return None


def _draws(binding: Binding, files: Sequence[str], metric: str) -> tuple[Draw, ...]:
    """Return the draws on record: beside the label files, and where ``--rag-label`` keeps them."""
    scenario = binding.scenario
    folder = binding.run_paths.labels_folder(scenario.name, scenario.output_dir)
    try:
        known = known_records(files, folder) if files else ()
    except ScenarioError as error:
        binding.problems += error.problems
        return ()
    return tuple(one.plain() for one in known if one.metric == metric)


def refuse_stale(binding: Binding, plan: Plan) -> None:
    """Note a problem for each label of an earlier answer that no draw or baseline has on record.

    It is then not known which of the other answers have changed as well.
    """
    cases, info = plan.cases, plan.info
    digests = {c.id: answer_digest(c.answer, c.contexts) for c in cases if isinstance(c, Sample)}
    saved = [Draw(one.digests) for one in info.baselines.values() if one.digests]
    for human in info.human:
        binding.problems += [
            Problem(label.place, f"{shorten(name)}: {_STALE}")
            for name, labels in human.labels.items()
            for label in labels
            if label.digest != digests.get(name, label.digest)
            and not is_on_record(name, label, [*human.draws, *saved])
        ]


_STALE = (
    "the answer has changed since it was labelled, and no draws.json beside the labels says which "
    "others have; remove this label, write 'chosen' as 'drawn' of the others of that time, and "
    "draw anew (pytest --rag-label N)"
)
