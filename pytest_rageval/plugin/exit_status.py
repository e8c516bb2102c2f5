"""The exit status: what was red stays red, and a run that is asked to judge judges something."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_rageval.plugin.options import touching
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.text.printable import printable

_VERDICT = pytest.StashKey[tuple[pytest.Session, int]]()


def misused(message: str) -> pytest.UsageError:
    """Return the usage error of a command that cannot be carried out."""
    return pytest.UsageError(printable(message))


def end_with(session: pytest.Session, status: int) -> None:
    """Have the run end with a red status; another red one may take its place, a green one not."""
    session.exitstatus = status
    session.config.stash[_VERDICT] = session, status


def keep_verdict(config: pytest.Config) -> None:
    """Put back the status of a red run if it has become a green one since.

    To be called last of all. It cannot undo ``os._exit`` or a hook that runs still later.
    """
    session, status = config.stash.get(_VERDICT, (None, 0))
    if session is None:
        return
    if is_green(session.exitstatus):
        found, session.exitstatus = session.exitstatus, status
        said = f"rageval: this run is red; a hook changed its exit status to {found!s}"
        sys.stderr.write(f"{said}, and it is {int(status)} again\n")
    ending = sys.exc_info()[1]
    if isinstance(ending, SystemExit) and is_green(ending.code):
        ending.code = int(status)


def is_green(status: object) -> bool:
    """Return whether a process that exits with this value ends with 0.

    >>> [is_green(status) for status in (0, None, 256, 1, "an error")]
    [True, True, True, False, False]
    """
    return status is None or (isinstance(status, int) and not int(status) % 256)


_MOST_FOLDERS = 500
_ALL_FOLDERS = 50_000  # two seconds
_RUN_NOTHING = ("collectonly", "setuponly", "setupplan", "rag_dry_run")
_GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def runs_nothing(config: pytest.Config) -> bool:
    """Return whether an option has cases not run at all: there is nothing to judge then."""
    is_off = any(config.getoption(name, False) for name in _RUN_NOTHING)
    return is_off or config.getoption("rag_label", None) is not None


def refuse_empty_run(session: pytest.Session, *, has_scenario: bool) -> None:
    """End with a usage error if gates or a baseline were asked for and no case of a scenario ran.

    Only an option that was typed counts. ``has_scenario``: whether a case was to run.
    """
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
    for name in ("setupplan", "setuponly"):  # the former sets the latter
        if config.getoption(name, False):
            return f"--setup-{name.removeprefix('setup')} runs none: leave it out"
    left_out = "All cases were deselected (-k, -m, --deselect, --rag-where)"
    if settings.scenarios:
        return left_out
    found = next(scenarios_below(config.rootpath, settings.patterns), None)
    if found is None:
        named = " ".join(settings.patterns)
        name_one = f"Name one with --rag-scenario=FILE; no file here matches {named}"
        return f"{left_out}, or there is no scenario. {name_one}"
    shown = found.relative_to(config.rootpath).as_posix()
    return (
        f"{shown} was not selected: see testpaths, norecursedirs, -k and --rag-where, "
        f"or name it: --rag-scenario={shown}"
    )


def scenarios_below(
    root: Path, patterns: tuple[str, ...], *, is_complete: bool = False
) -> Iterator[Path]:
    """Yield scenario files below ``root``, searching a limited number of folders.

    Hidden folders, ``node_modules`` and links to folders are not searched. ``is_complete`` searches
    more folders, and raises OSError if there are too many.
    """
    most = _ALL_FOLDERS if is_complete else _MOST_FOLDERS
    for at, (folder, folders, files) in enumerate(os.walk(root)):
        if at == most and is_complete:
            raise OSError(f"more than {most} folders below {root}, where a scenario may name one")
        if at == most:
            return
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(files):
            if any(fnmatch(name, pattern) for pattern in patterns):
                yield Path(folder, name)
