"""One view of a run: its verdict, means, worst samples and comparisons, in figures and words.

The terminal, ``summary.md``, the page, notebooks, GitHub and agents show it. They decide about
form: which parts, in which order, how many rows; not about a figure, a reason or a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from pytest_rageval.errors import listed
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Comparison,
    GateResult,
    MetricComparison,
    MetricSummary,
    Ranking,
    SampleResult,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.model.value import Band
from pytest_rageval.reports.missing import Remark, missing_in
from pytest_rageval.stats.caveats import band_of, judged_text
from pytest_rageval.stats.verdict import (
    badness,
    is_judged,
    shortfalls,
    shown_errors,
)
from pytest_rageval.stats.wording import (
    Word,
    agreement_text,
    cause_change_lines,
    cause_lines,
    change,
    corrected_figures,
    counted,
    disagreement_text,
    figure,
    interval,
    p_figure,
    remark_of,
    sample_text,
    verdict_word,
)

Verdict = Literal["passed", "FAILED", "undecided", "not judged"]

HEADS = ("mean", "95 % interval", "letters", "to the best", "p (max-T)")
"""The heads of the columns beside the variant's name."""

_MOST_DISAGREEMENTS: Final = 3
_UNPAIRED: Final = 5
_UNSCORED: Final = [("unscored", "failed")]
"""The verdicts of a scenario without gates where scores are missing: that is said in words."""


@dataclass(frozen=True)
class RunView:
    """A run as people read it."""

    result: ScenarioResult

    @cached_property
    def verdict(self) -> Verdict:
        """FAILED when a gate or a case failed, or a case could not be judged.

        Otherwise undecided when a gate is, as in a first run, which has no earlier one to compare
        with, or when not everything ran, unless asking stopped because the verdict was certain; not
        judged when there was nothing to pass.
        """
        if self.result.is_red:
            return "FAILED"
        is_open = any(gate.outcome == "skipped" for gate in self.result.gates)
        if is_open or not (self.result.complete or self.result.counts.not_asked):
            return "undecided"
        return "passed" if is_judged(self.result) else "not judged"

    @property
    def is_plain(self) -> bool:
        """Whether the verdict says it all: green, wholly decided, compared with nothing."""
        return not self.result.comparisons and self.verdict in ("passed", "not judged")

    @cached_property
    def ended(self) -> str:
        """How many gates and cases ended how."""
        counts = self.result.counts
        none = f"no gates{' on answers' * bool(self.result.gates)} and no thresholds"
        gates = none if self.verdict == "not judged" else self._gates
        cases = [f"{counts.passed} of {counts.ran} cases passed"]
        cases += [f"{counts.failed} failed"] if counts.failed else []
        cases += [f"{counts.error} could not be judged"] if counts.error else []
        return f"{gates}; {', '.join(cases)}"

    @property
    def _gates(self) -> str:
        gates = self.result.gates
        verdicts = [(gate.name, gate.outcome) for gate in gates]
        if not self.result.info.gates and verdicts == _UNSCORED:
            return "samples without a score"
        ended = Counter(gate.outcome for gate in gates)
        total = counted(len(gates), "gate")
        if ended["failed"]:
            undecided = f", {ended['skipped']} undecided" if ended["skipped"] else ""
            return f"{ended['failed']} of {total} failed{undecided}"
        if ended["skipped"]:
            return f"{ended['skipped']} of {total} undecided"
        return f"{total} passed" if gates else "no gates"

    @property
    def asked(self) -> str:
        """What the figures are of if not all samples were asked, on purpose, else ""."""
        counts = self.result.counts
        if not counts.not_asked:
            # A part of the sample is no sample: such a run is partial.
            return sample_text(self.result.info) if self.result.complete else ""
        asked = f"{counts.ran} of {counts.samples} samples asked"
        return f"stopped when the verdict was certain: all figures are of the {asked}"

    @cached_property
    def means(self) -> Sequence[MeanRow]:
        """The mean of each metric, and of the weighted score at the end.

        A mean that is corrected by labels of people follows the one that it corrects. Where only a
        sample of the rows was asked, means and intervals are those estimated over all rows.
        """
        return list(_means(self.result))

    @cached_property
    def missing(self) -> Sequence[Remark]:
        """What is missing in the figures, and which of them are not to be trusted."""
        return list(missing_in(self.result))

    @cached_property
    def remarks(self) -> Sequence[Remark]:
        """What is missing but for the errors of a red run, with which its outputs begin."""
        return [part for part in self.missing if not (part.is_error and self.result.is_red)]

    @cached_property
    def people(self) -> Sequence[str]:
        """For each metric with labels how well it agrees, then the most surprising samples.

        Before all that, why corrected means are missing, unless the message of a gate says it.
        """
        return list(_people(self.result))

    @cached_property
    def causes(self) -> Sequence[str]:
        """How many low answers have which cause, then the first of each; nothing without any."""
        return list(cause_lines(self.result.samples))

    @cached_property
    def compared(self) -> Sequence[ComparedRun]:
        """The run against each baseline, in the order of the file; nothing without one."""
        return [ComparedRun(self.result, figures) for figures in self.result.comparisons]

    def worst(self, is_listed: Callable[[SampleResult], bool]) -> list[SampleResult]:
        """Return those that ``is_listed``: what could not be judged, then the lowest first."""
        return sorted(filter(is_listed, self.result.samples), key=badness)

    def why(self, sample: SampleResult) -> list[str]:
        """Return the thresholds that a sample misses, and its errors, each with its metrics.

        Errors come first if the outcome is ``error``, else last. A sample that passed may have
        some, of metrics that its weighted score can lack.
        """
        missed = [str(shortfall) for shortfall in shortfalls(sample, self.result.info.thresholds)]
        by_text: dict[str, list[str]] = {}
        for name, text in shown_errors(sample).items():
            by_text.setdefault(text, []).append(name)
        errors = [f"{', '.join(names)}: {text}" for text, names in by_text.items()]
        return errors + missed if sample.outcome == "error" else missed + errors


