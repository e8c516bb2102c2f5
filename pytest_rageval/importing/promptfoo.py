"""Turns a promptfoo configuration into a scenario: a row for each test, its asserts as checks.

A test passes there when all of its asserts do, and here when all of its checks hold. A
``threshold``, the share that is enough, is taken if all tests have the same and only checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.importing.base import Imported, ImportNotes, NotTakenError
from pytest_rageval.importing.files import Folder, Part
from pytest_rageval.importing.promptfoo_judges import models_of
from pytest_rageval.importing.promptfoo_prompts import Prompt, prompts_of, says_key
from pytest_rageval.importing.promptfoo_providers import (
    Provider,
    note_keys,
    note_rest,
    parts_of,
    providers_of,
    with_id,
)
from pytest_rageval.importing.promptfoo_rows import CHECKS, ImportedTests, Rows, sure_keys
from pytest_rageval.importing.promptfoo_scripts import scripts_text
from pytest_rageval.importing.promptfoo_tests import default_of, tests_of
from pytest_rageval.importing.templates import fill, names_in
from pytest_rageval.importing.written_files import (
    NAMES_IN_MODULE,
    Call,
    Code,
    identifier,
    module_text,
    prompt_pieces,
)
from pytest_rageval.model import WEIGHTED_SCORE
from pytest_rageval.scenario.recognise import is_promptfoo
from pytest_rageval.text.numbered import free_name

_READ: Final = frozenset(
    {"description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest"}
    | {"evaluateOptions", "commandLineOptions"}
)
_HARMLESS: Final = frozenset({"outputPath", "sharing", "tags", "version"})
_OF_ITS_OUTPUT: Final = frozenset({"showProgressBar", "verbose", "table", "output", "share"})
_NO_OPTION: Final = {
    "maxConcurrency": "is no whole number from 1 to 1024",
    "repeat": "each test is asked once; judge.repeats asks the judge alone again",
}
_LONGEST_NAME: Final = 60
_MOST_AT_ONCE: Final = 1024


def import_promptfoo(path: Path, shown: str = "", within: Path | None = None) -> Imported:
    """Return a promptfoo configuration as a scenario.

    The files that it names have to lie in its folder, or in ``within``. ``shown`` is its name in
    messages. Raises ScenarioError for another kind of file, and where no check could be taken.
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
    default = default_of(config, folder, notes)
    grader = default.of("options").of("provider")
    asked = [config.of(name).value for name in ("providers", "targets", "defaultTest")]
    rows = Rows(folder, grader.value, notes, sure_keys(asked))
    for test in tests_of(config, default, folder, notes):
        rows.add(test)
    tests = rows.finished()
    if not tests.checks and not tests.metrics:
        why = f"{rows.lack()}; without any, every answer would pass"
        problems = [Problem(where, what) for where, what in notes.grouped()]
        raise ScenarioError([Problem(shown or str(path), why), *problems])
    tests.module = module_name(path)
    scenario = _scenario(config, path, folder, tests, notes)
    concurrency = _at_once(config, notes)
    if concurrency is not None:
        for target in _targets_in(scenario):
            target["concurrency"] = concurrency
    scenario |= _models(grader, concurrency, tests, notes)
    module = module_text(path.name, tests.question, tests.calls) if tests.calls else ""
    scripts = ""
    if tests.scripts:
        scripts = scripts_text(
            path.name, asserts_name(path), tests.question, tests.scripts, tests.keys
        )
    return Imported(
        scenario, tests.rows, tests.checks, notes.grouped(), tests.remarks, module, scripts
    )


def module_name(path: Path) -> str:
    """Return the name of the module that asks the Python providers of a configuration."""
    return f"{identifier(path.stem)}_target"


def asserts_name(path: Path) -> str:
    """Return the name of the module with the asserts of a configuration that run code."""
    return f"{identifier(path.stem)}_asserts"


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
    if says_key(description, tests.sure_keys):
        why = "holds what looks like a key; it is not copied"
        notes.add(config.of("description").where, "description", why)
        description = ""
    scenario: dict[str, Any] = {"name": _name(description, path)}
    scenario |= {"description": description} if description else {}
    scenario |= {"dataset": f"{path.stem}.jsonl"}
    scenario |= _asked(config, folder, tests, notes)
    used = {name for row in tests.rows for name in row}
    kinds = [kind for kind in CHECKS if kind in used]
    bounds = dict.fromkeys(kinds, 1.0)
    if "answer_checks" in bounds:
        bounds["answer_checks"] = tests.threshold
    module = asserts_name(path)
    functions = [
        {"use": f"{module}:{name}", "needs": ["answer"]} for name in tests.scripts.values()
    ]
    scenario["metrics"] = [*kinds, *tests.metrics, *functions]
    scenario["thresholds"] = {**bounds, **tests.metrics}
    if functions:  # a row whose function is not written, or raises, is then an ERROR
        scenario["thresholds"][WEIGHTED_SCORE] = 0.0
    return scenario


