"""Exceptions whose messages say where, what was found, what is allowed and what to do.

::

    RagevalError
    ├── UserError              something the user wrote; carries all Problems that were found
    │   ├── ScenarioError      in a scenario file, an override of it, or the data it names
    │   ├── BaselineError      a saved run that cannot be compared with
    │   │   └── NoBaselineError   there is none of that name
    │   ├── DuplicateNameError two scenario files with the same name
    │   └── OptionError        on the command line, in the ini file, the environment or Python
    └── MissingExtraError      an optional package is not installed

Other modules define further UserErrors and RagevalErrors. The plugin shows a UserError without a
traceback; it makes a Problem, or the error of a score, of other RagevalErrors and of what a user's
code raises. Any other exception is a defect of this package and always shows its traceback.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from traceback import walk_tb
from typing import Final

from pytest_rageval.redaction import shown_message, shown_queries


class RagevalError(Exception):
    """The root of all exceptions that this package raises on purpose."""


_KNOWN = " Known: "
_NAMED: Final = 8


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
    said: set[str] = set()
    for problem in problems:
        message, separator, names = problem.message.rpartition(_KNOWN)
        yield replace(problem, message=message) if names in said and separator else problem
        said.add(names)


class ScenarioError(UserError):
    """A scenario file, an override of it, or the data that it names cannot be used."""


class OptionError(UserError):
    """An option, ini value, environment variable or argument of Python code cannot be used."""


class BaselineError(UserError):
    """A saved run does not exist, cannot be read, or cannot be compared with this scenario."""


class NoBaselineError(BaselineError):
    """No saved run has that name, so saving one under it overwrites nothing."""


class DuplicateNameError(UserError):
    """Two scenario files have the same name, and would share runs and baselines."""


class MissingExtraError(RagevalError):
    """A feature needs an optional package; the message holds the pip command."""


def unknown_name(kind: str, name: str, known: Iterable[str], page: str = "") -> str:
    """Return the message for a name that is not in ``known``, with the nearest guess.

    Without a ``page`` it lists all of ``known``; with one, at most eight similar names and
    the page, which lists all.

    >>> unknown_name("metric", "emm", ["em", "f1"])
    "unknown metric 'emm'. Did you mean 'em'? Known: em, f1"
    """
    choices = sorted(known)
    known_names = ", ".join(choices)
    if page:
        near = difflib.get_close_matches(name[:100], choices, n=_NAMED, cutoff=0.4)
        known_names = "; ".join(filter(None, [", ".join(sorted(near)), f"{page} lists all"]))
    # A validator's message must be UTF-8, and names may be the user's.
    named = known_names.encode("utf-8", "backslashreplace").decode("utf-8")
    listing = f"{_KNOWN}{named}" if named else ""
    return f"unknown {kind} {shorten(name)!r}.{did_you_mean(name, choices)}{listing}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the nearest guess as a sentence with a blank before it, "" if nothing is near.

    >>> did_you_mean("emm", ["em", "f1"])
    " Did you mean 'em'?"
    """
    guess = nearest(name, known)
    return f" Did you mean {guess!r}?" if guess else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to ``name``, ignoring case; None if none is similar."""
    by_lower = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def shorten(text: str, width: int = 80) -> str:
    """Return ``text``, cut to ``width`` characters, an ellipsis among them, if it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"


def listed(names: Iterable[str], most: int, separator: str = ", ") -> str:
    """Return the first ``most`` names, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    known = list(names)
    before = " " if separator == ", " else separator
    more = f"{before}and {len(known) - most:,} more" if len(known) > most else ""
    return separator.join(known[:most]) + more


_LIKE_A_KEY = re.compile(
    r"(?i)\b(bearer\s+)\S+|\b(sk-)[\w*.\-]{4,}|(://[^\s/?#:@]*:)[^\s/?#@]+"
    r"(?:@[^\s/?#@\"'<>,;()]+)*(?=@)"  # a password may hold an @
)


def hide_keys(text: str) -> str:
    """Return a text with asterisks for what looks like a key, and for passwords and keys of URLs.

    >>> hide_keys("Bearer abc, or sk-12345, http://user:secret@host/?key=abc")
    'Bearer *** or sk-***, http://user:***@host/?key=***'
    """
    hidden = _LIKE_A_KEY.sub(lambda found: f"{found[1] or found[2] or found[3]}***", text)
    return shown_queries(hidden)


def hide_secrets(text: str) -> str:
    """Return the text of an error without keys, and without ``name=value`` of secrets."""
    return shown_message(hide_keys(text))


def error_line(error: BaseException, most: int = 300) -> str:
    """Return type and text of an error in one line, without keys; the text is cut to ``most``."""
    name = type(error).__name__
    try:
        text = shorten(hide_secrets(" ".join(str(error).split())), most)
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        text = ""
    return f"{name}: {text}" if text else name


def describe_error(error: BaseException) -> str:
    """Return what went wrong in a user's code, and where: ``KeyError: 'x' (my_metrics.py:5)``."""
    name = type(error).__name__
    try:
        text = shorten(hide_secrets(str(error)), 300)
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        text = ""
    place = _place_of(error)
    return (f"{name}: {text}" if text else name) + (f" ({place})" if place else "")


def _place_of(error: BaseException) -> str:
    """Return file and line of the innermost frame of a user's code, or "".

    Where the error's own traceback has no such frame, that of its cause counts.
    """
    own = [
        f"{PurePath(frame.f_code.co_filename).name}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if not _is_foreign(frame.f_code.co_filename)
    ]
    if own or error.__cause__ is None:
        return own[-1] if own else ""
    return _place_of(error.__cause__)


_FOLDERS: Final = tuple(f"{PurePath(file).parent}{os.sep}" for file in (__file__, os.__file__))
"""Where this package and Python's own modules are."""

_CELLS: Final = ("<ipython-input", "<stdin")
"""Names of what a user typed, which is in no file."""


def _is_foreign(file: str) -> bool:
    """Return whether a file is of this package, an installed one or Python, or generated code."""
    is_made = file.startswith("<") and not file.startswith(_CELLS)
    is_installed = "site-packages" in file or "dist-packages" in file
    return is_made or is_installed or file.startswith(_FOLDERS)
