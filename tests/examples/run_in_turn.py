"""Runs command lines of pytest one after the other in one process, each in a folder of its own.

It reads ``[[folder, arguments], ...]`` as JSON and writes ``[[status, output], ...]``. A process
for each would spend most of its time on imports.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

import pytest


def run(folder: str, args: list[str]) -> tuple[int, str]:
    """Return the exit status, and what was printed; leave no path or module of the folder."""
    os.chdir(folder)
    path, output = sys.path.copy(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(args)
    sys.path[:] = path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(folder):
            del sys.modules[name]
    return int(status), output.getvalue()


if __name__ == "__main__":
    found = [run(folder, args) for folder, args in json.load(sys.stdin)]
    json.dump(found, sys.stdout)
