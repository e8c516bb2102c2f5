"""The settings of a run and its overrides, from the command line, the environment or the ini file.

The command line wins over the environment, and the environment over the ini file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.plugin import options
from pytest_rageval.plugin.named_files import matching
from pytest_rageval.plugin.node_ids import WHOLE_PREFIXES, item_name
from pytest_rageval.plugin.options import Option
from pytest_rageval.redaction import without_credentials
from pytest_rageval.run_paths import EVALUATION_ROWS, RunPaths, is_path

if TYPE_CHECKING:
    from pytest_rageval.engine.planning.where import Condition
    from pytest_rageval.scenario.overrides import Override
    from pytest_rageval.shards.part import Part

_ANSWER_SUFFIXES = (".jsonl", ".json", ".csv")
_ENGINE_INI = "rageval_engine"
_FAST_INI = "rageval_fast"
_KEEP_INI = "rageval_keep"
_TRUE_WORDS = ("1", "true", "yes", "on", "y", "t")
_FALSE_WORDS = ("0", "false", "no", "off", "n", "f")
"""The words that pytest itself takes in an ini file."""
_GITHUB_INI, _STRICT_INI = "rageval_github", "rageval_strict"


@dataclass(frozen=True, slots=True)
class EngineUrl:
    """The URL of an engine, and the option, variable or ini value that gave it."""

    url: str
    source: str

    def __str__(self) -> str:
        return f"{self.source} {without_credentials(self.url)}"


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
    """The only variants to run; all of them where none is named."""
    keep: int | None = None
    """How many runs of each scenario are kept, all of them if None."""
    shard: Part | None = None
    """Which part of the cases runs; all of them if None."""
    engine: EngineUrl | None = None
    """Where metrics are computed; None for this process."""
    no_fast: str = ""
    """What switches the fast protocol off, "" if nothing does."""

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Return the settings of this run; raises pytest.UsageError for invalid values."""
        _ini_boolean(_GITHUB_INI, config)  # read at the end of the run
        return cls(
            scenarios=tuple(
                found
                for text in options.SCENARIO.values(config)
                for found in _scenarios(text, config)
            ),
            patterns=tuple(config.getini("rageval_files")),
            run_paths=_run_paths(config),
            strict=_strict(config),
            cache_mode=_cache_mode(config),
            cache_dir=_cache_dir(config),
            budget_usd=_budget(config),
            reports=_reports(config),
            variants=tuple(options.VARIANT.values(config)),
            keep=_keep(config),
            shard=_shard(config),
            engine=_engine(config),
            no_fast=_no_fast(config),
        )


def _scenarios(text: str, config: pytest.Config) -> list[tuple[Path, str]]:
    """Return the files that match a name or pattern, each with its ``::ID`` or ""."""
    name, separator, sample_id = text.partition("::")
    folder = config.invocation_params.dir
    files = [Path(os.path.normpath(folder / one)) for one in matching(name, folder)]
    if not files:
        raise pytest.UsageError(f"{options.SCENARIO.flag}: {name}: no file matches it in {folder}")
    for path in files:
        if not path.is_file():
            what = "is a folder, not a scenario file" if path.is_dir() else "no such file"
            raise pytest.UsageError(f"{options.SCENARIO.flag}: {name}: {what}")
    if sample_id.startswith(WHOLE_PREFIXES):
        separator = sample_id = ""  # a gate needs every sample
    return [(path, separator + _item_path(path, sample_id)) for path in files]


def _item_path(path: Path, named: str) -> str:
    """Return what follows a scenario's file in node ids: ``q1``, ``dense::q1`` or ``dense``."""
    variant, separator, sample_id = named.partition("::")
    if separator and variant in _variants(path):
        is_whole = not sample_id or sample_id.startswith(WHOLE_PREFIXES)
        return variant if is_whole else f"{variant}::{item_name(sample_id)}"
    return item_name(named) if named else ""


