"""``summary.md``: what is wrong, then means, gates and samples, for a pull-request comment."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    GateResult,
    Ranking,
    RunInfo,
    SampleResult,
    ScenarioResult,
    value_text,
)
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.reports.markdown import cell, code, within
from pytest_rageval.reports.run_view import (
    HEADS,
    ComparedRun,
    RunView,
    gate_word,
    is_bad,
    ranking_head,
    ranking_lines,
    ranking_rows,
)
from pytest_rageval.stats.weights import count_groups, is_scored
from pytest_rageval.stats.wording import (
    change,
    corrected_figures,
    correction_name,
    counted,
    figure,
    interval,
    interval_name,
)

if TYPE_CHECKING:
    from pytest_rageval.reports.what_is_wrong import WrongAnswer

LISTED = 10
"""How many samples a table lists: the worst, or those that fell most."""

# In characters. A comment on GitHub holds 65,536: less than all rooms, hardly ever all full, take.
_ROOM = 65_400
_ROOM_WRONG = 8_000
_ROOM_MEANS = 8_000
_ROOM_COMPARISON = 9_000
_MOST_COMPARED = 5
_ROOM_GATES = 10_000
_ROOM_SAMPLES = 8_000
_ROOM_LIST = 2_000
_ROOM_FAILED = 3_000
_ROOM_NAMES = 1_000
_ROOM_CAUSES = 1_000
_ROOM_VARIANTS = 4_000
_NAME_WIDTH = 120
_MESSAGE_WIDTH = 400
_QUESTION_WIDTH = 80
_REASON_WIDTH = 200
_LEAST_WIDTH = 130
"""What the name of a gate and its figure take; no sentence is cut shorter."""


def summary_text(result: ScenarioResult, run: RunInfo) -> str:
    """Return the whole summary as Markdown, at most 65,535 characters."""
    lines = list(_lines(RunView(result), run))
    shown = [*_fitting(lines, _ROOM)]
    if more := len(lines) - len(shown):
        shown += ["", f"{counted(more, 'more line')}: see results.json."]
    return "".join(line + "\n" for line in shown)


def verdict_text(view: RunView) -> str:
    """Return in one sentence how the run ended: the verdict in bold, then gates and cases."""
    return f"**{view.verdict}**: {view.ended}"


def _lines(view: RunView, run: RunInfo) -> Iterator[str]:
    result = view.result
    counts = result.counts
    yield f"# {cell(result.info.title, _NAME_WIDTH)}"
    yield ""
    yield verdict_text(view)
    yield ""
    if wrong := list(_wrong(view)):
        yield from (*wrong, "")
    yield f"- run_id: `{run.id}`"
    yield f"- scenario: {code(result.info.path, _NAME_WIDTH)}"
    yield f"- samples: {counts.samples} (ran {counts.ran}, scored {counts.scored})"
    yield (
        f"- outcomes: {counts.passed} passed, {counts.failed} failed, {counts.error} error, "
        f"{counts.skipped} skipped, {counts.xfailed} xfailed, {counts.invalid} invalid"
    )
    groups = count_groups(result.info, result.samples)
    if groups is not None:
        field = code(result.info.group_by or "", _NAME_WIDTH)
        samples = counted(len(result.samples), "sample")
        yield f"- groups: {samples} in {counted(groups, 'group')} ({field})"
    if result.info.overridden:
        paths = [code(path, _NAME_WIDTH) for path in result.info.overridden]
        yield f"- overridden: {_listed(paths)}"
    if view.asked:
        yield f"- **{view.asked}**"
    elif not result.complete:
        yield "- **partial run**: the figures are of the samples that ran"
    yield from _means(view)
    yield from _people(view)
    yield from _causes(view)
    if result.ranking is not None:
        yield from ranking_section(result.ranking)
    yield from _comparisons(view)
    yield from _fallen(view)
    yield from _gates(result)
    yield from _worst(view)


def _wrong(view: RunView) -> Iterator[str]:
    """Yield why scores are missing, failed and open gates, what broke, the worst answers."""
    if view.is_plain:
        return
    # Not at the top: most runs are green.
    from pytest_rageval.reports.what_is_wrong import MOST, WhatIsWrong

    found = WhatIsWrong(view)
    yield from _sentences(found.errors, _ROOM_LIST, "error")
    names = [gate.name.removesuffix(".mean") for gate in found.failed]
    yield from _sentences(found.gates, _ROOM_FAILED, "failed gate", names)
    names = [gate.name for gate in found.open]
    yield from _sentences(found.undecided, _ROOM_NAMES, "undecided gate", names, "undecided: ")
    yield from _sentences(found.changes, _ROOM_NAMES, "baseline")
    answers = ["\n".join(_answer(answer)) for answer in found.answers[:MOST]]
    if shown := _fitting(answers, _ROOM_WRONG):
        yield from ("", "## Worst answers", "", *shown)
    if more := len(found.answers) - len(shown):
        yield from ("", f"And {counted(more, 'more answer')}.")


def _sentences(
    texts: Sequence[str], room: int, what: str = "", names: Sequence[str] = (), head: str = ""
) -> Iterator[str]:
    """Yield the texts as ``_items``: the more there are, the shorter each."""
    width = room // max(1, len(texts)) - len("- \n")
    width = max(_LEAST_WIDTH, min(_MESSAGE_WIDTH, width))
    yield from _items([within(head + text, width) for text in texts], room, what, names)


def _items(
    texts: Sequence[str], room: int, what: str = "remark", names: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the Markdown texts that fit into ``room`` characters as items.

    A last item says how many more ``what`` there are, and which, if ``names`` names the texts.
    """
    shown = _fitting([f"- {text}" for text in texts], room)
    yield from shown
    if more := len(texts) - len(shown):
        others = [_name(name) for name in names[len(shown) :]]
        named = f": {_listed(others, _ROOM_NAMES)}" if others else ""
        yield f"- and {counted(more, f'more {what}')}{named}"


