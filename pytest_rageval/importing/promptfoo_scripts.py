"""Asserts that run code: each becomes a function beside the scenario, for people to write.

Until it is written it raises NotImplementedError, and the rows that ask for it are ERRORs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.importing.base import PAIR, NotTakenError
from pytest_rageval.importing.files import Folder
from pytest_rageval.redaction import HIDDEN, names_secret, shown_text

FIELD: Final = "scripts"
"""The column with the names of a row's functions."""

_LANGUAGES: Final = ("javascript", "python")
_MOST_LINES: Final = 100

_MODULE: Final = '''\
"""The asserts of {source} that run code, as functions to write. Made by pytest --rag-import.

Each gets the output and context["vars"], as the script did, and returns True where the assert
holds, else False. A row that asks for a function that is not written is an ERROR.
"""

from pytest_rageval import Score

QUESTION = {question!r}  # the variable of the tests that is the question here


def _assert(function):
    name = function.__name__

    def score(sample):
        if name not in sample.metadata.get("{field}", ()):
            return Score(name, None, "the test has no such assert")
        asked = {{}} if QUESTION is None else {{QUESTION: sample.question}}
        variables = {{**sample.metadata.get("vars", {{}}), **asked}}
        holds = function(sample.answer, {{"vars": variables}})
        if not isinstance(holds, bool):
            raise TypeError(f"{{name}} returned {{holds!r}}; it has to return True or False")
        return Score(name, float(holds), details={{"passing": holds}})

    return score
'''
_FUNCTION: Final = """

@_assert
def {name}(output, context):
{comment}
    raise NotImplementedError("not written: {name} in {module}.py")
"""


@dataclass(frozen=True, slots=True)
class Script:
    """An assert that runs code: in which language, and everything that it says, in lines."""

    language: str
    lines: tuple[str, ...]

    def of_transformed(self, transform: str) -> Script:
        """Return the same about an output that is transformed before."""
        return replace(self, lines=(*_lines(f"options.transform: {transform}"), *self.lines))


def runs_script(kind: str) -> bool:
    """Return whether an assert of this type can be written as a function."""
    return kind.removeprefix("not-") in _LANGUAGES


def script_of(kind: str, assertion: Mapping[str, Any], folder: Folder) -> Script:
    """Return the script of an assert, from its file if it names one; nothing is run."""
    given = assertion.get("value")
    if not isinstance(given, str) or not given.strip():
        raise NotTakenError("its value is no script")
    said = [f"{key}: {_shown(part)}" for key, part in assertion.items() if key != "value"]
    text = given
    if given.startswith("file://"):
        said.append(f"value: {given}")
        text = folder.script(given)
    lines = (line for part in [*said, text.rstrip()] for line in _lines(part))
    return Script(kind.removeprefix("not-"), tuple(lines))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _without_secret(pair: re.Match[str]) -> str:
    value = HIDDEN if names_secret(pair["name"]) else pair["value"]
    return f"{pair['name']}{pair['between']}{value}"


def _lines(text: str) -> list[str]:
    """Return the lines of a text that a comment can hold, without secrets."""
    lines = shown_text(PAIR.sub(_without_secret, text)).splitlines()
    rest = len(lines) - _MOST_LINES
    shown = lines[:_MOST_LINES] + ([f"... and {rest} more lines"] if rest > 0 else [])
    return ["".join(c if c.isprintable() else " " for c in line.expandtabs(4)) for line in shown]


def scripts_text(
    source: str,
    module: str,
    question: str | None,
    scripts: Mapping[Script, str],
    secrets: Collection[str],
) -> str:
    """Return the module with a function for each script, by its name; ``secrets`` are ``***``."""
    # It stands within a docstring: no quotes or backslashes.
    safe_source = re.sub(r"[^\w.-]+", "_", source)
    functions = [
        _FUNCTION.format(name=name, module=module, comment=_comment(script, secrets))
        for script, name in scripts.items()
    ]
    head = _MODULE.format(source=safe_source, question=question, field=FIELD)
    return head + "".join(functions)


def _comment(script: Script, secrets: Collection[str]) -> str:
    text = "\n".join(f"    # {line}".rstrip() for line in script.lines)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
