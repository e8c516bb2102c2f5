"""Turns a promptfoo configuration into a scenario: a row for each test, its asserts as checks.

A test passes there when all of its asserts do, and here when all of its checks hold.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.importing.base import Imported, Losses, NotTakenError
from pytest_rageval.importing.files import Folder, Part
from pytest_rageval.importing.promptfoo_asserts import METRICS, Measured, left_over, take
from pytest_rageval.importing.promptfoo_providers import (
    Prompt,
    Provider,
    chat_target,
    prompts_of,
    providers_of,
)
from pytest_rageval.importing.promptfoo_tests import Test, tests_of
from pytest_rageval.importing.python_target import (
    Call,
    Code,
    check_prompt,
    identifier,
    module_text,
)
from pytest_rageval.importing.templates import as_text, fill, names_in
from pytest_rageval.scenario.recognise import is_promptfoo

_READ: Final = frozenset(
    {"description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest"}
)
_HARMLESS: Final = frozenset({"outputPath", "sharing", "tags", "commandLineOptions", "version"})
_QUESTION_NAMES: Final = (
    *("question", "query", "user_query", "userQuery", "prompt", "message", "input"),
    *("user_input", "user_message", "user_prompt", "text"),
)
_CHECKS: Final = ("answer_checks", "must_satisfy")
_GRADER: Final = "gpt-4.1-2025-04-14"
_EMBEDDING: Final = "text-embedding-3-large"


def import_promptfoo(path: Path, shown: str = "", within: Path | None = None) -> Imported:
    """Return a promptfoo configuration as a scenario.

    The files that it names have to lie in its folder, or ``within`` another one. Raises
    ScenarioError for a file that is none, and for one of whose checks none could be taken.
    """
    folder = Folder(path.parent, within or path.parent)
    try:
        config = folder.data(path)
    except NotTakenError as error:
        raise ScenarioError([Problem("", str(error))]) from None
    if not isinstance(config.value, dict) or not is_promptfoo(config.value):
        message = "no promptfoo configuration: it needs 'tests', and 'prompts' or 'providers'"
        raise ScenarioError([Problem(shown or str(path), message)])
    losses = Losses()
    _note_keys(config, losses)
    rows = _Rows(folder, losses)
    for test in tests_of(config, folder, losses):
        rows.add(test)
    found = rows.finished()
    if not found.checks and not found.metrics:
        why = f"{rows.lack()}; without any, every answer would pass"
        problems = [Problem(where, what) for where, what in losses.grouped()]
        raise ScenarioError([Problem(shown or str(path), why), *problems])
    found.module = module_name(path)
    scenario = _scenario(config, path, folder, found, losses)
    module = module_text(path.name, found.question, found.calls) if found.calls else ""
    return Imported(scenario, found.rows, found.checks, losses.grouped(), found.remarks, module)


def module_name(path: Path) -> str:
    """Return the name of the module that asks the Python providers of a configuration."""
    return f"{identifier(path.stem)}_target"


def _note_keys(config: Part, losses: Losses) -> None:
    for key in sorted(map(str, config.value.keys() - _READ - _HARMLESS)):
        part = config.of(key)
        why = "has no counterpart here"
        if key == "assert":
            why = "promptfoo does not read it here either; asserts stand under tests or defaultTest"
        losses.note(part.where, key, why)


@dataclass(slots=True)
class _Found:
    """What the tests became. ``metrics`` have the least score of each."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    checks: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    threshold: float = 1.0
    graders: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    question: str | None = None
    module: str = ""
    calls: list[Call] = field(default_factory=list)


