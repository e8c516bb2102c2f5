"""The pytest11 entry point: options and registration, on pytest and the standard library alone.

Everything heavier is imported when the first scenario file is met.
"""

from __future__ import annotations

import gc
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.plugin.options import SCENARIO, SETTINGS, Settings, add_options, overrides

if TYPE_CHECKING:
    from pytest_rageval.plugin.collect import ScenarioFile
    from pytest_rageval.plugin.python_tests import Checker


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that others may implement."""
    from pytest_rageval.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Have the conftest.py files of ``--rag-scenario`` loaded as those of other arguments.

    An xdist controller, which collects nothing, would not know their hooks.
    """
    known = early_config.known_args_namespace
    named = getattr(known, SCENARIO.dest, None) or os.environ.get(SCENARIO.variable, "").split(";")
    named = [text.partition("::")[0].strip() for text in named if text.strip()]
    if named:
        given = known.file_or_dir or early_config.getini("testpaths") or ["."]
        known.file_or_dir = [*given, *named]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the plugin's options and ini values."""
    add_options(parser)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer ``--rag-init``, ``--rag-schema`` and ``--rag-history``, which run no tests."""
    if config.getoption("rag_init") is not None:
        from pytest_rageval.plugin.scaffold import write_scaffold

        return write_scaffold(config.invocation_params.dir / config.getoption("rag_init"))
    if config.getoption("rag_schema"):
        from pytest_rageval.plugin.scaffold import print_schema

        return print_schema()
    if config.getoption("rag_history") is not None:
        from pytest_rageval.plugin.history import print_history

        return print_history(
            Settings.of(config).places.run_base(None), config.getoption("rag_history")
        )
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Turn ``--rag-scenario`` into collection arguments; on an xdist controller, listen."""
    settings = config.stash[SETTINGS] = Settings.of(config)
    config.addinivalue_line(
        "markers", "rag_scenario(file): run the test for each sample of a rageval scenario"
    )
    # What plugin.garbage froze. Registered before all others, it comes after them: pytest's own
    # clean-up collects garbage several times, and need not look through all samples for it.
    config.add_cleanup(gc.unfreeze)
    overrides(config)  # so that a mistake in them is wrong use of the command line
    if settings.scenarios:
        named = dict.fromkeys(str(path) + sample_id for path, sample_id in settings.scenarios)
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            folder = config.invocation_params.dir
            given = {os.path.normpath(folder / argument) for argument in config.args}
            config.args.extend(name for name in named if name not in given)
        else:
            config.args[:] = named
        config.args_source = pytest.Config.ArgsSource.ARGS
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        from pytest_rageval.plugin.session import ensure_session

        ensure_session(config, settings)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run test functions with the marker ``rag_scenario`` once for each sample."""
    if metafunc.definition.get_closest_marker("rag_scenario") is not None:
        from pytest_rageval.plugin.python_tests import parametrize

        parametrize(metafunc)


@pytest.fixture
def rag_sample() -> object:
    """Return the sample of a test that ``@pytest.mark.rag_scenario`` runs for each of them."""
    pytest.fail("'rag_sample' and 'rageval' need @pytest.mark.rag_scenario('x.rageval.yaml')")


@pytest.fixture
def rageval(request: pytest.FixtureRequest, rag_sample: object) -> Checker:
    """Return what scores the answer to the test's sample: ``rageval.check(answer)``."""
    from pytest_rageval.plugin.python_tests import checker

    return checker(request.node)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect the files that match ``rageval_files`` or that ``--rag-scenario`` names."""
    settings = parent.config.stash[SETTINGS]
    if not any(fnmatch(file_path.name, pattern) for pattern in settings.patterns) and not any(
        file_path == path for path, _ in settings.scenarios
    ):
        return None
    from pytest_rageval.plugin.collect import scenario_file
    from pytest_rageval.plugin.session import ensure_session

    ensure_session(parent.config, settings)
    return scenario_file(file_path, parent)
