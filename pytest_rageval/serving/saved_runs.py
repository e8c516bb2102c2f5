"""Saved runs of a scenario: one found by its name, its samples, and two of them compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.bind_baselines import baseline_of
from pytest_rageval.engine.scoring.score_sample import weigh_scores
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.errors import BaselineError, Problem, RagevalError, UserError, listed, shorten
from pytest_rageval.model import (
    NOTHING,
    TOLERANCE,
    WEIGHTED_SCORE,
    Baseline,
    Comparing,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.model.measured import CODE, code_differences, recorded_as, setting_differences
from pytest_rageval.reports.history import left_out, trend_of, unread_since
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.results.layout import SavedHead, SavedScenario, comparison_dict
from pytest_rageval.results.saved_run import SavedRun, load_baseline, out_of_range
from pytest_rageval.results.stored_result import stored_info, stored_samples
from pytest_rageval.run_paths import folder_name, run_folder
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec
from pytest_rageval.scenario.yaml.tree import parse_yaml
from pytest_rageval.serving.project import pick
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted, made_text, remark_of

LATEST: Final = "latest"
PREVIOUS: Final = "previous"
"""The names of the newest run and of the one before it, partial ones included."""

_WORST = 5
_DIGESTS = {
    "name": "the runs are of two scenarios",
    "dataset_sha256": "the data differ",
    "judgements_sha256": "the runs were judged by different qrels",
}
_CHANGES = {
    "question": "another question",
    "references": "other references",
    "judged_by": "other expected ids, contexts, groups of references, nuggets, checks or labels",
    "sample_weight": "another weight; they weigh as in A",
}


def find_run(base: Path, scenario: str, name: str, baselines: Path | None = None) -> Path:
    """Return the folder of a run of ``scenario`` below ``base``, or the file of a saved run.

    ``scenario`` is the name under which the runs are kept: ``bot``, or ``bot::dense``.
    ``name`` is the run's id, an unmistakable beginning of it, ``latest``, ``previous`` (the one
    before), or the name of a baseline in the folder ``baselines`` (default: the scenario's below
    ``base``). It is looked up in what there is, and never part of a path. Raises UserError for any
    other name, and for ``latest`` and ``previous`` where a newer run cannot be read.
    """
    home = base / run_folder(scenario)
    points = trend_of(base, scenario)[::-1]
    runs = [Path(point.folder).name for point in points]
    files = {path.stem: path for path in sorted((baselines or home / "baselines").glob("*.json"))}
    newest = dict(zip((LATEST, PREVIOUS), runs, strict=False))
    if name not in runs and name not in newest and folder_name(name) in files:
        return files[folder_name(name)]
    known, by_age = [*runs, *files, *newest], (LATEST, PREVIOUS)
    found = name if name in by_age else pick("run", name, known, begins=True)
    # Another run may be meant where one that is newer cannot be read.
    ids = dict(zip(by_age, (point.run_id for point in points), strict=False))
    if found in by_age and (unread := unread_since(base, scenario, ids.get(found, ""))):
        hint = "a run that can be read is named by its id"
        raise UserError([Problem("", f"run {found!r}: {left_out(unread)}; {hint}")])
    found = pick("run", found, known, begins=True)
    if found in newest:
        return home / newest[found]
    return files[found] if found in files else home / found


@dataclass(frozen=True)
class StoredRun:
    """A run as its file has it; ``plan`` has what the file says of the scenario, nothing to run."""

    saved: SavedRun
    plan: Plan

    @property
    def head(self) -> SavedHead:
        """What the file says of the run."""
        return self.saved.head

    @property
    def samples(self) -> list[SampleResult]:
        """The samples in their order."""
        return stored_samples(self.saved)

    @cached_property
    def view(self) -> RunView:
        """The run as it was: its figures and gates are those of the file."""
        head = self.head
        return RunView(
            ScenarioResult(
                info=replace(self.plan.info, sample=head.sample),
                estimates=head.estimates,
                counts=head.counts,
                complete=head.complete,
                metrics=head.metrics,
                comparisons=head.comparisons,
                weighted_score=head.weighted_score,
                samples=self.samples,
                gates=head.gates,
                controls=head.controls,
            )
        )


def read_run(run: Path) -> StoredRun:
    """Return a run; ``run`` is what ``find_run`` returned.

    Raises BaselineError if the file cannot be used.
    """
    file = run / "results.json" if run.is_dir() else run
    saved = load_baseline(run.stem, file, "", (), run.stem)
    found = StoredRun(saved, Plan(stored_info(saved.head), (), (), frozenset()))
    odd = out_of_range(saved, found.plan.info.metrics)
    if not odd and not _is_weighed(found):
        odd = "an earlier version did not save the ranges of its metrics; run it again"
    if odd:
        raise BaselineError([Problem("", f"run {run.stem}: {odd}")])
    return found


def compare_saved(
    a: Path, b: Path, test: SignificanceTest | None = None, worst: int = _WORST
) -> dict[str, Any]:
    """Return run ``a`` against the older run ``b``, as ``compare`` of a scenario does, JSON-plain.

    Samples are paired by id and weigh as in A, as do the metrics. A metric with another definition
    in B is not compared. ``metrics`` is as in ``results.json``, with the ``verdict`` in a word, and
    ``test``, ``alpha`` and ``correction`` are as there. ``n`` counts the samples that both runs
    have; of those with a weight that both scored, ``worse`` are the ``worst`` whose weighted score
    fell most, with the cause in A where that is known; ``better`` counts those that rose, ``fell``
    all that fell: None where the weighted scores cannot be compared. ``remarks`` say what is odd.

    Raises BaselineError for a file that cannot be used.
    """
    ours, theirs = read_run(a), read_run(b)
    refused = dict(_redefined(ours, theirs))
    baseline = baseline_of(_without(theirs.saved, refused), ours.plan)
    result = _compared(ours, baseline, test or SignificanceTest())
    (compared,) = RunView(result).compared
    found = comparison_dict(compared.figures)
    for metric in compared.metrics:
        found["metrics"][metric.name]["verdict"] = metric.word
    return {
        "n": len(ours.saved.samples) - len(compared.figures.only_a),
        **{key: found[key] for key in ("test", "alpha", "correction", "metrics")},
        **_changed(result, baseline, worst),
        "remarks": [*refused.values(), *_remarks(ours, theirs, result)],
    }


def _is_weighed(run: StoredRun) -> bool:
    """Return whether the weighted scores in the file are those of the metrics as they were read.

    Earlier versions did not say which metrics have other ranges, or are better when lower.
    """
    if run.head.scenario.scales is not None:
        return True
    names = [column.name for column in run.plan.info.metrics]
    weighed = [
        (weigh_scores(run.plan, {name: one.scores.get(name) for name in names}, one.errors), one)
        for one in run.samples
    ]
    return all(
        abs(score - one.weighted_score) <= TOLERANCE
        for score, one in weighed
        if is_scored(score) and is_scored(one.weighted_score)
    )


def _redefined(ours: StoredRun, theirs: StoredRun) -> Iterator[tuple[str, str]]:
    """Yield each metric that was measured otherwise in B, with a remark."""
    before = {column.name: column for column in theirs.plan.info.metrics}
    for column in ours.plan.info.metrics:
        was = before.get(column.name)
        if was is None:
            continue
        definition = recorded_as(column.definition, theirs.saved.measured)
        if recorded_as(was.definition, ours.saved.measured) != definition:
            change = f"was {was.definition or 'not described'}, is {column.definition}"
        # What 0.25 enters the weighted score as also tells the direction and ``as_is``.
        elif (was.range, was.to_unit(0.25)) != (column.range, column.to_unit(0.25)):
            change = f"was {_scale(was)}, is {_scale(column)}"
        else:
            continue
        yield column.name, f"{column.name} is not compared: it {change}"


def _scale(column: MetricColumn) -> str:
    low, high = column.range
    return (
        f"from {low:g} to {high:g} ({'higher' if column.higher_is_better else 'lower'} is better)"
    )


def _without(saved: SavedRun, metrics: Mapping[str, str]) -> SavedRun:
    """Return a saved run without the scores of these metrics."""
    return replace(
        saved,
        samples={
            sample_id: replace(
                sample, scores={k: v for k, v in sample.scores.items() if k not in metrics}
            )
            for sample_id, sample in saved.samples.items()
        },
    )


def _compared(ours: StoredRun, baseline: Baseline, test: SignificanceTest) -> ScenarioResult:
    """Return A as a result with its comparison."""
    info = replace(
        ours.plan.info,
        compare=(Comparing(baseline.name, test=test),),
        baselines={baseline.name: baseline},
        sample=None,  # estimates would need the run of ``against``, which is not at hand
    )
    result = summarize_scenario(info, ours.samples, complete=ours.head.complete)
    n = len(ours.samples)
    return decide_gates(result, Extent(n, n, n))


def _changed(result: ScenarioResult, baseline: Baseline, worst: int) -> dict[str, Any]:
    """Return which samples fell, and how many fell and rose."""
    # Not at the top: comparing imports numpy, which a server need not load before.
    from pytest_rageval.stats.comparison import scored_pairs

    if WEIGHTED_SCORE not in baseline.scores:
        return {"worse": [], "better": None, "fell": None}
    weighing = (sample for sample in result.samples if sample.sample_weight > 0.0)
    pairs = scored_pairs(result.info, weighing, baseline, WEIGHTED_SCORE)
    fallen = [pair for pair in pairs if pair[1] - pair[2] < -TOLERANCE]
    fallen.sort(key=lambda pair: pair[1] - pair[2])
    worse = [
        {
            "id": sample.sample_id,
            "question": sample.question,
            "a": a,
            "b": b,
            "diff": a - b,
            "cause": sample.cause,
            "cause_reason": sample.cause_reason,
        }
        for sample, a, b in fallen[:worst]
    ]
    better = sum(a - b > TOLERANCE for _, a, b in pairs)
    return {"worse": worse, "better": better, "fell": len(fallen)}


def _remarks(ours: StoredRun, theirs: StoredRun, result: ScenarioResult) -> Iterator[str]:
    found = result.comparison
    assert found is not None
    if ours.head.run.started_at < theirs.head.run.started_at:
        yield "A is older than B"
    yield from _remarks_on_metrics(ours, theirs)
    if WEIGHTED_SCORE not in result.info.baselines[found.baseline].scores:
        yield "weighted_score is not compared: B has not all metrics that it follows from"
    yield from _remarks_on_data(ours, theirs)
    for which, run, ids in (("A", ours, found.only_a), ("B", theirs, found.only_b)):
        yield from _remarks_on_extent(which, run)
        if ids:
            yield f"{counted(len(ids), 'sample')} only in {which}: {_listed(ids)}"
    for name, metric in found.metrics.items():
        if remark := remark_of(metric):
            yield f"{name}{' is undecided' if metric.undecided else ''}: {remark}"


def _remarks_on_extent(which: str, run: StoredRun) -> Iterator[str]:
    if not run.head.complete:
        counts = run.head.counts
        yield f"{which} is partial: {counts.ran} of {counts.samples} samples ran"
    elif text := run.view.asked:
        yield f"{which}: {text}"
    if run.head.made is not None:
        yield f"{which}: {made_text(run.head.made)}"


def _remarks_on_metrics(ours: StoredRun, theirs: StoredRun) -> Iterator[str]:
    now, was = (
        {column.name: column.weight for column in run.plan.info.metrics} for run in (ours, theirs)
    )
    for which, names in (("A", now.keys() - was.keys()), ("B", was.keys() - now.keys())):
        if names:
            yield f"metrics only in {which}: {_listed(sorted(names))}"
    changed = [
        f"{name} {was[name]:g} -> {now[name]:g}"
        for name in now
        if name in was and was[name] != now[name]
    ]
    if changed:
        yield f"the weights of metrics differ; both runs are weighed as A: {_listed(changed)}"


def _remarks_on_data(ours: StoredRun, theirs: StoredRun) -> Iterator[str]:
    was_so, is_so = theirs.saved.measured, ours.saved.measured
    for _, text in setting_differences(was_so, is_so):
        yield text
    for changed_code in code_differences(was_so.get(CODE, {}), is_so.get(CODE, {})):
        yield f"the code of {changed_code} has changed"
    for key, what in _DIGESTS.items():
        if getattr(ours.head.scenario, key) != getattr(theirs.head.scenario, key):
            yield what
    was = theirs.saved.samples
    shared = [(one, was[name]) for name, one in ours.saved.samples.items() if name in was]
    for key, what in _CHANGES.items():
        changed = [
            now.sample_id
            for now, then in shared
            if _differs(_on_record(now, key), _on_record(then, key))
        ]
        if changed:
            share = f"{len(changed)} of {len(shared)} shared samples"
            yield f"{share} have {what}: {_listed(changed)}"


def _differs(now: Any, then: Any) -> bool:
    """Return whether both are on record and differ; of digests only those that both runs have."""
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        return any(_differs(now[name], then[name]) for name in now.keys() & then.keys())
    return None not in (now, then) and bool(now != then)


def _on_record(sample: SampleResult, key: str) -> Any:
    """Return a field of a sample; None where the run did not save it."""
    value = getattr(sample, key)
    return None if value == NOTHING else value


def _listed(names: Iterable[str]) -> str:
    return listed(map(shorten, names), _WORST)


def row_place(root: Path, run: Path, about: SavedScenario, sample_id: str) -> str:
    """Return ``file:line`` of a sample's row, relative to ``root``, or "" where it is not known.

    ``run`` is the run's folder and ``about`` what its ``results.json`` says of the scenario. Not
    known: rows of a file outside of ``root``, of one that has changed since, of a format without
    lines, or made by a hook; and those of a baseline, which does not say where its data were.
    """
    try:
        file, line = _place(root.resolve(), run, about, sample_id)
    except (OSError, ValueError, LookupError, TypeError, RagevalError):
        return ""
    return f"{file.relative_to(root.resolve()).as_posix()}:{line}" if line else ""


def _place(root: Path, run: Path, about: SavedScenario, sample_id: str) -> tuple[Path, int | None]:
    """Return the file and the line; raises one of many errors where they cannot be found."""
    snapshot = (run / "scenario.snapshot.yaml").read_text("utf-8")
    keys = parse_yaml(snapshot, "scenario.snapshot.yaml").data
    spec = DatasetSpec.model_validate(keys["dataset"])
    joined = keys.get("answers")
    answers = None if joined is None else AnswersSpec.model_validate(joined)
    scenario = root / about.path
    file = (scenario if spec.rows is not None else scenario.parent / str(spec.path)).resolve()
    if not file.is_relative_to(root):
        raise ValueError("outside of the root")
    row_lines = None if spec.rows is None else _lines_of(file, spec.rows)
    dataset = load_dataset(spec, scenario.parent, about.path, row_lines, answers=answers)
    if spec.reviews:
        # Not at the top: most rows are not reviewed by people.
        from pytest_rageval.datasets.reviews import with_reviews

        dataset = with_reviews(dataset, spec.reviews, scenario.parent, about.path)
    if dataset.sha256 != about.dataset_sha256:
        raise ValueError("the data have changed")
    at = [case.id for case in dataset.cases].index(sample_id)
    return file, dataset.lines[at]


def _lines_of(scenario: Path, rows: Sequence[Any]) -> list[int | None]:
    """Return the lines of rows that are written in the scenario file."""
    tree = parse_yaml(scenario.read_text("utf-8-sig"), scenario.name)
    prefix: tuple[str, ...] = ("dataset",)
    found = tree.data["dataset"]
    if isinstance(found, dict):
        found, prefix = found["rows"], ("dataset", "rows")
    if found != rows:
        raise ValueError("the data have changed")
    return [tree.lines.get((*prefix, at)) for at in range(len(rows))]