class _Rows:
    """Collects the rows, and what each of their asserts became."""

    def __init__(self, folder: Folder, losses: Losses) -> None:
        self._folder = folder
        self._losses = losses
        self._tests: list[Test] = []
        self._measured: list[dict[str, tuple[str, Measured]]] = []
        self._found = _Found()

    def add(self, test: Test) -> None:
        """Add the row of a test; what cannot be taken of it is noted."""
        row: dict[str, Any] = {"id": f"test-{len(self._tests) + 1}"}
        row |= {"description": test.description} if test.description else {}
        measured: dict[str, tuple[str, Measured]] = {}
        if "transform" in test.options or "postprocess" in test.options:
            why = "its options.transform changes the answer that the asserts are about"
            self._losses.note(test.where, "asserts", why)
        else:
            for part in test.asserts:
                self._take(part, test, row, measured)
        self._tests.append(test)
        self._measured.append(measured)
        self._found.rows.append(row)

    def lack(self) -> str:
        """Return why there is no check."""
        if not self._tests:
            return "it has no tests that could be taken"
        asks = any(test.asserts for test in self._tests)
        return "none of its asserts could be taken" if asks else "it has no asserts"

    def _take(
        self, part: Part, test: Test, row: dict[str, Any], measured: dict[str, tuple[str, Measured]]
    ) -> None:
        given = part.value
        kind = given.get("type") if isinstance(given, dict) else None
        try:
            if not isinstance(given, dict):
                raise NotTakenError(f"is no mapping: {shorten(repr(given))}")
            taken = take(given, test.variables, self._folder)
        except (NotTakenError, ScenarioError) as error:
            self._losses.note(part.where, f"assert {kind}", error)
            return
        for key, why in left_over(given, taken):
            self._losses.note(part.where, f"assert {kind}: {key}", why)
        if isinstance(taken, Measured):
            measured[taken.kind] = (part.where, taken)
        elif isinstance(taken, list):
            row.setdefault("must_satisfy", []).extend(taken)
        else:
            row.setdefault("answer_checks", []).append(taken)

    def finished(self) -> _Found:
        """Return the rows with their variables and questions, and the metrics of all rows."""
        found = self._found
        self._take_metrics()
        names = Counter(name for test in self._tests for name in test.variables)
        found.question = next((name for name in _QUESTION_NAMES if name in names), None)
        if found.question is None and len(names) == 1:
            (found.question,) = names
        for test, row in zip(self._tests, found.rows, strict=True):
            variables = dict(test.variables)
            question = variables.get(found.question or "", "")
            checks: dict[str, Any] = {name: row.pop(name) for name in _CHECKS if name in row}
            variables.pop(found.question or "", None)
            row.update({"question": as_text(question)} if found.question else {})
            row.update({"vars": variables} if variables else {})
            row.update({"metadata": test.metadata} if test.metadata else {})
            row.update(checks)
            found.checks += sum(map(len, checks.values()))
            if not checks and not found.metrics:
                lost = "none could be taken" if test.asserts else "it has none"
                row["skip"] = f"no check of {test.where}: {lost}"
        self._take_outputs()
        self._take_thresholds()
        return found

    def _take_outputs(self) -> None:
        """Take the answers that tests hold, where all of them do."""
        given = [test for test in self._tests if test.output is not None]
        for test, row in zip(self._tests, self._found.rows, strict=True):
            if len(given) == len(self._tests):
                row["answer"] = as_text(test.output)
            elif test.output is not None:
                self._losses.note(test.where, "providerOutput", "others have none; all are asked")

    def _take_metrics(self) -> None:
        """Take the asserts that are metrics here where every test has them, with one threshold."""
        for kind, metric in METRICS.items():
            known = [measured[kind] for measured in self._measured if kind in measured]
            bounds = {one.threshold for _, one in known}
            try:
                if known and (len(known) < len(self._tests) or len(bounds) > 1):
                    why = "measures every row here, with one threshold; not all tests have it so"
                    raise NotTakenError(f"{metric} {why}")
                if known:
                    self._add_fields(kind)
                    self._found.metrics[metric] = bounds.pop()
            except NotTakenError as error:
                for where, _ in known:
                    self._losses.note(where, f"assert {kind}", error)

    def _add_fields(self, kind: str) -> None:
        """Give each row the gold and the contexts that a metric reads."""
        fields: list[dict[str, Any]] = []
        for test, measured, row in zip(self._tests, self._measured, self._found.rows, strict=True):
            own: dict[str, Any] = {}
            if (gold := measured[kind][1].gold) is not None:
                own["references"] = [gold]
            if kind.startswith("context-"):
                own["contexts"] = _contexts(test)
            if any(row.get(name, value) != value for name, value in own.items()):
                raise NotTakenError("its gold differs from that of another assert of the test")
            fields.append(own)
        for row, own in zip(self._found.rows, fields, strict=True):
            row.update(own)

    def _take_thresholds(self) -> None:
        """Take the threshold of the tests where all have it, and nothing but checks decides."""
        found = self._found
        bounds = {_share(test.threshold) for test in self._tests}
        if bounds <= {None}:
            return
        only = all("must_satisfy" not in row for row in found.rows) and not found.metrics
        lost = any(loss.startswith("assert") for loss in self._losses)
        (bound, *others) = bounds
        if only and not others and bound is not None and not lost:
            found.threshold = bound
            return
        for test in self._tests:
            if test.threshold is not None:
                why = f"{test.threshold} is not taken: all checks of the test have to hold"
                self._losses.note(test.where, "threshold", why)


