"""The files that a promptfoo configuration names: none is fetched, and none is run."""

from __future__ import annotations

import csv
import glob
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.redaction import shown_url
from pytest_rageval.scenario.loader import parse_json
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, parse_yaml
from pytest_rageval.text.codec import MAX_FILE_BYTES, read_json

_DATA: Final = (".yaml", ".yml", ".json")
_CODE: Final = (".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".py", ".rb", ".go", ".sh")


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a file, with its place."""

    value: Any
    tree: YamlTree
    path: YamlPath = ()

    @property
    def where(self) -> str:
        """``file:line``."""
        return self.tree.where(self.path)

    def of(self, step: str | int) -> Part:
        """Return a part of a mapping or list; its value is None where a mapping lacks it.

        A number beyond the end of a list raises IndexError.
        """
        value = self.value
        if isinstance(value, list) and isinstance(step, int):
            return Part(value[step], self.tree, (*self.path, step))
        found = value.get(step) if isinstance(value, dict) else None
        return Part(found, self.tree, (*self.path, step))

    def parts(self) -> Iterator[Part]:
        """Yield the parts of a list; one value that is no list is its only part."""
        if isinstance(self.value, list):
            yield from (self.of(at) for at in range(len(self.value)))
        elif self.value is not None:
            yield self


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a configuration. Its files are relative to it, and lie in it or ``within``.

    A configuration of somebody else must not show any file of this machine to a model.
    """

    path: Path
    within: Path

    def named(self, reference: str) -> list[Path]:
        """Return the files of a reference or pattern.

        Raises NotTakenError for a URL, code, what lies elsewhere, and what is not there.
        """
        name = reference.removeprefix("file://")
        if re.match(r"[A-Za-z][\w+.-]+://", name):
            raise NotTakenError(f"{shorten(shown_name(name), 80)} is not on this machine")
        if is_code(name):
            raise NotTakenError(f"{shorten(name, 80)} is code, which is not run")
        return self._files(name)

    def script(self, reference: str) -> str:
        """Return the text of a program; the reference may end in ``:`` and a function's name.

        Raises NotTakenError as ``one``, though not for code.
        """
        name = re.sub(r":[\w.]+$", "", reference.removeprefix("file://"))
        first, *others = self._files(name)
        if others:
            raise NotTakenError(f"{shorten(reference, 80)} names {1 + len(others)} files")
        return read_text(first)

    def _files(self, name: str) -> list[Path]:
        """Return the files of a name or pattern in this folder, at least one."""
        name = re.sub(r"^\./", "", name)
        found = sorted(glob.glob(name, root_dir=self.path, recursive=True))  # noqa: PTH207
        files = [self.path / match for match in found or [name] if _is_file(self.path / match)]
        roots = (self.path.resolve(), self.within.resolve())
        if not all(any(file.resolve().is_relative_to(root) for root in roots) for file in files):
            raise NotTakenError(f"{shorten(name, 80)} lies outside of {self.within}")
        if not files:
            raise NotTakenError(f"there is no file {shorten(name, 80)}")
        return files

    def program(self, reference: str) -> str:
        """Return the path, from this folder, of a file in it; raises NotTakenError for others."""
        file = (self.path / reference).resolve()
        if not _is_file(file) or not file.is_relative_to(self.path.resolve()):
            raise NotTakenError(f"there is no file {shorten(reference, 80)} in its folder")
        return file.relative_to(self.path.resolve()).as_posix()

    def one(self, reference: str) -> Path:
        """Return the file of a reference; raises NotTakenError as ``named``, and for several."""
        files = self.named(reference)
        if len(files) > 1:
            raise NotTakenError(f"{shorten(reference, 80)} names {len(files)} files")
        return files[0]

    def value(self, reference: str) -> Any:
        """Return the value in a YAML or JSON file, of another file its text, stripped."""
        file = self.one(reference)
        return self.data(file).value if file.suffix.lower() in _DATA else read_text(file).strip()

    def variable(self, file: Path) -> str:
        """Return what promptfoo makes of a file as a variable: its text; of a YAML file, JSON."""
        if file.suffix.lower() not in (".yaml", ".yml"):
            return read_text(file).strip()
        value = self.data(file).value
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)

    def data(self, file: Path) -> Part:
        """Return what a YAML or JSON file holds; raises NotTakenError where it cannot be read."""
        shown = file.relative_to(self.path).as_posix() if file.is_relative_to(self.path) else ""
        try:
            parse = parse_json if file.suffix.lower() == ".json" else parse_yaml
            tree = parse(read_text(file), shown or str(file))
        except ScenarioError as error:
            raise NotTakenError(str(error)) from None
        if tree.problems:
            raise NotTakenError("; ".join(map(str, tree.problems)))
        return Part(tree.data, tree)

    def rows(self, file: Path) -> Iterator[Part]:
        """Yield the rows of a JSONL or CSV file; of a CSV row that does not fit, what is wrong.

        Raises NotTakenError for a file that cannot be read.
        """
        text, shown = read_text(file), file.name
        rows = _csv_rows(text) if file.suffix.lower() == ".csv" else _jsonl_rows(text)
        for line, row in rows:
            yield Part(row, YamlTree(row, shown, {(): line}))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or that no file may have
        return False


