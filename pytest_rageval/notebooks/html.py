"""What notebooks show of results: what is wrong, means with intervals, gates; a ranking."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    GateResult,
    Ranking,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports.run_view import (
    HEADS,
    ComparedRun,
    MeanRow,
    RunView,
    gate_word,
    ranking_head,
    ranking_lines,
    ranking_rows,
)
from pytest_rageval.reports.what_is_wrong import MOST, WhatIsWrong, WrongAnswer, variant_errors
from pytest_rageval.stats.verdict import is_low, shortfalls, shown_errors
from pytest_rageval.stats.wording import figure
from pytest_rageval.text.printable import one_line, printable

_ROWS: Final = 40
_LISTED: Final = 3
_LINE_WIDTH: Final = 400
_TEXT_WIDTH: Final = 2_000
_TITLE_WIDTH: Final = 160
_COLOUR_OF: Final = {
    "passed": "good",
    "FAILED": "bad",
    "undecided": "warn",
    "not judged": "plain",
    "failed": "bad",
    "skipped": "warn",
    "ERROR": "bad",
    "low": "warn",
    "xfailed": "warn",
}
"""By verdict as it is shown, or outcome of a gate or a sample (as ``_WORDS`` calls it)."""
_WORDS: Final = {"error": "ERROR", "passed": "low"}
"""What outcomes are called. A listed sample that passed had no threshold to fail: it is low."""
_BANDS: Final = {"good": "good", "warn": "warn", "bad": "bad", None: "plain"}


def result_html(result: ScenarioResult) -> str:
    """Return a result as HTML: verdict, what is wrong, means, gates; of a green one what is low."""
    view = RunView(result)
    return _whole(
        _heading(result.info.title, _badge(view), view.ended),
        _wrong(view),
        listed(shorten(line, _LINE_WIDTH) for line in _remarks(view)),
        _means(view),
        _gates(result.gates),
        *map(_comparison, view.compared),
        _low(view) if not result.is_red else Markup(""),
    )


def variants_html(
    results: Mapping[str, ScenarioResult], ranking: Ranking, gate: GateResult | None
) -> str:
    """Return variants as HTML: their ranking, the gate ``best``, the verdict of each."""
    figures = dict(ranking_rows(ranking))
    rows = []
    for variant in ranking.variants:
        mean, *rest = figures[variant.name]
        result = results[variant.name]
        view = RunView(result)
        band = _BANDS[result.info.band_of(ranking.metric, variant.mean)]
        ends = variant.ci_low, variant.ci_high
        shown = bar(variant.mean, ends, _scale(result, ranking.metric), band)
        verdict = joined((_badge(view), " ", view.ended))
        rows.append((shorten(variant.name, _TITLE_WIDTH), mean, shown, *rest, verdict))
    head = ("variant", HEADS[0], "", *HEADS[1:], "verdict of its own")
    return _whole(
        _heading(ranking.scenario, Markup(""), ranking_head(ranking)),
        table(head, _cut_rows(rows)),
        listed(
            shorten(line, _LINE_WIDTH)
            for line in (*variant_errors(results.values()), *ranking_lines(ranking))
        ),
        _gates([gate] if gate is not None else []),
    )


def _badge(view: RunView) -> Markup:
    return badge(view.verdict, _COLOUR_OF[view.verdict])


def _whole(*parts: str) -> str:
    look = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:960px"
    return str(element("div", *parts, style=look))


def _heading(title: str, verdict: Markup, ended: str) -> Markup:
    name = element("strong", shorten(title, _TITLE_WIDTH), style="font-size:15px", dir="auto")
    return element("div", name, " ", verdict, " ", ended, style="margin:4px 0")


def _remarks(view: RunView) -> Iterator[str]:
    """Yield what has to be known to read the figures."""
    result = view.result
    if view.asked:
        yield view.asked
    elif not result.complete:
        yield "a partial run: the figures are of the samples that ran, and no gate is decided"
    if result.info.overridden:
        yield f"overridden: {', '.join(result.info.overridden)}"
    yield from (*map(str, view.remarks), *view.people, *view.causes)
    yield from (*result.info.warnings, *result.info.remarks)


def _means(view: RunView) -> Markup:
    head = ("metric", "mean", "", "95 % interval", "weight", "scored")
    rows = [_mean(view.result, mean) for mean in view.means if not mean.is_by_people]
    return table(head, _cut_rows(rows, kept_at_end=1))


def _mean(result: ScenarioResult, row: MeanRow) -> tuple[str, ...]:
    mean, *others = row.texts
    shown = bar(row.mean, row.ends, _scale(result, row.name), _BANDS[row.band])
    return (shorten(row.name, _TITLE_WIDTH), mean, shown, *others)


def _scale(result: ScenarioResult, name: str) -> tuple[float, float]:
    if name == WEIGHTED_SCORE:
        return result.info.weighted_range
    return next(column.range for column in result.info.metrics if column.name == name)


def _gates(gates: Sequence[GateResult]) -> Markup:
    """Return the gates: failed, skipped (shown as undecided), passed."""
    if not gates:
        return Markup("")
    rows = [
        (
            shorten(gate.name, _TITLE_WIDTH),
            badge(_word(gate), _COLOUR_OF[gate.outcome]),
            shorten(gate.message, _LINE_WIDTH),
        )
        for gate in sorted(gates, key=lambda gate: _ORDER[gate.outcome])
    ]
    return table(("gate", "verdict", ""), _cut_rows(rows))


_ORDER: Final = {"failed": 0, "skipped": 1, "passed": 2}


def _word(gate: GateResult) -> str:
    return "undecided" if gate.outcome == "skipped" else gate_word(gate)


def _comparison(compared: ComparedRun) -> Markup:
    """Return the metrics against a baseline, and what is to be said of that."""
    rows = []
    for metric in compared.metrics:
        *means, _, p_adjusted = metric.texts
        rows.append((shorten(metric.name, _TITLE_WIDTH), *means, p_adjusted, metric.word))
    baseline = shorten(compared.baseline, _TITLE_WIDTH)
    head = (f"compared with {baseline}", "A", "B", "A - B", "p (adjusted)", "")
    what = f"A this run, B {baseline}, {compared.test}"
    remarks = compared.remarks
    shown = [*remarks[:MOST], *remarks[MOST:][-1:]]  # the last one says how many rows it takes
    if more := len(remarks) - len(shown):
        shown.insert(MOST, f"and {more} more remarks")
    told = [what, *compared.unpaired, *shown]
    lines = listed(shorten(line, _LINE_WIDTH) for line in told)
    return joined((table(head, _cut_rows(rows)), lines))


def _wrong(view: RunView) -> Markup:
    """Return why scores are missing, failed and undecided gates, the worst answers."""
    found = WhatIsWrong(view)
    undecided = [f"undecided: {gate}" for gate in found.undecided]
    more = [f"and {len(undecided) - MOST} more undecided"] if len(undecided) > MOST else []
    said = [*found.said, *undecided[:MOST], *more, *found.changes]
    lines = listed(shorten(line, _LINE_WIDTH) for line in said)
    return joined([lines, *(_answer(answer) for answer in found.answers[:MOST])])


def _answer(answer: WrongAnswer) -> Markup:
    """Return an answer with what was expected and what is wrong; all else is to be opened."""
    sample = answer.sample
    word = _WORDS.get(sample.outcome, sample.outcome)
    alike = f" and {answer.alike} more alike" if answer.alike else ""
    title = element("strong", shorten(sample.sample_id, _TITLE_WIDTH), alike)
    question = f" {shorten(sample.question or '', _TITLE_WIDTH)}"
    rows = {
        "answer": sample.answer,
        "expected": answer.reference,
        "why": "\n".join(answer.missed),
        "judge": "\n".join(answer.reasons),
        "cause": answer.cause,
    }
    texts = [(name, shorten(text, _LINE_WIDTH)) for name, text in rows.items() if text]
    head = element("div", badge(word, _COLOUR_OF[word]), " ", title, question, dir="auto")
    more = element("summary", "all of it", style="cursor:pointer")
    parts = [
        (name, shorten(text, _TEXT_WIDTH)) for name, text in _facts(answer.view.result, sample)
    ]
    folded = element("details", more, table((), parts))
    inside = element("div", table((), texts), folded, style="margin-left:16px")
    return element("div", head, inside, style="margin:6px 0")


def _low(view: RunView) -> Markup:
    """Return the samples that are low though nothing failed, to be opened."""
    low = view.worst(lambda sample: is_low(view.result.info, sample))
    if not low:
        return Markup("")
    title = f"Low samples ({len(low[:MOST])} of {len(low)})"
    head = element("div", element("strong", title), style="margin:6px 0")
    return joined((head, *(_sample(view.result, sample) for sample in low[:MOST])))


def _sample(result: ScenarioResult, sample: SampleResult) -> Markup:
    parts = (sample.sample_id, figure(sample.weighted_score), sample.question or "")
    title = " · ".join(shorten(text, _TITLE_WIDTH) for text in parts)
    word = _WORDS.get(sample.outcome, sample.outcome)
    rows = [(name, shorten(text, _TEXT_WIDTH)) for name, text in _facts(result, sample)]
    summary = element(
        "summary", badge(word, _COLOUR_OF[word]), " ", title, style="cursor:pointer", dir="auto"
    )
    inside = element("div", table((), rows), style="margin-left:16px")
    return element("details", summary, inside, style="margin:3px 0")


def _facts(result: ScenarioResult, sample: SampleResult) -> Iterator[tuple[str, str]]:
    """Yield all that is known of a sample: what it is, and the text."""
    yield from _texts("question", [sample.question] if sample.question is not None else [])
    yield from _texts("answer", [sample.answer] if sample.answer is not None else [])
    yield from _texts("references", sample.references or ())
    yield from _texts("contexts", sample.contexts or ())
    scores = (f"{name} {figure(score)}" for name, score in sample.scores.items())
    yield "scores", ", ".join(scores)
    yield from (("why", str(missed)) for missed in shortfalls(sample, result.info.thresholds))
    errors = shown_errors(sample)
    yield from ((f"{name}: error", text) for name, text in errors.items())
    reasons = {name: text for name, text in sample.reasons.items() if name not in errors}
    yield from ((f"{name}: reason", text) for name, text in reasons.items())
    if sample.cause is not None:
        yield "cause", f"{sample.cause}: {sample.cause_reason}"


def _texts(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for text in texts[:_LISTED])
    if len(texts) > _LISTED:
        yield name, f"and {len(texts) - _LISTED} more"


def _cut_rows(rows: Sequence[tuple[str, ...]], kept_at_end: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield as many rows as are shown, how many more there are, and those kept at the end."""
    at = len(rows) - kept_at_end
    before, after = rows[:at], rows[at:]
    yield from before[:_ROWS]
    if len(before) > _ROWS:
        yield (f"and {len(before) - _ROWS} more", *[""] * (len(rows[0]) - 1))
    yield from after