def _share(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0.0 < number <= 1.0 else None


def _contexts(test: Test) -> list[str]:
    context = test.variables.get("context")
    parts = context if isinstance(context, list) else [context]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        raise NotTakenError("a test has no variable 'context' with the text of the contexts")
    return [str(part) for part in parts]


def _scenario(
    config: Part, path: Path, folder: Folder, found: _Found, losses: Losses
) -> dict[str, Any]:
    description = str(config.of("description").value or "")
    name = path.stem if path.stem != "promptfooconfig" else path.resolve().parent.name
    scenario: dict[str, Any] = {"name": name}
    scenario |= {"description": description} if description else {}
    scenario |= {"dataset": f"{path.stem}.jsonl"}
    scenario |= _asked(config, folder, found, losses)
    used = {name for row in found.rows for name in row}
    kinds = [kind for kind in _CHECKS if kind in used]
    bounds = dict.fromkeys(kinds, 1.0)
    if "answer_checks" in bounds:
        bounds["answer_checks"] = found.threshold
    scenario["metrics"] = [*kinds, *found.metrics]
    scenario["thresholds"] = {**bounds, **found.metrics}
    return scenario | _models(config, found, losses)


def _models(config: Part, found: _Found, losses: Losses) -> dict[str, Any]:
    """Return the judge and the embedding that the metrics ask."""
    asks = any("must_satisfy" in row for row in found.rows)
    judged = asks or bool(found.metrics.keys() - {"semantic_similarity"})
    embeds = bool(found.metrics.keys() & {"semantic_similarity", "answer_relevancy"})
    part = config.of("defaultTest").of("options").of("provider")
    given = part.value
    by_role = given if isinstance(given, dict) and "id" not in given else {"text": given}
    models = {}
    for role, key, usual, wanted in (
        ("judge", "text", _GRADER, judged),
        ("embedding", "embedding", _EMBEDDING, embeds),
    ):
        if wanted:
            models[role] = _model(by_role.get(key), usual, role, part, losses)
    return models


def _model(given: Any, usual: str, role: str, part: Part, losses: Losses) -> dict[str, Any]:
    name = given.get("id") if isinstance(given, dict) else given
    config = given.get("config") if isinstance(given, dict) else None
    options = config if isinstance(config, dict) else {}
    if name is None:
        return {"model": usual}
    try:
        model = chat_target(str(name).replace(":embeddings:", ":"), options, part, losses)
    except NotTakenError as error:
        losses.note(part.where, f"{role} {shorten(str(name), 60)}", error)
        return {"model": usual}
    return {key: value for key, value in model.items() if key != "temperature" or role == "judge"}


def _asked(config: Part, folder: Folder, found: _Found, losses: Losses) -> dict[str, Any]:
    """Return what is asked: a target, or a variant for each provider and prompt."""
    if found.rows and all("answer" in row for row in found.rows):
        found.remarks.append("the answers are those that the tests hold (providerOutput)")
        return {}
    prompts = prompts_of(config, folder, losses)
    if _is_echo(config):
        return _echoed(prompts, found)
    targets = dict(_targets(providers_of(config, folder, losses), prompts, found, losses))
    _fill_gaps(targets, found)
    if not targets:
        found.remarks.append("nothing can be asked yet: give the scenario a 'target'")
        return {}
    if len(targets) == 1:
        return {"target": next(iter(targets.values()))}
    return {"variants": {name: {"target": target} for name, target in targets.items()}}


def _is_echo(config: Part) -> bool:
    given = [part.value for part in config.of("providers").parts()]
    return [one.get("id") if isinstance(one, dict) else one for one in given] == ["echo"]


def _echoed(prompts: Sequence[Prompt], found: _Found) -> dict[str, Any]:
    """Give each row its prompt as the answer, where that is one."""
    if len(prompts) == 1 and prompts[0].system is None:
        for row in found.rows:
            known = {path[0]: "" for path in names_in(prompts[0].user)} | row.get("vars", {})
            known |= {found.question or "": row.get("question", "")}
            row["answer"] = fill(prompts[0].user, known)
        found.remarks.append("the answers are the prompts, as promptfoo's echo gives them")
    return {}


def _targets(
    providers: Iterable[Provider], prompts: Sequence[Prompt], found: _Found, losses: Losses
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a target for each provider and prompt, by a name of its own."""
    places: dict[tuple[str, ...], str] = {}
    if found.question:
        places[found.question,] = "{question}"
    names: Counter[str] = Counter()
    for provider in providers:
        used = [one for one in prompts if not provider.prompts or one.label in provider.prompts]
        for prompt in used:
            name = _slug("-".join([provider.label, *([prompt.label] if len(used) > 1 else [])]))
            names[name] += 1
            name = name if names[name] == 1 else f"{name}-{names[name]}"
            try:
                if provider.code is not None:
                    target = _called(provider.code, name, prompt, found)
                else:
                    target = provider.asking(prompt, places)
            except NotTakenError as error:
                losses.note(prompt.where, f"prompt {prompt.label} to {provider.label}", error)
                continue
            yield name, target


def _called(code: Code, name: str, prompt: Prompt, found: _Found) -> dict[str, Any]:
    """Return a function of the module beside the scenario as the target."""
    if prompt.system is not None:
        raise NotTakenError("messages of a chat are not passed to a function")
    check_prompt(prompt.user)
    taken = {call.name for call in found.calls}
    own = identifier(name)
    own = own if own not in taken else f"{own}_{len(taken) + 1}"
    found.calls.append(Call(own, code, prompt.user))
    return {"use": f"{found.module}:{own}"}


def _slug(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60] or "asked"


def _fill_gaps(targets: Mapping[str, Any], found: _Found) -> None:
    """Give each row an empty text for a variable that a prompt shows and no test has."""
    shown = re.findall(r"\{metadata\.vars\.(\w+)\}", json.dumps(targets))
    for row in found.rows:
        missing = [name for name in dict.fromkeys(shown) if name not in row.get("vars", {})]
        if missing:
            row["vars"] = {**row.get("vars", {}), **dict.fromkeys(missing, "")}
