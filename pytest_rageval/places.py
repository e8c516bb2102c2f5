"""Where runs and saved runs are kept: ``<output>/<scenario>/<run id>/`` and ``.../baselines/``."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DEFAULT_OUTPUT = ".rageval"

ImportMode = Literal["prepend", "append", "importlib"]
"""How the folders of what is imported by its path come to ``sys.path``; pytest's own names."""

_MAX_NAME_BYTES = 200
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a session: ``output`` and ``baselines`` are what the user asked for, if so."""

    root: Path
    output: Path | None = None
    baselines: Path | None = None
    saving: str | None = None
    """The name under which this session saves its runs, if it does."""
    import_mode: ImportMode = "prepend"
    answers: Path | None = None
    """The data file to which this session saves the answers that it is given, if it does."""

    def saves(self, name: str) -> bool:
        """Return whether this session saves its runs under ``name``."""
        if self.saving is None:
            return False
        return name == self.saving or (
            is_path(name) and is_path(self.saving) and self.root / name == self.root / self.saving
        )

    def shown(self, path: Path) -> str:
        """Return a path as messages name it: relative to the root where it lies below it."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    def run_base(self, output_dir: str | None) -> Path:
        """Return the base of the run folders of a scenario that asks for ``output_dir``."""
        return self.output or self.root / (output_dir or DEFAULT_OUTPUT)

    def baseline_folder(self, scenario: str, output_dir: str | None) -> Path:
        """Return where the saved runs of a scenario are, each as ``<name>.json``."""
        if self.baselines is not None:
            return self.baselines / folder_name(scenario)
        return self.run_base(output_dir) / folder_name(scenario) / "baselines"

    def baseline_file(self, name: str, scenario: str, output_dir: str | None) -> Path:
        """Return the file of the saved run ``name``, which may be a path: relative to the root."""
        if is_path(name):
            return self.root / name
        return self.baseline_folder(scenario, output_dir) / f"{folder_name(name)}.json"


def is_path(name: str) -> bool:
    """Return whether the name of a saved run is the path of its file."""
    return "/" in name or "\\" in name or name.endswith(".json")


def folder_name(name: str) -> str:
    """Return ``name`` as one folder name on any system.

    >>> folder_name("bots/支持: v2")
    'bots_支持_ v2'
    """
    text = unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode("utf-8")
    safe = _UNSAFE.sub("_", text).strip(" .").encode()[:_MAX_NAME_BYTES]
    return safe.decode("utf-8", "ignore").rstrip(" .") or "scenario"
