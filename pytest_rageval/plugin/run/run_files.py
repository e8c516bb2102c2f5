"""Writes what a judged run leaves behind: run folders, saved runs, answers, the history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_rageval.model import GateResult, RunInfo, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.quality_options import scenarios_below
from pytest_rageval.plugin.run.contests import best_of
from pytest_rageval.plugin.run.gate_reports import report_failure
from pytest_rageval.plugin.run.save_answers import AnswerFile
from pytest_rageval.plugin.run.save_baseline import BaselineSaver
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.pytest_reports import Publisher
from pytest_rageval.reports.write_run import run_info, write_run

WRITTEN = pytest.StashKey[list[tuple[ScenarioResult, Path | str]]]()
"""Key in the config: each result with the folder of its files, or a sentence why there is none."""

Workers = Callable[[str], int]
Usage = Callable[[str], Mapping[str, float | None] | None]


class RunFiles:
    """The files of a run, and the remarks about them; ``written`` are the results with folders."""

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

    def write(self, result: ScenarioResult, all_results: Sequence[ScenarioResult]) -> None:
        """Write the run folder of a scenario, its answers, and its line in the history."""
        info, settings, run = result.info, self._settings, self._run_info(result)
        output, root = settings.run_paths.run_base(info.output_dir), settings.run_paths.root
        try:
            folder: Path | str = write_run(result, run, root, output, settings.reports)
        except OSError as error:
            folder = f"not written: {error}"
        self.remark(info, self._answers.add(result))
        self.remark(info, self.publisher.add(result, run, folder))
        if settings.keep is not None and isinstance(folder, Path):
            self.remark(info, self._without_old(info, folder, settings.keep, all_results))
        self.written.append((result, folder))

    def _without_old(
        self, info: ScenarioInfo, folder: Path, keep: int, results: Sequence[ScenarioResult]
    ) -> list[str]:
        """Remove older runs; a file that is compared or saved may be in the folder of one."""
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
        yield from (one.info.snapshot for one in results)
        for file in scenarios_below(self._config.rootpath, self._settings.patterns):
            with suppress(OSError):
                yield file.read_text("utf-8", "replace")

    def with_saved(
        self, session: pytest.Session, result: ScenarioResult, broken: int, *, is_reported: bool
    ) -> ScenarioResult:
        """Save the run as a baseline if requested; a run that cannot be saved is a failure.

        ``broken`` is the number of cases that ended with an error after they were judged.
        """
        if self._baselines.name is None:
            return result
        best = best_of(self._config, result.info)
        done = self._baselines.save(result, self._run_info(result), broken, best)
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
