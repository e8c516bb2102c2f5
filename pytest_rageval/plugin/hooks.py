"""The plugin that pytest loads: its hooks, each of which hands over to the module that does it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Sequence
from fnmatch import fnmatch
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import pytest

from pytest_rageval.collector import garbage_kept
from pytest_rageval.plugin.exit_status import keep_verdict
from pytest_rageval.plugin.names import NAMED, UNCLEAR, matching, note_named_scenarios
from pytest_rageval.plugin.options import SCENARIO, add_options
from pytest_rageval.plugin.run.last_failed import LastFailedGates, without_gates
from pytest_rageval.plugin.settings import SETTINGS, Settings, is_controller, refuse_misplaced
from pytest_rageval.text.printable import printable

if TYPE_CHECKING:
    from pytest_rageval.plugin.collect.python_tests import Checker
    from pytest_rageval.plugin.collect.scenario_file import ScenarioFile


_OURS: Final = "pytest_rageval."
_PYTESTS: Final = "AssertionRewritingHook"


class _OwnImports:
    """Finds the modules of this package as Python does, before pytest's finder is asked for them.

    pytest rewrites the assertions of every module of a distribution that has a plugin, and so reads
    or recompiles each of them itself. No assertion of ours has a message that a test would show,
    and the rewriting takes a sixth of a small run.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_OURS) else None


def import_as_it_is() -> Callable[[], None]:
    """Have Python import this package's modules without pytest's rewriting; return what ends it."""
    finder = _OwnImports()
    at = next((at for at, one in enumerate(sys.meta_path) if type(one).__name__ == _PYTESTS), None)
    if at is not None:  # it is not there with --assert=plain
        sys.meta_path.insert(at, finder)

    def end() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return end


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks for plugins and conftest.py files."""
    from pytest_rageval.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Have pytest load the conftest.py files next to ``--rag-scenario``, as for other arguments.

    Otherwise an xdist controller, which collects nothing, would not know their hooks. Those next to
    the scenarios of ``--rag-merge`` are loaded, too. Before all that, ``--rag-mcp`` takes stdin and
    stdout for itself.
    """
    known = early_config.known_args_namespace
    if known.rag_mcp is not None:
        from pytest_rageval.serving.mcp.stdio import take_descriptors

        # Before a conftest.py prints, and before pytest keeps stdout to give it back later.
        take_descriptors()
    named = getattr(known, SCENARIO.dest, None) or os.environ.get(SCENARIO.variable, "").split(";")
    named = [text.partition("::")[0].strip() for text in named if text.strip()]
    if known.rag_merge:
        from pytest_rageval.plugin.run.merge_run import files_to_know

        named += files_to_know(early_config)
    if named:
        given = known.file_or_dir or early_config.getini("testpaths") or ["."]
        folder = early_config.invocation_params.dir
        files = [one for name in named for one in matching(name, folder)]
        known.file_or_dir = [*given, *files]
    return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the plugin's options and ini values."""
    add_options(parser)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run the command that was asked for, such as ``--rag-init``; None to go on with the session.

    Commands that need a session (``--rag-merge``, ``--rag-label``, ``--rag-dry-run``) begin in
    ``_prepare_mode``.
    """
    refuse_misplaced(config)
    if config.getoption("rag_questions") is not None or config.getoption("rag_from") is not None:
        return _make_from_or_stop(config)
    if config.getoption("rag_init") is not None:
        from pytest_rageval.plugin.scaffold import write_scaffold

        return write_scaffold(config.invocation_params.dir / config.getoption("rag_init"))
    if config.getoption("rag_import") is not None:
        from pytest_rageval.plugin.scaffold import write_import

        return write_import(config.getoption("rag_import"), config.invocation_params.dir)
    if config.getoption("rag_schema"):
        from pytest_rageval.plugin.scaffold import print_schema

        return print_schema()
    if config.getoption("rag_history") is not None:
        from pytest_rageval.plugin.show.history import print_history

        return print_history(
            Settings.of(config).run_paths.run_base(None), config.getoption("rag_history")
        )
    if config.getoption("rag_serve") is not None or config.getoption("rag_mcp") is not None:
        from pytest_rageval.plugin.serve import serve

        return serve(config)
    return None


def _make_from_or_stop(config: pytest.Config) -> int:
    """Make what ``--rag-from`` is the source of; Ctrl-C ends it, an OSError is a UsageError."""
    try:
        return _make_from(config)
    except KeyboardInterrupt:
        sys.stdout.write("\nstopped\n")
        return int(pytest.ExitCode.INTERRUPTED)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise pytest.UsageError(printable(str(error)[:300])) from error


def _make_from(config: pytest.Config) -> int:
    """Make questions, nuggets, or a scenario alone, and return the exit status."""
    if config.getoption("rag_questions") is not None:
        from pytest_rageval.plugin.made_questions import make_questions

        return make_questions(config)
    if config.getoption("rag_nuggets"):
        from pytest_rageval.plugin.made_nuggets import make_nuggets

        return make_nuggets(config)
    from pytest_rageval.plugin.from_data import write_first_scenario

    return write_first_scenario(config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Turn ``--rag-scenario`` into collection arguments, and begin what other options ask for."""
    _register_cleanups(config)
    settings = config.stash[SETTINGS] = Settings.of(config)
    config.addinivalue_line(
        "markers",
        "rag_scenario(file, variant=''): run the test for each sample of a rageval scenario",
    )
    _prepare_mode(config, settings)
    config.args[:] = without_gates(config.args)
    if config.getoption("lf", False):
        config.pluginmanager.register(LastFailedGates(config), "rageval-last-failed")
    note_named_scenarios(config, settings.patterns, [path for path, _ in settings.scenarios])
    _add_scenario_arguments(config, settings)
    if is_controller(config):
        _start_controller(config, settings)


