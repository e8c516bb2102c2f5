"""The plugin's options, and one Settings value from command line > environment > ini file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.places import Places, is_path
from pytest_rageval.plugin.names import item_name

if TYPE_CHECKING:
    from pytest_rageval.scenario.overrides import Override

DEFAULT_PATTERNS = ("*.rageval.yaml", "*.rageval.yml")
_ANSWER_SUFFIXES = (".jsonl", ".json", ".csv")
_TRUE_WORDS = ("1", "true", "yes", "on")


@dataclass(frozen=True)
class Option:
    """A command-line option; ``RAGEVAL_<name>`` in the environment stands in for it.

    A repeatable option takes several values from the environment, separated by ``;``.
    """

    name: str
    metavar: str | None
    help: str
    repeatable: bool = False

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        return f"--rag-{self.name}"

    @property
    def dest(self) -> str:
        """The attribute of ``config.option`` that holds it."""
        return f"rag_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment variable that stands in for it."""
        return f"RAGEVAL_{self.name.replace('-', '_').upper()}"

    def values(self, config: pytest.Config) -> list[str]:
        """Return what the user gave, [] when nothing."""
        given = config.getoption(self.dest)
        if given == "" or (isinstance(given, list) and "" in given):
            # As likely as not an unset variable of a CI script: a gate must not vanish with it.
            raise pytest.UsageError(f"{self.flag}: expected {self.metavar}, found nothing")
        if given in (None, [], False):
            text = os.environ.get(self.variable, "")
            given = [part.strip() for part in text.split(";")] if self.repeatable else [text]
        return [str(value) for value in (given if isinstance(given, list) else [given]) if value]


SCENARIO = Option("scenario", "FILE[::ID]", "run this scenario (repeatable)", True)
METRIC_WEIGHT = Option("metric-weight", "M=W", "weight of a metric (repeatable)", True)
DOC_WEIGHT = Option("doc-weight", "D=W", "weight of a document's samples (repeatable)", True)
THRESHOLD = Option("threshold", "M=X", "least score of a sample (repeatable)", True)
GATE = Option("gate", "M=X", "bound of a gate, as f1=0.5 or pass_rate=0.9 (repeatable)", True)
SET = Option(
    "set", "PATH=VALUE", "any value of the scenario, as dataset.limit=10 (repeatable)", True
)
LIMIT = Option("limit", "N", "use the first N rows only; -1 for all")
OUTPUT = Option("output", "DIR", "base folder of the run folders")
SAVE = Option("save", "NAME", "save this run as a baseline (a name, or the path of a .json file)")
SAVE_ANSWERS = Option(
    "save-answers", "FILE", "write the answers as a data set for offline runs: .jsonl .json .csv"
)
COMPARE = Option("compare", "NAME", "compare with a saved run")
COMPARE_FAIL = Option(
    "compare-fail",
    "METRIC:DROP",
    "fail when a metric fell by more than DROP (0.02, 5%%) and more than chance; "
    "METRIC:DROP:any to fail whatever chance may have done (repeatable)",
    True,
)
FAIL_UNDER = Option("fail-under", "X", "fail when the mean weighted score is below X")
CONCURRENCY = Option("concurrency", "N", "calls in flight to a judge, over all workers")
TARGET_CONCURRENCY = Option(
    "target-concurrency", "N", "questions in work by the system under test, over all workers"
)
CACHE = Option(
    "cache", "MODE", "cache of replies and answers: off, read, readwrite (default), refresh, replay"
)
CACHE_DIR = Option("cache-dir", "DIR", "folder of the reply cache")
JUDGE_MODEL = Option("judge-model", "NAME", "the model (or profile) that judges")
BUDGET = Option("budget", "USD", "stop asking models when they have cost this much")
REPORT = Option(
    "report", "NAME", "also write this report, for instance html (repeatable, or a,b)", True
)
STRICT = Option("strict", None, "a gate that a partial run leaves undecided fails")

