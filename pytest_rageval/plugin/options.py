"""The plugin's options, and one Settings value from command line > environment > ini file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.plugin.names import item_name

if TYPE_CHECKING:
    from pytest_rageval.scenario.overrides import Override

DEFAULT_PATTERNS = ("*.rageval.yaml", "*.rageval.yml")
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
STRICT = Option("strict", None, "a gate that a partial run leaves undecided fails")

_ALL = (SCENARIO, METRIC_WEIGHT, DOC_WEIGHT, THRESHOLD, GATE, SET, LIMIT, OUTPUT, STRICT)


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
    parser.addini(
        "rageval_files",
        "file name patterns of scenarios",
        type="args",
        default=list(DEFAULT_PATTERNS),
    )
    parser.addini("rageval_output", "base folder of the run folders, relative to the rootdir")
    parser.addini("rageval_strict", "undecided gates fail", type="bool", default=False)


@dataclass(frozen=True)
class Settings:
    """What the options say; nothing below the plugin reads pytest's config.

    ``scenarios`` are absolute paths, with the ``::ID`` where one was given.
    """

    scenarios: tuple[tuple[Path, str], ...]
    patterns: tuple[str, ...]
    output: Path | None
    strict: bool

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Return the settings of this run; raises pytest.UsageError for values that cannot be."""
        return cls(
            scenarios=tuple(_scenario(text, config) for text in SCENARIO.values(config)),
            patterns=tuple(config.getini("rageval_files")),
            output=_output(config),
            strict=_strict(config),
        )


def _scenario(text: str, config: pytest.Config) -> tuple[Path, str]:
    name, separator, sample_id = text.partition("::")
    path = Path(os.path.normpath(config.invocation_params.dir / name))
    if not path.is_file():
        what = "is a folder, not a scenario file" if path.is_dir() else "no such file"
        raise pytest.UsageError(f"{SCENARIO.flag}: {name}: {what}")
    return path, separator + (item_name(sample_id) if sample_id else "")


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


def overrides(config: pytest.Config) -> Sequence[Override]:
    """Return what the command line overrides in scenarios; raises pytest.UsageError."""
    given = {option: option.values(config) for option in _ALL}
    if not any(
        given[option] for option in (METRIC_WEIGHT, DOC_WEIGHT, THRESHOLD, GATE, SET, LIMIT)
    ):
        return ()
    # Not at the top: this module is part of every pytest start, the scenario layer is not.
    from pytest_rageval.errors import OptionError
    from pytest_rageval.scenario.overrides import Override, number_override, set_override

    sections = {
        METRIC_WEIGHT: number_override("metric_weights"),
        DOC_WEIGHT: number_override("doc_weights"),
        THRESHOLD: number_override("thresholds"),
        GATE: number_override("gates"),
        SET: set_override,
    }
    found: list[Override] = []
    try:
        for option, parse in sections.items():
            found += [parse(option.flag, text) for text in given[option]]
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    for text in given[LIMIT]:
        try:
            limit = int(text)
        except ValueError:
            message = f"{LIMIT.flag} {text}: expected a whole number"
            raise pytest.UsageError(message) from None
        found.append(Override(("dataset", "limit"), limit, f"{LIMIT.flag} {text}"))
    return found
