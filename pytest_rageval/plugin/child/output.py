"""The file that a child writes to, one JSON object a line, and the process that reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

VARIABLE: Final = "RAGEVAL_CHILD_OUTPUT"
"""The environment variable that names the file."""

PARENT: Final = "RAGEVAL_CHILD_PARENT"
"""The environment variable with the id of the process that reads it."""


def write_line(event: dict[str, Any]) -> None:
    """Append an event to the file; does nothing where there is none."""
    path = os.environ.get(VARIABLE)
    if path:
        line = json.dumps(event, ensure_ascii=False, allow_nan=False, default=str)
        with Path(path).open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace") + b"\n")


def parent() -> int:
    """Return the id of the process that started this one; it may have ended meanwhile."""
    return int(os.environ.get(PARENT, os.getppid()))


def is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of xdist; only the main process writes."""
    return hasattr(config, "workerinput")
