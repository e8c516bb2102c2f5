"""Shows how many samples are done: a bar of tqdm where it is installed, else a line."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from pytest_rageval import extras
from pytest_rageval.engine.evaluate import Progress
from pytest_rageval.text.printable import one_line

_EVERY_S = 0.1


@contextmanager
def shown_progress(progress: bool | Progress | None, name: str) -> Iterator[Progress | None]:
    """Provide the function to call with the progress, or None if none is shown.

    True shows it on stderr, if that is a terminal or this is a notebook; a function is given back.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    stream = sys.stderr
    if not progress or not (stream and (stream.isatty() or "ipykernel" in sys.modules)):
        yield None
        return
    has_tqdm = extras.installed("tqdm")
    display = ProgressBar(one_line(name)) if has_tqdm else ProgressLine(one_line(name), stream)
    try:
        yield display
    finally:
        display.end()


@dataclass
class ProgressBar:
    """Shows a bar of tqdm: a widget in a notebook that has widgets."""

    name: str
    _bar: Any = field(default=None, init=False)

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` samples are done."""
        if self._bar is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tqdm warns where widgets are missing
                from tqdm.auto import tqdm

                # A class of its own, without tqdm's thread, which would outlive the evaluation.
                bar_class = type("Bar", (tqdm,), {"monitor_interval": 0})
                self._bar = bar_class(total=total, desc=self.name, unit=" samples", miniters=1)
        self._bar.update(done - self._bar.n)

    def end(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


@dataclass
class ProgressLine:
    """Shows ``support-bot: 12/120 samples`` on one line, updated at most ten times a second."""

    name: str
    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _next: float = field(default=0.0, init=False)
    _is_open: bool = field(default=False, init=False)

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` samples are done."""
        now = self.clock()
        if now >= self._next or done == total:
            self._next = now + _EVERY_S
            self._is_open = True
            self.stream.write(f"\r{self.name}: {done}/{total} samples")
            self.stream.flush()

    def end(self) -> None:
        """End the line, if one was begun."""
        if self._is_open:
            self.stream.write("\n")
            self.stream.flush()