@dataclass(frozen=True)
class ComparedRun:
    """A run against one baseline."""

    result: ScenarioResult
    figures: Comparison

    @property
    def baseline(self) -> str:
        """The name of the baseline."""
        return self.figures.baseline

    @property
    def test(self) -> str:
        """How the differences are tested, and at which alpha."""
        looks = self.figures.looks
        alpha = f"alpha {self.figures.alpha:g}"
        if looks > 1:
            alpha += f" (one of {looks:,} looks, which share {self.figures.alpha * looks:.3g})"
        return f"test {self.figures.test}, {alpha}"

    @cached_property
    def metrics(self) -> Sequence[ComparedMetric]:
        """Its metrics, each with its verdict in a word."""
        rises = {column.name: column.higher_is_better for column in self.result.info.metrics}
        return [
            ComparedMetric(name, found, verdict_word(found, higher_is_better=rises.get(name, True)))
            for name, found in self.figures.metrics.items()
        ]

    @cached_property
    def needed_rows(self) -> str:
        """How many rows it takes to see the fall that matters; "" where no fall is tested."""
        # Not at the top: most runs are compared with nothing.
        from pytest_rageval.reports.needed_rows import rows_of_comparison

        return rows_of_comparison(self.result.info, self.figures)

    @property
    def remarks(self) -> list[str]:
        """What is to be said of its metrics beside their verdicts, then the ``needed_rows``."""
        said = ((metric.name, remark_of(metric.figures)) for metric in self.metrics)
        told = [f"{name}: {remark}" for name, remark in said if remark]
        return [*told, self.needed_rows] if self.needed_rows else told

    @property
    def unpaired(self) -> list[str]:
        """The samples that one of the runs lacks, but those that a partial run leaves out."""
        of_baseline = self.figures.only_b if self.result.complete else ()
        return [
            f"{counted(len(ids), 'sample')} only in {run}: {listed(ids, _UNPAIRED)}"
            for run, ids in (("this run", self.figures.only_a), (self.baseline, of_baseline))
            if ids
        ]

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The samples that both runs scored; nothing if the baseline has no weighted score.

        Their scores are over the metrics that apply to the sample in both runs.
        """
        info = self.result.info
        baseline = info.baselines.get(self.baseline)
        if baseline is None or WEIGHTED_SCORE not in baseline.scores:
            return []
        # Not at the top: most runs are compared with nothing.
        from pytest_rageval.stats.comparison import scored_pairs

        pairs = scored_pairs(info, self.result.samples, baseline, WEIGHTED_SCORE)
        return [Change(sample, then, now) for sample, now, then in pairs]


def gate_word(gate: GateResult) -> str:
    """Return how a gate ended; what failed stands out."""
    return "FAILED" if gate.outcome == "failed" else gate.outcome


def is_bad(sample: SampleResult) -> bool:
    """Return whether a sample failed, or could not be judged."""
    return sample.outcome in ("failed", "error")


@dataclass(frozen=True, slots=True)
class MeanRow:
    """A mean: of a metric, of a metric as labels of people correct it, or of the weighted score.

    ``weight`` is the metric's, None for the others. ``scored`` says how many samples or labels it
    is of.
    """

    name: str
    mean: float | None
    ends: tuple[float | None, float | None]
    weight: float | None
    scored: str
    band: Band | None
    is_by_people: bool = False

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Mean, interval, weight and what it is of, as text."""
        weight = "" if self.weight is None else f"{self.weight:g}"
        return figure(self.mean), interval(*self.ends), weight, self.scored


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """A metric in this run and the baseline, with the verdict."""

    name: str
    figures: MetricComparison
    word: Word

    @property
    def texts(self) -> tuple[str, str, str, str, str]:
        """A, B, A - B, the p-value and the adjusted one, as text."""
        found = self.figures
        means = figure(found.a_mean), figure(found.b_mean), change(found.diff)
        return (*means, p_figure(found.p_value), p_figure(found.p_adjusted))

    @property
    def reach(self) -> float | None:
        """The smallest detectable difference if none is shown and it is above the found one."""
        smallest = self.figures.smallest_detectable
        if self.word != "no difference shown" or smallest is None:
            return None
        return smallest if abs(self.figures.diff or 0.0) < smallest else None


