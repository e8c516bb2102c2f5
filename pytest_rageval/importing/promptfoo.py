"""Turns a promptfoo configuration into a scenario: a row for each test, its asserts as checks.

A test passes there when all of its asserts do, and here when all of its checks hold.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.importing.base import Imported, ImportNotes, NotTakenError
from pytest_rageval.importing.files import Folder, Part, shown_name
from pytest_rageval.importing.promptfoo_providers import (
    Prompt,
    Provider,
    chat_target,
    prompts_of,
    providers_of,
)
from pytest_rageval.importing.promptfoo_rows import CHECKS, ImportedTests, Rows
from pytest_rageval.importing.promptfoo_tests import default_of, tests_of
from pytest_rageval.importing.templates import fill, names_in
from pytest_rageval.importing.written_files import (
    Call,
    Code,
    check_prompt,
    identifier,
    module_text,
)
from pytest_rageval.scenario.recognise import is_promptfoo

_READ: Final = frozenset(
    {"description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest"}
)
_HARMLESS: Final = frozenset({"outputPath", "sharing", "tags", "commandLineOptions", "version"})
_ROLES: Final = frozenset({"text", "embedding"})
_LONGEST_NAME: Final = 60
_GRADER: Final = "gpt-4.1-2025-04-14"
_EMBEDDING: Final = "text-embedding-3-large"


def import_promptfoo(path: Path, shown: str = "", within: Path | None = None) -> Imported:
    """Return a promptfoo configuration as a scenario.

    The files that it names have to lie in its folder, or ``within`` another one. Raises
    ScenarioError for another kind of file, and where none of its checks could be taken.
    """
    folder = Folder(path.parent, within or path.parent)
    try:
        config = folder.data(path)
    except NotTakenError as error:
        raise ScenarioError([Problem("", str(error))]) from None
    if not isinstance(config.value, dict) or not is_promptfoo(config.value):
        message = "no promptfoo configuration: it needs 'tests', and 'prompts' or 'providers'"
        raise ScenarioError([Problem(shown or str(path), message)])
    notes = ImportNotes(re.findall(r"\benv\.(\w+)", json.dumps(config.value, default=str)))
    _note_keys(config, notes)
    rows = Rows(folder, notes)
    for test in tests_of(config, folder, notes):
        rows.add(test)
    tests = rows.finished()
    if not tests.checks and not tests.metrics:
        why = f"{rows.lack()}; without any, every answer would pass"
        problems = [Problem(where, what) for where, what in notes.grouped()]
        raise ScenarioError([Problem(shown or str(path), why), *problems])
    tests.module = module_name(path)
    scenario = _scenario(config, path, folder, tests, notes)
    module = module_text(path.name, tests.question, tests.calls) if tests.calls else ""
    return Imported(scenario, tests.rows, tests.checks, notes.grouped(), tests.remarks, module)


def module_name(path: Path) -> str:
    """Return the name of the module that asks the Python providers of a configuration."""
    return f"{identifier(path.stem)}_target"


def _note_keys(config: Part, notes: ImportNotes) -> None:
    for key in sorted(map(str, config.value.keys() - _READ - _HARMLESS)):
        part = config.of(key)
        why = "has no counterpart here"
        if key == "assert":
            why = "promptfoo does not read it here either; asserts stand under tests or defaultTest"
        notes.add(part.where, key, why)


def _scenario(
    config: Part, path: Path, folder: Folder, tests: ImportedTests, notes: ImportNotes
) -> dict[str, Any]:
    description = str(config.of("description").value or "")
    scenario: dict[str, Any] = {"name": _name(description, path)}
    scenario |= {"description": description} if description else {}
    scenario |= {"dataset": f"{path.stem}.jsonl"}
    scenario |= _asked(config, folder, tests, notes)
    used = {name for row in tests.rows for name in row}
    kinds = [kind for kind in CHECKS if kind in used]
    bounds = dict.fromkeys(kinds, 1.0)
    if "answer_checks" in bounds:
        bounds["answer_checks"] = tests.threshold
    scenario["metrics"] = [*kinds, *tests.metrics]
    scenario["thresholds"] = {**bounds, **tests.metrics}
    return scenario | _models(default_of(config, folder, notes), tests, notes)


def _name(description: str, path: Path) -> str:
    """Return the name of the scenario: what it is described as, else its file's or folder's."""
    given = _slug(description.strip().partition("\n")[0]).lower()
    if given:
        return given
    return path.stem if path.stem != "promptfooconfig" else path.resolve().parent.name


def _models(default: Part, tests: ImportedTests, notes: ImportNotes) -> dict[str, Any]:
    """Return the judge and the embedding that the metrics ask."""
    asks = any("must_satisfy" in row for row in tests.rows)
    judged = asks or bool(tests.metrics.keys() - {"semantic_similarity"})
    embeds = bool(tests.metrics.keys() & {"semantic_similarity", "answer_relevancy"})
    part = default.of("options").of("provider")
    by_role = _by_role(part, notes)
    models = {}
    for role, key, usual, wanted in (
        ("judge", "text", _GRADER, judged),
        ("embedding", "embedding", _EMBEDDING, embeds),
    ):
        if wanted:
            models[role] = _model(by_role.get(key), usual, role, part, notes)
    return models


def _by_role(part: Part, notes: ImportNotes) -> dict[str, Any]:
    """Return the graders that the tests share, by what they do."""
    given = part.value
    if isinstance(given, dict) and given.keys() & _ROLES:
        for key in sorted(map(str, given.keys() - _ROLES)):
            notes.add(part.of(key).where, f"options.provider.{key}", "has no counterpart here")
        return given
    if isinstance(given, dict) and "id" not in given and len(given) == 1:
        ((name, options),) = given.items()
        given = {**(options if isinstance(options, dict) else {}), "id": name}
    name = given.get("id") if isinstance(given, dict) else given
    return {"embedding" if ":embedding" in str(name) else "text": given}


def _model(given: Any, usual: str, role: str, part: Part, notes: ImportNotes) -> dict[str, Any]:
    name = given.get("id") if isinstance(given, dict) else given
    config = given.get("config") if isinstance(given, dict) else None
    options = config if isinstance(config, dict) else {}
    if name is None:
        return {"model": usual}
    try:
        model = chat_target(re.sub(r":embeddings?:", ":", str(name)), options, part, notes)
    except NotTakenError as error:
        notes.add(part.where, f"{role} {shorten(shown_name(str(name)), 60)}", error)
        return {"model": usual}
    return {key: value for key, value in model.items() if key != "temperature" or role == "judge"}


def _asked(
    config: Part, folder: Folder, tests: ImportedTests, notes: ImportNotes
) -> dict[str, Any]:
    """Return what is asked: a target, or a variant for each provider and prompt."""
    if tests.rows and all("answer" in row for row in tests.rows):
        tests.remarks.append("the answers are those that the tests hold (providerOutput)")
        return {}
    prompts = prompts_of(config, folder, notes)
    targets = {}
    if _is_echo(config):
        _echoed(config, prompts, tests, notes)
        if tests.rows and "answer" in tests.rows[0]:
            return {}
    else:
        targets = dict(_targets(providers_of(config, folder, notes), prompts, tests, notes))
    _fill_gaps(targets, tests)
    if not targets:
        tests.remarks.append("nothing can be asked yet: give the scenario a 'target'")
        return {}
    if len(targets) == 1:
        return {"target": next(iter(targets.values()))}
    return {"variants": {name: {"target": target} for name, target in targets.items()}}


def _is_echo(config: Part) -> bool:
    given = [part.value for part in config.of("providers").parts()]
    return [
        provider.get("id") if isinstance(provider, dict) else provider for provider in given
    ] == ["echo"]


def _echoed(
    config: Part, prompts: Sequence[Prompt], tests: ImportedTests, notes: ImportNotes
) -> None:
    """Give each row its prompt as the answer, where that is one."""
    if len(prompts) != 1 or prompts[0].system is not None:
        what = "the messages of a chat" if len(prompts) == 1 else f"{len(prompts)} prompts"
        why = f"gives back {what}; a row has one answer, so leave one text under prompts"
        notes.add(config.of("providers").where, "provider 'echo'", why)
        return
    for row in tests.rows:
        known = {**row.get("vars", {}), tests.question or "": row.get("question", "")}
        row["answer"] = fill(prompts[0].user, known, blank=True)
    _skip_without([name for name, *_ in names_in(prompts[0].user)], tests)
    tests.remarks.append("the answers are the prompts, as promptfoo's echo gives them")


def _targets(
    providers: Iterable[Provider],
    prompts: Sequence[Prompt],
    tests: ImportedTests,
    notes: ImportNotes,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a target for each provider and prompt, by a name of its own."""
    places: dict[tuple[str, ...], str] = {}
    if tests.question:
        places[tests.question,] = "{question}"
    names: Counter[str] = Counter()
    for provider in providers:
        used = provider.asked_with(prompts, notes)
        for prompt in used:
            parts = [provider.label, *([prompt.label] if len(used) > 1 else [])]
            name = _slug("-".join(parts)) or "asked"
            names[name] += 1
            name = name if names[name] == 1 else f"{name}-{names[name]}"
            try:
                if provider.code is not None:
                    target = _called(provider.code, name, prompt, tests)
                else:
                    target = provider.asking(prompt, places)
            except NotTakenError as error:
                notes.add(prompt.where, f"prompt {prompt.label} to {provider.label}", error)
                continue
            yield name, target


