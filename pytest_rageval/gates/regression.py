"""The gates of ``no_regression`` and ``compare_fail``: they fail where a metric fell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import NormalDist
from typing import ClassVar, Final, Literal, TypeVar

from pytest_rageval.gates.agreement import labels_of
from pytest_rageval.gates.base import Location
from pytest_rageval.gates.early_regression import FallGate
from pytest_rageval.gates.worst_samples import WorstSamples, fallen, weighing
from pytest_rageval.model import (
    NOTHING,
    TOLERANCE,
    WEIGHTED_SCORE,
    Corrected,
    Correction,
    GateResult,
    HumanLabels,
    MetricComparison,
    SampleResult,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.stats.paired import correction_used, holm, power_factor
from pytest_rageval.stats.verdict import is_all_ruled_out, is_ruled_out, refuses, row_rules_out
from pytest_rageval.stats.weights import is_scored, weighted_mean
from pytest_rageval.stats.wording import correction_name, counted, p_figure, verdict_word

AnyFinding = TypeVar("AnyFinding", "_Finding", "_CorrectedFinding")

UNDECIDED: Final = "'undecided: pass'"
FEW_PAIRS: Final = f"{UNDECIDED} (or 'min_pairs: 0', if what is left is enough)"
_FELL_ANYWAY: Final = "it fails by the pairs there are"


@dataclass(frozen=True, slots=True)
class RegressionGate(FallGate):
    """Tests all its metrics together, and names those that fell or that cannot be decided."""

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail if a metric fell, has no pair of scores, or (``undecided: fail``) is undecided."""
        found = self._but_for_holes(result, self._findings(result))
        failed, shown, worst = self._worst(found)
        message = "; ".join(self._sentence(finding) for finding in shown)
        if not failed and len(found) > 1:
            message = f"none of {len(found)} metrics, worst {message}"
        if self._would_pass_by_holm(found, failed):
            message += "; by Holm's stricter method it would pass: 'correction: holm'"
        return self._verdict(failed, worst.gain, worst.allowed, message)

    def _verdict(
        self, failed: Sequence[AnyFinding], gain: float | None, allowed: float, message: str
    ) -> GateResult:
        """Return the verdict: how to let it pass, if ``undecided: pass`` would."""
        if any(finding.why and not finding.fell for finding in failed):
            is_few = any("min_pairs" in finding.why for finding in failed)
            message += f"; to let it pass: {FEW_PAIRS if is_few else UNDECIDED}"
        bound = 0.0 - allowed  # 0.0 where nothing is allowed, not -0.0
        margin = None if gain is None else gain - bound
        outcome: Literal["failed", "passed"] = "failed" if failed else "passed"
        return GateResult(self.name, outcome, gain, bound, message, margin)

    def within(self, ids: Sequence[str]) -> RegressionGate:
        """Return the gate about these samples of the baseline alone."""
        return replace(self, baseline=replace(self.baseline, ids=ids))

    def asks_nothing_of(self, sample: SampleResult) -> bool:
        """Return whether the sample weighs 0, or all metrics are ruled out for it and none is lost.

        A score is lost if the baseline has it: the weighted one, or that of a metric which neither
        the row nor a refusal rules out.
        """
        is_out = FallGate.asks_nothing_of(self, sample)  # no super() with slots
        is_known = any(
            self._has(name, sample.sample_id)
            for name in self.targets
            if name == WEIGHTED_SCORE or not (row_rules_out(sample, name) or refuses(sample))
        )
        return is_out and not (is_known and sample.sample_weight > 0.0)

    def for_rows(self, samples: Sequence[SampleResult]) -> RegressionGate:
        """Return the gate without metrics that all these rows rule out; itself if none is left.

        A metric that the baseline has a score of, for one of the rows, stays.
        """
        counting = [one for one in samples if one.is_expected and one.sample_weight > 0.0]
        left = {
            name: up
            for name, up in self.higher_is_better.items()
            if not all(row_rules_out(sample, name, or_lacks=True) for sample in counting)
            or any(self._has(name, one.sample_id) for one in samples if one.sample_weight > 0.0)
        }
        return replace(self, higher_is_better=left) if left else self

    def _has(self, metric: str, sample_id: str) -> bool:
        """Return whether the baseline has a score of the metric for a sample."""
        return is_scored(self.baseline.scores.get(metric, NOTHING).get(sample_id))

    def lacks_samples(self, result: ScenarioResult) -> str:
        """Return the message that ``result`` lacks too many samples of the baseline, else ''."""
        if self.undecided == "pass":
            return ""
        weighing = (sample for sample in result.samples if sample.sample_weight > 0.0)
        ours = {sample.sample_id for sample in weighing if not sample.is_left_out}
        there = sum(name in ours for name in self.baseline.ids)
        reason = self._too_few(result, there, "are in this run")
        return f"{reason}; to let it pass: {FEW_PAIRS}" if reason else ""

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the samples that are worse than in the baseline."""
        return fallen(result, self.baseline, self.higher_is_better)

    def _worst(
        self, found: Sequence[AnyFinding]
    ) -> tuple[list[AnyFinding], list[AnyFinding], AnyFinding]:
        """Return the findings that fail the gate, those to speak of, and the worst of these."""
        is_strict = self.undecided == "fail"
        failed = [finding for finding in found if finding.fell or (finding.why and is_strict)]
        shown = failed or [min(found, key=lambda finding: finding.gain or 0.0)]
        worst = min(shown, key=lambda finding: -1e300 if finding.gain is None else finding.gain)
        return failed, shown, worst

    def _findings(self, result: ScenarioResult) -> list[_Finding]:
        # It imports numpy, which runs without a comparison need not load.
        from pytest_rageval.stats.comparison import compare_runs

        compared = compare_runs(result, self.baseline, self.targets, self._test).metrics
        allowed = {name: self._allowed(comparison) for name, comparison in compared.items()}
        beyond: Mapping[str, MetricComparison] = {}
        if self.mode == "exceeds":
            signs = {name: 1.0 if up else -1.0 for name, up in self.higher_is_better.items()}
            shifts = {name: signs[name] * allowed[name] for name in compared}
            beyond = compare_runs(
                result, self.baseline, self.targets, self._test, shifts=shifts
            ).metrics
        return [
            self._finding(result, name, comparison, allowed[name], beyond.get(name))
            for name, comparison in compared.items()
        ]

    def _but_for_holes(self, result: ScenarioResult, found: list[_Finding]) -> list[_Finding]:
        """Return the findings; a fall that good unjudged results would undo cannot be decided."""
        if not any(finding.fell for finding in found):
            return found
        from pytest_rageval.stats.holes import at_high_end, what_decides

        fallen_now = [finding.name for finding in found if finding.fell and not finding.why]
        whys = {name: what_decides(result, self.baseline, name) for name in fallen_now}
        at_best = self._findings(at_high_end(result, whys)) if any(whys.values()) else found
        return [
            replace(finding, fell=False, why=whys[finding.name])
            if whys.get(finding.name) and not best.fell
            else finding
            for finding, best in zip(found, at_best, strict=True)
        ]

    @property
    def _test(self) -> SignificanceTest:
        if self.mode != "non_inferior":
            return self.test
        # The interval decides, not p: which number of pairs is enough must not depend on a test.
        return replace(self.test, test="permutation", correction="none")

    def _finding(
        self,
        result: ScenarioResult,
        name: str,
        found: MetricComparison,
        allowed: float,
        beyond: MetricComparison | None,
    ) -> _Finding:
        from pytest_rageval.stats.comparison import interval_of_fall

        if found.diff is None:
            return _Finding(name, found, None, allowed, fell=True)
        gain = found.diff if self.higher_is_better[name] else -found.diff
        interval = None
        if self.mode == "non_inferior":
            interval = interval_of_fall(
                result, self.baseline, name, self.test.alpha, self.spans[name]
            )
        why = self._too_few(result, found.n, "have a score in both runs", name)
        why = why or self._too_many_lost(result, found.n, name)
        if self.mode == "non_inferior" and interval is None:
            why = why or "too few pairs, or groups, for an interval: no fall is excluded"
        elif not why and self.mode != "any":
            why = (found if beyond is None else beyond).undecided
        ids = frozenset(self.baseline.ids)
        shared = (sample for sample in weighing(result) if sample.sample_id in ids)
        ruled_out = sum(self._rules_out(sample, name) for sample in shared)
        finding = _Finding(name, found, gain, allowed, False, why, beyond, interval, ruled_out)
        return replace(finding, fell=self._fell(finding))

    def _allowed(self, found: MetricComparison) -> float:
        return self.max_drop * abs(found.b_mean or 0.0) if self.relative else self.max_drop

    def _fell(self, one: _Finding) -> bool:
        if self.mode == "non_inferior":
            low, high = one.interval or (-math.inf, math.inf)
            worst = low if self.higher_is_better[one.name] else -high
            return worst < -one.allowed - TOLERANCE
        if one.gain is None or one.gain >= -one.allowed - TOLERANCE:
            return False
        tested = one.found if one.beyond is None else one.beyond
        return self.mode == "any" or tested.significant

    def _too_few(self, result: ScenarioResult, there: int, what: str, metric: str = "") -> str:
        """Return the message that ``there`` are fewer pairs than ``min_pairs`` requires, else ''.

        Not required are samples of weight 0 or not drawn, those that neither run was to score, and
        those for which the ``metric`` is ruled out and the baseline has no score of it either.
        Samples that ``stop`` left out are in the baseline, but no pair can be asked of them.
        """
        ids = frozenset(self.baseline.ids)
        scores = self.baseline.scores.values()
        shared = [sample for sample in result.samples if sample.sample_id in ids]
        exempt = sum(
            sample.sample_weight == 0.0
            or sample.is_not_drawn
            or self._rules_out(sample, metric)
            or not (
                sample.is_expected
                or sample.is_left_out
                or any(is_scored(score.get(sample.sample_id)) for score in scores)
            )
            for sample in shared
        )
        not_asked = sum(sample.is_left_out and sample.sample_weight > 0.0 for sample in shared)
        # As many may be lost as if all had been asked about.
        needed = self.pairs_needed(len(ids) - exempt) - not_asked
        if there >= needed:
            return ""
        total = f"{there} of the {len(ids) - exempt - not_asked} samples of {self.baseline.name}"
        return f"only {total} {what}, and min_pairs: {self.min_pairs:g} asks for {needed}"

    def _rules_out(self, sample: SampleResult, metric: str) -> bool:
        """Return whether row, label or run rule the metric out, and the baseline has no score.

        They rule the weighted score out where they rule every metric out.
        """
        is_all = metric == WEIGHTED_SCORE and is_all_ruled_out(sample)
        is_out = is_all or is_ruled_out(sample, metric)
        return is_out and not self._has(metric, sample.sample_id)

    def _too_many_lost(self, result: ScenarioResult, n: int, metric: str) -> str:
        """Return the message that too many weighted scores lack a metric of the baseline's."""
        from pytest_rageval.stats.comparison import lost_metrics

        lost = lost_metrics(result, self.baseline) if metric == WEIGHTED_SCORE else {}
        if not lost:
            return ""
        names = ", ".join(dict.fromkeys(name for missing in lost.values() for name in missing))
        what = f"still have every score ({names} missing on {len(lost)})"
        return self._too_few(result, n - len(lost), what, metric)

    def _would_pass_by_holm(self, found: Sequence[_Finding], failed: Sequence[_Finding]) -> bool:
        """Return whether the gate would pass by Holm's method, which is stricter."""
        if self._used != "max-t" or self.mode not in ("significant", "exceeds") or not failed:
            return False
        tested = {finding.name: (finding.beyond or finding.found).p_value for finding in found}
        known = {name: p for name, p in tested.items() if p is not None}
        adjusted = dict(zip(known, holm(list(known.values())), strict=True))
        return all(
            not finding.why and adjusted.get(finding.name, 0.0) >= self.test.alpha
            for finding in failed
        )

    @property
    def _used(self) -> Correction:
        return correction_used(self.test.test, self.test.correction)

    def _sentence(self, one: _Finding) -> str:
        found, up = one.found, self.higher_is_better[one.name]
        if found.diff is None or found.a_mean is None or found.b_mean is None:
            return f"{one.name}: no sample was scored in both runs"
        groups = "" if found.groups is None else f" in {counted(found.groups, 'group')}"
        text = (
            f"{one.name}: {self._word(one)}, A {found.a_mean:.4f}, "
            f"B {found.b_mean:.4f} ({self.baseline.name}), difference {found.diff:+.4f}, "
            f"{self._tested(one)}, n {found.n}{groups}"
        )
        if one.ruled_out:
            rule = "rules" if one.ruled_out == 1 else "rule"
            text += f"; {counted(one.ruled_out, 'row')} {rule} it out"
        if one.fell and self.mode != "any":
            text += f"; mode {self.mode}, max_drop {one.allowed:.4f}"
        elif not one.fell and found.significant and (one.gain or 0.0) < 0.0 and not one.why:
            text += f"; allowed: mode {self.mode}, max_drop {one.allowed:.4f}"
        if one.why:
            return f"{text}; {_FELL_ANYWAY if one.fell else 'cannot be decided'}: {one.why}"
        smallest = found.smallest_detectable
        is_open = self.mode != "any" and not found.significant
        if is_open and smallest is not None and abs(found.diff) < smallest:
            worse = "fall" if up else "rise"
            text += f"; with this n, a {worse} below {smallest:.4f} may go unseen (power 80 %)"
        is_about_p = self.mode != "non_inferior"
        return text + (f" ({found.note})" if found.note and is_about_p else "")

    def _word(self, one: _Finding) -> str:
        """Return the verdict; in mode ``any``, which tests nothing, why it failed."""
        up = self.higher_is_better[one.name]
        if self.mode != "any" or not one.fell or one.gain is None:
            return verdict_word(one.found, higher_is_better=up)
        fell = "fell" if up else "rose"
        return f"{fell} by {-one.gain:.4f}, more than max_drop {one.allowed:.4f} (mode any)"

    def _tested(self, one: _Finding) -> str:
        """Return what the mode decides by: p-values, or the interval."""
        if one.interval is not None:
            low, high = one.interval
            return f"interval {low:+.4f}..{high:+.4f}, counting one worst pair more"
        if self.mode == "non_inferior":
            return "no interval"
        text = self._p_text(one.found)
        if one.beyond is not None and one.beyond.p_value is not None:
            worse = "fall" if self.higher_is_better[one.name] else "rise"
            beyond = self._p_text(one.beyond, halved=True)
            text += f", beyond a {worse} of {one.allowed:.4f} one-sided {beyond}"
        return text

    def _p_text(self, found: MetricComparison, *, halved: bool = False) -> str:
        """Return the raw p and, for several metrics, the adjusted one."""
        if found.p_value is None:
            return "no p value"
        share = 0.5 if halved else 1.0
        text = f"p {p_figure(share * found.p_value)}"
        used, several = self._used, len(self.targets)
        if several > 1 and used != "none" and found.p_adjusted is not None:
            adjusted = p_figure(share * found.p_adjusted)
            text += f" ({correction_name(used)} over {several} metrics {adjusted})"
        return text


