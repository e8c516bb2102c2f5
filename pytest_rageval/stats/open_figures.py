"""How good a figure is that holes leave open, or that a judge has filled, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_rageval.model import NOTHING, ScenarioResult
from pytest_rageval.model.value import Band
from pytest_rageval.stats.wording import figure

if TYPE_CHECKING:
    from pytest_rageval.stats.holes import OpenMean


def open_text(result: ScenarioResult, metric: str) -> str:
    """Return whose judgements a ranking metric counts, and what is open if few are judged."""
    found = _open_mean(result, metric)
    is_open = found is not None and found.is_doubtful
    return "; ".join(filter(None, [_filled_text(result, metric), str(found) if is_open else ""]))


def open_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield a line for each ranking metric of whose results much is not judged."""
    for name in result.metrics:
        if text := open_text(result, name):
            yield f"{name} {figure(result.mean_of(name))}, {text}"
    if any(column.filled for column in result.info.metrics):
        # Not at the top: most scenarios have no holes filled.
        from pytest_rageval.stats.filled import check_line

        yield check_line(result)


def judged_text(result: ScenarioResult, metric: str) -> str:
    """Return how much of what a ranking metric is of is judged, "" for all of it."""
    found = _open_mean(result, metric)
    return "" if found is None else f"  {found.share_text}"


def band_of(result: ScenarioResult, name: str, mean: float | None) -> Band | None:
    """Return how good a mean is; nobody knows where a judge is not believed that filled holes."""
    return None if name in doubtful_figures(result) else result.info.band_of(name, mean)


def doubtful_figures(result: ScenarioResult) -> Mapping[str, str]:
    """Return why figures are not believed that count grades of a judge; {} if they are."""
    if not any(column.filled for column in result.info.metrics):
        return NOTHING
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.stats.filled import doubts_of

    return doubts_of(result)


def _filled_text(result: ScenarioResult, metric: str) -> str:
    if not any(column.filled for column in result.info.metrics if column.name == metric):
        return ""
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.stats.filled import filled_text

    return filled_text(result, metric)


def _open_mean(result: ScenarioResult, metric: str) -> OpenMean | None:
    if not any(column.retrieves for column in result.info.metrics if column.name == metric):
        return None
    # Not at the top: most scenarios have no ranking.
    from pytest_rageval.stats.holes import open_mean

    return open_mean(result, metric)
