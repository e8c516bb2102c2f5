"""The section ``diagnose`` of a scenario file: what tells the cause of a low answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.spec import Name, Spec


class DiagnoseSpec(Spec):
    """The metrics that tell causes apart; the words of the texts do where one is absent."""

    retrieval: Name | None = Field(
        None, description="low where the contexts lack the reference; context_recall when absent"
    )
    generation: Name | None = Field(
        None,
        description="low where the answer says what the contexts do not; faithfulness when absent",
    )


def true_or_mapping(value: Any) -> Any:
    """Return the mapping that ``true`` stands for, None for ``false``."""
    if isinstance(value, bool):
        return {} if value else None
    if value is None or isinstance(value, dict | DiagnoseSpec):
        return value
    found = shorten(repr(value))
    raise ValueError(f"expected true or {{retrieval: METRIC, generation: METRIC}}, found {found}")
