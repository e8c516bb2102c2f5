"""Writing weights, models and other values into a scenario file, which keeps all the rest."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.redaction import looks_secret, names_secret
from pytest_rageval.scenario.dialects.rag_eval import has_our_key
from pytest_rageval.scenario.in_memory import Changes, as_json_value, steps_of
from pytest_rageval.scenario.loader import decode_scenario, inspect_tree, parse_scenario
from pytest_rageval.scenario.overrides import NameOf, Override, as_named, key_name
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.short_forms import (
    ABSENT,
    ROLES,
    beside_number,
    expand_short_forms,
    expanded_short_form,
    names_profile,
    short_key,
    value_at,
)
from pytest_rageval.scenario.variants import VARIANTS
from pytest_rageval.scenario.yaml.edit import EditError, edited, same
from pytest_rageval.scenario.yaml.tree import YamlTree, refuse_depth

if sys.platform != "win32":
    import fcntl

_BOM = b"\xef\xbb\xbf"
_ATTEMPTS = 20
_NO_EFFECT = (
    "has no effect in this file, which says it by another system's key (rag_eval's, UltraRAG's or "
    "DB-GPT's); change that one by its own name"
)
# Sections that say how a model or a target is reached: API keys may get into them by mistake.
_WITH_KEYS = ("judge", "embedding", "models", "target")
_PLACE = re.compile(r"\{\w+\}")  # of a variable, or of a field of the row
_AUTHORIZATION = re.compile(r"\b(?:bearer|basic)\s+(?!\$\{)\S{8,}", re.IGNORECASE)

Steps = tuple[str, ...]


Find = Callable[[YamlTree, Path], list[Problem]]
"""Finds the problems of a tree, which it may change, at the path of its file."""


def patch_file(
    path: str | os.PathLike[str], changes: Changes, find_problems: Find, name_of: NameOf = str
) -> tuple[str, ...]:
    """Write ``changes`` into a scenario file; return the dotted names of what really changed.

    ``name_of`` maps a metric's name, in the changes or the file, to the one that results use.
    Raises ScenarioError, and leaves the file alone, if it cannot be changed, or would have new
    problems, or a key or password in it.
    """
    path = Path(path)
    shown = path.name
    target = Path(os.path.realpath(path))
    with _turn(target.parent):
        for _ in range(_ATTEMPTS):
            raw = _read(target, shown)
            before = decode_scenario(raw, shown)
            text, names = patched_text(before, changes, path, find_problems, name_of)
            if not names:
                return ()
            fresh = (_BOM if raw.startswith(_BOM) else b"") + text.encode("utf-8")
            # An editor, for instance, takes no turns and may have been faster.
            if _read(target, shown) == raw:
                _replace(target, fresh, shown)
                return names
    raise ScenarioError(
        [Problem(shown, "not written: the file is changed by others again and again")]
    )


def try_patch(
    path: str | os.PathLike[str], changes: Changes, find_problems: Find, name_of: NameOf = str
) -> tuple[str, ...]:
    """Return the names that ``patch_file`` would change, or raise as it would; only read."""
    path = Path(path)
    text = decode_scenario(_read(path, path.name), path.name)
    return patched_text(text, changes, path, find_problems, name_of)[1]


def patched_text(
    text: str, changes: Changes, path: Path, find_problems: Find, name_of: NameOf = str
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a scenario file with ``changes``, and the names of what changed.

    ``path`` says whether it is JSON, and what data files are relative to. Raises ScenarioError.
    """
    shown = path.name
    before = parse_scenario(text, path, shown)
    wanted = deepcopy(before)
    refuse_depth(changes, "changes")
    _refuse_secrets(changes)
    changed = [
        steps
        for key, value in changes.items()
        for steps in _apply(wanted, steps_of(key), as_json_value(value, key), name_of)
    ]
    names = [key_name(steps) for steps in changed]
    if not names:
        return text, ()
    try:
        fresh = edited(text, before.data, wanted.data)
        after = parse_scenario(fresh, path, shown)
    except (EditError, ScenarioError) as error:
        raise _refused(names, shown, str(error).splitlines()[0]) from error
    if not same(after.data, wanted.data):
        raise _refused(names, shown, "aliases (&, *, <<) would carry the change elsewhere")
    _refuse_without_effect(after, path, changed)
    _refuse_new_problems(before, after, path, find_problems)
    return fresh, tuple(names)


def _refused(names: list[str], shown: str, reason: str) -> ScenarioError:
    message = f"{', '.join(names)} cannot be changed in place: {reason}. Change it by hand"
    return ScenarioError([Problem(shown, message)])


def _refuse_without_effect(after: YamlTree, path: Path, changed: Sequence[Steps]) -> None:
    """Raise ScenarioError for values that another system's keys in the file overrule."""
    read = deepcopy(after)
    inspect_tree(read, path)
    lost = [
        Problem(after.where(steps), f"{key_name(steps)}: {_NO_EFFECT}")
        for steps in changed
        if steps[0] in Scenario.model_fields
        and not _says(steps, value_at(read.data, steps), value_at(after.data, steps))
    ]
    if lost:
        raise ScenarioError(lost)


