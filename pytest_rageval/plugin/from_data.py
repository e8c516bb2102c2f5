"""``--rag-init --rag-from=FILE`` writes a scenario for data as they are, and says what it found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import RagevalError, listed, shorten
from pytest_rageval.first_scenario.measures import covered
from pytest_rageval.first_scenario.propose import Proposal, propose
from pytest_rageval.first_scenario.scenario_text import (
    SERVICES,
    file_stem,
    rows_in_words,
    shell_word,
    step_text,
    what_to_add,
    workflow_text,
)
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.options import SET
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import cells, cut, one_line, pad

_WIDTHS = (20, 36, 40, 60)
_LISTED = 5
_LISTED_COLUMNS = 12
_EXTRAS = {".xlsx": "xlsx", ".xlsm": "xlsx", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True)
class FirstFiles:
    """The files of a first scenario for ``data``, in ``folder``; shown as seen from ``here``.

    ``service`` is that of CI, None where no workflow is asked for.
    """

    here: Path
    folder: Path
    data: Path
    service: str | None

    @property
    def scenario(self) -> Path:
        """The file to write."""
        return self.folder / f"{file_stem(self.data.name)}.rageval.yaml"

    @property
    def workflow(self) -> Path | None:
        """The workflow, at the root of the repository; None where none is asked for."""
        return self._root / SERVICES[self.service] if self.service is not None else None

    @property
    def _root(self) -> Path:
        above = (self.here, *self.here.parents)
        return next((one for one in above if (one / ".git").exists()), self.here)

    def shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        return path_from(path, self.here)

    @property
    def step(self) -> str:
        """The step of a workflow that runs the scenario."""
        return step_text(self._named)

    @property
    def _named(self) -> str:
        return self.shown(self.scenario).replace(os.sep, "/")

    def left_to_add(self, workflow: str) -> str:
        """Return how to have an existing workflow run the scenario, "" if it does already."""
        return what_to_add(workflow, self._named)

    def workflow_text(self, *, asks: bool) -> str:
        """Return the workflow; ``asks`` says that a system has to be installed, too."""
        where = os.path.relpath(self.here, self._root).replace(os.sep, "/")
        extras = sorted({_EXTRAS[suffix] for suffix in self.data.suffixes if suffix in _EXTRAS})
        return workflow_text(self.step, extras, "" if where == "." else where, asks=asks)


def write_first_scenario(config: pytest.Config) -> int:
    """Write a scenario for the file of ``--rag-from``, say what was found, return exit status 0.

    With ``--rag-ci`` also a workflow; where the data have no answers, also a module with a function
    to fill in. Nothing is overwritten; beside a scenario that exists, only a workflow is written.
    Data that cannot be measured are a UsageError, which says what they lack: nothing is written.
    """
    asked = _asked(config)
    if asked.scenario.exists():
        return _write_workflow_only(asked)
    try:
        proposal = propose(asked.data, asked.folder, *given_of(SET.overrides(config)))
    except RagevalError as error:
        raise misused(with_hint(f"--rag-from={config.getoption('rag_from')}: {error}")) from error
    files = {asked.scenario: proposal.text}
    if proposal.target is not None:
        name, text = proposal.target
        files[asked.folder / name] = text
    if asked.workflow is not None:
        files[asked.workflow] = asked.workflow_text(asks=bool(proposal.measures.asks))
    lines = [*_found(proposal), "", *write_new(asked, files), *_next(asked, proposal)]
    say("\n".join(lines) + "\n")
    return int(pytest.ExitCode.OK)


def _write_workflow_only(asked: FirstFiles) -> int:
    """Add a workflow to a scenario that is there; raises UsageError if none is asked for."""
    if asked.workflow is None:
        hint = "delete it, or give --rag-init another folder: --rag-init=evals"
        raise misused(f"--rag-init: {asked.shown(asked.scenario)} exists already; {hint}")
    try:
        asks = re.search(r"^target:", asked.scenario.read_text("utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError) as error:
        raise misused(f"--rag-init: {asked.shown(asked.scenario)}: {error}") from error
    # Of files that exist, no text is written.
    texts = {asked.scenario: "", asked.workflow: asked.workflow_text(asks=asks)}
    say("\n".join(write_new(asked, texts)) + "\n")
    return int(pytest.ExitCode.OK)


def _asked(config: pytest.Config) -> FirstFiles:
    """Return what to write and where; raises UsageError if that cannot be."""
    named, folder = config.getoption("rag_from"), config.getoption("rag_init")
    if folder is None:
        raise misused(f"--rag-from needs --rag-init: pytest --rag-init --rag-from={named}")
    here = config.invocation_params.dir
    asked = FirstFiles(here, here / folder, here / named, config.getoption("rag_ci"))
    if not named or not asked.data.is_file():
        is_folder = bool(named) and asked.data.is_dir()
        kind = "is a folder" if is_folder else "is no file"
        message = f"{str(asked.data)!r} {kind}; name a file with rows of data"
        if is_folder:
            message += ", or have questions made of documents in it: --rag-questions=50"
        raise misused(f"--rag-from={named}: {message}")
    if asked.folder.exists() and not asked.folder.is_dir():
        raise misused(
            f"--rag-init={folder} is no folder; the data go to --rag-from: "
            f"pytest --rag-init --rag-from={named}"
        )
    check_service(asked.service)
    return asked


def path_from(path: Path, start: Path) -> str:
    """Return a path relative to a folder; unchanged where none leads there, on Windows."""
    try:
        return os.path.relpath(path, start)
    except ValueError:  # another drive
        return str(path)


def check_service(service: str | None) -> None:
    """Raise UsageError for a service of CI that no workflow is known for."""
    if service not in (None, *SERVICES):
        others = "docs/how-to/gates-in-ci.md has what to copy for GitLab and Jenkins"
        raise misused(f"--rag-ci={service}: expected {', '.join(SERVICES)}; {others}")


def given_of(overrides: Iterable[Override]) -> tuple[dict[str, Any], str]:
    """Return the keys of ``dataset``, and the target, that overrides name; "" for no target.

    ``variants``, a list of columns, is among the keys. Raises UsageError for any other key.
    """
    given: dict[str, Any] = {}
    target = ""
    for override in overrides:
        match override.path:
            case ("dataset", ("key_map" | "split") as key, name):
                whole = {} if given.get(key) is None else given[key]
                if not isinstance(whole, dict):
                    message = f"'dataset.{key}' is {shorten(repr(whole))}, which has no parts"
                    raise misused(f"{override.flag}: {message}; give one of the two")
                given[key] = {**whole, name: override.value}
            case ("dataset", key) if key != "path":
                given[key] = override.value
            case ("target",) if isinstance(override.value, str):
                target = override.value
            case ("variants",) if isinstance(override.value, str | list):
                columns = override.value
                given["variants"] = columns.split(",") if isinstance(columns, str) else columns
            case _:
                message = (
                    "with --rag-from, only keys of 'dataset' but 'path' can be set, 'target': "
                    "my_app.rag:answer, or an address, and 'variants': COLUMN,COLUMN"
                )
                raise misused(f"{override.flag}: {message}")
    return given, target


def with_hint(message: str) -> str:
    """Return the message; if it names a key of the data, with the option that sets it."""
    line = re.search(r"\b(?:set|write) (dataset\.\w+): ([\w-]+)", message)
    if line:  # a line for a scenario, which is not there yet
        return message.replace(line[0], f"write --rag-set={line[1]}={line[2]}")
    keys = r"(?<=dataset\.)encoding\b|\b(?:encoding|delimiter|sheet|format|rows_at|max_mb)(?=: )"
    key = re.search(keys, message)
    if key is None and (field := re.search(r"\bboth names of '(\w+)'", message)):
        return f"{message}. Here: --rag-set=dataset.key_map.{field[1]}=COLUMN"
    return f"{message}. Here: --rag-set=dataset.{key[0]}=VALUE" if key else message


def write_new(asked: FirstFiles, files: Mapping[Path, str]) -> Iterator[str]:
    """Write each file that is not there yet, then yield what became of it; raises UsageError."""
    for path, text in files.items():
        is_kept = path.exists()
        try:
            if not is_kept:
                write_atomically(path, [text])
        except OSError as error:
            raise misused(f"--rag-init: {error}") from error
        shown = asked.shown(path)
        yield f"kept {shown}, which is there already" if is_kept else f"wrote {shown}"
        of_workflow = path.read_text("utf-8", "replace") if path == asked.workflow else ""
        if is_kept and (left := of_workflow and asked.left_to_add(of_workflow)):
            yield f"In {shown}, {left}"


def _found(proposal: Proposal) -> list[str]:
    table, count = proposal.table, len(proposal.invalid)
    lines = [counted(table.rows, "row") + (f", {count} of them invalid" if count else "")]
    lines += _columns(proposal)
    if count:
        first = proposal.invalid[0]
        place = f"line {first.line}" if first.line else f"row {first.row}"
        lines += ["", f"invalid rows are red; the first is {place}: {first.reason}"]
    if proposal.open_lines:
        lines += ["", "not decided:", *(f"  {line}" for line in proposal.open_lines)]
    if odd := proposal.measures.odd_rows:
        rows = listed(map(str, odd), _LISTED)
        lines += ["", f"no answer can be searched for the reference of row {rows}"]
    if bare := proposal.measures.bare_rows:
        lines += ["", f"{bare} of {table.rows} rows have nothing to compare an answer with"]
    covers = covered(table, proposal.mapped, proposal.measures)
    shares = ", ".join(f"{name} {count}" for name, count in covers)
    lines += ["", f"rows with what a metric needs, of {table.rows}: {shares}"]
    lines += filter(None, [proposal.measures.may_hide])
    return [*lines, "", _trial(proposal)]


def _next(asked: FirstFiles, proposal: Proposal) -> Iterator[str]:
    """Yield what to do next: to write the target or to look at low answers, and the command."""
    command = f"pytest {shell_word(asked.shown(asked.scenario))}"
    if proposal.target is not None:
        file = asked.shown(asked.folder / proposal.target[0])
        lacking = " and ".join(proposal.measures.asks).replace("answer", "answers")
        yield f"the data have no {lacking}: write in {file} how your system is asked, then"
        yield f"run it:  {command}"
        yield f"or name a function that you have:  {command} --rag-set target=my_app.rag:answer"
        yield f"for good, write it into {asked.shown(asked.scenario)}: target: my_app.rag:answer"
        return
    yield f"run it:  {command}"
    if missed := [f"{name} {least:g}" for name, least in proposal.missed]:
        yield f"the rows tried are below the gate {' and '.join(missed)}: read the answers of the"
        yield f"run, then set in {asked.shown(asked.scenario)} what is good enough"


def _columns(proposal: Proposal) -> list[str]:
    """Return a line for each field: its column, why, what is in it; then the other columns."""
    rows = [("field", "column", "why", "cells")]
    for name, found in proposal.mapped.fields.items():
        column = proposal.table[found.column]
        rows.append((name, found.column, found.why, column.in_words))
    widths = [min(most, max(cells(row[at]) for row in rows)) for at, most in enumerate(_WIDTHS)]
    lines = []
    for number, row in enumerate(rows):
        parts = (cut(one_line(part), width) for part, width in zip(row, widths, strict=True))
        padded = (pad(part, width) for part, width in zip(parts, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
        if number:
            examples = proposal.table[row[1]].examples
            lines.append(f"  {' | '.join(examples)}")
    columns = [column.name for column in proposal.table.columns]
    rest = [name for name in columns if name not in proposal.mapped.served]
    if rest:
        lines.append(f"metadata: {one_line(listed(rest, _LISTED_COLUMNS))}")
    return lines


def _trial(proposal: Proposal) -> str:
    result = proposal.tried
    if result is None:
        who = "a model that judges" if proposal.measures.judged else "a system"
        return f"the columns were tried, without {who} to ask"
    named = {name: result.mean_of(name) for name in (*result.metrics, "weighted_score")}
    scores = ", ".join(f"{name} {_score(mean)}" for name, mean in named.items())
    return f"tried on {rows_in_words(result)}: {scores}"


def _score(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.4f}"
