"""What people say of answers and made questions; what it tells of a judge (agreement, means)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_rageval.model.value import NOTHING, Value

RANDOM: Final = "random"
"""How a label was drawn: uniformly from all samples."""

CHOSEN: Final = "chosen"
"""How a label was drawn: by a person, or it is not known. It never corrects a mean."""


class Label(Value, frozen=True):
    """What one person says of one answer: a ``value`` of the declared levels.

    ``drawn`` is RANDOM, CHOSEN, or the code of a stratum. ``digest`` is that of the answer that the
    person saw; ``place`` is where the label is written, for messages.
    """

    value: float
    annotator: str
    drawn: str
    digest: str
    place: str = ""


class Draw(Value, frozen=True):
    """Samples that were drawn to be labelled, out of all samples of a run.

    ``digests`` are those of all answers of that run by sample id. ``strata`` holds the code of each
    sample's stratum by its id; it is empty where the draw was uniform.
    """

    digests: Mapping[str, str]
    strata: Mapping[str, str] = NOTHING


class HumanLabels(Value, frozen=True):
    """What people say about one metric of a scenario.

    ``metric`` may be ``weighted_score``; ``levels`` are declared, lowest first, the highest is
    positive; ``labels`` are by sample id, of present and of earlier answers; ``shown`` is where
    they come from, for messages.
    """

    metric: str
    levels: tuple[float, ...]
    shown: str = ""
    labels: Mapping[str, Sequence[Label]] = NOTHING
    draws: Sequence[Draw] = ()
    cut: float | None = None
    """From which score on the higher of two levels is meant; None: from the threshold on."""
    files: Sequence[str] = ()
    """The paths of the label files."""
    blank: str = ""
    """Why there are no labels, where a file has rows for them."""
    meanings: Sequence[str] = ()
    """What the levels mean, in their order and the metric's own words; empty if it has none."""
    question: str = ""
    """What people answer of each answer, in words of the scenario or the metric; "" without any."""


def answer_digest(answer: str | None, contexts: Sequence[str] | None) -> str:
    """Return the digest of an answer with its contexts: what a person looks at to label it.

    An x, so that no spreadsheet takes it for a number, and twelve hexadecimal digits of SHA-256. No
    contexts and an empty list of them are the same.
    """
    labelled = json.dumps([answer or "", list(contexts or ())], ensure_ascii=True)
    return f"x{hashlib.sha256(labelled.encode()).hexdigest()[:12]}"


class MadeQuestions(Value, frozen=True):
    """How many of the ``rows`` of the data hold questions that a model wrote: ``count`` of them.

    People accepted or edited ``reviewed`` of these. The data lack ``rejected`` more rows, which
    people took out.
    """

    count: int
    reviewed: int
    rejected: int
    rows: int


class Disagreement(Value, frozen=True):
    """A sample that the judge and people see differently.

    ``human`` and ``judge`` are levels, ``score`` is the judge's own figure, ``distance`` lies
    between 0 and 1; ``agreeing`` of ``annotators`` people chose ``human``.
    """

    sample_id: str
    human: float
    judge: float
    score: float
    distance: float
    agreeing: int
    annotators: int
    reason: str = ""


class Agreement(Value, frozen=True):
    """How well a judge agrees with people, over ``n`` samples that both rated.

    ``confusion`` counts samples: a row for each level of people, a column for each of the judge; it
    is empty where scores are no levels. Each coefficient has the ends of its 95 % interval beside
    it. What is undefined is None, and ``why`` has the reason under the name of its field: of the
    coefficient, or of the lower end of its interval. ``kappa`` and ``ac1`` are unweighted,
    ``weighted_kappa`` and ``ac2`` have quadratic weights. ``bias`` is judge minus people in the
    metric's unit. ``alpha`` (Krippendorff's) and ``ceiling`` (kappa) are those of people among
    themselves. ``split`` samples have no majority among people, ``stale`` ones have labels of
    earlier answers only, ``unscored`` ones have labels and no score, or are skipped or invalid.
    ``unlabelled`` ones are of a part in which labels were drawn and none was given.
    """

    levels: tuple[float, ...]
    n: int
    confusion: Sequence[Sequence[int]]
    sensitivity: float | None = None
    sensitivity_low: float | None = None
    sensitivity_high: float | None = None
    specificity: float | None = None
    specificity_low: float | None = None
    specificity_high: float | None = None
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    weighted_kappa: float | None = None
    weighted_kappa_low: float | None = None
    weighted_kappa_high: float | None = None
    ac1: float | None = None
    ac1_low: float | None = None
    ac1_high: float | None = None
    ac2: float | None = None
    ac2_low: float | None = None
    ac2_high: float | None = None
    spearman: float | None = None
    spearman_low: float | None = None
    spearman_high: float | None = None
    kendall: float | None = None
    kendall_low: float | None = None
    kendall_high: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    ceiling: float | None = None
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    bias: float | None = None
    bias_low: float | None = None
    bias_high: float | None = None
    annotators: int = 0
    split: int = 0
    stale: int = 0
    unscored: int = 0
    unlabelled: int = 0
    why: Mapping[str, str] = NOTHING
    disagreements: Sequence[Disagreement] = ()
    """The most surprising first."""
    cells: Mapping[str, Sequence[int]] = NOTHING
    """By ``row,column`` of ``confusion``, the positions of its samples in the run."""
    slices: Mapping[str, Mapping[str, Agreement]] = NOTHING
    """By field and value, the same for a part of the samples."""


class Corrected(Value, frozen=True, rename={"share": "lambda"}):
    """A mean of the judge's scores corrected by labels, with its 95 % interval, in its unit.

    ``share`` (lambda) is how far the judge is believed, from 0 to 1; None where yes and no were
    drawn by strata. ``labels`` counts the samples whose labels were used; ``worth`` how many would
    have as narrow an interval without the judge (None of differences). ``why`` says why there is no
    mean, or no interval.
    """

    mean: float | None
    ci_low: float | None
    ci_high: float | None
    share: float | None
    labels: int
    worth: float | None
    why: str = ""