def _says(path: Steps, read: Any, written: Any) -> bool:
    """Return whether the value that is read is the ``written`` one, perhaps with more keys."""
    if isinstance(read, dict) and not isinstance(written, dict):
        written = expanded_short_form(path, written)
    if not (isinstance(read, dict) and isinstance(written, dict)):
        return same(read, written)
    return all(_says((*path, key), read.get(key, ABSENT), part) for key, part in written.items())


def _refuse_new_problems(
    before: YamlTree, after: YamlTree, path: Path, find_problems: Find
) -> None:
    """Raise ScenarioError with the problems of the patched file that the old one did not have."""
    old = find_problems(deepcopy(before), path)
    if old:
        # Names may be unknown because only a plugin defines them: compare the keys alone.
        old, new = inspect_tree(before, path)[1], inspect_tree(after, path)[1]
    else:
        new = find_problems(after, path)
    known = Counter(problem.message for problem in old)
    fresh = []
    for problem in new:
        known[problem.message] -= 1
        if known[problem.message] < 0:
            fresh.append(problem)
    if fresh:
        raise ScenarioError(fresh)


# Changing the data


def _apply(tree: YamlTree, path: Steps, value: Any, name_of: NameOf) -> Iterator[Steps]:
    """Put ``value`` into the tree and yield the paths of what really changed."""
    written = path if isinstance(value, dict) else _as_written(tree.data, path)
    if value is None and written != path and len(path) == 1 and path[0] in tree.data:
        _remove(tree, path)  # beside ``judge_model``, ``judge`` has the rest
        yield path
    path = as_named(tree.data, written, name_of)
    present = value_at(tree.data, path)
    if isinstance(value, dict) and value and expanded_short_form(path, present) is not None:
        for key, part in value.items():
            yield from _apply(tree, (*path, key), part, name_of)
    elif value is None:
        if present is not ABSENT:
            _remove(tree, path)
            yield path
    elif isinstance(present, dict) and _is_short(path, present, value):
        yield from _apply(tree, (*path, short_key(path, present)), value, name_of)
    elif not same(present, value := beside_number(path, present, value)) and not _is_on(
        path, present, value
    ):
        _put(tree, path, value)
        yield path


def _is_on(path: Steps, present: Any, value: Any) -> bool:
    """Return whether ``value`` switches on a section that has keys."""
    return value is True and isinstance(present, dict) and expanded_short_form(path, value) == {}


def _is_short(path: Steps, present: dict[str, Any], value: Any) -> bool:
    """Return whether ``value`` is short for one key of the mapping that is there."""
    if isinstance(value, bool) and not expanded_short_form(path, value):
        return False  # it switches a section on or off
    return not isinstance(value, dict) and bool(short_key(path, present))


def _as_written(data: Any, path: Steps) -> Steps:
    """Return ``path`` as rag_eval's files write it, if this is such a file."""
    old = f"{path[0]}_model"
    is_model = path in (("judge",), ("judge", "model"), ("embedding",), ("embedding", "model"))
    return (
        (old,) if is_model and old in data and not has_our_key(data, (*path[:1], "model")) else path
    )


def _put(tree: YamlTree, path: Steps, value: Any) -> None:
    """Set the value at ``path``, with room made for it as overrides do."""
    expand_short_forms(tree, path)
    if path[1:] == ("model",) and path[0] in ROLES:  # else the profile would stay
        present = tree.data.get(path[0])
        if isinstance(present, dict) and names_profile(tree.data, present.get("model")):
            del present["model"]
    Override(path, value, key_name(path)).apply(tree)


def _remove(tree: YamlTree, path: Steps) -> None:
    """Take out what stands at ``path``; where a short form is all there is, take that out."""
    while len(path) > 1 and not isinstance(value_at(tree.data, path[:-1]), dict):
        path = path[:-1]
    value_at(tree.data, path[:-1]).pop(path[-1])


# What must not be written


def _refuse_secrets(changes: Changes) -> None:
    """Raise ScenarioError where a value looks like a key or password; it is never quoted."""
    found = [
        Problem(key_name(path), message)
        for key, value in changes.items()
        for path, message in _secrets(steps_of(key), as_json_value(value, key))
    ]
    if found:
        raise ScenarioError(found)


def _secrets(path: Steps, value: Any) -> Iterator[tuple[Steps, str]]:
    section = path[2:3] if path[0] == VARIANTS else path[:1]
    if section and section[0] not in _WITH_KEYS:
        return
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _secrets((*path, key), part)
    elif isinstance(value, list):
        for part in value:
            yield from _secrets(path, part)
    elif isinstance(value, str) and _looks_secret(path[-1], value):
        hint = "put it into an environment variable and name that (api_key_env: NAME, or ${NAME})"
        yield path, f"looks like a key or password, which files must not hold; {hint}"


def _looks_secret(name: str, value: str) -> bool:
    if looks_secret(value) or _AUTHORIZATION.search(value):
        return True
    if names_secret(name):
        return bool(value) and not _PLACE.search(value)
    try:
        return bool(urlsplit(value).password) and "${" not in value
    except ValueError:
        return False


# Files


def _read(path: Path, shown: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError([Problem(shown, f"cannot be read: {error.strerror}")]) from error


def _replace(path: Path, content: bytes, shown: str) -> None:
    """Write to a temporary file next to ``path`` and rename it, with the same permissions."""
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise ScenarioError([Problem(shown, message)]) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process patches a file of ``folder``, if the system has such locks."""
    if sys.platform == "win32":
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # reading the file will say what is wrong
        yield
        return
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
