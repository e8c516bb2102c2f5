"""[P9] Every sentence of a run that the pages show has a Chinese form, found in the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import pytest_rageval
from pytest_rageval.reports.page import assemble

routes = pytest.importorskip("pytest_rageval.serving.web.routes", exc_type=ImportError)

PACKAGE = Path(pytest_rageval.__file__).parent
GAP = "\0"
# Whose sentences a page shows: verdicts of gates, comparisons, what is missing, causes, refusals.
SPOKEN = (
    *("gates/agreement.py", "gates/base.py", "gates/bound.py", "gates/confidence.py"),
    *("gates/invalid.py", "gates/mean.py", "gates/no_regression.py", "gates/pass_rate.py"),
    *("gates/regression.py", "gates/slices.py", "gates/unscored.py"),
    *("engine/verdict/best.py", "engine/verdict/decide.py", "engine/scoring/cause.py"),
    *("reports/made_questions.py", "reports/missing.py"),
    *("reports/needed_rows.py", "serving/saved_runs.py", "serving/web/data_files.py"),
    *("serving/web/live_runs.py", "serving/web/settings.py", "stats/caveats.py"),
    *("stats/comparison.py", "stats/filled.py", "stats/needed_rows.py", "stats/paired.py"),
    *("stats/paired_tests.py", "stats/stability.py", "stats/variant_ranking.py"),
    *("stats/labels/agreement.py", "stats/labels/corrected.py", "stats/labels/corrected_means.py"),
    *("stats/labels/strata.py", "datasets/proposer/answers.py", "datasets/proposer/draft.py"),
    *("datasets/proposer/propose.py", "first_scenario/questions.py", "first_scenario/propose.py"),
    *("serving/web/first_scenarios.py", "serving/web/routes.py", "serving/web/app_service.py"),
    "serving/web/run_store.py",
)
# What these files say elsewhere: of a scenario that cannot be run, in the terminal, or in data.
ELSEWHERE = (
    "expected a mapping",
    "is judged by labels, which",
    "is the table that metrics",
    "of the table itself only",
    "a corrected mean",
    "which needs every row; remove",
    "is of the judge's own mean, not",
    "of repeated grades the middle",
    "needs 'repeats' of a judge",
    "needs repeats, and no judge",
    "give 'baseline', or compare",
    "none of them",
    "the baseline ",
    "mode 'non_inferior' needs the range",
    "can never be exceeded",
    ", because it has no",
    "give the fall as a number",
    "causes are found with",
    " Known: ",
    "most confident:",
    "below a threshold; the lowest:",
    "beyond agreement",
    "permutation, ",
    "paired t",
    "its score",
    "are too few to say how",
    # Of requests that the page does not send.
    ": expected a",
    "gates: expected",
    "expected at most",
    "given: expected",
    ": changed twice",
    "a metric needs a weight",
    "a null character is in no name",
    "no such file",
)
PATTERN = re.compile(r"^\s*\[\s*/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/\w*,", re.MULTILINE)
REPEATED = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??")


def english_of(pattern: str) -> list[str]:
    """Return the texts that a pattern is for, with a gap for what may be anything.

    >>> english_of(r"^(\\d+) rows? (?:is|are) bad$")[0].replace(GAP, "*")
    '* rows is bad'
    """
    return [text for part in alternatives(pattern) for text in texts_of(part)]


def texts_of(pattern: str) -> list[str]:
    found, at = [""], 0
    while at < len(pattern):
        choices, at = choices_at(pattern, at)
        if repeated := REPEATED.match(pattern, at):
            at = repeated.end()
            choices = [*choices, ""] if repeated[0].startswith("?") else [GAP]
        found = [start + end for start, end in product(found, choices)]
    return found


def choices_at(pattern: str, at: int) -> tuple[list[str], int]:
    """Return what the next piece of a pattern may be, and where the one after it begins."""
    sign = pattern[at]
    if sign == "(":
        end = end_of_group(pattern, at)
        inner = pattern[at + 1 : end]
        if re.match(r"\?<?[=!]", inner):
            return [""], end + 1
        return english_of(inner.removeprefix("?:")), end + 1
    if sign == "[":
        return [GAP], re.compile(r"\[(?:[^\]\\]|\\.)*\]").match(pattern, at).end()  # type: ignore[union-attr]
    if sign == "\\":
        following = pattern[at + 1]
        return [{"b": ""}.get(following, GAP if following in "dwSs" else following)], at + 2
    return [{".": GAP, "^": "", "$": ""}.get(sign, sign)], at + 1


def signs(pattern: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the signs of a pattern that are not escaped or in brackets, with their place."""
    for found in re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]|[^\\\[]").finditer(pattern, start):
        if len(found[0]) == 1:
            yield found.start(), found[0]


def end_of_group(pattern: str, start: int) -> int:
    depth = 0
    for at, sign in signs(pattern, start):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return at
    raise AssertionError(pattern)


def alternatives(pattern: str) -> list[str]:
    cuts, depth = [-1], 0
    for at, sign in signs(pattern):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and depth == 0:
            cuts.append(at)
    ends = [*cuts[1:], len(pattern)]
    return [pattern[cut + 1 : end] for cut, end in zip(cuts, ends, strict=True)]


def pieces(text: str) -> list[str]:
    """Return the words between figures, names, quotes and commas: each has to be known."""
    bare = re.sub(r"'[^']*'|\d+(?:\.\d+)?|[\"*]", GAP, text)
    found = (piece.strip(" .,;:()[]{}") for piece in re.split(rf"{GAP}|[;:,]\s|[()]", bare))
    return [piece for piece in found if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", piece)]


def spoken(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a file with their lines; descriptions and errors are none."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = silent_in(tree)
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(text_of, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def silent_in(tree: ast.Module) -> set[int]:
    """Return what is no sentence, or a part of one that is found with it."""
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            silent.update(id(part) for part in node.values)
        elif is_no_sentence(node):
            silent.update(map(id, ast.walk(node)))
    return silent


def is_no_sentence(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in {"Field", "GateKind", "Problem", "compile"}
    if isinstance(node, ast.Raise):
        return "Refused" not in ast.unparse(node)
    return isinstance(node, ast.AnnAssign)


def text_of(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else GAP


@pytest.fixture(scope="module")
def known() -> str:
    """The English of all patterns, a line each."""
    own = Path(routes.__file__).with_name("assets").joinpath("app_said.js").read_text("utf-8")
    script = assemble.asset("run_words.js") + own
    patterns = PATTERN.findall(script) + re.findall(
        r"^const \w+ =\s+/(.+)/s;$", script, re.MULTILINE
    )
    assert len(patterns) > 300
    return "\n".join({text for pattern in patterns for text in english_of(pattern)})


@pytest.mark.parametrize("name", SPOKEN)
def test_every_sentence_of_a_run_has_a_chinese_form(name: str, known: str) -> None:
    """Its words between figures and names stand in a pattern of run_words.js or app_said.js."""
    untranslated = [
        (line, piece)
        for line, text in spoken(PACKAGE / name)
        if not any(words in text for words in ELSEWHERE)
        for piece in pieces(text)
        if piece not in known
    ]
    assert untranslated == []
