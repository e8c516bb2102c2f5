"""What verdicts and reports know of a scenario: ScenarioInfo, its bounds, baselines, variants."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.model.comparison import Baseline, Comparing, Contest
from pytest_rageval.model.labels import HumanLabels, MadeQuestions
from pytest_rageval.model.value import (
    CAUSE,
    MADE_BY,
    NOTHING,
    TOLERANCE,
    WEIGHTED_SCORE,
    Band,
    Value,
)

SEPARATOR: Final = "::"
"""What separates a scenario's name from that of its variant."""


class Bound(Value, frozen=True):
    """The values that are good enough: from ``min`` to ``max``, either may be absent.

    >>> Bound(min=0.7).holds(0.7 - 1e-10), Bound(min=0.7).compare(0.61)
    (True, '0.6100 < 0.7000')
    """

    min: float | None = None
    max: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether ``value`` keeps the bound, within the tolerance of 1e-9."""
        return not self._too_low(value) and not self._too_high(value)

    def margin(self, value: float) -> float:
        """Return how far ``value`` is inside the nearest end, negative outside, inf without one."""
        above = math.inf if self.min is None else value - self.min
        below = math.inf if self.max is None else self.max - value
        return min(above, below)

    def compare(self, value: float) -> str:
        """Return ``value``, a sign, and the end that decides on it, with digits that differ."""
        side = self.side(value)
        if side.max is None:
            sign, end = "<" if self._too_low(value) else ">=", side.min or 0.0
        else:
            sign, end = ">" if self._too_high(value) else "<=", side.max
        # What breaks a bound must not read as equal to it.
        places = (4, 6, 9, 12) if sign in "<>" else ()
        digits = next((at for at in places if f"{value:.{at}f}" != f"{end:.{at}f}"), 4)
        return f"{value:.{digits}f} {sign} {end:.{digits}f}"

    def side(self, value: float) -> Bound:
        """Return the end that decides: the minimum, if set, unless ``value`` is too high."""
        is_max = self.max is not None and (self.min is None or self._too_high(value))
        return Bound(max=self.max) if is_max else Bound(min=self.min)

    def __str__(self) -> str:
        ends = [("<=", self.max)] if self.min is None else [(">=", self.min), ("<=", self.max)]
        return " and ".join(f"{sign} {_plain(end)}" for sign, end in ends if end is not None)

    @property
    def end(self) -> float | None:
        """The one number to show for this bound: the minimum, or the maximum where that is all."""
        return self.min if self.min is not None else self.max

    def _too_low(self, value: float) -> bool:
        return self.min is not None and value < self.min - TOLERANCE

    def _too_high(self, value: float) -> bool:
        return self.max is not None and value > self.max + TOLERANCE


def _plain(number: float) -> str:
    """Return ``number`` with two decimals at least, and more only where it has them."""
    return f"{number:.2f}" if round(number, 2) == number else f"{number:.10g}"


FILLED_AS: Final = ", filled as "
"""Stands in the definition of a metric whose holes a judge fills, before how it does so."""

ASKED_IN: Final = ", asked in "
"""Stands at the end of a metric's definition, before the language that the judge's ``language``
gives its prompts; not on record in runs of 0.1.0."""
_LANGUAGE_AT_END = re.compile(rf"{ASKED_IN}[^,{{}}'\"=]+$")


def without_language(definition: str) -> str:
    """Return a metric's definition without the language at its end, as 0.1.0 wrote it.

    >>> without_language("claim_recall v1 () by m, asked in zh")
    'claim_recall v1 () by m'
    """
    return _LANGUAGE_AT_END.sub("", definition)


class MetricColumn(Value, frozen=True):
    """A metric as a scenario uses it; None in ``ends`` of its range means unbounded.

    ``definition`` says with which options it is measured: scores are comparable where it is equal.
    ``as_is``: its scores enter the weighted score without being stretched to 0..1 (a cosine's).
    ``written`` is the name by which the scenario asked for it; ``retrieves``: it compares what was
    retrieved, and looks at no answer.
    """

    name: str
    weight: float = 1.0
    ends: tuple[float | None, float | None] = (0.0, 1.0)
    higher_is_better: bool = True
    version: int = 1
    definition: str = ""
    as_is: bool = False
    written: str = ""
    retrieves: bool = False
    filled: bool = False
    """Whether a judge has graded what nobody judged."""

    def to_unit(self, score: float) -> float:
        """Return ``score`` as it enters the weighted score: the higher, the better.

        It is rescaled to 0..1 where it ``is_stretched``; ``unit_range`` has its ends.

        >>> MetricColumn("rubric", ends=(0.0, 5.0)).to_unit(4.0)
        0.8
        """
        low, high = self.range
        if self.is_stretched:
            score = (score - low) / (high - low)
        return score if self.higher_is_better else 1.0 - score

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score; infinite where unbounded."""
        low, high = self.ends
        return -math.inf if low is None else low, math.inf if high is None else high

    @property
    def is_stretched(self) -> bool:
        """Whether a score is rescaled from its range to 0..1 to enter the weighted score."""
        low, high = self.range
        return (low, high) != (0.0, 1.0) and math.isfinite(high - low) and not self.as_is

    @property
    def middle(self) -> float | None:
        """The middle of its range, None where that has no two ends."""
        low, high = self.range
        return (low + high) / 2.0 if math.isfinite(high - low) else None

    @property
    def unit_range(self) -> tuple[float, float]:
        """The ends of what ``to_unit`` returns."""
        low, high = (0.0, 1.0) if self.is_stretched else self.range
        return (low, high) if self.higher_is_better else (1.0 - high, 1.0 - low)


def finite_ends(ends: tuple[float, float]) -> tuple[float | None, float | None]:
    """Return the ends of a range as ``MetricColumn`` has them: None where one is infinite."""
    low, high = (end if math.isfinite(end) else None for end in ends)
    return low, high


class Sampling(Value, frozen=True):
    """Which rows are asked: ``n``, drawn by ``seed``; others count by their scores in ``against``.

    ``drawn`` are the ids of the asked rows, ``rows`` how many there are in all. ``unscored_before``
    had no older score and are in every draw; ``changed`` have another answer, None where that is
    not known.
    """

    n: int
    seed: int
    against: str
    rows: int = 0
    drawn: frozenset[str] = frozenset()
    unscored_before: frozenset[str] = frozenset()
    changed: frozenset[str] | None = None


class Diagnosis(Value, frozen=True):
    """The metrics that tell causes of low answers apart; where one is None, the texts' words do."""

    retrieval: str | None = None
    generation: str | None = None


class ScenarioInfo(Value, frozen=True):
    """All that judging and reporting a scenario needs once its samples are scored.

    It travels from a worker to the controller, which therefore parses no YAML. ``total`` counts
    the cases of the data set, ``selected`` those that this run was asked for.
    """

    name: str
    path: str
    nodeid: str
    metrics: tuple[MetricColumn, ...]
    thresholds: Mapping[str, Bound] = NOTHING
    gates: Mapping[str, Any] = NOTHING
    bands: tuple[float, float] = (0.8, 0.6)
    """The least mean, of 0..1, that is good, and the least that is no worse than a warning."""
    doc_weights: Mapping[str, float] = NOTHING
    tolerates_shortfalls: bool = False
    """Whether a sample below its threshold is xfailed, and the gate pass_rate decides."""
    expects_failures: bool = True
    """Whether a sample may be xfailed at all: not with pytest's ``--runxfail``."""
    description: str = ""
    output_dir: str | None = None
    save_path: str | None = None
    target: str = ""
    """How messages call the system under test; empty where the data hold the answers."""
    snapshot: str = ""
    snapshot_sha256: str = ""
    dataset_sha256: str = ""
    overridden: tuple[str, ...] = ()
    overridden_by: tuple[str, ...] = ()
    """Which option or variable gave each of the values that are ``overridden``."""
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    metadata_columns: tuple[str, ...] = ()
    total: int = 0
    selected: int = 0
    judgements_sha256: str = ""
    compare: tuple[Comparing, ...] = ()
    """The runs that it is compared with, in the order of the file."""
    pinned: tuple[str, ...] = ()
    """The runs that no ``--rag-save`` replaces: those with ``looks``, also where an option drops
    them."""
    sample: Sampling | None = None
    """Which of its rows are asked; None where all of them are."""
    baselines: Mapping[str, Baseline] = NOTHING
    measured: Mapping[str, Any] = NOTHING
    """What its scores depend on and no other field says: see ``model.measured``."""
    unlike: tuple[str, ...] = ()
    """What differs from the runs that it is compared with all the same."""
    refused_baseline: str = ""
    """Why the saved run that this one was to replace is not comparable; empty where it is."""
    metadata: Mapping[str, Any] = NOTHING
    """The values of the keys ``x-...`` of the file, by names without the ``x-``; JSON-plain."""
    hooks: tuple[str, ...] = ()
    """Plugins with hooks that see this run; the main process may lack some of them."""
    group_by: str | None = None
    """The field whose values make samples depend on each other; None where each is its own."""
    stop: float | None = None
    """When to ask no more: 0.0 once every gate is decided, else at this error bound; None never."""
    human: tuple[HumanLabels, ...] = ()
    """What people say of the same answers, for each metric that is held against them."""
    diagnose: Diagnosis | None = None
    """How the causes of low answers are found; None where they are not looked for."""
    variant: str = ""
    """Which variant of the scenario this is; empty where it has none."""
    controls: Mapping[str, str] = NOTHING
    """By metric, a digest of its control rows and of all else that decides what its judge makes of
    them; empty for a metric without such rows."""
    requires_controls: bool = False
    """Whether a metric counts only once its judge has passed them."""
    repeated: tuple[str, ...] = ()
    """The metrics that a judge is asked for more than once, each time for a score of its own."""
    contest: Contest | None = None
    """The variants that this one is compared with; None where the scenario has none."""
    made: MadeQuestions | None = None
    """How many questions a model wrote; None where none of the data is such a question."""

    @property
    def title(self) -> str:
        """The name under which runs are kept: ``support-bot``, or ``support-bot::dense``."""
        return title_of(self.name, self.variant)

    @property
    def is_of_file(self) -> bool:
        """Whether the scenario file itself runs, not a test function over its samples."""
        return self.nodeid == title_of(self.path, self.variant)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of samples by whose values results can be told apart.

        Who wrote the questions comes first where a model wrote some of them and not all.
        """
        causes = () if self.diagnose is None else (CAUSE,)
        has_both = self.made is not None and self.made.count < self.made.rows
        first = (MADE_BY,) if has_both else ()
        return tuple(dict.fromkeys([*first, "doc_name", *self.metadata_columns, *causes]))

    @property
    def tolerated(self) -> Mapping[str, Any]:
        """The metrics that may be missing, as ``gates.unscored`` names them, with their shares."""
        found = self.gates.get("unscored")
        return found if isinstance(found, Mapping) and not set(found) <= {"min", "max"} else NOTHING

    @property
    def weighted_range(self) -> tuple[float, float]:
        """Where a weighted score can lie: 0..1, lower with a cosine, infinite where unbounded.

        Each end is the weighted mean of the metrics' ends; a metric of weight 0 has no part in it.
        """
        largest = max((metric.weight for metric in self.metrics), default=0.0) or 1.0
        sizes = [(metric.weight / largest, metric.unit_range) for metric in self.metrics]
        counted = [(size, ends) for size, ends in sizes if size > 0.0]
        if not counted:
            return 0.0, 1.0
        total = sum(size for size, _ in counted)
        low, high = (sum(size * ends[end] for size, ends in counted) / total for end in (0, 1))
        return low, high

    def band_of(self, name: str, mean: float | None) -> Band | None:
        """Return how good a mean of a metric or of the weighted score is; None without one."""
        if mean is None:
            return None
        columns = {column.name: column for column in self.metrics}
        graded = mean if name == WEIGHTED_SCORE else columns[name].to_unit(mean)
        good, warn = (end - TOLERANCE for end in self.bands)
        return "good" if graded >= good else "warn" if graded >= warn else "bad"


class ScenarioView(Value, frozen=True):
    """What hooks get to know of a scenario.

    ``path`` is its file, relative to the rootdir; ``metadata`` what it says under keys ``x-...``,
    without the ``x-``; ``variant`` the variant that runs, if it has variants.
    """

    name: str
    path: str
    metadata: Mapping[str, Any] = NOTHING
    variant: str = ""

    @classmethod
    def of(cls, info: ScenarioInfo) -> ScenarioView:
        """Return the view of a scenario."""
        return cls(info.name, info.path, info.metadata, info.variant)


def title_of(name: str, variant: str) -> str:
    """Return the name under which the runs of a scenario, or of a variant of it, are kept.

    >>> title_of("support-bot", ""), title_of("support-bot", "dense")
    ('support-bot', 'support-bot::dense')
    """
    return f"{name}{SEPARATOR}{variant}" if variant else name
