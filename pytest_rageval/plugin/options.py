"""The plugin's options, one row each: name, value, reader, help, and what the option touches.

Help, environment, ini values, settings, overrides, refusals and the docs' table follow the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import pytest

from pytest_rageval.plugin.option_values import (
    Entry,
    answer_file,
    as_entry,
    as_path,
    as_text,
    cache_mode,
    calls_of,
    condition,
    dollars,
    number_in,
    parsed_by,
    part,
    run_name,
    runs_to_keep,
    scenario_files,
    true_or_false,
    value_at,
    whole,
)

if TYPE_CHECKING:
    from pytest_rageval.scenario.overrides import Override

T = TypeVar("T")

DEFAULT_PORT = 8760
AGENTS, ULTRARAG = MCP_PROFILES = ("agents", "ultrarag")
DEFAULT_PATTERNS = ("*.rageval.yaml", "*.rageval.yml")

SEVERAL = "..."

Touched = Literal[
    "how", "cases", "samples", "scores", "scenario", "gates", "baseline", "answers", "files"
]
"""What an option touches.

How a run goes; which scenarios and samples are in it; what scores are made of; anything of the
scenario; whether it is green; a saved run; the file of answers; what is written once for a run.
"""


@dataclass(frozen=True)
class Option(Generic[T]):
    """A command-line option; the environment variable ``RAGEVAL_<name>`` is its default.

    ``read`` turns its text into a value. One whose ``metavar`` ends in ``...`` may be repeated, and
    takes several values from the environment, separated by ``;``.
    """

    name: str
    metavar: str | None
    read: Callable[[Entry], T]
    help: str
    touches: Touched = "how"
    ini: str = ""
    """The ini value that stands in for it, with paths relative to the rootdir."""

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
        """The environment variable that is its default."""
        return f"RAGEVAL_{self.name.replace('-', '_').upper()}"

    def source(self, config: pytest.Config) -> str:
        """Return where the value comes from: the flag, or the environment variable."""
        return self.variable if self._is_absent(config) else self.flag

    def is_typed(self, config: pytest.Config) -> bool:
        """Return whether the option is on the command line itself, not in addopts."""
        typed = config.invocation_params.args
        return any(text == self.flag or text.startswith(f"{self.flag}=") for text in typed)

    def _is_absent(self, config: pytest.Config) -> bool:
        return config.getoption(self.dest) in (None, [], False)

    def is_given(self, config: pytest.Config) -> bool:
        """Return whether the command line or the environment has it."""
        return bool(self.texts(config))

    def entries(self, config: pytest.Config) -> list[Entry]:
        """Return what the user gave, [] if nothing; raises UsageError for an empty text.

        Probably a variable of a CI script is not set: no gate may silently disappear with it.
        """
        here, root, source = config.invocation_params.dir, config.rootpath, self.source(config)
        texts = [Entry(source, text, here, root) for text in self.texts(config)]
        ini = config.getini(self.ini) if self.ini and not texts else ""
        return [Entry(self.ini, ini, root, root)] if ini else texts

    def values(self, config: pytest.Config) -> list[T]:
        """Return the values that the user gave; raises UsageError for what is none."""
        return [self.read(entry) for entry in self.entries(config)]

    def value(self, config: pytest.Config) -> T | None:
        """Return the value of an option that has one, None if it was not given."""
        return next(iter(self.values(config)), None)

    @property
    def _expected(self) -> str:
        return (self.metavar or "true or false").removesuffix(SEVERAL)

    def texts(self, config: pytest.Config) -> list[str]:
        """Return the texts that the user gave; raises UsageError for an empty one."""
        if self._is_absent(config):
            return self._of_environment()
        typed = config.getoption(self.dest)
        texts = [str(value) for value in (typed if isinstance(typed, list) else [typed])]
        if not all(text.strip() for text in texts):
            raise pytest.UsageError(f"{self.flag}: expected {self._expected}, found nothing")
        return texts

    def _of_environment(self) -> list[str]:
        text = os.environ.get(self.variable)
        if text is None:
            return []
        is_several = self.metavar is not None and self.metavar.endswith(SEVERAL)
        parts = [part.strip() for part in text.split(";")] if is_several else [text]
        if not all(part.strip() for part in parts):
            where = "" if len(parts) == 1 else " before, after or between ';'"
            raise pytest.UsageError(
                f"{self.variable}: expected {self._expected}, found nothing{where}"
                "; give it a value, or unset it"
            )
        return parts


class Overriding(Option["list[Override]"]):
    """An option that changes values of the scenarios. The rows are applied in their order."""

    def overrides(self, config: pytest.Config) -> list[Override]:
        """Return what it changes; raises UsageError for a text that is no value."""
        return [override for several in self.values(config) for override in several]


SCENARIO = Option(
    "scenario",
    "FILE[::ID]...",
    scenario_files,
    "run this scenario, or one sample of it; 'eval/**/*.yaml' in quotes: all such files",
    "cases",
)
METRIC_WEIGHT = Overriding(
    "metric-weight", "M=W...", number_in("metric_weights"), "weight of a metric", "scores"
)
DOC_WEIGHT = Overriding(
    "doc-weight", "D=W...", number_in("doc_weights"), "weight of a document's samples", "scores"
)
THRESHOLD = Overriding(
    "threshold",
    "M=X...",
    number_in("thresholds"),
    "least score of a sample, for a metric or weighted_score",
    "scores",
)
GATE = Overriding(
    "gate",
    "M=X...",
    number_in("gates"),
    "bound of a gate: f1=0.5, pass_rate=0.9, by.doc_name.f1=0.4",
    "gates",
)
_FALL = (
    "fail when a metric fell by more than DROP (0.02, 5%%), and significantly; "
    "METRIC:DROP:MODE for another mode of no_regression"
)
COMPARE_FAIL = Overriding(
    "compare-fail", "METRIC:DROP...", parsed_by("compare_fail_override"), _FALL, "gates"
)
FAIL_UNDER = Overriding(
    "fail-under",
    "X",
    parsed_by("fail_under_override"),
    "fail when the mean weighted score is below X, besides the scenario's own gates",
    "gates",
)
SET = Overriding(
    "set",
    "PATH=VALUE...",
    parsed_by("set_override"),
    "any value of the scenario, read as YAML: dataset.limit=10; null takes it away",
    "scenario",
)


COMPARE = Overriding(
    "compare",
    "NAME...",
    value_at("compare.baseline", run_name),
    "compare with a saved run: its name, or a path",
    "scores",
)
JUDGE_MODEL = Overriding(
    "judge-model",
    "NAME",
    value_at("judge.model"),
    "the model, or the profile of 'models', that judges",
    "scenario",
)
CONCURRENCY = Overriding(
    "concurrency",
    "N",
    calls_of("judge", "embedding"),
    "calls in flight to judge and embedding model, over all workers",
)
TARGET_CONCURRENCY = Overriding(
    "target-concurrency",
    "N",
    calls_of("target"),
    "questions in flight to the system under test, over all workers",
)
LIMIT = Overriding(
    "limit",
    "N",
    value_at("dataset.limit", whole),
    "use only the first N rows; -1 for all",
    "samples",
)
SAMPLE = Overriding(
    "sample",
    "N",
    value_at("sample.n", whole),
    "ask N rows, drawn at random; the saved run estimates the others",
    "samples",
)
LABELS = Option(
    "labels", "FILE...", as_path, "labels of people, besides those of 'human'", "scores"
)
WHERE = Option(
    "where",
    "FIELD=VALUE...",
    condition,
    "run only samples whose field is (=), is not (!=) or contains (~) the value",
    "samples",
)
VARIANT = Option(
    "variant",
    "NAME...",
    as_text,
    "run only this variant of a scenario; also a,b and patterns such as 'short-*'",
    "samples",
)
OUTPUT = Option("output", "DIR", as_path, "base folder of the run folders", ini="rageval_output")
SAVE = Option(
    "save",
    "NAME",
    run_name,
    "save this run as a baseline, if it is complete and green: a name, or a .json file",
    "baseline",
)
SAVE_FAILED = Option(
    "save-failed", "NAME", run_name, "in place of --rag-save: even if the run is red", "baseline"
)
SAVE_ANSWERS = Option(
    "save-answers",
    "FILE",
    answer_file,
    "write the rows with the target's answers as a data set: .jsonl, .json or .csv",
    "answers",
)
CACHE = Option(
    "cache",
    "MODE",
    cache_mode,
    "stored replies, vectors and answers: readwrite (default), read, refresh, replay, off",
)
CACHE_DIR = Option(
    "cache-dir",
    "DIR",
    as_path,
    "folder of the stored replies; when absent .cache in the base folder",
    ini="rageval_cache_dir",
)
BUDGET = Option(
    "budget", "USD", dollars, "stop asking models before the whole run costs more than this: 0.50"
)
REPORT = Option(
    "report", "NAME...", as_text, "also write this report: html, badge, dbgpt; also a,b", "files"
)
KEEP = Option(
    "keep",
    "N",
    runs_to_keep,
    "after writing a run keep the newest N of its scenario, remove older ones",
    "files",
    "rageval_keep",
)
ENGINE = Option(
    "engine",
    "URL",
    as_entry,
    "compute metrics in other processes: processes://4, dask://host:8786",
    ini="rageval_engine",
)
NO_FAST = Option(
    "no-fast",
    None,
    true_or_false,
    "every case goes through all of pytest's hooks: slower, with the same results",
)
STRICT = Option(
    "strict",
    None,
    true_or_false,
    "fail gates that are not decided, and judges that fail their control rows",
    "gates",
)
SHARD = Option(
    "shard", "I/N", part, "run the I-th of N parts of the cases, for --rag-merge to judge"
)

ALL_OPTIONS: tuple[Option[Any], ...] = tuple(
    row for row in list(globals().values()) if isinstance(row, Option)
)


@dataclass(frozen=True)
class Command:
    """An option for what runs no tests; ``alone`` is what it means without a value.

    None has a variable: one that is left over in CI would keep every run from judging.
    """

    name: str
    metavar: str | None
    help: str
    alone: str | None = None
    beside: str | None = None
    """The command that it goes with."""

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        return f"--rag-{self.name}"

    def is_given(self, config: pytest.Config) -> bool:
        """Return whether the user gave it."""
        return config.getoption(f"rag_{self.name.replace('-', '_')}") not in (None, False)


COMMANDS = (
    Command(
        "merge", "DIR...", "bring together the shards in DIR, decide gates, write the run, and exit"
    ),
    Command(
        "init", "DIR", "write a scenario to start from into DIR (default: here), and exit", "."
    ),
    Command(
        "import",
        "FILE",
        "write a scenario and its rows from a promptfoo configuration, beside it, and exit",
    ),
    Command("schema", None, "print the JSON Schema of a scenario file, and exit"),
    Command(
        "history",
        "SCENARIO",
        "list the runs of a scenario (default: of each, the ten newest), and exit",
        "",
    ),
    Command(
        "label",
        "N",
        "draw N answers of the newest complete run of each scenario to label, or N made questions "
        "to review, and exit",
        "",
    ),
    Command(
        "dry-run", None, "say what a run would ask, and what that costs; ask nobody, run no test"
    ),
    Command(
        "serve",
        "PORT",
        f"open the web app on this machine (default: port {DEFAULT_PORT}; 0: any free one)",
        str(DEFAULT_PORT),
    ),
    Command(
        "mcp",
        "PROFILE",
        "serve tools over MCP on stdin and stdout: agents (default) or ultrarag",
        AGENTS,
    ),
)
"""What a run of pytest does in place of running tests: one of them."""
WITH_COMMANDS = (
    Command("from", "FILE", "with --rag-init: write a scenario for the rows of this file"),
    Command(
        "questions",
        "N",
        "with --rag-from: have a model write N questions about the documents there, and check them",
        beside="from",
    ),
    Command(
        "questions-model",
        "NAME",
        "with --rag-questions: the model that writes them, if not the judge, which checks them",
        beside="questions",
    ),
    Command(
        "nuggets",
        None,
        "with --rag-from: have a model list what an answer to each question has to say",
        beside="from",
    ),
    Command(
        "ci",
        "SERVICE",
        "with --rag-from: also write a workflow of this service: github",
        beside="from",
    ),
    Command(
        "merge-commits",
        None,
        "with --rag-merge: also merge shards of different commits or runs of CI",
        beside="merge",
    ),
)


def touching(*kinds: Touched) -> list[Option[Any]]:
    """Return the options that touch these."""
    return [option for option in ALL_OPTIONS if option.touches in kinds]


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini values."""
    group = parser.getgroup("rageval", "RAG evaluation (pytest-rageval)")
    for option in ALL_OPTIONS:
        _declare(group, option, {"action": "append"})
    for command in (*COMMANDS, *WITH_COMMANDS):
        _declare(group, command, {"action": "extend", "nargs": "+"}, command.alone)
    _add_ini_values(parser)


