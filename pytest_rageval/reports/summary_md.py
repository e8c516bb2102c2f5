"""``summary.md``: verdict, means, gates, and what is worst, fit for a pull-request comment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Comparison,
    GateResult,
    RunInfo,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports.base import RunFolder
from pytest_rageval.reports.figures import change, figure, interval, p_figure
from pytest_rageval.stats.verdict import badness, shortfalls, shown_errors
from pytest_rageval.stats.weights import is_scored

LISTED = 10
"""How many samples a list of the worst has."""

# In characters. A comment on GitHub holds 65,536: the rooms of the tables (two are of samples) and
# lists, and what stands around them, are less than that together.
_ROOM_MEANS = 14_000
_ROOM_COMPARISON = 13_000
_ROOM_GATES = 11_000
_ROOM_SAMPLES = 8_000
_ROOM_LIST = 2_000
_NAME_WIDTH = 120
_MESSAGE_WIDTH = 400
_QUESTION_WIDTH = 80
_REASON_WIDTH = 200


class SummaryMd:
    """Writes ``summary.md``."""

    name = "summary.md"
    aliases = ("md",)
    on_request = False

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        folder.put(self.name, [summary_text(result, run)])


def summary_text(result: ScenarioResult, run: RunInfo) -> str:
    """Return the whole summary as Markdown, at most 65,535 characters."""
    return "".join(line + "\n" for line in _lines(result, run))


def verdict_text(result: ScenarioResult) -> str:
    """Return in one sentence how the run ended: in bold the verdict, then gates and cases.

    FAILED when a gate or a case failed, or a case could not be judged; undecided when nothing
    failed and not everything ran.
    """
    counts, ended = result.counts, Counter(gate.outcome for gate in result.gates)
    failed = ended["failed"] or counts.failed or counts.error
    word = "FAILED" if failed else "passed" if result.complete else "undecided"
    cases = [f"{counts.passed} of {counts.ran} cases passed"]
    cases += [f"{counts.failed} failed"] if counts.failed else []
    cases += [f"{counts.error} could not be judged"] if counts.error else []
    return f"**{word}**: {_gate_counts(result.gates)}; {', '.join(cases)}"


def first_reasons(result: ScenarioResult) -> dict[str, str]:
    """Return by metric why it could not score a sample, the first one of which that is known."""
    found = {}
    for name, metric in result.metrics.items():
        reasons = (
            sample.errors.get(name) or sample.reasons.get(name)
            for sample in result.samples
            if metric.unscored and sample.scores.get(name) is None
        )
        first = next((reason for reason in reasons if reason), None)
        if first is not None:
            found[name] = first
    return found


def _gate_counts(gates: Sequence[GateResult]) -> str:
    ended = Counter(gate.outcome for gate in gates)
    total = _number(len(gates), "gate")
    if ended["failed"]:
        undecided = f", {ended['skipped']} undecided" if ended["skipped"] else ""
        return f"{ended['failed']} of {total} failed{undecided}"
    if ended["skipped"]:
        return f"{ended['skipped']} of {total} undecided"
    return f"{total} passed" if gates else "no gates"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _lines(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    counts = result.counts
    yield f"# {_cell(result.info.name, _NAME_WIDTH)}"
    yield ""
    yield verdict_text(result)
    yield ""
    yield f"- run_id: `{run.id}`"
    yield f"- scenario: {_code(result.info.path)}"
    yield f"- samples: {counts.samples} (ran {counts.ran}, scored {counts.scored})"
    yield (
        f"- outcomes: {counts.passed} passed, {counts.failed} failed, {counts.error} error, "
        f"{counts.skipped} skipped, {counts.xfailed} xfailed, {counts.invalid} invalid"
    )
    if result.info.overridden:
        yield f"- overridden: {_listed([_code(path) for path in result.info.overridden])}"
    if not result.complete:
        yield "- **partial run**: the figures are of the samples that ran"
    yield from _means(result)
    yield from _comparison(result.comparison)
    yield from _fallen(result)
    yield from _gates(result)
    yield from _worst(result)


def _listed(texts: Sequence[str]) -> str:
    """Return as many texts as there is room for, and how many more there are."""
    room, shown = _ROOM_LIST, 0
    while shown < len(texts) and len(texts[shown]) <= room:
        room -= len(texts[shown]) + 2
        shown += 1
    more = f" and {len(texts) - shown} more" if shown < len(texts) else ""
    return ", ".join(texts[:shown]) + more


def _means(result: ScenarioResult) -> Iterator[str]:
    overall = result.weighted_score
    scored = f"{overall.n}/{overall.n + overall.unscored}"
    ends = interval(overall.ci_low, overall.ci_high)
    total = f"| **weighted_score** | **{figure(overall.mean)}** | {ends} | | {scored} |"
    head = "| metric | mean | 95 % interval | weight | scored |"
    rows = []
    for name, metric in result.metrics.items():
        ends = interval(metric.ci_low, metric.ci_high)
        scored = f"{metric.n}/{metric.n + metric.unscored}"
        mean, weight = figure(metric.weighted_mean), f"{metric.weight:g}"
        rows.append(f"| {_name(name)} | {mean} | {ends} | {weight} | {scored} |")
    yield from _table("Metric Means (weighted)", head, rows, _ROOM_MEANS, [total])
    yield from _unscored(result)


def _unscored(result: ScenarioResult) -> Iterator[str]:
    """Quote one reason for each metric that could not score everything."""
    found = [
        f"- {_name(name)} unscored, for instance: {_cell(reason, _REASON_WIDTH)}"
        for name, reason in first_reasons(result).items()
    ]
    room, shown = _ROOM_LIST, 0
    while shown < len(found) and len(found[shown]) <= room:
        room -= len(found[shown]) + 1
        shown += 1
    if shown:
        yield from ("", *found[:shown])


def _comparison(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        return
    head = f"| metric | A (this run) | B | A - B | interval | p ({comparison.test}, Holm) | n | |"
    rows = []
    for name, found in comparison.metrics.items():
        ends, p_value = interval(found.ci_low, found.ci_high), _plain(p_figure(found.p_adjusted))
        verdict = "**significant**" if found.significant else _cell(found.note, _MESSAGE_WIDTH)
        rows.append(
            f"| {_name(name)} | {figure(found.a_mean)} | {figure(found.b_mean)} | "
            f"{change(found.diff)} | {ends} | {p_value} | {found.n} | {verdict} |"
        )
    title = f"Compared with {_cell(comparison.baseline, _NAME_WIDTH)}"
    yield from _table(title, head, rows, _ROOM_COMPARISON)
    for where, names in (("this run", comparison.only_a), ("the baseline", comparison.only_b)):
        if names:
            yield ""
            yield f"Only in {where}: {len(names)} samples"


@dataclass(frozen=True, slots=True)
class _Change:
    """A sample that two runs scored: ``then`` in the baseline, ``now`` in this one."""

    sample: SampleResult
    then: float
    now: float

    @property
    def diff(self) -> float:
        return self.now - self.then


def _fallen(result: ScenarioResult) -> Iterator[str]:
    """Say what got worse against the baseline: metrics in words, samples in a table."""
    if result.comparison is None:
        return
    changes = _changes(result)
    fallen = sorted(
        (one for one in changes if one.diff < -TOLERANCE),
        key=lambda one: (one.diff, one.sample.index),
    )
    metrics = _fallen_metrics(result, result.comparison)
    if not fallen and not metrics:
        return
    name = _cell(result.comparison.baseline, _NAME_WIDTH)
    head = f"| sample | {name} | this run | A - B | question |"
    rows = [
        f"| {_name(one.sample.sample_id)} | {figure(one.then)} | {figure(one.now)} | "
        f"{change(one.diff)} | {_question(one.sample)} |"
        for one in fallen[:LISTED]
    ]
    risen = sum(one.diff > TOLERANCE for one in changes)
    yield from ("", f"## Worse than {name}", "")
    if metrics:
        yield f"Significantly worse: {metrics}."
    if changes:
        equal = len(changes) - len(fallen) - risen
        yield f"Of {len(changes)} samples {len(fallen)} fell, {risen} rose, {equal} are equal."
    if rows:
        yield from _rows(head, rows, _ROOM_SAMPLES)


def _fallen_metrics(result: ScenarioResult, comparison: Comparison) -> str:
    """Return the metrics that are significantly worse, with the difference."""
    lower_is_better = {column.name for column in result.info.metrics if not column.higher_is_better}
    worse = [
        f"{_name(name)} {change(found.diff)}"
        for name, found in comparison.metrics.items()
        if found.significant and found.diff and (found.diff > 0) == (name in lower_is_better)
    ]
    return _listed(worse)


def _changes(result: ScenarioResult) -> list[_Change]:
    """Return the samples that both runs scored; [] where the baseline has no weighted score."""
    compare = result.info.compare
    baseline = result.info.baselines.get(compare.baseline) if compare is not None else None
    if baseline is None:
        return []
    earlier = baseline.scores.get(WEIGHTED_SCORE, {})
    found = []
    for sample in result.samples:
        then, now = earlier.get(sample.sample_id), sample.weighted_score
        if then is not None and now is not None and is_scored(then) and is_scored(now):
            found.append(_Change(sample, then, now))
    return found


def _gates(result: ScenarioResult) -> Iterator[str]:
    if not result.gates:
        return
    rows = []
    for gate in result.gates:
        verdict = "**FAILED**" if gate.outcome == "failed" else gate.outcome
        rows.append(f"| {_name(gate.name)} | {verdict} | {_cell(gate.message, _MESSAGE_WIDTH)} |")
    yield from _table("Gates", "| gate | verdict | |", rows, _ROOM_GATES)


def _worst(result: ScenarioResult) -> Iterator[str]:
    """List what could not be judged, with the reason, then the lowest of the others."""
    listed = [
        sample
        for sample in result.samples
        if sample.outcome in ("error", "failed") or is_scored(sample.weighted_score)
    ]
    rows = [
        f"| {_name(sample.sample_id)} | {figure(sample.weighted_score)} | {sample.outcome} | "
        f"{_why(result, sample)} | {_question(sample)} |"
        for sample in sorted(listed, key=badness)[:LISTED]
    ]
    if rows:
        head = "| sample | weighted_score | outcome | why | question |"
        yield from _table("Worst samples", head, rows, _ROOM_SAMPLES)


def _why(result: ScenarioResult, sample: SampleResult) -> str:
    """Return what a sample missed, and what went wrong with it; "" where it passed."""
    if sample.outcome == "passed":
        return ""
    said = [str(missed) for missed in shortfalls(sample, result.info.thresholds)]
    said += [f"{name}: {error}" for name, error in shown_errors(sample).items()]
    return _cell("; ".join(shorten(text, _REASON_WIDTH) for text in said), _REASON_WIDTH)


def _table(
    title: str, head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()
) -> Iterator[str]:
    yield from ("", f"## {title}")
    yield from _rows(head, rows, room, last)


def _rows(head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table of as many rows as there is ``room`` for, in characters, and of ``last``."""
    yield from ("", head, "|" + "---|" * (head.count("|") - 1))
    shown = 0
    for row in rows:
        room -= len(row) + 1
        if room < 0:
            break
        yield row
        shown += 1
    yield from last
    if shown < len(rows):
        yield from ("", f"{len(rows) - shown} more are in results.json.")