@dataclass(frozen=True, slots=True)
class _Finding:
    """A metric in both runs; ``gain`` is negative where this run is worse, None without a pair.

    ``why`` says why it cannot be decided, "" if it can. ``beyond`` tests the difference against the
    allowed fall, in mode ``exceeds`` alone; ``interval`` is that of the mode ``non_inferior``.
    ``ruled_out`` counts the samples for which the metric is ruled out; they are no pairs.
    """

    name: str
    found: MetricComparison
    gain: float | None
    allowed: float
    fell: bool = False
    why: str = ""
    beyond: MetricComparison | None = None
    interval: tuple[float, float] | None = None
    ruled_out: int = 0


@dataclass(frozen=True, slots=True)
class CorrectedRegressionGate(RegressionGate):
    """Judges each metric by the corrected difference, and its interval; ``human`` is by metric.

    For several metrics each interval has its share of alpha (Bonferroni).
    """

    by_labels: ClassVar[bool] = True

    human: Mapping[str, HumanLabels] = field(default_factory=lambda: NOTHING)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail if people would see a fall, or (``undecided: fail``) that cannot be decided."""
        found = [self._difference(result, name) for name in self.targets]
        failed, shown, worst = self._worst(found)
        message = "; ".join(finding.message for finding in shown)
        return self._verdict(failed, worst.gain, self.max_drop, message)

    def _difference(self, result: ScenarioResult, name: str) -> _CorrectedFinding:
        # Not at the top: scenarios without labels need no statistics of them.
        from pytest_rageval.stats.comparison import scored_pairs
        from pytest_rageval.stats.labels.corrected_means import corrected_difference

        confidence = 1.0 - self.test.alpha / len(self.targets)
        human, excludes = self.human[name], self.mode == "non_inferior"
        found = corrected_difference(result, human, self.baseline, confidence, is_beyond=excludes)
        pairs = scored_pairs(result.info, weighing(result), self.baseline, name)
        both = [(ours - theirs, sample.sample_weight) for sample, ours, theirs in pairs]
        why = self._too_few(result, len(both), "have a score in both runs", name)
        why = why or self._too_many_lost(result, len(both), name) or found.why
        if found.mean is None or found.ci_low is None or found.ci_high is None:
            why = why or "the labels give no interval"
            fell = not both or excludes
            word = "no fall is excluded" if fell else "cannot be decided"
            return _CorrectedFinding(None, f"{name}: {word}: {why}", why, fell)
        sign = 1.0 if self.higher_is_better[name] else -1.0
        ends = sorted((sign * found.ci_low, sign * found.ci_high))
        fell = self._has_fallen(sign * found.mean, ends[0], ends[1])
        by_judge = weighted_mean(both)
        message = self._text(name, found, 0.0 if by_judge is None else by_judge, fell=fell)
        if why:
            message += f"; {_FELL_ANYWAY if fell else 'cannot be decided'}: {why}"
        return _CorrectedFinding(sign * found.mean, message, why, fell)

    def _has_fallen(self, gain: float, low: float, high: float) -> bool:
        allowed = -self.max_drop - TOLERANCE
        match self.mode:
            case "non_inferior":
                return low < allowed
            case "exceeds":
                return high < allowed
            case "any":
                return gain < allowed
        return gain < allowed and high < 0.0

    def _text(self, name: str, found: Corrected, by_judge: float, *, fell: bool) -> str:
        alpha = self.test.alpha / len(self.targets)
        worse = "fall" if self.higher_is_better[name] else "rise"
        word = f"a {worse} beyond max_drop {self.max_drop:g}" if fell else f"no such {worse} shown"
        text = (
            f"{name}: {word} (mode {self.mode}): by people {found.mean:+.4f} against "
            f"{self.baseline.name}, {100 * (1.0 - alpha):.3g} % interval {found.ci_low:+.4f}.."
            f"{found.ci_high:+.4f}, {counted(found.labels, 'changed answer')} labelled on both "
            f"sides; by the judge alone {by_judge:+.4f}"
        )
        if fell or self.mode == "any" or found.ci_low is None or found.ci_high is None:
            return text
        half = (found.ci_high - found.ci_low) / 2.0
        least = half * power_factor(alpha) / NormalDist().inv_cdf(1.0 - alpha / 2.0)
        return f"{text}; with these labels, a {worse} below {least:.4f} may go unseen (power 80 %)"


@dataclass(frozen=True, slots=True)
class _CorrectedFinding:
    """As ``_Finding``, for what people see; no ``gain`` where the labels give no interval."""

    gain: float | None
    message: str
    why: str = ""
    fell: bool = False


def corrected_gate(gate: RegressionGate, location: Location) -> CorrectedRegressionGate:
    """Return a gate with the same options that judges what people would see.

    Raises GateOptionError for a metric without labels, and for a fall in per cent.
    """
    if gate.relative:
        message = "give the fall as a number: per cent of the judge's mean is none of people's"
        raise location.error(message, "max_drop")
    human = {name: labels_of(location, name, "corrected: true") for name in gate.targets}
    options = {option.name: getattr(gate, option.name) for option in fields(gate)}
    return CorrectedRegressionGate(**options, human=human)
