"""Cases that a judge failed on in the same way: one error in full, a line for the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_rageval.model import SampleResult
from pytest_rageval.stats.summary import judge_failure
from pytest_rageval.text.printable import printable


def fold(reports: list[Any], results: Mapping[str, SampleResult]) -> tuple[list[Any], list[str]]:
    """Return the reports that are to be shown in full, in their order, and a line for each kind.

    ``results`` are those of the cases by node id; a report of another test is shown in full.
    """
    first: dict[str, str] = {}
    others: dict[str, int] = {}
    shown = []
    for report in reports:
        result = results.get(report.nodeid)
        kind = judge_failure(result) if result is not None and report.when == "setup" else ""
        if not kind or kind not in first:
            shown.append(report)
            first[kind] = report.nodeid
        else:
            others[kind] = others.get(kind, 0) + 1
    lines = [
        f"{first[kind].rpartition('::')[2]} and {count} more cases: ERROR ({kind}); -v shows each"
        for kind, count in others.items()
    ]
    return shown, [printable(line) for line in lines]
