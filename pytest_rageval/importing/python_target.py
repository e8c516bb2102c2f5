"""Python providers of promptfoo as functions that a scenario can name as its target.

What is written here is run by the scenario, never by the import.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.importing.templates import Piece, env_name, pieces

_MODULE: Final = '''\
"""Asks the Python providers of {source} as promptfoo does. Written by pytest --rag-import."""

import asyncio
import inspect
import json
import os
from functools import cache
from importlib import util
from pathlib import Path

QUESTION = {question!r}


@cache
def _module(file):
    path = Path(__file__).parent / file
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(sample, file, function, config, prompt):
    variables = {{**sample.metadata.get("vars", {{}}), QUESTION: sample.question}}
    parts = (part if isinstance(part, str) else variables.get(part[0], "") for part in prompt)
    text = "".join(map(str, parts))
    reply = getattr(_module(file), function)(text, {{"config": config}}, {{"vars": variables}})
    reply = asyncio.run(reply) if inspect.iscoroutine(reply) else reply
    if reply.get("error"):
        raise RuntimeError(reply["error"])
    output = reply["output"]
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
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
    """Return the module with a function for each call."""
    functions = [
        _FUNCTION.format(
            name=call.name,
            file=call.code.file,
            function=call.code.function,
            config=_literal(json.loads(json.dumps(call.code.config, default=str))),
            prompt=_prompt(call.prompt),
        )
        for call in calls
    ]
    return _MODULE.format(source=_words(source), question=question) + "".join(functions)


class _Expression(str):
    """Code that stands in the module as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _literal(value: Any) -> Any:
    """Return a value of JSON that ``repr`` writes with the environment's variables read."""
    if isinstance(value, dict):
        return {key: _literal(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_literal(part) for part in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        found = list(pieces(value))
    except NotTakenError:
        return value
    names = [env_name(piece) for piece in found]
    if not any(names):
        return value
    return _Expression(
        " + ".join(
            f"os.environ[{name!r}]" if name else repr(_shown(piece))
            for piece, name in zip(found, names, strict=True)
        )
    )


def _shown(piece: Piece) -> str:
    return piece if isinstance(piece, str) else f"{{{{{'.'.join(piece)}}}}}"


def _prompt(text: str) -> list[str | tuple[str, ...]]:
    found = list(pieces(text))
    if any(not isinstance(piece, str) and len(piece) > 1 for piece in found):
        raise NotTakenError("its prompt shows parts of variables")
    return found


def _words(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text)


def check_prompt(text: str) -> None:
    """Raise NotTakenError for a prompt that the written module cannot fill in."""
    _prompt(text)


def identifier(text: str) -> str:
    """Return a name of Python that is like ``text``."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "asked"
    return f"ask_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
