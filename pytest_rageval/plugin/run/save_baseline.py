"""``--rag-save``: saves a green run as a baseline, or says why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rageval.model import GateResult, RunInfo, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.run.last_failed import DESELECTED
from pytest_rageval.reports.write_run import save_baseline
from pytest_rageval.run_paths import RunPaths, is_path


@dataclass(frozen=True, slots=True)
class Saving:
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

    def save(
        self, result: ScenarioResult, run: RunInfo, broken: int = 0, best: GateResult | None = None
    ) -> Saving:
        """Save the run if it may be a baseline.

        ``broken`` is the number of cases that ended with an error after they were judged; ``best``
        is the gate over all variants, of a variant.
        """
        info, run_paths, name = result.info, self._run_paths, self.name or ""
        path = run_paths.baseline_file(name, info.title, info.output_dir)
        judged = result if best is None else replace(result, gates=(*result.gates, best))
        refusal = self._refusal(judged, path, broken)
        if refusal is not None:
            return refusal
        try:
            save_baseline(result, run, path, run_paths.run_base(info.output_dir))
        except OSError as error:
            return self._failure(f"{run_paths.shown(path)}: {error.strerror or error}")
        self._saved[path] = info.title
        shown = run_paths.shown(path)
        return Saving(f"baseline {name} saved{'' if shown == name else f': {shown}'}")

    def _refusal(self, result: ScenarioResult, path: Path, broken: int) -> Saving | None:
        if reason := next(self._hindrances(result, path), ""):
            return self._failure(reason)
        red = ", ".join(_failures(result, broken))
        if not red:
            untested = next(_judges(result, passed=None), "")
            return (
                self._failure(untested) if untested and not self._run_paths.saves_failed else None
            )
        is_compared = path.resolve() in self._compared(result.info)
        if self._run_paths.saves_failed and not is_compared:
            return None
        name = "OTHER" if is_compared else self.name
        why = " and was compared with this baseline" if is_compared else ""
        hint = f"--rag-save-failed {name} saves it anyway"
        refusal = f"baseline {self.name} NOT saved: the run is red ({red}){why}; {hint}"
        return Saving(refusal, is_failure=self._run_paths.saves_failed)

    def _hindrances(self, result: ScenarioResult, path: Path) -> Iterator[str]:
        """Yield why the run cannot be saved, be it green or red."""
        counts, info = result.counts, result.info
        if counts.not_asked:
            yield (
                f"{counts.not_asked} of {counts.samples} samples were not asked; a stopped run is "
                "never saved as a baseline: remove 'stop'"
            )
        if not result.complete:
            yield f"{counts.ran} of {counts.samples} samples ran"
        if path in self._saved:
            yield f"{self._run_paths.shown(path)} holds the run of {self._saved[path]}"
        if is_path(self.name or "") and path.exists() and not self._may_replace(path):
            what = f"{self._run_paths.shown(path)} exists and is not a saved run"
            yield f"{what}; name another file, or delete this one"
        if info.refused_baseline and not self._run_paths.saves_failed:
            yield (
                f"it is there, and this run cannot be compared with it ({info.refused_baseline}). "
                f"To replace it all the same: --rag-save-failed {self.name}; to keep it: another "
                "name, here and in 'compare'"
            )
        yield from _judges(result, passed=False)
        if left_out := [gate.name for gate in result.gates if gate.message.startswith(DESELECTED)]:
            yield f"gate {', '.join(left_out)} was deselected"

    @staticmethod
    def _may_replace(path: Path) -> bool:
        # Not at the top: most runs are not saved.
        from pytest_rageval.results.saved_run import is_saved_run

        return is_saved_run(path)

    def _compared(self, info: ScenarioInfo) -> set[Path]:
        """Return the files of the baselines of a scenario."""
        folder = (self._run_paths.root / info.path).parent
        files = (
            self._run_paths.compared_file(name, info.title, info.output_dir, folder)
            for name in info.baselines
        )
        return {file.resolve() for file in files}

    def _failure(self, reason: str) -> Saving:
        return Saving(f"baseline {self.name} NOT saved: {reason}", is_failure=True)


def _failures(result: ScenarioResult, broken: int) -> Iterator[str]:
    """Yield the reasons why the run of a scenario is red: cases and gates."""
    counts = result.counts
    if counts.failed:
        yield f"{counts.failed} failed"
    if counts.error:
        yield f"{counts.error} could not be judged"
    if broken:
        yield f"{broken} ended with an error"
    for gate in result.gates:
        if gate.outcome == "failed":
            yield f"gate {gate.name}"


def _judges(result: ScenarioResult, *, passed: bool | None) -> Iterator[str]:
    """Yield which judges did not pass their control rows, or (None) were not tested."""
    for name, verdict in result.controls.items():
        if verdict.is_doubtful and verdict.passed is passed:
            how = "was not tested by" if passed is None else "did not pass"
            yield f"control rows: the judge of {name} {how} them"
