"""Lets the workers of ``--rag-engine`` score the next samples while pytest runs the current one."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.remote.sending import SentAhead, prepared, with_scores
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.executors.base import EngineError, Workers, executor_kind
from pytest_rageval.model import Sample
from pytest_rageval.plugin.option_values import Entry
from pytest_rageval.plugin.run.items import ENGINE, SampleItem
from pytest_rageval.plugin.settings import is_controller
from pytest_rageval.redaction import without_credentials

_NAME: Final = "rageval-engine"


def ensure_engine(config: pytest.Config, engine: Entry) -> None:
    """Register the engine of a run; raises pytest.UsageError beside -n, or for a wrong URL."""
    if is_controller(config):
        raise pytest.UsageError(
            f"{engine}: -n spreads the cases over processes already; leave out one of them: "
            "'-n auto' scores here, an engine needs no -n"
        )
    config.pluginmanager.register(EngineRun(config, engine), _NAME)


class EngineRun:
    """Sends the samples of this run ahead, and hands each item its scores."""

    def __init__(self, config: pytest.Config, engine: Entry) -> None:
        self._engine = engine
        try:
            self._kind, self._place = executor_kind(engine.text)
        except EngineError as error:
            raise pytest.UsageError(f"{engine}: {error}") from error
        self._opened: Workers | None = None
        self._samples: dict[int, list[Sample]] = {}
        self._sent: dict[int, SentAhead] = {}
        config.stash[ENGINE] = self

    def pytest_report_header(self) -> str:
        """Say where scores are computed."""
        return f"rageval: engine {without_credentials(self._engine.text)}"

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Reach the workers before the first scenario; raises pytest.UsageError if none answers.

        What has ``is_refused`` collects a scenario; test functions are not scored by workers.
        """
        if self._opened is None and hasattr(collector, "is_refused"):
            try:
                self._opened = self._kind.open(self._place)
            except (EngineError, MissingExtraError) as error:
                raise pytest.UsageError(f"{self._engine}: {error}") from error

    def prepare(self, plan: Plan) -> Plan:
        assert self._opened is not None
        return prepared(plan, self._opened)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of the samples after all deselection."""
        for item in session.items:
            if isinstance(item, SampleItem) and item.is_computed_remotely:
                assert isinstance(item.case, Sample)
                self._samples.setdefault(id(item.plan), []).append(item.case)

    def scores(self, item: SampleItem, judgement: Judgement | None) -> Judgement | None:
        assert isinstance(item.case, Sample)
        key = id(item.plan)
        if key not in self._sent:
            assert self._opened is not None
            self._sent[key] = SentAhead(item.plan, self._opened, self._samples.pop(key, ()))
        return with_scores(judgement, self._sent[key].take(item.case, lambda: None))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Set the duration of a setup to the time of scoring, without that of waiting for it."""
        report = yield
        if call.when == "setup" and isinstance(item, SampleItem) and item.is_computed_remotely:
            report.duration = 0.0 if item.result is None else item.result.latency_s
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Cancel what is under way, and end what was started."""
        for sent in self._sent.values():
            sent.close()
        if self._opened is not None:
            self._opened.close()
