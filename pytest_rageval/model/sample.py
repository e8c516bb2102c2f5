"""What is scored: a sample, an invalid row, a score.

Samples are dataclasses: hooks return changed ones, or some of a class of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rageval.model.plain import NOTHING
from pytest_rageval.model.value import Value


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with what is known about it; a field that the data lacks is None.

    ``index`` counts from 0 in dataset order (after shuffling and cutting), ``row`` from 1 in file
    order. ``references`` is flat; ``reference_groups`` holds the nested form where the data had
    one (ALCE's answer groups). ``context_docs`` names the document of each context.
    ``retrieved_ids`` are the documents that a search returned, best first; ``reference_ids`` the
    judged ones with their grades (qrels; relevant from 1 upwards). ``must_include`` to
    ``must_satisfy`` are what the row itself asks of the answer; a tuple among the texts are
    alternatives.
    """

    id: str
    index: int = 0
    row: int = 1
    question: str | None = None
    answer: str | None = None
    contexts: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    reference_groups: tuple[tuple[str, ...], ...] | None = None
    reference_contexts: tuple[str, ...] | None = None
    doc_name: str | None = None
    context_docs: tuple[str | None, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    reference_ids: Mapping[str, int] | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None
    must_include: tuple[str | tuple[str, ...], ...] | None = None
    must_not_include: tuple[str | tuple[str, ...], ...] | None = None
    must_match: tuple[str, ...] | None = None
    answer_checks: tuple[Mapping[str, Any], ...] | None = None
    must_satisfy: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A row of the data that is no sample, and why; ``raw`` is its text.

    ``question``, ``doc_name``, ``metadata``, ``tags`` and the marks are those of a sample, as far
    as they could be read.
    """

    id: str
    index: int
    row: int
    line: int | None
    reason: str
    raw: str = ""
    doc_name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None
    question: str | None = None


Case = Sample | InvalidRow


class Score(Value, frozen=True):
    """What one metric says of one sample: a value, or None with a ``reason`` or an ``error``."""

    metric: str
    value: float | None
    reason: str | None = None
    details: Mapping[str, Any] | None = None
    error: str | None = None
    replies: Mapping[str, int] | None = None
    """How many replies of the judge were ``usable``, or not, by what was wrong (``FAULTS``).

    None where it was not asked, or where that is not on record.
    """