def _register_cleanups(config: pytest.Config) -> None:
    # Clean-ups run last in, first out: the verdict is put back after all others.
    config.add_cleanup(partial(keep_verdict, config))
    config.add_cleanup(import_as_it_is())
    # Undo gc.freeze(). As our hook is tryfirst, this is registered before pytest's own clean-ups,
    # so it runs after them: they collect garbage several times, and need not scan all samples.
    config.add_cleanup(gc.unfreeze)


def _add_scenario_arguments(config: pytest.Config, settings: Settings) -> None:
    """Collect the named scenarios beside typed arguments; without any, in place of testpaths."""
    if settings.scenarios:
        named = dict.fromkeys(str(path) + selector for path, selector in settings.scenarios)
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            folder = config.invocation_params.dir
            given = {os.path.normpath(folder / argument) for argument in config.args}
            config.args.extend(name for name in named if name not in given)
        else:
            config.args[:] = named
        config.args_source = pytest.Config.ArgsSource.ARGS


def _start_controller(config: pytest.Config, settings: Settings) -> None:
    """Start the session of an xdist controller, which collects no file that would start it."""
    from pytest_rageval.plugin.configuration import path_unknown_to_workers
    from pytest_rageval.plugin.run.start_session import ensure_session

    lost = path_unknown_to_workers(SCENARIO.texts(config), config.getoption("tx", None) or ())
    if lost:
        raise pytest.UsageError(lost)
    ensure_session(config, settings)


def _prepare_mode(config: pytest.Config, settings: Settings) -> None:
    """Have the session do something else than run tests, or score in other processes, if asked."""
    if config.getoption("rag_merge"):
        from pytest_rageval.plugin.run.start_session import judge_shards_instead

        judge_shards_instead(config, settings)
    elif config.getoption("rag_label") is not None:
        from pytest_rageval.plugin.label import label_instead

        label_instead(config, config.getoption("rag_label"))
    elif config.getoption("rag_dry_run"):
        from pytest_rageval.plugin.dry_run import forecast_instead

        forecast_instead(config)
    elif settings.engine is not None and not config.getoption("collectonly"):
        from pytest_rageval.plugin.run.engine_run import ensure_engine

        ensure_engine(config, settings.engine)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which configuration applies if ``--rag-scenario`` names a file outside the rootdir."""
    named = [path for path, _ in config.stash[SETTINGS].scenarios]
    if all(path.is_relative_to(config.rootpath) for path in named):
        return []
    from pytest_rageval.plugin.configuration import outside_rootdir

    return list(outside_rootdir(named, config.rootpath, config.inipath))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say of named files that may or may not be scenarios how to run them."""
    for line in config.stash[UNCLEAR]:
        terminalreporter.write_line(printable(line), yellow=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """End with a usage error if a gate or baseline option was typed and no scenario ran.

    Before other plugins' hooks, which may end the session.
    """
    if not session.config.pluginmanager.has_plugin("rageval-session"):
        from pytest_rageval.plugin.exit_status import refuse_empty_run

        refuse_empty_run(session, has_scenario=False)
    return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run test functions with the marker ``rag_scenario`` once for each sample."""
    if metafunc.definition.get_closest_marker("rag_scenario") is not None:
        from pytest_rageval.plugin.collect.python_tests import parametrize

        parametrize(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, object, object]:
    """Plan the run of a test function with the marker ``rag_scenario`` and no other parameters."""
    made = yield
    python_tests = sys.modules.get("pytest_rageval.plugin.collect.python_tests")
    if python_tests is not None:
        python_tests.plan_plain(made)
    return made


@pytest.fixture
def rag_sample() -> object:
    """Return the sample of a test with ``@pytest.mark.rag_scenario``."""
    # Only `parametrize` gives a sample, to tests with the marker; any other test comes here.
    pytest.fail("'rag_sample' and 'rageval' need @pytest.mark.rag_scenario('x.rageval.yaml')")


@pytest.fixture
def rageval(request: pytest.FixtureRequest, rag_sample: object) -> Checker:
    """Return the checker of the test's sample: ``rageval.check(answer)`` scores an answer."""
    from pytest_rageval.plugin.collect.python_tests import checker

    return checker(request.node)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect files that match ``rageval_files``, and scenarios named on the command line."""
    settings = parent.config.stash[SETTINGS]
    named = parent.config.stash[NAMED].union(path for path, _ in settings.scenarios)
    if file_path not in named and not any(
        fnmatch(file_path.name, pattern) for pattern in settings.patterns
    ):
        return None
    with garbage_kept():
        from pytest_rageval.plugin.collect.scenario_file import scenario_file
        from pytest_rageval.plugin.run.start_session import ensure_session

        ensure_session(parent.config, settings)
    return scenario_file(file_path, parent)