def _answer(answer: WrongAnswer) -> Iterator[str]:
    """Yield the item of a list: the question, then texts and reasons in lines of their own."""
    sample = answer.sample
    alike = f" (and {answer.alike} more alike)" if answer.alike else ""
    name = within(sample.sample_id, _NAME_WIDTH)
    yield f"1. **{name}**{alike} {within(sample.question or '', _QUESTION_WIDTH)}"
    parts = {
        "answer": sample.answer,
        "expected": answer.reference,
        "why": "; ".join(shorten(text, _REASON_WIDTH) for text in answer.missed),
        "reason": "; ".join(answer.reasons),
        "cause": answer.cause,
    }
    for name, text in parts.items():
        if text:
            yield f"   - {name}: {within(text, _REASON_WIDTH)}"


def ranking_section(
    ranking: Ranking, gate: GateResult | None = None, results: Sequence[ScenarioResult] = ()
) -> Iterator[str]:
    """Yield the variants of a scenario against each other, as Markdown.

    ``results`` are those of the variants: which gates failed, and why scores are missing. ``gate``
    is the verdict of the gate ``best``.
    """
    # Not at the top: most runs are green, and most scenarios have no variants.
    from pytest_rageval.reports.what_is_wrong import variant_errors, variant_verdicts

    yield from _sentences([*variant_verdicts(results)], _ROOM_FAILED, "variant")
    head = "| variant | " + " | ".join(HEADS) + " |"
    rows = [
        f"| {_name(name)} | " + " | ".join(text.strip() or "-" for text in figures) + " |"
        for name, figures in ranking_rows(ranking)
    ]
    yield from _table("Variants", head, rows, _ROOM_VARIANTS)
    best = [f"gate {gate.name} {gate.outcome}: {gate.message}"] if gate is not None else []
    lines = [ranking_head(ranking), *best, *ranking_lines(ranking)]
    yield from ("", *_items([cell(line, _MESSAGE_WIDTH) for line in lines], _ROOM_LIST))
    yield from _sentences([*variant_errors(results)], _ROOM_LIST, "error")


def _listed(texts: Sequence[str], room: int = _ROOM_LIST) -> str:
    """Return as many texts as there is room for, with commas, and how many more there are."""
    shown = _fitting(texts, room, 2)
    more = f" and {len(texts) - len(shown)} more" if len(shown) < len(texts) else ""
    return ", ".join(shown) + more


def _fitting(texts: Sequence[str], room: int, separator: int = 1) -> Sequence[str]:
    """Return the first texts that fit into ``room``, ``separator`` characters between them."""
    ends = accumulate(len(text) + separator for text in texts)
    return texts[: sum(end <= room + separator for end in ends)]


