"""Output for GitHub Actions: the step summary, and annotations of failed gates and cases.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.errors import shorten
from pytest_rageval.model import GateResult, RunInfo, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.show.failures import ScenarioLines
from pytest_rageval.reports.markdown import cell
from pytest_rageval.reports.run_view import RunView, is_bad
from pytest_rageval.reports.summary_md import ranking_section, summary_text, verdict_text
from pytest_rageval.stats.verdict import badness
from pytest_rageval.text.printable import one_line, printable

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES = 2**20
"""The largest step summary; GitHub does not show a larger one."""

ANNOTATIONS = 10
"""How many annotations of each level GitHub shows for a step."""

_MESSAGE_WIDTH = 400


def append_summary(
    results: Sequence[tuple[ScenarioResult, RunInfo]],
    environ: Mapping[str, str] = os.environ,
    contests: Sequence[VariantComparison] = (),
) -> str | None:
    """Append the scenarios' summaries to the file that the environment names, if any.

    Summaries that compare variants come first. If there is not enough room, only a verdict is
    written (of a comparison its gate), or nothing. Returns a sentence about what went wrong, or
    None.
    """
    name = environ.get(SUMMARY_VARIABLE)
    if not name or not results:
        return None
    path = Path(name)
    try:
        size = path.stat().st_size if path.exists() else 0
        if path.exists() and not path.is_file():
            return f"{SUMMARY_VARIABLE}: not written: {name} is not a file"
        texts = list(_texts(results, contests))
        text, left_out = _fitting(texts, SUMMARY_BYTES - size)
        with path.open("ab", buffering=0) as stream:
            stream.write(text)  # one system call, so that no other process writes in between
    except OSError as error:
        return f"{SUMMARY_VARIABLE}: not written: {error}"
    if left_out:
        count = f"{left_out} of {len(texts)} summaries"
        return f"{SUMMARY_VARIABLE}: no room for {count} (GitHub shows 1 MiB per step)"
    return None


def _texts(
    results: Sequence[tuple[ScenarioResult, RunInfo]], contests: Sequence[VariantComparison]
) -> Iterator[tuple[str, str]]:
    """Yield each summary as a whole, and what is left of it without room, "" for nothing."""
    for contest in contests:
        if contest.ranking is not None:
            head = f"# {one_line(contest.info.name)}\n\n"
            section = ranking_section(contest.ranking, contest.gate, contest.results)
            gate = contest.gate
            said = "" if gate is None else f"gate {gate.name} {gate.outcome}: {gate.message}"
            short = f"{head}{cell(said, _MESSAGE_WIDTH)}\n" if said else ""
            yield head + "\n".join(section) + "\n", short
    for result, run in results:
        whole = summary_text(replace(result, ranking=None), run)
        yield whole, f"{whole.partition(chr(10))[0]}\n\n{verdict_text(RunView(result))}\n"


def _fitting(found: Iterable[tuple[str, str]], room: int) -> tuple[bytes, int]:
    """Return the text that fits into ``room`` bytes, and the number of summaries left out."""
    parts: list[bytes] = []
    left_out = 0
    for whole, short in found:
        # The first line break ends the last line of the file, if it is open.
        texts = [f"\n{text}".encode("utf-8", "backslashreplace") for text in (whole, short) if text]
        fitting = next((text for text in texts if len(text) <= room), None)
        if fitting is None:
            left_out += 1
            continue
        parts.append(fitting)
        room -= len(fitting)
    return b"".join(parts), left_out


def annotation_lines(
    results: Sequence[ScenarioResult],
    root: Path,
    environ: Mapping[str, str] = os.environ,
    contests: Sequence[VariantComparison] = (),
) -> list[str]:
    """Return the workflow commands that annotate failures; none outside a workflow.

    Errors: the first ten failed gates, those of variants first. Warnings: the ten worst cases of
    all scenarios that failed or could not be judged. GitHub shows no more. The scenarios' paths
    are relative to ``root``, those in the commands to ``GITHUB_WORKSPACE``, if it is set.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    errors: list[str] = []
    warnings: list[tuple[tuple[bool, float, int], str]] = []
    for contest in contests:
        if contest.gate is not None and contest.gate.outcome == "failed":
            place = _Place(contest.info, root, environ)
            title = f"{contest.info.name}: gate {contest.gate.name}"
            errors.append(
                _command("error", place.file, place.lines.of_best(), title, contest.gate.message)
            )
    for result in results:
        failed = [gate for gate in result.gates if gate.outcome == "failed"]
        view = RunView(result)
        cases = view.worst(is_bad)[:ANNOTATIONS]
        if failed or cases:
            place = _Place(result.info, root, environ)
            errors += (_of_gate(result, gate, place) for gate in failed)
            warnings += ((badness(sample), _of_case(view, sample, place)) for sample in cases)
    warnings.sort(key=lambda one: one[0])
    return [*errors[:ANNOTATIONS], *(text for _, text in warnings[:ANNOTATIONS])]


def _of_gate(result: ScenarioResult, gate: GateResult, place: _Place) -> str:
    title = f"{result.info.title}: gate {gate.name}"
    return _command("error", place.file, place.lines.of_gate(gate.name), title, gate.message)


def _of_case(view: RunView, sample: SampleResult, place: _Place) -> str:
    reasons = view.why(sample) + ([f"question: {sample.question}"] if sample.question else [])
    title = f"{view.result.info.title}: {sample.sample_id}"
    return _command(
        "warning", place.file, place.lines.of_row(sample.row), title, "\n".join(reasons)
    )


def _command(level: str, file: str, line: int, title: str, message: str) -> str:
    where = f"file={_property(file)},line={line},title={_property(title)}"
    return f"::{level} {where}::{_data(shorten(message, _MESSAGE_WIDTH))}"


def _data(text: str) -> str:
    """Return text escaped for the message of a command."""
    # printable() already replaces a carriage return, which would be %0D.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return text escaped for a property of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


class _Place:
    """A scenario file: its path in annotations, and its lines."""

    def __init__(self, info: ScenarioInfo, root: Path, environ: Mapping[str, str]) -> None:
        path = Path(os.path.normpath(root / info.path))
        workspace = Path(environ.get("GITHUB_WORKSPACE") or root)
        inside = path.is_relative_to(workspace)
        self.file = (path.relative_to(workspace) if inside else path).as_posix()
        self.lines = ScenarioLines(path, info.variant)
