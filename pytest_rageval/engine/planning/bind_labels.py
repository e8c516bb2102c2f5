"""The labels of people that a scenario names: read, and checked to be about its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.labels import (
    Labelled,
    LabelReading,
    LabelRules,
    LabelScale,
    read_columns,
    read_label_file,
)
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.planning.binding import Binding, resolve_metric
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten, unknown_name
from pytest_rageval.metrics.base import LevelGuide
from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    SUPPORT,
    WEIGHTED_SCORE,
    Case,
    Draw,
    HumanLabels,
    MetricColumn,
    Sample,
    answer_digest,
)
from pytest_rageval.results.draws import DRAWS, DrawRecord, known_records, read_records
from pytest_rageval.scenario.answer_specs import HumanSpec
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.labelled import labelled_answers
from pytest_rageval.stats.labels.cells import LEVEL_WORDS, is_of_cells
from pytest_rageval.stats.labels.strata import is_on_record
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.json_value import LostPathError, head_of, path_in

_SECTION = "human"


def bind_labels(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    dataset: Dataset,
    cases: Sequence[Case],
    *,
    is_answered: bool,
) -> tuple[HumanLabels, ...]:
    """Return what people say, for each metric that ``human`` names; () if it names none.

    ``is_answered``: a target gives the answers, so a label may be about an earlier answer.
    """
    spec = binding.scenario.human
    if spec is None:
        return ()
    names = _labelled_metrics(binding, spec, metrics)
    if not names:
        return ()
    if spec.column and has_cells(metrics, names[0]):
        message = (
            f"{_SECTION}.column: labels of {SUPPORT} are about cells, not rows; put them into "
        )
        binding.problem(message + "a file (pytest --rag-label N)", _SECTION, "column")
        return ()
    scales = {name: _scale(binding, spec, metrics, name) for name in names}
    rules = LabelRules(
        scales,
        [metric.column.name for metric in metrics if metric.column.name not in names],
        {case.id: _labelled(case, is_answered=is_answered) for case in cases},
        spec.annotators,
        spec.drawn,
        is_part=dataset.left_out != 0 or binding.is_part,
        rejected=dataset.rejected,
    )
    found = LabelReading()
    if spec.column:
        _read_columns(binding, spec, rules, dataset, cases, found)
    _read_files(binding, spec, rules, found)
    files = [str(binding.loaded.path.parent / path) for path in (*spec.file, *spec.more)]
    binding.problems += found.problems
    left = [f"{counted(count, 'row')} {why}: left out" for why, count in found.left_out.items()]
    binding.remarks += [f"{_SECTION}: {line}" for line in left]
    of_others = [line for line in left if f"{_SECTION}.annotators" in line]
    shown = ", ".join([*spec.file, *spec.more, *spec.column])
    return tuple(
        guided(
            HumanLabels(
                name,
                tuple(scales[name].levels),
                shown,
                {sample: tuple(labels) for sample, labels in found.labels.get(name, {}).items()},
                _draws(binding, files, name, found),
                spec.cut,
                tuple(files),
                "" if found.labels else "; ".join([*found.blank, *of_others]),
                question=spec.question,
            ),
            metrics,
            binding.scenario.description if len(names) == 1 else "",
        )
        for name in names
    )


def _read_files(binding: Binding, spec: HumanSpec, rules: LabelRules, found: LabelReading) -> None:
    folder = binding.loaded.path.parent
    read: set[Path] = set()
    for key, paths in (("file", spec.file), ("more", spec.more)):
        for at, path in enumerate(paths):
            if (folder / path).resolve() in read:
                continue
            read.add((folder / path).resolve())
            where = binding.loaded.where(_SECTION, key, at)
            options = DatasetSpec(path=path, encoding=spec.encoding, delimiter=spec.delimiter)
            shown = binding.run_paths.shown(Path(path)) if Path(path).is_absolute() else path
            read_label_file(options, folder, shown, where, rules, found)
        if key == "file":
            _say_draws_to_copy(binding, spec.file, found)
    if found.labels:  # else this is the reason why there are none
        binding.remarks += [f"{_SECTION}: {line}" for line in found.blank]


def _say_draws_to_copy(binding: Binding, files: Sequence[str], found: LabelReading) -> None:
    """Say which draws of the labels in ``files`` the draws.json beside them lacks.

    ``--rag-label`` writes its draws.json on this machine only. Without a copy, the run is green
    here and red elsewhere; of labels drawn uniformly, no other machine can tell which answers have
    changed since. A draw that this machine lacks, too, is said where there is an older copy.
    """
    lists = [labels for by_sample in found.labels.values() for labels in by_sample.values()]
    codes = {label.drawn for labels in lists for label in labels} - {CHOSEN}
    if not codes or not files:
        return
    beside = [(binding.loaded.path.parent / name).with_name(DRAWS) for name in files]
    folder = _drawn_in(binding)
    try:
        kept = [record for path in beside for record in read_records(path)]
        drawn = read_records(folder / DRAWS)
    except ScenarioError:
        return  # said where the draws are read
    shown = binding.run_paths.shown
    lacking = sorted(codes - {RANDOM, *(code for record in kept for code in record.strata)})
    known = {code for record in drawn for code in record.strata}
    here = [code for code in lacking if code in known]
    lost = [code for code in lacking if code not in known]
    place = Path(files[0]).with_name(DRAWS).as_posix()
    days = [] if here else _days_of_uniform_draws(found, kept, drawn)
    if here or days:
        what = f"{place} lacks the draw of {', '.join(here or days)}"
        then = "fail" if here else "cannot tell which answers have changed since"
        copy = f"which is only in {shown(folder)}: copy it, or other machines {then}"
        binding.remarks.append(f"{_SECTION}: {what}, {copy}")
    if lost and any(path.is_file() for path in beside):
        what = f"{place} is older than the labels (no draw of {', '.join(lost)})"
        binding.remarks.append(f"{_SECTION}: {what}: copy the newest from {shown(folder)}")


def _days_of_uniform_draws(
    found: LabelReading, kept: Sequence[DrawRecord], drawn: Sequence[DrawRecord]
) -> list[str]:
    """Return the days (YYYY-MM-DD) of draws with labelled answers that no kept draw has."""
    known = {(one.metric, *answer) for one in kept for answer in one.digests.items()}
    days = {
        (one.metric, *answer): one.drawn_at[:10] for one in drawn for answer in one.digests.items()
    }
    uniform = {
        (metric, sample, label.digest)
        for metric, by_sample in found.labels.items()
        for sample, labels in by_sample.items()
        for label in labels
        if label.drawn == RANDOM
    }
    return sorted({days[one] for one in (uniform - known) & days.keys()})


def _drawn_in(binding: Binding) -> Path:
    return binding.run_paths.labels_folder(binding.title, binding.scenario.output_dir)


def guided(
    human: HumanLabels, metrics: Sequence[BoundMetric], description: str = ""
) -> HumanLabels:
    """Return ``human`` with what its metric, if it is one of ``metrics``, says of the levels.

    The question is its own, else that of the metric, else ``description``, if that asks something
    to which the higher level is the better answer.
    """
    if has_cells(metrics, human.metric):
        return human  # the page asks about statements, in its reader's language
    bound = next((metric for metric in metrics if metric.column.name == human.metric), None)
    guide = getattr(bound and bound.metric, "guide", None)
    if not isinstance(guide, LevelGuide):
        guide = LevelGuide({})
    is_up = bound is None or bound.column.higher_is_better
    asks = description if is_up and description.rstrip().endswith(("?", "？")) else ""
    question = human.question or guide.question or asks
    return replace(human, meanings=guide.of(human.levels), question=question)


def _labelled_metrics(
    binding: Binding, spec: HumanSpec, metrics: Sequence[BoundMetric]
) -> list[str]:
    """Return the metrics of ``human.of``, else the only one that is judged, or that there is.

    Unknown names, or several metrics to choose from, are problems.
    """
    of_table = [SUPPORT] if any(metric.info.of_table for metric in metrics) else []
    known = [*(metric.column.name for metric in metrics), WEIGHTED_SCORE, *of_table]
    names = []
    for written in spec.of:
        name = resolve_metric(written, known, binding.known_metrics)
        if name is not None:
            names.append(name)
        elif not binding.may_be_left_out(written):
            message = unknown_name("metric", written, known)
            binding.problem(f"{_SECTION}.of: {message}", _SECTION, "of")
    if spec.of:
        return list(dict.fromkeys(names))
    judged = labelled_names([metric for metric in metrics if metric.info.asks])
    if len(judged) == 1 or len(metrics) == 1:
        return judged or [metrics[0].column.name]
    if metrics:
        listed = ", ".join(judged or known)
        message = f"{_SECTION}: name the metric that the labels are about with 'of': {listed}"
        binding.problem(message, _SECTION)
    return []


def labelled_names(metrics: Sequence[BoundMetric]) -> list[str]:
    """Return what people can label: each metric, and the table in place of those that read it."""
    names = (SUPPORT if metric.info.of_table else metric.column.name for metric in metrics)
    return list(dict.fromkeys(names))


def has_cells(metrics: Sequence[BoundMetric], name: str) -> bool:
    """Return whether labels of ``name`` are about the cells of support tables."""
    return name == SUPPORT and any(metric.info.of_table for metric in metrics)


def _scale(
    binding: Binding, spec: HumanSpec, metrics: Sequence[BoundMetric], name: str
) -> LabelScale:
    """Return what labels of a metric may be; the levels must be clear.

    Three or more must be within its range; two are bad and good on any scale.
    """
    bound = next((metric for metric in metrics if metric.column.name == name), None)
    column = MetricColumn(WEIGHTED_SCORE) if bound is None else bound.column
    if has_cells(metrics, name):
        return LabelScale(_levels_of_cells(binding, spec), has_cells=True)
    levels = spec.levels or levels_of(bound)
    low, high = column.range
    if levels is None:
        message = (
            f"{_SECTION}: say what a label of {name} may be, for its range is {low:g}..{high:g}: "
            "'levels: [0, 1]' for bad and good, or values on its scale"
        )
        binding.problem(message, _SECTION)
    elif len(levels) > 2 and not low <= levels[0] <= levels[-1] <= high:
        listed = ", ".join(f"{level:g}" for level in levels)
        message = f"{listed} leave the range {low:g}..{high:g} of {name}; write them on its scale"
        binding.problem(f"{_SECTION}.levels: {message}", _SECTION, "levels")
    sees_contexts = bound is not None and "contexts" in bound.info.needs | bound.info.or_needs
    return LabelScale(levels or (0.0, 1.0), column.higher_is_better, sees_contexts)


def _levels_of_cells(binding: Binding, spec: HumanSpec) -> Sequence[float]:
    """Return the levels that a source supports a statement at: all, unless some are written."""
    lost = sorted(set(spec.levels or ()) - LEVEL_WORDS.keys())
    if lost:
        known = ", ".join(LEVEL_WORDS.values())
        message = f"{lost[0]:g} is no level of {SUPPORT}; known: {known} (0, 0.5, 1)"
        binding.problem(f"{_SECTION}.levels: {message}", _SECTION, "levels")
    return spec.levels or tuple(LEVEL_WORDS)


def levels_of(metric: BoundMetric | None) -> Sequence[float] | None:
    """Return what labels may be where ``human.levels`` does not say it.

    None where it has to be said. A rubric has levels of its own. On a scale from 0 to 1 they are
    0 and 1; elsewhere a 1 might mean the best of two, or the worst of five.
    """
    guide = None if metric is None else getattr(metric.metric, "guide", None)
    own = sorted(guide.meanings) if isinstance(guide, LevelGuide) else []
    if own or metric is None or metric.column.range == (0.0, 1.0):
        return own or (0.0, 1.0)
    return None


def _labelled(case: Case, *, is_answered: bool) -> Labelled:
    if not isinstance(case, Sample):
        return Labelled(None, None)
    digest = None if is_answered else answer_digest(case.answer, case.contexts)
    return Labelled(digest, case.answer, case.contexts, case.question)


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
    elsewhere = [one for one in spec.column if head_of(one) not in dataset.beside_answers]
    if dataset.answered_by and elsewhere:
        message = (
            f"{_SECTION}.column: {elsewhere[0]!r} is of {dataset.shown}, and the answers are of "
            f"{dataset.answered_by}: a label is of the answer beside it. Put the labels there, or "
            "into a file (pytest --rag-label N)"
        )
        binding.problem(message, _SECTION, "column")
        return
    ours = labelled_answers(binding.loaded.tree.data)
    if ours is not None and ours.are_others(binding.loaded.labels, dataset.columns):
        message = (
            f"{_SECTION}.column: {shorten(spec.column[0])!r} is of other answers in these rows "
            f"than dataset.key_map reads; give {_SECTION!r} the column of these, or put the labels "
            "into a file (pytest --rag-label N)"
        )
        binding.problem(message, _SECTION, "column")
        return
    values = {
        case.id: (
            row_place(dataset.shown, line, case.row),
            [_column_value(case, column) for column in spec.column],
        )
        for case, line in zip(cases, dataset.lines, strict=True)
    }
    given = binding.scenario.answers
    merges = binding.scenario.dataset.merge_rows or (given is not None and given.merge_rows)
    several = [place for place, cells in values.values() if any(isinstance(c, list) for c in cells)]
    if merges and several:
        message = (
            f"{_SECTION}.column: the rows that merge_rows makes one sample of differ in it, for "
            f"instance those from {several[0]} on: where they are alike, nothing tells one "
            "annotator from several. Give each annotator a column, or a label file"
        )
        binding.problem(message, _SECTION, "column")
        return
    if any(_waits_for_answer(case, rules) for case in cases):
        message = (
            f"{_SECTION}.column: the target gives the answers, and the rows do not hold those that "
            "were labelled; put the labels into a file (pytest --rag-label N)"
        )
        binding.problem(message, _SECTION, "column")
        return
    read_columns(spec.column, values, binding.row_digests, rules, found)


def _waits_for_answer(case: Case, rules: LabelRules) -> bool:
    """Return whether a target gives the answer of a valid row, which has none of its own."""
    if not isinstance(case, Sample):
        return False
    labelled = rules.answers[case.id]
    return labelled.answer is None and labelled.digest is None


def _column_value(case: Case, column: str) -> object:
    if column in case.metadata:
        return case.metadata[column]
    path = path_in(column)
    try:
        return path.pick(case.metadata) if path is not None else None
    except LostPathError:
        return None


def _draws(
    binding: Binding, files: Sequence[str], metric: str, read: LabelReading
) -> tuple[Draw, ...]:
    """Return the draws on record: beside the label files, and where ``--rag-label`` keeps them.

    Labels of a metric may be drawn for another one, or under its former name.
    """
    try:
        known = known_records(files, _drawn_in(binding)) if files else ()
    except ScenarioError as error:
        binding.problems += error.problems
        return ()
    labels = read.labels.get(metric, {}).values()
    codes = {label.drawn for of_sample in labels for label in of_sample}
    ours = (one for one in known if one.metric == metric or not codes.isdisjoint(one.strata))
    return tuple(one.plain() for one in ours)


def refuse_stale(binding: Binding, plan: Plan) -> None:
    """Note a problem for each label of an earlier answer that no draw or baseline has on record.

    It is then not known which of the other answers have changed as well.
    """
    cases, info = plan.cases, plan.info
    digests = {c.id: answer_digest(c.answer, c.contexts) for c in cases if isinstance(c, Sample)}
    saved = [Draw(baseline.digests) for baseline in info.baselines.values() if baseline.digests]
    for human in info.human:
        if is_of_cells(info, human.metric):
            continue  # which cells there are shows when the judge has been asked
        binding.problems += [
            Problem(label.place, f"{shorten(name)}: {_STALE}")
            for name, labels in human.labels.items()
            for label in labels
            if label.digest != digests.get(name, label.digest)
            and not is_on_record(name, label, [*human.draws, *saved])
        ]


_STALE = (
    "the answer has changed since it was labelled, and no draws.json beside the labels says which "
    "others have; remove this label, write 'chosen' in the column 'drawn' of the other "
    "labels of that time, and draw anew (pytest --rag-label N)"
)