_ALL = (
    SCENARIO,
    METRIC_WEIGHT,
    DOC_WEIGHT,
    THRESHOLD,
    GATE,
    SET,
    LIMIT,
    OUTPUT,
    SAVE,
    SAVE_ANSWERS,
    COMPARE,
    COMPARE_FAIL,
    FAIL_UNDER,
    CONCURRENCY,
    TARGET_CONCURRENCY,
    CACHE,
    CACHE_DIR,
    JUDGE_MODEL,
    BUDGET,
    REPORT,
    STRICT,
)
_OVERRIDING = (
    METRIC_WEIGHT,
    DOC_WEIGHT,
    THRESHOLD,
    GATE,
    SET,
    LIMIT,
    COMPARE,
    COMPARE_FAIL,
    FAIL_UNDER,
    CONCURRENCY,
    TARGET_CONCURRENCY,
    JUDGE_MODEL,
)
_Read = Callable[[Option, str, pytest.Config], object]
"""Reads the text that was given for an option."""


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini values."""
    group = parser.getgroup("rageval", "RAG evaluation (pytest-rageval)")
    for option in _ALL:
        kwargs: dict[str, Any] = {"dest": option.dest, "help": option.help}
        if option.metavar is None:
            kwargs |= {"action": "store_true", "default": None}
        else:
            kwargs |= {"metavar": option.metavar, "default": None}
            kwargs |= {"action": "append"} if option.repeatable else {}
        group.addoption(option.flag, **kwargs)
    _add_commands(group)
    _add_ini_values(parser)


def _add_commands(group: pytest.OptionGroup) -> None:
    """Declare the options that do something else than to test, and end."""
    group.addoption(
        "--rag-init",
        dest="rag_init",
        metavar="DIR",
        nargs="?",
        const=".",
        default=None,
        help="write a scenario to start from into DIR (default: here), and exit",
    )
    group.addoption(
        "--rag-schema",
        dest="rag_schema",
        action="store_true",
        default=False,
        help="print the JSON Schema of a scenario file, and exit",
    )
    group.addoption(
        "--rag-history",
        dest="rag_history",
        metavar="SCENARIO",
        nargs="?",
        const="",
        default=None,
        help="list the runs of a scenario (default: of each) with their means, and exit",
    )


def _add_ini_values(parser: pytest.Parser) -> None:
    patterns = list(DEFAULT_PATTERNS)
    on_github = "step summary and annotations on GitHub Actions"
    parser.addini("rageval_files", "file name patterns of scenarios", "args", patterns)
    parser.addini("rageval_output", "base folder of the run folders, relative to the rootdir")
    parser.addini("rageval_baselines", "folder of the saved runs, relative to the rootdir")
    parser.addini("rageval_cache_dir", "folder of the reply cache, relative to the rootdir")
    parser.addini("rageval_reports", "reports to write as well", "args", [])
    parser.addini("rageval_github", on_github, "bool", default=True)
    parser.addini("rageval_strict", "undecided gates fail", "bool", default=False)


@dataclass(frozen=True)
class Settings:
    """What the options say; nothing below the plugin reads pytest's config.

    ``scenarios`` are absolute paths, with the ``::ID`` where one was given.
    """

    scenarios: tuple[tuple[Path, str], ...]
    patterns: tuple[str, ...]
    places: Places
    strict: bool
    cache_mode: str = "readwrite"
    cache_dir: Path | None = None
    budget_usd: float | None = None
    reports: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Return the settings of this run; raises pytest.UsageError for values that cannot be."""
        return cls(
            scenarios=tuple(_scenario(text, config) for text in SCENARIO.values(config)),
            patterns=tuple(config.getini("rageval_files")),
            places=_places(config),
            strict=_strict(config),
            cache_mode=_cache_mode(config),
            cache_dir=_cache_dir(config),
            budget_usd=_budget(config),
            reports=_reports(config),
        )


def _scenario(text: str, config: pytest.Config) -> tuple[Path, str]:
    name, separator, sample_id = text.partition("::")
    path = Path(os.path.normpath(config.invocation_params.dir / name))
    if not path.is_file():
        what = "is a folder, not a scenario file" if path.is_dir() else "no such file"
        raise pytest.UsageError(f"{SCENARIO.flag}: {name}: {what}")
    return path, separator + (item_name(sample_id) if sample_id else "")


def _places(config: pytest.Config) -> Places:
    baselines = config.getini("rageval_baselines")
    return Places(
        root=config.rootpath,
        output=_output(config),
        baselines=config.rootpath / baselines if baselines else None,
        saving=next((_file_name(SAVE, text, config) for text in SAVE.values(config)), None),
        import_mode=config.getoption("importmode", "prepend"),
        answers=_answers(config),
    )


def _answers(config: pytest.Config) -> Path | None:
    """Return the file for the answers: relative to the working directory."""
    given = SAVE_ANSWERS.values(config)
    if not given:
        return None
    path = Path(os.path.normpath(config.invocation_params.dir / given[0]))
    if path.suffix.lower() not in _ANSWER_SUFFIXES:
        known = ", ".join(_ANSWER_SUFFIXES)
        raise pytest.UsageError(
            f"{SAVE_ANSWERS.flag} {given[0]}: expected a file ending in {known}"
        )
    if path.is_dir():
        raise pytest.UsageError(f"{SAVE_ANSWERS.flag} {given[0]}: is a folder")
    return path


