"""Metrics that rows ask for themselves: must_include, must_not_include, must_match, answer_checks.

The score is the share of the row's checks, by weight, that the answer passes. A row without the
field is left out: the metric does not apply to it. An answer of blanks scores 0, unless a check
asks for one: a system that says nothing would be right wherever something must not be said.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pydantic import Field

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricDefinition, NoOptions, ScoringContext, defined
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.codec import LimitError
from pytest_rageval.text.row_checks import Check, checks_of, included, says_nothing


class CaseOptions(NoOptions):
    """Whether the case of letters counts."""

    ignore_case: bool = Field(False, description="whether upper and lower case are equal")


class RowChecks:
    """Applies the checks that a row has in one of its fields: ``checks(row, ignore_case)``."""

    def __init__(
        self, name: str, options: NoOptions, checks: Callable[[Sample, bool], Sequence[Check]]
    ) -> None:
        self._name = name
        self._checks = checks
        self._ignore_case: bool = getattr(options, "ignore_case", False)
        self._slow: set[str] = set()

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the share in 0..1 by weight, with the checks that the answer fails.

        An error where a pattern is slow, a latency is not known, or an answer has too many braces
        for ``not-contains-json``: no check counts then.
        """
        checks, answer = self._checks(sample, self._ignore_case), sample.answer or ""
        if says_nothing(answer) and not any(check.is_of_nothing for check in checks):
            return Score(self._name, 0.0, "the answer is empty")
        try:
            passed = [check.passes(answer, self._search, context.latency_s) for check in checks]
            failed = [check for check, passes in zip(checks, passed, strict=True) if not passes]
            shown = [self._display(check, answer, context.latency_s) for check in failed]
        except (SlowPatternError, LimitError) as error:
            return Score(self._name, None, error=str(error))
        if None in passed:
            return Score(self._name, None, error="no latency: the answer was not asked for now")
        if not failed:
            return Score(self._name, 1.0)
        value = 1.0 - math.fsum(c.weight for c in failed) / math.fsum(c.weight for c in checks)
        listed = [str(check) for check in failed]
        reason = f"{len(failed)} of {len(checks)} failed: {'; '.join(shown)}"
        return Score(self._name, max(value, 0.0), reason, {"failed": listed})

    def _display(self, check: Check, answer: str, latency_s: float | None) -> str:
        if check.kind != "max_latency_s" or latency_s is None:
            why = check.misfit(answer, self._search)
            return f"{check} ({why})" if why else str(check)
        # A server that answers one after the other makes the others wait: nobody outside can tell.
        return f"{check} (took {latency_s:.2f} s with its queue; target.concurrency: 1 has none)"

    def _search(self, pattern: str, text: str, ignore_case: bool) -> bool:
        if len(self._slow) >= _MOST_SLOW and pattern not in self._slow:
            raise SlowPatternError(f"not searched: {_MOST_SLOW} other patterns were too slow")
        try:
            return search(pattern, text, ignore_case or self._ignore_case)
        except SlowPatternError:
            self._slow.add(pattern)
            raise


def _definition(
    name: str,
    checks: Callable[[Sample, bool], Sequence[Check]],
    options: type[NoOptions] = CaseOptions,
    *,
    summary: str,
) -> MetricDefinition:
    made = partial(RowChecks, checks=checks)
    return defined(name, f"{name} answer", summary, made, options, of_row=frozenset({name}))


METRICS = (
    _definition(
        "must_include",
        lambda row, ignore_case: included(
            row.must_include or (), is_not=False, ignore_case=ignore_case
        ),
        summary="the answer has each text; of a list among them, one",
    ),
    _definition(
        "must_not_include",
        lambda row, ignore_case: included(
            row.must_not_include or (), is_not=True, ignore_case=ignore_case
        ),
        summary="the answer has none of the texts",
    ),
    _definition(
        "must_match",
        lambda row, _: [Check("regex", pattern) for pattern in row.must_match or ()],
        summary="each regular expression is found in the answer",
    ),
    _definition(
        "answer_checks",
        lambda row, _: checks_of(row.answer_checks or ()),
        NoOptions,
        summary="checks of several kinds hold",
    ),
)


LIMIT_S: Final = 2.0
"""How long one search may take."""

_MOST_SLOW: Final = 10
"""After so many slow patterns a metric tries no further one: rows cannot make a run last for hours.

A later run has metrics of its own.
"""

# Only the end of a process stops a search. It ends by the watchdog of faulthandler, which needs no
# turn of the interpreter: a search gives none.
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
    """Searches one text after the other in a process that starts with the first search."""

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
            request = json.dumps([pattern, text, ignore_case, self._limit_s])
            try:
                reply = self._ask(request)
            except BaseException:  # Ctrl-C: the reply would be taken for that to the next request
                self.close()
                raise
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
        if self._process is None or self._owner != os.getpid():  # a fork must not use its parent's
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
