"""What control rows say of a judge: whether it can do what a metric asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """Whether the judge of a metric tells good rows from bad ones.

    ``passed`` is None where that is not known, and ``reason`` says why, or what the judge does not
    tell apart. ``set`` is the number of the rows' set, None for rows of the user's own. ``good``
    and ``bad`` are the scores of the rows that were asked, None for one without a usable reply.
    """

    passed: bool | None
    set: int | None = None
    good: Sequence[float | None] = ()
    bad: Sequence[float | None] = ()
    reason: str = ""

    def remark(self, metric: str) -> str:
        """Return what is to be said of a metric's figure; "" of one that passed, or has no rows."""
        if self.passed or self == NO_CONTROLS:
            return ""
        if self.passed is None:
            return f"{metric}: the judge is not tested, control rows are left out: {self.reason}"
        rows = f"control rows: good {_listed(self.good)}, bad {_listed(self.bad)}"
        return f"{metric}: {self.reason} ({rows}): do not trust this figure"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-plain mapping, the layout of ``results.json``."""
        return {
            "passed": self.passed,
            "set": self.set,
            "good": list(self.good),
            "bad": list(self.bad),
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ControlVerdict:
        """Return what ``to_dict`` took apart."""
        good, bad = tuple(plain["good"]), tuple(plain["bad"])
        return cls(plain["passed"], plain["set"], good, bad, plain.get("reason", ""))


def _listed(values: Sequence[float | None]) -> str:
    return " ".join("-" if value is None else f"{value:.3g}" for value in values)


def verdicts_of(
    controls: Mapping[str, str], find: Callable[[str], ControlVerdict | None]
) -> dict[str, ControlVerdict]:
    """Return the verdict of each metric; ``find`` returns that of the rows with this digest."""
    return {
        name: (find(digest) or _NOT_ASKED) if digest else NO_CONTROLS
        for name, digest in controls.items()
    }


_NOT_ASKED = ControlVerdict(None, reason="they were not asked")

NO_CONTROLS = ControlVerdict(None, reason="no controls")
"""The verdict of a metric that has no control rows."""
