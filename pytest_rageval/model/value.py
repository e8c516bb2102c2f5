"""The base of values that cross process and layer borders."""

from __future__ import annotations

from dataclasses import Field, make_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A number of samples or the like; what is read from a file is within 64 bits."""

Figure = Annotated[float, Meta(ge=-1e100, le=1e100)]
"""A score, which is small enough that sums of scores stay finite."""


class _Fields:
    """The fields as ``dataclasses`` knows them, made for those who ask: see ``Value``."""

    def __get__(self, _: object, kind: type[Struct]) -> dict[str, Field[Any]]:
        return _fields_of(kind)


@cache
def _fields_of(kind: type[Struct]) -> dict[str, Field[Any]]:
    made = make_dataclass("Made", kind.__struct_fields__, init=False, repr=False, eq=False)
    fields: dict[str, Field[Any]] = vars(made)["__dataclass_fields__"]
    return fields


class Value(Struct, frozen=True, gc=False):
    """A frozen struct that ``dataclasses.replace``, ``fields`` and ``asdict`` take, too.

    Users call these with results. ``gc=False``: a value is in no cycle, so that Python's garbage
    collector need not look at it.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = _Fields()  # type: ignore[assignment]
