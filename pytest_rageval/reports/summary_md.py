"""``summary.md``: verdict, means, gates and the worst samples, for a pull-request comment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Comparison,
    GateResult,
    Ranking,
    RunInfo,
    SampleResult,
    ScenarioResult,
    value_text,
)
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.reports.causes import cause_lines
from pytest_rageval.reports.figures import change, figure, interval
from pytest_rageval.reports.missing import missing_figures, scored_figure, stopped_text
from pytest_rageval.reports.people import agreement_lines, corrected_figures
from pytest_rageval.reports.variants import HEADS, ranking_head, ranking_lines, ranking_rows
from pytest_rageval.stats.verdict import badness, is_judged, shortfalls, shown_errors
from pytest_rageval.stats.weights import count_groups, is_scored
from pytest_rageval.stats.wording import correction_name, counted, p_figure, verdict_word
from pytest_rageval.text.printable import one_line

LISTED = 10
"""How many of the worst samples are listed."""

Verdict = Literal["passed", "FAILED", "undecided", "not judged"]

# In characters. A comment on GitHub holds 65,536: all tables (two of samples), lists and the text
# around them together take less.
_ROOM_MEANS = 13_000
_ROOM_COMPARISON = 13_000
_ROOM_GATES = 11_000
_ROOM_SAMPLES = 8_000
_ROOM_LIST = 2_000
_ROOM_CAUSES = 1_000
_ROOM_VARIANTS = 4_000
_NAME_WIDTH = 120
_MESSAGE_WIDTH = 400
_QUESTION_WIDTH = 80
_REASON_WIDTH = 200


def summary_text(result: ScenarioResult, run: RunInfo) -> str:
    """Return the whole summary as Markdown, at most 65,535 characters."""
    return "".join(line + "\n" for line in _lines(result, run))


def verdict_text(result: ScenarioResult) -> str:
    """Return in one sentence how the run ended: the verdict in bold, then gates and cases."""
    word, counts = verdict_parts(result)
    return f"**{word}**: {counts}"


def verdict_parts(result: ScenarioResult) -> tuple[Verdict, str]:
    """Return the verdict, and how many gates and cases ended how.

    FAILED when a gate or a case failed, or a case could not be judged; undecided when nothing
    failed and not everything ran; not judged when there was nothing to pass.
    """
    counts, ended = result.counts, Counter(gate.outcome for gate in result.gates)
    failed = ended["failed"] or counts.failed or counts.error
    is_decided = result.complete or counts.not_asked
    word: Verdict = "FAILED" if failed else "passed" if is_decided else "undecided"
    cases = [f"{counts.passed} of {counts.ran} cases passed"]
    cases += [f"{counts.failed} failed"] if counts.failed else []
    cases += [f"{counts.error} could not be judged"] if counts.error else []
    if word == "passed" and not is_judged(result):
        return "not judged", f"no gates and no thresholds; {', '.join(cases)}"
    return word, f"{_gate_counts(result)}; {', '.join(cases)}"


_IMPLIED: Final = ("unscored", "failed")
"""The gate that every scenario has; one without gates says in words that it failed."""


def _gate_counts(result: ScenarioResult) -> str:
    gates = result.gates
    if not result.info.gates and [(one.name, one.outcome) for one in gates] == [_IMPLIED]:
        return "samples without a score"
    ended = Counter(gate.outcome for gate in gates)
    total = counted(len(gates), "gate")
    if ended["failed"]:
        undecided = f", {ended['skipped']} undecided" if ended["skipped"] else ""
        return f"{ended['failed']} of {total} failed{undecided}"
    if ended["skipped"]:
        return f"{ended['skipped']} of {total} undecided"
    return f"{total} passed" if gates else "no gates"


def _lines(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    counts = result.counts
    yield f"# {_cell(result.info.title, _NAME_WIDTH)}"
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
    groups = count_groups(result.info, result.samples)
    if groups is not None:
        field = _code(result.info.group_by or "")
        yield f"- groups: {len(result.samples)} samples in {groups} groups ({field})"
    if result.info.overridden:
        yield f"- overridden: {_listed([_code(path) for path in result.info.overridden])}"
    if counts.not_asked:
        yield f"- **{stopped_text(counts)}**"
    elif not result.complete:
        yield "- **partial run**: the figures are of the samples that ran"
    yield from _means(result)
    yield from _people(result)
    yield from _causes(result)
    if result.ranking is not None:
        yield from ranking_section(result.ranking)
    yield from _comparison(result, result.comparison)
    yield from _fallen(result)
    yield from _gates(result)
    yield from _worst(result)


def ranking_section(ranking: Ranking, gate: GateResult | None = None) -> Iterator[str]:
    """Yield the variants of a scenario against each other, as Markdown."""
    head = "| variant | " + " | ".join(HEADS) + " |"
    rows = [
        f"| {_name(name)} | " + " | ".join(text.strip() or "-" for text in figures) + " |"
        for name, figures in ranking_rows(ranking)
    ]
    yield from _table("Variants", head, rows, _ROOM_VARIANTS)
    said = [f"gate {gate.name} {gate.outcome}: {gate.message}"] if gate is not None else []
    lines = [ranking_head(ranking), *said, *ranking_lines(ranking)]
    yield from ("", *_fitting([f"- {_cell(one, _MESSAGE_WIDTH)}" for one in lines], _ROOM_LIST))


def _listed(texts: Sequence[str]) -> str:
    """Return as many texts as there is room for, and how many more there are."""
    shown = _fitting(texts, _ROOM_LIST, 2)
    more = f" and {len(texts) - len(shown)} more" if len(shown) < len(texts) else ""
    return ", ".join(shown) + more


def _fitting(texts: Sequence[str], room: int, separator: int = 1) -> Sequence[str]:
    """Return the first texts that fit into ``room`` characters, each with its separator."""
    ends = accumulate(len(text) + separator for text in texts)
    return texts[: sum(end <= room + separator for end in ends)]


def _means(result: ScenarioResult) -> Iterator[str]:
    overall = result.weighted_score
    scored = scored_figure(overall)
    ends = interval(overall.ci_low, overall.ci_high)
    total = f"| **weighted_score** | **{figure(overall.mean)}** | {ends} | | {scored} |"
    head = "| metric | mean | 95 % interval | weight | scored |"
    rows = []
    for name, metric in result.metrics.items():
        ends = interval(metric.ci_low, metric.ci_high)
        scored = scored_figure(metric)
        mean, weight = figure(metric.weighted_mean), f"{metric.weight:g}"
        rows.append(f"| {_name(name)} | {mean} | {ends} | {weight} | {scored} |")
    yield from _table("Metric Means (weighted)", head, rows, _ROOM_MEANS, [total])
    yield from _as_lines(result)
    yield from _unscored(result)


def _as_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield the means in rag_eval's form as well, for programs that parse it."""
    found = [
        f"- {_bare(name)}: {figure(metric.weighted_mean)} (w={_weight(metric.weight)})"
        for name, metric in result.metrics.items()
    ]
    yield from ("", *_fitting(found, _ROOM_LIST))
    yield f"- **weighted_score: {figure(result.weighted_score.mean)}**"