def _cache_mode(config: pytest.Config) -> str:
    given = CACHE.values(config)
    if not given:
        return "readwrite"
    # Not at the top: this module is part of every pytest start, the clients are not.
    from pytest_rageval.clients.settings import CACHE_MODES

    if given[0] not in CACHE_MODES:
        known = ", ".join(CACHE_MODES)
        raise pytest.UsageError(f"{CACHE.flag} {given[0]}: expected one of {known}")
    return given[0]


def _cache_dir(config: pytest.Config) -> Path:
    given = CACHE_DIR.values(config)
    if given:
        return config.invocation_params.dir / given[0]
    ini = config.getini("rageval_cache_dir")
    return config.rootpath / ini if ini else _places(config).run_base(None) / ".cache"


def _budget(config: pytest.Config) -> float | None:
    given = BUDGET.values(config)
    if not given:
        return None
    try:
        budget = float(given[0])
    except ValueError:
        budget = -1.0
    if not 0.0 <= budget < float("inf"):
        raise pytest.UsageError(f"{BUDGET.flag} {given[0]}: expected US dollars, for instance 0.50")
    return budget


def _reports(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the reports that are asked for, on top of those of the ini file."""
    given = [*config.getini("rageval_reports"), *REPORT.values(config)]
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    if not names:
        return ()
    # Not at the top: this module is part of every pytest start, the reports are not.
    from pytest_rageval.registry import UnknownNameError
    from pytest_rageval.reports.base import requested_reports

    try:
        return requested_reports(names)
    except UnknownNameError as error:
        raise pytest.UsageError(f"{REPORT.flag}: {error}") from error


def _file_name(option: Option, name: str, config: pytest.Config) -> str:
    """Return the name of a saved run; a path on the command line is one from where it was typed.

    Below the rootdir it is relative to that, as everything that the run shows and writes down.
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
    """Return the output folder: the option is relative to the working directory, ini to rootdir."""
    given = OUTPUT.values(config)
    if given:
        return config.invocation_params.dir / given[0]
    ini = config.getini("rageval_output")
    return config.rootpath / ini if ini else None


def _strict(config: pytest.Config) -> bool:
    given = STRICT.values(config)
    if given:
        return given[0].lower() in _TRUE_WORDS
    return bool(config.getini("rageval_strict"))


SETTINGS = pytest.StashKey[Settings]()
"""Where the plugin keeps the settings of a run in pytest's config."""


def overrides(config: pytest.Config) -> Sequence[Override]:
    """Return what the command line overrides in scenarios; raises pytest.UsageError."""
    given = {option: option.values(config) for option in _ALL}
    if not any(given[option] for option in _OVERRIDING):
        return ()
    # Not at the top: this module is part of every pytest start, the scenario layer is not.
    from pytest_rageval.errors import OptionError
    from pytest_rageval.scenario.overrides import (
        Override,
        compare_fail_override,
        fail_under_override,
        number_override,
        set_override,
    )

    parsers = {
        METRIC_WEIGHT: number_override("metric_weights"),
        DOC_WEIGHT: number_override("doc_weights"),
        THRESHOLD: number_override("thresholds"),
        GATE: number_override("gates"),
        SET: set_override,
        COMPARE_FAIL: compare_fail_override,
        FAIL_UNDER: fail_under_override,
    }
    try:
        found = [
            parse(option.flag, text) for option, parse in parsers.items() for text in given[option]
        ]
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    for option, path, read in _ONE_VALUE:
        for text in given[option]:
            value, where = read(option, text, config), f"{option.flag} {text}"
            found.append(Override(path, value, where, only_present=path in _ONLY_PRESENT))
    return found


def _whole(option: Option, text: str, _: pytest.Config) -> int:
    try:
        return int(text)
    except ValueError:
        message = f"{option.flag} {text}: expected a whole number"
        raise pytest.UsageError(message) from None


def _as_it_is(_option: Option, text: str, _config: pytest.Config) -> str:
    return text


_ONE_VALUE: tuple[tuple[Option, tuple[str, str], _Read], ...] = (
    (COMPARE, ("compare", "baseline"), _file_name),
    (JUDGE_MODEL, ("judge", "model"), _as_it_is),
    (CONCURRENCY, ("judge", "concurrency"), _whole),
    (CONCURRENCY, ("embedding", "concurrency"), _whole),
    (TARGET_CONCURRENCY, ("target", "concurrency"), _whole),
    (LIMIT, ("dataset", "limit"), _whole),
)
"""Options that stand for one value of a scenario: where it stands, and how it is read."""
_ONLY_PRESENT = {path for _, path, _ in _ONE_VALUE if path[1] == "concurrency"}
"""Places that an option changes only in scenarios that have them."""
