"""Describe an exception of user code: its text, and the last lines that it came through."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

from pytest_rageval.errors import shorten

_OWN: Final = str(Path(__file__).resolve().parent.parent)
_FRAMES = 3
_LONGEST = 500


def describe_exception(error: BaseException) -> str:
    """Return type and text of ``error`` in one line, then its last frames, a line each.

    ::

        KeyError: 'chunks'
          rag.py:31 in search: return index["chunks"]
    """
    return "\n".join([_head(error), *(f"  {frame}" for frame in _frames(error))])


def _head(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = shorten(" ".join(str(error).split()), _LONGEST)
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        text = ""
    return f"{name}: {text}" if text else name


def _frames(error: BaseException) -> list[str]:
    """Return the last frames outside of this package."""
    found = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in found if not frame.filename.startswith(_OWN)]
    return [_shown(frame) for frame in theirs[-_FRAMES:]]


def _shown(frame: traceback.FrameSummary) -> str:
    place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
    return f"{place}: {shorten(frame.line, 120)}" if frame.line else place
