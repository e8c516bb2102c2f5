"""``--rag-history``: lists the runs of a scenario with their means, and draws the trend."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

from pytest_rageval.errors import unknown_name
from pytest_rageval.model import SEPARATOR, WEIGHTED_SCORE
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.reports.history import all_runs, left_out, unread_runs
from pytest_rageval.reports.write_run import latest_run
from pytest_rageval.results.run_point import RunPoint, change_of
from pytest_rageval.stats.wording import change, counted, figure, interval, made_text
from pytest_rageval.text.printable import cells, one_line, pad, printable

_LISTED = 10
_DRAWN = 40
_BLOCKS = "▁▂▃▄▅▆▇█"
# For a terminal that cannot show the blocks.
_PLAIN = "_.-:=+*#"
_SHORT_COMMIT = 8


def print_history(base: Path, scenario: str) -> int:
    """Print the runs below ``base`` of one scenario, or of each when ``scenario`` is empty.

    The name of a scenario with variants stands for all of them, and ``bot::dense`` for one.
    Returns exit status OK, also without any runs; raises UsageError for a name that has none.
    """
    points = all_runs(base)
    names = list(
        dict.fromkeys(point.scenario for point in sorted(points, key=attrgetter("scenario")))
    )
    wanted = [name for name in names if scenario in ("", name, name.partition(SEPARATOR)[0])]
    if scenario and not wanted:
        known = unknown_name("scenario", scenario, names).rstrip(".")
        raise pytest.UsageError(f"--rag-history: {printable(known)}. Runs are in {base}")
    lines = [] if wanted else [f"no runs in {base} (--rag-output names another folder)"]
    for name in wanted:
        runs = [point for point in points if point.scenario == name]
        lines += history_lines(runs, _blocks(), len(runs) if scenario else _LISTED)
        lines += _clock_lines(base, runs)
    if unread := unread_runs(base):
        lines.append(left_out(unread))
    say("".join(printable(line) + "\n" for line in lines))
    return int(pytest.ExitCode.OK)


def _clock_lines(base: Path, points: Sequence[RunPoint]) -> Iterator[str]:
    """Yield a remark if the run that was written last is not the last one by the clock."""
    last = points[-1]
    latest = latest_run((base / last.folder).parent)
    for point in points:
        if (base / point.folder).resolve() == latest and point.started_at < last.started_at:
            yield (
                f"{latest.name} was written last, and began before {Path(last.folder).name} by its "
                "clock: runs at the same time, or a clock that was set back"
            )
            yield ""


def history_lines(
    points: Sequence[RunPoint], blocks: str = _BLOCKS, most: int = _LISTED
) -> Iterator[str]:
    """Yield the lines about one scenario: a table of its newest runs, and the trend of each metric.

    ``points`` are its runs, oldest first, at least one; the table has ``most`` of them. ``blocks``
    are eight characters to draw with, from low to high. The trend is that of the newest 40 complete
    runs, also of those that the table leaves out; there is none with fewer than two.
    """
    shown = points[max(0, len(points) - most) :]
    metrics = list(dict.fromkeys(name for point in shown for name in point.metrics))
    more = f", the newest {most} of them" if len(points) > most else ""
    yield f"{one_line(points[-1].scenario)}: {counted(len(points), 'run')}{more}"
    yield ""
    yield from _table(shown, metrics)
    complete = [point for point in points if point.complete][-_DRAWN:]
    if len(complete) > 1:
        yield ""
        yield from _trends(complete, metrics, blocks)
    yield ""


def _table(points: Sequence[RunPoint], metrics: Sequence[str]) -> Iterator[str]:
    head = ["run", "started (UTC)", "verdict", "gates", "passed", WEIGHTED_SCORE]
    rows = [[*head, "95 % interval", *map(one_line, metrics), "commit"]]
    rows += [_row(point, metrics) for point in points]
    if not any(point.commit for point in points):
        rows = [row[:-1] for row in rows]
    widths = [max(cells(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row, remark in zip(rows, ["", *(_remark(point) for point in points)], strict=True):
        columns = (pad(text, width) for text, width in zip(row, widths, strict=True))
        yield f"{'  '.join(columns)}  {remark}".rstrip()


def _row(point: RunPoint, metrics: Sequence[str]) -> list[str]:
    overall = point.weighted_score
    return [
        Path(point.folder).name,
        point.started_at[:16].replace("T", " "),
        _verdict(point),
        _gates(point),
        f"{point.counts.passed}/{point.counts.samples}",
        figure(overall.mean),
        interval(overall.ci_low, overall.ci_high),
        *(figure(point.mean_of(name)) for name in metrics),
        (point.commit or "")[:_SHORT_COMMIT],
    ]


def _verdict(point: RunPoint) -> str:
    """Return the verdict in the words of ``summary.md``."""
    if point.failed:
        return "FAILED"
    if point.gates_skipped or not (point.complete or point.counts.not_asked):
        return "undecided"
    return "passed" if point.judged else "not judged"


def _gates(point: RunPoint) -> str:
    total = point.gates_passed + point.gates_failed + point.gates_skipped
    if point.gates_failed:
        return f"{point.gates_failed} of {total} FAILED"
    if point.gates_skipped:
        return f"{point.gates_skipped} of {total} undecided"
    return f"{total} passed" if total else "-"


def _remark(point: RunPoint) -> str:
    word = "stopped" if point.counts.not_asked else "partial"
    partial = f"{word}: {point.counts.ran} of {point.counts.samples} samples"
    remarks = [] if point.complete else [partial]
    remarks += [f"sampled: {len(point.sample.drawn)} rows asked"] if point.sample else []
    remarks += [made_text(point.made)] if point.made else []
    remarks += [f"overridden: {', '.join(point.overridden)}"] if point.overridden else []
    remarks += [_baselines(point)] if _names_baselines(point) else []
    return one_line("; ".join(remarks))


def _names_baselines(point: RunPoint) -> bool:
    """Return whether the remark names the baselines: if there are several, or one is pinned."""
    return len(point.compared) > 1 or any(one.looks > 1 for one in point.compared)


def _baselines(point: RunPoint) -> str:
    """Return how the gates of each baseline ended: ``main passed, v1 (pinned) FAILED``."""
    return ", ".join(
        f"{run.baseline}{' (pinned)' if run.looks > 1 else ''} {_ENDED[run.outcome]}"
        for run in point.compared
    )


_ENDED: Final = {
    "passed": "passed",
    "failed": "FAILED",
    "skipped": "undecided",
    None: "without a gate",
}


def _trends(points: Sequence[RunPoint], metrics: Sequence[str], blocks: str) -> Iterator[str]:
    """Yield a line for each metric: its values as blocks, the range, and the last change.

    Where what is measured changed, the blocks have a break, and lines at the end say why.
    """
    names = {WEIGHTED_SCORE: WEIGHTED_SCORE} | {name: one_line(name) for name in metrics}
    width = max(map(cells, names.values()))
    whys: dict[str, dict[str, None]] = {}
    for name, shown in names.items():
        values = [_mean(point, name) for point in points]
        breaks = _breaks(name, points)
        for at, why in breaks.items():
            whys.setdefault(Path(points[at].folder).name, {})[one_line(why)] = None
        parts = [values[start:end] for start, end in pairwise([0, *breaks, len(values)])]
        known = [value for value in parts[-1] if value is not None]
        if any(value is not None for value in values):
            drawn = _BREAK.join(sparkline(part, blocks) for part in parts)
            yield f"{pad(shown, width)}  {drawn}  {_span(known)}".rstrip()
    for run, reasons in whys.items():
        what = f"what is measured changed ({'; '.join(reasons)})"
        yield f"{_BREAK} not comparable with the runs before {run}: {what}"


_BREAK = "|"


def _mean(point: RunPoint, name: str) -> float | None:
    return point.weighted_score.mean if name == WEIGHTED_SCORE else point.mean_of(name)


def _breaks(name: str, points: Sequence[RunPoint]) -> dict[int, str]:
    """Return why a figure is not comparable with the one before, by the position of its run.

    Runs that lack the figure are passed over.
    """
    found: dict[int, str] = {}
    having = [at for at, point in enumerate(points) if _mean(point, name) is not None]
    for before, after in pairwise(having):
        why = change_of(name, points[before], points[after])
        if why:
            found[after] = why
    return found


def _span(known: Sequence[float]) -> str:
    """Return the range of the figures since the last break, and their last change."""
    if not known:
        return ""
    last = f"  last {change(known[-1] - known[-2])}" if len(known) > 1 else ""
    return f"{interval(min(known), max(known))}{last}"


def sparkline(values: Sequence[float | None], blocks: str = _BLOCKS) -> str:
    """Return a block for each value, in their order, as high as it is in their range.

    A space stands for None.

    >>> sparkline([0.0, None, 0.5, 1.0])
    '▁ ▅█'
    """
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    top = len(blocks) - 1
    # A constant line, or one whose range no float can hold, is drawn in the middle.
    is_drawn = 0.0 < high - low < math.inf

    def block(value: float) -> str:
        return blocks[round((value - low) / (high - low) * top) if is_drawn else top // 2]

    return "".join(" " if value is None else block(value) for value in values)


def _blocks() -> str:
    try:
        _BLOCKS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return _PLAIN
    return _BLOCKS
