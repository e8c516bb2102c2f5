"""UltraRAG's ``build``: writes the ``server.yaml`` from which a pipeline knows the tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.yaml.tree import parse_yaml

_Signatures = Mapping[str, tuple[tuple[str, ...], str]]


def build(parameter_file: str, signatures: _Signatures) -> Path:
    """Write ``server.yaml`` beside ``parameter_file``, and return its path.

    ``signatures`` holds each tool's arguments and its ``output``, ``variables->results`` in the
    order of the arguments. A variable that the parameter file sets gets a ``$``; a missing file
    sets none. Raises UserError for a file that is no mapping, and if the server's code, which
    ``path`` in the file may name, is not there.
    """
    file = Path(parameter_file)
    folder = file.parent
    given = _parameters(file)
    code = str(given.get("path", folder / "src" / f"{folder.absolute().name}.py"))
    if not Path(code).is_file():
        raise UserError(
            [Problem(parameter_file, f"no server at {code!r}: its folder must hold it")]
        )
    tools = {name: _entry(*signature, given) for name, signature in signatures.items()}
    server = {"path": code, "parameter": parameter_file, "tools": tools, "prompts": {}}
    text = yaml.safe_dump(server, allow_unicode=True, sort_keys=False)
    return write_atomically(folder / "server.yaml", [text])


def _parameters(file: Path) -> Mapping[str, Any]:
    if not file.exists():
        return {}
    try:
        tree = parse_yaml(file.read_text("utf-8"), str(file))
    except UnicodeDecodeError as error:
        raise UserError([Problem(str(file), "not UTF-8; save the file as UTF-8")]) from error
    if tree.problems:
        raise UserError(tree.problems)
    if not isinstance(tree.data, dict | None):
        raise UserError([Problem(str(file), "must be a mapping, such as 'save_path: out.json'")])
    return tree.data or {}


def _entry(arguments: tuple[str, ...], output: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of one tool.

    >>> _entry(("metrics", "ks"), "ir_metrics,ks->eval_res", {"ks": [5]})
    {'input': {'metrics': 'ir_metrics', 'ks': '$ks'}, 'output': ['eval_res']}
    """
    variables, results = (
        [f"${name}" if name in given else name for name in part.split(",")]
        for part in output.split("->")
    )
    return {"input": dict(zip(arguments, variables, strict=True)), "output": results}
