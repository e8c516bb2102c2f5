"""What the tests of the plugin share: a project, and ways to run pytest in it."""

from __future__ import annotations

import csv
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from loop_back import LoopBack
from sharded import PLAIN
from steady_clock import set_steady_clock

import pytest_rageval
from pytest_rageval.datasets.base import READER_REGISTRY
from pytest_rageval.gates.base import GATE_REGISTRY
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.reports.base import REPORT_REGISTRY
from pytest_rageval.reports.write_run import COMMIT_VARIABLES

pytest.register_assert_rewrite("judged_project", "served_app")  # before a test module imports them

# pytester drops what an inner run imported. To import it again for each run costs more than the run
# itself, and C extensions cannot be imported twice in a process.
for _module in pkgutil.walk_packages(pytest_rageval.__path__, "pytest_rageval."):
    importlib.import_module(_module.name)
for _name in ("ir_measures", "pytrec_eval", "rouge_score.rouge_scorer", "yaml"):
    importlib.import_module(_name)
# A second resource tracker would not know the semaphores of the first; and one that is collected
# while its module is taken away cannot be released.
for _name in ("queues", "resource_tracker", "synchronize"):
    importlib.import_module(f"multiprocessing.{_name}")
# Nor may the first inner run that asks be the one whose environment decides what there is.
for _registry in (READER_REGISTRY, GATE_REGISTRY, METRIC_REGISTRY, REPORT_REGISTRY):
    _registry.names()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whatever a shell starts with "&" ignores Ctrl-C, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

UNRELATED = ("hypothesispytest", "pytest_cov", "langsmith_plugin")
"""Plugins that may be installed here too; langsmith's alone doubles the time of a run."""

BROKEN_METRICS = """
    import os
    import pytest
    from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
    from pytest_rageval.metrics.base import METRIC_REGISTRY
    from pytest_rageval.model import Score

    class Metric:
        def __init__(self, name, options):
            self.name = name

    class Raises(Metric):
        def score(self, sample, context):
            if sample.answer == "raise":
                raise RuntimeError("the judge is away")
            return Score(self.name, 1.0)

    class Silent(Metric):
        def score(self, sample, context):
            return Score(self.name, None, reason="no claims in the answer")

    class TooHigh(Metric):
        def score(self, sample, context):
            return Score(self.name, 1.5)

    class NotANumber(Metric):
        def score(self, sample, context):
            return Score(self.name, float("nan"))

    class Crashes(Metric):
        def score(self, sample, context):
            if sample.answer == "crash":
                os._exit(1)
            return Score(self.name, 1.0)

    class Interrupted(Metric):
        def score(self, sample, context):
            if sample.answer == "interrupt":
                raise KeyboardInterrupt
            return Score(self.name, 1.0)

    class Witness(Metric):
        def score(self, sample, context):
            with open("scored.txt", "a") as log:
                log.write(sample.id + chr(10))
            return Score(self.name, 1.0)

    for name, make in {
        "raises": Raises,
        "silent": Silent,
        "toohigh": TooHigh,
        "notanumber": NotANumber,
        "crashes": Crashes,
        "interrupted": Interrupted,
        "witness": Witness,
    }.items():
        if METRIC_REGISTRY.canonical(name) is None:
            METRIC_REGISTRY.add(MetricDefinition(MetricInfo(name, frozenset({"answer"})), make))
"""
"""A conftest.py with metrics that go wrong, each in its way, and one that leaves a trace."""


@pytest.fixture
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the runs of this process begin and end one second after the other."""
    names = ("session", "run_files", "shard_run")
    set_steady_clock(monkeypatch, *(f"plugin.run.{name}" for name in names))


@pytest.fixture(autouse=True)
def _own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out again the metrics that a run in this process adds."""
    monkeypatch.setattr(
        METRIC_REGISTRY, "_entries", {entry.name: entry for entry in METRIC_REGISTRY}
    )
    monkeypatch.setattr(METRIC_REGISTRY, "_aliases", dict(METRIC_REGISTRY._aliases))