# White text on these has a contrast of at least 4.5; these on white, and on black, of at least 3.
COLOURS: Final[Mapping[str, str]] = {
    "good": "#1a7f4b",
    "warn": "#946200",
    "bad": "#c03a32",
    "plain": "#667080",
}
_LINE: Final = "1px solid rgba(128,128,128,.35)"
_CELL: Final = f"padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:{_LINE}"
_FIGURE: Final = "white-space:nowrap;font-variant-numeric:tabular-nums"
_WRAPPED: Final = "overflow-wrap:anywhere;min-width:80px"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *parts: str, style: str = "", **attributes: str) -> Markup:
    """Return an element; parts that are no Markup are text, whatever they look like."""
    written = {"style": style, **attributes} if style else attributes
    named = "".join(f' {name}="{html.escape(value)}"' for name, value in written.items())
    return Markup(f"<{tag}{named}>{''.join(map(_escaped, parts))}</{tag}>")


def _escaped(part: str) -> str:
    return part if isinstance(part, Markup) else html.escape(printable(part))


def joined(parts: Iterable[str]) -> Markup:
    """Return elements and texts one after another."""
    return Markup("".join(map(_escaped, parts)))


def badge(word: str, colour: str) -> Markup:
    """Return a word on a coloured ground."""
    look = "color:#fff;border-radius:4px;padding:1px 7px;font-weight:600;white-space:nowrap"
    return element("span", word, style=f"background:{COLOURS[colour]};{look}")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """Return a table: the first cell of a row is its name, the last one may have several lines."""
    names = [element("th", name, style=f"{_CELL};{_FIGURE}", scope="col") for name in head]
    top = element("thead", element("tr", *names)) if names else Markup("")
    body = (element("tr", *_cells(row)) for row in rows)
    look = "border-collapse:collapse;margin:6px 0;width:auto;font-size:13px;color:inherit"
    return element("table", top, element("tbody", *body), style=look)


