"""The last word on the exit status: what this plugin found red stays red.

Once the verdict is there, hooks of others still run, and may change the status:
``pytest.exit("bye", returncode=0)``, ``sys.exit(0)``, a value put into ``session.exitstatus``.
"""

from __future__ import annotations

import sys

import pytest

_VERDICT = pytest.StashKey[tuple[pytest.Session, int]]()


def end_with(session: pytest.Session, status: int) -> None:
    """Have the run end with a red status; another red one may take its place, a green one not."""
    session.exitstatus = status
    session.config.stash[_VERDICT] = session, status


def keep_verdict(config: pytest.Config) -> None:
    """Put back the status of a red run if it has become a green one since.

    To be called once nothing else is. It cannot undo ``os._exit`` or a hook that runs still later.
    """
    session, status = config.stash.get(_VERDICT, (None, 0))
    if session is None:
        return
    if is_green(session.exitstatus):
        found, session.exitstatus = session.exitstatus, status
        said = f"rageval: this run is red; a hook changed its exit status to {found!s}"
        sys.stderr.write(f"{said}, and it is {int(status)} again\n")
    ending = sys.exc_info()[1]
    if isinstance(ending, SystemExit) and is_green(ending.code):
        ending.code = int(status)


def is_green(status: object) -> bool:
    """Return whether a process that exits with this value ends with 0.

    >>> [is_green(status) for status in (0, None, 256, 1, "an error")]
    [True, True, True, False, False]
    """
    return status is None or (isinstance(status, int) and not int(status) % 256)
