"""Exceptions whose messages say where, what was found, what is allowed and what to do.

::

    RagevalError
    ├── UserError              something the user wrote; carries all Problems that were found
    │   ├── ScenarioError      in a scenario file, an override of it, or the data it names
    │   ├── BaselineError      a saved run that cannot be compared with
    │   │   └── NoBaselineError   there is none of that name
    │   ├── DuplicateNameError two scenario files with the same name
    │   └── OptionError        on the command line, in the ini file or the environment
    └── MissingExtraError      an optional package is not installed

The plugin shows a UserError without a traceback. Any other exception is a defect of this package
and always shows its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


class RagevalError(Exception):
    """The root of all exceptions that this package raises on purpose."""


_KNOWN = " Known: "


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to fix: ``where`` is ``file:line``, ``file`` or a command-line option.

    ``is_cause``: other problems may follow from it, so it is listed first.
    """

    where: str
    message: str
    is_cause: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UserError(RagevalError):
    """Something the user wrote cannot be used; ``problems`` lists everything that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(_listed_once(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def _listed_once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems; a list of known names stays only in the first message that has it."""
    listed: set[str] = set()
    for problem in problems:
        message, separator, names = problem.message.rpartition(_KNOWN)
        yield replace(problem, message=message) if names in listed and separator else problem
        listed.add(names)


class ScenarioError(UserError):
    """A scenario file, an override of it, or the data that it names cannot be used."""


class OptionError(UserError):
    """A command-line option, ini value or environment variable cannot be used."""


class BaselineError(UserError):
    """A saved run does not exist, cannot be read, or cannot be compared with this scenario."""


class NoBaselineError(BaselineError):
    """A saved run does not exist: nothing is lost where one is saved under its name."""


class DuplicateNameError(UserError):
    """Two scenario files have the same name, and would share runs and baselines."""


class MissingExtraError(RagevalError):
    """A feature needs an optional package; the message holds the pip command."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not in ``known``, with the nearest guess.

    >>> unknown_name("metric", "emm", ["em", "f1"])
    "unknown metric 'emm'. Did you mean 'em'? Known: em, f1"
    """
    choices = sorted(known)
    # A validator's message must be UTF-8, and names may be the user's.
    named = ", ".join(choices).encode("utf-8", "backslashreplace").decode("utf-8")
    listing = f"{_KNOWN}{named}" if choices else ""
    return f"unknown {kind} {shorten(name)!r}.{did_you_mean(name, choices)}{listing}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the nearest guess as a sentence after a blank, or "" if nothing is near.

    >>> did_you_mean("emm", ["em", "f1"])
    " Did you mean 'em'?"
    """
    guess = nearest(name, known)
    return f" Did you mean {guess!r}?" if guess else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to ``name``, or None if none is similar."""
    by_lower = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def shorten(text: str, width: int = 80) -> str:
    """Return ``text`` cut to ``width`` characters, with an ellipsis if it was longer."""
    return text if len(text) <= width else text[: width - 1] + "…"
