"""What the tests of the report share: a browser, results to show, and a watch on what pages do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from chromium import launch_chromium

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
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
from pytest_rageval.reports.html import write_page
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.weights import resolve_weight, weighted_mean

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


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
class Windows:
    """One window for each kind of browser: to open one costs more than most tests do in it."""

    browser: Browser
    close: Callable[[], None]
    watch: Watch = field(default_factory=Watch)
    pages: dict[str, Page] = field(default_factory=dict)

    def window(self, viewport: Any = None, **options: Any) -> Page:
        kind = repr(sorted(options.items()))
        if kind not in self.pages:
            context = self.browser.new_context(**{"locale": "en-GB", **options})
            context.set_default_timeout(60_000)
            self.pages[kind] = context.new_page()
            self.watch.follow(self.pages[kind])
        self.pages[kind].set_viewport_size(viewport or {"width": 1280, "height": 720})
        return self.pages[kind]

    def clear(self) -> None:
        for page in self.pages.values():
            if page.url != "about:blank":
                page.goto("about:blank")


WINDOWS = pytest.StashKey[Windows | None]()


@pytest.fixture
def windows(request: pytest.FixtureRequest) -> Windows:
    """The windows that all tests of this folder share; without a Chromium they are skipped."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    stash = request.config.stash
    if WINDOWS not in stash:
        stash[WINDOWS] = open_chromium()
    found = stash[WINDOWS]
    if found is None:
        pytest.skip("no Chromium here: `python tests/browser/provide.py` brings one")
    return found


def open_chromium() -> Windows | None:
    """Start a Chromium: that of Playwright, or the system's; None where there is none."""
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        browser = launch_chromium(stack.enter_context(sync_playwright()))
        if browser is None:
            return None
        stack.callback(browser.close)
        return Windows(browser, stack.pop_all().close)


# Not a fixture of the session: as long as Playwright is there its event loop runs, and
# asyncio.run(), which tests elsewhere call, refuses.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Close the browser after the last test of this folder."""
    yield
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        found = item.config.stash.get(WINDOWS, None)
        if found is not None:
            found.close()
            del item.config.stash[WINDOWS]


@dataclass
class Opener:
    """Writes the report of a result and opens it, in place of the one before of that kind."""

    windows: Windows
    folder: Path
    opened: int = 0

    @property
    def watch(self) -> Watch:
        return self.windows.watch

    def __call__(self, result: ScenarioResult, **options: Any) -> Page:
        self.opened += 1
        folder = RunFolder(self.folder / str(self.opened), self.folder)
        folder.path.mkdir()
        write_page(result, RUN, folder)
        return self.open(folder.path / "report.html", **options)

    def open(self, path: Path, **options: Any) -> Page:
        page = self.windows.window(**options)
        page.goto(path.as_uri())
        page.wait_for_selector("#samples .rows > *")
        return page


@pytest.fixture
def open_report(windows: Windows, tmp_path: Path) -> Iterator[Opener]:
    """Opens reports; whatever the test, none may fail, talk, or ask for another file."""
    watch = windows.watch
    watch.problems.clear()
    watch.requests.clear()
    yield Opener(windows, tmp_path)
    windows.clear()
    assert watch.problems == []
    assert [url for url in watch.requests if not url.startswith("file:")] == []


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
                weighted_score=weighted_score(columns, sample.scores, sample.errors),
                sample_weight=resolve_weight(doc_weights, sample.doc_name),
            )
            for sample in samples
        ]
        extent = extent or Extent(len(weighed), len(weighed), len(weighed))
        return decide_gates(summarize_scenario(info, weighed, extent.complete), extent)

    return reweigh


def weighted_score(
    columns: Sequence[MetricColumn],
    scores: Mapping[str, float | None],
    errors: Mapping[str, str] = MappingProxyType({}),
) -> float | None:
    if any(column.weight > 0 and column.name in errors for column in columns):
        return None
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