def _declare(
    group: pytest.OptionGroup,
    row: Option[Any] | Command,
    several: dict[str, Any],
    alone: str | None = None,
) -> None:
    how: dict[str, Any] = {"action": "store_true"}
    if row.metavar is not None:
        how = {"metavar": row.metavar.removesuffix(SEVERAL)}
    if alone is not None:
        how |= {"nargs": "?", "const": alone}
    help_text = row.help
    if row.metavar is not None and row.metavar.endswith(SEVERAL):
        how, help_text = how | several, f"{row.help} (repeatable)"
    group.addoption(row.flag, default=None, help=help_text, **how)


def _add_ini_values(parser: pytest.Parser) -> None:
    for option in ALL_OPTIONS:
        if option.ini:
            parser.addini(option.ini, f"as {option.flag}: {option.help}")
    patterns = list(DEFAULT_PATTERNS)
    parser.addini("rageval_files", "file name patterns of scenarios", "args", patterns)
    parser.addini("rageval_baselines", "folder of the saved runs, for baselines that are committed")
    parser.addini("rageval_reports", "reports to write as well, as --rag-report", "args", [])
    short_way = "cases that need nothing of pytest take a short way, unlike with --rag-no-fast"
    parser.addini("rageval_fast", short_way, "bool", default=True)
    on_github = "on GitHub Actions, append to the step summary and annotate what failed"
    parser.addini("rageval_github", on_github, "bool", default=True)
    parser.addini("rageval_strict", "as --rag-strict", "bool", default=False)
