"""What an option is, and how its text, its variable or its ini value becomes a value.

Each reader raises pytest.UsageError for a text that has no such value. The layers below are
imported in the functions: every start of pytest loads this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import pytest

from pytest_rageval.plugin.names import WHOLE_PREFIXES, item_name, matching
from pytest_rageval.run_paths import is_path

if TYPE_CHECKING:
    from pytest_rageval.engine.planning.where import Condition
    from pytest_rageval.scenario.overrides import Override
    from pytest_rageval.shards.part import Part

T = TypeVar("T")

SEVERAL = "..."
_ANSWER_SUFFIXES = (".jsonl", ".json", ".csv")
# The words that pytest itself takes in an ini file.
_TRUE_WORDS = ("1", "true", "yes", "on", "y", "t")
_FALSE_WORDS = ("0", "false", "no", "off", "n", "f")


@dataclass(frozen=True, slots=True)
class Entry:
    """A text that the user gave, and the option, variable or ini value that it is of."""

    source: str
    text: str
    folder: Path
    """Where a relative path starts."""
    root: Path
    """The rootdir."""

    def __str__(self) -> str:
        from pytest_rageval.redaction import without_credentials

        return f"{self.source} {without_credentials(self.text)}"

    def refused(self, message: str) -> pytest.UsageError:
        """Return the error that says what is wrong with it."""
        return pytest.UsageError(f"{self.source} {self.text}: {message}")

    def parsed(self, parse: Callable[[str, str], T]) -> T:
        """Return what a parser of the layers below makes of it."""
        from pytest_rageval.errors import OptionError

        try:
            return parse(self.source, self.text)
        except OptionError as error:
            raise pytest.UsageError(str(error)) from error

    @property
    def path(self) -> Path:
        """The text as a path, without ``..``; a relative one starts in ``folder``."""
        return Path(os.path.normpath(self.folder / self.text))


def words(given: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield the words of a command line, and of the files that it names as ``@file``.

    Files have an argument a line, as pytest reads them. A pipe is left out: pytest has read it.
    """
    for word in map(str, given):
        if not word.startswith("@"):
            yield word
            continue
        with suppress(OSError):
            if (path := folder / word[1:]).is_file():
                yield from words(path.read_text("utf-8", "replace").splitlines(), folder)


Touched = Literal[
    "how", "cases", "samples", "scores", "scenario", "gates", "baseline", "answers", "files"
]
"""What an option touches.

In this order: how a run goes; which scenarios are in it; which samples; what scores are made of or
compared with; anything of the scenario; whether the run is green; a saved run; the file of answers;
what is written once for a run.
"""


@dataclass(frozen=True)
class Option(Generic[T]):
    """A command-line option; the environment variable ``RAGEVAL_<name>`` is its default.

    ``read`` turns its text into a value. One whose ``metavar`` ends in ``...`` may be repeated, and
    takes several values from the environment, separated by ``;``. Without ``metavar``: a flag.
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
        """Return the flag if the command line has it, else the environment variable."""
        return self.variable if self._is_absent(config) else self.flag

    def is_typed(self, config: pytest.Config) -> bool:
        """Return whether the command line, or an ``@file`` there, has the option; not addopts."""
        typed = words(config.invocation_params.args, config.invocation_params.dir)
        return any(text == self.flag or text.startswith(f"{self.flag}=") for text in typed)

    def _is_absent(self, config: pytest.Config) -> bool:
        return config.getoption(self.dest) in (None, [], False)

    def is_given(self, config: pytest.Config) -> bool:
        """Return whether the command line or the environment has it."""
        return bool(self.texts(config))

    def entries(self, config: pytest.Config) -> list[Entry]:
        """Return what the command line has, else the environment, else the ini file; else [].

        Raises UsageError for an empty text: probably a variable of a CI script is not set, and no
        gate may silently disappear with it. An empty ini value counts as none.
        """
        here, root, source = config.invocation_params.dir, config.rootpath, self.source(config)
        texts = [Entry(source, text, here, root) for text in self.texts(config)]
        ini = config.getini(self.ini) if self.ini and not texts else ""
        return [Entry(self.ini, ini, root, root)] if ini else texts

    def values(self, config: pytest.Config) -> list[T]:
        """Return the values that the user gave; raises UsageError for a text that has none."""
        return [self.read(entry) for entry in self.entries(config)]

    def value(self, config: pytest.Config) -> T | None:
        """Return the value of an option that takes one, None if it was not given."""
        return next(iter(self.values(config)), None)

    @property
    def _expected(self) -> str:
        return (self.metavar or "true or false").removesuffix(SEVERAL)

    def texts(self, config: pytest.Config) -> list[str]:
        """Return the texts of the command line, else of the environment, never of the ini file.

        Raises UsageError for an empty one.
        """
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
    """An option that changes values of the scenarios, applied in the order of ALL_OPTIONS."""

    def overrides(self, config: pytest.Config) -> list[Override]:
        """Return what it changes; raises UsageError for a text that has no value."""
        return [override for several in self.values(config) for override in several]


@dataclass(frozen=True)
class Command:
    """An option for what runs no tests; ``alone`` is what it means without a value.

    Commands have no variable: one that is left over in CI would keep every run from judging.
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


def as_text(entry: Entry) -> str:
    """Return the text as it is."""
    return entry.text


def as_path(entry: Entry) -> Path:
    """Return a path."""
    return entry.path


