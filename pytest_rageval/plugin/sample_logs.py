"""Log records of judges in the report of their sample, though they come while other cases run."""

from __future__ import annotations

import copy
import logging
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator

import pytest

from pytest_rageval.engine.judging import sample_being_judged
from pytest_rageval.model import Case
from pytest_rageval.plugin.items import SampleItem

_NAME = "rageval-sample-logs"
_MOST_KEPT = 200


def ensure_sample_logs(config: pytest.Config) -> None:
    """Register the plugin object that sorts log records, once, where pytest has any use for it."""
    logging_plugin = config.pluginmanager.get_plugin("logging-plugin")
    if logging_plugin is not None and not config.pluginmanager.has_plugin(_NAME):
        handlers = [
            one for one in vars(logging_plugin).values() if isinstance(one, logging.Handler)
        ]
        config.pluginmanager.register(SampleLogs(handlers), _NAME)


class SampleLogs:
    """Holds what is logged for a sample back from pytest's ``handlers`` until that sample is run.

    The last 200 records of a sample are kept. Those of a sample that is not run after all go to
    the log file and the live log at the end. Other handlers have every record at once, as ever.
    """

    def __init__(self, handlers: Iterable[logging.Handler]) -> None:
        self._handlers = tuple(handlers)
        self._sorter = _Sorter()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Sort the records of the whole run."""
        # Between two cases pytest's own handlers see nothing, and samples are judged all the same.
        watch = _Watch(self._sorter)
        watched = [logging.getLogger(), *_secluded()]
        for handler in self._handlers:
            handler.addFilter(self._sorter)
        for logger in watched:
            logger.addHandler(watch)
        try:
            return (yield)
        finally:
            for record in self._sorter.take_all():
                self._emit(record)
            for logger in watched:
                logger.removeHandler(watch)
            for handler in self._handlers:
                handler.removeFilter(self._sorter)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Show what was logged for this sample so far; what comes from now on is shown at once."""
        if not (isinstance(item, SampleItem) and item.is_asked):
            return (yield)
        while records := self._sorter.take_or_begin(item.case):
            for record in records:
                self._emit(record)
        try:
            return (yield)
        finally:
            self._sorter.end()

    def _emit(self, record: logging.LogRecord) -> None:
        """Give a record to those of pytest's handlers that its logger has now."""
        for handler in _handlers_of(record.name):
            if handler in self._handlers and record.levelno >= handler.level:
                handler.handle(record)


class _Sorter(logging.Filter):
    """Keeps the records of samples that are not being set up just now; lets all others pass."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._kept: dict[int, deque[logging.LogRecord]] = {}
        self._begun: Case | None = None
        self._last = _Decision()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a handler may have the record now; all handlers get the same answer."""
        sample = sample_being_judged()
        if sample is None:
            return True
        if self._last.record is not record:
            self._last.passes = self._passes(record, sample)
            self._last.record = record
        return self._last.passes

    def take_or_begin(self, sample: Case) -> list[logging.LogRecord]:
        """Return what is kept for a sample; when that is nothing, its records pass from now on."""
        with self._lock:
            kept = self._kept.pop(id(sample), None)
            if not kept:
                self._begun = sample
            return list(kept or ())

    def end(self) -> None:
        """Keep the records of every sample again."""
        with self._lock:
            self._begun = None

    def take_all(self) -> list[logging.LogRecord]:
        """Return what is kept for whichever sample, in the order in which it came."""
        with self._lock:
            kept, self._kept = self._kept, {}
        return sorted((one for many in kept.values() for one in many), key=lambda one: one.created)

    def _passes(self, record: logging.LogRecord, sample: Case) -> bool:
        # A message that cannot be put together is the metric's error, wherever it is shown.
        message = record.getMessage()
        with self._lock:
            if self._begun is sample:
                return True
            kept = copy.copy(record)
            kept.msg, kept.args = message, None
            self._kept.setdefault(id(sample), deque(maxlen=_MOST_KEPT)).append(kept)
        return False


class _Decision(threading.local):
    """What was decided about the record that this thread is giving to one handler after another."""

    record: logging.LogRecord | None = None
    passes: bool = True


class _Watch(logging.Handler):
    """Shows every record to the sorter, also while no handler of pytest is there to ask it."""

    def __init__(self, sorter: _Sorter) -> None:
        super().__init__()
        self._sorter = sorter

    def emit(self, record: logging.LogRecord) -> None:
        """Have the record kept, if it is one to keep."""
        self._sorter.filter(record)


def _secluded() -> Iterator[logging.Logger]:
    """Yield the loggers whose records do not reach the root."""
    for logger in list(logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger) and not logger.propagate:
            yield logger


def _handlers_of(name: str) -> list[logging.Handler]:
    """Return the handlers that a record of this logger reaches."""
    found: dict[logging.Handler, None] = {}
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        found.update(dict.fromkeys(logger.handlers))
        logger = logger.parent if logger.propagate else None
    return list(found)