def is_code(name: str) -> bool:
    """Return whether a reference names a program, or a function in a program."""
    return bool(re.search(rf"({'|'.join(map(re.escape, _CODE))})(:\w+)?$", name.lower()))


def shown_name(reference: str) -> str:
    """Return a reference as messages show it.

    Of a URL neither user, password nor query, of a command line the program alone.
    """
    if reference.startswith("exec:"):
        return " ".join(reference.removeprefix("exec:").split()[:1]).join(("exec: ", " ..."))
    is_url = "://" in reference and not reference.startswith("file://")
    return shown_url(reference) if is_url else reference


def read_text(file: Path) -> str:
    """Return the text of a file in UTF-8; raises NotTakenError if it has none, or is too large."""
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise NotTakenError(f"{file.name} has more than {MAX_FILE_BYTES // 2**20} MB")
        return file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, NotTakenError):
            raise
        raise NotTakenError(f"{file.name} cannot be read as text: {error}") from None


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Yield the rows of a table, each with its line; of one that does not fit, what is wrong.

    Under ``""`` a row has what stands in columns without a name, joined, except the numbers of rows
    that a data frame writes first.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = _header([name.strip() for name in next(reader, [])])
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) == len(header):
                row = {name: cell for name, cell in zip(header, cells, strict=True) if name}
                nameless = [
                    cell.strip() for name, cell in zip(header, cells, strict=True) if not name
                ]
                is_counted = header[:1] == [""] and cells[0].strip().isdigit()
                yield line, {**row, "": "".join(nameless[is_counted:])}
            elif any(cell.strip() for cell in cells):
                hint = "; quote a cell that has commas" if len(cells) > len(header) else ""
                yield line, f"has {len(cells)} cells, the header {len(header)}{hint}"
            line = reader.line_num + 1
    except csv.Error as error:
        raise NotTakenError(f"not readable as CSV: {error}") from None


def _header(names: list[str]) -> list[str]:
    # Columns without a name are allowed, unless all are.
    counts = Counter(name for name in names if name or not any(names))
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise NotTakenError(f"the header names a column twice: {', '.join(map(repr, twice))}")
    if len(names) == 1 and (found := re.search(r"[;\t|]", names[0])):
        raise NotTakenError(f"its columns are separated by {found[0]!r}; write it with commas")
    return names


def _jsonl_rows(text: str) -> Iterator[tuple[int, Any]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            try:
                yield line, read_json(content)
            except ValueError as error:
                raise NotTakenError(f"line {line} is no JSON: {error}") from None