def _means(view: RunView) -> Iterator[str]:
    *metrics, overall = [mean for mean in view.means if not mean.is_by_people]
    rows = [f"| {_name(row.name)} | {' | '.join(row.texts)} |" for row in metrics]
    mean, ends, _, scored = overall.texts
    total = f"| **weighted_score** | **{mean}** | {ends} | | {scored} |"
    head = "| metric | mean | 95 % interval | weight | scored |"
    yield from _table("Metric Means (weighted)", head, rows, _ROOM_MEANS, [total])
    # Once more in rag_eval's form, for programs that parse it.
    lines = [
        f"{_bare(row.name)}: {figure(row.mean)} (w={_weight(row.weight or 0.0)})" for row in metrics
    ]
    yield from ("", *_items(lines, _ROOM_LIST, "metric"))
    yield f"- **weighted_score: {mean}**"
    if missing := [cell(str(part), _NAME_WIDTH + _REASON_WIDTH) for part in view.remarks]:
        yield from ("", *_items(missing, _ROOM_LIST))


def _weight(weight: float) -> str:
    """Return a weight with two decimals, as rag_eval prints it, or with more where it has more.

    >>> _weight(0.2), _weight(0.125)
    ('0.20', '0.125')
    """
    return max(f"{weight:.2f}", value_text(weight), key=len)


