"""The file that a child writes to, one JSON object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

VARIABLE: Final = "RAGEVAL_CHILD_OUTPUT"
"""The environment variable that names the file."""


def write_line(event: dict[str, Any]) -> None:
    """Append an event to the file; does nothing where there is none."""
    path = os.environ.get(VARIABLE)
    if path:
        line = json.dumps(event, ensure_ascii=False, allow_nan=False, default=str)
        with Path(path).open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace") + b"\n")


def is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of xdist; only the main process writes."""
    return hasattr(config, "workerinput")
