"""How many of mutmut's mutants were killed, and the others by file and line.

``mutmut run`` comes first. Mutants that only change the letters of a sentence are left out on both
sides: the tests hold a message to its figures and names, not to its prose. The exit code is 1 below
the share that is wanted.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOURCE: Final = Path("pytest_rageval")
RAN: Final = Path("mutants")
KILLED: Final = frozenset({1, 3})
TIMED_OUT: Final = frozenset({36, -24, 24, 152, 255})
WORDS: Final = re.compile(r"\w+ \w+|\w+ [{'(]|\w: ")


@dataclass(frozen=True)
class Mutant:
    """One change: ``line`` is where it is in ``file``, ``code`` how its run ended."""

    file: Path
    line: int
    was: str
    is_now: str
    code: int | None

    @property
    def is_killed(self) -> bool:
        return self.code in KILLED or self.code in TIMED_OUT

    @property
    def is_prose(self) -> bool:
        """Whether it is a sentence in other letters."""
        same = self.was.casefold() == self.is_now.replace("XX", "").casefold()
        return same and bool(WORDS.search(self.was))

    def __str__(self) -> str:
        end = "" if self.code == 0 else f"  [{self.code}]"
        return f"{self.file}:{self.line}: {self.was}  ->  {self.is_now}{end}"


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield the mutants of a source file whose tests ran."""
    made = RAN / file
    lines = made.read_text("utf-8").splitlines()
    spans = json.loads(Path(f"{made}.spans").read_text("utf-8"))["spans"]
    codes = json.loads(Path(f"{made}.meta").read_text("utf-8"))["exit_code_by_key"]
    starts = dict(functions_of(file))
    for key, code in codes.items():
        name = key.rpartition(".")[2]
        function, _, number = name.rpartition("__mutmut_")
        was = body(lines, spans[f"{function}__mutmut_orig"], "orig")
        is_now = body(lines, spans[name], number)
        pairs = zip(was, is_now, strict=False)
        at = next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
        yield Mutant(file, starts[function] + at, was[at].strip(), is_now[at].strip(), code)


def body(lines: list[str], span: tuple[int, int], name: str) -> list[str]:
    """Return the lines of a function without what mutmut has added to its name."""
    first, last = span
    return [line.replace(f"__mutmut_{name}(", "(") for line in lines[first - 1 : last]]


def functions_of(file: Path) -> Iterator[tuple[str, int]]:
    """Yield mutmut's name of each function and the line where it begins."""
    for node in ast.parse(file.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"xǁ{node.name}ǁ" if isinstance(node, ast.ClassDef) else "x_"
        for found in inner:
            if isinstance(found, ast.FunctionDef):
                yield f"{before}{found.name}", found.lineno


def tell(text: object) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Print the survivors, and the share of those killed for each module; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="only files with this in their path")
    parser.add_argument("--least", type=float, default=92.0, help="per cent (92)")
    parser.add_argument("--prose", action="store_true", help="show and count sentences, too")
    options = parser.parse_args()
    killed = total = 0
    for meta in sorted((RAN / SOURCE).rglob("*.meta")):
        file = meta.relative_to(RAN).with_suffix("")
        if options.part not in str(file):
            continue
        found = [one for one in mutants_of(file) if one.code is not None]
        counted = [one for one in found if options.prose or not one.is_prose]
        survived = [one for one in counted if not one.is_killed]
        for one in survived:
            tell(one)
        if counted:
            tell(f"# {file}: {len(counted) - len(survived)} of {len(counted)} killed")
        killed += len(counted) - len(survived)
        total += len(counted)
    share = 100.0 * killed / total if total else 0.0
    tell(f"# all: {killed} of {total} killed, {share:.1f} %; wanted: {options.least:g} %")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
