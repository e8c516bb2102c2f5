"""The project that is served: its scenarios, as pytest finds them, and how to run pytest in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_rageval.errors import Problem, UserError, did_you_mean, listed, shorten
from pytest_rageval.model import title_of
from pytest_rageval.run_paths import RunPaths, run_folder
from pytest_rageval.serving.children import OUTPUT, started

_GOOD = (0, 5)  # 5: nothing was collected
_PLUGIN = "pytest_rageval.plugin.child"

ASIDE: Final = ("-o", f"cache_dir=${OUTPUT}.cache", "--rag-child=aside")
"""Options of a child that is no run of the project.

It has a cache of its own, so that the project's last failures are kept, and writes no baseline,
answers or JUnit file.
"""

_SHARED: Final = (
    "{0.shown}: name: {0.name!r} is also the name of {1}: both would share run folder, history and "
    "baselines. Give one of them another 'name' or 'output_dir'"
)
LOOKING: Final = ("--collect-only", "-q", *ASIDE)
"""Options of a child that runs nothing."""


@dataclass(frozen=True, slots=True)
class ScenarioEntry:
    """A scenario file: ``shown`` is its path below the rootdir, with slashes.

    ``problem`` says, with file and line, why it cannot be read as a scenario; it then has no name.
    ``variants`` are those that a run without a choice takes, () where the scenario has none;
    ``has_best`` says that the gate ``best`` judges them.
    """

    path: Path
    shown: str
    name: str | None
    output_dir: str | None = None
    problem: str | None = None
    variants: tuple[str, ...] = ()
    has_best: bool = False

    @property
    def has_namesake(self) -> bool:
        """Whether another file would share its runs, as ``problem`` then says."""
        return self.name is not None and self.problem is not None

    @property
    def titles(self) -> tuple[str, ...]:
        """The names under which its runs are kept: one for each variant."""
        if self.name is None:
            return ()
        return tuple(title_of(self.name, variant) for variant in self.variants or ("",))

    def variant_of(self, title: str) -> str:
        """Return the variant whose runs are kept under ``title``, "" where that is none of them."""
        return dict(zip(self.titles, self.variants, strict=False)).get(title, "")

    @property
    def id(self) -> str:
        """What requests call it: made from its path, but no path."""
        return hashlib.sha256(self.shown.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class FoundScenarios(NamedTuple):
    """The scenarios of a project; ``problem`` is what pytest has printed if it could not look.

    ``home`` is the first folder that pytest looks in.
    """

    entries: list[ScenarioEntry]
    problem: str | None
    home: Path


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a scenario before it is run, as plugin/child.py says.

    ``figures`` are by variant, under "" where the scenario has none. They are empty, and
    ``problems`` say with file and line why, where it cannot be run.
    """

    figures: Mapping[str, dict[str, Any]]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """How pytest was started: in ``folder``, with ``arguments``, from the project in ``paths``."""

    python: str
    folder: Path
    arguments: tuple[str, ...]
    paths: RunPaths
    cache_dir: Path | None = None
    """Where replies and answers are kept, also those of runs with another output folder."""

    def command(
        self, *more: str, scenarios: Sequence[Path] = (), variants: Sequence[str] = ()
    ) -> list[str]:
        """Return the command of a child that says what happens in it.

        ``more`` are further options; ``scenarios`` are the only files to collect, and ``variants``
        the only ones to run of them: all that they have where none is named.
        """
        start = [self.python, "-m", "pytest", "-p", _PLUGIN]
        # By the first pytest finds rootdir and plugins, by the second what is collected.
        only = [f"--rag-{name}={path}" for path in scenarios for name in ("scenario", "only")]
        only += [f"--rag-only-variant={name}" for name in variants]
        return [*start, *self.arguments, *more, *only]

    async def scenarios(self) -> FoundScenarios:
        """Return the scenarios that pytest finds with the project's own configuration."""
        async with started(self.command("--rag-child=list", *LOOKING), self.folder) as child:
            status = await child.wait()
            found = [
                ScenarioEntry(
                    Path(one["path"]),
                    one["shown"],
                    one["name"],
                    one["output_dir"],
                    one["problem"],
                    tuple(one["variants"]),
                    one["has_best"],
                )
                for one in child.events
                if one["event"] == "file"
            ]
            homes = [Path(one["path"]) for one in child.events if one["event"] == "home"]
            problem = f"pytest ended with exit status {status}:\n{child.terminal()}"
        home = homes[0] if homes else self.paths.root
        return FoundScenarios(self._checked(found), None if status in _GOOD else problem, home)

    def _checked(self, found: Sequence[ScenarioEntry]) -> list[ScenarioEntry]:
        """Return the scenarios, with a problem for those that would share the folder of runs."""
        by_folder: dict[Path, list[int]] = {}
        for at, one in enumerate(found):
            base = self.paths.run_base(one.output_dir)
            # That of the name, too: what compares variants is there.
            for folder in {base / run_folder(title) for title in {one.name, *one.titles} if title}:
                by_folder.setdefault(folder, []).append(at)
        checked, files = list(found), [one.path.resolve() for one in found]
        for same in by_folder.values():
            for at in same:
                others = [found[index].shown for index in same if files[index] != files[at]]
                if others:
                    checked[at] = replace(found[at], problem=_SHARED.format(found[at], others[0]))
        return checked

    async def outline(self, scenario: ScenarioEntry) -> Outline:
        """Return what pytest knows of a scenario once it has read its data."""
        command = self.command(*LOOKING, scenarios=[scenario.path])
        async with started(command, self.folder) as child:
            status = await child.wait()
            figures = {one["variant"]: one for one in child.events if one["event"] == "scenario"}
            problems = [one["text"] for one in child.events if one["event"] == "problem"]
            if not figures and not problems:
                problems = [f"pytest ended with exit status {status}:\n{child.terminal()}"]
            return Outline({} if problems else figures, tuple(problems))


_LISTED: Final = 10


def pick(kind: str, name: str, known: Sequence[str], *, begins: bool = False) -> str:
    """Return ``name`` if it is in ``known``, else raise UserError.

    With ``begins``, return also the only name in ``known`` that starts with it.
    """
    if name in known:
        return name
    begun = [one for one in known if one.startswith(name)] if begins and name else []
    if len(begun) == 1:
        return begun[0]
    shown = f"{kind} {shorten(name)!r}"
    nearest = sorted(known, key=lambda one: -SequenceMatcher(None, name[:100], one).ratio())
    if begun:
        message = f"{shown} is the beginning of {len(begun)}: {_listed(begun)}"
    elif not known:
        message = f"unknown {shown}: there is none"
    else:
        message = f"unknown {shown}.{did_you_mean(name, known)} Known: {_listed(nearest)}"
    raise UserError([Problem("", message)])


def _listed(names: Iterable[str]) -> str:
    return listed(map(shorten, names), _LISTED)
