"""``--rag-import`` writes a scenario and its rows from the file of another tool."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported
from pytest_rageval.importing.promptfoo import asserts_name, import_promptfoo, module_name
from pytest_rageval.importing.written_files import rows_text, scenario_text
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import printable

_OF_RAGAS: Final = {"answer_relevancy", "faithfulness", "context_recall"}


def write_import(name: str, folder: Path) -> int:
    """Write the scenario of a promptfoo configuration beside it, and say what was not taken.

    ``folder`` is where the command was typed. Returns pytest's exit status. A file that cannot be
    imported, or one that would be overwritten, is a usage error.
    """
    path = Path(os.path.normpath(folder / name))
    if not path.is_file():
        raise misused(f"--rag-import: there is no file {name}")
    scenario = path.with_name(f"{path.stem}.rageval.yaml")
    rows = path.with_name(f"{path.stem}.jsonl")
    module = path.with_name(f"{module_name(path)}.py")
    scripts = path.with_name(f"{asserts_name(path)}.py")
    existing = [file.name for file in (scenario, rows, module, scripts) if file.exists()]
    if existing:
        raise misused(f"--rag-import: {path.parent} already has {', '.join(existing)}")
    try:
        imported = import_promptfoo(path, name, folder)
    except ScenarioError as error:
        raise misused(f"--rag-import: {error}") from None
    shown = os.path.relpath(scenario, folder)
    command = f"pytest {shlex.quote(shown)}"
    modules = {
        module: (imported.module, "which asks its Python providers"),
        scripts: (imported.scripts, "with the asserts that you write: see below"),
    }
    written = [(file, *of_file) for file, of_file in modules.items() if of_file[0]]
    try:
        write_atomically(rows, [rows_text(imported.rows)])
        for file, text, _ in written:
            write_atomically(file, [text])
        write_atomically(scenario, [scenario_text(imported, path.name, command)])
    except OSError as error:
        raise misused(f"--rag-import: {error}") from error
    report = _report(imported, shown, os.path.relpath(rows, folder), command)
    report[2:2] = [f"wrote {os.path.relpath(file, folder)}, {what}" for file, _, what in written]
    say(printable("\n".join(report)) + "\n")
    return int(pytest.ExitCode.OK)


def _report(imported: Imported, scenario: str, rows: str, command: str) -> list[str]:
    skipped = sum("skip" in row for row in imported.rows)
    held = f"{counted(len(imported.rows), 'row')}, {counted(imported.checks, 'check')}"
    if skipped:
        held += f"; {counted(skipped, 'row')} skipped: 'skip' in it says why"
    lines = [f"wrote {scenario}", f"wrote {rows} ({held})", *imported.remarks]
    if imported.notes:
        lines += ["", f"not taken, also listed in {scenario}:"]
        lines += [f"  {where}: {loss}" for where, loss in imported.notes]
    needs = needed_by(imported.scenario)
    return [*lines, "", *([f"needs:   {needs}"] if needs else []), f"run it:  {command}"]


def needed_by(scenario: Mapping[str, Any]) -> str:
    """Return what a scenario needs before it runs: the extras to install, and the variables.

    >>> needed_by({"target": {"model": "gpt-4o"}, "metrics": ["answer_checks"]})
    'pip install "pytest-rageval[judge]"; in the environment OPENAI_API_KEY'
    """
    asked = [one["target"] for one in scenario.get("variants", {}).values()]
    asked += [scenario[key] for key in ("target", "judge", "embedding") if key in scenario]
    extras = ["judge"] if any(one.keys() & {"model", "url"} for one in asked) else []
    extras += ["ragas"] if any(name in scenario["metrics"] for name in _OF_RAGAS) else []
    names = {one["api_key_env"] for one in asked if "api_key_env" in one}
    usual = any("model" in one and not one.keys() & {"api_key_env", "base_url"} for one in asked)
    names |= {"OPENAI_API_KEY"} if usual else set()
    names.update(re.findall(r"\$\{(\w+)\}", json.dumps(asked)))
    install = [f'pip install "pytest-rageval[{",".join(extras)}]"'] if extras else []
    variables = [f"in the environment {', '.join(sorted(names))}"] if names else []
    return "; ".join([*install, *variables])