@pytest.fixture(scope="session")
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for bytecode, so that the workers of all tests compile everything once."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(autouse=True)
def _own_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, _compiled: Path
) -> None:
    """Keep the user's settings, the outer run and unrelated plugins away from inner runs."""
    gc.freeze()  # inner runs need not look through all that the outer one has loaded
    if sys.dont_write_bytecode:  # else they find what the outer run has compiled
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(_compiled))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in UNRELATED))
    for name in ("CI", "BUILD_NUMBER", *COMMIT_VARIABLES):  # CI: pytest cuts nothing off
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith(("RAGEVAL_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)


class Project:
    """A folder with scenarios, and what runs of them leave behind."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def scenario(self, text: str, file: str = "qa") -> Path:
        """Write ``<file>.rageval.yaml``; the text may be indented."""
        return self.pytester.makefile(".rageval.yaml", **{file: text})

    def rows(self, rows: Sequence[Mapping[str, Any]], file: str = "qa.jsonl") -> Path:
        """Write rows as JSON Lines, in ASCII so that they may hold lone surrogates."""
        path = self.path / file
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
        return path

    def file(self, name: str, text: str) -> Path:
        """Write any other file; the text is taken as it is."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return path

    def tested_by(self, *lines: str, of: str = "qa.rageval.yaml", given: str = "rageval") -> None:
        """Write ``test_bot.py``: a test function over a scenario, with the arguments ``given``."""
        body = "".join(f"    {line}\n" for line in lines)
        marker = f"@pytest.mark.rag_scenario({of!r})"
        self.file("test_bot.py", f"import pytest\n\n{marker}\ndef test_bot({given}):\n{body}")

    def conftest(self, text: str) -> None:
        """Write ``conftest.py``."""
        self.pytester.makeconftest(text)

    def with_broken_metrics(self, more: str = "") -> None:
        """Write a ``conftest.py`` that adds the metrics of ``BROKEN_METRICS``."""
        self.conftest(BROKEN_METRICS + more)

    def pytest(self, *args: str, plugins: Sequence[object] = ()) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*args, no_reraise_ctrlc=True, plugins=plugins)

    def folders(self, name: str = "qa", base: str = ".rageval") -> list[Path]:
        """Return the run folders of a scenario, oldest first: as they were written."""
        runs = [run for run in (self.path / base / name).glob("2*") if run.is_dir()]
        # Not by their names alone: those follow a clock that may be set (``tox -e clock``).
        return sorted(runs, key=lambda run: (run.stat().st_mtime_ns, run.name))

    def folder(self, name: str = "qa", base: str = ".rageval") -> Path:
        """Return the only run folder of a scenario."""
        (found,) = self.folders(name, base)
        return found

    def results(self, name: str = "qa", base: str = ".rageval") -> dict[str, Any]:
        """Return the ``results.json`` of the newest run."""
        text = (self.folders(name, base)[-1] / "results.json").read_text("utf-8")
        parsed: dict[str, Any] = json.loads(text, parse_constant=_refuse)
        return parsed

    def outcomes(self, name: str = "qa") -> dict[str, str]:
        """Return the outcome of each sample of the newest run by its id."""
        return {sample["id"]: sample["outcome"] for sample in self.results(name)["samples"]}

    def gates(self, name: str = "qa") -> dict[str, str]:
        """Return the outcome of each gate of the newest run by its name."""
        return {gate["name"]: gate["outcome"] for gate in self.results(name)["gates"]}

    def table(self, file: str, name: str = "qa") -> list[dict[str, str]]:
        """Return the rows of a CSV file of the newest run."""
        with (self.folders(name)[-1] / file).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def without_run(self, at: int = -1, name: str = "qa") -> list[str]:
        """Return the lines of a run's ``results.json`` but the one that may differ."""
        text = (self.folders(name)[at] / "results.json").read_text("utf-8")
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith('"run": ')]
        assert len(kept) == len(lines) - 1
        return kept

    @property
    def wrote_nothing(self) -> bool:
        """Whether no run left a folder."""
        return not (self.path / ".rageval").exists()


class Run:
    """Runs pytest in a project, always in the same way."""

    def __init__(self, project: Project, *args: str, plugins: Sequence[object] = ()) -> None:
        self._project = project
        self._args = args
        self._plugins = plugins

    def __call__(self, *args: str) -> pytest.RunResult:
        """Return the result of ``pytest <args>``."""
        return self._project.pytest(*args, *self._args, plugins=self._plugins)


def green(result: pytest.RunResult) -> pytest.RunResult:
    """Return the result of a run that passed."""
    assert result.ret == pytest.ExitCode.OK
    return result


def red(result: pytest.RunResult) -> pytest.RunResult:
    """Return the result of a run that failed."""
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    return result


def wrong_use(result: pytest.RunResult) -> pytest.RunResult:
    """Return the result of a command that pytest refused."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return result


def interrupted(result: pytest.RunResult) -> pytest.RunResult:
    """Return the result of a run that was ended, or not begun for what it collected."""
    assert result.ret == pytest.ExitCode.INTERRUPTED
    return result


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Return an empty project."""
    return Project(pytester)


@pytest.fixture
def four(project: Project) -> Project:
    """Return a project with four samples that all score 1; the gate is at 0.1."""
    project.scenario(PLAIN.replace("0.5", "0.1"))
    project.rows([{"id": f"q{at}", "answer": "x", "references": ["x"]} for at in range(4)])
    return project


@pytest.fixture
def plain(project: Project) -> Run:
    """Return what runs pytest in this process."""
    return Run(project)


@pytest.fixture
def run(project: Project) -> Run:
    """Return what runs pytest in this process, with results on the way of those of xdist."""
    return Run(project, plugins=[LoopBack()])


@pytest.fixture
def workers(project: Project) -> Run:
    """Return what runs pytest with two workers; at ten times the price, for what needs them."""
    return Run(project, "-n", "2")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