def _cells(row: Iterable[str]) -> Iterable[Markup]:
    name, *figures, last = row
    yield element("th", name, style=f"{_CELL};{_WRAPPED};font-weight:600", scope="row", dir="auto")
    yield from (element("td", part, style=f"{_CELL};{_FIGURE}") for part in figures)
    yield element("td", last, style=f"{_CELL};{_WRAPPED};white-space:pre-wrap", dir="auto")


def bar(
    value: float | None,
    ends: tuple[float | None, float | None],
    scale: tuple[float, float],
    colour: str,
) -> Markup:
    """Return a mean as a bar on its scale, with a line from end to end of its interval.

    Empty where there is no value, or the scale has no two ends.
    """
    low, high = scale
    if value is None or not high - low < float("inf") or high <= low:
        return Markup("")

    def percent(at: float) -> float:
        return round(100 * min(1.0, max(0.0, (at - low) / (high - low))), 1)

    track = "position:relative;width:120px;height:12px;margin-top:4px;border-radius:3px"
    fill = f"height:12px;border-radius:3px;width:{percent(value)}%;background:{COLOURS[colour]}"
    parts = [element("div", style=fill)]
    if ends[0] is not None and ends[1] is not None:
        left, right = percent(ends[0]), percent(ends[1])
        place = f"position:absolute;top:5px;left:{left}%;width:{round(right - left, 1)}%"
        parts.append(
            element("div", style=f"{place};height:2px;background:currentColor;opacity:.75")
        )
    look = f"{track};background:rgba(128,128,128,.25)"
    return element("div", *parts, style=look, **{"aria-hidden": "true"})


