"""Shows log records in the report of their sample, though they arise while other cases run."""

from __future__ import annotations

import copy
import logging
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator

import pytest

from pytest_rageval.engine.scoring.live_run import sample_being_judged
from pytest_rageval.model import Case
from pytest_rageval.plugin.run.items import SampleItem

_NAME = "rageval-sample-logs"
_MOST_KEPT = 200


def ensure_sample_logs(config: pytest.Config) -> None:
    """Register the plugin object that sorts log records, once, if pytest's logging is active."""
    logging_plugin = config.pluginmanager.get_plugin("logging-plugin")
    if logging_plugin is not None and not config.pluginmanager.has_plugin(_NAME):
        handlers = [
            handler
            for handler in vars(logging_plugin).values()
            if isinstance(handler, logging.Handler)
        ]
        config.pluginmanager.register(SampleLogs(handlers), _NAME)


class SampleLogs:
    """Holds a sample's log records back from pytest's ``handlers`` until that sample runs.

    The last 200 records of a sample are kept. Those that arise after its setup, or if it does not
    run after all, go to the log file and the live log at the end. Other handlers get every record
    at once.
    """

    def __init__(self, handlers: Iterable[logging.Handler]) -> None:
        self._handlers = tuple(handlers)
        self._sorter = _Sorter()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Sort the records of the whole run."""
        # Samples are judged between two cases, too, while pytest's handlers are not attached.
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
        """Show this sample's records so far; those that arise during its setup pass at once."""
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
        """Pass a record to those of pytest's handlers that its logger reaches now."""
        for handler in _handlers_of(record.name):
            if handler in self._handlers and record.levelno >= handler.level:
                handler.handle(record)


class _Sorter(logging.Filter):
    """Keeps the records of samples whose setup is not running; lets all other records pass."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._kept: dict[int, deque[logging.LogRecord]] = {}
        self._begun: Case | None = None
        self._last = _Decision()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether handlers get the record now; the answer is the same for all of them."""
        sample = sample_being_judged()
        if sample is None:
            return True
        if self._last.record is not record:
            self._last.passes = self._passes(record, sample)
            self._last.record = record
        return self._last.passes

    def take_or_begin(self, sample: Case) -> list[logging.LogRecord]:
        """Return a sample's kept records; if there are none, its records pass from now on."""
        with self._lock:
            kept = self._kept.pop(id(sample), None)
            if not kept:
                self._begun = sample
            return list(kept or ())

    def end(self) -> None:
        """Hold back the records of every sample again."""
        with self._lock:
            self._begun = None

    def take_all(self) -> list[logging.LogRecord]:
        """Return the kept records of all samples, in order of time."""
        with self._lock:
            kept, self._kept = self._kept, {}
        return sorted((one for many in kept.values() for one in many), key=lambda one: one.created)

    def _passes(self, record: logging.LogRecord, sample: Case) -> bool:
        # Formatted now: a faulty log call is the metric's error and must raise in its thread.
        message = record.getMessage()
        with self._lock:
            if self._begun is sample:
                return True
            kept = copy.copy(record)
            kept.msg, kept.args = message, None
            self._kept.setdefault(id(sample), deque(maxlen=_MOST_KEPT)).append(kept)
        return False


class _Decision(threading.local):
    """The decision about the record that this thread is passing to one handler after another."""

    record: logging.LogRecord | None = None
    passes: bool = True


class _Watch(logging.Handler):
    """Passes every record to the sorter, even while none of pytest's handlers is attached."""

    def __init__(self, sorter: _Sorter) -> None:
        super().__init__()
        self._sorter = sorter

    def emit(self, record: logging.LogRecord) -> None:
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
