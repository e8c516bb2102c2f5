"""Builders that the unit tests share: scenario files, results and infos with few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from without_extras import pytest_fixture_setup, pytest_pyfunc_call  # noqa: F401

from pytest_rageval import ScenarioResult, UserError, evaluate
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.stats.summary import summarize_scenario

with suppress(ImportError):  # an environment without Hypothesis runs other tests
    import bounded_examples  # noqa: F401  (before any property is defined)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a scenario, and data files beside it, and returns its path."""

    def write_files(scenario: str | bytes, files: Mapping[str, str | bytes] | None = None) -> Path:
        for name, content in {"s.yaml": scenario, **(files or {})}.items():
            raw = content if isinstance(content, bytes) else content.encode("utf-8")
            (tmp_path / name).write_bytes(raw)
        return tmp_path / "s.yaml"

    return write_files


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests to a server of a test go there, whatever the environment says of proxies."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def plan(write: Write) -> Callable[..., Plan]:
    """Return a function from the text of a scenario to its plan."""

    def make(
        scenario: str | bytes,
        files: Mapping[str, str | bytes] | None = None,
        overrides: Sequence[Override] = (),
    ) -> Plan:
        return make_plan(write(scenario, files), overrides, shown="s.yaml")

    return make


@pytest.fixture
def run(write: Write) -> Callable[..., ScenarioResult]:
    """Return a function from the text of a scenario to its result."""

    def make(
        scenario: str | bytes,
        files: Mapping[str, str | bytes] | None = None,
        overrides: Sequence[Override] = (),
    ) -> ScenarioResult:
        return evaluate(write(scenario, files), overrides)

    return make


@pytest.fixture
def problems(plan: Callable[..., Plan]) -> Callable[..., list[str]]:
    """Return a function from the text of a scenario to what is wrong with it, line by line."""

    def find(scenario: str | bytes, files: Mapping[str, str | bytes] | None = None) -> list[str]:
        with pytest.raises(UserError) as caught:
            plan(scenario, files)
        return [str(problem) for problem in caught.value.problems]

    return find


@pytest.fixture
def info() -> Callable[..., ScenarioInfo]:
    """Return a function that makes a scenario's info; metrics f1 and em unless told otherwise."""

    def make(*metrics: MetricColumn, **fields: Any) -> ScenarioInfo:
        columns = metrics or (MetricColumn("f1"), MetricColumn("em"))
        return ScenarioInfo("s", "s.yaml", "s.yaml", columns, **fields)

    return make


@pytest.fixture
def result(info: Callable[..., ScenarioInfo]) -> Callable[..., ScenarioResult]:
    """Return a function that summarises samples as a complete run, ``info`` given by keywords."""

    def make(samples: Sequence[SampleResult], *metrics: MetricColumn, **fields: Any) -> Any:
        made = info(*metrics, **{"total": len(samples), "selected": len(samples), **fields})
        return summarize_scenario(made, samples, complete=True)

    return make
