"""Imports a promptfoo configuration that a test writes, beside the files that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_rageval.importing.base import Imported
from pytest_rageval.importing.promptfoo import import_promptfoo

Read = Callable[..., Imported]


def imported(folder: Path, text: str, **files: str) -> Imported:
    """Return ``bot.yaml`` with this text as imported; ``t__csv`` is the file ``t.csv``."""
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    path = folder / "bot.yaml"
    path.write_text(text, encoding="utf-8")
    return import_promptfoo(path, "bot.yaml")