def _question(sample: SampleResult) -> str:
    return _cell(sample.question or "", _QUESTION_WIDTH)


def _name(text: str) -> str:
    return _cell(text, _NAME_WIDTH)


def _cell(text: str, width: int) -> str:
    return _plain(shorten(" ".join(text.split()), width))


_MARKS = re.compile(
    r"(?P<escape>[\\`*_{}\[\]~])"
    r"|(?P<entity>[<>|$]|&(?=#?\w+;))"
    # What GitHub makes a link of, or sends somebody a message for: @name, #12, GH-12, a URL.
    r"|(?P<part>(?<![A-Za-z0-9_])@(?=\w)|\#(?=\d)|(?<=gh)-(?=\d)|:(?=//)|www(?=\.))",
    re.IGNORECASE,
)


def _plain(text: str) -> str:
    """Return text of the data as it can stand in a Markdown table cell: it means nothing there."""
    return _MARKS.sub(_escape, " ".join(text.split()))


def _escape(found: re.Match[str]) -> str:
    mark = found.group()
    if found["escape"]:
        return f"\\{mark}"
    # A space of no width parts what would be a link.
    return f"&#{ord(mark)};" if found["entity"] else f"{mark}&#8203;"


def _code(text: str) -> str:
    """Return a path as Markdown shows code; one with a back quote in it is shown as text."""
    flat = shorten(" ".join(text.split()), _NAME_WIDTH)
    return _plain(flat) if "`" in flat else f"`{flat}`"


REPORTS = (SummaryMd(),)
