"""An imported scenario as YAML with comments, and its rows as JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_rageval.errors import ScenarioError
from pytest_rageval.importing.base import Imported
from pytest_rageval.scenario.yaml.text import inline_text
from pytest_rageval.scenario.yaml.tree import parse_yaml

_COMMENTS = {
    "dataset": "A row is a test: its asserts are under answer_checks and must_satisfy.",
    "target": "What is asked.",
    "variants": "One for each provider and prompt. All of them, or one: --rag-variant NAME",
    "metrics": "Each metric is the share of a row's checks that hold.",
    "thresholds": "A test passes when all of its checks hold.",
    "judge": "It decides about must_satisfy.",
    "embedding": "It compares texts by meaning.",
}
_NO_TARGET = """\
# Who answers? A function of yours, or a service:
# target: my_module:answer
# target: {url: "http://127.0.0.1:8000/ask", answer: answer}
"""


def scenario_text(imported: Imported, source: str, command: str) -> str:
    """Return the text of a scenario file that says where it comes from and what it lacks."""
    scenario = imported.scenario
    parts = [f"# Made of {source} by pytest --rag-import. Run it with:  {command}\n"]
    for key, value in scenario.items():
        said = _COMMENTS.get(key, "")
        if key == "dataset" and any("vars" in row for row in imported.rows):
            said += "\nIts variables are under vars."
        comment = "".join(f"# {line}\n" for line in said.splitlines())
        parts.append(f"{comment}{_pair(key, value, '')}\n")
        if key == "dataset" and not {"target", "variants"} & scenario.keys() and _asks(imported):
            parts.append(_NO_TARGET)
    losses = [f"# - {where}: {loss}\n" for where, loss in imported.losses]
    if losses:
        parts.append(f"\n# Not taken of {source}:\n{''.join(map(_one_line, losses))}")
    return "".join(parts)


def rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as JSONL."""
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _asks(imported: Imported) -> bool:
    return not all("answer" in row for row in imported.rows)


def _one_line(comment: str) -> str:
    """Return a comment that no character of it can end."""
    text = comment.removesuffix("\n")
    return "".join(part if part.isprintable() else " " for part in text) + "\n"


def _pair(key: str, value: Any, indent: str) -> str:
    """Return ``key: value`` as a block, where the parser reads that back; else in one line."""
    name = inline_text(key)
    if isinstance(value, str) and "\n" in value:
        block = f"{indent}{name}: |{'' if value.endswith(chr(10)) else '-'}\n" + "\n".join(
            f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n")
        )
        if _reads_back(block, indent, key, value):
            return block
    if isinstance(value, Mapping) and _is_long(value):
        inside = "\n".join(_lines(value, indent + "  "))
        return f"{indent}{name}:\n{inside}"
    return f"{indent}{name}: {inline_text(value)}"


def _is_long(value: Mapping[str, Any]) -> bool:
    return len(inline_text(value)) > 80 or any(isinstance(part, Mapping) for part in value.values())


def _lines(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, part in value.items():
        yield _pair(str(key), part, indent)


def _reads_back(block: str, indent: str, key: str, value: str) -> bool:
    text = "\n".join(line.removeprefix(indent) for line in block.split("\n")) + "\n"
    try:
        return bool(parse_yaml(text, "").data == {key: value})
    except ScenarioError:
        return False
