"""What is wrong with a run: why scores are missing, failed gates, the worst answers, what broke.

Every text about a run begins with it. Outputs decide how much they show, and how.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

from pytest_rageval.errors import listed, shorten
from pytest_rageval.gates.base import BoundedGate, Gate, GateOptionError, make_gates
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.model import (
    CONTROLS,
    TOLERANCE,
    WEIGHTED_SCORE,
    Bound,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    value_text,
)
from pytest_rageval.reports.run_view import ComparedRun, RunView, is_bad
from pytest_rageval.stats.verdict import (
    badness,
    error_kind,
    has_failed,
    is_low,
    score_of,
    shortfalls,
    was_not_asked,
)
from pytest_rageval.stats.weights import field_value, is_scored, weighted_mean
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.tokenize import split_characters

MOST: Final = 5
"""How many of the worst answers a text shows."""

_SAID: Final = 8  # errors and failed gates
_NAMED: Final = 5  # ids in a line of changes
_COMPARED: Final = 10_000
"""How many characters of an answer and a reference tell how alike they are."""

_SIGNS: Final = re.compile(r"(?<![\d.])(-?\d{1,20}\.\d{1,12}) ([<>]) (-?\d{1,20}\.\d{1,12})")
"""A figure beyond its bound, as messages of gates have it: ``0.3000 < 0.5000``."""
_WORDS: Final = {"<": "is below", ">": "is above"}

Blamed: TypeAlias = tuple[tuple[str, Bound | None], ...]
"""Metrics with the bounds of the gates that they failed, None of a gate without one."""
Falls: TypeAlias = dict[str, float]
"""By baseline, the weighted score that an answer had where it was better."""


@dataclass(frozen=True)
class WhatIsWrong:
    """What is wrong with the run that ``view`` shows, in the order in which people ask."""

    view: RunView

    @cached_property
    def errors(self) -> Sequence[str]:
        """Why scores are missing or not to be trusted; [] where the run is green all the same."""
        is_red = self.view.result.is_red
        return [str(part) for part in self.view.missing if part.is_error] if is_red else []

    @cached_property
    def gates(self) -> Sequence[str]:
        """Each failed gate in a sentence, with its figure, its reason and the worst group."""
        return [gate_sentence(self.view.result, gate, self._known) for gate in self.failed]

    @property
    def said(self) -> list[str]:
        """The errors and the failed gates, eight at most, and how many more of each there are."""
        gates = self.gates[: max(_SAID // 2, _SAID - len(self.errors))]
        errors = self.errors[: _SAID - len(gates)]
        return [
            *_first(errors, len(self.errors), "error"),
            *_first(gates, len(self.gates), "failed gate"),
        ]

    @cached_property
    def failed(self) -> Sequence[GateResult]:
        """The gates that failed."""
        return [gate for gate in self.view.result.gates if gate.outcome == "failed"]

    @cached_property
    def open(self) -> Sequence[GateResult]:
        """The gates that are not decided."""
        return [gate for gate in self.view.result.gates if gate.outcome == "skipped"]

    @property
    def undecided(self) -> Sequence[str]:
        """The gates that are not decided, each with its reason."""
        return [f"{gate.name}: {gate.message}" for gate in self.open]

    @cached_property
    def answers(self) -> Sequence[WrongAnswer]:
        """Those that could not be judged, then those that fail, then the worst for failed gates.

        [] unless the run is red. Of answers that could not be judged for one and the same reason
        only the first is there, with the number of the others.
        """
        if not self.view.result.is_red:
            return []
        kinds = Counter(map(self._kind, self._wrong))
        falls: dict[int, Falls] = {}
        for compared in self.view.compared:
            for pair in compared.changes:
                if pair.diff < 0.0:
                    falls.setdefault(pair.sample.index, {})[compared.baseline] = pair.then
        first = {self._kind(sample): sample for sample in reversed(self._wrong)}
        failed = [gate for gate in self.failed if gate.name in self._known]
        blamed = tuple(pair for gate in failed for pair in _bounds(self._known[gate.name], gate))
        return [
            WrongAnswer(self.view, sample, blamed, kinds[kind] - 1, falls.get(sample.index, {}))
            for sample in self._wrong
            if first[kind := self._kind(sample)] is sample
        ]

    @cached_property
    def since(self) -> Sequence[Since]:
        """What broke and what was fixed since each baseline, in their order."""
        return [Since(compared) for compared in self.view.compared]

    @cached_property
    def changes(self) -> Sequence[str]:
        """What broke and was fixed since each baseline, a line for each where something did.

        An answer is named in the first line that it is in; later lines only count it.
        """
        named: set[int] = set()
        lines = []
        for since in self.since:
            both = _named(since.broken, "broke", named), _named(since.fixed, "fixed", named)
            if any(both):
                lines.append(f"since {since.compared.baseline}: {', '.join(filter(None, both))}")
            named |= {sample.index for sample in (*since.broken, *since.fixed)}
        return lines

    @cached_property
    def _known(self) -> dict[str, Gate]:
        """The gates that the scenario names, not those of hooks; {} if one cannot be made again."""
        info = self.view.result.info
        try:
            return {gate.name: gate for gate in make_gates(info.gates, info)}
        except GateOptionError:
            return {}

    @cached_property
    def _wrong(self) -> Sequence[SampleResult]:
        view, known = self.view, self._known
        found = view.worst(self._is_wrong)
        for gate in self.failed:
            if gate.name in known:
                listed = known[gate.name].worst_samples(view.result, gate)
                found += [sample for part in listed for _, sample in part.rows]
            elif not gate.name.startswith(CONTROLS):  # of a hook: what it looks at is not known
                found += view.worst(lambda sample: is_low(view.result.info, sample))
        return list({sample.index: sample for sample in found}.values())

    def _is_wrong(self, sample: SampleResult) -> bool:
        """Return whether a sample is bad, or misses a threshold and is only tolerated."""
        is_tolerated = sample.outcome == "xfailed" and sample.xfail is None
        return is_bad(sample) or (
            is_tolerated and bool(shortfalls(sample, self.view.result.info.thresholds))
        )

    def _kind(self, sample: SampleResult) -> object:
        """Return what is equal for samples of which one is enough to show."""
        is_judged = sample.outcome != "error"
        return (not is_judged and error_kind(sample)[0]) or sample.index


@dataclass(frozen=True)
class Since:
    """What broke and what was fixed since a baseline, by the thresholds of today.

    A metric that scored an answer in only one of the two runs does not count, unless something
    failed when the new run asked.
    """

    compared: ComparedRun

    @cached_property
    def broken(self) -> Sequence[SampleResult]:
        """The answers that are low or could not be judged, and were not low in the baseline."""
        return [one for one, was, now in self._seen if not was and (now or _is_lost(one))]

    @cached_property
    def fixed(self) -> Sequence[SampleResult]:
        """The answers that were low in the baseline, and have a score that is not low any more."""
        found = (one for one, was, now in self._seen if was and not now and one.outcome != "error")
        return [sample for sample in found if is_scored(sample.weighted_score)]

    @cached_property
    def _seen(self) -> Sequence[tuple[SampleResult, bool, bool]]:
        """The answers that the baseline scored: whether each was low, and whether it is now."""
        # Not at the top: comparing imports numpy, which other runs need not load.
        from pytest_rageval.stats.comparison import paired_scores

        info = self.compared.result.info
        baseline = info.baselines.get(self.compared.baseline)
        if baseline is None:
            return []
        scored = baseline.scores.get(WEIGHTED_SCORE, {})
        seen = []
        for sample in self.compared.result.samples:
            if is_scored(scored.get(sample.sample_id)):
                names, is_lost = (*sample.scores, WEIGHTED_SCORE), _is_lost(sample)
                pairs = {name: paired_scores(info, sample, baseline, name) for name in names}
                kept = {k: v for k, v in pairs.items() if all(map(is_scored, v)) or is_lost}
                now, then = ({name: pair[at] for name, pair in kept.items()} for at in (0, 1))
                seen.append((sample, _are_low(info, then), _are_low(info, now)))
        return seen


@dataclass(frozen=True)
class WrongAnswer:
    """An answer with what is wrong with it; ``alike`` more could not be judged for the same reason.

    ``blamed`` are the metrics of failed gates with their bounds, ``falls`` the weighted scores that
    it had in the baselines in which it was better.
    """

    view: RunView
    sample: SampleResult
    blamed: Blamed = ()
    alike: int = 0
    falls: Falls = field(default_factory=dict)

    @cached_property
    def reference(self) -> str:
        """The reference whose words are most like the answer's, the first of equal ones."""
        return closest(self.sample.answer or "", self.sample.references or ())

    @property
    def missed(self) -> list[str]:
        """The thresholds missed, else the lowest score; the errors; what the answer fell from.

        The errors come first where it could not be judged.
        """
        result, sample = self.view.result, self.sample
        is_told = sample.outcome == "error" or shortfalls(sample, result.info.thresholds)
        low = [] if is_told else lowest(result, sample, self.blamed)
        return [*low, *self.view.why(sample), *self._fell]

    @property
    def _fell(self) -> list[str]:
        """What the weighted score was where it was better; of several baselines, in which."""
        is_one = len(self.view.compared) == 1
        then = [
            f"{score:.4f}" + ("" if is_one else f" in {shorten(name)}")
            for name, score in self.falls.items()
        ]
        return [f"{WEIGHTED_SCORE} was {', '.join(then)}"] if then else []

    @property
    def reasons(self) -> list[str]:
        """What the judge says of the metrics for which it is low, unless ``missed`` has it."""
        sample, info = self.sample, self.view.result.info
        names = [missed.name for missed in shortfalls(sample, info.thresholds)]
        known = [name for name in names if name in sample.scores]
        if not known and is_scored(sample.weighted_score):
            known = [*_low(self.view.result, sample, self.blamed)]
        said = {name: sample.reasons[name] for name in known if name in sample.reasons}
        told = "; ".join(self.missed)
        return [f"{name}: {reason}" for name, reason in said.items() if reason not in told]

    @property
    def cause(self) -> str:
        """Why the answer is low, "" where that is not known."""
        return (
            "" if self.sample.cause is None else f"{self.sample.cause}: {self.sample.cause_reason}"
        )


