"""Digests of what a sample is judged by and ``results.json`` does not hold in full.

It has the references themselves, but no grades, expected contexts or groups of references, and
nothing that rows ask of the answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.model import NOTHING, Sample
from pytest_rageval.scenario.fields import CHECK_FIELDS

NEEDED_AS: Final[Mapping[str, str]] = {
    "reference_ids": "reference_ids",
    "reference_contexts": "reference_contexts",
    "reference_groups": "references",
    **{name: name for name in CHECK_FIELDS},
}
"""Each field that has a digest, and what metrics call it where they say what they need."""

_DIGITS = 16


def reference_digests(sample: Sample) -> Mapping[str, str]:
    """Return the first 16 hex digits of a SHA-256 for each of these fields that the sample has.

    The order of ids and of contexts makes no difference: no score follows from it.
    """
    if (
        sample.reference_ids is None
        and sample.reference_contexts is None
        and sample.reference_groups is None
        and not any(getattr(sample, name) for name in CHECK_FIELDS)
    ):
        return NOTHING
    found = {}
    if sample.reference_ids is not None:
        found["reference_ids"] = _digest(sorted(sample.reference_ids.items()))
    if sample.reference_contexts is not None:
        found["reference_contexts"] = _of_contexts(tuple(sample.reference_contexts))
    if sample.reference_groups is not None:
        found["reference_groups"] = _digest(sample.reference_groups)
    found |= {name: _digest(asked) for name in CHECK_FIELDS if (asked := getattr(sample, name))}
    return found


@lru_cache(maxsize=1024)
def _of_contexts(contexts: tuple[str, ...]) -> str:
    """Cached: with a corpus, all samples of a document expect the same chunks."""
    return _digest(sorted(contexts))


def _digest(value: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:_DIGITS]
