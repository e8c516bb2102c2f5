"""``summary.md``: the means, the gates and the worst samples, fit for a pull-request comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.errors import shorten
from pytest_rageval.model import Comparison, RunInfo, SampleResult, ScenarioResult, p_figure
from pytest_rageval.reports.base import RunFolder
from pytest_rageval.stats.weights import is_scored

_WORST = 10


class SummaryMd:
    """Writes ``summary.md``."""

    name = "summary.md"
    aliases = ("md",)
    on_request = False

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        folder.put(self.name, (line + "\n" for line in _lines(result, run)))


def _lines(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    counts = result.counts
    yield f"# {_plain(result.info.name)}"
    yield ""
    yield f"- run_id: `{run.id}`"
    yield f"- scenario: `{result.info.path}`"
    yield f"- samples: {counts.samples} (ran {counts.ran}, scored {counts.scored})"
    yield (
        f"- outcomes: {counts.passed} passed, {counts.failed} failed, {counts.error} error, "
        f"{counts.skipped} skipped, {counts.xfailed} xfailed, {counts.invalid} invalid"
    )
    if result.info.overridden:
        yield f"- overridden: {', '.join(f'`{path}`' for path in result.info.overridden)}"
    if not result.complete:
        yield "- **partial run**: the figures are of the samples that ran"
    yield from _means(result)
    yield from _comparison(result.comparison)
    yield from _gates(result)
    yield from _worst(result.samples)


def _means(result: ScenarioResult) -> Iterator[str]:
    yield ""
    yield "## Metric Means (weighted)"
    yield ""
    yield "| metric | mean | 95 % interval | weight | scored |"
    yield "|---|---|---|---|---|"
    for name, metric in result.metrics.items():
        interval = _interval(metric.ci_low, metric.ci_high)
        scored = f"{metric.n}/{metric.n + metric.unscored}"
        mean, weight = figure(metric.weighted_mean), f"{metric.weight:g}"
        yield f"| {_plain(name)} | {mean} | {interval} | {weight} | {scored} |"
    overall = result.weighted_score
    interval = _interval(overall.ci_low, overall.ci_high)
    scored = f"{overall.n}/{overall.n + overall.unscored}"
    yield f"| **weighted_score** | **{figure(overall.mean)}** | {interval} | | {scored} |"


def _comparison(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        return
    yield ""
    yield f"## Compared with {_plain(comparison.baseline)}"
    yield ""
    yield f"| metric | A (this run) | B | A - B | interval | p ({comparison.test}, Holm) | n | |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, found in comparison.metrics.items():
        interval = _interval(found.ci_low, found.ci_high)
        p_value = "-" if found.p_adjusted is None else _plain(p_figure(found.p_adjusted))
        verdict = "**significant**" if found.significant else _plain(found.note)
        diff = "-" if found.diff is None else f"{found.diff:+.4f}"
        yield (
            f"| {_plain(name)} | {figure(found.a_mean)} | {figure(found.b_mean)} | {diff} | "
            f"{interval} | {p_value} | {found.n} | {verdict} |"
        )
    for where, names in (("this run", comparison.only_a), ("the baseline", comparison.only_b)):
        if names:
            yield ""
            yield f"Only in {where}: {len(names)} samples"


def _gates(result: ScenarioResult) -> Iterator[str]:
    if not result.gates:
        return
    yield ""
    yield "## Gates"
    yield ""
    yield "| gate | verdict | |"
    yield "|---|---|---|"
    for gate in result.gates:
        verdict = "**FAILED**" if gate.outcome == "failed" else gate.outcome
        yield f"| {_plain(gate.name)} | {verdict} | {_plain(gate.message)} |"


def _worst(samples: Sequence[SampleResult]) -> Iterator[str]:
    scored = [sample for sample in samples if is_scored(sample.weighted_score)]
    worst = sorted(scored, key=lambda sample: (sample.weighted_score or 0.0, sample.index))[:_WORST]
    if worst:
        yield ""
        yield "## Lowest samples"
        yield ""
        yield "| sample | weighted_score | outcome | question |"
        yield "|---|---|---|---|"
    for sample in worst:
        question = _plain(shorten(sample.question or "", 80))
        score = figure(sample.weighted_score)
        yield f"| {_plain(sample.sample_id)} | {score} | {sample.outcome} | {question} |"


def figure(value: float | None) -> str:
    """Return a figure with four decimals, or a dash where there is none."""
    return "-" if value is None else f"{value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4f}..{high:.4f}"


def _plain(text: str) -> str:
    """Return text of the data as it can stand in a Markdown table cell."""
    flat = " ".join(text.split())
    for mark in "\\`*_{}[]<>|":
        flat = flat.replace(mark, f"&#{ord(mark)};" if mark in "<>|" else f"\\{mark}")
    return flat


REPORTS = (SummaryMd(),)
