"""The command line of a run, written anew for what is to be run next."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import pytest

from pytest_rageval.plugin.options import ALL_OPTIONS, SCENARIO, SET
from pytest_rageval.redaction import HIDDEN, shown_option, shown_url, sounds_secret
from pytest_rageval.text.printable import printable

Step = Literal["failed", "stopped", "whole", "check", "answers", "page"]
"""What is to be run next.

What failed; that first, then the rest; every sample; a dry run; with a system that answers; the
same with a page.
"""

_ADDED: Final[dict[Step, tuple[str, ...]]] = {
    "failed": ("--lf",),
    "stopped": ("--ff",),
    "whole": (),
    "check": ("--rag-dry-run",),
    "answers": ("--rag-set=target=MODULE:FUNCTION",),
    "page": ("--rag-report=html",),
}
_LAST: Final = ("--lf", "--last-failed", "--ff", "--failed-first", "--cache-clear")
_STEPWISE: Final = ("--sw", "--stepwise", "--sw-skip", "--stepwise-skip")
# A run in part saves nothing, must not take the place of a whole one, and may leave undecided.
_WHOLE_ONLY: Final = (
    "--rag-keep",
    "--rag-save",
    "--rag-save-failed",
    "--rag-save-answers",
    "--rag-strict",
)
_CHOOSING: Final = ("-k", "-m", "--deselect", "--rag-where", "--rag-limit", "--rag-variant")
_DROPPED: Final[dict[Step, tuple[str, ...]]] = {
    "failed": (*_LAST, *_STEPWISE, *_WHOLE_ONLY),
    "stopped": (*_LAST, *_STEPWISE),
    "whole": (*_LAST, *_STEPWISE, *_CHOOSING),
    "check": ("--rag-dry-run", "--rag-label"),
    "answers": ("--rag-dry-run", "--rag-label"),
    "page": (*_LAST, *_STEPWISE),
}
_WITHOUT_VALUE: Final = (*_LAST, *_STEPWISE, "--rag-strict", "--rag-dry-run")
_INI: Final = ("-o", "--override-ini")
_JOINED: Final = re.compile(r"(?P<first>-[qvsxl]+)(?P<last>[km])(?P<value>.*)", re.DOTALL)
_LIMIT: Final = "dataset.limit="  # what --rag-set calls --rag-limit
_ADDOPTS: Final = "PYTEST_ADDOPTS"


@dataclass(frozen=True)
class Told:
    """What a run was told: on the command line, by the environment, and in the ini file."""

    words: Sequence[str]
    paths: Collection[str] = ()
    """Those of the words that name files, with or without a sample of theirs."""
    environ: Mapping[str, str] = field(default_factory=dict)
    addopts: Sequence[str] = ()
    is_strict: bool = False

    @classmethod
    def of(cls, config: pytest.Config) -> Told:
        """Return what this run was told; files of arguments are read."""
        words = [str(one) for one in config.invocation_params.args]
        return cls(
            tuple(_expanded(words, config.invocation_params.dir)),
            frozenset(config.getoption("file_or_dir", None) or ()),
            os.environ,
            config.getini("addopts"),
            bool(config.getini("rageval_strict")),
        )


def _expanded(words: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield the words with those of ``@FILE`` in its place, one a line, as pytest reads it."""
    for one in words:
        file = folder / one[1:]
        if one.startswith("@") and file.is_file():
            yield from file.read_text(errors="replace").splitlines()
        else:
            yield one


def next_command(told: Told, step: Step) -> str | None:
    """Return the command line, changed for the next step and quoted for the shell.

    Scenarios and files stay as the user named them. Values that may be secrets are hidden. None
    where no other command is known, or where it cannot be shown in a line.

    >>> next_command(Told(["my bot.yaml", "--rag-save", "main"]), "failed").partition("pytest ")[2]
    "'my bot.yaml' --lf"
    """
    kept = list(_without(told.words, _DROPPED[step]))
    if step == "whole":
        kept = _whole(kept, told.paths)
    kept += _of_ini(told, step)
    kept += [one for one in _ADDED[step] if one not in kept]
    changed = list(_variables(told, step))
    if step in ("whole", "page") and kept == list(told.words) and not changed:
        return None
    words = [_program(), _quoted(_without_secrets(kept))]
    command = " ".join([*_assigned(changed), *words]).strip()
    said = command.replace("::", "")  # nothing breaks this line
    return command if printable(said) == said and "\n" not in said else None


def _of_ini(told: Told, step: Step) -> Iterator[str]:
    """Yield what takes the place of values in the ini file."""
    dropped = _DROPPED[step]
    left = list(_without(told.addopts, dropped))
    if left != list(told.addopts):
        yield from ("-o", f"addopts={shlex.join(_without_secrets(left))}")
    if told.is_strict and "--rag-strict" in dropped:
        yield from ("-o", "rageval_strict=false")