def listed(lines: Iterable[str]) -> Markup:
    """Return a list of remarks; nothing without any."""
    items = [element("li", line, dir="auto") for line in lines]
    return element("ul", *items, style="margin:6px 0;padding-left:20px") if items else Markup("")


def result_text(result: ScenarioResult) -> str:
    """Return name, verdict and weighted score.

    ``support-bot: FAILED, 1 of 2 gates failed; 3 of 3 cases passed; weighted_score 0.6000
    (0.5000..0.7000)``
    """
    view = RunView(result)
    mean, ends, *_ = view.means[-1].texts
    score = f"weighted_score {mean}" + ("" if ends == "-" else f" ({ends})")
    return f"{one_line(result.info.title)}: {view.verdict}, {view.ended}; {score}"


def ranking_text(ranking: Ranking, gate: GateResult | None) -> str:
    """Return the variants with means and letters, and the gate ``best``."""
    ranked = ", ".join(
        one_line(f"{variant.name} {figure(variant.mean)} {variant.letters}")
        for variant in ranking.variants
    )
    best = f"; gate {gate.name} {gate.outcome}" if gate is not None else ""
    undecided = "; no letters" if ranking.undecided else ""
    return f"{one_line(ranking.scenario)}: {ranked} ({ranking_head(ranking)}){undecided}{best}"
