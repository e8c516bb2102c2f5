"""A workflow that runs a scenario in CI; for now GitHub's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from pytest_rageval import __version__

_ASKED: Final = (
    "      # What your system needs; if the target is an address, pytest-rageval[judge] as well:",
    "      # - run: pip install -r requirements.txt",
)

_STRICT: Final = "--rag-strict"

SERVICES: Final = {"github": ".github/workflows/rageval.yml"}
"""Service -> the file that it reads, relative to the root of the repository."""


def workflow_text(step: str, extras: Sequence[str], folder: str, *, asks: bool) -> str:
    """Return a GitHub workflow that runs ``step`` on pushes to its main branch and pull requests.

    ``folder`` is where to run it, relative to the repository; ``asks`` says that a system has to be
    installed that the scenario can ask.
    """
    package = f"pytest-rageval[{','.join(extras)}]" if extras else "pytest-rageval"
    lines = [
        "# Evaluates the answers: a case or a gate that fails makes the check red.",
        "name: rageval",
        "on:",
        "  push: {branches: [main, master]}",
        "  pull_request:",
        "permissions: {contents: read}",
        "jobs:",
        "  evaluate:",
        "    runs-on: ubuntu-latest",
        "    timeout-minutes: 30",
        *([f"    defaults: {{run: {{working-directory: {_quoted(folder)}}}}}"] if folder else []),
        "    steps:",
        "      - uses: actions/checkout@v7",
        "      - uses: actions/setup-python@v7",
        '        with: {python-version: "3.12"}',
        f"      # Name the version, so that no other one comes unseen: {package}=={__version__}",
        "      # From no index: commit a wheel, and install it by its path instead,",
        f"      # {_wheel(extras)}",
        f'      - run: pip install "{package}"',
        *(_ASKED if asks else ()),
        f"      - {step}",
        "      - uses: actions/upload-artifact@v7",
        "        if: always()",
        '        with: {name: rageval, path: "**/.rageval", include-hidden-files: true}',
    ]
    return "".join(f"{line}\n" for line in lines)


def _wheel(extras: Sequence[str]) -> str:
    named = f"[{','.join(extras)}]" if extras else ""
    return f'pip install "./vendor/pytest_rageval-{__version__}-py3-none-any.whl{named}"'


def step_text(scenario: str) -> str:
    """Return the step that runs a scenario: red also where something is not decided."""
    return f"run: {_quoted(f'pytest {shell_word(scenario)} {_STRICT} --rag-report=html')}"


def what_to_add(workflow: str, scenario: str) -> str:
    """Return what to add to a workflow that is to run a scenario, "" if it is named there.

    A step after one that failed does not run: the command that is there can take both.
    """
    word = shell_word(scenario).replace("'", "''")
    # Not as the end of another name, which is in quotes if it has spaces.
    if re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|'')", workflow):
        return ""
    if re.search(rf"\bpytest .*{_STRICT}", workflow):
        return f"write {word} into the pytest command, before {_STRICT}"
    return f"add this step:  - {step_text(scenario)}"


def shell_word(text: str) -> str:
    """Return a file's name as a shell takes it, in quotes if it has to be.

    >>> shell_word("a.yaml"), shell_word("my data.yaml")
    ('a.yaml', "'my data.yaml'")
    """
    return text if all(one.isalnum() or one in "._/-" for one in text) else shlex.quote(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
