"""``report.html``: one file to open in a browser, where other weights can be tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.run_paths import base_of

if TYPE_CHECKING:
    from pytest_rageval.results.run_point import RunPoint

PAGE: Final = "report.html"
_RUNS: Final = 49


def write_page(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the page to the run's folder; raises OSError."""
    # Imported here: every run loads this module, few ask for the page.
    from pytest_rageval.reports.page.pages import page_chunks

    folder.put(PAGE, page_chunks(result, run, _trend(result, run, folder)))


def _trend(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> list[RunPoint]:
    """Return the newest complete runs, oldest first; this run is the last if it is complete."""
    from pytest_rageval.reports.history import trend_of
    from pytest_rageval.results.run_point import point_of

    base = base_of(folder.path, result.info.title)
    title, this = result.info.title, point_of(result, run)
    file = (folder.root, result.info.path)
    earlier = trend_of(base, title, file=file, before=run.id, limit=_RUNS, only_complete=True)
    return [*earlier, this] if this.complete else [*earlier]


REPORTS = (Report(PAGE, write_page, aliases=("html",), on_request=True),)