def _weight(weight: float) -> str:
    """Return a weight with two decimals, as rag_eval prints it, or with more where it has more.

    >>> _weight(0.2), _weight(0.125)
    ('0.20', '0.125')
    """
    return max(f"{weight:.2f}", value_text(weight), key=len)


def _bare(name: str) -> str:
    """Return a name, escaped only if needed: ``_`` inside a word means nothing in Markdown."""
    return name if re.fullmatch(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*", name) else _name(name)


def _unscored(result: ScenarioResult) -> Iterator[str]:
    """Yield what is missing in the figures, with one reason for each."""
    found = [f"- {_cell(str(one), _NAME_WIDTH + _REASON_WIDTH)}" for one in missing_figures(result)]
    if shown := _fitting(found, _ROOM_LIST):
        yield from ("", *shown)


def _people(result: ScenarioResult) -> Iterator[str]:
    """Yield how metrics stand against people: corrected means, agreement, disagreements."""
    if not result.agreement:
        return
    head = "| metric | by the judge | by people | 95 % interval | labels |"
    rows = [
        f"| {_name(name)} | {figure(result.mean_of(name))} | {figure(found.mean)} | "
        f"{interval(found.ci_low, found.ci_high)} | "
        f"{_cell(corrected_figures(found), _MESSAGE_WIDTH)} |"
        for name, found in result.corrected.items()
    ]
    yield from _table("Judge and people", head, rows, _ROOM_LIST)
    found = [f"- {_cell(line, _MESSAGE_WIDTH)}" for line in agreement_lines(result)]
    yield from ("", *_fitting(found, _ROOM_LIST))


def _causes(result: ScenarioResult) -> Iterator[str]:
    """Yield how many low answers have which cause, with the first of each."""
    lines = [f"- {_cell(line, _MESSAGE_WIDTH)}" for line in cause_lines(result)]
    if lines:
        yield from ("", "## Causes of low answers", "", *_fitting(lines, _ROOM_CAUSES))


def _comparison(result: ScenarioResult, comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        return
    ways = f"p ({comparison.test}) | p ({correction_name(comparison.correction)})"
    head = f"| metric | A (this run) | B | A - B | interval | {ways} | n | verdict | |"
    lower_is_better = _lower_is_better(result)
    rows = []
    for name, found in comparison.metrics.items():
        ends = interval(found.ci_low, found.ci_high)
        p_values = " | ".join(_plain(p_figure(p)) for p in (found.p_value, found.p_adjusted))
        word = verdict_word(found, higher_is_better=name not in lower_is_better)
        verdict = f"**{word}**" if found.significant else word
        note = found.undecided or found.note
        remark = f"{_cell(note, _MESSAGE_WIDTH)} |" if note else "|"
        rows.append(
            f"| {_name(name)} | {figure(found.a_mean)} | {figure(found.b_mean)} | "
            f"{change(found.diff)} | {ends} | {p_values} | {found.n} | {verdict} | {remark}"
        )
    title = f"Compared with {_cell(comparison.baseline, _NAME_WIDTH)}"
    yield from _table(title, head, rows, _ROOM_COMPARISON)
    for where, names in (("this run", comparison.only_a), ("the baseline", comparison.only_b)):
        if names:
            yield ""
            yield f"Only in {where}: {len(names)} samples"
    for line in result.info.unlike:
        yield ""
        yield _cell(line, _MESSAGE_WIDTH)


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
    """Yield what got worse against the baseline: metrics in a sentence, samples in a table."""
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
        yield f"Worse: {metrics}."
    if changes:
        equal = len(changes) - len(fallen) - risen
        yield f"Of {len(changes)} samples {len(fallen)} fell, {risen} rose, {equal} are equal."
    if rows:
        yield from _rows(head, rows, _ROOM_SAMPLES)


def _fallen_metrics(result: ScenarioResult, comparison: Comparison) -> str:
    """Return the metrics that are worse, with the difference."""
    lower_is_better = _lower_is_better(result)
    worse = [
        f"{_name(name)} {change(found.diff)}"
        for name, found in comparison.metrics.items()
        if verdict_word(found, higher_is_better=name not in lower_is_better) == "worse"
    ]
    return _listed(worse)


def _lower_is_better(result: ScenarioResult) -> set[str]:
    return {column.name for column in result.info.metrics if not column.higher_is_better}


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
        if is_scored(then) and is_scored(now):
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
    """Yield the samples that could not be judged, with the reason, then the lowest scores."""
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
    """Return the missed thresholds and the errors of a sample; "" if it passed."""
    if sample.outcome == "passed":
        return ""
    reasons = [str(missed) for missed in shortfalls(sample, result.info.thresholds)]
    reasons += [f"{name}: {error}" for name, error in shown_errors(sample).items()]
    return _cell("; ".join(shorten(text, _REASON_WIDTH) for text in reasons), _REASON_WIDTH)


def _table(
    title: str, head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()
) -> Iterator[str]:
    yield from ("", f"## {title}")
    yield from _rows(head, rows, room, last)


def _rows(head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table of as many rows as there is ``room`` for, in characters, and of ``last``."""
    shown = _fitting(rows, room)
    yield from ("", head, "|" + "---|" * (head.count("|") - 1), *shown, *last)
    if len(shown) < len(rows):
        yield from ("", f"{len(rows) - len(shown)} more are in results.json.")


def _question(sample: SampleResult) -> str:
    return _cell(sample.question or "", _QUESTION_WIDTH)


def _name(text: str) -> str:
    return _cell(text, _NAME_WIDTH)


def _cell(text: str, width: int) -> str:
    return _plain(shorten(one_line(text), width))


_MARKS = re.compile(
    r"(?P<escape>[\\`*_{}\[\]~])"
    r"|(?P<entity>[<>|$]|&(?=#?\w+;))"
    # What GitHub turns into a link or a notification: @name, #12, GH-12, a URL.
    r"|(?P<part>(?<![A-Za-z0-9_])@(?=\w)|\#(?=\d)|(?<=gh)-(?=\d)|:(?=//)|www(?=\.))",
    re.IGNORECASE,
)


def _plain(text: str) -> str:
    """Return text for a Markdown table cell, without any meaning as Markdown."""
    return _MARKS.sub(_escape, one_line(text))


def _escape(found: re.Match[str]) -> str:
    mark = found.group()
    if found["escape"]:
        return f"\\{mark}"
    # A zero-width space breaks up what would be a link.
    return f"&#{ord(mark)};" if found["entity"] else f"{mark}&#8203;"


def _code(text: str) -> str:
    """Return a path as code in Markdown; one with a backtick is plain text."""
    flat = shorten(one_line(text), _NAME_WIDTH)
    return _plain(flat) if "`" in flat else f"`{flat}`"


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put("summary.md", [summary_text(result, run)])


REPORTS = (Report("summary.md", _write, aliases=("md",)),)
