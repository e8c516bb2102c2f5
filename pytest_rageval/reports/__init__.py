"""Files written after a run. A module of this folder that defines REPORTS adds one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "labels": (),
    "made_questions": (),
    "needed_rows": (),
    "page": (),
    "what_is_wrong": (),
}
"""What has no report of its own: no run loads it to look for one."""
