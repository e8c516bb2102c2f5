"""The plugin's options, one row each: name, value, reader, help, and what the option touches.

Help, environment, ini values, settings, overrides, refusals and the docs' table are made of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.plugin.option_values import (
    SEVERAL,
    Command,
    Option,
    Overriding,
    Touched,
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

DEFAULT_PORT = 8760
AGENTS, ULTRARAG = MCP_PROFILES = ("agents", "ultrarag")
DEFAULT_PATTERNS = ("*.rageval.yaml", "*.rageval.yml")

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
    "fail gates that are not decided, and judges that do not pass their control rows",
    "gates",
)
SHARD = Option(
    "shard", "I/N", part, "run the I-th of N parts of the cases, for --rag-merge to judge"
)

ALL_OPTIONS: tuple[Option[Any], ...] = tuple(
    row for row in list(globals().values()) if isinstance(row, Option)
)
"""In the order of the rows, in which overrides are applied: of two for one key, the later wins."""

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
"""What a call of pytest can do in place of running tests: one of these."""

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
"""Options that say more about a command, and are refused without it."""


def touching(*kinds: Touched) -> list[Option[Any]]:
    """Return the options, without commands, that touch one of these."""
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
    """Declare an option; ``several`` is how argparse reads one that may have several values.

    ``alone`` is its value where it is typed without one; None: it needs one, or takes none.
    """
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
