"""Traces as data: spans that tracing tools export; a row for each trace.

``reader.py`` recognizes records and reads files, ``documents.py`` those of JSON, ``otel.py`` and
``tools.py`` turn records into spans, ``conventions.py`` says where a span has its texts,
``rows.py`` makes rows of traces.
"""

from __future__ import annotations

from pytest_rageval.datasets.base import DatasetReader
from pytest_rageval.datasets.formats.traces.reader import are_traces, read_traces

__all__ = ["READERS", "are_traces"]

READERS = (DatasetReader("traces", read_traces),)
