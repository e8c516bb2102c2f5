"""The files of an imported scenario: its YAML with comments, its rows, and a module that asks."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported, NotTakenError
from pytest_rageval.importing.templates import Piece, as_json, env_name, pieces
from pytest_rageval.scenario.fields import CHECK_FIELDS
from pytest_rageval.scenario.yaml.tree import inline_text, parse_yaml
from pytest_rageval.text.json_value import change_texts

_COMMENTS = {
    "dataset": "A row is a test.",
    "target": "What is asked.",
    "variants": "One for each provider and prompt. All of them, or one: --rag-variant NAME",
    "thresholds": "A test passes when each of its scores reaches its threshold.",
    "judge": "It gives the scores that only a model can give.",
    "embedding": "It compares texts by meaning.",
}
_NO_TARGET = """\
# Who answers? A function of yours, or a service:
# target: my_module:answer
# target: {url: "http://127.0.0.1:8000/ask", answer: answer}
"""


def scenario_text(imported: Imported, source: str, command: str) -> str:
    """Return the text of a scenario file, with comments on its keys and on what was not taken.

    ``source`` is the name of the file that it was made of, ``command`` what runs it.
    """
    scenario = imported.scenario
    checks = " and ".join(name for name in scenario.get("metrics", ()) if name in CHECK_FIELDS)
    parts = [f"# Made of {source} by pytest --rag-import. Run it with:  {command}\n"]
    for key, value in scenario.items():
        words = _COMMENTS.get(key, "")
        if key == "dataset" and checks:
            words += f" Its checks are under {checks}."
        if key == "metrics" and checks:
            words = f"{checks}: the share of a row's checks that hold."
        if key == "dataset" and any("vars" in row for row in imported.rows):
            words += "\nIts variables are under vars."
        if key == "thresholds" and imported.scripts:
            words += "\nweighted_score: a row whose function cannot decide is an ERROR."
        comment = "".join(f"# {line}\n" for line in words.splitlines())
        parts.append(f"{comment}{_pair(key, value, '')}\n")
        is_asked = bool({"target", "variants"} & scenario.keys())
        if key == "dataset" and not (is_asked or all("answer" in row for row in imported.rows)):
            parts.append(_NO_TARGET)
    notes = [f"# - {where}: {loss}\n" for where, loss in imported.notes]
    if notes:
        parts.append(f"\n# Not taken of {source}:\n{''.join(map(_one_line, notes))}")
    return "".join(parts)


def rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as JSONL."""
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _one_line(comment: str) -> str:
    """Return a comment on one line, whatever characters are in it."""
    text = comment.removesuffix("\n")
    return "".join(part if part.isprintable() else " " for part in text) + "\n"


def _pair(key: str, value: Any, indent: str) -> str:
    """Return ``key: value`` in YAML, each line after ``indent``.

    A text of several lines is a block, if the parser reads it back, and a long mapping has a line
    for each key; all else stands on one line.
    """
    name = inline_text(key)
    if isinstance(value, str) and "\n" in value:
        block = f"{indent}{name}: |{'' if value.endswith(chr(10)) else '-'}\n" + "\n".join(
            f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n")
        )
        if _reads_back(block, indent, key, value):
            return block
    if isinstance(value, Mapping) and _is_long(value):
        inside = "\n".join(_pair(str(name), part, indent + "  ") for name, part in value.items())
        return f"{indent}{name}:\n{inside}"
    return f"{indent}{name}: {inline_text(value)}"


def _is_long(value: Mapping[str, Any]) -> bool:
    return len(inline_text(value)) > 80 or any(isinstance(part, Mapping) for part in value.values())


def _reads_back(block: str, indent: str, key: str, value: str) -> bool:
    text = "\n".join(line.removeprefix(indent) for line in block.split("\n")) + "\n"
    try:
        return bool(parse_yaml(text, "").data == {key: value})
    except ScenarioError:
        return False


NAMES_IN_MODULE: Final = frozenset(
    {*dir(builtins), "asyncio", "inspect", "os", "cache", "util", "as_json_text", "as_text"}
)
"""What the module that is written uses: a function of such a name would be in its place."""

_MODULE: Final = '''\
"""Asks the Python providers of {source} as promptfoo does. Written by pytest --rag-import."""

import asyncio
import inspect
import os
from functools import cache
from importlib import util
from pathlib import Path

from pytest_rageval.importing.templates import as_json_text, as_text

QUESTION = {question!r}


@cache
def _module(file):
    path = Path(__file__).parent / file
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(sample, file, function, config, prompt):
    asked = {{}} if QUESTION is None else {{QUESTION: sample.question}}
    variables = {{**sample.metadata.get("vars", {{}}), **asked}}
    parts = (part if isinstance(part, str) else variables.get(part[0]) for part in prompt)
    text = "".join(map(as_text, parts))
    reply = getattr(_module(file), function)(text, {{"config": config}}, {{"vars": variables}})
    reply = asyncio.run(reply) if inspect.iscoroutine(reply) else reply
    if reply.get("error"):
        raise RuntimeError(reply["error"])
    output = reply["output"]
    if output is None:
        raise RuntimeError("the provider gave no output")
    return output if isinstance(output, str) else as_json_text(output)
'''
_FUNCTION: Final = """

def {name}(sample):
    return _answer(sample, {file!r}, {function!r}, {config!r}, {prompt!r})
"""


@dataclass(frozen=True, slots=True)
class Code:
    """A function of a Python file that promptfoo calls with a prompt and its ``config``."""

    file: str
    function: str
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the module that is written: what it calls, and with which prompt."""

    name: str
    code: Code
    prompt: str


def module_text(source: str, question: str | None, calls: Sequence[Call]) -> str:
    """Return the module with a function for each call; ``source`` is the configuration's name.

    ``question`` is the variable that has the sample's question. Raises NotTakenError for a prompt
    that shows parts of variables.
    """
    functions = [
        _FUNCTION.format(
            name=call.name,
            file=call.code.file,
            function=call.code.function,
            config=change_texts(as_json(call.code.config), _literal),
            prompt=prompt_pieces(call.prompt),
        )
        for call in calls
    ]
    return _MODULE.format(source=re.sub(r"[^\w.-]+", "_", source), question=question) + "".join(
        functions
    )


class _Expression(str):
    """Code that stands in the module as it is, for it is its own ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _literal(text: str) -> Any:
    """Return a text of a ``config``; if it names variables of the environment, code to read them.

    ``repr`` writes either into the module.
    """
    try:
        found = list(pieces(text))
    except NotTakenError:
        return text
    names = [env_name(piece) for piece in found]
    if not any(names):
        return text
    return _Expression(
        " + ".join(
            f"os.environ[{name!r}]" if name else repr(_shown(piece))
            for piece, name in zip(found, names, strict=True)
        )
    )


def _shown(piece: Piece) -> str:
    return piece if isinstance(piece, str) else f"{{{{{'.'.join(piece)}}}}}"


def prompt_pieces(text: str) -> list[str | tuple[str, ...]]:
    """Return the parts of a prompt: texts, and for each variable a tuple of its name.

    Raises NotTakenError for a prompt that the written module cannot fill.
    """
    found = list(pieces(text))
    if any(not isinstance(piece, str) and len(piece) > 1 for piece in found):
        raise NotTakenError("its prompt shows parts of variables")
    return found


def identifier(text: str) -> str:
    """Return a name of Python that is like ``text``, in small ASCII letters."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "asked"
    return f"ask_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
