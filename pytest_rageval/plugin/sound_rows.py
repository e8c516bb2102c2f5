"""For ``-p`` in the hook for pre-commit: a row that would be an ERROR is refused at once."""

from __future__ import annotations

import pytest

from pytest_rageval.errors import listed
from pytest_rageval.model import InvalidRow
from pytest_rageval.plugin.run.items import case_of

_LISTED = 10


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse rows that are no samples, unless scenario or row says that they may be none."""
    cases = [case for item in session.items if (case := case_of(item)) is not None]
    found = [
        f"{case.plan.info.path}: {_place(case.case)}: {case.case.reason}"
        for case in cases
        if isinstance(case.case, InvalidRow)
        and case.plan.on_invalid == "fail"
        and case.case.skip is None
        and case.case.xfail is None
    ]
    if found:
        raise pytest.UsageError(listed(found, _LISTED, "\n"))


def _place(row: InvalidRow) -> str:
    """Return which row of the data it is, with its line if it has one."""
    return f"row {row.row} ({row.id}" + (f", line {row.line})" if row.line else ")")
