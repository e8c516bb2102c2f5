"""``report.html``: one file to open in a browser, in which weights can be tried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import RunFolder

if TYPE_CHECKING:
    from pytest_rageval.reports.run_points import RunPoint

_RUNS: Final = 49


class HtmlReport:
    """Writes ``report.html``."""

    name = "report.html"
    aliases = ("html",)
    on_request = True

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        # Not at the top: every run looks at this module, few ask for the page.
        from pytest_rageval.reports.page.assemble import page_chunks

        folder.put(self.name, page_chunks(result, run, _trend(result, run, folder)))


def _trend(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> list[RunPoint]:
    """Return the newest complete runs of the scenario, oldest first, this one the last."""
    from pytest_rageval.reports.history import trend_of
    from pytest_rageval.reports.run_points import point_of

    base = folder.path.parent.parent
    earlier = trend_of(base, result.info.name, before=run.id, limit=_RUNS)
    return [point for point in [*earlier, point_of(result, run)] if point.complete]


REPORTS = (HtmlReport(),)
