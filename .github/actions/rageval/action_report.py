"""What the comment on a pull request says of the runs, as Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOM = 65_000
"""In characters: a comment holds 65,536, and marker and links are added."""

_CUT = "\n\n*Cut here: the rest is in `summary.md` of the uploaded folder.*\n"

MEANINGS = {
    1: "a case or a gate failed",
    2: "a scenario or its data could not be used, or the run was interrupted",
    3: "an internal error",
    4: "wrong use of the command line, or no saved run to compare with",
    5: "nothing was collected",
}
"""By pytest's exit status."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder: where it is, its ``summary.md``, and whether it was compared with the baseline.

    ``path`` is the scenario's file as pytest names it, relative to its rootdir. ``is_first``: it is
    undecided only because the saved run that gates compare with is not there yet.
    """

    folder: Path
    summary: str
    is_compared: bool
    path: str = ""
    is_first: bool = False

    @property
    def title(self) -> str:
        """The scenario's name, already safe in Markdown."""
        return self.summary.partition("\n")[0].removeprefix("# ")

    @property
    def verdict(self) -> str:
        """The sentence with the verdict in bold; what is missing if there is none."""
        lines = [line for line in self.summary.splitlines() if line.startswith("**")]
        return lines[0] if lines else "**NOT JUDGED**: summary.md is missing or has no verdict"

    @property
    def is_green(self) -> bool:
        return self.verdict.startswith("**passed**")

    @property
    def is_idle(self) -> bool:
        """Whether nothing in the scenario judges answers, nor the gate ``best`` its variants."""
        return self.verdict.startswith("**not judged**") and not contests([self])

    @property
    def is_unclear(self) -> bool:
        """Whether it says neither that it passed nor that it has nothing to pass."""
        return not self.verdict.startswith(("**passed**", "**not judged**"))


def run_folders(base: Path) -> set[Path]:
    """Return the folders below ``base`` that hold a run; links are not followed."""
    return {Path(folder) for folder, _, names in os.walk(base) if "results.json" in names}


def read_run(folder: Path, baseline: str) -> Run:
    """Return what a run folder says; without ``summary.md`` the run counts as not judged.

    A run that was compared with others only, such as pinned ones, is not compared.
    """
    file = folder / "summary.md"
    results = json.loads((folder / "results.json").read_text("utf-8"))
    summary = file.read_text("utf-8") if file.is_file() else f"# {folder.parent.name}\n"
    compared = results.get("comparisons", [results.get("comparison")])
    is_compared = any(one and one["baseline"] == baseline for one in compared)
    run = Run(folder, summary, is_compared, results["scenario"]["path"])
    is_undecided = run.verdict.startswith("**undecided**") and results.get("complete") is True
    waits = not is_compared and _waits(results.get("gates", ()), baseline)
    return replace(run, is_first=is_undecided and waits)


def _waits(gates: Sequence[Mapping[str, Any]], baseline: str) -> bool:
    """Return whether all that is skipped is so because nothing was compared with the baseline."""
    skipped = [gate for gate in gates if gate["outcome"] == "skipped"]
    said = f"not compared with {baseline!r}"
    return bool(skipped) and all(
        gate.get("baseline") == baseline and gate["message"].startswith(said) for gate in skipped
    )


def contests(runs: Sequence[Run]) -> list[str]:
    """Return what the gate ``best`` says of scenarios with variants; it is in no run's summary."""
    files = {run.folder.parents[1] / "variants.json" for run in runs}
    gates = [
        json.loads(file.read_text("utf-8"))["gate"] for file in sorted(files) if file.is_file()
    ]
    # As code: names of variants mean nothing in Markdown.
    said = [f"gate best {gate['outcome']}: {gate['message']}" for gate in gates if gate]
    return ["`" + text.replace("`", "'") + "`" for text in said]


def report_text(runs: Sequence[Run], verdict: str, status: int, notes: Sequence[str]) -> str:
    """Return the verdict of all, a line for each scenario, then the summaries, red ones first.

    Never longer than ``ROOM``. ``verdict`` is the action's output, ``status`` pytest's. Notes say
    what the figures cannot, as that nothing was compared.
    """
    parts = [f"## {_headline(verdict, status)}\n"]
    parts += [f"- {note}\n" for note in notes]
    if len(runs) > 1:
        parts.append("\n| scenario | verdict |\n|---|---|\n")
        parts += [f"| {run.title} | {run.verdict} |\n" for run in runs]
    text = _cut("".join(parts), ROOM)
    for run in sorted(runs, key=lambda run: run.is_green):
        text += _cut(f"\n{run.summary}", ROOM - len(text))
    return text


def _headline(verdict: str, status: int) -> str:
    word = {"passed": "passed", "failed": "FAILED"}.get(verdict, "NOT JUDGED")
    meaning = MEANINGS.get(status, "it was ended from outside")
    why = f" (exit status {status}: {meaning})" if status else ""
    return f"rageval: {word}{why}"


def _cut(text: str, room: int) -> str:
    """Return the text, or as many of its lines as there is room for with the remark."""
    if len(text) <= room:
        return text
    kept = text[: max(0, room - len(_CUT))].rpartition("\n")[0]
    return kept + _CUT if room >= len(_CUT) else ""
