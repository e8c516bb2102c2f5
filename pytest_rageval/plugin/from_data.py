"""``--rag-init --rag-from=FILE`` writes a scenario for data as they are, and what it rests on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import RagevalError
from pytest_rageval.first_scenario.propose import (
    Proposal,
    answered_by,
    found_lines,
    propose,
    rows_in_words,
    unread_lines,
)
from pytest_rageval.first_scenario.workflow import SERVICES, shell_word, workflow_text
from pytest_rageval.plugin.options import SET
from pytest_rageval.plugin.show.stdout import say
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.text.cells import cells, cut, pad
from pytest_rageval.text.printable import one_line, printable

_WIDTHS = (28, 20, 48)
_EXTRAS = {".xlsx": "xlsx", ".xlsm": "xlsx", ".parquet": "parquet", ".pq": "parquet"}


def write_first_scenario(config: pytest.Config) -> int:
    """Write a scenario for the file of ``--rag-from``, say what was found, return exit status 0.

    With ``--rag-ci`` also a workflow. Nothing is overwritten. For data that cannot be measured
    nothing is written: a usage error says what they lack.
    """
    here = config.invocation_params.dir
    folder, data = _places(config)
    service = config.getoption("rag_ci")
    if service is not None and service not in SERVICES:
        raise _misused(f"--rag-ci={service}: expected {', '.join(SERVICES)}")
    try:
        proposal = propose(data, folder, _given(config))
    except RagevalError as error:
        raise _misused(_with_hint(f"--rag-from={config.getoption('rag_from')}: {error}")) from error
    files = {folder / proposal.file_name: proposal.text}
    if service is not None:
        path, text = _workflow(proposal, here, folder, data)
        files[path] = text
    _write(files)
    say(_report(proposal, [os.path.relpath(path, here) for path in files]))
    return int(pytest.ExitCode.OK)


def _places(config: pytest.Config) -> tuple[Path, Path]:
    """Return the folder to write into and the data file; raises UsageError without one of them."""
    named, folder = config.getoption("rag_from"), config.getoption("rag_init")
    if folder is None:
        raise _misused(f"--rag-from needs --rag-init: pytest --rag-init --rag-from={named}")
    here = config.invocation_params.dir
    data, target = here / named, here / folder
    if not named or not data.is_file():
        kind = "is a folder" if named and data.is_dir() else "is no file"
        raise _misused(f"--rag-from={named}: {str(data)!r} {kind}; name a file with rows of data")
    if target.exists() and not target.is_dir():
        raise _misused(
            f"--rag-init={folder} is no folder; the data go to --rag-from: "
            f"pytest --rag-init --rag-from={named}"
        )
    return target, data


def _given(config: pytest.Config) -> dict[str, Any]:
    """Return the keys of ``dataset`` that ``--rag-set`` names; raises UsageError for others."""
    given: dict[str, Any] = {}
    for text in SET.values(config):
        override = set_override(SET.flag, text)
        match override.path:
            case ("dataset", "key_map", name):
                given.setdefault("key_map", {})[name] = override.value
            case ("dataset", key) if key != "path":
                given[key] = override.value
            case _:
                message = "with --rag-from, only keys of 'dataset' but 'path' can be set"
                raise _misused(f"--rag-set {text}: {message}")
    return given


def _with_hint(message: str) -> str:
    """Return the message, with how to set a key of the data here if it names one."""
    key = re.search(r"\b(encoding|delimiter|sheet|format|rows_at|max_mb): ", message)
    if key is None and (field := re.search(r"\bboth names of '(\w+)'", message)):
        return f"{message}. Here: --rag-set=dataset.key_map.{field[1]}=COLUMN"
    return f"{message}. Here: --rag-set=dataset.{key[1]}=VALUE" if key else message


def _workflow(proposal: Proposal, here: Path, folder: Path, data: Path) -> tuple[Path, str]:
    """Return the path of the workflow, at the root of the repository, and its text."""
    root = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    extras = sorted({_EXTRAS[suffix] for suffix in data.suffixes if suffix in _EXTRAS})
    where = os.path.relpath(here, root).replace(os.sep, "/")
    scenario = os.path.relpath(folder / proposal.file_name, here).replace(os.sep, "/")
    asks = bool(proposal.measures.asks)
    text = workflow_text(scenario, extras, "" if where == "." else where, asks=asks)
    return root / SERVICES["github"], text


def _write(files: dict[Path, str]) -> None:
    existing = [str(path) for path in files if path.exists()]
    if existing:
        hint = "delete it, or give --rag-init another folder: --rag-init=evals"
        raise _misused(f"--rag-init: {', '.join(existing)} exists already; {hint}")
    try:
        for path, text in files.items():
            write_atomically(path, [text])
    except OSError as error:
        raise _misused(f"--rag-init: {error}") from error


def _report(proposal: Proposal, written: list[str]) -> str:
    table, count = proposal.table, len(proposal.invalid)
    lines = [f"{table.rows} rows, {count} of them invalid" if count else f"{table.rows} rows"]
    lines += _columns(proposal)
    if count:
        first = proposal.invalid[0]
        place = f"line {first.line}" if first.line else f"row {first.row}"
        lines += ["", f"invalid rows are red; the first is {place}: {first.reason}"]
    if unread := list(unread_lines(proposal)):
        lines += ["", *unread]
    if bare := proposal.measures.bare_rows:
        lines += ["", f"{bare} of {table.rows} rows have nothing to compare an answer with"]
    lines += ["", _trial(proposal), "", *(f"wrote {path}" for path in written)]
    if proposal.measures.asks:
        lines += [
            "the data have no answers: name your system under 'target' in the scenario, or run",
            f"    {answered_by(proposal)}",
        ]
    else:
        lines.append(f"run it:  pytest {shell_word(written[0])}")
    return "\n".join(lines) + "\n"


def _columns(proposal: Proposal) -> list[str]:
    rows = [("column", "field", "example"), *found_lines(proposal)]
    width = min(_WIDTHS[0], max(cells(row[0]) for row in rows))
    return [
        "  ".join(
            pad(cut(one_line(part), size), size)
            for part, size in zip(row, (width, *_WIDTHS[1:]), strict=True)
        ).rstrip()
        for row in rows
    ]


def _trial(proposal: Proposal) -> str:
    result = proposal.tried
    if result is None:
        return "the columns were tried, without a system to ask"
    named = {name: result.mean_of(name) for name in (*result.metrics, "weighted_score")}
    scores = ", ".join(f"{name} {_score(mean)}" for name, mean in named.items())
    return f"tried on {rows_in_words(result)}: {scores}"


def _score(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.4f}"


def _misused(message: str) -> pytest.UsageError:
    return pytest.UsageError(printable(message))
