"""First files: ``--rag-init`` writes a scenario, ``--rag-import`` one from another tool's file.

``--rag-schema`` prints the JSON Schema.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.engine.editor_schema import editor_schema
from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported
from pytest_rageval.importing.promptfoo import asserts_name, import_promptfoo, module_name
from pytest_rageval.importing.written_files import rows_text, scenario_text
from pytest_rageval.plugin.configuration import CONFIG_NAMES, configuration_of
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import printable

SCENARIO_NAME = "quickstart.rageval.yaml"
DATA_NAME = "quickstart.jsonl"
SCHEMA_NAME = "rageval.schema.json"

_SCENARIO = f"""\
# yaml-language-server: $schema={SCHEMA_NAME}
# A scenario: what is measured, on which data, and what is good enough.
# Run it with:  pytest {SCENARIO_NAME}
name: quickstart

# One row is one test case. Fields: question, answer, references; every other column is metadata.
# Other column names?  dataset: {{path: rows.csv, key_map: {{answer: pred, references: gold}}}}
dataset: {DATA_NAME}

# Others: acc, stringem, coverem, rouge-1, rouge-2, rouge-l.
metrics: [em, f1]

# How much each metric counts; the default is 1.0.
metric_weights: {{em: 1.0, f1: 3.0}}

# Samples of one document may count more than others.
doc_weights: {{returns.md: 2.0}}

# For each sample: a lower score is a failed test.
thresholds: {{weighted_score: 0.5}}

# For the whole scenario: a lower weighted mean fails the run, even if every sample passes.
gates:
  weighted_score: 0.8
  pass_rate: 0.9
"""

_ROWS: tuple[dict[str, object], ...] = (
    {
        "id": "return-window",
        "question": "How long can an opened item be returned?",
        "answer": "Within 30 days.",
        "references": ["30 days", "within 30 days"],
        "doc_name": "returns.md",
    },
    {
        "id": "shipping-cost",
        "question": "What does shipping cost?",
        "answer": "Shipping is free from 50 euros on.",
        "references": ["Shipping is free from 50 euros."],
        "doc_name": "shipping.md",
    },
    {
        "id": "保修期",
        "question": "保修期是多久？",
        "answer": "保修期为两年",
        "references": ["保修期为两年", "两年"],
        "doc_name": "warranty.md",
    },
)

_INI_LINES = """\
# rageval_files = *.rageval.yaml *.rageval.yml
# rageval_output = .rageval
# rageval_strict = true
# langsmith's plugin, a dependency of ragas, slows down every start of pytest.
addopts = -p no:langsmith_plugin
"""


def write_scaffold(folder: Path) -> int:
    """Write a scenario, its rows, its schema and, unless pytest is configured, an ini file.

    Any file of CONFIG_NAMES in ``folder`` counts, and what configures pytest in a folder above: a
    new ini file would hide it.

    Returns pytest's exit status. Nothing is overwritten: an existing file is a usage error.
    """
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _ROWS)
    files = {SCENARIO_NAME: _SCENARIO, DATA_NAME: rows, SCHEMA_NAME: schema_text()}
    configured = [name for name in CONFIG_NAMES if (folder / name).exists()]
    if not configured and (above := configuration_of(folder.resolve())) is not None:
        configured = [str(above)]
    if not configured:
        files["pytest.ini"] = f"[pytest]\n{_INI_LINES}"
    existing = [name for name in files if (folder / name).exists()]
    if existing:
        raise pytest.UsageError(f"--rag-init: {folder} already has {', '.join(existing)}")
    try:
        for name, text in files.items():
            write_atomically(folder / name, [text])
    except OSError as error:
        raise pytest.UsageError(f"--rag-init: {error}") from error
    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    say(_report(shown, list(files), configured))
    return int(pytest.ExitCode.OK)


def print_schema() -> int:
    """Print the JSON Schema of a scenario file and return pytest's exit status."""
    say(schema_text())
    return int(pytest.ExitCode.OK)


def schema_text() -> str:
    """Return the JSON Schema of a scenario file as text."""
    return json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n"


def _report(folder: Path, names: list[str], configured: list[str]) -> str:
    lines = [f"wrote {folder / name}" for name in names]
    if configured:
        lines += [f"{configured[0]} already exists; you may add these lines to pytest's options:"]
        lines += [f"    {line}" for line in _INI_LINES.splitlines()]
    lines += ["", f"run it:  pytest {shlex.quote(str(folder / SCENARIO_NAME))}"]
    return "\n".join(lines) + "\n"


_OF_RAGAS: Final = {"answer_relevancy", "faithfulness", "context_recall"}


def write_import(name: str, folder: Path) -> int:
    """Write the scenario of a promptfoo configuration, its rows and modules, beside that file.

    Says what was not taken. ``folder`` is where the command was typed. Returns pytest's exit
    status. A file that cannot be imported, or one that has a name of these, is a usage error.
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
    report = _told(imported, shown, os.path.relpath(rows, folder), command)
    report[2:2] = [f"wrote {os.path.relpath(file, folder)}, {what}" for file, _, what in written]
    say(printable("\n".join(report)) + "\n")
    return int(pytest.ExitCode.OK)


def _told(imported: Imported, scenario: str, rows: str, command: str) -> list[str]:
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
    """Return what a scenario needs before it runs: extras to install, environment variables.

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
