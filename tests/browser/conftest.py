"""What the tests of the report share: a browser, results to show, and a watch on what pages do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chromium import launch_chromium

from pytest_rageval.engine.decide import Extent, decide_gates
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.base import RunFolder
from pytest_rageval.reports.html import HtmlReport
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.weights import resolve_weight, weighted_mean

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


# Not of the session: as long as Playwright is there its event loop runs, and asyncio.run(), which
# tests elsewhere call, refuses.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium: that of Playwright, or the system's; without one the tests are skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        opened = launch_chromium(playwright)
        if opened is None:
            pytest.skip("no Chromium here: `python tests/browser/provide.py` brings one")
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core; without it the tests are skipped."""
    package = find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("no axe-core here: `pip install axe-playwright-python` brings it")
    return Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@dataclass
class Watch:
    """What a page did that no report may do."""

    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        page.on(
            "console",
            lambda line: self.problems.append(line.text) if line.type == "error" else None,
        )
        page.on("request", lambda request: self.requests.append(request.url))


@dataclass
class Opener:
    """Writes the report of a result and opens it, each time in a new window."""

    browser: Browser
    folder: Path
    contexts: list[BrowserContext] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)

    def __call__(self, result: ScenarioResult, **options: Any) -> Page:
        folder = RunFolder(self.folder / str(len(self.contexts)), self.folder)
        folder.path.mkdir()
        HtmlReport().write(result, RUN, folder)
        return self.open(folder.path / "report.html", **options)

    def open(self, path: Path, **options: Any) -> Page:
        context = self.browser.new_context(**{"locale": "en-GB", **options})
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        page = context.new_page()
        self.watch.follow(page)
        page.goto(path.as_uri())
        page.wait_for_selector("#samples .rows > *")
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens reports; whatever the test, none may fail, talk, or ask for another file."""
    opener = Opener(browser, tmp_path)
    yield opener
    opener.close()
    assert opener.watch.problems == []
    assert [url for url in opener.watch.requests if not url.startswith("file:")] == []


@pytest.fixture
def weigh() -> Callable[..., ScenarioResult]:
    """Return the function that says what Python makes of samples with other weights."""

    def reweigh(
        info: ScenarioInfo,
        samples: Sequence[SampleResult],
        metric_weights: Mapping[str, float],
        doc_weights: Mapping[str, float],
        extent: Extent | None = None,
    ) -> ScenarioResult:
        columns = tuple(
            replace(column, weight=float(metric_weights[column.name])) for column in info.metrics
        )
        info = replace(
            info,
            metrics=columns,
            doc_weights=dict(doc_weights),
            baselines={
                name: _weighed(baseline, columns) for name, baseline in info.baselines.items()
            },
        )
        weighed = [
            replace(
                sample,
                weighted_score=weighted_score(columns, sample.scores),
                sample_weight=resolve_weight(sample.doc_name, doc_weights),
            )
            for sample in samples
        ]
        extent = extent or Extent(len(weighed), len(weighed), len(weighed))
        return decide_gates(summarize_scenario(info, weighed, extent.complete), extent)

    return reweigh


def weighted_score(
    columns: Sequence[MetricColumn], scores: Mapping[str, float | None]
) -> float | None:
    return weighted_mean(
        (None if value is None else column.to_unit(value), column.weight)
        for column in columns
        if (value := scores.get(column.name)) is not None or column.name in scores
    )


def _weighed(baseline: Baseline, columns: Sequence[MetricColumn]) -> Baseline:
    scores = {name: found for name, found in baseline.scores.items() if name != WEIGHTED_SCORE}
    if WEIGHTED_SCORE in baseline.scores:
        scores[WEIGHTED_SCORE] = {
            sample_id: weighted_score(
                columns, {column.name: scores[column.name][sample_id] for column in columns}
            )
            for sample_id in baseline.ids
        }
    return replace(baseline, scores=scores)


@pytest.fixture
def same_as() -> Callable[[Page, ScenarioResult], None]:
    """Return the check that a page shows the figures, gates and outcomes of a result."""

    def check(page: Page, wanted: ScenarioResult) -> None:
        found = page.evaluate(
            """() => {
                const {summaries, gates, outcomes, weighted} = rageval.state();
                const said = gates.map((gate) => [gate.name, gate.outcome, gate.message()]);
                return {summaries, gates: said, outcomes, weighted};
            }"""
        )
        for name, metric in wanted.metrics.items():
            ours = found["summaries"][name]
            assert ours["weighted_mean"] == pytest.approx(metric.weighted_mean, abs=1e-9)
            assert ours["ci_low"] == pytest.approx(metric.ci_low, abs=1e-9)
        whole = found["summaries"][WEIGHTED_SCORE]
        assert whole["weighted_mean"] == pytest.approx(wanted.weighted_score.mean, abs=1e-9)
        assert whole["ci_high"] == pytest.approx(wanted.weighted_score.ci_high, abs=1e-9)
        assert found["gates"] == [[gate.name, gate.outcome, gate.message] for gate in wanted.gates]
        assert found["outcomes"] == [sample.outcome for sample in wanted.samples]
        assert found["weighted"] == [
            None if sample.weighted_score is None else pytest.approx(sample.weighted_score)
            for sample in wanted.samples
        ]

    return check