def _targets_in(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a scenario asks, of each variant or of all."""
    parts = [scenario, *scenario.get("variants", {}).values()]
    return [part["target"] for part in parts if "target" in part]


def _at_once(config: Part, notes: ImportNotes) -> int | None:
    """Return how many are asked at once, None if the file does not say; note other options."""
    found = None
    for name in ("commandLineOptions", "evaluateOptions"):
        options = config.of(name)
        for key, value in options.value.items() if isinstance(options.value, dict) else ():
            is_count = isinstance(value, int) and 1 <= value <= _MOST_AT_ONCE
            if key == "maxConcurrency" and is_count and not isinstance(value, bool):
                found = value
            elif key not in _OF_ITS_OUTPUT and (key, value) != ("repeat", 1):
                why = _NO_OPTION.get(key, "has no counterpart here")
                notes.add(options.of(key).where, f"{name}.{key}", why)
    return found


def _name(description: str, path: Path) -> str:
    """Return the name of the scenario: what it is described as, else its file's or folder's."""
    given = _slug(description.strip().partition("\n")[0]).lower()
    if given:
        return given
    return path.stem if path.stem != "promptfooconfig" else path.resolve().parent.name


def _models(
    grader: Part, concurrency: int | None, tests: ImportedTests, notes: ImportNotes
) -> dict[str, Any]:
    """Return the judge and the embedding that the metrics ask."""
    asks = any("must_satisfy" in row for row in tests.rows)
    judged = asks or bool(tests.metrics.keys() - {"semantic_similarity"})
    embeds = bool(tests.metrics.keys() & {"semantic_similarity", "answer_relevancy"})
    roles = [role for role, is_asked in (("text", judged), ("embedding", embeds)) if is_asked]
    return models_of(grader, roles, concurrency, notes)


def _asked(
    config: Part, folder: Folder, tests: ImportedTests, notes: ImportNotes
) -> dict[str, Any]:
    """Return what is asked: a target, or a variant for each provider and prompt; {} for nothing."""
    if any("answer" in row for row in tests.rows):  # not in all: one with a key in it is kept out
        tests.remarks.append("the answers are those that the tests hold (providerOutput)")
        for part in parts_of(config):
            note_keys(part, notes)
        return {}
    prompts = prompts_of(config, folder, notes, tests.sure_keys)
    targets = {}
    if [with_id(part.value).get("id") for part in config.of("providers").parts()] == ["echo"]:
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


def _echoed(
    config: Part, prompts: Sequence[Prompt], tests: ImportedTests, notes: ImportNotes
) -> None:
    """Give each row its prompt as the answer; where that is not one text, only note so."""
    for part in config.of("providers").parts():
        note_keys(part, notes)
        own = with_id(part.value).get("config")
        note_rest("echo", own if isinstance(own, dict) else {}, frozenset(), part, notes)
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
    names: dict[str, str] = {}
    for provider in providers:
        used = provider.asked_with(prompts, notes)
        for prompt in used:
            parts = [provider.label, *([prompt.label] if len(used) > 1 else [])]
            label = "-".join(parts)
            own = [part for part in parts if part not in provider.target.values()]
            if says_key("-".join(own), tests.sure_keys):
                why = "holds what looks like a key; it is not copied"
                notes.add(provider.where, "label", why)
                label = "asked"
            name = free_name(_slug(label).replace(".", "-") or "asked", names)
            try:
                if provider.code is not None:
                    target = _called(provider.code, name, prompt, tests)
                else:
                    target = provider.asking(prompt, places)
            except NotTakenError as error:
                notes.add(prompt.where, f"prompt {prompt.label} to {provider.label}", error)
                continue
            names[name] = label
            yield name, target
    changed = [f"{name} ({label})" for name, label in names.items() if name != label]
    if changed and len(names) > 1:
        tests.remarks.append(f"variants with names for --rag-set: {', '.join(changed)}")


def _called(code: Code, name: str, prompt: Prompt, tests: ImportedTests) -> dict[str, Any]:
    """Add a function to the module beside the scenario, and return it as the target."""
    if prompt.system is not None:
        raise NotTakenError("messages of a chat are not passed to a function")
    prompt_pieces(prompt.user)  # raises for one that cannot be taken
    taken = {*NAMES_IN_MODULE, *(call.name for call in tests.calls)}
    own = free_name(identifier(name), taken, "_")
    tests.calls.append(Call(own, code, prompt.user))
    return {"use": f"{tests.module}:{own}"}


def _slug(text: str) -> str:
    """Return a text as a name, cut at a word; "" if nothing of it can be kept."""
    slug = re.sub(r"[^\w.]+", "-", text).strip("-.")
    cut = slug[:_LONGEST_NAME]
    return slug if cut == slug else cut.rpartition("-")[0] or cut


def _fill_gaps(targets: Mapping[str, Any], tests: ImportedTests) -> None:
    """Give each row an empty text for each variable that a prompt shows and the row lacks.

    Rows that lack it because it looks like a key are skipped.
    """
    text = json.dumps(targets, ensure_ascii=False)
    shown = [path.split(".") for path in re.findall(r"\{metadata\.vars\.([^{}]+)\}", text)]
    kept_out = [name for _, name in tests.kept_out]  # a function is passed all variables
    _skip_without(kept_out if tests.calls else [name for name, *_ in shown], tests)
    for row in tests.rows:
        for path in sorted(shown):  # a variable before its parts, which a text does not have
            if path[0] != tests.question:
                row["vars"] = _filled(row.get("vars", {}), path)


def _filled(variables: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return variables with an empty text where they have nothing at the end of a path."""
    name, *rest = path
    value = variables.get(name)
    if rest and (value is None or isinstance(value, Mapping)):
        return {**variables, name: _filled(value or {}, rest)}
    return {**variables, name: "" if value is None else value}


def _skip_without(shown: Collection[str], tests: ImportedTests) -> None:
    """Skip the rows without a variable that a prompt shows: another question would be asked."""
    for row, name in tests.kept_out:
        if name in shown:
            why = f"its variable {name!r} looks like a key, and is not copied"
            row.setdefault("skip", f"{why}; write it under vars, and take out this line")
