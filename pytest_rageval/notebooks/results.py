"""What ``evaluate`` returns: a result that notebooks show, and that data frames hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from pytest_rageval.model import ScenarioResult
from pytest_rageval.notebooks.frames import columns_of, frame_of


class EvaluationResult(ScenarioResult, frozen=True):
    """A result with ``to_frame``; notebooks show its means, gates and worst samples."""

    library: str = ""
    """The library of the data frame that the rows came from, as ``pandas``; empty without one."""

    @classmethod
    def of(cls, result: ScenarioResult, library: str = "") -> EvaluationResult:
        """Return a result as this class."""
        if isinstance(result, cls):
            return result
        values = {part.name: getattr(result, part.name) for part in fields(result)}
        return cls(**values, library=library)

    def to_frame(self) -> Any:
        """Return a data frame with a row for each sample, in dataset order.

        It is of the library that the rows came from, else of pandas, else of polars; raises
        MissingExtraError if neither is installed. Missing scores are NaN in pandas, else null.
        """
        return frame_of(columns_of([self]), self.library)

    def __repr__(self) -> str:
        # Not at the top: scripts print no results, and need nothing of the reports.
        from pytest_rageval.notebooks.html import result_text

        return f"<{type(self).__name__} {result_text(self)}>"

    def _repr_html_(self) -> str:
        from pytest_rageval.notebooks.html import result_html

        return result_html(self)


def frame_of_all(results: Sequence[ScenarioResult]) -> Any:
    """Return a data frame with the samples of variants; the column ``variant`` has their names."""
    libraries = (result.library for result in results if isinstance(result, EvaluationResult))
    return frame_of(columns_of(results), next(filter(None, libraries), ""))
