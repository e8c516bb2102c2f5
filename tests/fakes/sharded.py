"""Runs a project whole and in shards, and shows what both leave behind but for what a run is."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

PLAIN = """
    name: qa
    dataset: qa.jsonl
    metrics: [em]
    gates: {em: 0.5}
"""
_RUN = [
    (re.compile(rb"\d{8}T\d{6}-\d{6}"), b"ID"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00"), b"TIME"),
    (re.compile(rb'^"run": \{.*\},?$', re.MULTILINE), b""),
    (re.compile(rb'"prediction_cost": \d+'), b""),
    (re.compile(rb'"trend":\[.*?\]'), b""),
]
_NOT_OF_A_RUN = ("shard.jsonl", ".gitignore", "CACHEDIR.TAG")


def files(base: Path) -> dict[str, bytes]:
    """Return the files of the runs below a folder, without what differs between equal runs."""
    found = {}
    for path in sorted(base.rglob("*")):
        is_of_run = path.name not in _NOT_OF_A_RUN and not path.name.startswith("history")
        if path.is_file() and is_of_run and "latest" not in path.parts:
            content = path.read_bytes()
            for pattern, word in _RUN:
                content = pattern.sub(word, content)
            found[_RUN[0][0].sub(b"ID", path.relative_to(base).as_posix().encode()).decode()] = (
                content
            )
    return found


def junit_cases(path: Path) -> list[tuple[Any, ...]]:
    """Return the cases of JUnit XML with their properties and outcomes, without times."""
    return [
        (
            case.get("classname"),
            case.get("name"),
            [(one.get("name"), one.get("value")) for one in case.iter("property")],
            [(one.tag, one.get("message"), one.text) for one in case if one.tag != "properties"],
        )
        for case in ET.parse(path).getroot().iter("testcase")
    ]


def run_shards(project: Any, parts: Sequence[str], *args: str) -> list[Path]:
    """Run each part of the cases into a folder of its own, and return these folders."""
    folders = []
    for part in parts:
        folder = project.path / f"shard-{part.replace('/', '-of-')}"
        project.pytest("-q", f"--rag-shard={part}", f"--rag-output={folder}", *args)
        folders.append(folder)
    return folders


def merge(project: Any, folders: Sequence[Path], *args: str) -> pytest.RunResult:
    """Return the result of merging the shards of these folders."""
    found: pytest.RunResult = project.pytest(*(f"--rag-merge={one}" for one in folders), *args)
    return found


def shard_files(*folders: Path) -> list[Path]:
    """Return the files of the shards in these folders."""
    return [path for folder in folders for path in sorted(folder.rglob("shard.jsonl"))]


def changed(path: Path, at: int, **values: object) -> None:
    """Change values of a line of a shard's file: of its head (0), or of its end (-1)."""
    lines = path.read_text("ascii").splitlines()
    plain = json.loads(lines[at])
    plain.update(values)
    lines[at] = json.dumps(plain, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n", "ascii")


def copied(folder: Path, name: str) -> Path:
    """Return a copy of a folder beside it."""
    return Path(shutil.copytree(folder, folder.with_name(name)))
