"""The project that is served: its scenarios, as pytest finds them, and how to run pytest in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import RagevalError
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.children import OUTPUT, started

_GOOD = (0, 5)  # 5: nothing was collected
OWN_CACHE: Final = ("-o", f"cache_dir=${OUTPUT}.cache")
"""Options of a child in which ``--lf`` selects nothing, and which changes nothing for the next."""

_LOOKING = ("--collect-only", "-q", *OWN_CACHE)
_PLUGINS = "pytest_rageval.plugin.child"


class ProjectError(RagevalError):
    """pytest cannot collect the project; the message is what it printed."""


@dataclass(frozen=True, slots=True)
class ScenarioEntry:
    """A scenario file: ``shown`` is its path below the rootdir, with slashes.

    ``problem`` says, with file and line, why it cannot be read as a scenario; it then has no name.
    """

    path: Path
    shown: str
    name: str | None
    output_dir: str | None = None
    problem: str | None = None

    @property
    def id(self) -> str:
        """What requests call it: made from its path, but no path."""
        return hashlib.sha256(self.shown.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a scenario before it is run: ``figures`` as plugin/child/outline.py says.

    They are None, and ``problems`` say with file and line why, where it cannot be run.
    """

    figures: dict[str, Any] | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """How pytest was started: in ``folder``, with ``options``, and ``selects`` to select tests.

    ``cache_dir`` is where its runs keep replies, wherever their files go.
    """

    python: str
    folder: Path
    options: tuple[str, ...]
    selects: tuple[str, ...]
    paths: RunPaths
    cache_dir: Path | None = None

    def command(self, plugin: str, *more: str, scenarios: Sequence[Path] = ()) -> list[str]:
        """Return the command of a child with one of our plugins for children.

        ``more`` are further options; ``scenarios`` are files to collect in place of all others.
        """
        named = [f"--rag-scenario={path}" for path in scenarios]
        start = [self.python, "-m", "pytest", "-p", f"{_PLUGINS}.{plugin}"]
        return [*start, *self.options, *more, *(named or self.selects)]

    async def scenarios(self) -> list[ScenarioEntry]:
        """Return the scenarios that pytest finds with the project's own configuration.

        Raises ProjectError.
        """
        command = self.command("scenario_list", *_LOOKING)
        async with started(command, self.folder) as child:
            status = await child.wait()
            if status not in _GOOD:
                raise ProjectError(f"pytest ended with exit status {status}:\n{child.terminal()}")
            return [
                ScenarioEntry(Path(found["path"]), *(found[key] for key in _ENTRY))
                for found in child.events
            ]

    async def outline(self, scenario: ScenarioEntry) -> Outline:
        """Return what pytest knows of a scenario once it has read its data."""
        command = self.command("outline", *_LOOKING, scenarios=[scenario.path])
        async with started(command, self.folder) as child:
            status = await child.wait()
            figures = next((one for one in child.events if one["event"] == "scenario"), None)
            problems = [one["text"] for one in child.events if one["event"] == "problem"]
            if figures is None and not problems:
                problems = [f"pytest ended with exit status {status}:\n{child.terminal()}"]
            return Outline(None if problems else figures, tuple(problems))


_ENTRY = ("shown", "name", "output_dir", "problem")
