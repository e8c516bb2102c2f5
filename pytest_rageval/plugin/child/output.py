"""The file that a child writes to, one JSON object a line, and the process that reads it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, Final

import pytest

VARIABLE: Final = "RAGEVAL_CHILD_OUTPUT"
"""The environment variable that names the file."""

PARENT: Final = "RAGEVAL_CHILD_PARENT"
"""The environment variable with the id of the process that reads it."""

_LOOK_S = 1.0
_PATIENCE_S = 10.0


def write_line(event: dict[str, Any]) -> None:
    """Append an event to the file; does nothing where there is none."""
    path = os.environ.get(VARIABLE)
    if path:
        line = json.dumps(event, ensure_ascii=False, allow_nan=False, default=str)
        with Path(path).open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace") + b"\n")


def end_with_parent(config: pytest.Config) -> None:
    """Watch the process that started this one, and end when it is gone; workers end with us."""
    if is_worker(config):
        return
    parent = int(os.environ.get(PARENT, os.getppid()))
    threading.Thread(target=_end_after, args=[parent], daemon=True).start()


def _end_after(parent: int) -> None:
    """Interrupt this process, as Ctrl-C would, once ``parent`` is gone; then use force."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_PATIENCE_S)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with its workers


def is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of xdist; only the main process writes."""
    return hasattr(config, "workerinput")
