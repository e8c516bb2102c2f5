"""From a data file to a scenario: what the page is shown of it, and what is written."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval.reports.base import write_atomically
from pytest_rageval.run_paths import NO_GLOB, run_folder
from pytest_rageval.scenario.fields import KEY_OF
from pytest_rageval.serving.children import started
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.serving.proposing import MODULE, text_digest
from pytest_rageval.serving.web.data_files import reserve
from pytest_rageval.serving.web.refusals import Refused

READ_S: Final = 60.0
"""How long a file may be read until it is given up."""

_LISTS: Final = ("variants", "left_out")
_TEXTS: Final = ("rows_at", "sheet", "encoding", "delimiter")
_MOST_NAMED = 300
_LONGEST = 1000
_LONGEST_NAME = 80
_KEYS: Final = ("key_map", *_LISTS, *_TEXTS)
_LONG: Final = f"of 1 to {_LONGEST} characters"

Asked = dict[str, Any]


def read_asked(body: Mapping[str, Any]) -> Asked:
    """Return what a body says of the columns and the name, as a child takes it.

    Only known keys of the data, with texts: no path, no address, no code.
    """
    given = body.get("given") or {}
    if not isinstance(given, dict):
        raise Refused(400, "given: expected an object")
    for key, value in given.items():
        if key == "key_map":
            _check_map(value)
        elif key in _LISTS:
            _check_texts(key, value)
        elif key not in _TEXTS:
            raise Refused(400, f"given: {str(key)[:40]}: expected {', '.join(_KEYS)}")
        else:
            _check_texts(key, [value])
    return {"given": given, "name": _name_of(body.get("name") or "")}


def _check_map(value: Any) -> None:
    if not isinstance(value, dict) or not value.keys() <= KEY_OF.keys():
        raise Refused(400, "given: key_map: expected an object of known fields and columns")
    _check_texts("key_map", list(value.values()))


def _check_texts(key: str, texts: Any) -> None:
    is_good = isinstance(texts, list) and len(texts) <= _MOST_NAMED
    if not is_good or not all(isinstance(one, str) and 0 < len(one) <= _LONGEST for one in texts):
        raise Refused(400, f"given: {key}: expected at most {_MOST_NAMED} texts, {_LONG}")
    if any("\0" in text for text in texts):
        raise Refused(400, f"given: {key}: a null character is in no name")


def _name_of(name: Any) -> str:
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise Refused(400, f"name: expected a line of at most {_LONGEST_NAME} characters")
    return name.strip().translate(NO_GLOB)


async def propose_in_child(project: Project, data: Path, asked: Asked) -> dict[str, Any]:
    """Return what ``serving/proposing.py`` says of a file; refuses one that takes too long."""
    keys = json.dumps({"data": str(data), "folder": str(data.parent), **asked})
    with tempfile.TemporaryDirectory() as folder:  # an argument has to be short
        file = Path(folder) / "asked.json"
        file.write_text(keys, "ascii")
        return await _proposed_by([project.python, "-m", MODULE, str(file)], project.folder)


async def _proposed_by(command: Sequence[str], folder: Path) -> dict[str, Any]:
    async with started(command, folder) as child:
        try:
            async with asyncio.timeout(READ_S):
                status = await child.wait()
        except TimeoutError:
            raise Refused(408, f"the file could not be read within {READ_S:g} s") from None
        if status or not child.events:
            raise Refused(400, f"the file cannot be read: {child.terminal()[-_LONGEST:]}")
        return {key: value for key, value in child.events[-1].items() if key != "event"}


def refuse_taken(name: str, entries: Collection[ScenarioEntry]) -> None:
    """Refuse the name of a scenario that is there: both would share the folder of their runs."""
    taken = {run_folder(title) for entry in entries for title in entry.titles}
    if run_folder(name) in taken:
        raise Refused(409, f"a scenario {name} is there already: give this one another name")


def write_scenario(folder: Path, scenario: Mapping[str, Any], digest: object) -> list[Path]:
    """Write what was shown into ``folder``, and return the files; nothing is ever replaced."""
    if text_digest(scenario["text"]) != digest:
        raise Refused(409, "the data have changed since they were shown: look at them again")
    files = {scenario["file"]: scenario["text"]}
    if scenario["module"] is not None and not os.path.lexists(folder / scenario["module"]):
        files[scenario["module"]] = scenario["module_text"]
    reserved: list[Path] = []
    try:
        for name in files:
            reserve(folder / name)
            reserved.append(folder / name)
        made = [write_atomically(folder / name, [text]) for name, text in files.items()]
        reserved.clear()
        return made
    except FileExistsError as error:
        shown = Path(error.filename).name
        raise Refused(409, f"{shown} is there already: give the scenario another name") from error
    except OSError as error:
        raise Refused(400, f"the scenario cannot be written: {error.strerror}") from error
    finally:
        for path in reserved:  # no empty file is left of what was refused
            path.unlink(missing_ok=True)