def _bare(name: str) -> str:
    """Return a name, escaped only if needed: ``_`` inside a word means nothing in Markdown."""
    return name if re.fullmatch(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*", name) else _name(name)


def _people(view: RunView) -> Iterator[str]:
    """Yield how metrics stand against people: corrected means, agreement, disagreements."""
    result = view.result
    if not result.agreement:
        return
    head = "| metric | by the judge | by people | 95 % interval | labels |"
    rows = [
        f"| {_name(name)} | {figure(result.mean_of(name))} | {figure(found.mean)} | "
        f"{interval(found.ci_low, found.ci_high)} | "
        f"{cell(corrected_figures(found), _MESSAGE_WIDTH)} |"
        for name, found in result.corrected.items()
    ]
    yield from ("", "## Judge and people")
    if rows:  # labels of cells correct no mean
        yield from _rows(head, rows, _ROOM_LIST)
    lines = [cell(line, _MESSAGE_WIDTH) for line in view.people]
    yield from ("", *_items(lines, _ROOM_LIST))


def _causes(view: RunView) -> Iterator[str]:
    """Yield how many low answers have which cause, with the first of each."""
    if lines := [cell(line, _MESSAGE_WIDTH) for line in view.causes]:
        yield from ("", "## Causes of low answers", "", *_items(lines, _ROOM_CAUSES))


def _comparisons(view: RunView) -> Iterator[str]:
    """Yield a table for each of the first baselines: the more, the shorter; name the others."""
    shown = view.compared[:_MOST_COMPARED]
    for compared in shown:
        yield from _comparison(compared, _ROOM_COMPARISON // len(shown))
    if others := [_name(compared.baseline) for compared in view.compared[_MOST_COMPARED:]]:
        yield from ("", f"Compared with {_listed(others, _ROOM_NAMES)} too: see results.json.")
    if shown and view.result.info.unlike:
        yield from ("", *_sentences(view.result.info.unlike, _ROOM_LIST, "difference"))


def _comparison(compared: ComparedRun, room: int) -> Iterator[str]:
    comparison = compared.figures
    ways = f"p ({comparison.test}) | p ({correction_name(comparison.correction)})"
    ends = "interval" if comparison.looks == 1 else interval_name(comparison.alpha)
    head = f"| metric | A (this run) | B | A - B | {ends} | {ways} | n | verdict | |"
    rows = []
    for metric in compared.metrics:
        found = metric.figures
        a, b, diff, *p_values = map(_name, metric.texts)
        ends = interval(found.ci_low, found.ci_high)
        verdict = f"**{metric.word}**" if found.significant else metric.word
        note = found.undecided or found.note
        remark = f"{cell(note, _MESSAGE_WIDTH)} |" if note else "|"
        rows.append(
            f"| {_name(metric.name)} | {a} | {b} | {diff} | {ends} | {' | '.join(p_values)} | "
            f"{found.n} | {verdict} | {remark}"
        )
    yield from _table(f"Compared with {_name(comparison.baseline)}", head, rows, room)
    looks = f"{compared.test.capitalize()}." if comparison.looks > 1 else ""
    for line in filter(None, (looks, within(compared.needed_rows, _MESSAGE_WIDTH))):
        yield from ("", line)
    for where, names in (("this run", comparison.only_a), ("the baseline", comparison.only_b)):
        if names:
            yield from ("", f"Only in {where}: {len(names)} samples")


def _fallen(view: RunView) -> Iterator[str]:
    """Yield what got worse against each of the first baselines; no sample is in two tables."""
    listed: set[int] = set()
    shown = view.compared[:_MOST_COMPARED]
    for compared in shown:
        yield from _worse_than(compared, listed, _ROOM_SAMPLES // len(shown))
        listed |= {pair.sample.index for pair in compared.changes if pair.diff < 0.0}


def _worse_than(compared: ComparedRun, listed: Container[int], room: int) -> Iterator[str]:
    """Yield what got worse: metrics in a sentence; samples, except ``listed`` ones, in a table."""
    changes = compared.changes
    fallen = sorted(
        (pair for pair in changes if pair.diff < 0.0),
        key=lambda pair: (pair.diff, pair.sample.index),
    )
    worse = [metric for metric in compared.metrics if metric.word == "worse"]
    falls = [f"{_name(found.name)} {change(found.figures.diff)}" for found in worse]
    metrics = _listed(falls, room // 4)
    if not (fallen or metrics):
        return
    name = cell(compared.baseline, _NAME_WIDTH)
    new = [fall for fall in fallen if fall.sample.index not in listed]
    rows = [
        f"| {_name(fall.sample.sample_id)} | {figure(fall.then)} | {figure(fall.now)} | "
        f"{change(fall.diff)} | {_question(fall.sample)} |"
        for fall in new[:LISTED]
    ]
    yield from ("", f"## Worse than {name}", "")
    if metrics:
        yield f"Worse: {metrics}."
    if changes:
        risen = sum(pair.diff > 0.0 for pair in changes)
        equal = len(changes) - len(fallen) - risen
        above = f" ({len(fallen) - len(new)} of them above)" if len(new) < len(fallen) else ""
        fell = f"{len(fallen)} fell{above}"
        both = all(pair.now == pair.sample.weighted_score for pair in changes)
        of = "" if both else ", over the metrics that both runs have scores of"
        yield f"Of {len(changes)} samples {fell}, {risen} rose, {equal} are equal{of}."
    if rows:
        yield from _rows(f"| sample | {name} | this run | A - B | question |", rows, room)


def _gates(result: ScenarioResult) -> Iterator[str]:
    if not result.gates:
        return
    rows = []
    for gate in result.gates:
        word = gate_word(gate)
        verdict = f"**{word}**" if gate.outcome == "failed" else word
        rows.append(f"| {_name(gate.name)} | {verdict} | {cell(gate.message, _MESSAGE_WIDTH)} |")
    yield from _table("Gates", "| gate | verdict | |", rows, _ROOM_GATES)


def _worst(view: RunView) -> Iterator[str]:
    """Yield the samples that could not be judged, with the reason, then the lowest scores."""
    worst = view.worst(lambda sample: is_bad(sample) or is_scored(sample.weighted_score))
    rows = [
        f"| {_name(sample.sample_id)} | {figure(sample.weighted_score)} | {sample.outcome} | "
        f"{_why(view, sample)} | {_question(sample)} |"
        for sample in worst[:LISTED]
    ]
    if rows:
        head = "| sample | weighted_score | outcome | why | question |"
        title = "Worst samples" if view.result.is_red else "Lowest scores"
        yield from _table(title, head, rows, _ROOM_SAMPLES)


def _why(view: RunView, sample: SampleResult) -> str:
    """Return what is wrong with a sample, "" if it passed."""
    if sample.outcome == "passed":
        return ""
    reasons = (shorten(text, _REASON_WIDTH) for text in view.why(sample))
    return cell("; ".join(reasons), _REASON_WIDTH)


def _table(
    title: str, head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()
) -> Iterator[str]:
    yield from ("", f"## {title}")
    yield from _rows(head, rows, room, last)


def _rows(head: str, rows: Sequence[str], room: int, last: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table: as many rows as fit into ``room`` characters, then all of ``last``."""
    shown = _fitting(rows, room)
    yield from ("", head, "|" + "---|" * (head.count("|") - 1), *shown, *last)
    if len(shown) < len(rows):
        yield from ("", f"{len(rows) - len(shown)} more are in results.json.")


def _question(sample: SampleResult) -> str:
    return cell(sample.question or "", _QUESTION_WIDTH)


def _name(text: str) -> str:
    return cell(text, _NAME_WIDTH)


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put("summary.md", [summary_text(result, run)])


REPORTS = (Report("summary.md", _write, aliases=("md",)),)
