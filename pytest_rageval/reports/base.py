"""What a report must provide, and where it writes: files that appear whole or not at all.

To add a report, write a module here with ``REPORTS = (YourReport(),)``. One that is ``on_request``
is written where ``--rag-report`` names it, all others are written always.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_rageval.errors import unknown_name
from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.registry import Registry, UnknownNameError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run of one scenario; ``root`` is what other relative paths start from."""

    path: Path
    root: Path

    def put(self, name: str, chunks: Iterable[str]) -> Path:
        """Write ``chunks`` to the file ``name`` in the folder; return its path."""
        return write_atomically(self.path / name, chunks)


class ReportWriter(Protocol):
    """Writes one file about a scenario's result."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def on_request(self) -> bool: ...

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file; raise OSError when that is not possible."""
        ...


REPORT_REGISTRY: Registry[ReportWriter] = Registry("report", "pytest_rageval.reports", "REPORTS")


def requested_reports(names: Iterable[str]) -> tuple[str, ...]:
    """Return the reports that ``names`` ask for, by their own names; raises UnknownNameError."""
    found = [_canonical(name) for name in names]
    return tuple(dict.fromkeys(found))


def _canonical(name: str) -> str:
    known = REPORT_REGISTRY.canonical(name)
    if known is None:
        short = [alias for report in REPORT_REGISTRY for alias in report.aliases]
        message = unknown_name("report", name, [*short, *REPORT_REGISTRY.names()])
        raise UnknownNameError(message)
    return known


def write_atomically(path: Path, chunks: Iterable[str]) -> Path:
    """Write text to a temporary file beside ``path``, then rename it into place.

    UTF-8, line ends as given; a lone surrogate, which UTF-8 cannot hold, is spelled as an escape.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    temporary = Path(name)
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as stream:
            stream.writelines(chunks)
        # mkstemp makes files for the owner only; these are for everyone who may read the folder.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
