"""Break what mutmut does not break, at random: which changes no test notices.

``python -m tests.mutation.random_mutants`` (Python 3.12 or newer, some two hours of one core) runs
the tests once to see which test files reach which lines, draws mutants of the package without
``stats``, ``gates`` and ``engine/verdict``, and runs the test files that reach each one, the
closest first, until one fails. It works in a copy of the checkout.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "pytest_rageval"
OF_MUTMUT: Final = ("stats/", "gates/", "engine/verdict/")
TESTS: Final = (
    ("tests/unit", "tests/property", "tests/golden", "tests/plugin", "tests/serving", "tests/ci"),
    ("tests/examples",),
)
OTHER_OPERATOR: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
}


@dataclass(frozen=True)
class Mutant:
    """The bytes ``start`` to ``end`` of ``file``, below the package, read ``new``, not ``old``."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def write(self, package: Path) -> bytes:
        """Break the file; return what it was."""
        path = package / self.file
        source = path.read_bytes()
        path.write_bytes(source[: self.start] + self.new.encode() + source[self.end :])
        return source

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old}  ->  {self.new}"


class Mutants(ast.NodeVisitor):
    """All mutants of a file: of what runs inside functions, not of types, docstrings and prose."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.source = source.encode()
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.depth = 0
        self.visit(ast.parse(source))

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """Return the bytes at which a statement or an expression begins and ends."""
        assert isinstance(node, ast.stmt | ast.expr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    def _add(self, start: int, end: int, new: str) -> None:
        line = self.source.count(b"\n", 0, start) + 1
        old = self.source[start:end].decode()
        self.mutants.append(Mutant(self.file, line, start, end, old, new))

    def _replace(self, node: ast.AST, new: str) -> None:
        self._add(*self._span(node), new)

    def _between(self, left: ast.AST, operator: ast.AST, right: ast.AST) -> None:
        """Give the operator between two expressions its neighbour's place."""
        start, end = self._span(left)[1], self._span(right)[0]
        text = self.source[start:end].decode()
        old, new = OTHER_OPERATOR.get(type(operator), ("", ""))
        if old and text.count(old) == 1:
            self._add(start, end, text.replace(old, new))

    def _text(self, node: ast.AST) -> str:
        return self.source[slice(*self._span(node))].decode()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.depth += 1
        for statement in node.body:
            self.visit(statement)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.value, ast.Name) or not node.value.id.istitle():
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave out the words between the values."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave out what a type checker needs."""

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            self._between(node.left, node.ops[0], node.comparators[0])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        if len(node.values) == 2:
            self._between(node.values[0], node.op, node.values[1])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if self.depth:
            self._between(node.left, node.op, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> None:
        if self._text(node.test) != "TYPE_CHECKING":
            self._replace(node.test, f"(not ({self._text(node.test)}))")
            self.generic_visit(node)

    visit_While = visit_If  # noqa: N815
    visit_IfExp = visit_If  # noqa: N815

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and self._text(node.value) != "None":
            self._replace(node.value, "None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break | ast.Continue) -> None:
        self._replace(node, "pass")

    visit_Continue = visit_Break  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out a call; a string that stands alone is a docstring."""
        if isinstance(node.value, ast.Call) and self.depth:
            self._replace(node, "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace(node, repr(node.value + 1))
        elif self.depth and isinstance(node.value, str) and re.fullmatch(r"[\w./-]+", node.value):
            self._replace(node, repr(f"XX{node.value}"))


def all_mutants(package: Path) -> list[Mutant]:
    """Return the mutants of all files but those that mutmut breaks, in the order of their paths."""
    mutants = []
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        if not file.startswith(OF_MUTMUT):
            mutants += Mutants(file, path.read_text("utf-8")).mutants
    return mutants


@dataclass
class Reached:
    """Which lines of the package each test file runs, and how many seconds it takes."""

    lines: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Reached:
        """Read what the plugin of ``reach`` wrote."""
        reached = cls()
        for row in (folder / "seconds.jsonl").read_text("utf-8").splitlines():
            test, seconds = json.loads(row)
            path = folder / test.replace("/", "_")
            lines: dict[str, set[int]] = defaultdict(set)
            for place in path.read_text("utf-8").split() if path.exists() else ():
                file, _, line = place.rpartition(":")
                lines[file].add(int(line))
            reached.lines[test], reached.seconds[test] = lines, seconds
        return reached

    def tests(self, mutant: Mutant, source: str) -> list[str]:
        """Return the test files that run the mutant, those that are likely to notice it first."""
        lines = statement_of(source, mutant.line)
        folders = set(Path(mutant.file).parts[:-1])

        def cost(test: str) -> float:
            """Count lines: a second is 150; a test of the same name or folder comes before."""
            named = 30_000 * (Path(mutant.file).stem in test)
            beside = 1_500 * len(folders & set(test.split("/")))
            breadth = sum(map(len, self.lines[test].values()))
            return breadth + 150 * self.seconds[test] - named - beside

        hits = [test for test, files in self.lines.items() if files.get(mutant.file, set()) & lines]
        return sorted(hits, key=cost)


def statement_of(source: str, line: int) -> set[int]:
    """Return the lines of the smallest statement that has ``line``: one of a compound's, itself.

    What stands outside of functions runs once, for whichever test file imports it first, and all
    that use the module may notice it: its statement is the whole file.
    """
    inside = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in inside):
        return set(range(1, source.count("\n") + 2))
    smallest = min(inside, key=lambda node: (node.end_lineno or 0) - node.lineno)
    if hasattr(smallest, "body"):
        return {line}
    return set(range(smallest.lineno, (smallest.end_lineno or 0) + 1))


def pytest_run(root: Path, *arguments: str, timeout: float, **env: str) -> bool:
    """Run pytest in ``root``; return whether it passed. A run that hangs did not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not full"]
    examples = any(argument.startswith(TESTS[1]) for argument in arguments)
    mode = ["--import-mode=importlib"] if examples else []
    try:
        done = subprocess.run(
            [*command, *mode, *arguments],
            cwd=root,
            env=os.environ | {"PYTHONPATH": str(root), "PYTHONHASHSEED": "0"} | env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in {0, 5}


def reach(root: Path, out: Path) -> Reached:
    """Run all tests once, and return what each test file reaches."""
    out.mkdir(parents=True, exist_ok=True)
    env = {
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests/mutation/reach")]),
        "REACH_SOURCE": str(root / PACKAGE),
        "REACH_OUT": str(out),
    }
    for folders in TESTS:
        if not pytest_run(root, "-p", "reach_plugin", *folders, timeout=7200, **env):
            raise SystemExit(f"{' '.join(folders)}: red without any mutant; mend this first")
    return Reached.read(out)


def is_killed(mutant: Mutant, root: Path, reached: Reached, seconds: float) -> bool:
    """Return whether a test file fails with the mutant, within some ``seconds`` of tests.

    Files that take five times as long as without it hang: that counts as failing.
    """
    tests = reached.tests(mutant, (root / PACKAGE / mutant.file).read_text("utf-8"))
    source = mutant.write(root / PACKAGE)
    until = time.monotonic() + seconds
    try:
        for batch in batches(tests):
            if time.monotonic() > until:
                break
            usual = sum(reached.seconds[test] for test in batch)
            if not pytest_run(root, "-x", *batch, timeout=60 + 5 * usual):
                return True
    finally:
        (root / PACKAGE / mutant.file).write_bytes(source)
    return False


def batches(tests: list[str]) -> Iterator[list[str]]:
    """Yield few test files first, then more: most mutants die at once."""
    for examples in (False, True):
        chosen = [test for test in tests if test.startswith(TESTS[1]) == examples]
        for start, end in ((0, 3), (3, 13), (13, 38), (38, None)):
            if chosen[start:end]:
                yield chosen[start:end]


def main() -> int:
    """Draw, break, run; print the survivors and their number."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.random_mutants")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--seconds", type=float, default=300.0, help="of tests for a mutant")
    parser.add_argument("--folder", type=Path, default=ROOT / "mutants-random")
    options = parser.parse_args()
    root = options.folder / "checkout"
    if not root.exists():
        skipped = shutil.ignore_patterns(".git", ".tox", ".venv", "mutants*", "__pycache__")
        shutil.copytree(ROOT, root, ignore=skipped)
    out = options.folder / "reached"
    reached = Reached.read(out) if (out / "seconds.jsonl").exists() else reach(root, out)
    drawn = random.Random(options.seed).sample(all_mutants(root / PACKAGE), options.count)
    survivors = 0
    for mutant in drawn:
        if not is_killed(mutant, root, reached, options.seconds):
            survivors += 1
            sys.stdout.write(f"{mutant}\n")
            sys.stdout.flush()
    sys.stdout.write(f"# {options.count - survivors} of {options.count} killed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
