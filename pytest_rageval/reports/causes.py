"""Says in a few lines why answers are low, for the terminal and the summary."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.errors import shorten
from pytest_rageval.model import CAUSES, SampleResult, ScenarioResult
from pytest_rageval.stats.wording import counted

_REASON = 160


def cause_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield how many low answers have which cause, then the first of each; nothing without any."""
    by_cause: dict[str, list[SampleResult]] = {cause: [] for cause in CAUSES}
    for sample in result.samples:
        if sample.cause is not None:
            by_cause[sample.cause].append(sample)
    found = {cause: samples for cause, samples in by_cause.items() if samples}
    if not found:
        return
    total = sum(map(len, found.values()))
    parts = ", ".join(f"{len(samples)} {cause}" for cause, samples in found.items())
    yield f"of {counted(total, 'low answer')} {parts}"
    for samples in found.values():
        yield f"{cause_text(samples[0])} ({samples[0].sample_id})"


def cause_text(sample: SampleResult) -> str:
    """Return the cause of a low answer, and what it was told by."""
    return f"{sample.cause}: {shorten(' '.join(sample.cause_reason.split()), _REASON)}"
