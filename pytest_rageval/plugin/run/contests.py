"""The variants of a run's scenarios against each other: judged, written and shown at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_rageval.engine.verdict.contests import (
    Contested,
    contested,
    scenario_nodeid,
    with_rankings,
)
from pytest_rageval.model import GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.run.last_failed import deselected_best
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.terminal import terminal_width, write_lines
from pytest_rageval.run_paths import run_folder

CONTESTS = pytest.StashKey[Sequence[Contested]]()
"""The variants of each scenario against each other, once they are judged."""


def best_of(config: pytest.Config, info: ScenarioInfo) -> GateResult | None:
    """Return the gate that compares a variant with the others; None without one."""
    nodeid = scenario_nodeid(info)
    return next((one.gate for one in config.stash[CONTESTS] if one.nodeid == nodeid), None)


class Contests:
    """Compares the variants of each scenario once all of them ran; most scenarios have none."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._pages: dict[str, Path | str | None] = {}
        self.found: Sequence[Contested] = ()

    def judge(
        self, results: Sequence[ScenarioResult], deselected: Iterable[str], *, stopped: bool
    ) -> list[ScenarioResult]:
        """Decide the gates ``best``; return the results, those of variants with their ranking.

        ``deselected`` are the prefixes that ``--deselect`` names.
        """
        strict, named = self._settings.strict, list(deselected)
        self.found = [
            deselected_best(one, named, strict=strict)
            for one in contested(results, stopped=stopped, strict=strict)
            if one.ranking is not None or one.gate is not None
        ]
        self._config.stash[CONTESTS] = self.found
        return with_rankings(results, self.found, strict=strict)

    def write(self) -> None:
        """Write the files that compare variants."""
        for found in self.found:
            self._pages[found.nodeid] = self._written(found)

    def _written(self, found: Contested) -> Path | str | None:
        """Return the page, None without one, or a sentence why there are no files."""
        if found.ranking is None:
            return None
        # Here and below, not at the top: most scenarios have no variants.
        from pytest_rageval.reports.write_run import write_variants

        base = self._settings.run_paths.run_base(found.info.output_dir)
        folder = base / run_folder(found.info.name)
        try:
            return write_variants(
                folder, found.results, found.ranking, found.gate, self._settings.reports
            )
        except OSError as error:
            return f"not written: {error}"

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Print the ranked tables."""
        if not self.found:
            return
        from pytest_rageval.plugin.show.comparison_tables import variant_lines, variants_heading

        width = terminal_width(self._config)
        for found in self.found:
            page = self._pages.get(found.nodeid)
            terminal.ensure_newline()
            terminal.section(variants_heading(found), sep="=")
            write_lines(terminal, variant_lines(found, page, self._config.rootpath, width))
