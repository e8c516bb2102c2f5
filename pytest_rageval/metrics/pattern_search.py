"""Searches for users' patterns in answers, in a process of its own that a slow search ends.

Some patterns take years on some answers, ``(a+)+b`` for one, and nothing stops Python's ``re``.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from typing import Final

from pytest_rageval.errors import shorten

LIMIT_S: Final = 2.0
"""How long one search may take."""

_MOST_SLOW: Final = 10
"""After so many slow patterns no further one is tried."""

# The watchdog of faulthandler needs no turn of the interpreter, which a search does not give.
_CODE: Final = """
import faulthandler, json, os, re, sys, warnings
warnings.simplefilter("ignore")
nowhere = open(os.devnull, "w")
for line in sys.stdin:
    pattern, text, ignores_case, limit_s = json.loads(line)
    faulthandler.dump_traceback_later(limit_s, exit=True, file=nowhere)
    found = re.search(pattern, text, re.IGNORECASE if ignores_case else 0) is not None
    faulthandler.cancel_dump_traceback_later()
    print(int(found), flush=True)
"""


class SlowPatternError(Exception):
    """A pattern took longer on an answer than a search may."""


class PatternSearch:
    """Searches one text after the other; the process starts with the first search."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._slow: set[str] = set()

    def __call__(self, pattern: str, text: str, ignore_case: bool = False) -> bool:
        """Return whether the pattern is found; raises SlowPatternError where that takes too long.

        A pattern that was too slow once is not tried again.
        """
        with self._lock:
            if pattern in self._slow:
                raise self._refusal(pattern, "on another answer")
            if len(self._slow) >= _MOST_SLOW:
                raise SlowPatternError(f"not searched: {_MOST_SLOW} other patterns were too slow")
            request = json.dumps([pattern, text, ignore_case, self._limit_s])
            reply = self._ask(request)
            if reply not in ("0\n", "1\n"):
                self.close()
                self._slow.add(pattern)
                raise self._refusal(pattern, "on this answer")
            return reply == "1\n"

    def _refusal(self, pattern: str, where: str) -> SlowPatternError:
        return SlowPatternError(
            f"the pattern {shorten(repr(pattern))} took longer than {self._limit_s:g} s {where}; "
            "write it without a repeat inside of a repeat, such as (a+)+"
        )

    def _ask(self, request: str) -> str:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        except BrokenPipeError:
            return ""

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._owner != os.getpid():  # a fork has no right to it
            self._process = subprocess.Popen(  # noqa: S603  (our own code)
                [sys.executable, "-I", "-S", "-c", _CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
            self._owner = os.getpid()
            atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process, if one runs."""
        process, self._process = self._process, None
        atexit.unregister(self.close)
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()


search: Final = PatternSearch()
