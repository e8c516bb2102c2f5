"""Where runs and saved runs are kept: ``<output>/<scenario>/<run id>/`` and ``.../baselines/``."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

DEFAULT_OUTPUT = ".rageval"

EVALUATION_ROWS: Final = "evaluation_rows.json"
"""The report with the full expected contexts; results carry them only if it is written."""

ImportMode = Literal["prepend", "append", "importlib"]
"""How folders get into ``sys.path`` for imports by path: first, last, not; pytest's own names."""

RUN_ID: Final = re.compile(r"\d{8}T\d{6}-")
"""How the id of a run begins, the name of its folder."""

NO_GLOB: Final = str.maketrans("[]", "()")
"""What becomes of brackets in names of files: pytest cannot run a file that has them."""

_MAX_NAME_BYTES = 200
# Names that Windows reserves for devices, with any suffix, and files in the folder of all runs.
_RESERVED = re.compile(
    r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|history\.(csv|sqlite.*)|cachedir\.tag", re.IGNORECASE
)
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The folders of a session: ``output`` and ``baselines`` are set if the user named them."""

    root: Path
    output: Path | None = None
    baselines: Path | None = None
    saving: str | None = None
    """The name under which this session saves its runs as baselines, if it does."""
    saves_failed: bool = False
    """Whether red runs are saved, too."""
    import_mode: ImportMode = "prepend"
    answers: Path | None = None
    """The data file to which this session saves the answers, if it does."""
    keeps_expected: bool = False
    """Whether this session writes a report with the full expected contexts, or might."""
    keeps_rows: bool = False
    """Whether the answers are kept as rows of a data set, for what saves them later."""

    def saves(self, name: str) -> bool:
        """Return whether this session saves its runs under ``name``."""
        if self.saving is None:
            return False
        return name == self.saving or (
            is_path(name) and is_path(self.saving) and self.root / name == self.root / self.saving
        )

    def shown(self, path: Path) -> str:
        """Return a path as messages show it: relative to the root if it is below the root."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    def typed(self, path: Path | str) -> str:
        """Return a path below the root as it is typed: from the working directory, quoted."""
        return shlex.quote(os.path.relpath(self.root / path))

    def run_base(self, output_dir: str | None) -> Path:
        """Return the base of the run folders of a scenario with this ``output_dir``."""
        return self.output or self.root / (output_dir or DEFAULT_OUTPUT)

    def labels_folder(self, scenario: str, output_dir: str | None) -> Path:
        """Return the folder of the samples of a scenario that were drawn to be labelled."""
        return self.run_base(output_dir) / run_folder(scenario) / "labels"

    def baseline_folder(self, scenario: str, output_dir: str | None) -> Path:
        """Return the folder of a scenario's saved runs, each of them ``<name>.json``."""
        if self.baselines is not None:
            return self.baselines / run_folder(scenario)
        return self.run_base(output_dir) / run_folder(scenario) / "baselines"

    def baseline_file(self, name: str, scenario: str, output_dir: str | None) -> Path:
        """Return the file of the saved run ``name``, which may be a path relative to the root."""
        if is_path(name):
            return self.root / name
        folder = self.baseline_folder(scenario, output_dir)
        return folder / f"{folder_name(name)}.json"

    def known_baseline_file(self, name: str, scenario: str, output_dir: str | None) -> Path:
        """Return the file to read; if it does not exist, the one written by an earlier version.

        Earlier versions did not split a name at ``::``, still earlier ones added no digest to the
        folder of a scenario.
        """
        file = self.baseline_file(name, scenario, output_dir)
        if is_path(name) or file.exists():
            return file
        base = self.baselines or self.run_base(output_dir)
        inside = "" if self.baselines else "baselines"
        earlier = (
            base / folder / inside / file.name
            for folder in (folder_name(scenario), plain_folder_name(scenario))
        )
        return next((candidate for candidate in earlier if candidate.exists()), file)

    def compared_file(self, name: str, scenario: str, output_dir: str | None, folder: Path) -> Path:
        """Return the file of a run to compare with: a path may also be relative to ``folder``.

        That is the folder of the scenario's file.
        """
        file, beside = self.known_baseline_file(name, scenario, output_dir), folder / name
        return beside if is_path(name) and not _is_there(file) and _is_there(beside) else file


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long, for instance
        return False


def run_folder(title: str) -> Path:
    """Return the folder of the runs of a scenario or variant, relative to the folder of all runs.

    >>> run_folder("support-bot::gpt: 4o").as_posix()
    'support-bot/gpt_ 4o-5729d0'
    """
    # Not at the top: every start of pytest loads this module.
    from pytest_rageval.model import SEPARATOR

    return Path(*(folder_name(part) for part in title.split(SEPARATOR, 1)))


def base_of(folder: Path, title: str) -> Path:
    """Return the base of all runs, of the run folder ``folder`` of the scenario ``title``."""
    return folder.parents[len(run_folder(title).parts)]


def of_variant(path: Path, variant: str) -> Path:
    """Return the file of one variant, where each variant is asked to write ``path``."""
    return path.with_stem(f"{path.stem}-{folder_name(variant)}") if variant else path


def is_path(name: str) -> bool:
    """Return whether the name of a saved run is the path of its file."""
    return "/" in name or "\\" in name or name.endswith(".json")


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, by a link or on a disk that knows no capitals, too."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return one.resolve() == other.resolve()


def folder_name(name: str) -> str:
    """Return ``name`` as a folder name that is valid on any system.

    A digest is added to names that must be changed or are reserved, so that no two share a folder,
    except for names that differ in capitals alone, on a disk that knows none.

    >>> folder_name("支持 v2"), folder_name("bots/支持: v2")
    ('支持 v2', 'bots_支持_ v2-c35374')
    """
    text = unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode("utf-8")
    safe = plain_folder_name(name)
    if safe == text and not _RESERVED.fullmatch(safe):
        return safe
    return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def plain_folder_name(name: str) -> str:
    """Return ``name`` as a valid folder name; different names may give the same one."""
    text = unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode("utf-8")
    safe = _UNSAFE.sub("_", text).strip(" .").encode()[:_MAX_NAME_BYTES]
    return safe.decode("utf-8", "ignore").rstrip(" .") or "scenario"
