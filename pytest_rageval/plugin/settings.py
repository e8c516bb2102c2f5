"""The settings of a run and its overrides, from the command line, the environment or the ini file.

The command line wins over the environment, and the environment over the ini file; reports of
the ini file and of the option add up.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.plugin import options
from pytest_rageval.plugin.option_values import (
    SEVERAL,
    Command,
    Entry,
    Overriding,
    no_boolean,
    words,
)
from pytest_rageval.run_paths import EVALUATION_ROWS, RunPaths, is_path, is_same_file

if TYPE_CHECKING:
    from pytest_rageval.engine.planning.where import Condition
    from pytest_rageval.scenario.overrides import Override
    from pytest_rageval.shards.part import Part

_FAST_INI = "rageval_fast"
_REPORTS_INI = "rageval_reports"
_ADDOPTS = "PYTEST_ADDOPTS"


@dataclass(frozen=True)
class Settings:
    """The values of the options; nothing below the plugin reads pytest's config.

    ``scenarios`` are absolute paths, each with its ``::ID`` or "".
    """

    scenarios: tuple[tuple[Path, str], ...]
    patterns: tuple[str, ...]
    run_paths: RunPaths
    strict: bool
    cache_mode: str = "readwrite"
    cache_dir: Path | None = None
    budget_usd: float | None = None
    reports: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    """The names and patterns of the only variants to run, as given (``a,b``); () for all."""
    keep: int | None = None
    """How many runs of each scenario are kept, all of them if None."""
    shard: Part | None = None
    """Which part of the cases runs; all of them if None."""
    engine: Entry | None = None
    """Where metrics are computed; None for this process."""
    no_fast: str = ""
    """What switches the fast protocol off, "" if nothing does."""
    conditions: tuple[Condition, ...] = ()
    """What samples must meet to run."""
    overrides: tuple[Override, ...] = ()
    """What takes the place of values in each scenario."""

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Return the settings of this run; raises pytest.UsageError for invalid values."""
        _ini_boolean("rageval_github", config)  # refused now, for it is read at the end of the run
        run_paths, strict = _run_paths(config), options.STRICT.value(config)
        cache_dir = options.CACHE_DIR.value(config) or run_paths.run_base(None) / ".cache"
        return cls(
            scenarios=tuple(file for files in options.SCENARIO.values(config) for file in files),
            patterns=tuple(config.getini("rageval_files")),
            run_paths=run_paths,
            strict=_ini_boolean("rageval_strict", config) if strict is None else strict,
            cache_mode=options.CACHE.value(config) or "readwrite",
            cache_dir=cache_dir,
            budget_usd=options.BUDGET.value(config),
            reports=_reports(config),
            variants=tuple(options.VARIANT.values(config)),
            keep=options.KEEP.value(config),
            shard=options.SHARD.value(config),
            engine=options.ENGINE.value(config),
            no_fast=_no_fast(config),
            conditions=tuple(options.WHERE.values(config)),
            overrides=tuple(_overrides(config)),
        )


SETTINGS = pytest.StashKey[Settings]()
"""Key in the config: the settings of the run."""


def is_controller(config: pytest.Config) -> bool:
    """Return whether workers of pytest-xdist run the tests, and this process hears of them.

    ``--dist`` alone starts none, and ``--collect-only`` has this process collect.
    """
    spreads = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
    collects = config.getoption("collectonly", False)
    return spreads and not collects and not hasattr(config, "workerinput")


def refuse_misplaced(config: pytest.Config) -> None:
    """Raise UsageError for options that exclude each other or lack their command.

    And for a command in addopts, where it was left over.
    """
    commands = [command for command in options.COMMANDS if command.is_given(config)]
    asks = config.getoption("rag_questions") is not None or config.getoption("rag_nuggets")
    allowed_pair = ["init", "dry-run"] if asks else None
    if len(commands) > 1 and [command.name for command in commands] != allowed_pair:
        names = " and ".join(command.flag for command in commands)
        raise pytest.UsageError(f"{names} are two commands: run one after the other")
    for command in commands:
        _refuse_left_over(config, command)
    _refuse_alone(config)
    if options.SAVE.is_given(config) and options.SAVE_FAILED.is_given(config):
        raise pytest.UsageError(
            f"{options.SAVE.flag} and {options.SAVE_FAILED.flag}: give one of them"
        )
    shard = next(iter(options.SHARD.entries(config)), None)
    if shard is not None:
        of_whole_runs = options.touching("baseline", "answers", "files")
        sources = [option.source(config) for option in of_whole_runs if option.is_given(config)]
        if sources:
            message = "a shard is a part of a run; give it to pytest --rag-merge"
            raise pytest.UsageError(f"{', '.join(sources)}: {message}")
        if config.getoption("rag_merge"):
            raise shard.refused("a merge runs no cases; leave it out")