def gate_sentence(
    result: ScenarioResult, verdict: GateResult, known: dict[str, Gate] | None = None
) -> str:
    """Return what a failed gate found: ``f1 0.3000 is below 0.5000; worst doc_name: a.md 0.2500``.

    The worst group is that of a field by which the scenario has gates, else of the documents; it is
    left out unless ``known``, the gates by name, has this one.
    """
    name = shorten(verdict.name.removesuffix(".mean"))
    words = _SIGNS.sub(lambda found: f"{found[1]} {_WORDS[found[2]]} {found[3]}", verdict.message)
    colon = "" if _SIGNS.match(verdict.message) else ":"
    gate = (known or {}).get(verdict.name)
    group = _worst_group(result, gate, verdict) if isinstance(gate, MeanGate) else ""
    return f"{name}{colon} {words}" + (f"; worst {group}" if group else "")


def _worst_group(result: ScenarioResult, gate: MeanGate, verdict: GateResult) -> str:
    """Return the field, the value and the mean of the group that is furthest beyond the bound.

    "" where the mean over all is not beyond it, where what leaves the mean is not known by group,
    where all groups are equal, and with one group or, on average, fewer than two samples in each.
    """
    if verdict.observed is None or not _SIGNS.match(verdict.message) or gate.may_leave is not None:
        return ""
    side = gate.bound.side(verdict.observed)
    by = result.info.gates.get("by")
    fields = [*by] if isinstance(by, dict) else []
    field = next((name for name in fields if name in result.info.fields), "doc_name")
    pairs: dict[str, list[tuple[float | None, float]]] = {}
    for sample in result.samples:
        value = field_value(sample, field)
        if sample.is_expected and value is not None:
            score = score_of(sample, gate.target), sample.sample_weight
            pairs.setdefault(value_text(value), []).append(score)
    if not 1 < len(pairs) <= sum(map(len, pairs.values())) / 2:  # a group a row tells nothing
        return ""
    means = {
        value: mean for value, part in pairs.items() if (mean := weighted_mean(part)) is not None
    }
    if not means or max(means.values()) - min(means.values()) <= TOLERANCE:
        return ""
    value, mean = min(means.items(), key=lambda group: side.margin(group[1]))
    return "" if side.holds(mean) else f"{field}: {shorten(value)} {mean:.4f}"


