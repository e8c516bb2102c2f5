"""What can be measured by a data file, as JSON: read in a process of its own, which may be ended.

``python -m pytest_rageval.serving.proposing FILE`` reads from FILE, as JSON, what is asked, and
writes one event, as other children of the app do. Nothing in the data file is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.proposer.columns import Table
from pytest_rageval.datasets.proposer.propose import Mapped
from pytest_rageval.errors import RagevalError
from pytest_rageval.first_scenario.measures import covered
from pytest_rageval.first_scenario.propose import Proposal, propose
from pytest_rageval.first_scenario.questions import UndecidedError
from pytest_rageval.serving.children import OUTPUT
from pytest_rageval.text.printable import one_line

MODULE: Final = "pytest_rageval.serving.proposing"
_PROPOSED: Final = re.compile(r"set dataset\.encoding: ([\w-]+)")
"""What ``datasets.base.encoding_hint`` says of a file in another encoding."""
_MOST_COLUMNS = 300
_MOST_LISTED = 20


def proposed(
    data: Path, folder: Path, given: Mapping[str, Any], target: str = "", name: str = ""
) -> dict[str, Any]:
    """Return the columns of a file and the scenario to write, or what is open; see ``propose``.

    What is open is a question or a problem; its ``choices`` are keys of ``given`` that settle it.
    """
    try:
        found = propose(data, folder, given, target, name)
    except UndecidedError as error:
        columns = []
        if error.table is not None and error.mapped is not None:
            columns = list(_listed(error.table, error.mapped))
        choices = [{"case": one.case, "keys": one.keys} for one in error.choices]
        question = {"text": error.said, "choices": choices or _encodings(error.said)}
        return {"columns": columns, "question": question, "scenario": None, "problem": None}
    except RagevalError as error:
        ways = {"problem": str(error), "choices": _encodings(str(error))}
        return {"columns": [], "question": None, "scenario": None, **ways}
    return {
        "columns": list(_listed(found.table, found.mapped)),
        "question": None,
        "scenario": _scenario(found),
        "problem": None,
    }


def _encodings(message: str) -> list[dict[str, Any]]:
    """Return the encoding that a message proposes for the file, as a choice; [] without one."""
    found = _PROPOSED.search(message)
    if found is None:
        return []
    return [{"case": f"Read as {found[1].upper()}", "keys": {"encoding": found[1]}}]


def _listed(table: Table, mapped: Mapped) -> Iterator[dict[str, Any]]:
    """Yield the first columns, each with the field that it serves, and why."""
    serves = {found.column: (name, found.why) for name, found in mapped.fields.items()}
    for column in table.columns[:_MOST_COLUMNS]:
        field, why = serves.get(column.name, ("", ""))
        yield {
            "name": column.name,
            "field": field,
            "why": why,
            "cells": column.in_words,
            "examples": list(column.examples),
        }


def _scenario(found: Proposal) -> dict[str, Any]:
    """Return what will be written, and what it rests on."""
    measures, tried, first = found.measures, found.tried, found.invalid[:1]
    return {
        "name": found.name,
        "file": found.file_name,
        "text": found.text,
        "digest": text_digest(found.text),
        "rows": found.table.rows,
        "metrics": list(measures.metrics),
        "gates": [list(gate) for gate in measures.gates],
        "missed": [list(gate) for gate in found.missed],
        "tried": None
        if tried is None
        else {
            "rows": len(tried.samples),
            "means": {name: tried.mean_of(name) for name in (*tried.metrics, "weighted_score")},
        },
        "covered": [list(one) for one in covered(found.table, found.mapped, measures)],
        "judged": measures.judged,
        "asks": list(measures.asks),
        "module": None if found.target is None else found.target[0],
        "module_text": None if found.target is None else found.target[1],
        "bare": measures.bare_rows,
        "odd": list(measures.odd_rows[:_MOST_LISTED]),
        "odd_count": len(measures.odd_rows),
        "invalid": len(found.invalid),
        "first_invalid": first[0].reason if first else "",
        "open": [one_line(line.partition("--rag-set")[0]) for line in found.open_lines],
    }


def text_digest(text: str) -> str:
    """Return the digest by which a scenario is known to be the one that was shown."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def main(asked: str) -> None:
    """Append one event, the proposal for what the file ``asked`` says, to the file of events."""
    keys = json.loads(Path(asked).read_text("ascii"))
    data, folder = Path(keys.pop("data")), Path(keys.pop("folder"))
    event = {"event": "proposal", **proposed(data, folder, **keys)}
    line = json.dumps(event, ensure_ascii=True, default=str)
    with Path(os.environ[OUTPUT]).open("a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1])
