"""The rows of a promptfoo configuration: one for each test, with what its asserts became."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.importing.base import ImportNotes, NotTakenError
from pytest_rageval.importing.files import Folder, Part
from pytest_rageval.importing.promptfoo_asserts import (
    METRICS,
    Measured,
    Taken,
    left_over,
    role_of,
    seen_through,
    take,
)
from pytest_rageval.importing.promptfoo_judges import check_server
from pytest_rageval.importing.promptfoo_scripts import FIELD, Script, runs_script
from pytest_rageval.importing.promptfoo_tests import Test
from pytest_rageval.importing.templates import as_text
from pytest_rageval.importing.written_files import Call
from pytest_rageval.redaction import (
    SHORTEST_SECRET,
    is_clearly_secret,
    looks_secret,
    names_secret,
    secrets_in,
    shown_message,
)
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.row_checks import read_checks

CHECKS: Final = ("answer_checks", "must_satisfy")
"""The fields of a row that hold what its asserts became, each with a metric of that name."""

_QUESTION_NAMES: Final = (
    *("question", "query", "user_query", "userQuery", "prompt", "message", "input"),
    *("user_input", "user_message", "user_prompt", "text"),
    *("问题", "用户问题", "用户提问", "提问", "用户输入", "题目"),
)


@dataclass(slots=True)
class ImportedTests:
    """What the tests became: ``rows``, and what the scenario has to say for all of them.

    ``checks`` are those of the rows, counted, and ``threshold`` the share that has to hold.
    ``weakened`` rows, counted, keep only the checks of ``defaultTest``. ``metrics`` have the
    threshold of each, ``scripts`` the names of their functions. ``question`` is the variable that
    became the question. ``kept_out`` are rows, each with the name of a variable or of metadata that
    was left out, because it holds one of ``keys``; ``sure_keys`` are no words, wherever they stand.
    The caller adds ``module`` and ``calls``.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    checks: int = 0
    weakened: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    threshold: float = 1.0
    remarks: list[str] = field(default_factory=list)
    question: str | None = None
    module: str = ""
    calls: list[Call] = field(default_factory=list)
    scripts: dict[Script, str] = field(default_factory=dict)
    kept_out: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    sure_keys: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Entry:
    """A test and its row. ``measured`` are its asserts that are metrics here, by type, with places.

    ``own`` says what was taken of the test's own asserts, without those of ``defaultTest``: the
    types of metrics, and "check" for all else. ``is_whole``: no assert was left out.
    """

    test: Test
    row: dict[str, Any]
    measured: dict[str, list[tuple[str, Measured]]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    is_whole: bool = True


class Rows:
    """Collects the rows, and what each of their asserts became.

    ``grader`` is the provider that judges all tests; ``keys`` are the secrets of the providers,
    which no row may say.
    """

    def __init__(
        self, folder: Folder, grader: Any, notes: ImportNotes, keys: Iterable[str] = ()
    ) -> None:
        self._folder = folder
        self._grader = grader
        self._notes = notes
        self._entries: list[_Entry] = []
        self._tests = ImportedTests(sure_keys=set(keys))

    def add(self, test: Test) -> None:
        """Add the row of a test; what cannot be taken of it is noted."""
        row: dict[str, Any] = {"id": f"test-{len(self._entries) + 1}"}
        row |= {"description": test.description} if test.description else {}
        entry = _Entry(test, row, is_whole=test.is_whole)
        for at, part in enumerate(test.asserts):
            self._take(part, entry, is_own=at >= test.shared)
        checks = row.get("answer_checks", [])
        try:
            read_checks("asserts", checks)
        except ValueError as error:  # each was read; together, their weights are wrong
            self._notes.add(test.where, "test", f"{error}; until then, all have to hold")
            for check in checks:
                check.pop("weight", None)
            entry.is_whole = False
        self._entries.append(entry)
        self._tests.rows.append(row)

    def lack(self) -> str:
        """Return why there is no check at all."""
        if not self._entries:
            return "it has no tests that could be taken"
        asks = any(entry.test.asserts or not entry.is_whole for entry in self._entries)
        return "none of its asserts could be taken" if asks else "it has no asserts"

    def _take(self, part: Part, entry: _Entry, *, is_own: bool) -> None:
        given, row = part.value, entry.row
        kind = given.get("type") if isinstance(given, dict) else None
        try:
            if not isinstance(given, dict):
                raise NotTakenError(f"is no mapping: {shorten(repr(given))}")
            taken = self._taken(given, entry.test)
        except (NotTakenError, ScenarioError) as error:
            self._notes.add(part.where, f"assert {kind}", error)
            entry.is_whole = False
            return
        for key, why in left_over(given, taken):
            self._notes.add(part.where, f"assert {kind}: {key}", why)
        if isinstance(taken, Script):
            name = self._function(taken)
            row.setdefault(FIELD, []).append(name)
            why = f"runs code; write the function {name}, until then it is an ERROR"
            self._notes.add(part.where, f"assert {kind}", why)
        elif isinstance(taken, Measured):
            entry.measured.setdefault(taken.kind, []).append((part.where, taken))
        elif isinstance(taken, list):
            row.setdefault("must_satisfy", []).extend(taken)
        else:
            row.setdefault("answer_checks", []).append(taken)
        entry.own |= {taken.kind if isinstance(taken, Measured) else "check"} if is_own else set()

    def _taken(self, given: dict[str, Any], test: Test) -> Taken:
        """Return what an assert is here, said of the output before any transform.

        Raises NotTakenError, or ScenarioError for a schema that is no YAML.
        """
        role = role_of(str(given.get("type")))
        if role is not None:
            own = given.get("provider", test.options.get("provider"))
            check_server(own, self._grader, role)
        is_code = runs_script(str(given.get("type")))
        own_transform = None if is_code else given.get("transform")
        bare = {key: part for key, part in given.items() if is_code or key != "transform"}
        taken = take(bare, test.variables, self._folder)
        options = test.options
        for transform in (own_transform, options.get("transform", options.get("postprocess"))):
            taken = taken if transform is None else seen_through(taken, transform)
        return taken

    def _function(self, script: Script) -> str:
        """Return the name of the function of a script; equal scripts share it."""
        scripts = self._tests.scripts
        alike = sum(known.language == script.language for known in scripts)
        return scripts.setdefault(script, f"{script.language}_{alike + 1}")

    def finished(self) -> ImportedTests:
        """Return the rows with their variables and questions, and the metrics of all rows."""
        found = self._tests
        taken = {"check", *self._take_metrics()}
        names = Counter(name for entry in self._entries for name in entry.test.variables)
        found.question = next((name for name in _QUESTION_NAMES if name in names), None)
        if found.question is None and len(names) == 1:
            (found.question,) = names
        for test in (entry.test for entry in self._entries):
            found.sure_keys |= sure_keys([test.variables, test.metadata])
        has_outputs = all(entry.test.output is not None for entry in self._entries)
        for entry in self._entries:
            self._finish(entry, taken, has_outputs=has_outputs)
        if found.weakened:
            rows = counted(found.weakened, "row")
            keep = "keeps" if found.weakened == 1 else "keep"
            only = "only the checks of defaultTest, and may be green for nothing; see below"
            found.remarks.append(f"{rows} {keep} {only}")
        for test in (entry.test for entry in self._entries):
            if not has_outputs and test.output is not None:
                self._notes.add(test.where, "providerOutput", "others have none; all are asked")
        self._take_thresholds()
        return found

    def _finish(self, entry: _Entry, taken: set[str], *, has_outputs: bool) -> None:
        """Complete a row; note a test that lost its own asserts, and skip one without any check."""
        test, row, found = entry.test, entry.row, self._tests
        variables = dict(test.variables)
        question = variables.pop(found.question or "", "")
        checks: dict[str, Any] = {name: row.pop(name) for name in (*CHECKS, FIELD) if name in row}
        row.update({"question": as_text(question)} if found.question else {})
        row.update({"vars": variables} if variables else {})
        row.update({"metadata": test.metadata} if test.metadata else {})
        row.update(checks)
        row.update({"answer": as_text(test.output)} if has_outputs else {})
        self._keep_out(entry)
        if "skip" in row:
            return
        found.checks += sum(map(len, checks.values()))
        if not checks and not found.metrics:
            lost = "it has none" if not test.asserts and entry.is_whole else "none could be taken"
            row["skip"] = f"no check of {test.where}: {lost}"
        elif test.asks_itself and not entry.own & taken:
            self._notes.add(test.where, "test", "keeps only the checks of defaultTest")
            found.weakened += 1

    def _keep_out(self, entry: _Entry) -> None:
        """Take variables and metadata out that hold what looks like a key; they are noted.

        A row that says the key elsewhere, too, keeps only its id and is skipped: a check may be
        about it. Other rows, and the answers of all, are searched for sure keys alone: what only
        seems to be one may be a word there.
        """
        row, where, keys = entry.row, entry.test.where, set[str]()
        whole = _written(row)
        said = [key for key in self._tests.sure_keys if _quoted(key) in whole]
        for part in ("vars", "metadata"):
            given = row.pop(part, {})
            held = {
                name: [key for _, key in keys_in(name, value)]
                + [key for key in said if _quoted(key) in _written(value)]
                for name, value in given.items()
            }
            left = {name: value for name, value in given.items() if not held[name]}
            row.update({part: left} if left else {})
            for name in sorted(name for name in held if held[name]):
                keys.update(held[name])
                self._notes.add(where, f"{part}: {name}", "looks like a key; it is not copied")
                self._tests.kept_out.append((row, name))
        self._tests.keys |= keys
        answer = _written(row.get("answer"))
        others = ("vars", "metadata", "answer")
        written = _written([value for name, value in row.items() if name not in others])
        is_said = any(_quoted(key) in written for key in (*keys, *said))
        if looks_secret(written) or is_said or any(_quoted(key) in answer for key in said):
            self._notes.add(where, "test", "its texts hold what looks like a key; none is copied")
            skipped = {"id": row["id"], "skip": f"no check of {where}: its texts hold a key"}
            row.clear()
            row.update(skipped)

    def _take_metrics(self) -> list[str]:
        """Take the asserts that are metrics here where every test has them, with one threshold.

        Returns the types of those that were taken.
        """
        kinds = []
        for kind, metric in METRICS.items():
            asserts = [entry.measured.get(kind, []) for entry in self._entries]
            if not any(asserts):
                continue
            try:
                measured = [_merged(metric, of_test) for of_test in asserts]
                bounds = {assertion.threshold for assertion in measured}
                if len(bounds) > 1:
                    raise NotTakenError(f"{metric} {_UNEQUAL}")
                self._add_fields(measured)
                self._tests.metrics[metric] = bounds.pop()
                kinds.append(kind)
            except NotTakenError as error:
                for entry in self._entries:
                    for where, _ in entry.measured.get(kind, []):
                        self._notes.add(where, f"assert {kind}", error)
                        entry.is_whole = False
        return kinds

    def _add_fields(self, measured: Sequence[Measured]) -> None:
        """Give each row the gold and contexts of a metric; NotTakenError comes before any."""
        fields: list[dict[str, Any]] = []
        for entry, metric in zip(self._entries, measured, strict=True):
            own: dict[str, Any] = {}
            if metric.gold is not None:
                own["references"] = [metric.gold]
            if metric.kind.startswith("context-"):
                own["contexts"] = _contexts(entry.test)
            if any(entry.row.get(name, value) != value for name, value in own.items()):
                raise NotTakenError("its gold differs from that of another assert of the test")
            fields.append(own)
        for entry, more in zip(self._entries, fields, strict=True):
            entry.row.update(more)

    def _take_thresholds(self) -> None:
        """Take the tests' threshold if all have the same, and ``answer_checks`` alone decide."""
        found, tests = self._tests, [entry.test for entry in self._entries]
        bounds = {_share(test.threshold) for test in tests}
        others = {"must_satisfy", FIELD}
        only = all(others.isdisjoint(row) for row in found.rows) and not found.metrics
        if only and len(bounds) == 1 and all(entry.is_whole for entry in self._entries):
            found.threshold = bounds.pop() or 1.0
        for test in tests:
            if test.threshold is not None and _share(test.threshold) != found.threshold:
                why = f"{test.threshold} is not taken: all checks of the test have to hold"
                self._notes.add(test.where, "threshold", why)


_UNEQUAL: Final = "measures every row here, with one threshold; not all tests have it so"


def _merged(metric: str, asserts: Sequence[tuple[str, Measured]]) -> Measured:
    """Return one assert for all of one type in a test: the highest threshold, and their gold.

    Raises NotTakenError where there is none, or where their golds differ.
    """
    if not asserts:
        raise NotTakenError(f"{metric} {_UNEQUAL}")
    (_, first), *_ = asserts
    if any(measured.gold != first.gold for _, measured in asserts):
        raise NotTakenError(f"{metric} has one score of a row; a test has it for several values")
    return replace(first, threshold=max(measured.threshold for _, measured in asserts))


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _quoted(key: str) -> str:
    """Return a key as it stands within ``_written`` JSON."""
    return _written(key)[1:-1]


# Six letters and digits in a run that has both, as no word has; or a run too long for a word.
_NO_WORD: Final = re.compile(
    r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{6}|[A-Za-z\d]{20}", re.ASCII
)


def sure_keys(value: Any) -> set[str]:
    """Return the keys in a value that cannot be words, so that they are keys wherever they stand.

    >>> sure_keys({"pwd": "hunter2x", "answer_key": "photosynthesis"})
    {'hunter2x'}
    """
    return {
        piece
        for name, text in keys_in("", value)
        for piece in (secrets_in(text) or text.split()[-1:])
        if len(piece) >= SHORTEST_SECRET and _NO_WORD.search(piece)
        if looks_secret(text)
        or (is_clearly_secret(name) and shown_message(f"{name}={piece}") != f"{name}={piece}")
    }


def keys_in(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of a value that are keys or passwords, each after the name that it is under.

    Their looks tell, or the name. The name does not where the text is short, has blanks
    (``{key: C major}``) or a template.
    """
    if isinstance(value, dict):
        yield from (found for own, part in value.items() for found in keys_in(str(own), part))
    elif isinstance(value, list):
        yield from (found for part in value for found in keys_in(name, part))
    elif isinstance(value, str):
        is_one = len(value) >= SHORTEST_SECRET and not re.search(r"\s|\{\{", value)
        if looks_secret(value) or (is_one and names_secret(name)):
            yield name, value


def _share(value: Any) -> float | None:
    """Return a threshold as a share above 0, up to 1; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0.0 < number <= 1.0 else None


def _contexts(test: Test) -> list[str]:
    """Return the texts of the variable ``context``; raises NotTakenError for one without text."""
    context = test.variables.get("context")
    parts = context if isinstance(context, list) else [context]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        raise NotTakenError("a test has no variable 'context' with the text of the contexts")
    return [str(part) for part in parts]
