"""What the end of a run writes: run folders, saved runs (``--rag-save``), files of answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pytest

from pytest_rageval.model import GateResult, RunInfo, ScenarioInfo, ScenarioResult, Value
from pytest_rageval.plugin.exit_status import scenarios_below
from pytest_rageval.plugin.run.gate_reports import best_of, report_failure
from pytest_rageval.plugin.run.last_failed import DESELECTED
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.pytest_reports import Publisher
from pytest_rageval.reports.base import remove_leftovers, write_atomically
from pytest_rageval.reports.write_run import run_info, save_baseline, write_run
from pytest_rageval.run_paths import RunPaths, is_path, is_same_file, of_variant
from pytest_rageval.stats.wording import counted


class AnswerFile:
    """Writes the answers of the first scenario with answers to the requested file.

    Each of its variants gets a file of its own: ``answers-dense.jsonl``.
    """

    def __init__(self, run_paths: RunPaths) -> None:
        self._run_paths = run_paths
        self._path: Path | None = run_paths.answers
        self._written: dict[Path, str] = {}

    def add(self, result: ScenarioResult, *, is_usable: bool) -> list[str]:
        """Write the rows of a scenario; return remarks for the end of the run.

        ``is_usable``: whether all scenarios could be used; one that could not may read the file.
        """
        if self._path is None:
            return []
        if not is_usable:
            return ["answers NOT saved: a scenario could not be used, and may read the file"]
        info = result.info
        path = of_variant(self._path, info.variant)
        shown = self._run_paths.shown(path)
        # A test function gets its answers without the scenario's target.
        if not info.target and info.is_of_file:
            return ["answers NOT saved: the scenario has no target"]
        if path in self._written:
            return [f"answers NOT saved: {shown} holds the answers of {self._written[path]}"]
        # Not at the top: most runs save no answers.
        from pytest_rageval.datasets.save import rows_text, saved_rows
        from pytest_rageval.engine.planning.check_answer_file import texts_of
        from pytest_rageval.scenario.yaml.tree import parse_yaml

        # A merge makes no plan, which would have refused it.
        folder, keys = (self._run_paths.root / info.path).parent, parse_yaml(info.snapshot, "").data
        if any(is_same_file(path, folder / text) for text in texts_of(keys)):
            return [f"answers NOT saved: {shown} is a file that the scenario reads"]
        columns = (keys.get("human") or {}).get("column") or []
        rows, others = saved_rows(result, columns)
        try:
            write_atomically(path, rows_text(rows, path.suffix.lower()))
        except OSError as error:
            return [f"answers NOT saved: {shown}: {error.strerror or error}"]
        remove_leftovers(path.parent, path.name)
        self._written[path] = info.title
        saved = [f"answers saved: {shown}{_of_part(result)}"]
        if others:
            rows_of = counted(others, "row")
            why = f"in {rows_of} they are, or may be, of another answer (use --rag-label N)"
            saved.append(f"labels NOT saved in {shown} ({', '.join(columns)}): {why}")
        return saved


def _of_part(result: ScenarioResult) -> str:
    """Return a note such as " (partial run: 3 of 6 samples)" if not all were asked, else ""."""
    counts, sample = result.counts, result.info.sample
    if not result.complete:
        word = "stopped" if counts.not_asked else "partial"
        return f" ({word} run: {counts.ran} of {counts.samples} samples)"
    drawn = "" if sample is None else f"{len(sample.drawn)} of {sample.rows} rows"
    return f" (sampled run: {drawn})" if drawn else ""


class SavePaths:
    """Writes the files that scenarios name as ``save_path``, outside of the run's folder.

    Each is of one run of the session, the first that names it.
    """

    def __init__(self, run_paths: RunPaths, requested: Collection[str] = ()) -> None:
        """``requested`` are the reports that were asked for."""
        self._run_paths = run_paths
        self._is_requested = "ultrarag.json" in requested
        self._written: dict[Path, str] = {}

    def add(self, result: ScenarioResult) -> list[str]:
        """Write the file of a scenario, if it names one; return why it is not written, if not."""
        info = result.info
        if info.save_path is None:
            lacks = "ultrarag.json NOT written: save_path names its file, and the scenario has none"
            return [lacks] * self._is_requested
        # Not at the top: most scenarios name none.
        from pytest_rageval.reports.other_layouts import samples_in, write_ultrarag

        path = of_variant(self._run_paths.root / info.save_path, info.variant)
        shown = self._run_paths.shown(path)
        for file, other in self._written.items():
            if is_same_file(path, file):
                holds = f"{shown} holds the scores of {other}, and is for one run"
                return [f"save_path NOT written: {holds}"]
        ran = len(result.samples)
        if not result.complete and (held := samples_in(path)) > ran:
            held_more = f"{shown} has scores of {held} samples, and this partial run of {ran}"
            return [f"save_path NOT written: {held_more}"]
        try:
            write_ultrarag(result, path)
        except OSError as error:
            return [f"save_path NOT written: {shown}: {error.strerror or error}"]
        self._written[path] = info.nodeid
        return []


class Saving(Value, frozen=True):
    """The remark about saving at the end of the run; ``is_failure``: it could not be saved."""

    remark: str
    is_failure: bool = False


class BaselineSaver:
    """Saves the runs of a session under the requested name."""

    def __init__(self, run_paths: RunPaths) -> None:
        self._run_paths = run_paths
        self._saved: dict[Path, str] = {}

    @property
    def name(self) -> str | None:
        """The name to save under, None if nothing is to be saved."""
        return self._run_paths.saving

    def save(self, result: ScenarioResult, run: RunInfo, best: GateResult | None = None) -> Saving:
        """Save the run if it may be a baseline.

        ``best``, the gate over all variants, counts as one of a variant's own.
        """
        info, run_paths, name = result.info, self._run_paths, self.name or ""
        path = run_paths.baseline_file(name, info.title, info.output_dir)
        judged = result if best is None else replace(result, gates=(*result.gates, best))
        refusal = self._refusal(judged, path)
        if refusal is not None:
            return refusal
        is_new_pin = not path.exists() and self._is_one_of(path, info, info.pinned)
        try:
            save_baseline(result, run, path, run_paths.run_base(info.output_dir))
        except OSError as error:
            return self._failure(f"{run_paths.shown(path)}: {error.strerror or error}")
        self._saved[path] = info.title
        shown = run_paths.shown(path)
        remark = f"baseline {name} saved{'' if shown == name else f': {shown}'}"
        pinned = "; it was not there, and is pinned from now on" if is_new_pin else ""
        return Saving(f"{remark}{pinned}")

    def _refusal(self, result: ScenarioResult, path: Path) -> Saving | None:
        """Return why the run is not saved, None if it is to be.

        ``--rag-save`` leaves out a red run, and that is no further failure; with a judge that is
        not tested by control rows, a green run is one. ``--rag-save-failed`` saves both, but fails
        for a red run where the baseline of that name is pinned, or was compared with it.
        """
        if reason := next(self._hindrances(result, path), ""):
            return self._failure(reason)
        red = ", ".join(_why_red(result))
        if not red:
            untested = next(_doubtful_judges(result, passed=None), "")
            return self._failure(untested) if untested and not self._saves_failed else None
        why = ""
        if self._takes_place_of_pinned(path, result.info):
            why = " and this baseline is pinned"
        elif self._is_one_of(path, result.info, result.info.baselines):
            why = " and was compared with this baseline"
        if self._saves_failed and not why:
            return None
        name = "OTHER" if why else self.name
        hint = f"--rag-save-failed {name} saves it anyway"
        refusal = f"baseline {self.name} NOT saved: the run is red ({red}){why}; {hint}"
        return Saving(refusal, is_failure=self._saves_failed)

    def _hindrances(self, result: ScenarioResult, path: Path) -> Iterator[str]:
        """Yield why the run cannot be saved, be it green or red."""
        counts, info = result.counts, result.info
        yield from _why_partial(result)
        if not result.complete:
            yield f"{counts.ran} of {counts.samples} samples ran"
        if path in self._saved:
            yield f"{self._run_paths.shown(path)} holds the run of {self._saved[path]}"
        if is_path(self.name or "") and path.exists() and not self._may_replace(path):
            what = f"{self._run_paths.shown(path)} exists and is not a saved run"
            yield f"{what}; name another file, or delete this one"
        if not (self._saves_failed or is_path(self.name or "")) and (
            other := self._other(path, info)
        ):
            yield (
                f"{self._run_paths.shown(path)} holds a run of {other}: give one of them another "
                f"'name', save under another name, or replace it (--rag-save-failed {self.name})"
            )
        if self._takes_place_of_pinned(path, info) and not self._saves_failed:
            yield (
                f"it is pinned: runs are compared with it over several looks ('looks' in compare). "
                f"Save under another name, or to replace it: --rag-save-failed {self.name}"
            )
        if info.refused_baseline and not self._saves_failed:
            yield (
                f"it is there, and this run cannot be compared with it ({info.refused_baseline}). "
                f"To replace it all the same: --rag-save-failed {self.name}; to keep it: another "
                "name, here and in 'compare'"
            )
        yield from _doubtful_judges(result, passed=False)
        if left_out := [gate.name for gate in result.gates if gate.message.startswith(DESELECTED)]:
            yield f"gate {', '.join(left_out)} was deselected"

    @staticmethod
    def _may_replace(path: Path) -> bool:
        # Not at the top: most runs are not saved.
        from pytest_rageval.results.saved_run import is_saved_run

        return is_saved_run(path)

    def _other(self, path: Path, info: ScenarioInfo) -> str:
        """Return the scenario file, or test function, whose saved run ``path`` is; "" for ours.

        A file that is no longer there has been renamed.
        """
        if not path.exists():
            return ""
        # Not at the top: most runs are not saved.
        from pytest_rageval.results.saved_run import saved_scenario

        saved = saved_scenario(path)
        if saved is None:
            return ""
        is_other_file = saved.path != info.path and (self._run_paths.root / saved.path).is_file()
        own = "" if info.is_of_file else info.nodeid
        if is_other_file or (saved.test and saved.test != own):
            return saved.test or saved.path
        return ""

    def _takes_place_of_pinned(self, path: Path, info: ScenarioInfo) -> bool:
        """Return whether ``path`` replaces a pinned run that is there, or would be read before it.

        The pinned run may be elsewhere: beside the scenario, or where an earlier version saved it.
        """
        for name in info.pinned:
            there = self._compared(name, info)
            first = self._run_paths.baseline_file(name, info.title, info.output_dir)
            if there.exists() and (is_same_file(path, there) or is_same_file(path, first)):
                return True
        return False

    def _is_one_of(self, path: Path, info: ScenarioInfo, names: Iterable[str]) -> bool:
        """Return whether ``path`` is the file of one of these baselines, however it is spelled."""
        return any(is_same_file(path, self._compared(name, info)) for name in names)

    def _compared(self, name: str, info: ScenarioInfo) -> Path:
        folder = (self._run_paths.root / info.path).parent
        return self._run_paths.compared_file(name, info.title, info.output_dir, folder)

    @property
    def _saves_failed(self) -> bool:
        return self._run_paths.saves_failed

    def _failure(self, reason: str) -> Saving:
        return Saving(f"baseline {self.name} NOT saved: {reason}", is_failure=True)


def _why_partial(result: ScenarioResult) -> Iterator[str]:
    """Yield why a run that chose which samples to ask is never saved."""
    counts, info = result.counts, result.info
    if counts.not_asked:
        yield (
            f"{counts.not_asked} of {counts.samples} samples were not asked; a stopped run is "
            "never saved as a baseline: remove 'stop'"
        )
    if sample := info.sample:
        yield (
            f"{len(sample.drawn)} of {sample.rows} rows were asked; a sampled run is never "
            "saved as a baseline: leave out 'sample' (--rag-sample)"
        )


def _why_red(result: ScenarioResult) -> Iterator[str]:
    """Yield the reasons why the run of a scenario is red: cases and gates."""
    counts = result.counts
    if counts.failed:
        yield f"{counts.failed} failed"
    if counts.error:
        yield f"{counts.error} could not be judged"
    for gate in result.gates:
        if gate.outcome == "failed":
            yield f"gate {gate.name}"


def _doubtful_judges(result: ScenarioResult, *, passed: bool | None) -> Iterator[str]:
    """Yield a sentence for each judge that did not pass its control rows.

    With ``passed=None``, for each that was not tested by them.
    """
    for name, verdict in result.controls.items():
        if verdict.is_doubtful and verdict.passed is passed:
            how = "was not tested by" if passed is None else "did not pass"
            yield f"control rows: the judge of {name} {how} them"


WRITTEN = pytest.StashKey[list[tuple[ScenarioResult, Path | str]]]()
"""Key in the config: each result with the folder of its files, or a sentence why there is none."""

Workers = Callable[[str], int]
Usage = Callable[[str], Mapping[str, float | None] | None]


class RunFiles:
    """The files of a run, and the remarks about them; ``written`` as ``WRITTEN`` says."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        started: datetime,
        workers: Workers,
        usage: Usage,
    ) -> None:
        """``workers`` and ``usage`` say what a scenario, by its node id, took to run."""
        self._config = config
        self._settings = settings
        self._started = started
        self._workers = workers
        self._usage = usage
        self._baselines = BaselineSaver(settings.run_paths)
        self._answers = AnswerFile(settings.run_paths)
        self._save_paths = SavePaths(settings.run_paths, settings.reports)
        self._remarks: dict[str, list[str]] = {}
        self._infos: dict[str, RunInfo] = {}
        self.publisher = Publisher(config)
        self.written = config.stash.setdefault(WRITTEN, [])

    def remark(self, info: ScenarioInfo, remarks: Sequence[str]) -> None:
        """Add remarks for the end of the run."""
        self._remarks.setdefault(info.nodeid, []).extend(remarks)

    def remarks_on(self, info: ScenarioInfo) -> Sequence[str]:
        """Return the remarks about the files of a scenario."""
        return self._remarks.get(info.nodeid, ())

    def write(
        self,
        result: ScenarioResult,
        all_results: Sequence[ScenarioResult],
        *,
        is_usable: bool = True,
    ) -> None:
        """Write the run folder of a scenario, its other files, and its lines in the history.

        ``is_usable``: whether all scenarios could be used. With ``--rag-keep``, older runs are
        deleted unless one of ``all_results`` names them.
        """
        info, settings, run = result.info, self._settings, self._run_info(result)
        output, root = settings.run_paths.run_base(info.output_dir), settings.run_paths.root
        # SavePaths writes the file of ``save_path``: once in a session.
        inside = replace(result, info=replace(info, save_path=None))
        try:
            folder: Path | str = write_run(inside, run, root, output, settings.reports)
            self.remark(info, self._save_paths.add(result))
        except OSError as error:
            folder = f"not written: {error}"
        self.remark(info, self._answers.add(result, is_usable=is_usable))
        self.remark(info, self.publisher.add(result, run, folder))
        if settings.keep is not None and isinstance(folder, Path):
            self.remark(info, self._delete_old_runs(info, folder, settings.keep, all_results))
        self.written.append((result, folder))

    def _delete_old_runs(
        self, info: ScenarioInfo, folder: Path, keep: int, results: Sequence[ScenarioResult]
    ) -> list[str]:
        """Delete older runs but those that are compared, saved or named by a scenario; say so."""
        # Not at the top: most runs have no such option.
        from pytest_rageval.reports.write_run import remove_old_runs

        paths = self._settings.run_paths
        names = [*info.baselines, *([paths.saving] if paths.saving else [])]
        spared = [paths.known_baseline_file(name, info.title, info.output_dir) for name in names]
        spared += [paths.answers] if paths.answers else []
        texts = self._scenario_texts(results)
        return list(remove_old_runs(folder, info.title, keep, spared, texts))

    def _scenario_texts(self, results: Sequence[ScenarioResult]) -> Iterator[str]:
        """Yield the scenarios as they ran, and the files of others, which may name a run."""
        yield from (result.info.snapshot for result in results)
        for file in self._other_scenarios:
            with suppress(OSError):
                yield file.read_text("utf-8", "replace")

    @cached_property
    def _other_scenarios(self) -> list[Path]:
        """All files below the rootdir that may be scenarios; OSError if there are too many folders.

        A scenario that is named when it runs may have any name. Copies in run folders are left out:
        they name what an earlier run compared with.
        """
        patterns = (*self._settings.patterns, "*.yaml", "*.yml")
        found = scenarios_below(self._config.rootpath, patterns, is_complete=True)
        return [file for file in found if file.name != "scenario.snapshot.yaml" and file.is_file()]

    def with_saved(
        self, session: pytest.Session, result: ScenarioResult, *, is_reported: bool
    ) -> ScenarioResult:
        """Save the run as a baseline if requested; a run that cannot be saved is a failure.

        ``is_reported``: whether pytest hears of the failure, as of that of a test.
        """
        if self._baselines.name is None:
            return result
        best = best_of(self._config, result.info)
        done = self._baselines.save(result, self._run_info(result), best)
        self.remark(result.info, [done.remark])
        if not done.is_failure:
            return result
        name = f"save:{self._baselines.name}"
        if is_reported:
            report_failure(session, result, name, done.remark)
        gate = GateResult(name, "failed", None, None, done.remark)
        return replace(result, gates=(*result.gates, gate))

    def _run_info(self, result: ScenarioResult) -> RunInfo:
        """Return the run's facts, the same for the scenario's baseline and its run folder."""
        nodeid = result.info.nodeid
        if nodeid not in self._infos:
            workers, usage, now = self._workers(nodeid), self._usage(nodeid), datetime.now(UTC)
            self._infos[nodeid] = run_info(result, self._started, now, workers=workers, usage=usage)
        return self._infos[nodeid]
