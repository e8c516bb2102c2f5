"""A metric that reads what the judge said of a row; the verdicts were recorded in the data."""

from __future__ import annotations

from pytest_rageval import Sample


def grounded(sample: Sample) -> tuple[float, str]:
    """Return the judge's 1 or 0, with its reason: does the source say all that the answer says?"""
    verdict = sample.metadata["verdict"]
    return verdict["score"], verdict["reason"]