def _variables(told: Told, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the variables that have to be others, with their values."""
    for option in ALL_OPTIONS:
        if option.flag in _DROPPED[step] and told.environ.get(option.variable):
            yield option.variable, ""
    given = [one.strip() for one in told.environ.get(SET.variable, "").split(";")]
    parts = [_unlimited(one) for one in given if not one.startswith(_LIMIT)]
    if step == "whole" and parts != given:
        yield SET.variable, ";".join(map(_safe_value, parts))
    words = shlex.split(told.environ.get(_ADDOPTS, ""))
    left = list(_without(words, _DROPPED[step]))
    if left != words:
        yield _ADDOPTS, shlex.join(_without_secrets(left))


def _assigned(changed: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what sets the variables for the command; one without a value is taken away.

    An empty variable would be refused. In Windows' shell, setting it so takes it away.
    """
    found = list(changed)
    if os.name == "nt":
        yield from (f'set "{name}={value}" &&' for name, value in found)
        return
    gone = [name for name, value in found if not value]
    yield from ["env", *(f"-u {name}" for name in gone)] if gone else ()
    yield from (f"{name}={shlex.quote(value)}" for name, value in found if value)


def _program() -> str:
    """Return how pytest was started."""
    started = Path(sys.argv[0])
    is_module = started.name == "__main__.py" and started.parent.name == "pytest"
    return "python -m pytest" if is_module else "pytest"


def _quoted(arguments: Iterable[str]) -> str:
    words = list(arguments)
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _without(given: Iterable[str], dropped: Collection[str]) -> Iterator[str]:
    """Yield the arguments without these options and their values."""
    arguments = iter(given)
    for one in arguments:
        name = one.partition("=")[0] if one.startswith("--") else one[:2]
        has_value = one == name and name not in _WITHOUT_VALUE
        if name in dropped:
            if has_value:
                next(arguments, None)
        elif name == SET.flag and "--rag-limit" in dropped:
            value = next(arguments, "") if has_value else one.partition("=")[2]
            if not value.startswith(_LIMIT):
                value = _unlimited(value)
                yield from (one, value) if has_value else (f"{name}={value}",)
        elif (flags := _JOINED.fullmatch(one)) and f"-{flags['last']}" in dropped:
            yield flags["first"]
            if not flags["value"]:
                next(arguments, None)
        else:
            yield one


def _unlimited(given: str) -> str:
    """Return the ``PATH=VALUE`` of ``--rag-set`` without the limit of a data set that it names."""
    name, _, text = given.partition("=")
    try:
        value = json.loads(text) if name == "dataset" else None
    except ValueError:
        return given
    if not isinstance(value, dict) or "limit" not in value:
        return given
    left = {key: part for key, part in value.items() if key != "limit"}
    return f"{name}={json.dumps(left, ensure_ascii=False)}"


def _whole(given: Iterable[str], paths: Collection[str]) -> list[str]:
    """Return the arguments without the samples that follow a path, each scenario once."""
    arguments, kept = iter(given), list[tuple[str, ...]]()
    for one in arguments:
        before = (one,) if one == SCENARIO.flag else ()
        text = next(arguments, "") if before else one
        path, separator, _ = text.partition("::")
        is_path = before or text in paths or text.startswith(f"{SCENARIO.flag}=")
        found = path if separator and is_path and not path.endswith(".py") else text
        if not (is_path and (*before, found) in kept):
            kept.append((*before, found))
    return [word for words in kept for word in words]


def _without_secrets(arguments: Iterable[str]) -> Iterator[str]:
    before = ""
    for one in arguments:
        name, equals, value = one.partition("=")
        if name == SET.flag and equals:
            yield f"{name}={_safe_value(value)}"
        elif before == SET.flag:
            yield _safe_value(one)
        elif before in _INI:
            yield _safe_ini(one)
        elif equals and name in _INI:
            yield f"{name}={_safe_ini(value)}"
        elif one.startswith("-oaddopts="):
            yield f"-o{_safe_ini(one[2:])}"
        elif equals and name.startswith("-"):
            yield f"{name}={_safe(name, value)}"
        else:
            yield _safe(before, one)
        before = one if one.startswith("-") and not equals else ""


def _safe_ini(text: str) -> str:
    """Return the ``NAME=VALUE`` of an ini override without secrets, those of options in it too."""
    name, _, value = text.partition("=")
    if name != "addopts":
        return f"{name}={_safe(name, value)}"
    try:
        return f"addopts={shlex.join(_without_secrets(shlex.split(value)))}"
    except ValueError:
        return f"addopts={HIDDEN}"


def _safe_value(text: str) -> str:
    """Return the ``PATH=VALUE`` of ``--rag-set`` without secrets."""
    path, equals, value = text.partition("=")
    has_names = value.lstrip()[:1] in ("{", "[") and sounds_secret(value)
    if "headers" in path or has_names:
        return f"{path}{equals}{HIDDEN}"
    return f"{path}{equals}{_safe(path.rpartition('.')[2], value)}"


def _safe(name: str, value: str) -> str:
    has_secret = "://" in value and shown_url(value) != value
    return HIDDEN if has_secret else str(shown_option(name, value))