def _variants(path: Path) -> tuple[str, ...]:
    """Return the names of a file's variants; a file that cannot be read is reported later."""
    # Not at the top: every start of pytest loads this module, but not the scenario layer.
    from pytest_rageval.errors import UserError
    from pytest_rageval.scenario.loader import variants_in

    try:
        return variants_in(path)
    except UserError:
        return ()


def _run_paths(config: pytest.Config) -> RunPaths:
    baselines = config.getini("rageval_baselines")
    is_shard = bool(options.SHARD.values(config))
    return RunPaths(
        root=config.rootpath,
        output=_output(config),
        baselines=config.rootpath / baselines if baselines else None,
        saving=_saving(config),
        saves_failed=bool(options.SAVE_FAILED.values(config)),
        import_mode=config.getoption("importmode", "prepend"),
        answers=_answers(config),
        keeps_expected=is_shard or EVALUATION_ROWS in _reports(config),
        keeps_rows=is_shard or bool(options.SAVE_ANSWERS.values(config)),
    )


def _saving(config: pytest.Config) -> str | None:
    """Return the name under which the run is to be saved, if any."""
    given = [
        (option, text)
        for option in (options.SAVE, options.SAVE_FAILED)
        for text in option.values(config)
    ]
    if len({option for option, _ in given}) > 1:
        raise pytest.UsageError(
            f"{options.SAVE.flag} and {options.SAVE_FAILED.flag}: give one of them"
        )
    return next((_file_name(option, text, config) for option, text in given), None)


def _answers(config: pytest.Config) -> Path | None:
    """Return the file for the answers, given relative to the working directory."""
    given = options.SAVE_ANSWERS.values(config)
    if not given:
        return None
    path = Path(os.path.normpath(config.invocation_params.dir / given[0]))
    if path.suffix.lower() not in _ANSWER_SUFFIXES:
        known = ", ".join(_ANSWER_SUFFIXES)
        raise pytest.UsageError(
            f"{options.SAVE_ANSWERS.flag} {given[0]}: expected a file ending in {known}"
        )
    if path.is_dir():
        raise pytest.UsageError(f"{options.SAVE_ANSWERS.flag} {given[0]}: is a folder")
    return path


def _cache_mode(config: pytest.Config) -> str:
    given = options.CACHE.values(config)
    if not given:
        return "readwrite"
    # Not at the top: every start of pytest loads this module, but not the clients.
    from pytest_rageval.clients.settings import CACHE_MODES

    if given[0] not in CACHE_MODES:
        known = ", ".join(CACHE_MODES)
        raise pytest.UsageError(f"{options.CACHE.flag} {given[0]}: expected one of {known}")
    return given[0]


def _cache_dir(config: pytest.Config) -> Path:
    given = options.CACHE_DIR.values(config)
    if given:
        return config.invocation_params.dir / given[0]
    ini = config.getini("rageval_cache_dir")
    return config.rootpath / ini if ini else _run_paths(config).run_base(None) / ".cache"


def _budget(config: pytest.Config) -> float | None:
    given = options.BUDGET.values(config)
    if not given:
        return None
    try:
        budget = float(given[0])
    except ValueError:
        budget = -1.0
    if not 0.0 <= budget < float("inf"):
        raise pytest.UsageError(
            f"{options.BUDGET.flag} {given[0]}: expected US dollars, for instance 0.50"
        )
    return budget


def _keep(config: pytest.Config) -> int | None:
    """Return how many runs of a scenario are kept; the option comes before the ini value."""
    given = options.KEEP.values(config)
    source, text = options.KEEP.source(config), given[0] if given else ""
    if not given:
        source, text = _KEEP_INI, config.getini(_KEEP_INI)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise pytest.UsageError(f"{source} {text}: expected how many runs to keep, 1 at least")
    return int(text)


# What is saved or written once, for the whole run.
_OF_THE_MERGE = (
    options.SAVE,
    options.SAVE_FAILED,
    options.SAVE_ANSWERS,
    options.REPORT,
    options.KEEP,
)