@dataclass(frozen=True, slots=True)
class Change:
    """A sample that two runs scored: ``then`` in the baseline, ``now`` in this one."""

    sample: SampleResult
    then: float
    now: float

    @property
    def diff(self) -> float:
        """By how much it rose, negative if it fell; 0 for mere rounding."""
        return 0.0 if abs(self.now - self.then) <= TOLERANCE else self.now - self.then


def scored_figure(summary: MetricSummary | WeightedSummary) -> str:
    """Return how many of the samples have the score, how many failed, and how many lack it in all.

    >>> scored_figure(WeightedSummary(0.5, 17, 3, None, None, failed=2))
    '17/20  2 failed (3 unscored)'
    """
    failed = f"  {summary.failed} failed" if summary.failed else ""
    gap = " " if failed else "  "
    unscored = f"{gap}({summary.unscored} unscored)" if summary.unscored else ""
    return f"{summary.n}/{summary.n + summary.unscored}{failed}{unscored}"


def _means(result: ScenarioResult) -> Iterator[MeanRow]:
    for name in (*result.metrics, WEIGHTED_SCORE):
        summary, estimate = result.summary_of(name), result.estimates.get(name)
        mean, ends = result.mean_of(name), (summary.ci_low, summary.ci_high)
        scored = scored_figure(summary) + judged_text(result, name)
        if estimate is not None:
            mean, ends = estimate.mean, (estimate.beyond_low, estimate.beyond_high)
            scored += f"  {estimate.why or f'estimated of {estimate.rows}'}"
        yield MeanRow(
            name,
            mean,
            ends,
            summary.weight if isinstance(summary, MetricSummary) else None,
            scored,
            band_of(result, name, mean),
        )
        if name in result.corrected:
            found = result.corrected[name]
            labels = f"{found.labels} labelled" if found.mean is None else corrected_figures(found)
            ends, band = (found.ci_low, found.ci_high), result.info.band_of(name, found.mean)
            yield MeanRow(name, found.mean, ends, None, labels, band, is_by_people=True)


def _people(result: ScenarioResult) -> Iterator[str]:
    for name, corrected in result.corrected.items():
        messages = " ".join(gate.message for gate in result.gates if gate.metric in (name, ""))
        if corrected.mean is None and corrected.why not in messages:
            yield f"{name} by people: {corrected.why}"
    if not result.agreement:
        return
    # Not at the top: most runs have no labels.
    from pytest_rageval.stats.labels.cells import LEVEL_WORDS, is_of_cells

    for name, found in result.agreement.items():
        has_cells = is_of_cells(result.info, name)
        if found.n or found.stale:
            yield f"{name} and people: {agreement_text(found, has_cells=has_cells)}"
        words = LEVEL_WORDS if has_cells else None
        for surprise in found.disagreements[:_MOST_DISAGREEMENTS]:
            yield f"{name} on {surprise.sample_id}: {disagreement_text(surprise, words)}"


def ranking_rows(ranking: Ranking) -> list[tuple[str, tuple[str, ...]]]:
    """Return each variant with its figures as text, in the order of ``HEADS``."""
    # One place for each letter, so that equal letters are below each other.
    columns = sorted({letter for variant in ranking.variants for letter in variant.letters})
    rows: list[tuple[str, tuple[str, ...]]] = []
    for variant in ranking.variants:
        letters = "".join(letter if letter in variant.letters else " " for letter in columns)
        pair = ranking.pair(variant.name, ranking.best)
        # The pair may be in either order; no mean is better than that of the best.
        diff = None if pair is None or pair.diff is None else abs(pair.diff)
        if diff and ranking.higher_is_better:
            diff = 0.0 - diff
        adjusted = p_figure(None if pair is None else pair.p_adjusted)
        ends = interval(variant.ci_low, variant.ci_high)
        rows.append((variant.name, (figure(variant.mean), ends, letters, change(diff), adjusted)))
    return rows


def ranking_head(ranking: Ranking) -> str:
    """Return what the variants are ranked by, and over which samples."""
    order = "" if ranking.higher_is_better else ", lowest first"
    common = counted(ranking.common, "common sample")
    left_out = ranking.total - ranking.common
    lost = f", {left_out} of {ranking.total} lack a score somewhere" if left_out else ""
    part = "" if ranking.complete else "; a partial run, which decides nothing"
    return f"by {ranking.metric}{order}, over {common}{lost}{part}"


def ranking_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what the letters mean, or why there are none, changes of causes, then remarks."""
    if ranking.undecided:
        yield f"no letters: {ranking.undecided}"
    elif any(variant.letters for variant in ranking.variants):
        how = f"max-T over {len(ranking.pairs)} pairs, " if len(ranking.pairs) > 1 else ""
        yield f"variants that share a letter cannot be told apart ({how}alpha {ranking.alpha:g})"
    yield from cause_change_lines(ranking)
    yield from ranking.remarks