def closest(answer: str, references: Sequence[str]) -> str:
    """Return the reference whose words are most like the answer's; "" without references.

    Likeness is the Dice coefficient of the words (CJK: characters) with their numbers.

    >>> closest("in five days", ["never", "five days"])
    'five days'
    """
    if len(references) < 2:
        return references[0] if references else ""
    words = Counter(split_characters(answer[:_COMPARED]))

    def likeness(reference: str) -> float:
        theirs = Counter(split_characters(reference[:_COMPARED]))
        return 2 * (words & theirs).total() / max(1, words.total() + theirs.total())

    return max(references, key=likeness)


def lowest(result: ScenarioResult, sample: SampleResult, blamed: Blamed = ()) -> list[str]:
    """Return the scores beyond a bound of a failed gate, else the lowest; [] if that is best.

    The lowest is one of ``blamed``, else of the metrics with a weight. What has no best or worst
    score cannot be compared, and is the lowest only where there is no other.
    """
    return [f"{name} {said}" for name, said in _low(result, sample, blamed).items()]


def _low(result: ScenarioResult, sample: SampleResult, blamed: Blamed) -> dict[str, str]:
    """Return the metrics for which a sample is low, with their scores as text."""
    if sample.outcome == "skipped":
        return {}
    metrics = result.info.metrics
    scores = {
        column.name: score
        for column in metrics
        if is_scored(score := sample.scores.get(column.name))
    }
    bounds = [(name, bound) for name, bound in blamed if bound is not None and name in scores]
    beyond = [(name, bound) for name, bound in bounds if not bound.holds(scores[name])]
    if beyond:
        # Reversed: of several bounds of a metric the first one is told.
        return {name: bound.compare(scores[name]) for name, bound in reversed(beyond)}
    names = {name for name, _ in blamed}
    columns = [column for column in metrics if column.name in names]
    columns = columns or [column for column in metrics if column.weight > 0.0]
    known = [column for column in columns if column.name in scores]
    bounded = [column for column in known if column.middle is not None]
    compared = bounded or (known if len(known) == 1 else [])
    units = sorted((column.to_unit(scores[column.name]), column.name) for column in compared)
    return {name: f"{scores[name]:.4f}" for unit, name in units[:1] if unit < 1.0}


