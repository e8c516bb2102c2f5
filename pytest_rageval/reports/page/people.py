"""What people say of the answers, as data of the page: labels, agreement, corrected means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from pytest_rageval.model import (
    Agreement,
    HumanLabels,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.reports.page.texts import cut

_WIDTH: Final = 300
_MOST_DISAGREEMENTS: Final = 20
_MOST_SLICES: Final = 50
_PARTS: Final = ("cells", "disagreements", "slices", "why")


def people_data(result: ScenarioResult) -> dict[str, Any]:
    """Return the data as JSON types; samples are named by their positions."""
    samples, human = result.samples, result.info.human
    place = {sample.sample_id: at for at, sample in enumerate(samples)}
    digests = [None if one.answer is None else _digest(one) for one in samples] if human else []
    return {
        "agreement": {name: _agreement(one, place) for name, one in result.agreement.items()},
        "corrected": {name: asdict(one) for name, one in result.corrected.items()},
        "human": [_human(one, place, digests) for one in human],
        "digests": digests,
    }


def _digest(sample: SampleResult) -> str:
    return answer_digest(sample.answer, sample.contexts)


def _agreement(found: Agreement, place: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of a metric, its disagreements, and of each slice how many and kappa."""
    figures = {
        part.name: getattr(found, part.name) for part in fields(found) if part.name not in _PARTS
    }
    return {
        **figures,
        "cells": {key: list(positions) for key, positions in found.cells.items()},
        "why": {name: cut(text, _WIDTH) for name, text in found.why.items()},
        "disagreements": [
            {**asdict(one), "at": place[one.sample_id], "reason": cut(one.reason, _WIDTH)}
            for one in found.disagreements[:_MOST_DISAGREEMENTS]
            if one.sample_id in place
        ],
        "slices": [[cut(field, _WIDTH), _slices(slices)] for field, slices in found.slices.items()],
    }


def _slices(slices: Mapping[str, Agreement]) -> list[list[Any]]:
    """Return value, n and kappa of each slice, those with most samples first."""
    shown = sorted(slices.items(), key=lambda one: (-one[1].n, one[0]))[:_MOST_SLICES]
    return [[cut(value, _WIDTH), one.n, one.kappa] for value, one in shown]


def _human(
    found: HumanLabels, place: Mapping[str, int], digests: Sequence[str | None]
) -> dict[str, Any]:
    """Return the labels of a metric: position, who, level, and whether of an earlier answer."""
    return {
        "metric": found.metric,
        "levels": list(found.levels),
        "meanings": list(found.meanings),
        "question": found.question,
        "labels": [
            [place[name], cut(one.annotator, _WIDTH), one.value, one.digest != digests[place[name]]]
            for name, labels in found.labels.items()
            if name in place
            for one in labels
        ],
    }
