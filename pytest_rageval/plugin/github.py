"""What a run tells GitHub Actions: the step summary, and annotations of what failed.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.model import GateResult, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.plugin.names import printable
from pytest_rageval.reports.summary_md import summary_text, verdict_text
from pytest_rageval.stats.verdict import badness, shortfalls, shown_errors

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES = 2**20
"""How large a step summary may be; GitHub shows nothing of one that is larger."""

ANNOTATIONS = 10
"""How many annotations of a kind GitHub shows for a step."""

_MESSAGE_WIDTH = 400

YamlPath = tuple[str | int, ...]


def is_asked(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether there is a GitHub to tell anything, and the ini file does not forbid it."""
    named = environ.get("GITHUB_ACTIONS") == "true" or environ.get(SUMMARY_VARIABLE)
    return bool(named and config.getini("rageval_github"))


def append_summary(
    results: Sequence[tuple[ScenarioResult, RunInfo]], environ: Mapping[str, str] = os.environ
) -> str | None:
    """Append the scenarios' summaries to the file that the environment names, if it does.

    Of a scenario for which there is no room the verdict alone is written, or nothing. Return what
    went wrong in a sentence, or None.
    """
    name = environ.get(SUMMARY_VARIABLE)
    if not name or not results:
        return None
    path = Path(name)
    try:
        size = path.stat().st_size if path.exists() else 0
        if path.exists() and not path.is_file():
            return f"{SUMMARY_VARIABLE}: not written: {name} is no file"
        text, left_out = _fitting(results, SUMMARY_BYTES - size)
        with path.open("ab", buffering=0) as stream:
            stream.write(text)  # one call of the system: no other process writes in between
    except OSError as error:
        return f"{SUMMARY_VARIABLE}: not written: {error}"
    if left_out:
        count = f"{left_out} of {len(results)} scenarios"
        return f"{SUMMARY_VARIABLE}: no room for {count} (GitHub shows 1 MiB a step)"
    return None


def _fitting(results: Sequence[tuple[ScenarioResult, RunInfo]], room: int) -> tuple[bytes, int]:
    """Return what fits into ``room`` bytes, and of how many scenarios nothing did."""
    parts: list[bytes] = []
    left_out = 0
    for result, run in results:
        whole = summary_text(result, run)
        short = f"{whole.partition(chr(10))[0]}\n\n{verdict_text(result)}\n"
        # The first line break ends the line that stands there, if it was left open.
        texts = [f"\n{text}".encode("utf-8", "backslashreplace") for text in (whole, short)]
        fitting = next((text for text in texts if len(text) <= room), None)
        if fitting is None:
            left_out += 1
            continue
        parts.append(fitting)
        room -= len(fitting)
    return b"".join(parts), left_out


def annotation_lines(
    results: Sequence[ScenarioResult], root: Path, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the workflow commands that annotate what failed; none outside of a workflow.

    An error for each failed gate, and a warning for each of the worst cases that failed, on the
    line of the scenario file that they come from. ``root`` is what its path is relative to.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    errors: list[str] = []
    warnings: list[str] = []
    for result in results:
        failed = [gate for gate in result.gates if gate.outcome == "failed"]
        cases = _worst_failed(result)
        if failed or cases:
            path = Path(os.path.normpath(root / result.info.path))
            place = _Place(path, Path(environ.get("GITHUB_WORKSPACE") or root))
            errors += (_of_gate(result, gate, place) for gate in failed)
            warnings += (_of_case(result, sample, place) for sample in cases)
    return [*errors[:ANNOTATIONS], *warnings[:ANNOTATIONS]]


def _worst_failed(result: ScenarioResult) -> list[SampleResult]:
    """Return the cases that could not be judged, then those that failed from the lowest upwards."""
    failed = [sample for sample in result.samples if sample.outcome in ("failed", "error")]
    return sorted(failed, key=badness)[:ANNOTATIONS]


def _of_gate(result: ScenarioResult, gate: GateResult, place: _Place) -> str:
    title = f"{result.info.name}: gate {gate.name}"
    return _command("error", place.file, place.line_of_gate(gate.name), title, gate.message)


def _of_case(result: ScenarioResult, sample: SampleResult, place: _Place) -> str:
    missed = shortfalls(sample, result.info.thresholds)
    reasons = [str(shortfall) for shortfall in missed]
    reasons += [f"{name}: {error}" for name, error in shown_errors(sample).items()]
    reasons += [f"question: {sample.question}"] if sample.question else []
    title = f"{result.info.name}: {sample.sample_id}"
    return _command("warning", place.file, place.line_of_case(sample), title, "\n".join(reasons))


def _command(level: str, file: str, line: int, title: str, message: str) -> str:
    where = f"file={_property(file)},line={line},title={_property(title)}"
    return f"::{level} {where}::{_data(shorten(message, _MESSAGE_WIDTH))}"


def _data(text: str) -> str:
    """Return text as the message of a command holds it."""
    # A carriage return, which would be %0D, is spelled out by printable.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return text as a property of a command holds it."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


class _Place:
    """A scenario file as annotations name it, with the lines of what is in it."""

    def __init__(self, path: Path, workspace: Path) -> None:
        inside = path.is_relative_to(workspace)
        self.file = (path.relative_to(workspace) if inside else path).as_posix()
        self._lines = _lines(path)

    def line_of_gate(self, name: str) -> int:
        """Return the line of ``by.doc_name.f1.mean``, or of the nearest key that holds it."""
        path: YamlPath = ("gates",)
        rest = name
        while rest:
            steps = [key for key in self._keys(path) if rest == key or rest.startswith(f"{key}.")]
            if not steps:
                break
            step = max(steps, key=len)  # names of metrics may have dots
            path, rest = (*path, step), rest[len(step) + 1 :]
        return self._lines.get(path, 1)

    def line_of_case(self, sample: SampleResult) -> int:
        """Return the line of a row that stands in the scenario, else that of its data set."""
        for path in (("dataset", sample.row - 1), ("dataset",), ("run_path",)):
            if path in self._lines:
                return self._lines[path]
        return 1

    def _keys(self, parent: YamlPath) -> Iterator[str]:
        for path in self._lines:
            if path[:-1] == parent and isinstance(path[-1], str):
                yield path[-1]


def _lines(path: Path) -> Mapping[YamlPath, int]:
    """Return the line of each value of a scenario file, {} where it cannot be read any more."""
    # Not at the top: an xdist controller reads no YAML unless something failed.
    from pytest_rageval.scenario.yaml_tree import parse_yaml

    try:
        return parse_yaml(path.read_text("utf-8-sig"), path.name).lines
    except (OSError, ValueError, ScenarioError):
        return {}
