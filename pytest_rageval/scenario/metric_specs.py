"""The metrics of a scenario file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from pytest_rageval.errors import unknown_name
from pytest_rageval.import_path import ImportPathError, split_path
from pytest_rageval.model import value_text
from pytest_rageval.scenario.fields import FIELD_OF, NEEDED_FIELDS
from pytest_rageval.scenario.spec import (
    Count,
    Name,
    Number,
    Seconds,
    Spec,
    expected,
    without_own_keys,
)


class MetricSpec(Spec):
    """One entry under ``metrics``: a name, or a name with its options; or ``use`` an import path.

    The fields between ``use`` and ``options`` describe a metric of the user's own.
    """

    metric: Name = Field(description="a built-in metric, or an import path")
    name: Name | None = Field(None, description="how results call it; its own name when absent")
    use: Name | None = Field(None, description="import path of one's own metric, pkg.mod:attr")
    range: Annotated[tuple[Number | None, Number | None] | None, expected("[lowest, highest]")] = (
        Field(None, description="lowest and highest score, null for no end; 0 and 1 when absent")
    )
    needs: list[Name] | None = Field(None, description="fields that a row must have")
    asks: list[Literal["judge", "embedding"]] | None = Field(None, description="models it asks")
    higher_is_better: bool | None = Field(None, description="true when absent")
    version: Count | None = Field(None, description="another one makes saved runs incomparable")
    timeout_s: Seconds | None = Field(None, description="for one sample; async functions only")
    options: dict[str, Any] = Field({}, description="the metric's own")

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"metric": data}
        if isinstance(data, dict) and "use" in data:
            return _used_metric(data, cls.model_fields)
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError(
                "write a metric as 'f1' or as 'f1: {normalizer: squad}', one of your own as "
                "{use: 'my_metrics:politeness'}"
            )
        ((metric, options),) = data.items()
        if options is not None and not isinstance(options, dict):
            raise ValueError(f"the options of {metric!r} must be a mapping, found {options!r}")
        options = without_own_keys(options or {})
        if "use" in options:
            return _used_metric({"name": metric, **options}, cls.model_fields)
        return {"metric": metric, "name": options.pop("name", None), "options": options}

    @property
    def attribute(self) -> str | None:
        """The last name of the import path: that of the metric unless it is given one."""
        return None if self.use is None else re.split(r"[:.]", self.use)[-1]

    @field_validator("use")
    @classmethod
    def _use_is_an_import_path(cls, path: str | None) -> str | None:
        if path is not None:
            try:
                split_path(path)
            except ImportPathError as error:
                raise ValueError(str(error)) from None
        return path

    @field_validator("range")
    @classmethod
    def _range_ascends(
        cls, ends: tuple[float | None, float | None] | None
    ) -> tuple[float | None, float | None] | None:
        low, high = ends or (None, None)
        if low is not None and high is not None and low >= high:
            ends_text = f"{value_text(low)} and {value_text(high)}"
            raise ValueError(f"expected the lower end first, found {ends_text}")
        return ends

    @field_validator("needs")
    @classmethod
    def _needs_are_fields(cls, needs: list[str] | None) -> list[str] | None:
        for name in needs or ():
            if FIELD_OF.get(name) not in NEEDED_FIELDS:
                raise ValueError(unknown_name("field", name, NEEDED_FIELDS))
        return None if needs is None else sorted({FIELD_OF[name] for name in needs})


def _used_metric(data: dict[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return a metric of the user's own: what the schema does not know are its options."""
    known = set(fields) - {"metric", "options"}
    own = {key: value for key, value in data.items() if key in known}
    rest = {key: value for key, value in data.items() if key not in known}
    return {**own, "metric": data["use"], "options": without_own_keys(rest)}
