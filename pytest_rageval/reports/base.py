"""The interface of reports, and atomic writing: a file appears whole or not at all.

To add a report, write a module here with ``REPORTS = (Report(...),)``.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_rageval.errors import unknown_name
from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.registry import Registry, UnknownNameError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run of one scenario; other relative paths start at ``root``."""

    path: Path
    root: Path

    def put(self, name: str, chunks: Iterable[str]) -> Path:
        """Write ``chunks`` to the file ``name`` in the folder; return its path."""
        return write_atomically(self.path / name, chunks)


@dataclass(frozen=True, slots=True)
class Report:
    """A report as the registry holds it: ``name`` is that of its file.

    ``write(result, run, folder)`` writes the file; it raises OSError when that is not possible. A
    report that is ``on_request`` is written if ``--rag-report`` names it, all others always.
    """

    name: str
    write: Callable[[ScenarioResult, RunInfo, RunFolder], None]
    aliases: tuple[str, ...] = ()
    on_request: bool = False


OLD_S = 24 * 3600
"""The age in seconds at which a temporary file is removed: no run writes for a day."""

REPORT_REGISTRY: Registry[Report] = Registry("report", "pytest_rageval.reports", "REPORTS")


def requested_reports(names: Iterable[str]) -> tuple[str, ...]:
    """Return the reports that ``names`` ask for, by their own names; raises UnknownNameError."""
    return tuple(dict.fromkeys(map(_canonical, names)))


def _canonical(name: str) -> str:
    known = REPORT_REGISTRY.canonical(name)
    if known is None:
        short = [alias for report in REPORT_REGISTRY for alias in report.aliases]
        message = unknown_name("report", name, [*short, *REPORT_REGISTRY.names()])
        raise UnknownNameError(message)
    return known


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove temporary files of killed processes from ``folder`` that are a day old.

    With ``name``, only temporary files of that file: the folder holds files of others.
    """
    start = re.escape(name[:40]) if name else ".{1,40}"
    ours = re.compile(rf"\.{start}\.[0-9a-f]{{16}}" + ("" if name else r"|\.latest-.+"))
    with suppress(OSError):  # the folder may be missing, or another run may be quicker
        for entry in list(os.scandir(folder)):
            found = entry.stat(follow_symlinks=False) if ours.fullmatch(entry.name) else None
            if found and not stat.S_ISDIR(found.st_mode) and found.st_mtime < time.time() - OLD_S:
                Path(entry).unlink()


def write_atomically(path: Path, chunks: Iterable[str]) -> Path:
    """Write text to a temporary file in the folder of ``path``, then rename it.

    UTF-8, line ends as given; a lone surrogate, which UTF-8 cannot hold, becomes an escape. Makes
    missing folders; raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    # Not mkstemp: only the owner could read its files.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as stream:
            stream.writelines(chunks)
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
    return path
