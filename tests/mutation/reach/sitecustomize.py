"""Write down which lines of the package each test file reaches, in all processes.

Python loads this at its start where the folder is on ``PYTHONPATH``. ``REACH_SOURCE`` is the folder
of the package, ``REACH_OUT`` where a file grows for each test file, ``REACH_TEST`` the test file
that runs: ``reach_plugin`` sets it, and child processes inherit it. Needs Python 3.12.
"""

from __future__ import annotations

import os
import sys
from types import CodeType

TOOL = 4


def watch(source: str, out: str) -> None:
    """Append ``path:line`` for each line of ``source`` that runs for the first time."""
    monitoring = sys.monitoring
    opened: dict[str, int] = {}

    def line_runs(code: CodeType, line: int) -> object:
        if code.co_filename.startswith(source):
            test = os.environ.get("REACH_TEST", "before-all").replace("/", "_")
            if test not in opened:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                opened[test] = os.open(f"{out}/{test}", flags)
            os.write(opened[test], f"{code.co_filename[len(source) + 1 :]}:{line}\n".encode())
        return monitoring.DISABLE

    monitoring.use_tool_id(TOOL, "reach")
    monitoring.register_callback(TOOL, monitoring.events.LINE, line_runs)
    monitoring.set_events(TOOL, monitoring.events.LINE)


if "REACH_OUT" in os.environ:
    watch(os.environ["REACH_SOURCE"], os.environ["REACH_OUT"])
