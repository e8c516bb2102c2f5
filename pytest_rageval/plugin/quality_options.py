"""Refuses a run whose options ask for quality but which judged no case: it is never green."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

import pytest

from pytest_rageval.plugin.last_word import end_with
from pytest_rageval.plugin.options import touching
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.text.printable import printable

_MOST_FOLDERS = 500
_RUN_NOTHING = ("collectonly", "setuponly", "setupplan", "rag_dry_run")
_GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def runs_nothing(config: pytest.Config) -> bool:
    """Return whether an option has cases not run at all: there is nothing to judge then."""
    is_off = any(config.getoption(name, False) for name in _RUN_NOTHING)
    return is_off or config.getoption("rag_label", None) is not None


def refuse_empty_run(session: pytest.Session, *, has_scenario: bool) -> None:
    """End with a usage error if such an option was typed and no case of a scenario ran."""
    config = session.config
    if has_scenario or session.exitstatus not in _GREEN or hasattr(config, "workerinput"):
        return
    is_told = config.getoption("collectonly", False) or config.getoption("rag_dry_run")
    if is_told or config.getoption("rag_label") is not None:
        return
    asking = touching("gates", "baseline")
    typed = [option.flag for option in asking if option.is_typed(config)]
    if not typed:
        return
    end_with(session, pytest.ExitCode.USAGE_ERROR)
    hint = where_scenarios_are(config)
    message = f"{', '.join(typed)}: no case of a scenario ran, so nothing was judged. {hint}"
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line("")  # ends a line of dots
        reporter.write_line(printable(f"ERROR: {message}"), red=True)


def where_scenarios_are(config: pytest.Config) -> str:
    """Return a sentence on why no case was run, and what to write instead."""
    settings = config.stash[SETTINGS]
    if settings.scenarios:
        return "All cases of the scenarios that you named were deselected (-k, -m, --deselect)"
    found = next(scenarios_below(config.rootpath, settings.patterns), None)
    if found is None:
        named = " ".join(settings.patterns)
        return f"Name a scenario with --rag-scenario=FILE; no file here matches {named}"
    shown = found.relative_to(config.rootpath).as_posix()
    return (
        f"{shown} was not selected: see testpaths, norecursedirs and -k, "
        f"or name it: --rag-scenario={shown}"
    )


def scenarios_below(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield scenario files below ``root``, searching a limited number of folders."""
    for folder, folders, files in islice(os.walk(root), _MOST_FOLDERS):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(files):
            if any(fnmatch(name, pattern) for pattern in patterns):
                yield Path(folder, name)