def _called(code: Code, name: str, prompt: Prompt, tests: ImportedTests) -> dict[str, Any]:
    """Return a function of the module beside the scenario as the target."""
    if prompt.system is not None:
        raise NotTakenError("messages of a chat are not passed to a function")
    check_prompt(prompt.user)
    taken = {call.name for call in tests.calls}
    own = identifier(name)
    own = own if own not in taken else f"{own}_{len(taken) + 1}"
    tests.calls.append(Call(own, code, prompt.user))
    return {"use": f"{tests.module}:{own}"}


def _slug(text: str) -> str:
    """Return a text as a name, cut at a word."""
    slug = re.sub(r"[^\w.]+", "-", text).strip("-.")
    cut = slug[:_LONGEST_NAME]
    return slug if cut == slug else cut.rpartition("-")[0] or cut


def _fill_gaps(targets: Mapping[str, Any], tests: ImportedTests) -> None:
    """Give each row an empty text for a variable that a prompt shows and no test has."""
    shown = re.findall(r"\{metadata\.vars\.(\w+)\}", json.dumps(targets))
    _skip_without([name for _, name in tests.kept_out] if tests.calls else shown, tests)
    for row in tests.rows:
        missing = [name for name in dict.fromkeys(shown) if name not in row.get("vars", {})]
        if missing:
            row["vars"] = {**row.get("vars", {}), **dict.fromkeys(missing, "")}


def _skip_without(shown: Collection[str], tests: ImportedTests) -> None:
    """Skip the rows without a variable that a prompt shows: another question would be asked."""
    for row, name in tests.kept_out:
        if name in shown:
            why = f"its variable {name!r} looks like a key, and is not copied"
            row.setdefault("skip", f"{why}; write it under vars, and take out this line")
