"""Files written after a run. A module of this folder that defines REPORTS adds one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {"labels": (), "page": ()}
"""Folders without a report of their own: no run loads them to look for one."""