def _bounds(gate: Gate, verdict: GateResult) -> Blamed:
    """Return the metrics that a gate is about, each with the end that failed, if it has one."""
    leaf, observed = gate.leaf, verdict.observed
    bound = leaf.score_bound if isinstance(leaf, BoundedGate) else None
    side = bound if bound is None or observed is None else bound.side(observed)
    return tuple((name, side) for name in gate.targets)


def _is_lost(sample: SampleResult) -> bool:
    """Return whether an answer could not be judged, or lost its weighted score by a failure."""
    has_error = any(not was_not_asked(sample, name) for name in sample.errors)
    return sample.outcome == "error" or (has_error and has_failed(sample, WEIGHTED_SCORE))


def _are_low(info: ScenarioInfo, scores: Mapping[str, float | None]) -> bool:
    """Return whether scores miss a threshold; without thresholds, whether the weighted one is bad.

    What a metric itself refuses is not kept with a baseline, and so cannot be compared.
    """
    if not info.thresholds:
        return info.band_of(WEIGHTED_SCORE, scores.get(WEIGHTED_SCORE)) == "bad"
    bounds = ((bound, scores.get(name)) for name, bound in info.thresholds.items())
    return any(is_scored(score) and not bound.holds(score) for bound, score in bounds)


def _named(samples: Sequence[SampleResult], what: str, named: Container[int] = ()) -> str:
    """Return how many answers changed and their ids, the worst first; "" without any.

    Those at the positions ``named`` have their ids in a line above: they are only counted.
    """
    if not samples:
        return ""
    new = [sample for sample in sorted(samples, key=badness) if sample.index not in named]
    names = listed((sample.sample_id for sample in new), _NAMED)
    above = f"{len(samples) - len(new) if new else 'all'} above" if len(new) < len(samples) else ""
    return f"{len(samples)} {what} ({'; '.join(filter(None, [names, above]))})"


def _first(texts: Sequence[str], total: int, what: str) -> Iterator[str]:
    """Yield the first of ``total`` texts, then how many more there are."""
    yield from texts
    if total > len(texts):
        yield f"and {counted(total - len(texts), f'more {what}')}"


def variant_verdicts(results: Sequence[ScenarioResult]) -> Iterator[str]:
    """Yield how each variant ended and its failed gates, red ones first; nothing if none is red."""
    views = [RunView(result) for result in results]
    if not any(view.result.is_red for view in views):
        return
    for view in sorted(views, key=lambda view: not view.result.is_red):
        gates = "".join(f"; {sentence}" for sentence in WhatIsWrong(view).gates)
        yield f"{view.result.info.variant} {view.verdict}: {view.ended}{gates}"


def variant_errors(results: Iterable[ScenarioResult]) -> Iterator[str]:
    """Yield why scores of variants are missing or not to be trusted, with the variant's name."""
    for result in results:
        for part in RunView(result).missing:
            if part.is_error:
                yield f"{result.info.variant}: {part}"
