"""Exceptions that tell the user where, what was found, what is allowed and what to do.

::

    RagevalError
    ├── UserError              something the user wrote; carries all Problems found in one go
    │   ├── ScenarioError      in a scenario file, an override of it, or the data it names
    │   ├── BaselineError      a saved run that cannot be compared with
    │   └── OptionError        on the command line, in the ini file or the environment
    └── MissingExtraError      an optional package is not installed

The plugin shows a UserError without a traceback. Whatever is not a RagevalError is a defect of
this package and always shows its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


class RagevalError(Exception):
    """The root of all exceptions that this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend: ``where`` is ``file:line``, ``file`` or a command-line option."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UserError(RagevalError):
    """Something the user wrote cannot be used; ``problems`` holds everything found in one go."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ScenarioError(UserError):
    """A scenario file, an override of it, or the data that it names cannot be used."""


class OptionError(UserError):
    """A command-line option, ini value or environment variable cannot be used."""


class BaselineError(UserError):
    """A saved run is not there, cannot be read, or cannot be compared with this scenario."""


class MissingExtraError(RagevalError):
    """A feature needs an optional package; the message holds the pip command."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not in ``known``, with the nearest guess.

    >>> unknown_name("metric", "emm", ["em", "f1"])
    "unknown metric 'emm'. Did you mean 'em'? Known: em, f1"
    """
    choices = sorted(known)
    listing = f" Known: {', '.join(choices)}" if choices else ""
    return f"unknown {kind} {shorten(name)!r}.{did_you_mean(name, choices)}{listing}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the nearest guess as a sentence with a blank before it, "" where nothing is near.

    >>> did_you_mean("emm", ["em", "f1"])
    " Did you mean 'em'?"
    """
    guess = nearest(name, known)
    return f" Did you mean {guess!r}?" if guess else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` was most likely meant to be, or None."""
    by_lower = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def shorten(text: str, width: int = 80) -> str:
    """Return ``text`` cut to ``width`` characters, with an ellipsis where something was cut."""
    return text if len(text) <= width else text[: width - 1] + "…"