def _shard(config: pytest.Config) -> Part | None:
    """Return which part of the run this is; raises pytest.UsageError."""
    given = options.SHARD.values(config)
    if not given:
        return None
    # Not at the top: most runs are no shards.
    from pytest_rageval.shards.part import Part

    source = options.SHARD.source(config)
    try:
        part = Part.parse(given[0])
    except ValueError:
        message = f"{source} {given[0]}: expected I/N with I from 1 to N, for instance 2/5"
        raise pytest.UsageError(message) from None
    late = [option.source(config) for option in _OF_THE_MERGE if option.values(config)]
    if late:
        message = f"{', '.join(late)}: a shard is a part of a run; give it to pytest --rag-merge"
        raise pytest.UsageError(message)
    if config.getoption("rag_merge"):
        raise pytest.UsageError(f"{source} {given[0]}: a merge runs no cases; leave it out")
    return part


def _engine(config: pytest.Config) -> EngineUrl | None:
    """Return the engine; the option comes before the ini value."""
    given = options.ENGINE.values(config)
    if given:
        return EngineUrl(given[0], options.ENGINE.source(config))
    ini = config.getini(_ENGINE_INI)
    return EngineUrl(ini, _ENGINE_INI) if ini else None


def _reports(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the reports, from the ini file and the command line."""
    given = [*config.getini("rageval_reports"), *options.REPORT.values(config)]
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    if not names:
        return ()
    # Not at the top: every start of pytest loads this module, but not the reports.
    from pytest_rageval.registry import UnknownNameError
    from pytest_rageval.reports.base import requested_reports

    try:
        return requested_reports(names)
    except UnknownNameError as error:
        raise pytest.UsageError(f"{options.REPORT.flag}: {error}") from error


def _file_name(option: Option, name: str, config: pytest.Config) -> str:
    """Return the name of a saved run, or its path, given relative to the working directory.

    A path below the rootdir is made relative to it, as all paths that a run shows and stores.
    """
    if not is_path(name):
        if not any(character.isalnum() for character in name):
            message = f"{option.flag} {name}: expected a name, or the path of a .json file"
            raise pytest.UsageError(message)
        return name
    path = Path(os.path.normpath(config.invocation_params.dir / name))
    if path.is_relative_to(config.rootpath):
        shown = path.relative_to(config.rootpath).as_posix()
        return shown if is_path(shown) else str(path)
    return str(path)


def _output(config: pytest.Config) -> Path | None:
    """Return the output folder; the option is relative to the working directory, ini to rootdir."""
    given = options.OUTPUT.values(config)
    if given:
        return config.invocation_params.dir / given[0]
    ini = config.getini("rageval_output")
    return config.rootpath / ini if ini else None


def is_controller(config: pytest.Config) -> bool:
    """Return whether workers of pytest-xdist run the tests, and this process hears of them.

    ``--dist`` alone starts none, and ``--collect-only`` has this process collect.
    """
    spreads = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
    collects = config.getoption("collectonly", False)
    return spreads and not collects and not hasattr(config, "workerinput")


def _no_fast(config: pytest.Config) -> str:
    given, is_fast = _given_boolean(options.NO_FAST, config), _ini_boolean(_FAST_INI, config)
    if given is not None:
        return options.NO_FAST.source(config) if given else ""
    return "" if is_fast else f"{_FAST_INI} = false"


def _strict(config: pytest.Config) -> bool:
    given, ini = _given_boolean(options.STRICT, config), _ini_boolean(_STRICT_INI, config)
    return ini if given is None else given


def _given_boolean(option: Option, config: pytest.Config) -> bool | None:
    """Return what an option without a value, or its variable, says; None if neither is there."""
    given = option.values(config)
    if not given:
        return None
    word = given[0].strip().lower()
    if word not in (*_TRUE_WORDS, *_FALSE_WORDS):
        raise _no_boolean(option.source(config), given[0])
    return word in _TRUE_WORDS


def _ini_boolean(name: str, config: pytest.Config) -> bool:
    try:
        return bool(config.getini(name))
    except (ValueError, TypeError, pytest.UsageError) as error:
        raise _no_boolean(name, str(error)) from None


def _no_boolean(source: str, found: str) -> pytest.UsageError:
    yes, no = ", ".join(_TRUE_WORDS), ", ".join(_FALSE_WORDS)
    return pytest.UsageError(f"{source}: expected true ({yes}) or false ({no}), found {found!r}")


SETTINGS = pytest.StashKey[Settings]()
"""Key in the config: the settings of the run."""


def overrides(config: pytest.Config) -> Sequence[Override]:
    """Return the overrides of values in scenarios; raises pytest.UsageError."""
    given = {option: option.values(config) for option in options.ALL_OPTIONS}
    if not any(given[option] for option in _OVERRIDING):
        return ()
    # Not at the top: every start of pytest loads this module, but not the scenario layer.
    from pytest_rageval.errors import OptionError
    from pytest_rageval.scenario.overrides import (
        Override,
        compare_fail_override,
        fail_under_override,
        number_override,
        set_override,
    )

    parsers = {
        options.METRIC_WEIGHT: number_override("metric_weights"),
        options.DOC_WEIGHT: number_override("doc_weights"),
        options.THRESHOLD: number_override("thresholds"),
        options.GATE: number_override("gates"),
        options.COMPARE_FAIL: compare_fail_override,
        options.FAIL_UNDER: fail_under_override,
        options.SET: set_override,  # last: it may add to what the others set
    }
    try:
        found = [
            parse(option.source(config), text)
            for option, parse in parsers.items()
            for text in given[option]
        ]
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    for option, path, read in _ONE_VALUE:
        for text in given[option]:
            value, where = read(option, text, config), f"{option.source(config)} {text}"
            found.append(Override(path, value, where, only_present=path in _ONLY_PRESENT))
    files = given[options.LABELS]
    if files:
        folder, source = config.invocation_params.dir, options.LABELS.source(config)
        paths = [os.path.normpath(folder / name) for name in files]
        found.append(Override(("human", "more"), paths, f"{source} {' '.join(files)}"))
    return found


CONDITIONS = pytest.StashKey[tuple["Condition", ...]]()


def conditions(config: pytest.Config) -> tuple[Condition, ...]:
    """Return what samples must meet to run, from ``--rag-where``; raises pytest.UsageError."""
    known = config.stash.get(CONDITIONS, None)
    if known is None:
        given = options.WHERE.values(config)
        known = config.stash[CONDITIONS] = _conditions(given, config) if given else ()
    return known


def _conditions(given: Sequence[str], config: pytest.Config) -> tuple[Condition, ...]:
    # Not at the top: most runs have no such option.
    from pytest_rageval.engine.planning.where import parse_condition
    from pytest_rageval.errors import OptionError

    try:
        return tuple(parse_condition(options.WHERE.source(config), text) for text in given)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error


def _whole(option: Option, text: str, _: pytest.Config) -> int:
    try:
        return int(text)
    except ValueError:
        message = f"{option.flag} {text}: expected a whole number"
        raise pytest.UsageError(message) from None


_Read = Callable[[Option, str, pytest.Config], object]
_ONE_VALUE: tuple[tuple[Option, tuple[str, str], _Read], ...] = (
    (options.COMPARE, ("compare", "baseline"), _file_name),
    (options.JUDGE_MODEL, ("judge", "model"), lambda _, text, __: text),
    (options.CONCURRENCY, ("judge", "concurrency"), _whole),
    (options.CONCURRENCY, ("embedding", "concurrency"), _whole),
    (options.TARGET_CONCURRENCY, ("target", "concurrency"), _whole),
    (options.LIMIT, ("dataset", "limit"), _whole),
)
"""Options for one value of a scenario: the path of the value, and how its text is read."""
_OVERRIDING = {option for option, _, _ in _ONE_VALUE} | {
    options.METRIC_WEIGHT,
    options.DOC_WEIGHT,
    options.THRESHOLD,
    options.GATE,
    options.COMPARE_FAIL,
    options.FAIL_UNDER,
    options.LABELS,
    options.SET,
}
_ONLY_PRESENT = {path for _, path, _ in _ONE_VALUE if path[1] == "concurrency"}
"""Values that an option changes only in scenarios that have this section."""
