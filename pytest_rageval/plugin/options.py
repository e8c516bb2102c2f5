"""The plugin's options: their names, their help, and how each is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

DEFAULT_PORT = 8760
AGENTS, ULTRARAG = MCP_PROFILES = ("agents", "ultrarag")
DEFAULT_PATTERNS = ("*.rageval.yaml", "*.rageval.yml")


@dataclass(frozen=True)
class Option:
    """A command-line option; the environment variable ``RAGEVAL_<name>`` is its default.

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

    def values(self, config: pytest.Config) -> list[str]:
        """Return the values that the user gave, [] if none; raises UsageError for an empty one.

        Probably a variable of a CI script is not set: no gate may silently disappear with it.
        """
        if self._is_absent(config):
            return self._of_environment()
        given = config.getoption(self.dest)
        texts = [str(value) for value in (given if isinstance(given, list) else [given])]
        if not all(text.strip() for text in texts):
            raise pytest.UsageError(f"{self.flag}: expected {self.metavar}, found nothing")
        return texts

    def _of_environment(self) -> list[str]:
        text = os.environ.get(self.variable)
        if text is None:
            return []
        parts = [part.strip() for part in text.split(";")] if self.repeatable else [text]
        if not all(part.strip() for part in parts):
            where = "" if len(parts) == 1 else " before, after or between ';'"
            raise pytest.UsageError(
                f"{self.variable}: expected {self.metavar or 'true or false'}, found nothing{where}"
                "; give it a value, or unset it"
            )
        return parts


SCENARIO = Option(
    "scenario",
    "FILE[::ID]",
    "run this scenario, or all that match 'eval/**/*.yaml' (repeatable)",
    True,
)
METRIC_WEIGHT = Option("metric-weight", "M=W", "weight of a metric (repeatable)", True)
DOC_WEIGHT = Option("doc-weight", "D=W", "weight of a document's samples (repeatable)", True)
THRESHOLD = Option("threshold", "M=X", "least score of a sample (repeatable)", True)
GATE = Option("gate", "M=X", "bound of a gate, as f1=0.5 or pass_rate=0.9 (repeatable)", True)
SET = Option(
    "set", "PATH=VALUE", "any value of the scenario, as dataset.limit=10 (repeatable)", True
)
WHERE = Option(
    "where",
    "FIELD=VALUE",
    "run only samples whose field is (=), is not (!=) or contains (~) the value (repeatable)",
    True,
)
LIMIT = Option("limit", "N", "use only the first N rows; -1 for all")
OUTPUT = Option("output", "DIR", "base folder of the run folders")
VARIANT = Option("variant", "NAME", "run only this variant of a scenario (repeatable)", True)
SAVE = Option("save", "NAME", "save this run as a baseline (a name, or the path of a .json file)")
SAVE_FAILED = Option(
    "save-failed", "NAME", "save this run as a baseline even if it is red (in place of --rag-save)"
)
SAVE_ANSWERS = Option(
    "save-answers", "FILE", "write the answers as a data set for offline runs: .jsonl .json .csv"
)
COMPARE = Option("compare", "NAME", "compare with a saved run")
COMPARE_FAIL = Option(
    "compare-fail",
    "METRIC:DROP",
    "fail when a metric fell by more than DROP (0.02, 5%%) and more than chance; "
    "METRIC:DROP:any to ignore chance (repeatable)",
    True,
)
FAIL_UNDER = Option("fail-under", "X", "fail when the mean weighted score is below X")
LABELS = Option(
    "labels", "FILE", "labels of people, besides those of human.file (repeatable)", True
)
CONCURRENCY = Option("concurrency", "N", "calls in flight to a judge, over all workers")
TARGET_CONCURRENCY = Option(
    "target-concurrency", "N", "concurrent questions to the system under test, across all workers"
)
CACHE = Option(
    "cache", "MODE", "cache of replies and answers: off, read, readwrite (default), refresh, replay"
)
CACHE_DIR = Option("cache-dir", "DIR", "folder of the reply cache")
JUDGE_MODEL = Option("judge-model", "NAME", "the model (or profile) that judges")
BUDGET = Option("budget", "USD", "stop asking models before the run costs more than this")
REPORT = Option(
    "report", "NAME", "also write this report, for instance html (repeatable, or a,b)", True
)
SHARD = Option(
    "shard", "I/N", "run the I-th of N parts of the cases; --rag-merge decides the gates"
)
KEEP = Option("keep", "N", "keep the newest N runs of each scenario, and remove older ones")
ENGINE = Option(
    "engine", "URL", "compute metrics in other processes: processes://4, dask://host:8786"
)
NO_FAST = Option("no-fast", None, "run each case through all of pytest's hooks (slower)")
STRICT = Option("strict", None, "fail gates that a partial run leaves undecided")