def as_entry(entry: Entry) -> Entry:
    """Return the text with its source, for later messages."""
    return entry


def whole(entry: Entry) -> int:
    """Return a whole number."""
    try:
        return int(entry.text)
    except ValueError:
        raise entry.refused("expected a whole number") from None


def dollars(entry: Entry) -> float:
    """Return an amount of US dollars, 0 at least."""
    try:
        amount = float(entry.text)
    except ValueError:
        amount = -1.0
    if not 0.0 <= amount < float("inf"):
        raise entry.refused("expected US dollars, for instance 0.50")
    return amount


def runs_to_keep(entry: Entry) -> int:
    """Return a number of runs, 1 at least."""
    if not (entry.text.isascii() and entry.text.isdigit() and int(entry.text)):
        raise entry.refused("expected how many runs to keep, 1 at least")
    return int(entry.text)


def true_or_false(entry: Entry) -> bool:
    """Return what an option without a value, or its variable, says."""
    word = entry.text.strip().lower()
    if word not in (*_TRUE_WORDS, *_FALSE_WORDS):
        raise no_boolean(entry.source, entry.text)
    return word in _TRUE_WORDS


def no_boolean(source: str, text: str) -> pytest.UsageError:
    """Return the error for what is neither true nor false."""
    yes, no = ", ".join(_TRUE_WORDS), ", ".join(_FALSE_WORDS)
    return pytest.UsageError(f"{source}: expected true ({yes}) or false ({no}), found {text!r}")


def cache_mode(entry: Entry) -> str:
    """Return a mode of the cache."""
    from pytest_rageval.clients.settings import CACHE_MODES

    if entry.text not in CACHE_MODES:
        raise entry.refused(f"expected one of {', '.join(CACHE_MODES)}")
    return entry.text


def answer_file(entry: Entry) -> Path:
    """Return the file for the answers."""
    path = entry.path
    if path.suffix.lower() not in _ANSWER_SUFFIXES:
        raise entry.refused(f"expected a file ending in {', '.join(_ANSWER_SUFFIXES)}")
    if path.is_dir():
        raise entry.refused("is a folder")
    return path


def run_name(entry: Entry) -> str:
    """Return the name of a saved run, or its path.

    A path below the rootdir is made relative to it, as all paths that a run shows and stores.
    """
    if not is_path(entry.text):
        if not any(character.isalnum() for character in entry.text):
            raise entry.refused("expected a name, or the path of a .json file")
        return entry.text
    path = entry.path
    if path.is_relative_to(entry.root):
        relative = path.relative_to(entry.root).as_posix()
        # "main", without a folder, would be a name.
        return relative if is_path(relative) else str(path)
    return str(path)


def part(entry: Entry) -> Part:
    """Return which part of the cases a shard runs."""
    from pytest_rageval.shards.part import Part

    try:
        return Part.parse(entry.text)
    except ValueError:
        raise entry.refused("expected I/N with I from 1 to N, for instance 2/5") from None


def condition(entry: Entry) -> Condition:
    """Return what samples must meet to run."""
    from pytest_rageval.engine.planning.where import parse_condition

    return entry.parsed(parse_condition)


def scenario_files(entry: Entry) -> list[tuple[Path, str]]:
    """Return the files that match a name or pattern, each with its ``::ID`` or ""."""
    name, separator, sample_id = entry.text.partition("::")
    files = [Path(os.path.normpath(entry.folder / file)) for file in matching(name, entry.folder)]
    where = f"{entry.source}: {name}"
    if not files:
        raise pytest.UsageError(f"{where}: no file matches it in {entry.folder}")
    for path in files:
        if not path.is_file():
            what = "is a folder, not a scenario file" if path.is_dir() else "no such file"
            raise pytest.UsageError(f"{where}: {what}")
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
    from pytest_rageval.errors import UserError
    from pytest_rageval.scenario.loader import variants_in

    try:
        return variants_in(path)
    except UserError:
        return ()


Overrides = Callable[[Entry], "list[Override]"]
"""Returns what an option changes in each scenario."""


def value_at(path: str, read: Callable[[Entry], object] = as_text) -> Overrides:
    """Return the reader of an option for the value at ``path`` of a scenario."""
    return lambda entry: [_override(path, read, entry)]


def calls_of(*sections: str) -> Overrides:
    """Return the reader of a number of calls in flight, for the sections that a scenario has."""
    paths = [f"{section}.concurrency" for section in sections]
    return lambda entry: [_override(path, whole, entry, only_present=True) for path in paths]


def _override(
    path: str, read: Callable[[Entry], object], entry: Entry, *, only_present: bool = False
) -> Override:
    from pytest_rageval.scenario.overrides import Override

    flag = f"{entry.source} {entry.text}"
    return Override(tuple(path.split(".")), read(entry), flag, only_present=only_present)


def number_in(section: str) -> Overrides:
    """Return the reader of ``NAME=NUMBER`` for a section of a scenario."""
    return parsed_by("number_override", section)


def parsed_by(name: str, *arguments: str) -> Overrides:
    """Return the reader with the parser ``name`` of ``pytest_rageval.scenario.overrides``.

    With ``arguments``, that is a function which returns the parser for them.
    """

    def read(entry: Entry) -> list[Override]:
        parser = getattr(import_module("pytest_rageval.scenario.overrides"), name)
        return [entry.parsed(parser(*arguments) if arguments else parser)]

    return read
