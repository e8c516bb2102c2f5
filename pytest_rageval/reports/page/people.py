"""What people say of a run's answers, for its page: labels, agreement, corrected means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from pytest_rageval.model import (
    Agreement,
    HumanLabels,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.reports.page.assemble import cut
from pytest_rageval.stats.labels.cells import LEVEL_WORDS, is_of_cells, judged_of, parts_of_cell

_MOST_DISAGREEMENTS: Final = 20
_MOST_SLICES: Final = 50
_PARTS: Final = ("cells", "disagreements", "slices", "why")
_WIDTH: Final = 300


def people_data(result: ScenarioResult) -> dict[str, Any]:
    """Return the data as JSON types; samples are named by their positions."""
    samples, human = result.samples, result.info.human
    place = {sample.sample_id: at for at, sample in enumerate(samples)}
    return {
        "agreement": {
            name: _agreement_data(found, place) for name, found in result.agreement.items()
        },
        "corrected": {name: asdict(found) for name, found in result.corrected.items()},
        "human": [_human(result, labels, place) for labels in human],
        "digests": list(map(_digest, samples)) if human else [],
    }


def _digest(sample: SampleResult) -> str | None:
    return None if sample.answer is None else answer_digest(sample.answer, sample.contexts)


def _agreement_data(found: Agreement, place: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of a metric, its disagreements, and of each slice how many and kappa."""
    figures = {
        part.name: getattr(found, part.name) for part in fields(found) if part.name not in _PARTS
    }
    return {
        **figures,
        "cells": {key: list(positions) for key, positions in found.cells.items()},
        "why": {name: cut(text, _WIDTH) for name, text in found.why.items()},
        "disagreements": [
            {
                **asdict(disagreement),
                "at": at,
                "reason": cut(disagreement.reason, _WIDTH),
            }
            for disagreement in found.disagreements[:_MOST_DISAGREEMENTS]
            if (at := _place(place, disagreement.sample_id)) is not None
        ],
        "slices": [[cut(field, _WIDTH), _slices(slices)] for field, slices in found.slices.items()],
    }


def _place(places: Mapping[str, int], name: str) -> int | None:
    """Return the position of a sample, or of the sample that a cell is of."""
    cell = parts_of_cell(name) if name not in places else None
    return places.get(name if cell is None else cell[0])


def _slices(slices: Mapping[str, Agreement]) -> list[list[Any]]:
    """Return value, n and kappa of each slice, those with most samples first."""
    shown = sorted(slices.items(), key=lambda pair: (-pair[1].n, pair[0]))[:_MOST_SLICES]
    return [[cut(value, _WIDTH), found.n, found.kappa] for value, found in shown]


def _human(result: ScenarioResult, found: HumanLabels, place: Mapping[str, int]) -> dict[str, Any]:
    """Return the labels of a metric: position, who, level, whether of an earlier answer, and cell.

    ``names`` are what its levels are called where they are words.
    """
    has_cells = is_of_cells(result.info, found.metric)
    digests = {one.sample_id: _digest(one) for one in judged_of(result, found).samples}
    return {
        "metric": found.metric,
        "levels": list(found.levels),
        "names": [LEVEL_WORDS[level] for level in found.levels] if has_cells else [],
        "meanings": list(found.meanings),
        "question": found.question,
        "labels": [
            [
                at,
                cut(label.annotator, _WIDTH),
                label.value,
                label.digest != digests.get(name),
                (parts_of_cell(name) or ("", ""))[1] if has_cells else "",
            ]
            for name, labels in found.labels.items()
            if (at := _place(place, name)) is not None
            for label in labels
        ],
    }