def _run_paths(config: pytest.Config) -> RunPaths:
    baselines, failed = config.getini("rageval_baselines"), options.SAVE_FAILED.value(config)
    answers, is_shard = options.SAVE_ANSWERS.value(config), options.SHARD.is_given(config)
    saving = failed or options.SAVE.value(config)
    if answers and is_path(saving or "") and is_same_file(answers, config.rootpath / str(saving)):
        raise pytest.UsageError(
            f"{options.SAVE_ANSWERS.flag}: {saving} is to hold the saved run; name another file"
        )
    return RunPaths(
        root=config.rootpath,
        output=options.OUTPUT.value(config),
        baselines=config.rootpath / baselines if baselines else None,
        saving=saving,
        saves_failed=failed is not None,
        import_mode=config.getoption("importmode", "prepend"),
        answers=answers,
        keeps_expected=is_shard or EVALUATION_ROWS in _reports(config),
        keeps_rows=is_shard or answers is not None,
    )


def _reports(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the reports: those of the ini file and those of the option add up."""
    given = [(_REPORTS_INI, text) for text in config.getini(_REPORTS_INI)]
    given += [(options.REPORT.source(config), text) for text in options.REPORT.values(config)]
    if not given:
        return ()
    # Not at the top: every start of pytest loads this module, but not the reports.
    from pytest_rageval.registry import UnknownNameError
    from pytest_rageval.reports.base import requested_reports

    found: list[str] = []
    for source, text in given:
        try:
            found += requested_reports(name.strip() for name in text.split(",") if name.strip())
        except UnknownNameError as error:
            raise pytest.UsageError(f"{source}: {error}") from error
    return tuple(dict.fromkeys(found))


def _no_fast(config: pytest.Config) -> str:
    is_off, is_fast = options.NO_FAST.value(config), _ini_boolean(_FAST_INI, config)
    if is_off is not None:
        return options.NO_FAST.source(config) if is_off else ""
    return "" if is_fast else f"{_FAST_INI} = false"


def _ini_boolean(name: str, config: pytest.Config) -> bool:
    try:
        return bool(config.getini(name))
    except (ValueError, TypeError, pytest.UsageError) as error:
        raise no_boolean(name, str(error)) from None


def _overrides(config: pytest.Config) -> list[Override]:
    rows = [row for row in options.ALL_OPTIONS if isinstance(row, Overriding)]
    by_option = {row.name: row.overrides(config) for row in rows}
    compared = by_option[options.COMPARE.name]
    if len(compared) > 1:  # together they take the place of the runs in the file
        from pytest_rageval.scenario.overrides import merged

        by_option[options.COMPARE.name] = [merged(compared)]
    changes = [override for several in by_option.values() for override in several]
    files = options.LABELS.values(config)
    if files:
        # Not at the top: every start of pytest loads this module, but not the scenario layer.
        from pytest_rageval.scenario.overrides import Override

        flag = " ".join([options.LABELS.source(config), *options.LABELS.texts(config)])
        changes.append(Override(("human", "more"), [str(path) for path in files], flag))
    return changes


def _refuse_alone(config: pytest.Config) -> None:
    """Raise UsageError for an option that does nothing without a command."""
    for option in options.WITH_COMMANDS:
        needed = option.beside and config.getoption(f"rag_{option.beside}") in (None, False)
        if needed and option.is_given(config):
            raise pytest.UsageError(f"{option.flag} goes with --rag-{option.beside}")


def _refuse_left_over(config: pytest.Config, command: Command) -> None:
    """Raise UsageError for a command in addopts: every run would be green, and judge nothing."""
    folder = config.invocation_params.dir
    if _has(words(config.invocation_params.args, folder), command.flag):
        return
    variable = shlex.split(os.environ.get(_ADDOPTS, ""))
    where = f"addopts in {config.inipath}"
    if _has(variable, command.flag):
        where = _ADDOPTS
    elif _has(words(variable, folder), command.flag):
        where = f"a file that {_ADDOPTS} names"
    value = f"={command.metavar.removesuffix(SEVERAL)}" if command.metavar else ""
    raise pytest.UsageError(
        f"{command.flag}: found in {where}: every run would judge nothing, and be green. Take it "
        f"out, and write it on the command line: pytest {command.flag}{value}"
    )


def _has(typed: Iterable[str], flag: str) -> bool:
    return any(word.partition("=")[0] == flag for word in typed)