ALL_OPTIONS = tuple(value for value in list(globals().values()) if isinstance(value, Option))


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini values."""
    group = parser.getgroup("rageval", "RAG evaluation (pytest-rageval)")
    for option in ALL_OPTIONS:
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
    """Declare the options that run no tests."""
    group.addoption(
        "--rag-init",
        metavar="DIR",
        nargs="?",
        const=".",
        help="write a scenario to start from into DIR (default: here), and exit",
    )
    group.addoption(
        "--rag-from",
        metavar="FILE",
        help="with --rag-init: write a scenario for the rows of this file",
    )
    group.addoption(
        "--rag-ci",
        metavar="SERVICE",
        help="with --rag-from: also write a workflow that runs the scenario; SERVICE is github",
    )
    group.addoption(
        "--rag-import",
        metavar="FILE",
        help="write a scenario from a promptfoo configuration, beside it, and exit",
    )
    group.addoption(
        "--rag-merge",
        metavar="DIR",
        nargs="+",
        action="extend",
        help="bring the shards in DIR together: decide gates, write the run, and exit (repeatable)",
    )
    group.addoption(
        "--rag-merge-commits",
        action="store_true",
        help="with --rag-merge: also merge shards of different commits",
    )
    group.addoption(
        "--rag-schema",
        action="store_true",
        help="print the JSON Schema of a scenario file, and exit",
    )
    group.addoption(
        "--rag-history",
        metavar="SCENARIO",
        nargs="?",
        const="",
        help="list the runs of a scenario (default: of each) with their means, and exit",
    )
    group.addoption(
        "--rag-label",
        metavar="N",
        nargs="?",
        const="",
        help="draw N answers of each scenario's newest complete run for people to label, and exit",
    )
    # Without a variable: one that is left over in CI would keep every run from judging.
    group.addoption(
        "--rag-dry-run",
        action="store_true",
        help="say what a run would ask, and what that costs; ask nobody, judge nothing, and exit",
    )
    group.addoption(
        "--rag-serve",
        metavar="PORT",
        nargs="?",
        const=str(DEFAULT_PORT),
        help=f"open the web app on this machine (default: port {DEFAULT_PORT}; 0 for any free one)",
    )
    group.addoption(
        "--rag-mcp",
        metavar="PROFILE",
        nargs="?",
        const=AGENTS,
        help="serve tools over MCP on stdin and stdout: agents (default), or ultrarag for "
        "UltraRAG's evaluation tools",
    )


def _add_ini_values(parser: pytest.Parser) -> None:
    patterns = list(DEFAULT_PATTERNS)
    on_github = "step summary and annotations on GitHub Actions"
    parser.addini("rageval_files", "file name patterns of scenarios", "args", patterns)
    parser.addini("rageval_output", "base folder of the run folders, relative to the rootdir")
    parser.addini("rageval_baselines", "folder of the saved runs, relative to the rootdir")
    parser.addini("rageval_cache_dir", "folder of the reply cache, relative to the rootdir")
    parser.addini(
        "rageval_engine", "other processes that compute metrics, for instance processes://4"
    )
    parser.addini(
        "rageval_fast", "cases that need nothing of pytest take a short way", "bool", default=True
    )
    parser.addini("rageval_keep", "how many runs of each scenario are kept (default: all)")
    parser.addini("rageval_reports", "reports to write as well", "args", [])
    parser.addini("rageval_github", on_github, "bool", default=True)
    parser.addini("rageval_strict", "undecided gates fail", "bool", default=False)
